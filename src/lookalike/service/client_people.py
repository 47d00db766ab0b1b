"""The people of a served collection, as a client sees them."""

from collections.abc import Callable, Iterable
from typing import Any

from lookalike.collection import UNDOABLE, Entry, Person, PersonKind, Proposal


class ClientPeople:
    """Who teaches everybody: :class:`~lookalike.Collection`'s ``people``, over HTTP.

    Parameters
    ----------
    get, post : callable
        Send a request; each takes the type of the answer, a path, and parameters or a body.
    """

    def __init__(self, get: Callable[..., Any], post: Callable[..., Any]) -> None:
        self._get, self._post = get, post

    def all(self, by: str | None = None) -> list[Person]:
        """Return everybody, with what each costs or gains a ranker, by default the first."""
        result: list[Person] = self._get(list[Person], "/api/people", {"by": by})
        return result

    def trust(self, name: str, *, key: str | None = None) -> Entry:
        """Let what a person said, and will say, teach everybody."""
        return self._change(name, "trust", key)

    def revoke(self, name: str, *, key: str | None = None) -> Entry:
        """Let what a person said teach only that person."""
        return self._change(name, "revoke", key)

    def accept(self, name: str, *, key: str | None = None) -> Entry:
        """Let the labels that a person has proposed so far count for everybody."""
        return self._change(name, "accept", key)

    def proposals(self, name: str | None = None, picture: int | None = None) -> list[Proposal]:
        """Return the labels that wait to be accepted, of one person or picture where given."""
        params = {"name": name, "picture": picture}
        result: list[Proposal] = self._get(list[Proposal], "/api/people/proposals", params)
        return result

    def undo(
        self,
        name: str,
        kinds: Iterable[PersonKind] = UNDOABLE,
        *,
        since: str = "",
        key: str | None = None,
    ) -> Entry:
        """Undo what a person said, all or some kinds, in one event, which can itself be undone."""
        body = {"name": name, "kinds": list(kinds), "since": since, "key": key}
        result: Entry = self._post(Entry, "/api/people/undo", body)
        return result

    def preview(
        self, name: str, kinds: Iterable[PersonKind] = UNDOABLE, *, since: str = ""
    ) -> dict[str, int]:
        """Return how many events of each kind :meth:`undo` would undo."""
        params = {"name": name, "kinds": list(kinds), "since": since}
        result: dict[str, int] = self._get(dict[str, int], "/api/people/undo", params)
        return result

    def _change(self, name: str, change: str, key: str | None) -> Entry:
        body = {"name": name, "change": change, "key": key}
        result: Entry = self._post(Entry, "/api/people", body)
        return result

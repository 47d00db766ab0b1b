"""A client for a running server: search, vote, tag and import over HTTP."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import quote

from lookalike.collection import (
    Album,
    Entry,
    Filter,
    InUse,
    KnownWord,
    ModelRow,
    RankerInfo,
    Ref,
    Standing,
    Subfolder,
    Suggestion,
    WordCounts,
)
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.service.answers import (
    CollectionView,
    Count,
    DuplicateGroup,
    DuplicatePage,
    EventPage,
    Feedback,
    JobState,
    NearbyPicture,
    Picture,
    PictureMatch,
    PicturePage,
    Reasons,
    SearchPage,
    SelectionEvent,
    Status,
    StoredQuery,
    Suggestions,
    Upload,
)
from lookalike.service.client_parameters import (
    content_of,
    filters,
    selection,
    several,
    without_none,
)
from lookalike.service.client_people import ClientPeople
from lookalike.service.connection import Connection

if TYPE_CHECKING:
    from lookalike.collection import ObjectMatch


class Client(Connection):
    """A connection to a server that ``lookalike serve`` started.

    Methods return the types that :class:`~lookalike.Collection` returns, or those of
    :mod:`lookalike.service.answers`, and raise the errors that it would raise. Proxies set in the
    environment are ignored.

    Parameters
    ----------
    url : str
        The address the server printed.
    key : str, optional
        The server's key, if it has one.
    timeout : float
        Seconds to wait for a response.

    Attributes
    ----------
    people : ClientPeople
        Who teaches everybody, their proposals, and all of a person undone.

    Examples
    --------
    >>> with Client("http://127.0.0.1:9") as client:
    ...     client.standing()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lookalike.core.errors.CollectionError: Cannot reach a server at http://127.0.0.1:9: ...
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8700",
        key: str | None = None,
        *,
        timeout: float = 60.0,
    ) -> None:
        super().__init__(url, key, timeout)
        self.people = ClientPeople(self._get, self._say)

    def search(
        self,
        like: Ref | Iterable[Ref] = (),
        unlike: Ref | Iterable[Ref] = (),
        *,
        word: str | None = None,
        k: int = 10,
        by: str | None = None,
        offset: int = 0,
        where: Filter | None = None,
        min_score: float | None = None,
        learned: bool = True,
        strike: Iterable[str] = (),
        weight: float = 0.5,
    ) -> list[PictureMatch]:
        """Return the pictures most like some and unlike others, or those matching words.

        The best match comes first; words are as for :meth:`lookalike.Collection.search_word`.
        With both, ``weight`` is how much words count.
        ``by`` names a ranker, as :meth:`rankers` lists them; by default it is the first.
        """
        query = {
            **{"like": several(like), "unlike": several(unlike), "word": word},
            **{"k": k, "by": by, "offset": offset, "min_score": min_score, "learned": learned},
            **{"strike": list(strike), "weight": weight},
        }
        return list(self._get(SearchPage, "/api/search", {**query, **filters(where)}).matches)

    def count_word(
        self, word: str, *, by: str | None = None, where: Filter | None = None
    ) -> WordCounts:
        """Count the pictures that a search by words finds, and tell how the text was read."""
        query = {"word": word, "k": 1, "by": by, **filters(where)}
        return cast("WordCounts", self._get(SearchPage, "/api/search", query).counts)

    def search_file(
        self, path: str | Path, *, k: int = 10, by: str | None = None, where: Filter | None = None
    ) -> list[PictureMatch]:
        """Return the pictures most like a local file, best first; the file is not added."""
        return self.search(self.keep_query(path), k=k, by=by, where=where)

    def keep_query(self, picture: str | Path | bytes) -> str:
        """Upload a picture to search with and vote on; return its token."""
        return self._send(StoredQuery, "/api/queries", content_of(picture)).token

    def vote(
        self,
        like: Ref | Iterable[Ref],
        unlike: Ref | Iterable[Ref] = (),
        *,
        picked: Iterable[int] = (),
        rejected: Iterable[int] = (),
        shown: Iterable[int] = (),
        by: str | None = None,
        key: str | None = None,
    ) -> Feedback:
        """Record which matches fit a search and which do not; the next search uses it.

        Votes teach every ranker; ``by`` names the one whose standing is returned.
        """
        body = {
            **{"like": several(like), "unlike": several(unlike), "picked": list(picked)},
            **{"rejected": list(rejected), "shown": list(shown), "by": by, "key": key},
        }
        return self._say(Feedback, "/api/votes", body)

    def tag(self, picture: int, word: str, *, shows: bool = True) -> Entry:
        """Add a label to a picture, or record that the word does not fit it."""
        body = {"picture": picture, "word": word, "shows": shows}
        return self._say(Entry, "/api/tags", body)

    def tag_many(
        self,
        pictures: Iterable[int] | Filter,
        word: str,
        *,
        shows: bool = True,
        key: str | None = None,
    ) -> Entry:
        """Add a label to many pictures, or take it from those that have it, as one event.

        The pictures are named by their ids, or are all that pass a filter.
        """
        body = {**selection(pictures), "word": word, "shows": shows, "key": key}
        return self._say(SelectionEvent, "/api/selection/tag", body).event

    def albums(self) -> list[Album]:
        """Return the albums by name."""
        return self._get(list[Album], "/api/albums")

    def save_album(
        self,
        name: str,
        like: Ref | Iterable[Ref] = (),
        unlike: Ref | Iterable[Ref] = (),
        *,
        word: str | None = None,
        where: Filter | None = None,
        pictures: Iterable[int] = (),
        most: int | None = None,
    ) -> Album:
        """Save a search or filter under a name, or exactly some pictures."""
        refs = {"like": [str(ref) for ref in several(like)]}
        refs["unlike"] = [str(ref) for ref in several(unlike)]
        search = {name: value for name, value in {**refs, "word": word}.items() if value}
        search |= filters(where)
        body = {"name": name, "pictures": list(pictures), "most": most, "search": search or None}
        return self._say(Album, "/api/albums", body)

    def open_album(self, number: int) -> Album:
        """Return an album by its id, and count all that is in it as seen from now on.

        Its pictures are listed by ``pictures(album=name)``.
        """
        return self._read(Album, "POST", f"/api/albums/{number}/opened")

    def rename_album(self, number: int, name: str) -> Album:
        """Give an album another name."""
        return self._read(Album, "PATCH", f"/api/albums/{number}", json={"name": name})

    def add_to_album(self, number: int, pictures: Iterable[int]) -> Album:
        """Add pictures to an album by hand."""
        return self._say(Album, f"/api/albums/{number}/pictures", {"pictures": [*pictures]})

    def take_out_of_album(self, number: int, pictures: Iterable[int]) -> Album:
        """Take out pictures that were added to an album by hand."""
        return self._say(Album, f"/api/albums/{number}/take-out", {"pictures": [*pictures]})

    def delete_album(self, number: int) -> None:
        """Delete an album; its pictures, labels and votes stay."""
        self._ask("DELETE", f"/api/albums/{number}")

    def duplicates(
        self,
        k: int = 20,
        *,
        offset: int = 0,
        by: str | None = None,
        radius: int | None = None,
        like: float | None = None,
    ) -> list[DuplicateGroup]:
        """Return groups of near-duplicates, the most alike first; see Collection.duplicates.

        The first call may take minutes for a large collection, and is waited for.
        """
        query = {"k": k, "offset": offset, "by": by, "radius": radius, "like": like}
        return list(self._get(DuplicatePage, "/api/duplicates", query, timeout=None).groups)

    def keep_one(self, picture: int, others: Iterable[int], *, key: str | None = None) -> Entry:
        """Keep one of some duplicates and move the others to the bin, as one event."""
        body = {"picture": picture, "remove": list(others), "key": key}
        return self._say(Entry, "/api/duplicates/keep", body)

    def not_duplicates(
        self,
        pictures: Iterable[int],
        of: Iterable[int] = (),
        *,
        verdict: Literal["different", "keep"] = "different",
        key: str | None = None,
    ) -> Entry:
        """Record that pictures are not duplicates, of each other or of others."""
        body = {"pictures": list(pictures), "of": list(of), "verdict": verdict, "key": key}
        return self._say(Entry, "/api/duplicates/distinct", body)

    def undo(self, number: int) -> Feedback:
        """Undo an event."""
        return self._say(Feedback, "/api/undo", {"event": number})

    def reset(self, of: str | None = None) -> Feedback:
        """Discard all votes so far, or those of one person."""
        return self._say(Feedback, "/api/reset", {} if of is None else {"of": of})

    def rollback(self) -> InUse:
        """Go back to the models used before the last learning; return their numbers."""
        return self._say(InUse, "/api/rollback", {})

    def history(
        self, k: int = 50, *, before: int | None = None, of: str | None = None
    ) -> list[Entry]:
        """Return the events of the log, newest first, or only those of one person."""
        query = {"k": k, "before": before, "of": of}
        return list(self._get(EventPage, "/api/events", query).events)

    def standing(self, *, by: str | None = None) -> Standing:
        """Return whether searches use the votes, and the figures behind that decision."""
        return self._get(Standing, "/api/standing", {"by": by})

    def rankers(self) -> list[RankerInfo]:
        """Return the ways to search, the default first."""
        return self._get(list[RankerInfo], "/api/rankers")

    def set_default_ranker(self, name: str) -> Entry:
        """Take a ranker for searches that name none; :meth:`undo` takes that back."""
        return self._say(Entry, f"/api/rankers/{quote(name, safe='')}/default", {})

    def models(self) -> list[ModelRow]:
        """Return the models trained on labels and clicks, oldest first, published or not."""
        return self._get(list[ModelRow], "/api/models")

    def reasons(
        self,
        like: Ref | Iterable[Ref],
        unlike: Ref | Iterable[Ref] = (),
        *,
        picture: int,
        k: int = 5,
        by: str | None = None,
    ) -> list[str]:
        """Explain in sentences why a picture matches a search."""
        query = {"like": several(like), "unlike": several(unlike), "picture": picture}
        return list(self._get(Reasons, "/api/reasons", {**query, "k": k, "by": by}).reasons)

    def why(
        self, like: Ref | Iterable[Ref], picture: int, *, by: str | None = None
    ) -> "ObjectMatch":
        """Return the regions that a picture shares with the most alike of some examples."""
        from lookalike.collection import ObjectMatch

        query = {"like": several(like), "picture": picture, "by": by}
        return self._get(ObjectMatch, "/api/why", query)

    def view_weights(self, *, by: str | None = None) -> dict[str, float]:
        """Return how much each view counts in searches; empty for a feature of one view."""
        return self._get(dict[str, float], "/api/views", {"by": by})

    def suggestions(self, picture: Ref, k: int = 8, *, by: str | None = None) -> list[Suggestion]:
        """Return words that may fit a picture, each with its confidence and a reason."""
        path = f"/api/suggestions/{picture}"
        return list(self._get(Suggestions, path, {"k": k, "by": by}).suggestions)

    def words(self, start: str = "", k: int = 100) -> list[KnownWord]:
        """Return words to search by: labels, start words and folder names that pictures have."""
        return self._get(list[KnownWord], "/api/words", {"start": start, "k": k})

    def pictures(
        self,
        k: int = 100,
        *,
        offset: int = 0,
        where: Filter | None = None,
        order: Literal["newest", "oldest", "added"] = "newest",
    ) -> list[Picture]:
        """Return the pictures that pass the filters."""
        query = {"k": k, "offset": offset, "order": order, **filters(where)}
        return list(self._get(PicturePage, "/api/pictures", query).pictures)

    def picture(self, number: int) -> Picture:
        """Return what is known about a picture."""
        return self._get(Picture, f"/api/pictures/{number}")

    def collections(self) -> list[CollectionView]:
        """Return the collections that the server may open; it has one open at a time."""
        return self._get(list[CollectionView], "/api/collections")

    def open_collection(self, path: str | Path) -> CollectionView:
        """Have the server open another collection in place of this one, which takes a moment."""
        return self._say(CollectionView, "/api/collections/open", {"path": str(path)})

    def make_collection(self, name: str) -> CollectionView:
        """Have the server make a collection beside the others, and open it."""
        return self._say(CollectionView, "/api/collections", {"name": name})

    def nearby(self, number: int, k: int = 50) -> list[NearbyPicture]:
        """Return the pictures taken nearest to one whose place is known, the nearest first."""
        return self._get(list[NearbyPicture], f"/api/pictures/{number}/nearby", {"k": k})

    def subfolders(self, above: str = "") -> list[Subfolder]:
        """Return the folders in one that pictures lie in or below; by default the highest."""
        return self._get(list[Subfolder], "/api/subfolders", {"above": above})

    def add(self, picture: str | Path | bytes) -> Picture:
        """Upload a picture file and add it to the collection."""
        name = "" if isinstance(picture, bytes) else Path(picture).name
        query = f"?name={quote(os.fsencode(name))}" if name else ""
        return self._send(Upload, f"/api/pictures{query}", content_of(picture)).picture

    def delete(self, number: int) -> None:
        """Move a picture to the bin."""
        self._ask("DELETE", f"/api/pictures/{number}")

    def remove(self, pictures: Iterable[int] | Filter, *, key: str | None = None) -> int:
        """Move pictures to the bin as one event, and return how many; see :meth:`tag_many`."""
        body = {**selection(pictures), "key": key}
        return self._say(Count, "/api/selection/remove", body).pictures

    def bin(self, k: int = 100, *, offset: int = 0) -> list[Picture]:
        """Return the pictures in the bin, the last removed first."""
        return list(self._get(PicturePage, "/api/bin", {"k": k, "offset": offset}).pictures)

    def restore(self, pictures: Iterable[int] | None = None) -> int:
        """Bring pictures back from the bin, or all in it, and return how many."""
        body = {"pictures": None if pictures is None else list(pictures)}
        return self._say(Count, "/api/bin/restore", body).pictures

    def empty_bin(self, pictures: Iterable[int] | None = None) -> int:
        """Erase pictures of the bin, or all in it, and return how many."""
        body = {"pictures": None if pictures is None else list(pictures)}
        return self._say(Count, "/api/bin/empty", body).pictures

    def look(self, number: int) -> Picture:
        """Look again for the files of a picture, and return what is known about it."""
        return self._say(Picture, f"/api/pictures/{number}/look", {})

    def import_folder(self, path: str | Path, progress: Progress = silent) -> JobState:
        """Import a folder on the server, and wait until that is done.

        Parameters
        ----------
        path : str or Path
            A folder of the collection, one inside it, or one that the server allows.
        progress : callable
            Called with the number of files done and the total.
        """
        body = {"kind": "import", "folder": str(Path(path).absolute())}
        return self._do(body, progress)

    def learn(
        self,
        *,
        folders: bool = False,
        method: str = "oasis",
        words: str = "auto",
        feature: str | None = None,
        settings: Mapping[str, Any] | None = None,
        codes: str | None = None,
        bits: int | None = None,
        candidates: int | None = None,
        progress: Progress = silent,
    ) -> JobState:
        """Learn from the labels in the collection, or from folder names, and wait until done.

        Parameters
        ----------
        folders : bool
            Use each picture's folder as its label.
        method : str
            The similarity to train.
        words : str
            The annotator to train, or ``auto`` for the best of several.
        feature : str, optional
            The ranker to train; by default the first.
        settings : mapping, optional
            Settings of the method.
        codes : str, optional
            The binary codes to learn; without ``folders``, only those are learned.
        bits, candidates : int, optional
            The length of a code, and how many candidates a search by codes takes.
        progress : callable
            Called with the number of steps done and the total.
        """
        body: dict[str, Any] = {
            "kind": "learn",
            "folders": folders,
            "method": method,
            "words": words,
        }
        more = {"codes": codes, "bits": bits, "candidates": candidates}
        body |= {"feature": feature, "settings": dict(settings or {}), **without_none(more)}
        return self._do(body, progress)

    def jobs(self) -> list[JobState]:
        """Return the jobs of the server, newest first."""
        return self._get(list[JobState], "/api/jobs")

    def stop(self, job: str) -> None:
        """Stop a job; finished work is kept."""
        self._ask("DELETE", f"/api/jobs/{job}")

    def export(self, path: str | Path, *, by: str | None = None) -> None:
        """Write what was learned to a safetensors file."""
        content = self._ask("GET", "/api/export", params=without_none({"by": by})).content
        target = Path(path)
        part = target.with_name(f".{target.name}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(content)
            part.replace(target)
        except OSError as error:
            with suppress(OSError):
                part.unlink()
            raise InvalidInput(f"Client: cannot write {target}: {error}.") from error

    def status(self) -> Status:
        """Return the version, the pictures and rankers, and whether folders are watched."""
        return self._get(Status, "/api/status")

"""What the contracts of all kinds of parts share: what a rule is, and how one is checked."""

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory


class NotApplicable(Exception):
    """The part does not offer what a rule is about."""


class Contract:
    """The rules that every part of a kind must keep: each public method is one, named by it.

    A rule is checked on a contract made for it, with an empty ``folder``.
    """

    folder: Path

    @classmethod
    def rules(cls) -> list[str]:
        """Return the names of the rules."""
        public = {name: value for name, value in vars(cls).items() if not name.startswith("_")}
        return [name for name, value in public.items() if inspect.isfunction(value)]


def check_rule(make: Callable[[], Contract], rule: str) -> None:
    """Raise AssertionError where a rule is broken, NotApplicable where it does not apply."""
    with TemporaryDirectory() as folder:
        try:
            contract = make()
            contract.folder = Path(folder)
            getattr(contract, rule)()
        except NotApplicable:
            raise
        except Exception as error:
            raise AssertionError(f"{rule.replace('_', ' ')}: {error}") from error


def check_rules(make: Callable[[], Contract]) -> None:
    """Check all rules that apply."""
    for rule in make().rules():
        with suppress(NotApplicable):
            check_rule(make, rule)


@contextmanager
def refused(error: type[Exception], words: str = "") -> Iterator[None]:
    """Raise AssertionError unless this error is raised, with words that the pattern matches."""
    try:
        yield
    except error as raised:
        if not re.search(words, str(raised)):
            raise AssertionError(f"{words!r} does not match {str(raised)!r}") from raised
    else:
        raise AssertionError(f"not refused with {error.__name__}")

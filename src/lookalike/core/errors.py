"""Everything lookalike raises on purpose.

::

    LookalikeError
    ├── InvalidInput          a parameter, array or file the caller gave is not usable
    ├── NotFitted             a learner was asked before it learned
    ├── FingerprintMismatch   vectors of two different features were about to meet
    ├── UnreadablePicture     a picture file is broken, hostile or of a refused format
    ├── DamagedFile           a file of ours is foreign, damaged or of a newer version
    ├── CollectionError       a collection is missing, exists already, or is not one
    │   ├── CollectionBusy    another process is writing to the collection
    │   └── NotFound          a picture, query, event or job that was named is not there
    ├── MissingExtra          an optional dependency is not installed
    └── MissingPart           a feature, similarity, … that was used is not installed any more

A message names who, which parameter, the limit, what came, and the remedy.
"""


class LookalikeError(Exception):
    """The root of all errors raised on purpose."""


class InvalidInput(LookalikeError, ValueError):
    """A parameter, array or file the caller gave is not usable."""


class NotFitted(LookalikeError, ValueError, AttributeError):
    """A learner was asked for something it knows only after ``fit``."""


class FingerprintMismatch(LookalikeError):
    """Vectors of two different features were about to be compared."""


class UnreadablePicture(LookalikeError):
    """A picture file is broken, hostile or of a format that is not admitted."""


class DamagedFile(LookalikeError):
    """A file that should be ours is foreign, damaged or of a newer version."""


class CollectionError(LookalikeError):
    """A collection is missing, exists already, or is not a collection."""


class CollectionBusy(CollectionError):
    """Another process is writing to the collection."""


class NotFound(CollectionError):
    """A picture, query, event or job that was named is not there."""


class MissingExtra(LookalikeError, ImportError):
    """An optional dependency is not installed; the message names the install line."""

    def __init__(self, who: str, package: str, extra: str) -> None:
        super().__init__(
            f"{who} needs the package {package}, which is not installed. "
            f"Install it with: pip install 'lookalike[{extra}]'"
        )


class MissingPart(LookalikeError, ImportError):
    """A part that a collection or file was made with is not installed; the message names it."""

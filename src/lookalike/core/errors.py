"""Everything lookalike raises on purpose.

::

    LookalikeError
    ├── InvalidInput          a parameter, array or file the caller gave is not usable
    ├── NotFitted             a learner was used before it was fitted
    ├── FingerprintMismatch   vectors of two different features were about to be compared
    ├── UnreadablePicture     a picture file is damaged, hostile or of an unsupported format
    ├── DecoderFailed         a picture was not decoded, by a fault of the decoder, not of the file
    ├── DamagedFile           a file is damaged, of a newer version or not a lookalike file
    ├── CollectionError       a collection is missing, exists already, or is not one
    │   ├── CollectionBusy    another process is writing to the collection
    │   └── NotFound          the picture, query, event or job does not exist
    ├── MissingExtra          an optional dependency is not installed
    └── MissingPart           a feature, similarity, … that was used is no longer installed

A message names the caller, the parameter, the limit, the value given, and the remedy.
"""


class LookalikeError(Exception):
    """The base class of all errors that lookalike raises on purpose."""


class InvalidInput(LookalikeError, ValueError):
    """A parameter, array or file the caller gave is not usable."""


class NotFitted(LookalikeError, ValueError, AttributeError):
    """A learner was asked for something that it has only after ``fit``."""


class FingerprintMismatch(LookalikeError):
    """Vectors of two different features were about to be compared."""


class UnreadablePicture(LookalikeError):
    """A picture file is damaged, hostile or of an unsupported format."""


class DecoderFailed(LookalikeError):
    """A picture was not decoded, by a fault of the decoder; the file may be sound."""

    def __init__(self, fault: object) -> None:
        super().__init__(f"not decoded: a fault of lookalike, not of the file ({fault})")
        self.fault = str(fault)


class DamagedFile(LookalikeError):
    """A file is damaged, of a newer version or not a lookalike file."""


def incomplete(
    path: object,
    what: str,
    error: Exception,
    remedy: str = "Learn again, or restore a backup.",
) -> DamagedFile:
    """Return the error of a file whose content is not valid, without what Python says of it.

    Examples
    --------
    >>> print(incomplete("a.st", "Ridge", KeyError("settings")))
    a.st is damaged or of another version: not a complete Ridge. Learn again, or restore a backup.
    """
    detail = f" ({str(error).rstrip('.')})" if isinstance(error, LookalikeError) else ""
    return DamagedFile(
        f"{path} is damaged or of another version: not a complete {what}{detail}. {remedy}"
    )


class CollectionError(LookalikeError):
    """A collection is missing, exists already, or is not a collection."""


class CollectionBusy(CollectionError):
    """Another process is writing to the collection."""


class NotFound(CollectionError):
    """The picture, query, event or job does not exist."""


class MissingExtra(LookalikeError, ImportError):
    """An optional dependency is not installed; the message names the install line."""

    def __init__(self, who: str, package: str, extra: str) -> None:
        super().__init__(
            f"{who} needs the package {package}, which is not installed. "
            f"Install it with: pip install 'lookalike[{extra}]'"
        )


class MissingPart(LookalikeError, ImportError):
    """A part that a collection or file was made with is not installed; the message names it."""

"""What every feature offers: pictures in, a record of each to keep, and their vectors out."""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from lookalike.core.errors import DamagedFile, NotFitted
from lookalike.core.fingerprint import check_fingerprint
from lookalike.core.progress import Progress, silent
from lookalike.core.stored import Arrays, Learned, Stored
from lookalike.core.vectors import Vectors

if TYPE_CHECKING:
    from PIL import Image


class Fingerprinted(Stored):
    """A part that makes vectors; its fingerprint names the way, and is kept in its file."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """32 hexadecimal digits for the settings and all that was learned.

        Vectors of two fingerprints are never compared. Raises NotFitted before ``fit`` where
        there is something to learn.
        """

    @property
    def is_fitted(self) -> bool:
        """Whether it can make vectors yet."""
        try:
            return bool(self.fingerprint)
        except NotFitted:
            return False

    def save(self, path: str | Path, *, fingerprint: str = "") -> None:
        """Write the part to one file, with its own fingerprint; raise NotFitted if it has none."""
        if fingerprint:
            check_fingerprint(f"the {self.name}", self.fingerprint, fingerprint)
        super().save(path, fingerprint=self.fingerprint)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load what :meth:`save` wrote.

        Raises
        ------
        DamagedFile
            If the file is foreign or damaged, or makes other vectors than it did when written.
        """
        part = super().load(path)
        if part.fingerprint_ != part.fingerprint:
            raise DamagedFile(
                f"{path} was written for the fingerprint {part.fingerprint_:.80}, but this version "
                f"of {cls.__name__} makes {part.fingerprint} of it. Index again."
            )
        return part


class Feature(Fingerprinted):
    """Describe pictures by vectors of unit length.

    A collection keeps the *record* of each picture, whose content only its feature knows, and
    asks for the vectors of records. A feature of your own implements ``fingerprint``,
    :meth:`record` and :meth:`vectors`, for which :func:`~lookalike.features.pack_vector` and
    :func:`~lookalike.features.unpack_vectors` take a line each; one that learns implements
    :meth:`fit`, ``_state`` and ``_restore``, too. All methods but ``fit`` may be called from
    several threads at once.

    Attributes
    ----------
    name : str
        What the feature is called in :data:`~lookalike.features.FEATURES` and in files.
    dimension : int
        The length of a vector.
    sparse : bool
        Whether vectors come as CSR rows.

    Examples
    --------
    >>> from lookalike.core.fingerprint import fingerprint
    >>> from lookalike.core.vectors import unit_rows
    >>> from lookalike.features import Feature, pack_vector, unpack_vectors
    >>> class Histogram(Feature):
    ...     name = "histogram"
    ...     dimension = 768
    ...
    ...     @property
    ...     def fingerprint(self):
    ...         return fingerprint({"kind": "histogram/1"}, {})
    ...
    ...     def record(self, image):
    ...         return pack_vector(unit_rows(np.array([image.histogram()])))
    ...
    ...     def vectors(self, records):
    ...         return unpack_vectors(records, self.dimension, sparse=self.sparse)
    >>> import numpy as np
    >>> from PIL import Image
    >>> Histogram().describe([Image.new("RGB", (640, 480), "red")]).shape
    (1, 768)
    """

    dimension: int
    sparse: ClassVar[bool] = False

    @property
    def decode_side(self) -> int | None:
        """The shortest side a picture has to be decoded at; None is its full size."""
        return None

    def fit(self, images: "Sequence[Image.Image]", progress: Progress = silent) -> Self:
        """Learn from RGB pictures what describing takes; by default there is nothing to learn."""
        return self

    @abstractmethod
    def record(self, image: "Image.Image") -> bytes:
        """Return what is kept of an RGB picture; the same picture gives the same bytes."""

    @abstractmethod
    def vectors(self, records: Sequence[bytes]) -> Vectors:
        """Return the vectors of records, a row of unit length each, whatever their company.

        Raises
        ------
        ValueError
            If a record is damaged: of a wrong length, with a number that is not finite or a
            column beyond ``dimension``.
        """

    def describe(self, images: "Sequence[Image.Image]") -> Vectors:
        """Return the vectors of RGB pictures, a row each, as good as their records at least."""
        return self.vectors([self.record(image) for image in images])

    def _state(self) -> tuple[Arrays, Learned]:
        return {}, {}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        return

"""The base class of features: pictures come in, a record of each and its vector go out."""

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

    from lookalike.features.start_words import StartWords
    from lookalike.features.text.model import TextModel


class Fingerprinted(Stored):
    """A part that makes vectors; its fingerprint identifies how, and is saved with it."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of the settings and of all that was learned: 32 hexadecimal digits.

        Vectors with different fingerprints are never compared. Raises NotFitted before ``fit`` if
        there is something to learn.
        """

    @property
    def is_fitted(self) -> bool:
        """Whether it can make vectors."""
        try:
            return bool(self.fingerprint)
        except NotFitted:
            return False

    def save(self, path: str | Path, *, fingerprint: str = "") -> None:
        """Save the part to one file, with its own fingerprint, or raise NotFitted."""
        if fingerprint:
            check_fingerprint(f"the {self.name}", self.fingerprint, fingerprint)
        super().save(path, fingerprint=self.fingerprint)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a part from the file that :meth:`save` wrote.

        Raises
        ------
        DamagedFile
            If the file is damaged or not a lookalike file, or if this version would make other
            vectors than the one that wrote it.
        """
        part = super().load(path)
        if part.fingerprint_ != part.fingerprint:
            raise DamagedFile(
                f"{path} was written with the fingerprint {part.fingerprint_:.80}, but this "
                f"version of {cls.__name__} has {part.fingerprint}. Index again."
            )
        return part


class Feature(Fingerprinted):
    """Describe pictures by vectors of unit length.

    A collection stores a *record* of each picture, which only the feature can interpret, and turns
    records into vectors with :meth:`vectors`. A feature of your own implements ``fingerprint``,
    :meth:`record` and :meth:`vectors`; :func:`~lookalike.features.pack_vector` and
    :func:`~lookalike.features.unpack_vectors` make the last two one line each. One that learns
    also implements :meth:`fit`, ``_state`` and ``_restore``, and one that can tell classes apart
    may offer :attr:`start_words`. All methods except ``fit`` may be
    called from several threads at once.

    Attributes
    ----------
    name : str
        The feature's name in :data:`~lookalike.features.FEATURES` and in files.
    dimension : int
        The length of a vector.
    sparse : bool
        Whether vectors are CSR rows.
    rerankers : tuple of str
        The rerankers, by name, that a collection uses for it unless told otherwise.
    blocks : dict of str to int, or None
        For a feature of several views: their names and widths, in the order of the columns.

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
    rerankers: ClassVar[tuple[str, ...]] = ()

    @property
    def decode_side(self) -> int | None:
        """The shortest side at which pictures may be decoded; None means full size."""
        return None

    @property
    def blocks(self) -> dict[str, int] | None:
        """The views that a vector consists of; None for one.

        A collection searches such vectors as they are, and gives the blocks to a similarity that
        has the setting ``blocks``.
        """
        return None

    @property
    def start_words(self) -> "StartWords | None":
        """Words for its vectors before anything was learned; None if it knows none."""
        return None

    @property
    def text_model(self) -> "TextModel | None":
        """What gives texts vectors that are near those of their pictures; None if nothing does."""
        return None

    def fit(self, images: "Sequence[Image.Image]", progress: Progress = silent) -> Self:
        """Learn from RGB pictures; by default there is nothing to learn."""
        return self

    @abstractmethod
    def record(self, image: "Image.Image") -> bytes:
        """Return the record of an RGB picture; the same picture gives the same bytes."""

    @abstractmethod
    def vectors(self, records: Sequence[bytes]) -> Vectors:
        """Return the vectors of records, one row of unit length each, independent of the others.

        Raises
        ------
        ValueError
            If a record is damaged: of the wrong length, with a number that is not finite or a
            column beyond ``dimension``.
        """

    def describe(self, images: "Sequence[Image.Image]") -> Vectors:
        """Return the vectors of RGB pictures, one row each; at least as precise as records."""
        return self.vectors([self.record(image) for image in images])

    def _state(self) -> tuple[Arrays, Learned]:
        return {}, {}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        return

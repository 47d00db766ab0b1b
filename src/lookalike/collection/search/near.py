"""Which pictures are copies of one: candidates by compact codes, confirmed on thumbnails."""

from collections.abc import Iterable, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from lookalike.codes import LSHCodes
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.store import pictures
from lookalike.collection.store.database import Database
from lookalike.collection.vectors.space import blocks
from lookalike.images.likeness import Small, is_grey, likeness, small_picture
from lookalike.images.local_difference import local_difference
from lookalike.index import BitIndex

BITS = 128
"""The length of the codes; two vectors differ in each bit with their angle's share of 180°."""


MAX_DIFFERENCE, DIFFERENT = 0.4, 0.94
"""How much the thumbnails of copies may differ in a part; of those that differ more, no likeness
above the second is said.

Chosen on half of the pictures of ``docs/decisions/0034``; the other half is told there.
"""


class NearCopies:
    """Finds the copies of pictures, for one ranker and one radius; shared by threads.

    Vectors become codes of :data:`BITS` random directions, so that any feature will do, dense or
    sparse. All codes within ``radius`` bits of a picture's, exactly, are candidates; a candidate
    is as alike as :func:`~lookalike.images.likeness.likeness` says of the thumbnails, and hardly
    so if they differ in a part
    (:func:`~lookalike.images.local_difference.local_difference`). What was
    found is kept, and only what is new is looked at again.

    Parameters
    ----------
    radius : int
        How many bits the codes of two copies may differ in.
    """

    def __init__(self, radius: int) -> None:
        self.radius = radius
        self.lock = Lock()
        self._encoder: LSHCodes | None = None
        self._codes = BitIndex(BITS)
        self._near: dict[int, NDArray[np.int64]] = {}
        self._alike: dict[int, dict[int, float]] = {}
        self._small: dict[int, Small | None] = {}

    def follow(self, ranker: Ranker) -> None:
        """Take over the pictures that came and went since."""
        wanted = ranker.plain.ids
        gone = np.setdiff1d(self._codes.ids, wanted, assume_unique=True)
        new = np.setdiff1d(wanted, self._codes.ids, assume_unique=True)
        if gone.size:
            self._codes.remove(gone)
            for picture in gone.tolist():
                self._drop(picture)
        if new.size:
            self._add(ranker, new)

    def _add(self, ranker: Ranker, new: NDArray[np.int64]) -> None:
        if self._encoder is None:
            # Directions through the origin: of pictures that are all alike, nothing but noise
            # would be left without their mean.
            origin = np.zeros((2, ranker.plain.dimension), np.float32)
            self._encoder = LSHCodes(bits=BITS, random_state=0).fit(origin)
        for some in blocks(new):
            codes = self._encoder.encode(ranker.vectors(some))
            self._codes.add_codes(codes, some)
            if not self._near:
                continue
            # The relation is symmetric: who finds a new picture is found by it.
            for picture, (near, _) in zip(
                some.tolist(), self._codes.within(codes, self.radius), strict=True
            ):
                for other in near.tolist():
                    if other in self._near:
                        self._near[other] = np.union1d(self._near[other], picture)

    def look(self, some: Sequence[int]) -> None:
        """Find the candidates of pictures, unless that was done before."""
        unknown = [picture for picture in some if picture not in self._near]
        if unknown and self._encoder is not None:
            result = self._codes.within(self._codes.codes(unknown), self.radius)
            self._near.update(
                (picture, near[near != picture])
                for picture, (near, _) in zip(unknown, result, strict=True)
            )

    def forget(self, some: Iterable[int]) -> None:
        """Forget the candidates of pictures: those in a large group would fill the memory."""
        for picture in some:
            self._near.pop(picture, None)

    def candidates(self, picture: int) -> list[int]:
        """Return the pictures whose codes are near; :meth:`look` comes first."""
        return self._near[picture].tolist() if picture in self._near else []

    def alike(self, database: Database, picture: int, others: Sequence[int]) -> list[float]:
        """Return how alike a picture is to others; 0 where a thumbnail cannot be read."""
        known = self._alike.setdefault(picture, {})
        unknown = [other for other in others if other not in known]
        if unknown:
            self._read(database, [picture, *unknown])
            known.update(dict.fromkeys(unknown, 0.0))
            own = self._small[picture]
            small = {it: seen for it in unknown if (seen := self._small[it]) is not None}
            if own is not None and small:
                alike = likeness(own, np.stack(list(small.values())))
                known.update(zip(small, alike.tolist(), strict=True))
                self._look_closer(database, picture, [it for it in small if known[it] > DIFFERENT])
        return [known[other] for other in others]

    def _look_closer(self, database: Database, picture: int, others: list[int]) -> None:
        """Lower how alike a picture is to those that differ from it in a part."""
        known, jpegs = self._alike[picture], pictures.thumbnails(database, [picture, *others])
        for other in others:
            if local_difference(jpegs[picture], jpegs[other]) >= MAX_DIFFERENCE:
                known[other] = DIFFERENT

    def is_grey(self, database: Database, picture: int) -> bool:
        """Return whether a picture's thumbnail has hardly any colour, or cannot be read."""
        self._read(database, [picture])
        own = self._small[picture]
        return own is None or is_grey(own)

    def _read(self, database: Database, some: Iterable[int]) -> None:
        unknown = [picture for picture in some if picture not in self._small]
        for picture, jpeg in pictures.thumbnails(database, unknown).items():
            self._small[picture] = small_picture(jpeg)
        for picture in unknown:
            self._small.setdefault(picture, None)

    def _drop(self, picture: int) -> None:
        self._near.pop(picture, None)
        self._alike.pop(picture, None)
        self._small.pop(picture, None)

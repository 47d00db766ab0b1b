"""Describe a picture in several ways at once: each view is a named block of one vector."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput, NotFitted
from lookalike.core.fingerprint import fingerprint
from lookalike.core.progress import Count, Progress, further, silent
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import Arrays, Learned
from lookalike.core.vectors import Vectors, dense, unit_rows
from lookalike.features._fast.kmeans import STEPS, in_threads
from lookalike.features.base import Feature
from lookalike.features.descriptors import colour, edges, gabor, gist, lbp, sift, surf
from lookalike.features.descriptors.pixels import MAX_SIDE, Pixels, opaque, pixels_of
from lookalike.features.descriptors.words import VisualWords, learn_words
from lookalike.features.records import pack_vector, unpack_vectors
from lookalike.features.reduction import Reduction
from lookalike.features.registry import FEATURES

Describe = Callable[[Pixels], NDArray[np.float32]]

GLOBAL: dict[str, tuple[Describe, int]] = {
    "colour": (colour.colour, colour.WIDTH),
    "edges": (edges.edges, edges.WIDTH),
    "gabor": (gabor.gabor, gabor.WIDTH),
    "lbp": (lbp.lbp, lbp.WIDTH),
    "gist": (gist.gist, gist.WIDTH),
}
"""The views that describe a picture as a whole, and their lengths."""

LOCAL: dict[str, tuple[Describe, int]] = {
    "sift": (sift.sift, sift.WIDTH),
    "surf": (surf.surf, surf.WIDTH),
    "affine": (sift.affine_sift, sift.WIDTH),
}
"""What describes points of a picture, and the lengths."""

HELD = {"sift": np.uint8, "surf": np.float16, "affine": np.uint8}
"""The types that hold descriptors of points while words are learned."""

WORDS = {f"{name}{words}": (name, words) for name in LOCAL for words in (200, 1000)}
"""The views that count visual words: of which descriptor, and of how many."""

OWN = (*GLOBAL, *WORDS)
"""The views that are described here, not by a further feature."""

CLASSIC = tuple(name for name in OWN if not name.startswith("affine"))
"""The nine views of paper 5, with SIFT at its own points."""

PAPER = tuple(name.replace("sift", "affine") for name in CLASSIC)
"""The nine views of paper 5, with SIFT at Hessian-affine regions as there."""

SAMPLE_PICTURES = 1000
MAX_JOINED = 256
"""Components of a further feature, as many as a collection keeps of it."""


class Views(Feature):
    """Describe pictures in several ways at once: views, each a named block of one vector.

    A picture is decoded once, and described by the nine classic descriptors of paper 5 (OMKS),
    section 6.3.1, and by further features. Each view is centred, reduced to its first principal
    components and scaled to unit length; then all are put side by side and scaled to unit length.
    So the cosine of two pictures is the mean of those of their views, in which a further feature
    counts as much as all classic ones together. A view that says nothing of a picture, such as
    visual words of one without any corner, is a block of zeros.

    Parameters
    ----------
    views : str or sequence of str, default="embedding,colour,edges,…,surf1000"
        Names separated by commas: ``colour``, ``edges``, ``gabor``, ``lbp``, ``gist``,
        ``sift200``, ``sift1000``, ``surf200``, ``surf1000`` (:data:`CLASSIC`), ``affine200`` and
        ``affine1000`` (SIFT at Hessian-affine regions, as in the paper), or any other
        feature, such as ``embedding`` and ``visterms``. By default the embedding and the nine.
    components : int, default=50
        The most principal components of a classic view; others keep up to 256.
    random_state : int, numpy Generator or None, default=0
        Seeds the samples that ``fit`` draws. The same seed and pictures give the same result,
        whatever the number of threads.

    Attributes
    ----------
    words_ : dict of str to VisualWords
        The vocabulary of each view that counts words.
    reductions_ : dict of str to Reduction
        The principal components of each view.

    Notes
    -----
    ``fit`` draws at most 1,000 pictures, and from them 40,000 descriptors for each vocabulary.
    Where pictures or words are fewer than components, the remaining columns are zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from PIL import Image
    >>> rng = np.random.default_rng(0)
    >>> pixels = rng.integers(0, 256, (6, 48, 64, 3), dtype=np.uint8)
    >>> pictures = [Image.fromarray(picture) for picture in pixels]
    >>> views = Views(views="colour,lbp", components=3).fit(pictures)
    >>> views.blocks, views.describe(pictures).shape
    ({'colour': 3, 'lbp': 3}, (6, 6))
    """

    name: ClassVar[str] = "views"

    words_: dict[str, VisualWords]
    reductions_: dict[str, Reduction]

    def __init__(
        self,
        *,
        views: str | Sequence[str] = ("embedding", *CLASSIC),
        components: int = 50,
        random_state: RandomState = 0,
    ) -> None:
        listed = isinstance(views, list | tuple)
        self.views = ",".join(map(str, views)) if listed else str(views)
        self.components = components
        self.random_state = random_state
        Views._check_parameters(self)
        self._names = [name.strip() for name in self.views.split(",")]
        self._joined = {name: FEATURES.make(name) for name in self._names if name not in OWN}
        self.dimension = sum(self.blocks.values())

    @property
    def blocks(self) -> dict[str, int]:
        """The views and how many columns each has, in their order."""
        return {name: self._columns(name) for name in self._names}

    @property
    def decode_side(self) -> int | None:
        """The largest side that a view needs; None if one needs the full size."""
        sides = [MAX_SIDE, *(feature.decode_side for feature in self._joined.values())]
        return None if None in sides else max(side for side in sides if side is not None)

    @property
    def fingerprint(self) -> str:
        """A hash of the settings and of all that was learned: 32 hexadecimal digits."""
        self._check_fitted()
        return self._fingerprint

    def fit(self, images: Sequence[Image.Image], progress: Progress = silent) -> Self:
        """Learn the vocabularies and the principal components.

        Parameters
        ----------
        images : sequence of RGB pictures
            Each is read once, from several threads, and not kept, unless a further feature reads
            it to learn, too. Of more than 1,000, a sample is used.
        progress : callable
            Called with the number of pictures and k-means steps done, and the total.
        """
        if not (hasattr(images, "__len__") and hasattr(images, "__getitem__")):
            raise InvalidInput(
                f"Views: fit needs a sequence of pictures; got {type(images).__name__}. Give a "
                f"list, or an object with a length that decodes pictures on demand."
            )
        if len(images) <= self.components:
            raise InvalidInput(
                f"Views: components must be below the number of training pictures, "
                f"{len(images)}; got {self.components}. Give more pictures or fewer components."
            )
        rng = generator(self.random_state)
        drawn = np.sort(rng.permutation(len(images))[:SAMPLE_PICTURES])
        words = [name for name in self._names if name in WORDS]
        learning = [one for one in self._joined.values() if not one.is_fitted]
        parts = len(learning) + 1
        total = parts * (len(drawn) + STEPS * len(words))
        for place, feature in enumerate(learning):
            feature.fit(images, _shared(progress, place, parts, total))
        count = Count(further(progress, total - total // parts, total), total // parts)

        def raw_of(at: int) -> _Raw:
            raw = self._raw(images[drawn[at]])
            kept = {name: rows.astype(HELD[name]) for name, rows in raw.points.items()}
            return _Raw(raw.whole, kept)

        raws = list(count.each(in_threads(raw_of, len(drawn))))
        learned: dict[str, VisualWords] = {}
        for place, name in enumerate(words, start=1):
            points, most = WORDS[name]
            described = [raw.points[points] for raw in raws]
            learned[name] = learn_words(described, most, rng, count.one)
            count.reach(len(drawn) + STEPS * place)
        reductions = {}
        for name in self._names:
            rows = np.array([_described(raw, name, learned) for raw in raws])
            kept = min(self._columns(name), rows.shape[1], len(rows) - 1)
            reductions[name] = Reduction(dimension=kept).fit(rows, parent="")
        self._keep(learned, reductions)
        return self

    def record(self, image: Image.Image) -> bytes:
        """Return the vector of a picture as float16 bytes."""
        return pack_vector(self.describe([image]))

    def vectors(self, records: Sequence[bytes]) -> Vectors:
        """Return the vectors of records, or raise ValueError if one is damaged."""
        return unpack_vectors(records, self.dimension, sparse=False)

    def describe(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """Return the vectors of pictures at full precision, not rounded as in records."""
        self._check_fitted()
        rows = np.zeros((len(images), self.dimension), np.float32)
        for row, image in zip(rows, images, strict=True):
            raw, start = self._raw(image), 0
            for name, width in self.blocks.items():
                whole = _described(raw, name, self.words_)
                (block,) = self.reductions_[name].apply(whole[None])
                row[start : start + len(block)] = self._length(name) * block
                start += width
        units: NDArray[np.float32] = unit_rows(rows)
        return units

    def _raw(self, image: Image.Image) -> "_Raw":
        """Return all that the views are made from, of a picture that is scaled once."""
        pixels = pixels_of(image)
        whole = {name: GLOBAL[name][0](pixels) for name in self._names if name in GLOBAL}
        for name, feature in self._joined.items():
            whole[name] = dense(feature.describe([opaque(image)]))[0].astype(np.float32)
        used = {WORDS[name][0] for name in self._names if name in WORDS}
        points = {name: LOCAL[name][0](pixels) for name in LOCAL if name in used}
        return _Raw(whole, points)

    def _columns(self, name: str) -> int:
        if name in self._joined:
            return min(MAX_JOINED, self._joined[name].dimension)
        return min(self.components, GLOBAL[name][1] if name in GLOBAL else WORDS[name][1])

    def _length(self, name: str) -> float:
        """Return the length of a view's block; its square is how much it counts."""
        classic = len(self._names) - len(self._joined)
        return max(1, classic) ** 0.5 if name in self._joined else 1.0

    def _state(self) -> tuple[Arrays, Learned]:
        self._check_fitted()
        arrays = self._arrays()
        for name, feature in self._joined.items():
            arrays[f"{name}.feature"] = _saved(feature)
        return arrays, {}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        self._joined = {name: _loaded(arrays[f"{name}.feature"]) for name in self._joined}
        words = {
            name: VisualWords(arrays[f"{name}.words"], arrays[f"{name}.idf"])
            for name in self._names
            if name in WORDS
        }
        reductions = {
            name: Reduction.of(arrays[f"{name}.mean"], arrays[f"{name}.components"], parent="")
            for name in self._names
        }
        for name, reduction in reductions.items():
            own = words.get(name)
            if reduction.dimension > self._columns(name) or (
                own is not None
                and (
                    own.words.dtype != np.float32
                    or own.words.shape != (len(reduction.mean_), LOCAL[WORDS[name][0]][1])
                    or own.idf.dtype != np.float32
                    or own.idf.shape != (len(own.words),)
                )
            ):
                raise ValueError(f"its arrays of {name} do not match its settings")
        self._keep(words, reductions)

    def _keep(self, words: dict[str, VisualWords], reductions: dict[str, Reduction]) -> None:
        self.words_, self.reductions_ = words, reductions
        joined = {name: feature.fingerprint for name, feature in self._joined.items()}
        made = {"kind": self.file_kind, "views": self._names, "components": int(self.components)}
        self._fingerprint = fingerprint({**made, "joined": joined}, self._arrays())

    def _arrays(self) -> Arrays:
        arrays: Arrays = {}
        for name, own in self.words_.items():
            arrays |= {f"{name}.words": own.words, f"{name}.idf": own.idf}
        for name, reduction in self.reductions_.items():
            arrays |= {
                f"{name}.mean": reduction.mean_,
                f"{name}.components": reduction.components_,
            }
        return arrays

    def _check_fitted(self) -> None:
        if not hasattr(self, "reductions_"):
            raise NotFitted(
                "Views is not fitted; call fit with training pictures first, or load a fitted one."
            )

    def _check_parameters(self) -> None:
        check_whole("Views", "components", self.components, 1)
        choices = [*OWN, *(name for name in FEATURES.names if name != self.name)]
        names = [name.strip() for name in self.views.split(",")]
        for place, name in enumerate(names):
            if name not in choices:
                raise InvalidInput(
                    f"Views: there is no view {name!r:.80}. Choose from {', '.join(choices)}, "
                    f"separated by commas."
                )
            if name in names[:place]:
                raise InvalidInput(f"Views: the view {name} is given twice. Give it once.")


class _Raw(NamedTuple):
    """Of one picture: the vectors of whole views, and the descriptors of points."""

    whole: dict[str, NDArray[np.float32]]
    points: dict[str, NDArray[Any]]


def _described(raw: _Raw, name: str, words: dict[str, VisualWords]) -> NDArray[np.float32]:
    """Return one view of a picture, not yet reduced."""
    if name not in WORDS:
        return raw.whole[name]
    return words[name].row(raw.points[WORDS[name][0]].astype(np.float32))


def _shared(progress: Progress, place: int, parts: int, total: int) -> Progress:
    """Return a callable that reports one of several parts of the work, all the same size."""
    size = total // parts
    return lambda done, of: progress(place * size + done * size // max(1, of), total)


def _saved(feature: Feature) -> NDArray[np.uint8]:
    """Return the file of a feature as an array."""
    with tempfile.TemporaryDirectory() as folder:
        feature.save(Path(folder) / "feature")
        return np.frombuffer((Path(folder) / "feature").read_bytes(), np.uint8)


def _loaded(content: NDArray[np.uint8]) -> Feature:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "feature"
        path.write_bytes(content.tobytes())
        return FEATURES.load(path)

"""Describe a picture by its local regions: visual words with their places and shapes."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lookalike.core import sparse as sp
from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.checks import check_choice, check_whole
from lookalike.core.errors import InvalidInput, LookalikeError, NotFitted
from lookalike.core.fingerprint import fingerprint
from lookalike.core.progress import Count, Progress, silent
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import Arrays, Learned, with_settings
from lookalike.core.vectors import Vectors, unit_rows
from lookalike.features._fast.kmeans import in_threads
from lookalike.features.base import Feature
from lookalike.features.descriptors.opencv import cv2
from lookalike.features.hessian_affine import LocalRegions, hessian_affine
from lookalike.features.region_records import RegionRecord, pack_regions, unpack_regions
from lookalike.features.tf_idf import inverse_frequencies
from lookalike.features.visual_words import STEPS, VisualVocabulary, learn_words, step_seconds

KIND = "regions/2"
DETECTORS = ("hessian", "sift")
WIDTH = 128
UNIT = 512
"""Descriptors are held as uint8: 512 times their numbers, at most 255."""
SAMPLE_PICTURES = 5_000
SAMPLE_REGIONS = 8_000_000
"""Descriptors in memory while a vocabulary is learned: one gigabyte."""
REGIONS_A_WORD = 12
MIN_REGIONS_A_WORD = 4
"""A vocabulary has no more words than a quarter of the regions it is learned from."""
PICTURES_A_FILE = 50
MAX_WORDS = 500_000
MAX_NEIGHBOURS = 10
MAX_DOUBLED = 512
"""Pictures up to this are doubled before Hessian-affine regions are looked for, as SIFT does."""
MIN_SIDE = 12
"""Smaller pictures have no regions."""
SOFT_SIGMA = 0.16
"""σ of soft assignment, in units of a descriptor's length: Philbin et al. (2008), σ² = 6,250 for
descriptors of length 512."""


@dataclass(frozen=True)
class Estimate:
    """How many seconds a vocabulary takes: to describe the pictures and to cluster."""

    describing: float
    clustering: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.describing + self.clustering


def difference_of_gaussians(grey: NDArray[np.uint8], *, upright: bool, most: int) -> LocalRegions:
    """Return OpenCV's SIFT regions (Lowe, 2004): round, found by differences of Gaussians.

    Examples
    --------
    >>> difference_of_gaussians(np.zeros((48, 64), np.uint8), upright=True, most=10).places.shape
    (0, 2)
    """
    # An object of its own: one detector must not be shared by threads.
    detector: Any = cv2.SIFT_create(nfeatures=most)  # type: ignore[attr-defined]
    points = detector.detect(grey, None) if min(grey.shape) >= MIN_SIDE else ()
    if upright:
        for point in points:
            point.angle = 0.0
        # Of points with several orientations one is left.
        points = list({(point.pt, point.size): point for point in points}.values())
    points, rows = detector.compute(grey, points) if points else ((), None)
    if rows is None:
        return LocalRegions(
            *(np.zeros((0, *tail), np.float32) for tail in ((2,), (2, 2), (WIDTH,)))
        )
    places = np.array([point.pt for point in points], np.float32)
    sizes = np.array([point.size / 2 for point in points], np.float32)
    angles = np.radians([point.angle for point in points])
    c, s = np.cos(angles), np.sin(angles)
    shapes = np.stack([np.stack([c, -s], axis=1), np.stack([s, c], axis=1)], axis=1)
    units: NDArray[np.float32] = unit_rows(np.asarray(rows, np.float32))
    return LocalRegions(places, (shapes * sizes[:, None, None]).astype(np.float32), units)


@with_settings
class Regions(Feature):
    """Describe pictures by visual words of their local regions, to find the same object again.

    Paper 4, sections III-A and V: Hessian-affine regions, SIFT or RootSIFT, a vocabulary learned
    by approximate k-means, tf-idf weights. A picture's record has the word, the place and the
    shape of each region; its vector is Î = w∗I / |w∗I| of Eq. 2, with I the frequencies of its
    words and w_i = log(N / N_i), N_i of N pictures having the word i. A picture without regions
    has a row of zeros: it is similar to nothing, and found by nothing.

    Parameters
    ----------
    dimension : int, default=50_000
        Words in the vocabulary, at most 500,000. ``fit`` lowers it to a quarter of the regions of
        the pictures it is given, where they have fewer.
    detector : {"hessian", "sift"}, default="hessian"
        Hessian-affine regions, or the round ones of OpenCV's SIFT.
    upright : bool, default=False
        Whether regions keep the picture's upright, which suits sights. Otherwise each is turned to
        the direction of its gradients, so that pictures match that are turned by any angle.
    root : bool, default=True
        RootSIFT: the square root of SIFT at a sum of 1 (Arandjelović and Zisserman, 2012).
    assigned : int, default=1
        Words of a region: above 1, soft assignment to its nearest words, by weights
        exp(−d²/2σ²) that sum to 1 (Philbin et al., *Lost in quantization*, 2008).
    max_regions : int, default=3000
        The most regions of a picture; those of the strongest response.
    longest_side : int, default=1024
        Larger pictures are scaled down to this.
    random_state : int, numpy Generator or None, default=0
        Seeds the samples that ``fit`` draws.

    Attributes
    ----------
    vocabulary_ : VisualVocabulary
    idf_ : ndarray of float32
        The weight of each word.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pixels = rng.integers(0, 256, (4, 96, 128, 3), dtype=np.uint8)
    >>> pictures = [Image.fromarray(picture) for picture in pixels]
    >>> regions = Regions(dimension=8).fit(pictures)
    >>> regions.describe(pictures).shape
    (4, 8)
    >>> len(regions.regions(regions.record(pictures[0]))) > 0
    True
    """

    name: ClassVar[str] = "regions"
    sparse: ClassVar[bool] = True
    rerankers: ClassVar[tuple[str, ...]] = ("spatial-expansion",)

    dimension: int = 50_000
    detector: str = "hessian"
    upright: bool = False
    root: bool = True
    assigned: int = 1
    max_regions: int = 3000
    longest_side: int = 1024
    random_state: RandomState = 0

    vocabulary_: VisualVocabulary = field(init=False)
    idf_: NDArray[np.float32] = field(init=False)

    @property
    def decode_side(self) -> int:
        """``longest_side``: decoding a picture at a larger size gains nothing."""
        return self.longest_side

    @property
    def fingerprint(self) -> str:
        """A hash of the settings, the vocabulary and the weights: 32 hexadecimal digits."""
        self._check_fitted()
        return self._fingerprint

    def fit(
        self,
        images: Sequence[Image.Image],
        progress: Progress = silent,
        *,
        checkpoint: Path | None = None,
    ) -> Self:
        """Learn the vocabulary and the weights of its words.

        Parameters
        ----------
        images : sequence of RGB pictures
            Each is read once, and not kept. Of more than 5,000, a sample is used.
        progress : callable
            Called with the work done and the total.
        checkpoint : Path, optional
            A folder that keeps what was done, so that a run that was ended goes on from there when
            it is started again with the same settings and pictures. Empty it afterwards.
        """
        self._check_parameters()
        self._check_images(images)
        rng = generator(self.random_state)
        drawn = np.sort(rng.permutation(len(images))[:SAMPLE_PICTURES])
        seed = int(rng.integers(2**31))
        share = max(1, len(drawn) // STEPS // 2)
        count = Count(progress, len(drawn) + (STEPS + 1) * share)
        most = max(1, SAMPLE_REGIONS // len(drawn))
        described = _Described(self, images, drawn, most, checkpoint).all(count)
        rows = np.concatenate(described)
        if len(rows) < 2 * MIN_REGIONS_A_WORD:
            raise InvalidInput(
                f"Regions: a vocabulary needs pictures with at least {2 * MIN_REGIONS_A_WORD} "
                f"regions; these {len(drawn)} have {len(rows)}. Give more pictures, or such as "
                f"are not blank."
            )
        self.dimension = min(self.dimension, len(rows) // MIN_REGIONS_A_WORD)
        sample = rows[np.sort(rng.permutation(len(rows))[: REGIONS_A_WORD * self.dimension])]
        step_file = None if checkpoint is None else checkpoint / "words"
        vocabulary = learn_words(
            sample, self.dimension, seed, lambda: count.reach(count.done + share), step_file
        )
        words = vocabulary.nearest(rows)[0][:, 0]
        pictures = np.repeat(np.arange(len(described)), [len(some) for some in described])
        pairs = np.unique(pictures.astype(np.int64) * self.dimension + words)
        having = np.bincount(pairs % self.dimension, minlength=self.dimension)
        count.reach(count.total)
        self._keep(vocabulary, inverse_frequencies(having, len(drawn)))
        return self

    def estimate(self, images: Sequence[Image.Image]) -> Estimate:
        """Return how long :meth:`fit` will take here, by describing a few of the pictures."""
        self._check_parameters()
        self._check_images(images)
        total = min(len(images), SAMPLE_PICTURES)
        chosen = np.linspace(0, len(images) - 1, min(12, len(images))).astype(int)
        self.local_regions(images[chosen[0]])
        start = time.perf_counter()
        counts = list(
            in_threads(lambda at: len(self.held_descriptors(images[chosen[at]])), len(chosen))
        )
        describing = (time.perf_counter() - start) / len(chosen) * total
        rows = min(float(np.mean(counts)) * total, float(SAMPLE_REGIONS))
        steps = STEPS * min(rows, REGIONS_A_WORD * self.dimension) + rows
        return Estimate(describing, step_seconds(round(steps), self.dimension))

    def record(self, image: Image.Image) -> bytes:
        """Return the words of a picture with their places and shapes."""
        self._check_fitted()
        result = self.local_regions(image)
        rows = self._bytes(result.descriptors)
        words, squares = self.vocabulary_.nearest(rows, self.assigned)
        weights = np.ones(words.shape, np.float32)
        if self.assigned > 1:
            nearer = squares - squares[:, :1]
            raw = np.exp(-nearer / (2 * (SOFT_SIGMA * UNIT) ** 2))
            weights = (raw / raw.sum(axis=1, keepdims=True)).astype(np.float32)
        parts = words, weights, result.places, result.shapes
        return pack_regions(RegionRecord(image.size, *parts, self.vocabulary_.signatures(rows)))

    def regions(self, record: bytes) -> RegionRecord:
        """Return the regions of a record, or raise ValueError if it is damaged."""
        return unpack_regions(record, self.dimension)

    def crop(self, record: bytes, box: tuple[float, float, float, float]) -> bytes:
        """Return the record of what lies in a box: left, top, width and height in pixels.

        Raises
        ------
        InvalidInput
            If the box is empty or lies outside the picture.
        """
        return pack_regions(self.regions(record).inside(box))

    def vectors(self, records: Sequence[bytes]) -> Vectors:
        """Return CSR rows of unit length, or raise ValueError if a record is damaged."""
        self._check_fitted()
        read = [self.regions(record) for record in records]
        ends = np.cumsum([0, *(one.words.size for one in read)])
        columns = np.concatenate([np.zeros(0, np.int32), *(one.words.ravel() for one in read)])
        shares = np.concatenate([np.zeros(0, np.float32), *(one.weights.ravel() for one in read)])
        counts = sp.csr_matrix((shares, columns, ends), shape=(len(read), self.dimension))
        counts.sum_duplicates()
        weights = sp.csr_matrix(
            (counts.data * self.idf_[counts.indices], counts.indices, counts.indptr), counts.shape
        )
        # Of a picture all of whose words are in every picture, plain frequencies are left.
        has_words = np.add.reduceat(np.append(weights.data, 0), weights.indptr[:-1]) > 0
        empty = np.flatnonzero(~has_words & (np.diff(weights.indptr) > 0))
        for row in empty:
            part = slice(weights.indptr[row], weights.indptr[row + 1])
            weights.data[part] = counts.data[part]
        weights.eliminate_zeros()
        rows: Vectors = unit_rows(weights)
        return rows

    def word_neighbours(self, count: int) -> NDArray[np.int32]:
        """Return the nearest other words of each word, nearest first (paper 4, section III-B)."""
        self._check_fitted()
        check_whole("Regions", "count", count, 1, MAX_NEIGHBOURS)
        return self.vocabulary_.neighbours(count)

    def local_regions(self, image: Image.Image) -> LocalRegions:
        """Return the regions of a picture in its own pixels, and their descriptors."""
        if not isinstance(image, Image.Image) or 0 in image.size:
            raise InvalidInput(
                f"Regions: a picture must be a Pillow image with at least one pixel; got "
                f"{type(image).__name__}. Read pictures with lookalike.images."
            )
        scale = max(1.0, max(image.size) / self.longest_side)
        # OpenCV's SIFT doubles pictures by itself.
        is_small = 2 * max(image.size) <= min(self.longest_side, 2 * MAX_DOUBLED)
        if is_small and self.detector == "hessian":
            scale = 0.5
        size = tuple(max(1, round(side / scale)) for side in image.size)
        grey = image.convert("L")
        if scale != 1:
            grey = grey.resize((size[0], size[1]), Image.Resampling.BILINEAR, reducing_gap=3.0)
        find = hessian_affine if self.detector == "hessian" else difference_of_gaussians
        result = find(np.asarray(grey), upright=self.upright, most=self.max_regions)
        if scale == 1:
            return result
        back = np.float32(scale)
        return LocalRegions(result.places * back, result.shapes * back, result.descriptors)

    def _bytes(self, descriptors: NDArray[np.float32]) -> NDArray[np.uint8]:
        if self.root:
            sums = descriptors.sum(axis=1, keepdims=True)
            values = np.sqrt(descriptors / np.where(sums > 0, sums, 1))
        else:
            values = descriptors
        return np.asarray(np.minimum(np.rint(values * UNIT), 255), np.uint8)

    def held_descriptors(self, image: Image.Image) -> NDArray[np.uint8]:
        """Return the descriptors of a picture as they are held: RootSIFT if asked, as uint8."""
        return self._bytes(self.local_regions(image).descriptors)

    def _state(self) -> tuple[Arrays, Learned]:
        self._check_fitted()
        own = self.vocabulary_
        halves = {"words": own.words, "centres": own.centres}
        return {
            **{name: it.astype(np.float16) for name, it in halves.items()},
            "idf": self.idf_,
        }, {}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        words, centres, idf = (arrays[name] for name in ("words", "centres", "idf"))
        if (
            words.dtype != np.float16
            or centres.dtype != np.float16
            or idf.dtype != np.float32
            or words.shape != (self.dimension, WIDTH)
            or centres.shape != (len(centres), WIDTH)
            or not len(centres)
            or idf.shape != (self.dimension,)
        ):
            raise ValueError("its arrays do not match its settings")
        self._keep(VisualVocabulary(words.astype(np.float32), centres.astype(np.float32)), idf)

    def _keep(self, vocabulary: VisualVocabulary, idf: NDArray[np.float32]) -> None:
        self.vocabulary_, self.idf_ = vocabulary, idf
        settings = {
            name: value for name, value in self.settings().items() if name != "random_state"
        }
        arrays = {"words": vocabulary.words, "centres": vocabulary.centres, "idf": idf}
        self._fingerprint = fingerprint({"kind": KIND, **settings}, arrays)

    def _check_fitted(self) -> None:
        if not hasattr(self, "vocabulary_"):
            raise NotFitted(
                "Regions is not fitted; call fit with training pictures first, or load a "
                "vocabulary."
            )

    def _check_parameters(self) -> None:
        check_whole("Regions", "dimension", self.dimension, 2, MAX_WORDS)
        check_choice("Regions", "detector", self.detector, DETECTORS)
        check_whole("Regions", "assigned", self.assigned, 1, MAX_NEIGHBOURS)
        check_whole("Regions", "max_regions", self.max_regions, 1, 100_000)
        check_whole("Regions", "longest_side", self.longest_side, 32, 65_535)
        for name in ("upright", "root"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(
                    f"Regions: {name} must be true or false; got {getattr(self, name)!r:.80}."
                )

    @staticmethod
    def _check_images(images: object) -> None:
        if not (hasattr(images, "__len__") and hasattr(images, "__getitem__")):
            raise InvalidInput(
                f"Regions: fit needs a sequence of pictures; got {type(images).__name__}. Give a "
                f"list, or an object with a length that decodes pictures on demand."
            )
        if len(images) == 0:
            raise InvalidInput("Regions: fit needs at least one picture; got none.")


@dataclass(frozen=True)
class _Described:
    """The descriptors of the pictures to learn from, kept in a folder a few pictures at a time."""

    feature: Regions
    images: Sequence[Image.Image]
    drawn: NDArray[np.intp]
    most: int
    folder: Path | None

    def all(self, count: Count) -> list[NDArray[np.uint8]]:
        """Return the descriptors of each picture."""
        described: list[NDArray[np.uint8]] = []
        for place in range(math.ceil(len(self.drawn) / PICTURES_A_FILE)):
            part = self.drawn[place * PICTURES_A_FILE :][:PICTURES_A_FILE]
            described += self._part(place, part)
            count.reach(len(described))
        return described

    def _part(self, place: int, part: NDArray[np.intp]) -> list[NDArray[np.uint8]]:
        file = None if self.folder is None else self.folder / f"regions-{place:05}"
        settings = {**self.feature.settings(), "pictures": part.tolist(), "of": len(self.images)}
        task = fingerprint({"kind": KIND, **settings}, {})
        if file is not None and file.exists():
            try:
                arrays, manifest = load_arrays(file, kind="described-regions/1")
                if manifest["task"] == task:
                    return np.split(np.array(arrays["rows"]), arrays["ends"][:-1])
            except (LookalikeError, KeyError):
                pass
        rows = list(in_threads(lambda at: self._one(int(part[at])), len(part)))
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            ends = np.cumsum([len(some) for some in rows])
            kept = {"rows": np.concatenate(rows), "ends": ends}
            save_arrays(file, kept, kind="described-regions/1", manifest={"task": task})
        return rows

    def _one(self, at: int) -> NDArray[np.uint8]:
        rows = self.feature.held_descriptors(self.images[at])
        if len(rows) <= self.most:
            return rows
        chosen = np.random.default_rng(at).permutation(len(rows))[: self.most]
        return rows[np.sort(chosen)]

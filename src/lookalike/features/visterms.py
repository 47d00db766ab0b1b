"""Describe a picture as a bag of visual terms: paper 1, section 3."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lookalike.core import sparse as sp
from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput, NotFitted
from lookalike.core.fingerprint import fingerprint
from lookalike.core.progress import Count, Progress, silent
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import Arrays, Learned, with_settings
from lookalike.core.vectors import Vectors
from lookalike.features._fast.kmeans import STEPS, in_threads, kmeans, nearest, pack
from lookalike.features._fast.visterms import CELL, PATTERNS, count_colours, count_patterns
from lookalike.features.base import Feature
from lookalike.features.records import pack_vector, unpack_vectors
from lookalike.features.tf_idf import different_rows, inverse_frequencies, weigh

BLOCK = 2 * CELL
SCALE = 1.25
MIN_BLOCKS = 10
MIN_LONGER_SIDE = BLOCK + (MIN_BLOCKS - 1) * CELL
MAX_COLOURS = 64
SAMPLE_PICTURES = 5_000
SAMPLE_PIXELS = 100_000
SAMPLE_BLOCKS = 400_000
KIND = "visterms/1"
"""The kind of the first version's files; still part of the fingerprint."""


@with_settings
class Visterms(Feature):
    """Describe pictures as bags of visual terms, sparse rows of unit length.

    A picture is cut into blocks of 64 × 64 pixels every 32 pixels, at its own size and scaled down
    by 1.25 repeatedly as long as 10 blocks remain. A block is described by the histogram of its
    uniform local binary patterns LBP₈,₂ (59 bins) and that of its nearest palette colours; its
    visterm is the nearest word of a codebook. With f_i the number of blocks of visterm i,

        p_i = f_i d_i / √(Σ_j (f_j d_j)²),  d_j = -log(r_j),

    where r_j is the share of the training pictures in which j occurs. Paper 1 (OASIS), section 3,
    Eq. 17; there a picture has about 70 visterms of 10,000.

    Parameters
    ----------
    dimension : int, default=1000
        Words in the codebook, d: 10,000 in the paper's web experiment, 1,000 on Caltech-256.
    colours : int, default=20
        Colours in the palette, at most 64.
    longest_side : int, default=1024
        Larger pictures are first scaled down to this many pixels; at least 352.
    random_state : int, numpy Generator or None, default=0
        Seeds the samples that ``fit`` draws. The same seed and pictures give the same codebook,
        whatever the number of threads.

    Attributes
    ----------
    palette_ : ndarray of uint8, shape (at most colours, 3)
        The typical RGB colours; fewer if the training pictures have fewer.
    codebook_ : ndarray of float32, shape (dimension, 59 + colours)
        The words, as block histograms.
    idf_ : ndarray of float32, shape (dimension,)
        d_j.

    Notes
    -----
    What the paper does not specify:

    - *Intensity* is the luma of ITU-R 601-2 in whole numbers, as Pillow's mode ``L``. A bit of a
      pattern is set where the neighbour is at least as bright as the centre (Ojala et al., 2002).
      Neighbours outside the block are the picture's pixels; beyond its border, the nearest border
      pixel. So every pixel of a block has a pattern.
    - The two histograms of a block are relative frequencies: each sums to 1.
    - Each level is made from the one before by Pillow's bilinear filter. A level with fewer than
      10 blocks is not used. Pixels to the right of and below the last whole block are ignored.
    - The palette's colours are whole numbers; a pixel equally near to two belongs to the first.
    - A visterm in no training picture (r_j = 0) is weighted like one in a single picture; one in
      every picture has weight 0. A picture whose visterms all have weight 0 gets plain frequencies
      f_i, at unit length.
    - ``fit`` draws at most 5,000 pictures, and from them 100,000 pixels and 400,000 blocks.

    *Departures.* Pictures larger than ``longest_side`` are scaled down, since a photo of 24
    megapixels would have 60,000 blocks. Pictures with fewer than 10 blocks, which the paper drops,
    are scaled up until they have 10; those more than ``longest_side`` / 64 times as long as wide
    are widened to one block.

    Examples
    --------
    >>> import numpy as np
    >>> from PIL import Image
    >>> from lookalike.features.visterms import Visterms
    >>> rng = np.random.default_rng(0)
    >>> pixels = rng.integers(0, 256, (6, 96, 192, 3), dtype=np.uint8)
    >>> pictures = [Image.fromarray(picture) for picture in pixels]
    >>> rows = Visterms(dimension=16, colours=4).fit(pictures).describe(pictures)
    >>> rows.shape
    (6, 16)
    >>> bool(np.allclose(rows.multiply(rows).sum(axis=1), 1))
    True
    """

    name: ClassVar[str] = "visterms"
    file_kind: ClassVar[str] = "visterms/2"
    sparse: ClassVar[bool] = True

    dimension: int = 1000
    colours: int = 20
    longest_side: int = 1024
    random_state: RandomState = 0

    palette_: NDArray[np.uint8] = field(init=False)
    codebook_: NDArray[np.float32] = field(init=False)
    idf_: NDArray[np.float32] = field(init=False)

    @property
    def decode_side(self) -> int:
        """``longest_side``: decoding a picture at a larger size gains nothing."""
        return self.longest_side

    @property
    def fingerprint(self) -> str:
        """A hash of the settings, palette, codebook and weights: 32 hexadecimal digits."""
        self._check_fitted()
        return self._fingerprint

    def fit(self, images: Sequence[Image.Image], progress: Progress = silent) -> Self:
        """Learn the palette, the codebook and the weights of its words.

        Parameters
        ----------
        images : sequence of RGB pictures
            Each is read up to three times, from several threads, and not kept: a sequence that
            decodes pictures on demand needs no memory. Of more than 5,000, a sample is used.
        progress : callable
            Called with the number of pictures and k-means steps done, and the total.
        """
        self._check_parameters()
        if not (hasattr(images, "__len__") and hasattr(images, "__getitem__")):
            raise InvalidInput(
                f"Visterms: fit reads the pictures three times and needs a sequence; got "
                f"{type(images).__name__}. Give a list, or an object with a length that decodes "
                f"pictures on demand."
            )
        if len(images) == 0:
            raise InvalidInput("Visterms: fit needs at least one picture; got none.")
        rng = generator(self.random_state)
        drawn = np.sort(rng.permutation(len(images))[:SAMPLE_PICTURES])
        seeds = rng.integers(2**63, size=len(drawn))
        count = Count(progress, 3 * len(drawn) + 2 * STEPS)

        def pixels_of(at: int) -> NDArray[np.uint8]:
            first = next(_levels(images[drawn[at]], self.longest_side))
            pixels = np.asarray(first).reshape(-1, 3)
            most = -(-SAMPLE_PIXELS // len(drawn))
            return pixels[np.random.default_rng(seeds[at]).integers(len(pixels), size=most)]

        pixels = np.concatenate(list(count.each(in_threads(pixels_of, len(drawn)))))
        chosen = rng.permutation(different_rows(pixels))[: self.colours]
        centres = kmeans(pixels.astype(np.float32), pixels[chosen].astype(np.float32), count.one)
        palette = np.unique(np.rint(centres), axis=0).astype(np.uint8)
        keys = _colour_keys(palette)
        count.reach(len(drawn) + STEPS)

        def blocks_of(at: int) -> NDArray[np.float32]:
            blocks = _blocks(images[drawn[at]], self.longest_side, keys)
            most = -(-SAMPLE_BLOCKS // len(drawn))
            return blocks[np.random.default_rng(seeds[at]).permutation(len(blocks))[:most]]

        blocks = np.concatenate(list(count.each(in_threads(blocks_of, len(drawn)))))
        different = different_rows(blocks)
        if len(different) < self.dimension:
            raise InvalidInput(
                f"Visterms: dimension must be at most the number of different blocks in the "
                f"training pictures, {len(different)}; got {self.dimension}. Give more pictures or "
                f"a smaller dimension."
            )
        chosen = rng.choice(different, self.dimension, replace=False)
        codebook = kmeans(blocks, blocks[chosen], count.one)
        packed = pack(codebook)
        count.reach(2 * len(drawn) + 2 * STEPS)

        def words_of(at: int) -> NDArray[np.int32]:
            blocks = _blocks(images[drawn[at]], self.longest_side, keys)
            return np.unique(nearest(blocks, packed)[0])

        pictures = np.zeros(self.dimension, np.int64)
        for words in count.each(in_threads(words_of, len(drawn))):
            pictures[words] += 1
        self._keep(palette, codebook, inverse_frequencies(pictures, len(drawn)))
        return self

    def record(self, image: Image.Image) -> bytes:
        """Return the visterms of a picture with their weights (Eq. 17)."""
        words, weights = weigh(self.visterms(image), self.idf_)
        row = sp.csr_matrix((weights, words, [0, len(words)]), shape=(1, self.dimension))
        return pack_vector(row)

    def vectors(self, records: Sequence[bytes]) -> Vectors:
        """Return CSR rows of unit length, or raise ValueError if a record is damaged."""
        self._check_fitted()
        return unpack_vectors(records, self.dimension, sparse=True)

    def visterms(self, image: Image.Image) -> NDArray[np.int32]:
        """Return the visterm of each block, level by level, row by row."""
        self._check_fitted()
        return nearest(_blocks(image, self.longest_side, self._keys), self._packed)[0]

    def _state(self) -> tuple[Arrays, Learned]:
        self._check_fitted()
        return {"palette": self.palette_, "codebook": self.codebook_, "idf": self.idf_}, {}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        palette, codebook, idf = (arrays[key] for key in ("palette", "codebook", "idf"))
        if (
            palette.dtype != np.uint8
            or palette.shape != (len(palette), 3)
            or not 1 <= len(palette) <= self.colours
            or codebook.dtype != np.float32
            or codebook.shape != (self.dimension, PATTERNS + len(palette))
            or idf.dtype != np.float32
            or idf.shape != (self.dimension,)
        ):
            raise ValueError("its arrays do not match its settings")
        self._keep(palette, codebook, idf)

    def _keep(
        self,
        palette: NDArray[np.uint8],
        codebook: NDArray[np.float32],
        idf: NDArray[np.float32],
    ) -> None:
        self.palette_, self.codebook_, self.idf_ = palette, codebook, idf
        self._keys = _colour_keys(palette)
        self._packed = pack(codebook)
        self._fingerprint = fingerprint(
            {
                "kind": KIND,
                "dimension": int(self.dimension),
                "colours": int(self.colours),
                "longest_side": int(self.longest_side),
            },
            {"palette": palette, "codebook": codebook, "idf": idf},
        )

    def _check_fitted(self) -> None:
        if not hasattr(self, "codebook_"):
            raise NotFitted(
                "Visterms is not fitted; call fit with training pictures first, or load a codebook."
            )

    def _check_parameters(self) -> None:
        check_whole("Visterms", "dimension", self.dimension, 1, 1_000_000)
        check_whole("Visterms", "colours", self.colours, 1, MAX_COLOURS)
        check_whole("Visterms", "longest_side", self.longest_side, MIN_LONGER_SIDE, 65_535)


def blocks_in(width: int, height: int) -> tuple[int, int]:
    """Return the columns and rows of blocks in a level of that size."""
    return max(0, (width - BLOCK) // CELL + 1), max(0, (height - BLOCK) // CELL + 1)


def first_size(width: int, height: int, longest_side: int) -> tuple[int, int]:
    """Return the size of the first level: the picture's own unless too large or too small.

    At the smallest scale that gives 10 blocks, one side just completes another block, or the
    longer side is ``longest_side``; a shorter side of less than one block is then widened to one.
    """
    own = min(1.0, longest_side / max(width, height))
    edges = [BLOCK + more * CELL for more in range(MIN_BLOCKS)]
    scales = {edge / side for edge in edges for side in (width, height)}
    size = width, height
    for scale in sorted({own, longest_side / max(width, height)} | scales):
        shorter, longer = sorted((round(width * scale), round(height * scale)))
        if scale < own or (shorter < BLOCK and longer < longest_side):
            continue
        size = (
            min(longest_side, max(BLOCK, round(width * scale))),
            min(longest_side, max(BLOCK, round(height * scale))),
        )
        if math.prod(blocks_in(*size)) >= MIN_BLOCKS:
            break
    return size


def level_sizes(width: int, height: int, longest_side: int) -> list[tuple[int, int]]:
    """Return the sizes of the levels: divided by 1.25 while 10 blocks remain."""
    columns, rows = first_size(width, height, longest_side)
    sizes: list[tuple[int, int]] = []
    while math.prod(blocks_in(columns, rows)) >= MIN_BLOCKS:
        sizes.append((columns, rows))
        columns, rows = (round(side / SCALE ** len(sizes)) for side in sizes[0])
    return sizes


def _levels(image: Image.Image, longest_side: int) -> Iterator[Image.Image]:
    if not isinstance(image, Image.Image) or image.mode != "RGB" or 0 in image.size:
        came = (
            f"mode {image.mode} of {image.size[0]} × {image.size[1]} pixels"
            if isinstance(image, Image.Image)
            else type(image).__name__
        )
        raise InvalidInput(
            f"Visterms: a picture must be a Pillow image of mode RGB with at least one pixel; got "
            f"{came}. Read pictures with lookalike.images."
        )
    level = image
    for number, size in enumerate(level_sizes(*image.size, longest_side)):
        if level.size != size:
            gap = 2.0 if number == 0 else None
            level = level.resize(size, Image.Resampling.BILINEAR, reducing_gap=gap)
        yield level


def _blocks(
    image: Image.Image, longest_side: int, keys: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the histograms of patterns and of colours of each block of each level."""
    described = []
    for level in _levels(image, longest_side):
        columns, rows = blocks_in(*level.size)
        cells = np.zeros((rows + 1, columns + 1, PATTERNS + len(keys)), np.uint16)
        pixels = np.asarray(level)
        count_patterns(pixels, UNIFORM, cells)
        count_colours(pixels, keys, PATTERNS, cells)
        blocks = cells[:-1, :-1] + cells[:-1, 1:] + cells[1:, :-1] + cells[1:, 1:]
        described.append(blocks.reshape(rows * columns, -1))
    return np.concatenate(described) * np.float32(1 / BLOCK**2)


def _uniform_bins() -> NDArray[np.uint8]:
    """Return the bin of each code: one for each of the 58 uniform codes, one for all others."""
    bins = np.full(256, PATTERNS - 1, np.uint8)
    turned = [code >> 1 | (code & 1) << 7 for code in range(256)]
    uniform = [code for code in range(256) if (code ^ turned[code]).bit_count() <= 2]
    bins[uniform] = np.arange(len(uniform), dtype=np.uint8)
    return bins


UNIFORM = _uniform_bins()


def _colour_keys(palette: NDArray[np.uint8]) -> NDArray[np.float32]:
    colours = palette.astype(np.int64)
    last = MAX_COLOURS * (colours**2).sum(axis=1) + np.arange(len(colours))
    return np.column_stack([-2 * MAX_COLOURS * colours, last]).astype(np.float32)

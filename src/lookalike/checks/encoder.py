"""What every encoder must do."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from lookalike.checks.contract import Contract, check_rules, refused
from lookalike.codes import ENCODERS, Encoder
from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput, NotFitted


def check_encoder(encoder: Encoder) -> None:
    """Raise AssertionError unless an encoder does what every one must do.

    It must have 12 bits and a seed, and be registered in ``ENCODERS``.
    """
    check_rules(lambda: EncoderContract(encoder))


def small(
    seed: int = 0, rows: int = 60, width: int = 7
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return rows in three classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 3
    X = rng.standard_normal((rows, width)) * 0.3
    X[np.arange(rows), y] += 1
    return X.astype(np.float32), y


class EncoderContract(Contract):
    """What every encoder must do."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder: Any = clone(encoder)

    def a_code_does_not_depend_on_the_batch(self) -> None:
        X, y = small(rows=101)
        self.encoder.fit(X, y)
        codes = self.encoder.encode(X)
        assert codes.dtype == np.uint8
        assert codes.shape == (101, 2)
        assert not (codes[:, -1] & 15).any()
        # Nothing is all 0 or all 1, so the codes say something.
        assert len(np.unique(codes, axis=0)) > 1
        order = np.random.default_rng(1).permutation(101)
        np.testing.assert_array_equal(self.encoder.encode(X[order]), codes[order])
        for size in (1, 2, 15, 16, 17, 33):
            again = [self.encoder.encode(X[at : at + size]) for at in range(0, 101, size)]
            np.testing.assert_array_equal(np.concatenate(again), codes)
        np.testing.assert_array_equal(self.encoder.encode(X[3]), codes[3:4])
        np.testing.assert_array_equal(self.encoder.encode(sp.csr_matrix(X)), codes)
        assert self.encoder.encode(X[:0]).shape == (0, 2)

    def values_are_those_of_the_bits(self) -> None:
        X, y = small(rows=101)
        self.encoder.fit(X, y)
        values = self.encoder.values(X)
        assert (values.dtype, values.shape) == (np.float32, (101, 12))
        np.testing.assert_array_equal(np.packbits(values > 0, axis=1), self.encoder.encode(X))
        np.testing.assert_allclose(
            self.encoder.values(sp.csr_matrix(X)), values, rtol=1e-4, atol=1e-5
        )
        assert self.encoder.values(X[:0]).shape == (0, 12)

    def any_number_of_bits_and_several_labels(self) -> None:
        X, y = small()
        labels = [{str(one), "all"} if row % 2 else {str(one)} for row, one in enumerate(y)]
        for bits in (1, 5, 8, 33):
            codes = clone(self.encoder).set_params(bits=bits).fit(X, labels).encode(X)
            assert codes.shape == (60, (bits + 7) // 8)
            ones = np.unpackbits(codes, axis=1, count=bits)
            assert (ones.min(axis=0) < ones.max(axis=0)).all()

    def saved_and_loaded_it_encodes_alike(self) -> None:
        X, y = small()
        self.encoder.fit(X, y)
        self.encoder.save(self.folder / "a", fingerprint="vectors")
        loaded = ENCODERS.load(self.folder / "a")
        assert type(loaded) is type(self.encoder)
        assert loaded.fingerprint_ == "vectors"
        assert loaded.fingerprint == self.encoder.fingerprint
        assert loaded.bits == 12
        np.testing.assert_array_equal(loaded.encode(X), self.encoder.encode(X))
        arrays, manifest = load_arrays(self.folder / "a", kind=self.encoder.file_kind)
        for name, array in arrays.items():
            for wrong in (array[:-1], np.full_like(array, np.nan), array.astype(np.float64)):
                changed = {**arrays, name: wrong}
                save_arrays(
                    self.folder / "b", changed, kind=self.encoder.file_kind, manifest=manifest
                )
                with refused(DamagedFile):
                    ENCODERS.load(self.folder / "b")

    def the_same_seed_gives_the_same_codes(self) -> None:
        X, y = small()
        twin = clone(self.encoder).fit(X, y)
        self.encoder.fit(X, y)
        np.testing.assert_array_equal(self.encoder.encode(X), twin.encode(X))
        assert self.encoder.fingerprint == twin.fingerprint
        other = clone(self.encoder).set_params(bits=11).fit(X, y)
        assert other.fingerprint != self.encoder.fingerprint

    def bad_input_is_refused(self) -> None:
        X, y = small()
        with refused(NotFitted):
            self.encoder.encode(X)
        with refused(NotFitted):
            self.encoder.save("nowhere")
        for bits in (0, -1, 2.5, None, True):
            with refused(InvalidInput, "bits must be"):
                clone(self.encoder).set_params(bits=bits).fit(X, y)
        for bad in (X[:1], X[0], [[np.nan] * 7] * 3, [["a"]] * 3):
            with refused(InvalidInput):
                clone(self.encoder).fit(bad, y[: len(bad)])
        self.encoder.fit(X, y)
        for bad in (X[:, :3], [[np.inf] * 7], np.zeros((2, 7, 1))):
            with refused(InvalidInput):
                self.encoder.encode(bad)
        if self.encoder.needs_labels:
            for bad in (None, y[:5], ["one"] * 60, sp.eye(60, format="csr")):
                with refused(InvalidInput):
                    clone(self.encoder).fit(X, bad)

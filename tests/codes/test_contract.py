"""What every encoder promises, whichever it is, and how well each does on digits."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from lookalike.checks.encoder import EncoderContract, small
from lookalike.codes import ENCODERS, Encoder, LSHCodes, RidgeCodes
from lookalike.evaluate import mean_average_precision
from tests.contract import each, passes

QUICK = {"deep_belief": {"hidden": (12,), "epochs": 2, "batches": 2, "batch_size": 40}}


def made(name, bits=12):
    settings = {"bits": bits, "random_state": 0, **QUICK.get(name, {})}
    return ENCODERS.make(name, settings)


@pytest.fixture(params=ENCODERS.names)
def encoder(request):
    return made(request.param)


@each(EncoderContract)
def test_contract(encoder, rule):
    passes(rule, EncoderContract, encoder)


def test_values_are_the_same_block_by_block(encoder, set_limits):
    X, y = small(rows=101)
    encoder.fit(X, y)
    values = encoder.values(X)
    set_limits(code_numbers=30 * 7)
    for form in (X, sp.csr_matrix(X)):
        np.testing.assert_allclose(encoder.values(form), values, rtol=1e-4, atol=1e-5)


def undecided(encoder, X):
    """Vectors between two rows at which some bit changes, as near to it as float32 comes."""
    low, high = X[:20].copy(), X[20:40].copy()
    for _ in range(30):
        middle = (low + high) / 2
        same = encoder.encode(middle) == encoder.encode(low)
        low = np.where(same.all(axis=1, keepdims=True), middle, low)
        high = np.where(same.all(axis=1, keepdims=True), high, middle)
    return np.concatenate([low, high, (low + high) / 2])


def test_a_code_does_not_depend_on_the_batch_where_all_values_are_nearly_0(encoder):
    X, y = small(rows=101, width=24)
    encoder.fit(X, y)
    low, high = undecided(encoder, X)[:40].reshape(2, 20, -1)
    rows = np.concatenate([np.repeat(X.mean(axis=0, keepdims=True), 20, axis=0), low, high])
    if hasattr(encoder, "components_"):
        # What is orthogonal to all directions has values that are nothing but rounding.
        _, _, others = np.linalg.svd(encoder.components_.astype(np.float64))
        mixed = np.random.default_rng(0).standard_normal((60, 12)) @ others[12:]
        rows = np.concatenate([rows, (mixed + getattr(encoder, "mean_", 0)).astype(np.float32)])
    codes = encoder.encode(rows)
    alone = np.concatenate([encoder.encode(row[None]) for row in rows])
    np.testing.assert_array_equal(alone, codes)
    np.testing.assert_array_equal(np.packbits(encoder.values(rows) > 0, axis=1), codes)


ENCODE = """
import sys
import numpy as np
from lookalike.codes import ENCODERS
for name in ENCODERS.names:
    encoder, X = ENCODERS.load(f"{sys.argv[1]}/{name}"), np.load(f"{sys.argv[1]}/{name}.npy")
    assert (np.packbits(encoder.values(X) > 0, axis=1) == encoder.encode(X)).all()
    print(name, encoder.encode(X).tobytes().hex())
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the processors are of another kind")
def test_codes_do_not_depend_on_the_processor(tmp_path):
    X, y = small(rows=101)
    here = []
    for name in ENCODERS.names:
        encoder = made(name).fit(X, y)
        encoder.save(tmp_path / name, fingerprint="")
        rows = np.concatenate([X, undecided(encoder, X)])
        np.save(tmp_path / f"{name}.npy", rows)
        here.append(f"{name} {encoder.encode(rows).tobytes().hex()}")
    for kind in ("Prescott", "Nehalem"):  # loops that every x86-64 processor can run
        ran = subprocess.run(
            [sys.executable, "-c", ENCODE, str(tmp_path)],
            env={**os.environ, "OPENBLAS_CORETYPE": kind},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout.splitlines() == here


@pytest.mark.parametrize("rows", [100, 101])
def test_each_bit_of_a_deep_belief_net_divides_the_pictures_evenly(rows):
    X, y = small(rows=rows)
    codes = made("deep_belief").fit(5 + 3 * X, y).encode(5 + 3 * X)
    ones = np.unpackbits(codes, axis=1, count=12).sum(axis=0)
    assert set(ones) <= {rows // 2, rows - rows // 2}


def test_every_name_of_the_registry_is_an_encoder():
    for name in ENCODERS.names:
        assert ENCODERS.get(name).name == name
        assert issubclass(ENCODERS.get(name), Encoder)


def digits():
    data = load_digits()
    X = (data.data - data.data.mean(axis=0)).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], data.target[order]


# Obtained: 0.46, 0.39, 0.65, 0.62, 0.85, 0.87.
FLOORS = {
    "lsh": 0.40,
    "spectral": 0.35,
    "itq": 0.60,
    "s3plh": 0.58,
    "ridge_codes": 0.82,
    "deep_belief": 0.84,
}


@pytest.mark.parametrize("name", ENCODERS.names)
def test_digits_are_found(name):
    X, y = digits()
    settings = {"bits": 32, "random_state": 0}
    if name == "deep_belief":
        settings |= {"hidden": (100, 60), "epochs": 10, "batches": 8, "batch_size": 500}
    encoder = ENCODERS.make(name, settings).fit(X[:1000], y[:1000])
    ones = np.unpackbits(encoder.encode(X[1000:]), axis=1).astype(np.float32)
    scores = -np.abs(ones[:, None] - ones).sum(axis=2)
    assert mean_average_precision(scores, y[1000:]) >= FLOORS[name]


def test_lsh_differs_in_proportion_to_the_angle():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 20)).astype(np.float32)
    X -= X.mean(axis=0)
    ones = np.unpackbits(LSHCodes(bits=4000, random_state=0).fit(X).encode(X[:20]), axis=1)
    units = X[:20] / np.linalg.norm(X[:20], axis=1, keepdims=True)
    angles = np.arccos(np.clip(units @ units.T, -1, 1)) / np.pi
    shares = (ones[:, None] != ones).mean(axis=2)
    np.testing.assert_allclose(shares, angles, atol=0.05)


def test_ridge_codes_of_classes_are_far_apart():
    from lookalike.codes.ridge import spread_codes

    codes = spread_codes(50, 48, np.random.default_rng(0))
    distances = (48 - codes @ codes.T) / 2
    assert distances[~np.eye(50, dtype=bool)].min() >= 12
    X, y = small()
    encoder = RidgeCodes(bits=12, random_state=0).fit(X, y)
    assert encoder.components_.shape == (12, 7)

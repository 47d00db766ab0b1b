"""Files of earlier versions load, and make the vectors they always made."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookalike.core.arrays import load_arrays, save_arrays, stored_kind
from lookalike.core.errors import DamagedFile
from lookalike.features import FEATURES, Reduction

OLDER = Path(__file__).parent / "older"
FINGERPRINTS = {
    "default-embedding-1": "d58935707c37f996bd95ff828cf8c914",
    "embedding-1": "b6731dac84596d407266bba31376c115",
    "visterms-1": "0e1c12818aff1d19f48ab2ca727f90d0",
    "reduction-1": "d70d549a4587c460686bd194662afe56",
}
ORANGE = Image.new("RGB", (200, 160), (255, 100, 0))


def load(path):
    return Reduction.load(path) if "reduction" in path.name else FEATURES.load(path)


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_an_older_file_keeps_its_fingerprint(name, tmp_path):
    part = load(OLDER / name)
    assert part.fingerprint == part.fingerprint_ == FINGERPRINTS[name]
    part.save(tmp_path / name)
    assert stored_kind(OLDER / name) == f"{part.name}/1"
    assert stored_kind(tmp_path / name) == f"{part.name}/2"
    assert load(tmp_path / name).fingerprint == FINGERPRINTS[name]


def test_an_older_embedding_makes_the_same_vectors():
    embedding = FEATURES.load(OLDER / "embedding-1")
    expected = [[0.9887503981590271, 0.1437888890504837, -0.04119793698191643]]
    np.testing.assert_allclose(embedding.describe([ORANGE]), expected, atol=1e-6)
    assert embedding.record(ORANGE).hex() == "e93b9a3046a9"
    assert embedding.decode_side == 16


def test_older_visterms_make_the_same_vectors():
    visterms = FEATURES.load(OLDER / "visterms-1")
    assert visterms.describe([ORANGE]).toarray().tolist() == [[0, 0, 1, 0]]
    assert visterms.record(ORANGE).hex() == "020000000000803f"
    assert (visterms.colours, visterms.decode_side) == (2, 400)


def test_an_older_reduction_makes_the_same_vectors():
    reduction = Reduction.load(OLDER / "reduction-1")
    assert (reduction.dimension, reduction.parent_) == (2, "0123456789abcdef" * 2)
    expected = [[0.727083683013916, 0.6865488290786743]]
    np.testing.assert_allclose(reduction.apply(np.eye(4)[:1]), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("embedding-1", "fingerprint", None),
        ("embedding-1", "fingerprint", "0" * 32),
        ("embedding-1", "side", "eight"),
        ("visterms-1", "fingerprint", "0" * 32),
        ("visterms-1", "longest_side", None),
        ("visterms-1", "dimension", "4"),
        ("reduction-1", "parent", None),
        ("reduction-1", "parent", 7),
    ],
)
def test_a_damaged_older_file_is_refused(tmp_path, name, key, value):
    kind = name.replace("-", "/")
    arrays, manifest = load_arrays(OLDER / name, kind=kind)
    changed = {k: v for k, v in {**manifest, key: value}.items() if v is not None}
    save_arrays(tmp_path / name, arrays, kind=kind, manifest=changed)
    with pytest.raises(DamagedFile):
        load(tmp_path / name)

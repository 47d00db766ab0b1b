"""Files that 0.1.0 wrote load, and make the vectors they always made."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile
from lookalike.features import FEATURES, Reduction

OLDER = Path(__file__).parent / "older"
FINGERPRINTS = {
    "default-embedding-2": "d58935707c37f996bd95ff828cf8c914",
    "embedding-2": "b6731dac84596d407266bba31376c115",
    "visterms-2": "0e1c12818aff1d19f48ab2ca727f90d0",
    "reduction-2": "d70d549a4587c460686bd194662afe56",
}
ORANGE = Image.new("RGB", (200, 160), (255, 100, 0))


def load(path):
    return Reduction.load(path) if "reduction" in path.name else FEATURES.load(path)


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_an_older_file_keeps_its_fingerprint(name, tmp_path):
    part = load(OLDER / name)
    assert part.fingerprint == part.fingerprint_ == FINGERPRINTS[name]
    part.save(tmp_path / name)
    assert load(tmp_path / name).fingerprint == FINGERPRINTS[name]


def test_an_older_embedding_makes_the_same_vectors():
    embedding = FEATURES.load(OLDER / "embedding-2")
    expected = [[0.9887503981590271, 0.1437888890504837, -0.04119793698191643]]
    np.testing.assert_allclose(embedding.describe([ORANGE]), expected, atol=1e-6)
    assert embedding.record(ORANGE).hex() == "e93b9a3046a9"
    assert embedding.decode_side == 16


def test_older_visterms_make_the_same_vectors():
    visterms = FEATURES.load(OLDER / "visterms-2")
    assert visterms.describe([ORANGE]).toarray().tolist() == [[0, 0, 1, 0]]
    assert visterms.record(ORANGE).hex() == "020000000000803f"
    assert (visterms.colours, visterms.decode_side) == (2, 400)


def test_an_older_reduction_makes_the_same_vectors():
    reduction = Reduction.load(OLDER / "reduction-2")
    assert (reduction.dimension, reduction.parent_) == (2, "0123456789abcdef" * 2)
    expected = [[0.727083683013916, 0.6865488290786743]]
    np.testing.assert_allclose(reduction.apply(np.eye(4)[:1]), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("embedding-2", {"fingerprint": None}),
        ("embedding-2", {"fingerprint": "0" * 32}),
        ("embedding-2", {"settings": {"side": "eight"}}),
        ("visterms-2", {"fingerprint": "0" * 32}),
        ("visterms-2", {"settings": {"dimension": 4, "colours": 2, "longest_side": None}}),
        ("visterms-2", {"settings": {"dimension": "4", "colours": 2, "longest_side": 400}}),
        ("reduction-2", {"learned": {}}),
        ("reduction-2", {"learned": {"parent": 7}}),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, name, change):
    kind = name.replace("-", "/")
    arrays, manifest = load_arrays(OLDER / name, kind=kind)
    save_arrays(tmp_path / name, arrays, kind=kind, manifest={**manifest, **change})
    with pytest.raises(DamagedFile):
        load(tmp_path / name)

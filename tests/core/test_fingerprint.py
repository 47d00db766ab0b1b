import numpy as np
import pytest

from lookalike.core.errors import FingerprintMismatch
from lookalike.core.fingerprint import check_fingerprint, fingerprint

A = np.arange(6, dtype=np.float32)


def test_the_same_gives_the_same_whatever_the_order():
    first = fingerprint({"a": 1, "b": "ü"}, {"x": A, "y": A[:2]})
    second = fingerprint({"b": "ü", "a": 1}, {"y": A[:2].copy(), "x": A})
    assert first == second
    assert len(first) == 32
    assert set(first) <= set("0123456789abcdef")


def test_it_is_the_same_on_every_run():
    assert fingerprint({"a": 1}, {"x": A}) == "d815118e4a5e889432156e477ff5eadb"


def test_layout_in_memory_does_not_matter():
    square = A.reshape(2, 3)
    assert fingerprint({}, {"x": square}) == fingerprint({}, {"x": np.asfortranarray(square)})


@pytest.mark.parametrize(
    ("settings", "arrays"),
    [
        ({"a": 2}, {"x": A}),
        ({"a": 1, "b": None}, {"x": A}),
        ({"a": "1"}, {"x": A}),
        ({"a": 1}, {"y": A}),
        ({"a": 1}, {"x": A.reshape(2, 3)}),
        ({"a": 1}, {"x": A.astype(np.float64)}),
        ({"a": 1}, {"x": A.view(np.int32)}),
        ({"a": 1}, {"x": A[::-1]}),
        ({"a": 1}, {"x": A, "y": A}),
        ({"a": 1}, {}),
    ],
)
def test_any_difference_shows(settings, arrays):
    assert fingerprint(settings, arrays) != fingerprint({"a": 1}, {"x": A})


def test_two_fingerprints_never_meet():
    check_fingerprint("DenseIndex", "abc", "abc")
    with pytest.raises(FingerprintMismatch, match=r"DenseIndex .* abc, but these have abd"):
        check_fingerprint("DenseIndex", "abc", "abd")

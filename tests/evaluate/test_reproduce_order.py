"""The order of a paper's methods, tested on folds."""

from lookalike.evaluate.reproduce.order import order_notes


def test_where_the_order_does_not_hold_is_said():
    (note,) = order_notes(
        {"OASIS": (0.5, 0.52, 0.55), "LEGO": (0.4, 0.41, 0.42), "Euclidean": (0.45, 0.46, 0.44)},
        "10 classes",
    )
    assert "folds, 10 classes: " in note
    first, second = note.partition(": ")[2].split("; ")
    assert first.startswith("OASIS over LEGO +11.3 (p = 0.0")
    assert second.startswith("LEGO over Euclidean -4.0")
    assert "does not hold" in second
    assert "does not hold" not in first


def test_one_fold_and_equal_differences_have_no_test():
    (note,) = order_notes({"first": (0.5,), "second": (0.4,), "third": (0.3,)})
    assert "p =" not in note
    assert order_notes({"alone": (0.5, 0.6)}) == []

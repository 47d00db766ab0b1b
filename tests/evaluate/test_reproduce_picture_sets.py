import numpy as np
import pytest

from lookalike.core.errors import InvalidInput
from lookalike.evaluate.reproduce.caltech256 import TEN, class_sets
from lookalike.evaluate.reproduce.picture_sets import picture_sets


def folder_of(top, classes):
    for name, count in classes.items():
        (top / name).mkdir(parents=True)
        for number in range(count):
            (top / name / f"{number:03}.jpg").touch()
    return top


def sets_of(data):
    return picture_sets(data, class_sets, random_state=0)


def write_split(data, name, rows, head="file,class,split"):
    (data / "splits").mkdir(exist_ok=True)
    (data / "splits" / name).write_text("\n".join([head, *rows]) + "\n")


def test_the_classes_of_appendix_b_are_found(tmp_path):
    data = folder_of(
        tmp_path / "256", {f"{number:03}.{name}": 66 for number, name in enumerate(TEN, start=1)}
    )
    (data / "001.bear" / "notes.txt").touch()
    (data / "001.bear" / "inner").mkdir()
    (only,) = sets_of(data)
    assert (only.name, only.title, only.classes, only.shape) == ("10", "10 classes", 10, "40 + 25")
    assert "Appendix B" in only.source
    assert len(only.files) == 660
    assert len(only.folds) == 5
    for fold in only.folds:
        assert not np.intersect1d(fold.train_rows, fold.test_rows).size
        assert set(np.unique(only.labels[fold.test_rows], return_counts=True)[1]) == {25}


def test_other_classes_are_one_set_without_the_small_ones(tmp_path):
    data = folder_of(tmp_path, {"cat": 70, "dog": 65, "newt": 64, "empty": 0})
    (only,) = sets_of(data)
    assert set(only.labels) == {"cat", "dog"}
    assert only.classes == 2


def test_the_draw_is_repeatable_and_depends_on_the_seed(tmp_path):
    data = folder_of(tmp_path, {"cat": 70, "dog": 70})
    first, again = sets_of(data), sets_of(data)
    other = picture_sets(data, class_sets, random_state=1)
    rows = [one[0].folds[0].train_rows.tolist() for one in (first, again, other)]
    assert rows[0] == rows[1] != rows[2]


def test_folders_that_will_not_do_are_refused_by_name(tmp_path):
    with pytest.raises(InvalidInput, match="nowhere is not a folder"):
        sets_of(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="must contain a folder of pictures for each class"):
        sets_of(tmp_path)
    folder_of(tmp_path, {"cat": 70, "newt": 64})
    with pytest.raises(InvalidInput, match=r"40 \+ 25 pictures; 1 of 2 .* 'cat' with 70"):
        sets_of(tmp_path)


def test_given_splits_are_taken_as_they_are(tmp_path):
    folder_of(tmp_path / "images", {"cat": 4, "dog": 4, "newt": 4})
    rows = [
        f"images/{name}/{number:03}.jpg,{name},{'train' if number < 3 else 'test'}"
        for name in ("dog", "cat")
        for number in range(4)
    ]
    swapped = [row.replace("train", "x").replace("test", "train") for row in rows]
    write_split(tmp_path, "pets_fold10.csv", [row.replace(",x", ",test") for row in swapped])
    write_split(tmp_path, "pets_fold2.csv", rows)
    write_split(tmp_path, "2_fold0.csv", rows)
    plain, pets = sets_of(tmp_path)
    assert (plain.name, plain.title) == ("2", "2 classes")
    assert (pets.name, pets.title, pets.shape) == ("pets", "pets: 2 classes", "3 + 1")
    assert [len(fold.train_rows) for fold in pets.folds] == [6, 2]
    fold = pets.folds[0]
    assert [pets.files[row].name for row in fold.test_rows] == ["003.jpg"] * 2
    assert pets.labels[fold.test_rows].tolist() == ["cat", "dog"]


@pytest.mark.parametrize(
    ("rows", "head", "reason"),
    [
        (["a.jpg,cat,train", "b.jpg,cat,test"], "file,class,split", r"a\.jpg does not exist; 2 of"),
        (["a.jpg,cat,val"], "file,class,split", "train or test .* got 'val'"),
        (["a.jpg,cat,train", "a.jpg,dog,test"], "file,class,split", "of the same class; .* 'dog'"),
        (["a.jpg,cat,train"], "file,class,split", "both splits"),
        (["a.jpg,cat"], "file,class", "columns file, class and split"),
    ],
)
def test_splits_that_will_not_do_are_refused(tmp_path, rows, head, reason):
    write_split(tmp_path, "10_fold0.csv", rows, head)
    with pytest.raises(InvalidInput, match=reason):
        sets_of(tmp_path)

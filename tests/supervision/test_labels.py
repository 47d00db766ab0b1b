import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import InvalidInput
from lookalike.supervision import Relevance, folder_labels, read_labels


def write(folder, text, name="labels.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("file,label\na,cat\nb,dog\n", {"a": ["cat"], "b": ["dog"]}),
        ("\ufefffile,label\r\na,cat\r\n", {"a": ["cat"]}),
        ("\n\nPath ; TAGS\n\na;x|y\n", {"a": ["x", "y"]}),
        ('path;tags\na;"x;y| x"\n', {"a": ["x", "y"]}),
        ("image\ttags\na\tx, y;z\n", {"a": ["x, y", "z"]}),
        ("file,tag\na,x\na,y\na,x\n", {"a": ["x", "y"]}),
        ("file,label\na,x|y\n", {"a": ["x|y"]}),
        ("file,label\na,x\na, x\n", {"a": ["x"]}),
        ("picture,category,tags,size\na,pets,cat;pets,9\n", {"a": ["pets", "cat"]}),
        ("file,label\na,\nb,  \n", {"a": [], "b": []}),
        ('file,label\n"a, b.jpg","say ""hi"""\n', {"a, b.jpg": ['say "hi"']}),
        ('file,label\na,"two\nlines"\n', {"a": ["two lines"]}),
        ("file,label\na,gru\u0308n\nb,gr\u00fcn\n", {"a": ["gr\u00fcn"], "b": ["gr\u00fcn"]}),
        ("file,label\na,7\n", {"a": ["7"]}),
    ],
)
def test_tables_are_understood(tmp_path, text, expected):
    assert read_labels(write(tmp_path, text)) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"a": "cat", "b": ["x", " y", "x"], "c": None, "d": [], "e": 7}, None),
        ([{"File": "a", "label": "cat"}, {"file": "b", "tags": ["x", "y"]}], None),
        ([{"file": "a", "tags": "x;y"}, {"file": "a", "tags": ["z"]}], {"a": ["x", "y", "z"]}),
        ({"a": "cat;dog"}, {"a": ["cat;dog"]}),
    ],
)
def test_json_is_understood(tmp_path, content, expected):
    found = read_labels(write(tmp_path, json.dumps(content), "labels.json"))
    if expected is None:
        assert found["a"] == ["cat"]
        assert found["b"] == ["x", "y"]
        assert found.get("c", []) == []
        assert found.get("e", ["7"]) == ["7"]
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("file,label\na,gr\u00fcn\n".encode("latin-1"), "line 2.*UTF-8"),
        ("file,label\na,x\n".encode("utf-16"), "UTF-8"),
        (b"file,label\na,x\nb,\0\n", "line 3.*zero byte"),
        ("file,label\na," + "x" * 10_000 + "\n", "line 2.*10000 characters"),
        ("file,label\na," + "x" * 200_000 + "\n", "line 2"),
        ('file,label\na,"x\nb,y\n', "line 3.*quotes"),
        ("file,label\na,\x1b[2J\n", "line 2.*control"),
        ("name,label\na,x\n", "'file' or"),
        ("file,colour\na,x\n", "'label' or"),
        ("file,label,label\na,x,y\n", "line 1.*twice"),
        ("file,label\na\n", "line 2.*1 cells, but the header has 2"),
        ("file,label\na,x\nb,Washington, D.C.\n", "line 3.*3 cells.*double quotes"),
        ("file,label\na,x\na,y\n", "line 3.*'y'.*'x' earlier.*line 2"),
        ("file,label\n,x\n", "line 2.*no file"),
        ("file,label\n", "no rows"),
        ("", "empty"),
        ("  \n\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
    ],
)
def test_hostile_tables_are_refused(tmp_path, text, says):
    with pytest.raises(InvalidInput, match=f"(?s){says}") as caught:
        read_labels(write(tmp_path, text))
    assert "labels.csv" in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": "x",\n "a": "y"}', "'a' has two different values"),
        ('{"a": "x",\n', "line 2"),
        ("{}", "no entries"),
        ("[]", "no entries"),
        ("3", "object from file"),
        ('["a"]', "entry 1"),
        ('[{"file": "a"}]', "'label' or"),
        ('[{"label": "a"}]', "'file' or"),
        ('[{"file": 3, "label": "a"}]', "entry 1.*text"),
        ('[{"file": "a", "label": ["x", "y"]}]', "one label"),
        ('[{"file": "a", "label": "x"}, {"file": "a", "label": "y"}]', "entry 2.*entry 1"),
        ('{"a": 1.5}', "whole number"),
        ('{"a": true}', "whole number"),
        ('{"a": NaN}', "whole number"),
        ('{"a": {"b": 1}}', "whole number"),
        ('{"a": [["x"]]}', "whole number"),
        ('{"a": "\\ud800"}', "control"),
        ('{"a": ' + "9" * 5000 + "}", "unsupported JSON"),
        ("[" * 100_000, "unsupported JSON"),
        (b'{"a": "\xfc"}', "UTF-8"),
    ],
)
def test_hostile_json_is_refused(tmp_path, text, says):
    with pytest.raises(InvalidInput, match=f"(?s){says}") as caught:
        read_labels(write(tmp_path, text, "labels.json"))
    assert "labels.json" in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="No such file"):
        read_labels(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidInput, match="directory"):
        read_labels(tmp_path / "folder.csv")
    with pytest.raises(InvalidInput, match=r"\.csv, \.tsv or \.json"):
        read_labels(tmp_path / "labels.xlsx")


@settings(max_examples=100)
@given(content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
@pytest.mark.parametrize("name", ["labels.csv", "labels.json"])
def test_any_bytes_are_labels_or_refused(tmp_path_factory, name, content):
    path = write(
        tmp_path_factory.getbasetemp(), b"file,tags\n" * (name == "labels.csv") + content, name
    )
    try:
        found = read_labels(path)
    except InvalidInput:
        return
    assert found
    Relevance.of(list(found.values()))


def test_folders_are_labels(tmp_path):
    paths = [
        Path("pets/cat/1.jpg"),
        Path("pets/2.jpg"),
        Path("3.jpg"),
        Path("/4.jpg"),
        Path("../5.jpg"),
    ]
    assert folder_labels(paths) == dict(zip(paths, [["cat"], ["pets"], [], [], []], strict=True))
    assert folder_labels(paths, roots=[Path.cwd() / "pets"])[paths[1]] == []
    assert folder_labels(["x/gru\u0308n/1.jpg"]) == {"x/gru\u0308n/1.jpg": ["gr\u00fcn"]}
    odd = folder_labels(["x/b\udcff\x1b/1.jpg"])
    assert odd == {"x/b\udcff\x1b/1.jpg": ["b\ufffd\ufffd"]}
    assert folder_labels([]) == {}


def test_many_columns_and_many_tags(tmp_path):
    """At the square of these numbers either would take minutes."""
    count = 100_000
    names = [f"n{number}" for number in range(count)]
    columns = write(tmp_path, f"file,tags,{','.join(names)}\na,x{',' * count}\n")
    assert read_labels(columns) == {"a": ["x"]}
    rows = write(tmp_path, "file,tag\n" + "".join(f"a,{name}\n" for name in names * 2))
    assert read_labels(rows) == {"a": names}

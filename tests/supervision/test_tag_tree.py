import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import InvalidInput
from lookalike.supervision import TagTree, read_tag_tree
from tests.reference.annotation_metrics import siblings_slowly

WORDNET = """wnid\tlemmas\thypernyms
n1\tentity\t
n2\tamphibian\tn1
n3\tFrenchman,frog\tn5
n4\tice_toad\tn2
n5\tperson,soul\tn1
n6\tfrog,toad_frog,anuran\tn2
n7\tlistener\tn5,n2
"""


def write(folder, text, name="tree.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def are_siblings(tree, first, second, level=1):
    groups = tree.groups([first, second], level)
    return bool((groups @ groups.T)[0, 1])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tree.csv", "word,parent\ndog,pet\ncat,pet\ncat,animal\npet,\n"),
        ("tree.csv", "\ufeffTag;Parents\r\ndog;pet\r\ncat;pet|animal\r\ncat;pet\r\n"),
        ("tree.tsv", "child\tparents\n dog \tpet\ncat\tpet;animal\n"),
        ("tree.csv", "path,note\npet/dog,\npet/cat,\nanimal/cat,x\n"),
        ("tree.csv", "path\n pet / dog \n/pet/cat/\nanimal//cat\n"),
        ("tree.json", '{"pet": {"dog": {}, "cat": null}, "animal": {"cat": []}}'),
        ("tree.json", '{"pet": ["dog", {"cat": null}], "animal": "cat"}'),
        ("tree.json", '["pet/dog", "pet/cat", "animal/cat"]'),
        ("tree.json", '[{"path": "pet/dog"}, {"path": "pet/cat"}, {"path": "animal/cat"}]'),
        (
            "tree.json",
            '[{"word": "pet"}, {"word": "dog", "parent": "pet"}, '
            '{"word": "cat", "parent": ["pet", "animal"]}]',
        ),
    ],
)
def test_every_form_says_the_same(tmp_path, name, text):
    tree = read_tag_tree(write(tmp_path, text, name))
    assert tree.parents("dog") == ("pet",)
    assert tree.parents("cat") == ("pet", "animal")
    assert tree.parents("pet") == tree.parents("boat") == ()
    assert tree.path("cat") == ("pet", "cat")
    assert tree.path("boat") == ("boat",)
    assert "animal" in tree
    assert "boat" not in tree
    assert are_siblings(tree, "dog", "cat")
    assert not are_siblings(tree, "dog", "pet")
    assert not are_siblings(tree, "pet", "animal")


def test_wordnet(tmp_path):
    tree = read_tag_tree(write(tmp_path, WORDNET, "isa.tsv"))
    assert repr(tree) == "<TagTree of 10 words, 7 nodes>"
    assert tree.parents("frog") == ("amphibian", "person")
    assert tree.path("FROG") == ("entity", "amphibian", "FROG")
    assert tree.path("toad-frog") == ("entity", "amphibian", "toad-frog")
    assert "Ice Toad" in tree
    assert are_siblings(tree, "anuran", "ice toad")
    assert are_siblings(tree, "anuran", "toad frog")
    assert are_siblings(tree, "person", "soul")
    assert not are_siblings(tree, "anuran", "Frenchman")
    assert are_siblings(tree, "anuran", "Frenchman", level=2)
    assert not are_siblings(tree, "entity", "soul", level=9)


def test_the_first_parent_said_leads_the_way(tmp_path):
    tree = read_tag_tree(write(tmp_path, "word,parents\nanimal,\npet,\ncat,pet;animal\n"))
    for _ in range(2):
        assert tree.parents("cat") == ("pet", "animal")
        assert tree.path("cat") == ("pet", "cat")
        tree.median_siblings(["cat", "pet"], level=2)


def test_a_parent_is_a_sibling_only_below_a_grandparent(tmp_path):
    tree = read_tag_tree(write(tmp_path, "path\na/b/c\n"))
    assert not are_siblings(tree, "b", "c", level=1)
    assert are_siblings(tree, "b", "c", level=2)
    assert not are_siblings(tree, "a", "b", level=2)


GROCERIES = """file,fine,coarse,super
1.jpg,Royal-Gala,Apple,Fruit
2.jpg,Pink-Lady,Apple,Fruit
3.jpg,Orange,Orange,Fruit
4.jpg,Kiwi,Kiwi,Fruit
5.jpg,Pink-Lady,Apple,Fruit
6.jpg,Leek,,Vegetables
"""


def test_columns_are_levels_if_named(tmp_path):
    tree = read_tag_tree(write(tmp_path, GROCERIES), levels=("Fine", "coarse", "super"))
    assert tree.path("pink lady") == ("Fruit", "Apple", "pink lady")
    assert tree.path("Orange") == ("Fruit", "Orange", "Orange")
    assert tree.path("Leek") == ("Vegetables", "Leek")
    assert are_siblings(tree, "Royal-Gala", "Pink-Lady")
    assert not are_siblings(tree, "Orange", "Kiwi")
    assert are_siblings(tree, "Orange", "Kiwi", level=2)
    assert not are_siblings(tree, "Orange", "Leek", level=3)
    with pytest.raises(InvalidInput, match="a column named 'medium'; it has 'file', 'fine'"):
        read_tag_tree(tmp_path / "tree.csv", levels=("fine", "medium"))
    for wrong in ("fine", ("fine",)):
        with pytest.raises(InvalidInput, match="at least two columns"):
            read_tag_tree(tmp_path / "tree.csv", levels=wrong)
    with pytest.raises(InvalidInput, match="give them as levels"):
        read_tag_tree(tmp_path / "tree.csv")


def test_the_same_name_in_two_places_stays_apart(tmp_path):
    tree = read_tag_tree(write(tmp_path, "path\nfruit/apple/gala\nbrand/apple/phone\n"))
    assert tree.parents("apple") == ("fruit", "brand")
    assert not are_siblings(tree, "gala", "phone")
    assert tree.path("phone") == ("brand", "apple", "phone")


def test_words_that_are_paths():
    tree = TagTree.from_paths(["Tiere/Hund", "Tiere/Vögel/Eule", "Auto", "/x//y/"])
    assert tree.parents("tiere/VO\u0308GEL/eule") == ("Tiere/Vögel",)
    assert tree.path("Tiere/Vögel/Eule") == ("Tiere", "Tiere/Vögel", "Tiere/Vögel/Eule")
    assert tree.path("Auto") == ("Auto",)
    assert are_siblings(tree, "Tiere/Hund", "tiere/vögel")
    assert "Eule" not in tree
    assert "/x//y/" in tree
    with pytest.raises(InvalidInput, match="has no words"):
        TagTree.from_paths(["", " "])


def test_words_are_found_however_they_are_spelled(tmp_path):
    tree = read_tag_tree(
        write(tmp_path, "word,parent\nIce_cream,süßes\nCafe\u0301-bar,SU\u0308SSES\n")
    )
    for word in ("ice cream", "ICE-CREAM", " ice__cream", "ｉｃｅ cream"):
        assert tree.parents(word) == ("süßes",)
    assert are_siblings(tree, "ice cream", "café bar")
    assert are_siblings(tree, "ice cream", "ice-cream")
    assert "icecream" not in tree
    assert "ice creams" not in tree


def test_signs_alone_are_words_too(tmp_path):
    tree = read_tag_tree(write(tmp_path, "word,parent\n-,minus\n_,below\n"))
    assert tree.parents("-") == ("minus",)
    assert tree.parents("_") == ("below",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "word,parent\na,b\n\nb,c\nc,a\nd,a\na,b\n",
            r"'a' is under 'b' \(line 2\), 'b' is under 'c' ",
        ),
        (
            "word,parent\nA,b\nB,a\n",
            r"'A' is under 'b' \(line 2\), 'b' is under 'A' \(line 3\). Re",
        ),
        ("word,parent\nx,y\ndog,Dog\n", "line 3: 'dog' is its own parent. Leave the parent empty"),
        ("word,parent\nice_cream,ice cream\n", "line 2: 'ice_cream' is its own parent"),
        ("wnid,lemmas,hypernyms\nn1,a,n2\nn2,b,n1\n", r"'a' is under 'b' \(line 2\)"),
        ("wnid,lemmas,hypernyms\nn1,a,n9\n", "line 2: the hypernym 'n9' has no row of its own"),
        ("wnid,lemmas,hypernyms\nn1,,\n", "line 2: the row needs a wnid and at least one lemma"),
        (
            "word,colour\ndog,red\n",
            "needs the columns 'word' and 'parent', .* has 'word', 'colour'",
        ),
        ("parent\ndog\n", "needs the columns"),
        ("word,parent\n,pet\n", "line 2: the row has no word"),
        ("word,parent\n", "a header but no rows"),
        ("path\n/\n", "has no words"),
        ("", "empty"),
        ("word,parent\ndog\n", "line 2: 1 cells, but the header has 2"),
        (
            "word,parent\nf\xe4rg,x\n".encode("latin-1"),
            "line 2: not UTF-8 .* Save the file as UTF-8",
        ),
        (f"word,parent\n{'a' * 10_000},b\n", "line 2: a name has 10000 characters; the limit is"),
        (f"word,parent\na,b;{'a' * 10_000}\n", "line 2: a name has 10000 characters"),
        (f"path\na/b/{'a' * 10_000}\n", "line 2: a name has 10000 characters"),
        ("word,parent\na\x07b,c\n", "line 2: .* control character"),
    ],
)
def test_tables_that_cannot_be_made_out(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(InvalidInput, match=message) as raised:
        read_tag_tree(path)
    assert "tree.csv" in str(raised.value)
    assert len(str(raised.value)) < 600


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":\n {"b"', "line 2: not JSON"),
        ("[" * 100_000, "unsupported JSON"),
        ('{"a": ' + "9" * 5000 + "}", "unsupported JSON"),
        ("{}", "has no words"),
        ("[]", "has no words"),
        ('"dog"', "has no words"),
        ('{"a": {"b": 1.5}}', "below a/b: a word must be text or a whole number; got 1.5"),
        ('{"a": true}', "below a: a word must be"),
        ('{"a": ["b"], "a": ["c"]}', "'a' is given twice in one object"),
        ('["a/b", {"word": "c"}]', "entry 2: must be text such as 'animal/dog'; got"),
        ('[{"word": "c", "parent": "d"}, "a/b"]', "entry 2: must be an object; got 'a/b'"),
        ('[{"word": "c"}, {"name": "d"}]', "needs the columns"),
        ('[{"word": "a", "parent": "b"}, {"parent": "b"}]', "entry 2: the row has no word"),
        ('[{"word": "a", "parent": "b"}, {"word": "b", "parents": "a"}]', r"\(entry 2\). Remove"),
        ('[{"word": "a", "parent": {"b": 1}}]', "entry 1: a word must be"),
        ('[{"wnid": 1, "lemmas": "a", "hypernyms": null}]', "entry 1: the row needs a wnid"),
        ('{"a\\ud800": ["b"]}', "at the top: .* control character"),
        (json.dumps({"top": {"a" * 10_000: None}}), "below top: a name has 10000 characters"),
    ],
)
def test_json_that_cannot_be_made_out(tmp_path, text, message):
    path = write(tmp_path, text, "tree.json")
    with pytest.raises(InvalidInput, match=message) as raised:
        read_tag_tree(path)
    assert "tree.json" in str(raised.value)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"cannot be read: No such file"):
        read_tag_tree(tmp_path / "none.csv")
    with pytest.raises(InvalidInput, match=r"\.csv, \.tsv or \.json file; got '\.txt'"):
        read_tag_tree(write(tmp_path, "a/b", "tree.txt"))


def test_a_long_circle_is_told_in_short(tmp_path):
    rows = "".join(f"w{i},w{(i + 1) % 3000}\n" for i in range(3000))
    with pytest.raises(InvalidInput, match=r"and so on, 3000 words in all\. Remove") as raised:
        read_tag_tree(write(tmp_path, f"word,parent\nx,w0\n{rows}"))
    assert len(str(raised.value)) < 700


def test_deep_and_broad_trees(tmp_path):
    chain = "".join(f"w{i},w{i + 1}\n" for i in range(20_000))
    tree = read_tag_tree(write(tmp_path, f"word,parent\n{chain}"))
    assert len(tree.path("w0")) == 20_001
    broad = TagTree.from_paths([f"top/w{i}" for i in range(50_000)])
    words = [f"top/w{i}" for i in range(0, 50_000, 25)]
    assert broad.groups(words).shape == (2000, 2001)
    assert broad.median_siblings(words) == 1999


@pytest.mark.parametrize("level", [0, -1, 1.0, True, None])
def test_levels_are_whole_numbers(level):
    with pytest.raises(InvalidInput, match="level must be a whole number from 1"):
        TagTree.from_paths(["a/b"]).groups(["a"], level)


def test_the_median_number_of_siblings(tmp_path):
    tree = read_tag_tree(write(tmp_path, "path\na/1\na/2\na/3\na/4\nb/5\nb/6\n"))
    words = ["1", "2", "3", "4", "5", "6", "unknown"]
    assert tree.median_siblings(words, block_siblings=14) == 3
    assert tree.median_siblings(["5", "6", "unknown"]) == 1
    assert tree.median_siblings(["1", "2", "5", "unknown"]) == 0.5
    with pytest.raises(InvalidInput, match="at least one word"):
        tree.median_siblings([])


@st.composite
def synsets(draw):
    """Nodes that have words, and parents among the nodes before them."""
    count = draw(st.integers(1, 9))
    vocabulary = "abcdefg"
    words = [
        draw(st.lists(st.sampled_from(vocabulary), min_size=1, max_size=3)) for _ in range(count)
    ]
    parents = [
        draw(st.lists(st.integers(0, node - 1), max_size=2)) if node else []
        for node in range(count)
    ]
    return words, parents


@settings(max_examples=60)
@given(synsets(), st.integers(1, 3))
def test_groups_are_the_siblings_of_the_paper(tmp_path_factory, drawn, level):
    words, parents = drawn
    rows = "".join(
        f"n{node}\t{','.join(some)}\t{','.join(f'n{up}' for up in above)}\n"
        for node, (some, above) in enumerate(zip(words, parents, strict=True))
    )
    path = tmp_path_factory.getbasetemp() / "isa.tsv"
    path.write_text(f"wnid\tlemmas\thypernyms\n{rows}")
    tree = read_tag_tree(path)
    meanings = {}
    for node, some in enumerate(words):
        for word in some:
            meanings.setdefault(word, set()).add(node)
    relations = {(node, up) for node, above in enumerate(parents) for up in above}
    asked = list("abcdefgxy")
    slow = [
        [siblings_slowly(one, other, relations, meanings, level) for other in asked]
        for one in asked
    ]
    groups = tree.groups(asked, level)
    assert groups.dtype == np.bool_
    assert (np.diff(groups.indptr) > 0).all()
    np.testing.assert_array_equal((groups @ groups.T).toarray(), slow)
    assert tree.median_siblings(asked, level) == np.median(np.sum(slow, axis=1) - 1)
    for word in asked:
        assert set(tree.parents(word)) == {
            words[up][0] for node, up in relations if node in meanings.get(word, ())
        }

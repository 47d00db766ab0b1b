"""The words of pictures: one word however it is spelled, and back from disk as it was."""

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.annotation.words import pack_words, read_words, unpack_words
from lookalike.core.errors import DamagedFile, InvalidInput


def test_spellings_of_a_word_are_one_written_as_most_have_it() -> None:
    y = ["Café", "cafe\u0301", "CAFÉ", "café", "café", {"tea", "TEA "}]
    has, words = read_words("test", y, 6)
    assert sorted(words) == ["TEA", "café"]
    assert has.toarray()[:, words.index("café")].tolist() == [1, 1, 1, 1, 1, 0]
    assert has.nnz == 6


def test_known_words_keep_number_and_spelling() -> None:
    has, words = read_words("test", ["dog", "CAT", "ant"], 3, known=("zebra", "Cat"))
    assert words == ("zebra", "Cat", "ant", "dog")
    assert has.indices.tolist() == [3, 1, 2]


def test_pictures_may_have_no_word() -> None:
    has, words = read_words("test", ["a", None, "", set(), float("nan")], 5)
    assert words == ("a",)
    assert np.diff(has.indptr).tolist() == [1, 0, 0, 0, 0]


def test_pairs_and_endless_words_are_refused() -> None:
    with pytest.raises(InvalidInput, match="words of each picture"):
        read_words("test", sp.eye(3, format="csr"), 3)
    with pytest.raises(InvalidInput, match=r"a word has 10000 characters.*limit is 1000"):
        read_words("test", ["x" * 10_000, "b"], 2)
    with pytest.raises(InvalidInput, match="3 pictures"):
        read_words("test", ["a", "b"], 3)


@pytest.mark.parametrize("words", [(), ("",), ("a",), ("ü", "日本語", "a b", "🦉"), ("w",) * 9999])
def test_words_come_back(words: tuple[str, ...]) -> None:
    assert unpack_words(pack_words(words), len(words)) == words


@pytest.mark.parametrize("change", [slice(0, 5), slice(3, None), slice(0, -1)])
def test_damaged_words_are_refused(change: slice) -> None:
    packed = pack_words(("one", "two", "three"))
    with pytest.raises(DamagedFile):
        unpack_words(packed[change], 3)
    with pytest.raises(DamagedFile, match="4 expected"):
        unpack_words(packed, 4)

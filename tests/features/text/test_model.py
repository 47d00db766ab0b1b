"""A pair of models: texts have vectors near those of their pictures, and what cannot be used."""

import json

import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import InvalidInput
from lookalike.features import Embedding
from lookalike.features.text.tokens import Tokens
from tests.features.pairs import image_model, text_model, tokenizer, write_pair


def pair(**changes):
    given = {"model": image_model(), "text": text_model(), "tokenizer": tokenizer()}
    return Embedding(mean=0, std=1, **{**given, **changes})


def test_a_text_is_near_its_pictures():
    feature = pair()
    pictures = feature.describe([Image.new("RGB", (32, 32), name) for name in ("red", "blue")])
    np.testing.assert_allclose(feature.text_model.encode(["Réd"]) @ pictures.T, [[1, 0]], atol=1e-6)
    assert feature.text_model.encode([]).shape == (0, 3)


def test_a_model_of_fixed_length_takes_short_and_long_texts():
    model = pair(text=text_model(length=8)).text_model
    assert model.encode(["red", "green " * 500]).argmax(axis=1).tolist() == [0, 1]


def test_a_pair_is_saved_and_has_a_fingerprint_of_its_own(tmp_path):
    feature = pair()
    assert feature.fingerprint != pair(text=None, tokenizer=None).fingerprint
    feature.save(tmp_path / "feature")
    loaded = Embedding.load(tmp_path / "feature")
    np.testing.assert_array_equal(
        loaded.text_model.encode(["blueish"]), feature.text_model.encode(["blueish"])
    )


def test_an_image_model_alone_has_no_text_side():
    assert pair(text=None, tokenizer=None).text_model is None


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("text.onnx", text_model(width=4), "gives 4 values, the image model 3. Give the two"),
        ("text.onnx", b"no model", "is not a model that ONNX Runtime can load"),
        ("text.onnx", image_model(), "must take whole numbers"),
        ("text.onnx", None, r"the text model .*text.onnx cannot be read"),
        ("tokenizer.json", None, r"the tokenizer .*tokenizer.json cannot be read"),
        ("tokenizer.json", b"{", "tokenizer cannot be read"),
        ("tokenizer.json", b"[]", "tokenizer cannot be read"),
        ("tokenizer.json", b"[" * 100_000, "tokenizer cannot be read"),
        ("tokenizer.json", tokenizer(vocab={"[CLS]": "x"}), "tokenizer cannot be read"),
        ("tokenizer.json", tokenizer(merges=["a b c"]), "tokenizer cannot be read"),
        ("tokenizer.json", tokenizer(vocab={"red": 0}), r"has no \[CLS\] and no \[SEP\]"),
        ("tokenizer.json", tokenizer(type="Unigram"), "kind Unigram, which is not supported"),
        (
            "tokenizer.json",
            tokenizer(vocab={"[CLS]": 10**6, "[SEP]": 10**6}),
            "fails on a text of .* Give the tokenizer that belongs to it",
        ),
    ],
)
def test_a_pair_that_cannot_be_used_is_refused(tmp_path, file, content, message):
    image, text = write_pair(tmp_path)
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        Embedding(image, mean=0, std=1, text=text)


def test_a_tokenizer_goes_with_a_text_model():
    with pytest.raises(InvalidInput, match="Give both or neither"):
        pair(text=None)
    with pytest.raises(InvalidInput, match="text needs a tokenizer"):
        pair(tokenizer=None)


CLIP = {
    "type": "BPE",
    "end_of_word_suffix": "</w>",
    "vocab": {
        **{
            "<|startoftext|>": 0,
            "<|endoftext|>": 1,
            "l": 2,
            "o": 3,
            "w</w>": 4,
            "e": 5,
            "r</w>": 6,
        },
        **{"lo": 7, "low</w>": 8, "w": 9, "er</w>": 10, "Ã": 11, "¼</w>": 12, "!</w>": 13},
        **{"7</w>": 14},
    },
    "merges": ["l o", ["lo", "w</w>"], "e r</w>"],
}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("low", [0, 8, 1]),
        ("  LOW \n lower", [0, 8, 7, 9, 10, 1]),
        ("lo!", [0, 2, 1, 13, 1]),  # o</w> is no piece: the number of unknown ones
        ("ü", [0, 11, 12, 1]),
        ("77", [0, 14, 14, 1]),
        ("", [0, 1]),
    ],
)
def test_bytes_are_merged_in_the_order_they_were_learned(text, numbers):
    assert Tokens(json.dumps({"model": CLIP}).encode()).split(text, 77) == numbers


def test_a_text_of_too_many_tokens_is_cut_before_its_end():
    assert Tokens(json.dumps({"model": CLIP}).encode()).split("low low low", 4) == [0, 8, 8, 1]

"""Tiny pairs of an image and a text model, made when they are needed."""

import json

import numpy as np
from onnx import TensorProto, helper, numpy_helper

WORDS = {"red": [1, 0, 0], "green": [0, 1, 0], "blue": [0, 0, 1], "##ish": [0, 0, 0]}
VOCABULARY = {
    word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])
}


def image_model():
    """Return a model whose vector is the mean colour of a picture."""
    return _made(
        [
            helper.make_node("GlobalAveragePool", ["pixels"], ["mean"]),
            helper.make_node("Flatten", ["mean"], ["vector"]),
        ],
        ("pixels", TensorProto.FLOAT, ["n", 3, 32, 32]),
        ["n", 3],
    )


def text_model(width=3, length="tokens"):
    """Return a model whose vector is the mean of what the tokens of a text mean."""
    table = np.zeros((len(VOCABULARY), width), np.float32)
    for word, meaning in WORDS.items():
        table[VOCABULARY[word], :3] = meaning[:width]
    return _made(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
            helper.make_node("ReduceMean", ["rows"], ["vector"], axes=[1], keepdims=0),
        ],
        ("input_ids", TensorProto.INT64, [1, length]),
        [1, width],
        [numpy_helper.from_array(table, "table")],
    )


def tokenizer(**changes):
    """Return a tokenizer file of BERT's kind."""
    model = {"type": "WordPiece", "continuing_subword_prefix": "##", "vocab": VOCABULARY}
    return json.dumps({"model": {**model, **changes}}).encode()


def write_pair(folder):
    """Write a pair, the tokenizer beside the text model, and return the two models' files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_bytes(tokenizer())
    files = folder / "image.onnx", folder / "text.onnx"
    for file, content in zip(files, (image_model(), text_model()), strict=True):
        file.write_bytes(content)
    return files


def _made(nodes, entry, shape, constants=()):
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(*entry)],
        [helper.make_tensor_value_info("vector", TensorProto.FLOAT, shape)],
        initializer=constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model.SerializeToString()

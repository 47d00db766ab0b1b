"""Run any ONNX image model: pictures as bytes in, one vector each out."""

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Timer
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput, LookalikeError

Layout: TypeAlias = Literal["NCHW", "NHWC"]
Channels: TypeAlias = float | Sequence[float] | None

DEFAULT_SIDE = 224
MAX_SIDE = 4096
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

INPUT, OUTPUT, DIMENSION = "pixels", "vector", 1280
"""The names of a built graph's input and output, and the length of its vectors."""

_NUMBERS: dict[str, type[np.generic]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
}
_PIXEL_RANGES = {  # ONNX, MetadataProps: Image.NominalPixelRange -> mean, standard deviation
    "NominalRange_0_255": (0.0, 1 / 255),
    "Normalized_0_1": (0.0, 1.0),
    "Normalized_1_1": (0.5, 0.5),
}


MAX_SECONDS = 60.0
"""How long a model may run at once: its loops need not end."""


class ImageModel:
    """An ONNX graph with the layout of its input and output, run on the caller's thread.

    Parameters that are not given are read from the graph and its metadata; see
    :class:`lookalike.features.Embedding`. The output used is the first with one vector per
    picture, found by running the model once.
    """

    def __init__(
        self,
        content: bytes,
        who: str,
        *,
        side: int | None,
        layout: Layout | None,
        mean: Channels,
        std: Channels,
    ) -> None:
        self._who = who
        self._content: Callable[[], bytes] = lambda: content
        entry = _only_input(self._session, who)
        self._input = entry.name
        self._number = _NUMBERS[entry.type]
        self.layout = _layout(entry.shape, layout, who)
        self.side = _side(entry.shape, self.layout, side, who)
        fixed = isinstance(entry.shape[0], int)
        self.batch: int = entry.shape[0] if fixed else 1
        properties = dict(self._session.get_modelmeta().custom_metadata_map)
        self.mean = _three("mean", _property("mean", properties) if mean is None else mean)
        self.std = _checked_std(_property("std", properties) if std is None else std)
        self._reversed = properties.get("Image.BitmapPixelFormat") == "Bgr8"
        self.output, self.dimension = self._probe(self.batch if fixed else 2)

    @cached_property
    def _session(self) -> Any:
        return opened(self._content(), self._who)

    def run(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return vectors (n, dimension) for bytes (n, side, side, 3); n is at most ``batch``."""
        tensor = self._tensor(pixels)
        try:
            outputs = self._outputs([self.output], tensor)
        except LookalikeError:  # the model cannot be opened
            raise
        except Exception as error:  # the runtime's errors have no public base class
            raise InvalidInput(
                f"{self._who} fails on a picture: {error}. Leave the picture out, or use another "
                f"model."
            ) from error
        vectors = np.asarray(outputs[0], dtype=np.float32)
        if vectors.size != len(tensor) * self.dimension:
            raise InvalidInput(
                f"{self._who} fails on a picture: its output has the shape {vectors.shape}; "
                f"expected {(len(tensor), self.dimension)}. Leave the picture out, or use a model "
                f"whose output has a fixed size."
            )
        return vectors.reshape(-1, self.dimension)[: len(pixels)]

    def _outputs(self, names: list[str], tensor: NDArray[Any]) -> list[Any]:
        return run_limited(self._session, names, {self._input: tensor})

    def _tensor(self, pixels: NDArray[np.uint8]) -> NDArray[Any]:
        """Return bytes normalised for the model; a fixed batch is padded with zeros."""
        colours = pixels[..., ::-1] if self._reversed else pixels
        scale = (1 / (255 * self.std)).astype(np.float32)
        shift = (self.mean / self.std).astype(np.float32)
        if self.layout == "NCHW":
            colours = colours.transpose(0, 3, 1, 2)
            scale, shift = scale[:, None, None], shift[:, None, None]
        tensor = np.ascontiguousarray(colours).astype(np.float32)
        if self._number is not np.uint8:
            tensor *= scale
            tensor -= shift
        missing = max(0, self.batch - len(pixels))
        filled = np.pad(tensor, ((0, missing), (0, 0), (0, 0), (0, 0))) if missing else tensor
        return filled.astype(self._number, copy=False)

    def _probe(self, pictures: int) -> tuple[str, int]:
        pixels = np.full((pictures, self.side, self.side, 3), 127, dtype=np.uint8)
        names = [output.name for output in self._session.get_outputs()]
        try:
            outputs = self._outputs(names, self._tensor(pixels))
        except Exception as error:  # the runtime's errors have no public base class
            raise InvalidInput(
                f"{self._who} does not run on pictures of {self.side} × {self.side} in "
                f"{self.layout}: {error}. Set side and layout to those of the model."
            ) from error
        shapes = {name: np.shape(output) for name, output in zip(names, outputs, strict=True)}
        for name, shape in shapes.items():
            if len(shape) >= 2 and shape[0] == pictures and shape[1] and set(shape[2:]) <= {1}:
                return name, shape[1]
        raise InvalidInput(
            f"{self._who} has no output with one vector per picture: for {pictures} pictures its "
            f"outputs have the shapes {shapes}. Export it with a pooled output of shape "
            f"(pictures, dimension)."
        )


class BuiltModel(ImageModel):
    """A model of ``efficientnet``, of which all is known without opening it.

    ONNX Runtime takes longer to open it than a search of what is stored.
    """

    def __init__(
        self,
        content: Callable[[], bytes],
        who: str,
        *,
        side: int,
        mean: Channels,
        std: Channels,
    ) -> None:
        self._who, self._content = who, content
        self._input, self._number = INPUT, np.float32
        self._reversed = False
        self.layout, self.side, self.batch = "NCHW", side, 1
        self.mean, self.std = _three("mean", mean), _checked_std(std)
        self.output, self.dimension = OUTPUT, DIMENSION


def run_limited(session: Any, names: list[str] | None, feed: dict[str, NDArray[Any]]) -> list[Any]:
    """Return the outputs of a model, which may take so long and no longer."""
    import onnxruntime

    options = onnxruntime.RunOptions()
    timer = Timer(MAX_SECONDS, setattr, (options, "terminate", True))
    timer.daemon = True
    timer.start()
    try:
        result: list[Any] = session.run(names, feed, options)
    finally:
        timer.cancel()
    return result


def opened(content: bytes, who: str) -> Any:
    """Return a model that runs on the caller's thread, or raise InvalidInput."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors have no public base class
        raise InvalidInput(
            f"{who} is not a model that ONNX Runtime can load: {error}. "
            f"Give a self-contained .onnx file, without external data."
        ) from error


def _only_input(session: Any, who: str) -> Any:
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].type not in _NUMBERS:
        described = ", ".join(f"{entry.name} {entry.type} {entry.shape}" for entry in inputs)
        raise InvalidInput(
            f"{who} must take one 4-dimensional tensor of float32, float16 or uint8; "
            f"it takes {described or 'nothing'}. Export only the image encoder."
        )
    return inputs[0]


def _layout(shape: list[Any], given: Layout | None, who: str) -> Layout:
    axis: dict[Layout, int] = {"NCHW": 1, "NHWC": 3}
    if given is not None and given not in axis:
        raise InvalidInput(f"Embedding: layout must be 'NCHW' or 'NHWC'; got {given!r}.")
    certain: list[Layout] = [name for name, at in axis.items() if shape[at] == 3]
    unsaid: list[Layout] = [name for name, at in axis.items() if not isinstance(shape[at], int)]
    if given in certain or given in unsaid:
        return given
    choices = certain or unsaid
    if given is None and len(choices) == 1:
        return choices[0]
    problem = (
        f"which does not match {given}"
        if given
        else "which does not determine the channel order"
        if choices
        else "which has no axis of 3 channels"
    )
    raise InvalidInput(
        f"{who} takes the shape {shape}, {problem}. Set layout to the model's own, 'NCHW' or "
        f"'NHWC'; it must take 3 channels."
    )


def _side(shape: list[Any], layout: Layout, given: int | None, who: str) -> int:
    sides = shape[2:4] if layout == "NCHW" else shape[1:3]
    fixed = {length for length in sides if isinstance(length, int)}
    if len(fixed) > 1 or (fixed and given is not None and given not in fixed):
        text_given = "" if given is None else f"; got side={given}"
        raise InvalidInput(
            f"{who} takes pictures of {sides[1]} × {sides[0]}; only square input of the model's "
            f"own side is supported{text_given}."
        )
    chosen = fixed.pop() if fixed else DEFAULT_SIDE if given is None else given
    return check_whole("Embedding", "side", chosen, 1, MAX_SIDE)


def _property(parameter: Literal["mean", "std"], properties: dict[str, str]) -> Any:
    """Return the mean or standard deviation in a model's metadata, or ImageNet's."""
    if parameter in properties:
        try:
            return json.loads(properties[parameter])
        except ValueError:
            return properties[parameter]
    pixel_range = properties.get("Image.NominalPixelRange", "")
    pair = _PIXEL_RANGES.get(pixel_range, (IMAGENET_MEAN, IMAGENET_STD))
    return pair[parameter == "std"]


def _checked_std(values: Any) -> NDArray[np.float64]:
    std = _three("std", values)
    if std.min() <= 0:
        raise InvalidInput(f"Embedding: std must be above 0; got {std.tolist()}.")
    return std


def _three(parameter: str, values: Any) -> NDArray[np.float64]:
    try:
        three = np.broadcast_to(np.asarray(values, dtype=np.float64), (3,)).copy()
    except (TypeError, ValueError):
        three = np.full(3, np.nan)
    if not np.isfinite(three).all():
        raise InvalidInput(
            f"Embedding: {parameter} must be one finite number or three; got {values!r}."
        )
    return three

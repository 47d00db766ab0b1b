"""Read the tensors of an old-style PyTorch file without PyTorch and without trusting it.

The file is a sequence of pickles (magic number, protocol, system facts, a dictionary of tensors,
the keys of the storages) followed by the raw storages. This is the only place in the project that
reads a pickle: the unpickler accepts ordered dictionaries and tensors over plain number storages,
and rejects everything else. Memory is bounded by the size of the file.
"""

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pickletools import genops
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import DamagedFile

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_STORAGES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ByteStorage": "|u1",
}


@dataclass(frozen=True)
class _Storage:
    key: str
    dtype: str
    length: int


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Refusal(pickle.UnpicklingError):
    pass


class _Reader(pickle.Unpickler):
    """An unpickler that accepts ordered dictionaries and tensors, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self._tensor
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise _Refusal(f"it refers to {module}.{name}, which is not allowed")

    def persistent_load(self, pid: Any) -> _Storage:
        match pid:
            case ("storage", str(dtype), str(key), "cpu", int(length), None) if (
                dtype in _STORAGES.values() and length >= 0
            ):
                return _Storage(key, dtype, length)
        raise _Refusal("a storage has an unknown description")

    def _tensor(self, *arguments: Any) -> _Tensor:
        match arguments:
            case (_Storage() as storage, int(offset), tuple(shape), tuple(strides), *_) if all(
                isinstance(number, int) and number >= 0 for number in (offset, *shape, *strides)
            ) and len(shape) == len(strides):
                return _Tensor(storage, offset, shape, strides)
        raise _Refusal("a tensor has an unknown description")


def read_tensors(content: bytes, *, name: str) -> dict[str, NDArray[Any]]:
    """Return the state dictionary of an old-style (before 1.6) PyTorch file.

    Parameters
    ----------
    content : bytes
        The content of the file.
    name : str
        The file's name in messages.

    Returns
    -------
    dict of str to ndarray
        The tensors by name, in the file's order.
    """
    stream = BytesIO(content)
    try:
        magic, protocol, _ = (_load(stream) for _ in range(3))
        if (magic, protocol) != (_MAGIC, _PROTOCOL):
            raise _Refusal("its magic number is wrong")
        entries, keys = _load(stream), _load(stream)
        if not isinstance(entries, OrderedDict) or not isinstance(keys, list):
            raise _Refusal("it has no dictionary of tensors")
        storages = _read_storages(stream, entries, keys)
        return {str(key): _array(tensor, storages) for key, tensor in entries.items()}
    except _Refusal as error:
        raise DamagedFile(f"{name} is not a supported PyTorch file: {error}.") from error
    except Exception as error:  # a damaged pickle can raise nearly anything
        raise DamagedFile(f"{name} is damaged or not an old-style PyTorch file: {error}") from error


def _load(stream: BytesIO) -> Any:
    begin, size = stream.tell(), stream.getbuffer().nbytes
    for opcode, place, _ in genops(stream):
        # The unpickler makes room for all places up to the one that is named.
        if opcode.name.endswith("PUT") and isinstance(place, int) and place > size:
            raise _Refusal("it names a place beyond its end")
    stream.seek(begin)
    return _Reader(stream).load()


def _read_storages(
    stream: BytesIO, entries: OrderedDict[Any, Any], keys: list[Any]
) -> dict[str, NDArray[Any]]:
    if not all(isinstance(tensor, _Tensor) for tensor in entries.values()):
        raise _Refusal("its dictionary contains something that is not a tensor")
    known = {tensor.storage.key: tensor.storage for tensor in entries.values()}
    storages = {}
    for key in keys:
        storage = known[key]
        length = int.from_bytes(stream.read(8), "little")
        if length != storage.length:
            raise _Refusal("a storage has an unexpected length")
        raw = stream.read(length * np.dtype(storage.dtype).itemsize)
        storages[key] = np.frombuffer(raw, dtype=storage.dtype, count=length)
    return storages


def _array(tensor: _Tensor, storages: dict[str, NDArray[Any]]) -> NDArray[Any]:
    flat = storages[tensor.storage.key][tensor.offset :]
    reach = 1 + sum(
        (side - 1) * stride for side, stride in zip(tensor.shape, tensor.strides, strict=True)
    )
    if 0 not in tensor.shape and max(reach, prod(tensor.shape)) > flat.size:
        raise _Refusal("a tensor extends beyond its storage")
    strides = [stride * flat.itemsize for stride in tensor.strides]
    return np.lib.stride_tricks.as_strided(flat, tensor.shape, strides, writeable=False).copy()

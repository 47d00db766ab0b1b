"""Compile a loop when it is first called: importing Numba takes longer than most searches."""

from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The arrays of loops, by the type of their numbers.
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]

LOOP = {"nogil": True, "cache": True, "error_model": "numpy"}
"""The options with which every loop is compiled."""

SOON = 4
"""How many rows ahead a loop asks for those that are far apart; see :func:`prefetch`."""

_compiling = RLock()


class Loop:
    """A loop that Numba compiles, or loads from its cache, at the first call."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func = function
        self._options = options
        self._compiled: Any = None
        update_wrapper(self, function)

    def __call__(self, *values: Any) -> Any:
        return (self._compiled or self.compiled)(*values)

    @property
    def compiled(self) -> Any:
        """Numba's dispatcher; what the loop calls is compiled with it."""
        with _compiling:
            if self._compiled is None:
                import numba

                names = self.py_func.__globals__
                for name in self.py_func.__code__.co_names:
                    value = names.get(name)
                    if isinstance(value, Loop) and value is not self:
                        names[name] = value.compiled
                    elif value is uint64:
                        names[name] = numba.uint64
                    elif value is prefetch:
                        from lookalike.core._fast.prefetch import prefetch_row

                        names[name] = prefetch_row
                self._compiled = numba.njit(**self._options)(self.py_func)
                if names.get(self.py_func.__name__) is self:
                    names[self.py_func.__name__] = self._compiled
        return self._compiled

    @property
    def _numba_type_(self) -> Any:
        """The type that loops compiled at once see, if they call this one."""
        return self.compiled._numba_type_


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator like Numba's, which compiles when the loop is first called."""
    return lambda function: Loop(function, options)


def uint64(value: Any) -> Any:
    """Stand for Numba's unsigned integer in loops."""
    raise TypeError(f"uint64 is for compiled loops only; got {value!r}.")


def prefetch(rows: Any, row: Any) -> None:
    """Ask for a row of a matrix that a loop will read soon; it must be one of its rows."""
    raise TypeError(f"prefetch is for compiled loops only; got row {row!r}.")

"""SciPy's sparse matrices, imported when one is first made: dense vectors do without."""

import importlib
import sys
from typing import Any, TypeGuard


def issparse(value: Any) -> TypeGuard[Any]:
    """Return whether a value is a sparse matrix; there is none before SciPy was imported."""
    # Another thread may be importing it at this moment.
    test = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
    return test is not None and bool(test(value))


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("scipy.sparse"), name)

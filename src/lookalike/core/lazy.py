"""Import the names that a package exports on first use, so that importing it stays fast."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def exports(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package (PEP 562) whose names live in these modules.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    modules : mapping from name to module
        Where each exported name is defined, relative to the package: ``{"OASIS": "oasis"}``.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        result = getattr(importlib.import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, result)
        return result

    return __getattr__

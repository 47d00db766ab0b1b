"""How a part is stored: one file with its kind, version, settings, arrays and fingerprint."""

import inspect
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.checks import is_whole
from lookalike.core.errors import DamagedFile, incomplete

Arrays = dict[str, NDArray[Any]]
Learned = dict[str, Any]

NOT_WHOLE = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, IndexError)
"""What reading a file with invalid content raises."""


Part = TypeVar("Part")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_settings(part: type[Part]) -> type[Part]:
    """Give a class a constructor that takes its fields by keyword and only stores them.

    The fields are its settings; what it learns is declared as ``field(init=False)``.
    """
    return dataclass(kw_only=True, eq=False, repr=False)(part)


class Stored(ABC):
    """A part that can be saved: a feature, a similarity, an annotator or a reranker.

    The constructor's parameters are saved as settings, and must be attributes of the same names.
    A subclass sets ``name``, and returns what it has learned in ``_state``.

    Attributes
    ----------
    name : str
        The part's name in its registry, on the command line and in files.
    file_kind : str
        The name and the version of the file's layout, by default ``name/1``.
    fingerprint_ : str
        After :meth:`load`, the fingerprint of the vectors that the part is for.
    """

    name: ClassVar[str]
    file_kind: ClassVar[str]

    fingerprint_: str = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__ and "file_kind" not in cls.__dict__:
            cls.file_kind = f"{cls.name}/1"

    def save(self, path: str | Path, *, fingerprint: str = "") -> None:
        """Save the part to a safetensors file, with the fingerprint of the vectors it is for."""
        arrays, learned = self._state()
        manifest = {"settings": self.settings(), "learned": learned, "fingerprint": fingerprint}
        if package := package_of(type(self)):
            manifest["package"] = package
        save_arrays(Path(path), arrays, kind=self.file_kind, manifest=manifest)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a part from the file that :meth:`save` wrote, or raise DamagedFile."""
        arrays, manifest = load_arrays(Path(path), kind=cls.file_kind)
        try:
            part = cls._made(arrays, manifest["settings"])
            cls._check_parameters(part)
            part.fingerprint_ = str(manifest["fingerprint"])
            cls._restore(part, arrays, manifest["learned"])
            arrays.check_all_used()
        except (*NOT_WHOLE, DamagedFile) as error:
            raise incomplete(path, cls.__name__, error) from error
        return part

    @abstractmethod
    def _state(self) -> tuple[Arrays, Learned]:
        """Return what was learned, as arrays and as JSON values, or raise NotFitted."""

    @abstractmethod
    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        """Set what :meth:`_state` returned, or raise ValueError if it is not valid."""

    def _check_parameters(self) -> None:
        """Raise InvalidInput if a setting is not valid."""
        return

    def inside(self, prefix: str) -> tuple[Arrays, Learned]:
        """Return what another part's file keeps of this one: arrays named so, and JSON values."""
        arrays, learned = self._state()
        named = {f"{prefix}_{name}": array for name, array in arrays.items()}
        return named, {"settings": self.settings(), "learned": learned}

    @classmethod
    def from_inside(cls, arrays: Arrays, learned: Learned, prefix: str) -> Self:
        """Return the part that :meth:`inside` described, or raise ValueError or the like."""
        start = f"{prefix}_"
        own = {name[len(start) :]: it for name, it in arrays.items() if name.startswith(start)}
        part = cls._made(own, learned["settings"])
        cls._check_parameters(part)
        cls._restore(part, own, learned["learned"])
        return part

    def settings(self) -> dict[str, Any]:
        """Return the constructor's parameters as JSON values; a Generator becomes None.

        They are all that has to be stored of a part that has learned nothing: its registry's
        ``make`` returns an equal one.
        """
        return {name: _plain(getattr(self, name)) for name in parameters(type(self))}

    @classmethod
    def _made(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        """Return a part with these settings; ``arrays`` may have constructor arguments, too."""
        return cls(**settings)


def stored_whole(value: Any) -> int:
    """Return a whole number from 0 of a file, or raise ValueError; True and False are none."""
    if not is_whole(value) or value < 0:
        raise ValueError(f"{value!r:.80} is not a whole number from 0")
    return int(value)


def parameters(part: type) -> list[str]:
    """Return the names of a constructor's parameters."""
    return [name for name in inspect.signature(part).parameters if name != "self"]


@cache  # to ask takes a third of a second, and packages do not change while Python runs
def package_of(part: type) -> str:
    """Return the installed package that has a class's module file, by its name in pip.

    Return an empty string for lookalike's own classes, and the name of the top-level module where
    no installed package lists the file.
    """
    top = part.__module__.partition(".")[0]
    if top == "lookalike":
        return ""
    file = getattr(sys.modules.get(part.__module__), "__file__", None)
    if file is None:
        return top
    packages = dict.fromkeys(packages_distributions().get(top, ()))
    return next((name for name in packages if _has_file(name, Path(file))), top)


def _has_file(package: str, file: Path) -> bool:
    # Several packages may share a top-level module, so its name alone does not decide.
    listed = distribution(package).files or ()
    return any(
        one.name == file.name and Path(str(one.locate())).resolve() == file.resolve()
        for one in listed
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return None if isinstance(value, np.random.Generator) else value

"""How every part is kept: one file with its kind, version, settings, arrays and fingerprint."""

import inspect
from abc import ABC, abstractmethod
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lookalike.core.arrays import load_arrays, save_arrays, stored_kind
from lookalike.core.errors import DamagedFile

Arrays = dict[str, NDArray[Any]]
Learned = dict[str, Any]

NOT_WHOLE = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, IndexError)
"""What reading a file with the wrong content raises."""


class Stored(ABC):
    """A part that is kept on disk: a feature, a similarity, an annotator or a reranker.

    The constructor's parameters are kept as settings, under the names that they have as
    attributes. A subclass names itself, and says what it has learned besides.

    Attributes
    ----------
    name : str
        What the part is called in its registry, on the command line and in files.
    file_kind : str
        The name and the version of the file's layout, ``name/1`` unless said otherwise.
    fingerprint_ : str
        After :meth:`load`, the fingerprint of the vectors the part is for.
    """

    name: ClassVar[str]
    file_kind: ClassVar[str]

    fingerprint_: str = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__ and "file_kind" not in cls.__dict__:
            cls.file_kind = f"{cls.name}/1"

    def save(self, path: str | Path, *, fingerprint: str = "") -> None:
        """Write the part to a safetensors file, with the fingerprint of the vectors it is for."""
        arrays, learned = self._state()
        manifest = {"settings": self.settings(), "learned": learned, "fingerprint": fingerprint}
        if package := package_of(type(self)):
            manifest["package"] = package
        save_arrays(Path(path), arrays, kind=self.file_kind, manifest=manifest)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load what :meth:`save` wrote, or raise DamagedFile."""
        found = stored_kind(Path(path))
        kind = found if found in cls._older_kinds() else cls.file_kind
        arrays, manifest = load_arrays(Path(path), kind=kind)
        try:
            if kind != cls.file_kind:
                manifest = cls._updated(kind, manifest)
            part = cls._made(arrays, manifest["settings"])
            cls._check_parameters(part)
            part.fingerprint_ = str(manifest["fingerprint"])
            cls._restore(part, arrays, manifest["learned"])
        except NOT_WHOLE as error:
            raise DamagedFile(f"{path} is not a whole {cls.__name__}: {error}") from error
        return part

    @abstractmethod
    def _state(self) -> tuple[Arrays, Learned]:
        """Return what was learned: arrays, and what JSON can hold; NotFitted if nothing was."""

    @abstractmethod
    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        """Take what :meth:`_state` returned, or raise ValueError where it does not fit."""

    def _check_parameters(self) -> None:
        """Raise InvalidInput if a setting is not usable."""
        return

    def settings(self) -> dict[str, Any]:
        """Return the constructor's parameters as JSON can hold them; a Generator becomes None.

        Of a part that has learned nothing they are all there is to keep: ``make`` of its registry
        makes it again.
        """
        return {name: _plain(getattr(self, name)) for name in parameters(type(self))}

    @classmethod
    def _made(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        """Return a part with these settings; ``arrays`` may hold what a constructor takes."""
        return cls(**settings)

    @classmethod
    def _older_kinds(cls) -> tuple[str, ...]:
        """Return the kinds of older files that :meth:`_updated` understands."""
        return ()

    @classmethod
    def _updated(cls, kind: str, manifest: dict[str, Any]) -> dict[str, Any]:
        """Return the manifest of an older file as the present layout has it."""
        raise NotImplementedError


def parameters(part: type) -> list[str]:
    """Return the names of a constructor's parameters."""
    return [name for name in inspect.signature(part).parameters if name != "self"]


def package_of(part: type) -> str:
    """Return the package that brings a class, as pip knows it; empty for our own."""
    top = part.__module__.partition(".")[0]
    if top == "lookalike":
        return ""
    return next(iter(packages_distributions().get(top, ())), top)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return None if isinstance(value, np.random.Generator) else value

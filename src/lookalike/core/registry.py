"""Parts by name: our own, and those that other packages register by an entry point."""

import importlib
import inspect
from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from lookalike.core.errors import DamagedFile, InvalidInput, MissingPart

T = TypeVar("T")


class Registry(Generic[T]):
    """The parts of one kind by name; a part is imported on first use.

    Parameters
    ----------
    kind : str
        What they are, such as "similarity".
    group : str
        The entry-point group in which other packages register theirs, such as
        "lookalike.similarities".
    own : mapping from name to "module:Class"
        Those of lookalike, in the order in which they are listed.
    compared : mapping from name to "module:Class"
        Those of lookalike that papers compare with, which nobody would choose otherwise.

    Examples
    --------
    >>> paths = Registry("path", "lookalike.paths", {"pure": "pathlib:PurePath"})
    >>> paths.names, paths.get("pure").__name__
    (('pure',), 'PurePath')
    """

    def __init__(
        self,
        kind: str,
        group: str,
        own: Mapping[str, str],
        compared: Mapping[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self.group = group
        self._compared = tuple(compared or ())
        self._own = {**own, **(compared or {})}
        self._here: dict[str, type[T]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names to choose from, our own first."""
        return tuple(dict.fromkeys([*self._own, *self._here, *sorted(self._others)]))

    @property
    def listing(self) -> str:
        """The names as a help text lists them, those compared in the papers last."""
        text = ", ".join(name for name in self.names if name not in self._compared)
        if self._compared:
            text += f" (compared in the papers: {', '.join(self._compared)})"
        return text

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def register(self, part: type[T]) -> type[T]:
        """Add a part in this process only, and return it; usable as a class decorator.

        An entry point registers it for every process.
        """
        self._here[str(getattr(part, "name", ""))] = part
        return part

    def get(self, name: str) -> type[T]:
        """Return the class registered under a name.

        Raises
        ------
        InvalidInput
            If there is none; the message lists the choices.
        MissingPart
            If it is registered but cannot be imported.
        """
        if name in self._here:
            return self._here[name]
        if name in self._own:
            module, _, attribute = self._own[name].partition(":")
            result: type[T] = getattr(importlib.import_module(module), attribute)
            return result
        if name in self._others:
            return self._imported(self._others[name])
        raise InvalidInput(
            f"there is no {self.kind} {name!r:.80}. Choose one of {', '.join(self.names)}."
        )

    def make(self, name: str, settings: Mapping[str, Any] | None = None) -> T:
        """Return a part with these settings and defaults for the others."""
        # These take long to be imported, and help texts need only the names.
        from lookalike.core.stored import parameters

        part = self.get(name)
        known = parameters(part)
        for setting in settings or {}:
            if setting not in known:
                raise InvalidInput(
                    f"{self.kind} {name}: there is no setting {setting!r:.80}. "
                    + (f"Choose from {', '.join(known)}." if known else "It has none.")
                )
        return part(**(settings or {}))

    def summary(self, name: str) -> str:
        """Return the first line of a part's docstring."""
        return (inspect.getdoc(self.get(name)) or "").partition("\n")[0]

    def load(self, path: str | Path) -> T:
        """Load a part from the file that its ``save`` wrote, by the kind stored in the file.

        Raises
        ------
        DamagedFile
            If the file is damaged or does not contain a part.
        MissingPart
            If no part of this registry writes files of that kind; the message names the package
            that the part came from.
        """
        from lookalike.core.arrays import stored_manifest

        manifest = stored_manifest(Path(path))
        kind = str(manifest["kind"])
        name = next((one for one in self.names if self._writes(one, kind)), None)
        if name is None and "settings" in manifest:
            raise self.missing(kind.partition("/")[0], str(manifest.get("package", "")))
        if name is None:
            article = "an" if self.kind[0] in "aeiou" else "a"
            raise DamagedFile(f"{path} contains {kind!r:.80}, not {article} {self.kind}.")
        part: Any = self.get(name)
        loaded: T = part.load(path)
        return loaded

    def missing(self, name: str, package: str) -> MissingPart:
        """Return the error for a part that is no longer installed, with the way to install it."""
        remedy = f"Install it with: pip install {package}" if package else "Install it again"
        origin = f" of the package {package}" if package else ""
        return MissingPart(f"the {self.kind} {name!r:.80}{origin} is not installed. {remedy}.")

    def _writes(self, name: str, kind: str) -> bool:
        """Return whether a part writes files of this kind, in any version."""
        stem = kind.partition("/")[0]
        if stem == name:
            return True
        # Imported only where the name does not decide.
        own = self._here.get(name)
        if own is None and name in self._own:
            own = self.get(name)
        return str(getattr(own, "file_kind", "")).partition("/")[0] == stem

    @cached_property
    def _others(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def _imported(self, point: EntryPoint) -> type[T]:
        package = point.dist.name if point.dist is not None else point.module
        try:
            result: type[T] = point.load()
        except Exception as error:
            raise MissingPart(
                f"the {self.kind} {point.name!r} of the package {package} cannot be imported: "
                f"{error}. Repair it with: pip install --force-reinstall {package}"
            ) from error
        return result

"""Open the collection that ``lookalike index`` adds to, or create it from the options."""

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lookalike.collection import Collection
from lookalike.collection.folder import Folder
from lookalike.core.errors import (
    CollectionBusy,
    FingerprintMismatch,
    InvalidInput,
    LookalikeError,
)
from lookalike.core.fingerprint import check_fingerprint
from lookalike.features import Embedding, Feature, Visterms
from lookalike.images import find_pictures


@dataclass(frozen=True)
class Wanted:
    """The feature asked for by the options of ``lookalike index``; None where not given."""

    kind: Literal["embedding", "visterms"] | None = None
    model: Path | None = None
    side: int | None = None
    layout: Literal["NCHW", "NHWC"] | None = None
    mean: Sequence[float] | None = None
    std: Sequence[float] | None = None
    dimension: int | None = None

    def feature(self) -> Feature | None:
        """Return the feature to create; None for the default one."""
        self._check()
        if self.kind == "visterms":
            return Visterms() if self.dimension is None else Visterms(dimension=self.dimension)
        if self.model is None:
            return None
        return Embedding(
            self.model, side=self.side, layout=self.layout, mean=self.mean, std=self.std
        )

    def check_same(self, store: Collection) -> None:
        """Raise an error if the options ask for another feature than the collection has."""
        self._check()
        if self.kind is not None and self.kind != store.feature.name:
            raise FingerprintMismatch(
                f"{store.path} was created with --feature {store.feature.name}, not {self.kind}. "
                f"Leave the option out, or create a new collection with -c."
            )
        if self.dimension is not None and self.dimension != store.feature.dimension:
            raise FingerprintMismatch(
                f"{store.path} was created with --dimension {store.feature.dimension}, not "
                f"{self.dimension}. Leave the option out, or create a new collection with -c."
            )
        asked = None if self.model is None else self.feature()
        if asked is not None:
            check_fingerprint(str(store.path), store.feature.fingerprint, asked.fingerprint)

    def _check(self) -> None:
        if self.kind == "visterms" and self.model is not None:
            raise InvalidInput(
                "index: --model works only with --feature embedding. Leave one of them out."
            )
        if self.kind != "visterms" and self.dimension is not None:
            raise InvalidInput(
                "index: --dimension works only with --feature visterms. Give both or neither."
            )
        for name in ("side", "layout", "mean", "std"):
            if getattr(self, name) is not None and self.model is None:
                raise InvalidInput(
                    f"index: --{name} works only with --model. Give both or neither."
                )


@contextmanager
def opened_or_made(place: Path, pictures: Sequence[str], wanted: Wanted) -> Iterator[Collection]:
    """Open or create the collection; a new one that is still empty is removed on failure."""
    if (place / "manifest.json").exists():
        with Collection.open(place) as store:
            wanted.check_same(store)
            yield store
        return
    if not find_pictures(pictures).paths:
        raise InvalidInput(
            f"index: no pictures found in {', '.join(pictures)}. Name a picture, a folder of "
            f"pictures, or a quoted pattern such as 'photos/*.jpg'."
        )
    was_there = place.exists()
    with Collection.create(place, feature=wanted.feature()) as store:
        try:
            yield store
        except CollectionBusy:
            raise
        except LookalikeError:
            _unmake(store, was_there)
            raise


def _unmake(store: Collection, was_there: bool) -> None:
    """Remove an empty collection that this process created, unless another is writing to it."""
    with suppress(LookalikeError, OSError), Folder(store.path).writing():
        if len(store):
            return
        # Renamed first, so that others see either all of it or nothing.
        place = store.path.absolute()
        gone = place.replace(place.with_name(f".{place.name}.{secrets.token_hex(8)}"))
        if was_there:
            place.mkdir()
        shutil.rmtree(gone)

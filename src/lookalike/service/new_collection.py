"""Open the collection that ``lookalike index`` adds to, or make it as the options ask."""

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
    """The feature asked for by the options of ``lookalike index``; None is not said."""

    kind: Literal["embedding", "visterms"] | None = None
    model: Path | None = None
    side: int | None = None
    layout: Literal["NCHW", "NHWC"] | None = None
    mean: Sequence[float] | None = None
    std: Sequence[float] | None = None
    dimension: int | None = None

    def feature(self) -> Feature | None:
        """Make the feature; None is the default one."""
        self._check()
        if self.kind == "visterms":
            return Visterms() if self.dimension is None else Visterms(dimension=self.dimension)
        if self.model is None:
            return None
        return Embedding(
            self.model, side=self.side, layout=self.layout, mean=self.mean, std=self.std
        )

    def check_same(self, store: Collection) -> None:
        """Refuse to add to a collection with another feature than it has."""
        self._check()
        if self.kind is not None and self.kind != store.feature.name:
            raise FingerprintMismatch(
                f"{store.path} was made with --feature {store.feature.name}, not {self.kind}. "
                f"Leave the option out, or name a new collection with -c."
            )
        if self.dimension is not None and self.dimension != store.feature.dimension:
            raise FingerprintMismatch(
                f"{store.path} was made with --dimension {store.feature.dimension}, not "
                f"{self.dimension}. Leave the option out, or name a new collection with -c."
            )
        asked = None if self.model is None else self.feature()
        if asked is not None:
            check_fingerprint(str(store.path), store.feature.fingerprint, asked.fingerprint)

    def _check(self) -> None:
        if self.kind == "visterms" and self.model is not None:
            raise InvalidInput("index: --model is for --feature embedding; leave one of them out.")
        if self.kind != "visterms" and self.dimension is not None:
            raise InvalidInput("index: --dimension is for --feature visterms; give both or none.")
        for name in ("side", "layout", "mean", "std"):
            if getattr(self, name) is not None and self.model is None:
                raise InvalidInput(f"index: --{name} is for --model; give both or none.")


@contextmanager
def opened_or_made(place: Path, pictures: Sequence[str], wanted: Wanted) -> Iterator[Collection]:
    """Return the collection; one just made goes again if the work inside fails and adds nothing."""
    if (place / "manifest.json").exists():
        with Collection.open(place) as store:
            wanted.check_same(store)
            yield store
        return
    if not find_pictures(pictures).paths:
        raise InvalidInput(
            f"index: there is no picture in {', '.join(pictures)}. Name a picture, a folder that "
            f"holds some, or a quoted pattern such as 'photos/*.jpg'."
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
    """Remove an empty collection that this process has made, unless another writes to it."""
    with suppress(LookalikeError, OSError), Folder(store.path).writing():
        if len(store):
            return
        # Renamed first, so that others find it whole or not at all.
        place = store.path.absolute()
        gone = place.replace(place.with_name(f".{place.name}.{secrets.token_hex(8)}"))
        if was_there:
            place.mkdir()
        shutil.rmtree(gone)

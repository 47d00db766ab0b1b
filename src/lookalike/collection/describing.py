"""The feature of a collection: kept in its folder, and fitted there if need be."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.collection.folder import Folder
from lookalike.core.errors import (
    CollectionError,
    DamagedFile,
    InvalidInput,
    UnreadablePicture,
)
from lookalike.core.fingerprint import check_fingerprint
from lookalike.core.progress import Progress
from lookalike.features import FEATURES, Feature
from lookalike.images import Limits, decode, read_bytes

PICTURES_TO_FIT = 2000


def is_fitted(feature: Feature) -> bool:
    """Return whether a feature can describe pictures yet."""
    return feature.is_fitted


def save_feature(feature: Feature, folder: Folder) -> None:
    """Write the feature into the folder, then the manifest that names it."""
    if is_fitted(feature):
        feature.save(folder.feature)
        folder.write_manifest({"name": feature.name, "fingerprint": feature.fingerprint})
    elif feature.name in FEATURES:
        settings = feature.settings()
        folder.write_manifest({"name": feature.name, "fingerprint": None, "settings": settings})
    else:
        raise InvalidInput(f"Collection.create: the feature {feature.name} must be fitted first.")


def open_feature(folder: Folder, given: Feature | None = None) -> Feature:
    """Return the feature the manifest names, and see that it is the same."""
    named = folder.read_manifest()
    if named["fingerprint"] is None:
        if given is not None:
            raise CollectionError(
                f"{folder.path} has yet to fit its feature {named['name']}. Open it without one."
            )
        try:
            return FEATURES.make(named["name"], named["settings"])
        except (KeyError, TypeError, InvalidInput) as error:
            raise DamagedFile(f"{folder.path}: the manifest names no feature: {error}.") from error
    feature = FEATURES.load(folder.feature) if given is None else given
    check_fingerprint(str(folder.path), named["fingerprint"], feature.fingerprint)
    return feature


def fit_feature(
    feature: Feature, paths: list[Path], limits: Limits | None, progress: Progress
) -> None:
    """Fit a feature on a sample of the files that can be read, if there are any."""
    drawn = np.random.default_rng(0).permutation(len(paths))[:PICTURES_TO_FIT]
    sample = Decoded([paths[place] for place in sorted(drawn.tolist())], feature, limits)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        readable = list(pool.map(sample.is_readable, range(len(sample))))
    files = [path for path, good in zip(sample.paths, readable, strict=True) if good]
    if files:
        feature.fit(Decoded(files, feature, limits), progress)


class Decoded(Sequence[Any]):
    """Pictures that are decoded when asked for."""

    def __init__(self, paths: list[Path], feature: Feature, limits: Limits | None) -> None:
        self.paths = paths
        self._feature = feature
        self._limits = limits

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, place: Any) -> Any:
        data = read_bytes(self.paths[place], self._limits)
        return decode(data, self._limits, side=self._feature.decode_side).image

    def is_readable(self, place: int) -> bool:
        """Return whether a picture can be decoded."""
        try:
            self[place]
        except UnreadablePicture:
            return False
        return True

"""The features that the options of ``lookalike index`` ask for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from lookalike.collection import Collection, RankerInfo
from lookalike.core.errors import InvalidInput, MissingPart
from lookalike.features import FEATURES, Feature
from lookalike.index import INDEXES

DEFAULT = "embedding"

REGIONS = "regions"

OF_EMBEDDING = ("model", "side", "layout", "mean", "std", "text", "tokenizer")
OF_WORDS = ("dimension",)
"""The options that are settings of a feature: the embedding, or one of visual words."""


@dataclass(frozen=True)
class Ranker:
    """A ranker asked for: its feature, the settings that were given, and its name if it has one.

    ``vocabulary`` is a file that ``lookalike vocabulary`` wrote, if one was given.
    """

    feature: str
    settings: Mapping[str, Any]
    name: str | None
    vocabulary: Path | None = None

    def make(self) -> Feature:
        """Return the feature."""
        if self.vocabulary is None:
            return FEATURES.make(self.feature, self.settings)
        try:
            feature = FEATURES.load(self.vocabulary)
        except MissingPart as error:  # a file of ours that holds no feature
            raise self._no_vocabulary() from error
        if feature.name != REGIONS:
            raise self._no_vocabulary()
        own = feature.settings()
        for name, value in self.settings.items():
            if own.get(name) != value:
                raise InvalidInput(
                    f"index: {self.vocabulary} was learned with {name}={own.get(name)}, not "
                    f"{value}. Leave the setting out, or learn another vocabulary."
                )
        return feature

    def _no_vocabulary(self) -> InvalidInput:
        return InvalidInput(
            f"index: {self.vocabulary} is not a vocabulary of regions. Make one with lookalike "
            f"vocabulary."
        )


@dataclass(frozen=True)
class FeatureOptions:
    """What the options of ``lookalike index`` ask for; None where not given."""

    features: Sequence[str] = ()
    name: str | None = None
    index: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    side: int | None = None
    layout: Literal["NCHW", "NHWC"] | None = None
    mean: Sequence[float] | None = None
    std: Sequence[float] | None = None
    text: Path | None = None
    tokenizer: Path | None = None
    dimension: int | None = None
    vocabulary: Path | None = None

    def rankers(self) -> list[Ranker]:
        """Return the rankers asked for; without any option, none."""
        self._check()
        given = {name: getattr(self, name) for name in (*OF_EMBEDDING, *OF_WORDS)}
        if (
            not self.features
            and not self.name
            and not self.settings
            and given == dict.fromkeys(given)
        ):
            return []
        result = []
        for feature in self._features:
            own = {DEFAULT: OF_EMBEDDING, "visterms": OF_WORDS, REGIONS: OF_WORDS}.get(feature, ())
            settings = {name: given[name] for name in own if given[name] is not None}
            file = self.vocabulary if feature == REGIONS else None
            result.append(Ranker(feature, {**settings, **self.settings}, self.name, file))
        return result

    def named(self) -> dict[str, Feature] | None:
        """Return the features of a new collection by name; None for the default one."""
        rankers = self.rankers()
        return {one.name or one.feature: one.make() for one in rankers} or None

    @property
    def _features(self) -> list[str]:
        return list(dict.fromkeys(self.features)) or [DEFAULT]

    def _check(self) -> None:
        if self.index is not None:
            INDEXES.get(self.index)
        if len(self._features) > 1 and (self.name is not None or self.settings):
            option = "--name" if self.name is not None else "--set"
            raise InvalidInput(f"index: {option} works only with one --feature.")
        needs = (
            ("model", (DEFAULT,)),
            ("dimension", ("visterms", REGIONS)),
            ("vocabulary", (REGIONS,)),
        )
        for option, features in needs:
            if getattr(self, option) is not None and not {*features} & {*self._features}:
                raise InvalidInput(
                    f"index: --{option} works only with --feature {' or '.join(features)}. Give "
                    f"both or neither."
                )
        for option in OF_EMBEDDING[1:]:
            if getattr(self, option) is not None and self.model is None:
                raise InvalidInput(
                    f"index: --{option} works only with --model. Give both or neither."
                )


def unfinished(store: Collection, queries: Ranker) -> dict[str, Feature]:
    """Return what is to be added to a collection, or gone on with, by name.

    Raises
    ------
    InvalidInput
        If the collection has that feature under another name, or that name for another feature.
    MissingPart
        If it has the feature, which is not installed any more.
    """
    rankers, features = store.models.rankers(), store.features
    alike = [info for info in rankers if info.feature == queries.feature]
    if (
        queries.settings
        or queries.vocabulary
        or queries.name not in (None, *(info.name for info in alike))
    ):
        feature = _made(queries, alike)
        same = [info for info in alike if _is_same(queries, feature, features.get(info.name))]
        if not same:
            name = queries.name or queries.feature
            _check_free(store, name, rankers)
            return {name: feature}
        if queries.name not in (None, *(info.name for info in same)):
            raise InvalidInput(
                f"{store.path} already has this feature, as {same[0].name}. Search by it with "
                f"--by {same[0].name}."
            )
    elif alike:
        same = [info for info in alike if queries.name in (None, info.name)]
    else:
        return {queries.feature: _made(queries, alike)}
    for info in same:
        if info.trouble and not info.ready:
            raise MissingPart(info.trouble)
    return {info.name: features[info.name] for info in same if info.undescribed or not info.ready}


def _made(queries: Ranker, alike: Sequence[RankerInfo]) -> Feature:
    for info in alike:
        if info.trouble and queries.feature not in FEATURES:
            raise MissingPart(info.trouble)
    return queries.make()


def _is_same(queries: Ranker, feature: Feature, known: Feature | None) -> bool:
    """Return whether a feature is one that a collection has; before it is fitted, by settings."""
    if known is None:
        return False
    if feature.is_fitted:
        return known.is_fitted and known.fingerprint == feature.fingerprint
    settings = known.settings()
    given: dict[str, Any] = json.loads(json.dumps(queries.settings, default=str))
    return all(settings.get(name) == value for name, value in given.items())


def _check_free(store: Collection, name: str, rankers: Sequence[RankerInfo]) -> None:
    if any(info.name == name for info in rankers):
        raise InvalidInput(
            f"{store.path} already has the ranker {name}, with another feature or other settings. "
            f"Leave these options out, or add another ranker with --name NAME."
        )

"""What rankers are made of: features, spaces, models and codes, read from the folder."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from lookalike.annotation.registry import ANNOTATORS
from lookalike.collection.store import models, rankers
from lookalike.collection.store.database import Database
from lookalike.collection.store.folder import Folder
from lookalike.collection.store.rankers import RankerRow
from lookalike.collection.vectors.space import Space
from lookalike.core.errors import DamagedFile, InvalidInput, NotFitted
from lookalike.core.fingerprint import check_fingerprint
from lookalike.features import Feature, Reduction
from lookalike.features.registry import FEATURES
from lookalike.index.base import Index
from lookalike.similarity.base import Similarity
from lookalike.similarity.registry import SIMILARITIES

if TYPE_CHECKING:
    from lookalike.annotation.base import Annotator
    from lookalike.codes.hamming import HammingSimilarity
    from lookalike.collection.ranking.candidates import Candidates

_log = logging.getLogger(__name__)


class Parts:
    """What loads the parts of rankers, each only if it fits the vectors it is used with.

    Parameters
    ----------
    folder, database
    given : iterable of Feature
        Features that the registry does not know.
    """

    def __init__(self, folder: Folder, database: Database, given: Iterable[Feature]) -> None:
        self._lock = RLock()
        self._folder = folder
        self._database = database
        self._given = {feature.fingerprint: feature for feature in given if feature.is_fitted}
        self._features: dict[int, Feature] = {}

    def feature(self, row: RankerRow) -> Feature:
        """Return the feature of a ranker, fitted or not."""
        with self._lock:
            loaded = self._features.get(row.id)
            if loaded is not None and loaded.is_fitted:
                return loaded
            if row.fingerprint is None or row.file is None:
                feature = loaded or self._unfitted(row)
            elif row.fingerprint in self._given:
                feature = self._given[row.fingerprint]
            else:
                feature = FEATURES.load(self._folder.path / row.file)
                check_fingerprint(str(self._folder.path), row.fingerprint, feature.fingerprint)
            self._features[row.id] = feature
            return feature

    def use(self, ranker: int, feature: Feature) -> None:
        """Use this feature for a ranker that has just been made with it."""
        with self._lock:
            self._features[ranker] = feature

    def similarity(self, number: int, fingerprint: str) -> Similarity:
        """Load a similarity, if it was learned on vectors with this fingerprint."""
        similarity = SIMILARITIES.load(self._folder.model(number))
        check_fingerprint(str(self._folder.path), fingerprint, similarity.fingerprint_)
        return similarity

    def annotator(self, number: int, fingerprint: str) -> Annotator:
        """Load an annotator, if it was learned on vectors with this fingerprint."""
        annotator = ANNOTATORS.load(self._folder.model(number))
        check_fingerprint(str(self._folder.path), fingerprint, annotator.fingerprint_)
        return annotator

    def codes(self, number: int, fingerprint: str) -> HammingSimilarity:
        """Load codes, if they were learned on vectors with this fingerprint."""
        # Only a collection with codes needs what they are made of.
        from lookalike.codes.hamming import HammingSimilarity

        codes = HammingSimilarity.load(self._folder.model(number))
        check_fingerprint(str(self._folder.path), fingerprint, codes.fingerprint_)
        return codes

    def files(self) -> list[Path]:
        """Return the files that are in use."""
        named = [self._folder.model(number) for number in models.model_files(self._database)]
        for row in rankers.rankers(self._database):
            named += [self._folder.path / row.file] if row.file else []
            if row.reduction is not None:
                named.append(self._folder.reduction(row.reduction))
            if row.space is not None:
                named.append(self._folder.cache(row.space))
            if row.fingerprint is not None:
                named.append(self._folder.classes(row.fingerprint))
            if row.codes is not None:
                named.append(self._codes_cache(row.codes))
        return named

    def candidates(
        self, row: RankerRow, plain: Index, before: Candidates | None
    ) -> Candidates | None:
        """Return what finds candidates for a ranker, over the pictures of an index.

        None where the model of codes is damaged: then all pictures are compared, as without codes.
        """
        if row.codes is None:
            return None
        if before is not None and before.number == row.codes:
            return before.over(plain)
        from lookalike.collection.ranking.candidates import Candidates

        try:
            similarity = self.codes(row.codes, str(row.space))
        except DamagedFile as error:
            _log.warning(
                "%s Searches compare all pictures until codes are learned again (lookalike learn "
                "--codes) or a backup is restored.",
                error,
            )
            return None
        figures = models.code_figures(self._database, row.codes)
        cache = self._codes_cache(row.codes)
        return Candidates.load(row.codes, similarity, figures, plain, cache)

    def space(self, row: RankerRow) -> Space:
        """Return the space that a ranker compares in."""
        feature = self.feature(row)
        if not feature.is_fitted:
            raise NotFitted(f"the feature {feature.name} must be fitted first.")
        if row.reduction is None:
            return Space(row.id, feature, index_kind=row.index_kind)
        try:
            reduction = Reduction.load(self._folder.reduction(row.reduction))
        except DamagedFile as error:
            raise DamagedFile(
                f"{error} Vectors cannot be compared without it: restore the file from a backup of "
                f"{self._folder.path}, or make a new collection: lookalike index FOLDER -c NEW."
            ) from error
        check_fingerprint(str(self._folder.path), row.reduction, reduction.fingerprint)
        check_fingerprint(str(self._folder.path), feature.fingerprint, reduction.parent_)
        return Space(row.id, feature, reduction, row.index_kind)

    def _unfitted(self, row: RankerRow) -> Feature:
        try:
            return FEATURES.make(row.feature, row.settings)
        except InvalidInput as error:
            if row.feature not in FEATURES:
                raise FEATURES.missing(row.feature, row.package) from error
            raise DamagedFile(f"{self._folder.path}: the ranker {row.name}: {error}") from error

    def _codes_cache(self, number: int) -> Path:
        return self._folder.codes(models.code_figures(self._database, number).fingerprint)

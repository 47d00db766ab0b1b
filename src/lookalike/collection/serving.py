"""What searches use at one moment: the vectors, and what was learned last."""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation import WSABIE
from lookalike.collection.asking import Vault
from lookalike.collection.database import Database
from lookalike.collection.folder import Folder
from lookalike.collection.held_labels import HeldLabels, dense
from lookalike.collection.ledger import Ledger
from lookalike.collection.lessons import Run
from lookalike.collection.preferences import Preferences
from lookalike.collection.vectors import AnyIndex, Space, load_index, update
from lookalike.core.errors import DamagedFile
from lookalike.core.fingerprint import check_fingerprint
from lookalike.features import Feature, Reduction, Vectors
from lookalike.similarity import OASIS


@dataclass(frozen=True)
class Serving:
    """A state to search in; it never changes.

    ``plain`` ranks by cosine; ``learned`` shares its vectors and has the model's scales.
    ``tagger`` is the number of the model that names pictures; it is read when it is needed.
    ``preferences`` are what votes add to the model; ``changes`` counts the comings and goings of
    pictures, so that nothing is looked up that has not changed.
    """

    space: Space
    plain: AnyIndex
    learned: AnyIndex
    model: OASIS | None
    number: int | None
    tagger: int | None = None
    preferences: Preferences | None = None
    changes: int = -1

    @classmethod
    def of(
        cls, space: Space, plain: AnyIndex, model: OASIS | None, number: int | None
    ) -> "Serving":
        """Put a model over an index."""
        if model is None:
            return cls(space, plain, plain, None, None)
        learned = copy(plain)
        learned.set_scales(model.item_scales(plain.vectors))
        return cls(space, plain, learned, model, number)

    def updated(self, database: Database) -> "Serving":
        """Return the state with what was added and removed since."""
        plain = copy(self.plain)
        if not update(plain, self.space, database):
            return self
        # What stays keeps its order and what is new comes last.
        stays = np.isin(self.learned.ids, plain.ids)
        preferences = self.preferences
        if preferences is not None:
            # Without all its pictures, what votes taught is put together anew.
            vault = Vault(self.space, plain, database)
            preferences = preferences.over(vault) if stays.all() else None
        if self.model is None:
            return replace(self, plain=plain, learned=plain, preferences=preferences)
        new = np.flatnonzero(~np.isin(plain.ids, self.learned.ids))
        scales = [self.learned.scales[stays], self.model.item_scales(plain.vectors[new])]
        learned = copy(plain)
        learned.set_scales(np.concatenate(scales))
        return replace(self, plain=plain, learned=learned, preferences=preferences)

    def heard(self, database: Database) -> "Serving":
        """Return the state with what was voted since."""
        before = self.preferences
        ledger = Ledger.read(database, None if before is None else before.ledger)
        if before is None:
            vault = Vault(self.space, self.plain, database)
            before = Preferences(vault, self.model, self.space.dimension)
        elif ledger is before.ledger:
            return self
        following = before.following(ledger)
        # Labels are read only once there are votes to judge, and again when they changed.
        known = before.ledger
        fresh = not known.votes or HeldLabels.changed(database, self.number, known.seen)
        if ledger.votes and fresh:
            held = HeldLabels.of(database, self.plain, self.model, self.number)
            following = following.judged_by(held)
        return replace(self, preferences=following)

    def query(self, vector: Vectors) -> Vectors:
        """Return what the index is asked with, by all that was learned."""
        query: Vectors = vector if self.model is None else self.model.query_vectors(vector)
        if self.preferences is None or not self.preferences.standing.strength:
            return query
        added = self.preferences.turned(self.preferences.item(vector))
        strength = self.preferences.standing.strength
        return np.asarray(dense(query) + strength * added, np.float32)

    def vector(self, number: int) -> Vectors:
        """Return the vector of a picture as a matrix of one row."""
        found = self.plain.vector(number)
        return found[None] if isinstance(found, np.ndarray) else found

    def vectors(self, ids: NDArray[np.int64]) -> Vectors:
        """Return the vectors of pictures, a row each in the order of ``ids``."""
        order = np.argsort(self.plain.ids)
        return self.plain.vectors[order[np.searchsorted(self.plain.ids, ids, sorter=order)]]


def serve(before: Serving | None, folder: Folder, database: Database, feature: Feature) -> Serving:
    """Return the state that the database names now, as little as possible made anew.

    Raises
    ------
    DamagedFile, FingerprintMismatch
        If a file named is not usable.
    """
    while True:
        with database.snapshot():
            named = database.state()
            try:
                serving = _serve(before, named, folder, database, feature)
                current = replace(
                    serving, tagger=named.get("tagger"), changes=named.get("changes", -1)
                )
                return current.heard(database)
            except DamagedFile as error:
                problem = error
        # A writer may have put something newer in place while we read, and cleaned up.
        if database.state() == named:
            raise problem


def _serve(
    before: Serving | None,
    named: dict[str, int | str],
    folder: Folder,
    database: Database,
    feature: Feature,
) -> Serving:
    fingerprint = str(named.get("reduction", feature.fingerprint))
    number = named.get("model")
    if before is not None and before.space.fingerprint == fingerprint:
        if before.number == number:
            known = before.changes == named.get("changes")
            return before if known else before.updated(database)
        space, plain = before.space, copy(before.plain)
        update(plain, space, database)
    else:
        space = Space(feature)
        if "reduction" in named:
            reduction = Reduction.load(folder.reduction(fingerprint))
            check_fingerprint(str(folder.path), fingerprint, reduction.fingerprint)
            check_fingerprint(str(folder.path), feature.fingerprint, reduction.parent_)
            space = Space(feature, reduction)
        plain = load_index(space, database, folder.cache(fingerprint))
    if number is None:
        return Serving.of(space, plain, None, None)
    return Serving.of(space, plain, load_model(folder, int(number), fingerprint), int(number))


def load_model(folder: Folder, number: int, fingerprint: str) -> OASIS:
    """Read a similarity, if it was learned on vectors with this fingerprint."""
    model = OASIS.load(folder.model(number))
    check_fingerprint(str(folder.path), fingerprint, model.fingerprint_)
    return model


def load_tagger(folder: Folder, number: int, fingerprint: str) -> WSABIE:
    """Read a tagger, if it was learned on vectors with this fingerprint."""
    tagger = WSABIE.load(folder.model(number))
    check_fingerprint(str(folder.path), fingerprint, tagger.fingerprint_)
    return tagger


def save_models(folder: Folder, run: Run, space: Space) -> None:
    """Write the models of a run that are to be published."""
    for number, lesson in run.lessons.items():
        if lesson.published:
            try:
                lesson.model.save(folder.model(number), fingerprint=space.fingerprint)
            except OSError as error:
                raise folder.not_written(error) from error

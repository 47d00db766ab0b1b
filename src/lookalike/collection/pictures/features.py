"""The features that pictures are described by, a ranker each: added, fitted and saved."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

from lookalike.collection.log.entry import Entry
from lookalike.collection.log.models import DefaultRanker, NewFeature, RankerRemoval
from lookalike.collection.pictures.describing import describe_missing, fit_feature
from lookalike.collection.ranking.info import RankerInfo
from lookalike.collection.ranking.rankers import TOGETHER
from lookalike.collection.ranking.session import Session
from lookalike.collection.store import rankers as ranker_rows
from lookalike.collection.store.database import Database
from lookalike.collection.store.folder import Folder
from lookalike.collection.store.places import all_places
from lookalike.collection.store.rankers import RankerRow
from lookalike.collection.training.growing import grow
from lookalike.collection.votes.recording import teach_earlier_votes
from lookalike.core.errors import InvalidInput, LookalikeError, MissingPart
from lookalike.core.progress import Progress, silent
from lookalike.core.stored import package_of
from lookalike.features import Feature
from lookalike.features.registry import FEATURES
from lookalike.images import Limits
from lookalike.index.registry import INDEXES, RERANKERS
from lookalike.index.reranker import Reranker

DEFAULT_FEATURE = "embedding"

MAX_NAME = 64


def create(
    path: Path,
    features: Sequence[Feature | str] | Mapping[str, Feature | str] | None,
    index: str | None,
) -> list[Feature]:
    """Make the folder of a new collection, and return the features that describe it."""
    chosen = _by_name(features)
    with Folder.making(path) as folder:
        Database.create(folder.database)
        folder.write_manifest()
        with closing(Database(folder.database)) as database:
            for name, feature in chosen.items():
                row = add_ranker(folder, database, name, feature, index=index)
                with database.transaction() as connection:
                    ranker_rows.set_ready(connection, row.id)
    return list(chosen.values())


def _by_name(
    features: Sequence[Feature | str] | Mapping[str, Feature | str] | None,
) -> dict[str, Feature]:
    """Return features by the names of their rankers; without any, the default one."""
    given = [DEFAULT_FEATURE] if features is None else features
    if isinstance(given, str | Feature):
        given = [given]
    named: dict[str, Feature | str] = (
        dict(given)
        if isinstance(given, Mapping)
        else {one if isinstance(one, str) else one.name: one for one in given}
    )
    chosen = {
        name: FEATURES.make(one) if isinstance(one, str) else one for name, one in named.items()
    }
    if not chosen or len(chosen) != len(given):
        raise InvalidInput(
            "Collection.create: features must be one or more, each under a name of its own: "
            "{'look': Embedding(), 'clip': Embedding('clip.onnx')}."
        )
    return chosen


def add_ranker(
    folder: Folder,
    database: Database,
    name: str,
    feature: Feature,
    *,
    index: str | None = None,
    rerankers: Sequence[Reranker] = (),
) -> RankerRow:
    """Add a ranker that has described nothing yet."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= MAX_NAME:
        raise InvalidInput(
            f"Collection: the name of a ranker is text of at most {MAX_NAME} characters; got "
            f"{name!r:.80}."
        )
    if name == TOGETHER:
        raise InvalidInput(
            f"Collection: {TOGETHER} names searches by look and object. Choose another name."
        )
    if index is not None:
        INDEXES.get(index)
    if not feature.is_fitted and feature.name not in FEATURES:
        raise InvalidInput(
            f"Collection: the feature {feature.name} must be fitted or registered first."
        )
    chosen = rerankers or [RERANKERS.make(each) for each in feature.rerankers]
    with database.transaction() as connection:
        number = ranker_rows.add_ranker(
            connection,
            name=name,
            feature=feature.name,
            package=package_of(type(feature)),
            settings={} if feature.is_fitted else feature.settings(),
            index_kind=index,
            rerankers=[(one.name, one.settings()) for one in chosen],
        )
        if feature.is_fitted:
            _save(folder, connection, number, feature)
    return next(row for row in ranker_rows.rankers(database) if row.id == number)


def fitted(
    session: Session,
    row: RankerRow,
    files: Sequence[Path],
    limits: Limits | None,
    progress: Progress,
) -> Feature | str:
    """Return a ranker's feature, fitted where files allow it; or why it cannot be used."""
    try:
        feature = session.rankers.parts.feature(row)
    except MissingPart as error:
        return str(error)
    if row.fingerprint is None:
        fit_feature(feature, files, limits, progress, session.decode)
        if feature.is_fitted:
            with session.database.transaction() as connection:
                _save(session.folder, connection, row.id, feature)
    return feature


def add_feature(
    session: Session,
    feature: Feature,
    called: str | None,
    index: str | None,
    rerankers: Sequence[Reranker],
    limits: Limits | None,
    threads: int | None,
    progress: Progress,
) -> RankerInfo:
    """Describe all pictures by a further feature, or go on with that, and let votes teach it."""
    database, name = session.database, feature.name if called is None else called
    with session.writing():
        row = _resumed(session, name, feature) or add_ranker(
            session.folder, database, name, feature, index=index, rerankers=rerankers
        )
        session.rankers.parts.use(row.id, feature)
        files = [Path(path) for path, _ in all_places(database)]
        try:
            used = fitted(session, row, files, limits, progress)
        except LookalikeError:
            if row.fingerprint is None:
                # Nothing was described by it, and it would fail with all that is added later.
                with database.transaction() as connection:
                    ranker_rows.remove(connection, row.id)
            raise
        if isinstance(used, str):
            raise MissingPart(used)
        if used.is_fitted:
            describe_missing(
                database,
                row.id,
                used,
                limits=limits,
                threads=threads,
                progress=progress,
                decode=session.decode,
            )
            grow(session, row, used, silent)
            with session.entry() as entry:
                ranker, ledger = session.rankers.preparing(name), session.rankers.ledger
                teach_earlier_votes(entry, ranker.id, ranker.votes, ledger)
                ranker_rows.set_ready(entry.connection, row.id)
                if not row.ready:
                    entry.append(NewFeature(name, used.name))
            session.rankers.save_cache(session.rankers.get(name))
    return next(info for info in session.rankers.infos() if info.name == name)


def remove_ranker(session: Session, name: str, who: str) -> Entry:
    """Remove a ranker with its records and models."""
    with session.writing():
        row = session.rankers.row(name)
        if len(session.rankers.rows()) == 1:
            raise InvalidInput(
                f"{session.path} has no other ranker than {name}, and cannot be searched without "
                f"one. Add another one first: lookalike index --feature."
            )
        with session.entry(who) as entry:
            ranker_rows.remove(entry.connection, row.id)
            entry.append(RankerRemoval(row.name))
    return entry.result


def set_default(session: Session, name: str, who: str) -> Entry:
    """Make a ranker the one that searches take where they name none."""
    with session.writing():
        row = session.rankers.row(name)
        if not row.ready:
            raise InvalidInput(
                f"{session.path}: the ranker {row.name} cannot be the default one before it has "
                f"described all pictures: lookalike index --feature {row.feature}."
            )
        with session.entry(who) as entry:
            entry.append(DefaultRanker(row.name))
    return entry.result


def _resumed(session: Session, name: str, feature: Feature) -> RankerRow | None:
    """Return the ranker that is to be gone on with; None for a new one."""
    own = feature.fingerprint if feature.is_fitted else None
    for row in session.rankers.rows():
        same = own == row.fingerprint if own else row.feature == feature.name
        if row.name == name and same:
            if not row.ready or ranker_rows.undescribed(session.database, row.id):
                return row
            raise InvalidInput(
                f"{session.path} has the feature {name} already. Search by it: by={name!r}."
            )
        if row.name == name:
            raise InvalidInput(
                f"{session.path} has a ranker {name} with another feature already. Give this one "
                f"another name."
            )
        if own is not None and own == row.fingerprint:
            raise InvalidInput(
                f"{session.path} has this feature already, as {row.name}. Search by it: "
                f"by={row.name!r}."
            )
    return None


def _save(folder: Folder, connection: Connection, ranker: int, feature: Feature) -> None:
    """Write a fitted feature, then the row that names it."""
    file = folder.feature(ranker)
    try:
        feature.save(file)
    except OSError as error:
        raise folder.not_written(error) from error
    name = file.relative_to(folder.path).as_posix()
    ranker_rows.set_feature(connection, ranker, name, feature.fingerprint)

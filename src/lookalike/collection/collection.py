"""The collection: a folder that keeps pictures, searches them and learns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from lookalike.collection import nouns
from lookalike.collection.log import labels as by_hand
from lookalike.collection.log.entry import Entry
from lookalike.collection.log.removals import Removal, Restoration, move
from lookalike.collection.log.undo import undo
from lookalike.collection.nouns.selection import Named, Selection, in_bin, matching, named
from lookalike.collection.pictures.added import Added
from lookalike.collection.ranking.gate import GATE, Gate
from lookalike.collection.ranking.info import RankerInfo
from lookalike.collection.ranking.session import Session
from lookalike.collection.search import exporting, searching, suggesting
from lookalike.collection.search.matches import Match
from lookalike.collection.search.suggesting import Suggestion
from lookalike.collection.store.filter import Filter
from lookalike.collection.store.queries import Ask, Ref
from lookalike.collection.training.trials import InUse, Learned
from lookalike.collection.vectors.queries import Query
from lookalike.collection.votes.recording import checked_vote, record_vote
from lookalike.core.progress import Progress, silent
from lookalike.features import Feature
from lookalike.images import Limits
from lookalike.index.reranker import Reranker

if TYPE_CHECKING:
    from lookalike.collection.training.given import NamedClicks, NamedLabels


class Collection:
    """Pictures in a folder of their own: searched by likeness and word, which is learned.

    What is committed to the folder's database is what every reader sees, whole: a killed writer
    leaves the collection as its last finished step left it. One may write at a time, any number
    read, in this process and in others; threads may share a collection.

    It holds one or several *rankers*, each a way to search: pictures described by one of its
    features, and what was learned over that. Searches name one by ``by``, or take the first. Of a
    dense feature, from 512 pictures on, the first 256 principal components are compared.

    What it learns is used once it passes the ``gate``. Use :meth:`create` or :meth:`open`, and
    ``with`` to close it. What is not a verb stands behind a noun, such as ``collection.pictures``.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> folder = Path(tempfile.mkdtemp())
    >>> Image.radial_gradient("L").save(folder / "disc.png")
    >>> Image.radial_gradient("L").resize((99, 99)).save(folder / "small disc.png")
    >>> Image.linear_gradient("L").save(folder / "slope.png")
    >>> with Collection.create(folder / "collection") as collection:
    ...     _ = collection.add([folder])
    ...     [match.path.name for match in collection.search(folder / "disc.png")]
    ['small disc.png', 'slope.png']
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.pictures = nouns.Pictures(session)
        self.labels = nouns.Labels(session)
        self.words = nouns.Words(session)
        self.queries = nouns.Queries(session)
        self.votes = nouns.Votes(session)
        self.people = nouns.People(session)
        self.log = nouns.Log(session)
        self.models = nouns.Models(session)
        self.albums = nouns.Albums(session)
        self.bin = nouns.Bin(session)
        self.duplicates = nouns.DuplicateGroups(session)
        self.ratings = nouns.Ratings(session)
        self.texts = nouns.Texts(session)
        self.upkeep = nouns.Upkeep(session)

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        features: Sequence[Feature | str] | Mapping[str, Feature | str] | None = None,
        index: str | None = None,
        gate: Gate = GATE,
    ) -> Self:
        """Make a new, empty collection at a ``path`` where there is nothing yet.

        Parameters
        ----------
        path, gate
            As for :meth:`open`.
        features : sequence of Feature or str, or mapping from name to these, optional
            How pictures are described, by features or their names, a ranker each, named as its
            feature unless named otherwise; by default :class:`~lookalike.features.Embedding`. One
            that is not fitted is fitted on the pictures added first.
        index : str, optional
            The index that holds the vectors; by default ``dense`` or ``sparse``, as they are.
        """
        from lookalike.collection.pictures.features import create

        return cls.open(path, features=create(Path(path), features, index), gate=gate)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        features: Iterable[Feature] = (),
        read_only: bool | None = None,
        gate: Gate = GATE,
    ) -> Self:
        """Open a collection.

        Parameters
        ----------
        path, read_only
            Its folder; and whether nothing may be changed, by default if that cannot be written to.
        features : iterable of Feature
            Features it was made with that are not registered (see docs/extending.md).
        gate : Gate
            What a new model must show to be used; tests and trials pass one with other rules.

        Raise CollectionError if there is no collection, DamagedFile if a file is damaged or of a
        newer version, and FingerprintMismatch if none of its rankers has a feature that is given.
        """
        return cls(Session.open(Path(path), features, read_only, gate))

    def close(self) -> None:
        """Close the collection; nothing is left to be saved."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Count the pictures."""
        return self._session.database.count("pictures")

    @property
    def path(self) -> Path:
        """The folder of the collection."""
        return self._session.path

    @property
    def read_only(self) -> bool:
        """Whether nothing can be changed."""
        return self._session.database.read_only

    @property
    def features(self) -> dict[str, Feature]:
        """How pictures are described, by the names of the rankers whose features are installed."""
        return self._session.rankers.features()

    def add(
        self,
        sources: Iterable[str | Path],
        *,
        removed: bool = False,
        limits: Limits | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Added:
        """Bring in the pictures among files, folders and globs.

        A picture is known by its content: at a second path it is a copy, and if the first path is
        gone, it moved. Unchanged files are not read again, so an interrupted run goes on where it
        stopped. A file whose content changed is another picture; the old one goes if nobody
        tagged it or voted on it, else it is missing.

        Parameters
        ----------
        sources : iterable of str or Path
        removed, limits
            Whether files whose pictures were removed come in again; what a picture may cost
            before it is refused, and where its file may lie.
        threads, progress
            By default one a core; called with the files done, and all there are.
        """
        from lookalike.collection.pictures import adding

        return adding.add(self._session, sources, removed, limits, threads, progress)

    def add_feature(
        self,
        feature: Feature,
        *,
        name: str | None = None,
        index: str | None = None,
        rerankers: Sequence[Reranker] = (),
        limits: Limits | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> RankerInfo:
        """Add a ranker: describe all pictures by a further feature, and let votes teach it.

        Searches by other rankers go on meanwhile; interrupted, the same call goes on where it
        stopped, and tries again what could not be read (``pictures.undescribed``).

        Parameters
        ----------
        feature : Feature
        name, index
            What ``search(by=…)`` calls the ranker, by default the feature's name; and the index
            that holds the vectors, by default ``dense`` or ``sparse``, as they are.
        rerankers : sequence of Reranker
            What its hits are ranked again by, in order; by default what the feature names.
        limits, threads, progress
            As for :meth:`add`.
        """
        from lookalike.collection.pictures.features import add_feature

        return add_feature(
            self._session, feature, name, index, rerankers, limits, threads, progress
        )

    def remove(self, pictures: Selection, *, who: str = "", key: str | None = None) -> int:
        """Move pictures into the bin, all or none, and return how many.

        They are neither found nor learned from, and do not come in again with their files, until
        :meth:`restore` or :meth:`undo` brings them back with all that is kept of them.

        Parameters
        ----------
        pictures : iterable of int, str or Path, or Filter
            Ids, or paths of the files; or all that pass a filter. The files stay.
        who, key
            Who removes them, where there are several; and a name for this request: sent twice, it
            counts once. So everywhere.
        """
        with self._session.entry(who, key) as entry:
            if not entry.is_new:
                return 0
            return move(entry, Removal, named(self._session, "remove", pictures))

    def restore(
        self, pictures: Iterable[Named] | None = None, *, who: str = "", key: str | None = None
    ) -> int:
        """Bring pictures, by default all, back from the bin, and return how many.

        ``pictures``, ``who`` and ``key`` are as for :meth:`remove`.
        """
        with self._session.entry(who, key) as entry:
            if not entry.is_new:
                return 0
            return move(entry, Restoration, in_bin(self._session, "restore", pictures))

    def label(
        self,
        pictures: Selection,
        word: str,
        *,
        shows: bool = True,
        who: str = "",
        key: str | None = None,
    ) -> Entry:
        """Record that pictures show what a word names, or that they do not, in one event.

        Parameters
        ----------
        pictures : int, iterable of int, str or Path, or Filter
            A picture by its id, several by ids or paths, or all that pass a filter.
        word, shows : str, bool
            The word, and whether it fits; else it is refused for these pictures.
        who, key
            As for :meth:`remove`.
        """
        with self._session.entry(who, key) as entry:
            if entry.is_new:
                by_hand.label(entry, named(self._session, "label", pictures), word, shows=shows)
        return entry.result

    def learn(
        self,
        labels: NamedLabels | None = None,
        *,
        folders: bool = False,
        clicks: NamedClicks | None = None,
        threshold: float = 0.0,
        method: str = "oasis",
        words: str = "auto",
        feature: str | None = None,
        settings: Mapping[str, Any] | None = None,
        hold_back: float = 0.2,
        codes: str | None = None,
        bits: int | None = None,
        candidates: int | None = None,
        random_state: int | None = 0,
        progress: Progress = silent,
    ) -> Learned:
        """Learn what is alike and what pictures are called, and use it if it passes the gate.

        Labels and folders teach both, clicks only what is alike. Each model learns from most
        pictures and is judged on the others beside the one in use, and is published by itself
        (:class:`~lookalike.collection.Trial`). With nothing given, it learns from what was given
        before.

        Parameters
        ----------
        labels : mapping from path to labels, optional
            They replace what was imported for these pictures before; labels given by hand stay.
            A path may be its last parts where those are unique. The import can be undone.
        folders : bool
            Take the folder a picture lies in for its label, beside other labels.
        clicks, threshold
            {query: {path: weight}}, the pictures people chose for a query, instead of those before;
            and θ of paper 1, Eq. 20, for them: the least probability that both are chosen.
        method, settings
            The similarity, by its name in :data:`lookalike.similarity.registry.SIMILARITIES`, and
            its parameters.
        words : str
            The annotator, by its name in :data:`lookalike.annotation.registry.ANNOTATORS`; or
            ``auto``, the best of several on the pictures held out.
        feature, hold_back
            The ranker to train, by default the first; and the share of pictures to judge by.
        codes, bits, candidates
            Learn binary codes as well, by a name in :data:`lookalike.codes.ENCODERS`: they find
            candidates in memory, which are ranked by their vectors on disk.
            A code has 64 bits by default, and a search takes as many candidates as have .98 of the
            50 best pictures among them on average.
        random_state, progress
            Makes a run repeatable; called with the steps done, and all there are.
        """
        from lookalike.collection.training import learning
        from lookalike.collection.training.given import read_given

        given = partial(read_given, self._session.database, labels, folders, clicks, threshold)
        wanted = learning.codes_wanted(codes, bits, candidates, random_state)
        only_codes = wanted is not None and labels is None and clicks is None and not folders
        learner = learning.new_learner(method, settings, random_state)
        own = {"random_state": random_state, **(settings or {})}
        similarity = None if only_codes else learner
        return learning.learn(
            self._session, given, similarity, words, feature, own, hold_back, progress, wanted
        )

    def rollback(self) -> InUse:
        """Undo the last learning that is in use: searches and words are as they were before it.

        What was learned together is undone together. Returns what its ranker uses then. Labels
        that were imported to learn from stay; undoing the event that is returned takes them back.
        """
        from lookalike.collection.training import learning

        return learning.rollback(self._session)

    def vote(
        self,
        ask: Ask,
        *,
        picked: Iterable[int] = (),
        rejected: Iterable[int] = (),
        shown: Iterable[int] = (),
        who: str = "",
        key: str | None = None,
    ) -> Entry:
        """Record which pictures found for a query are right and which are wrong, and learn it.

        The vote is on disk before this returns, and the next search uses it. To say the same again
        changes nothing; to say the opposite counts instead.

        Parameters
        ----------
        ask : Ask
            What was searched for.
        picked, rejected, shown : iterable of int
            Pictures that are right, those that are wrong, and all in the order shown.
        who, key
            As for :meth:`remove`.
        """
        vote = checked_vote(ask, picked, rejected, shown, who)
        # Loading a ranker may take long; nobody has to wait for it to write.
        self._session.rankers.usable()
        with self._session.entry(who, key) as entry:
            if entry.is_new:
                preferences, ledger = self._session.rankers.voting(who)
                record_vote(self._session.database, entry, preferences, ledger, vote)
        return entry.result

    def undo(self, number: int, *, who: str = "", key: str | None = None) -> Entry:
        """Undo the event of a ``number``: a vote, a label, an import, a removal, an undo itself.

        Raise NotFound if there is none, and InvalidInput if it cannot be undone, or is already.
        ``who`` and ``key`` are as for :meth:`remove`.
        """
        with self._session.entry(who, key) as entry:
            if entry.is_new:
                undo(entry, number)
        return entry.result

    def search(
        self,
        query: Query | Ask,
        k: int = 10,
        *,
        by: str | None = None,
        learned: bool = True,
        offset: int = 0,
        where: Filter | None = None,
        min_score: float | None = None,
        limits: Limits | None = None,
        who: str = "",
        words: str = "",
        weight: float = 0.5,
        strike: Iterable[str] = (),
    ) -> list[Match]:
        """Find the pictures most like a query, best first.

        What was picked for the same query before comes first, and what was rejected is left out.

        Parameters
        ----------
        query : int, str, Path, bytes, Image or Ask
            A picture of the collection by its id or path, not among its own matches; any picture,
            as a file, its content or a Pillow image; or several pictures to be like and unlike.
        k, by, learned
            How many to find at most, from 1; the ranker to search by, by default the first,
            *together* with that of regions if there is one: the same object comes before likeness;
            and whether to use what was learned and voted, else the cosine of the vectors.
        offset, where
            How many of the best to leave out, for a second page; and which to search among.
        min_score, limits
            Leave out pictures that score less, unless they were picked; and what the query may
            cost to decode before it is refused.
        who : str
            Whose votes and labels count beside the *shared* ones: those of the owner, whose name is
            empty, and of people the owner trusts.
        words, strike, weight
            What matches must fit besides, such as ``snow -people``, as for :meth:`search_word`;
            and how much that counts beside the likeness, from 0 to 1.
        """
        if words:
            both = self.words.beside(query, words, weight, by, where, learned, who, strike, limits)
            return both.page(self._session, k, offset, min_score)
        among = matching(self._session, where)
        return searching.search(
            self._session, query, k, by, learned, offset, among, min_score, limits, who
        )

    def search_word(
        self,
        word: str,
        k: int = 10,
        *,
        by: str | None = None,
        learned: bool = True,
        offset: int = 0,
        where: Filter | None = None,
        min_score: float | None = None,
        strike: Iterable[str] = (),
        who: str = "",
    ) -> list[Match]:
        """Find pictures by what a person types: words, sentences and filters, best first.

        Pictures are in one order, by how probable it is that all of it fits: a label is certain, a
        learned word fits by W_wᵀVx (paper 2, Eq. 1), a *start word* that the feature knows without
        being taught by its confidence, and the name of a file or folder makes more probable what
        is seen. Any other text is read as the words nearest in meaning, in sixteen languages;
        ``words.count`` tells which. See :mod:`~lookalike.collection.search.query_language`.

        Parameters
        ----------
        word : str
            ``dog beach``, ``"polar bear" -snow``, ``Kind mit Ball before:2019 label:Anna`` …
        by, learned
            The ranker whose words to use, by default the first that knows any; and whether to use
            what was learned, else labels, names and start words answer.
        k, offset, where, who
            As for :meth:`search`.
        min_score, strike
            Leave out pictures that score less, where labels score 1; and words that the text is
            not to be read as.
        """
        result = self.words.ranked(word, by, where, learned, who, strike)
        return result.page(self._session, k, offset, min_score)

    def export(self, path: str | Path, *, by: str | None = None, who: str = "") -> None:
        """Write what was learned so that vectors kept elsewhere can be searched with it.

        The file is safetensors, with a recipe of some ten lines of NumPy beside it.
        """
        exporting.export(self._session, Path(path), by, who)

    def suggest(
        self, picture: Ref, k: int = 8, *, by: str | None = None, who: str = ""
    ) -> list[Suggestion]:
        """Suggest ``k`` words for a picture that it has not got and was not refused, best first.

        They come from what was learned, from the labels of similar pictures, and from start words.
        The labels that ``who`` gave count beside the shared ones.
        """
        return suggesting.suggest(self._session, picture, k, by, who)

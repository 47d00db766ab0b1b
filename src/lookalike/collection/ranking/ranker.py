"""A ranker: feature, space, similarity, index, what votes add, and rerankers, as one value."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store import rankers
from lookalike.collection.store.database import Database
from lookalike.collection.vectors.queries import VectorSource
from lookalike.collection.vectors.space import Space, followed_index, served_index, stores_as_given
from lookalike.collection.votes.gate import HeldLabels
from lookalike.collection.votes.ledger import Ledger
from lookalike.collection.votes.preferences import Preferences
from lookalike.core import sparse as sp
from lookalike.core.vectors import Vectors, dense, unit_rows
from lookalike.index import Hits
from lookalike.index.base import Index
from lookalike.index.reranker import Reranker
from lookalike.index.rescoring import Rescoring
from lookalike.similarity.base import Similarity
from lookalike.similarity.cosine import Cosine

if TYPE_CHECKING:
    from lookalike.collection.ranking.candidates import Candidates


@dataclass(frozen=True)
class Ranker:
    """The whole way from a query to a ranking, for one feature; it never changes.

    Attributes
    ----------
    id, name : int, str
        How the store and searches name it.
    space : Space
        What pictures are compared in.
    plain : Index
        Their vectors, ranked by cosine.
    index : Index
        What the similarity stores of them, with its scales; it shares the vectors of ``plain``
        where the similarity stores them as they are.
    similarity : Similarity
        Cosine where nothing was learned.
    number, annotator : int or None
        The models in use: of the similarity, and that which gives words.
    votes : Preferences
        What votes add.
    codes : Candidates or None
        What finds candidates for a search; None where every search is exact.
    rerankers : tuple of Reranker
        What hits are ranked again by, in order.
    changes : int
        The count of comings and goings of pictures that it has seen.
    damage : str
        Why what was learned cannot be used; then only the cosine answers.
    objects : Ranker or None
        The ranker of objects whose matches count as well, in a search by both.
    """

    id: int
    name: str
    space: Space
    plain: Index
    index: Index
    similarity: Similarity
    number: int | None
    annotator: int | None
    votes: Preferences
    rerankers: tuple[Reranker, ...]
    changes: int
    damage: str = ""
    codes: "Candidates | None" = None
    objects: "Ranker | None" = None

    @classmethod
    def of(
        cls,
        row: rankers.RankerRow,
        space: Space,
        plain: Index,
        database: Database,
        *,
        similarity: Similarity | None = None,
        rerankers: tuple[Reranker, ...] = (),
        changes: int = -1,
        damage: str = "",
        codes: "Candidates | None" = None,
    ) -> "Ranker":
        """Put a similarity over an index; without one, cosine."""
        chosen = Cosine() if similarity is None else similarity
        index = served_index(plain, chosen, space)
        source = VectorSource(space, plain, database)
        return cls(
            row.id,
            row.name,
            space,
            plain,
            index,
            chosen,
            None if similarity is None else row.similarity,
            row.annotator,
            Preferences.none(row.id, source, chosen),
            rerankers,
            changes,
            damage,
            codes,
        )

    def updated(self, database: Database, changes: int) -> "Ranker":
        """Return the ranker with the pictures that came and went since."""
        plain = self.plain.copy()
        if not self.space.update(plain, database):
            return replace(self, changes=changes)
        index = followed_index(self.index, plain, self.similarity)
        source = VectorSource(self.space, plain, database)
        came = plain.ids[~np.isin(plain.ids, self.plain.ids)]
        if np.isin(self.plain.ids, plain.ids).all() and not self.votes.ledger.names(came):
            votes = self.votes.over(source)
        else:
            # When pictures of votes went, or came back, what votes taught is put together anew.
            votes = Preferences.none(self.id, source, self.similarity)
        codes = None if self.codes is None else self.codes.over(plain)
        return replace(self, plain=plain, index=index, votes=votes, changes=changes, codes=codes)

    def following(self, database: Database, ledger: Ledger) -> "Ranker":
        """Return the ranker with what was voted since."""
        before = self.votes.ledger
        if ledger is before:
            return self
        votes = self.votes.following(ledger)
        # Labels are read only once there are votes to judge, and again when they changed.
        if ledger.votes and (
            not before.votes or HeldLabels.changed(database, self.number, ledger, before.seen)
        ):
            held = HeldLabels.of(database, self.plain, self.similarity, self.number)
            votes = votes.judged_by(held)
        return replace(self, votes=votes)

    def source(self, database: Database) -> VectorSource:
        """Return where the vectors of pictures and kept queries come from."""
        return VectorSource(self.space, self.plain, database)

    def vectors(self, ids: NDArray[np.int64]) -> Vectors:
        """Return the vectors of pictures, a row each in the order of ``ids``."""
        return self.plain.take(ids)

    def query(self, vector: Vectors) -> Vectors:
        """Return what the index is asked with, by all that was learned.

        Votes turn it and leave its length as it is, so that scores keep their scale.
        """
        query = self.similarity.query_vectors(vector)
        strength = self.votes.standing.strength
        if not strength:
            return query
        queries = dense(query) + strength * self.votes.turns.added(vector, query)
        before, after = (
            np.linalg.norm(one, axis=1, keepdims=True) for one in (dense(query), queries)
        )
        turned = np.asarray(queries * (before / np.maximum(after, 1e-30)), np.float32)
        # Of many words a query has few, with votes as well: inverted lists find it.
        return sp.csr_matrix(turned) if sp.issparse(query) else turned

    @cached_property
    def _asks_as_stored(self) -> bool:
        return stores_as_given(self.plain, self.similarity)

    def query_vector(self, vector: Vectors, *, learned: bool) -> Vectors:
        """Return what codes are asked with: the query, by the similarity or as it is, and votes.

        So its code and, by the classes near it, the weights of its bits follow votes. Where the
        similarity stores other vectors than those that codes are made of, it is the query itself.
        """
        if not self._asks_as_stored:
            return vector
        queries: Vectors = unit_rows(self.similarity.query_vectors(vector) if learned else vector)
        strength = self.votes.standing.strength
        if not strength:
            return queries
        turned: Vectors = unit_rows(dense(queries) + strength * self.votes.turns.turned(vector))
        return turned

    def nearest(
        self,
        vector: Vectors,
        k: int,
        *,
        exclude: NDArray[np.int64] | None,
        among: NDArray[np.int64] | None,
        database: Database,
        query: "Vectors | None" = None,
    ) -> Hits:
        """Return the pictures most like a vector by all that was learned, before rerankers.

        Where there are codes they find candidates, which exact scores put in order; else the
        search is exact. ``query`` is what :meth:`query` gives of the vector, where it is known.
        """
        result = None
        if self.codes is not None:
            queries = self.query_vector(vector, learned=self.codes.figures.learned)
            result = self.codes.find(queries, k, exclude=exclude, among=among)
        if result is None:
            queries = self.query(vector) if query is None else query
            return self.index.search(queries, k, exclude=exclude, among=among)
        hits = Rescoring().rerank(RankerQuery(self, database, vector), result)
        return Hits(hits.ids[:, :k], hits.scores[:, :k])

    def search(
        self,
        vector: Vectors,
        k: int,
        *,
        learned: bool,
        exclude: NDArray[np.int64] | None,
        among: NDArray[np.int64] | None,
        database: Database,
        query: "Vectors | None" = None,
        record: bytes | None = None,
    ) -> Hits:
        """Return the pictures most like a vector, ranked by all that was learned or by cosine.

        Rerankers look at as many hits as they need. Those that need the query's ``record`` are left
        out where it has none, as several pictures or a query with votes of its own.
        """
        if not learned:
            queries = Cosine().query_vectors(vector)
            return self.plain.search(queries, k, exclude=exclude, among=among)
        used = [one for one in self.rerankers if record is not None or not one.needs_record]
        most = min(max([k, *(one.depth for one in used)]), max(len(self.plain), 1))
        hits = self.nearest(
            vector, most, exclude=exclude, among=among, database=database, query=query
        )
        for reranker in used:
            hits = reranker.rerank(RankerQuery(self, database, vector, record), hits)
        return Hits(hits.ids[:, :k], hits.scores[:, :k])


@dataclass(frozen=True)
class RankerQuery:
    """A query, and what rerankers may ask about the pictures it found."""

    ranker: Ranker
    database: Database
    vector: Vectors
    record: bytes | None = None

    def vectors(self, ids: NDArray[np.int64]) -> Vectors:
        """Return the vectors of pictures, a row each."""
        return self.ranker.vectors(ids)

    def records(self, ids: NDArray[np.int64]) -> list[bytes]:
        """Return the records of pictures, in the order of ``ids``."""
        rising = np.sort(ids)
        result = rankers.records(self.database, self.ranker.id, rising.tolist())
        return [result[place] for place in np.searchsorted(rising, ids)]

    def scores(self, vectors: Vectors, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the scores of pictures by all that was learned, a row for each vector."""
        return self.ranker.index.scores(self.ranker.query(vectors), ids)

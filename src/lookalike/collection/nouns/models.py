"""What a collection has learned, and how well it ranks."""

from __future__ import annotations

from lookalike.collection.log.entry import Entry
from lookalike.collection.nouns.noun import Noun
from lookalike.collection.ranking.info import RankerInfo
from lookalike.collection.store import models
from lookalike.collection.store.models import Figures, ModelRow


class Models(Noun):
    """What a collection has learned, and how well it ranks."""

    def all(self) -> list[ModelRow]:
        """Return what was learned, oldest first, published or not."""
        return models.models(self._session.database)

    def evaluate(self, by: str | None = None) -> tuple[Figures, Figures]:
        """Judge cosine and what searches use now, on the pictures last held out."""
        from lookalike.collection.training import judging

        return judging.evaluate_similarity(
            self._session.path, self._session.database, self._session.rankers.get(by)
        )

    def evaluate_words(self, by: str | None = None) -> tuple[Figures, Figures]:
        """Judge the commonest words and those in use now, on the pictures last held out.

        The first is the ranking of all words by how many pictures have them, the same for each
        picture.
        """
        from lookalike.collection.training import judging

        ranker = self._session.rankers.get(by)
        annotator = self._session.rankers.annotator(ranker)
        return judging.evaluate_words(self._session.path, self._session.database, ranker, annotator)

    def view_weights(self, by: str | None = None) -> dict[str, float]:
        """Return how much each view counts in searches, as shares, the largest first.

        Empty for a feature of one view, and for a method that does not weigh views.
        """
        from lookalike.collection.search.view_parts import view_weights

        return view_weights(self._session.rankers.get(by))

    def rankers(self) -> list[RankerInfo]:
        """Return the ways to search, the first being the one that is used by default."""
        return self._session.rankers.infos()

    def set_default(self, name: str, *, who: str = "") -> Entry:
        """Make a ranker the one that searches take where they name none.

        :meth:`~lookalike.Collection.undo` takes it back.

        Raises
        ------
        InvalidInput
            If there is no ranker of that name, or it has not described all pictures.
        """
        from lookalike.collection.pictures.features import set_default

        return set_default(self._session, name, who)

    def remove_ranker(self, name: str, *, who: str = "") -> Entry:
        """Remove a way to search, with what was learned for it; votes and labels stay.

        If it was the default one, the oldest of the others is. This cannot be undone: describe the
        pictures again with :meth:`~lookalike.Collection.add_feature`.

        Raises
        ------
        InvalidInput
            If there is no ranker of that name, or no other one.
        """
        from lookalike.collection.pictures.features import remove_ranker

        return remove_ranker(self._session, name, who)

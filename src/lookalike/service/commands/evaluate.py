"""The command ``lookalike evaluate``: measure the models in use on held-out pictures."""

from dataclasses import asdict
from typing import Any

from lookalike.service.figures import COMMONEST, COSINE, figures_table
from lookalike.service.options import HERE, AsJson, By, CollectionPath, or_another
from lookalike.service.screen import Screen


def evaluate(by: By = None, collection: CollectionPath = HERE, as_json: AsJson = False) -> None:
    """Compare what is in use with cosine, or the commonest words, on held-out pictures."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    document: dict[str, Any] = {
        "collection": collection,
        "by": by,
        "similarity": None,
        "words": None,
    }
    with Collection.open(collection) as store, or_another(store):
        chosen = by or store.models.rankers()[0].name
        learned = {model.kind for model in store.models.all() if model.ranker == chosen}
        judged = {}
        if "similarity" in learned or not learned:
            judged["similarity"] = store.models.evaluate(by)
        if "words" in learned:
            judged["words"] = store.models.evaluate_words(by)
    for name, (before, after) in judged.items():
        what, baseline = ("Words", COMMONEST) if name == "words" else ("Ranking", COSINE)
        figures_table(screen, before, after, what=what, baseline=baseline, judged="in use")
        document[name] = {"before": asdict(before), "after": asdict(after)}
    screen.result(document)

"""The command ``lookalike evaluate``: measure the models in use on held-out pictures."""

from dataclasses import asdict
from typing import Any

from lookalike.service.figures import figures_table
from lookalike.service.options import HERE, AsJson, Where
from lookalike.service.screen import Screen


def evaluate(collection: Where = HERE, as_json: AsJson = False) -> None:
    """Measure ranking and words on held-out pictures, before and after learning."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    told: dict[str, Any] = {"collection": collection, "similarity": None, "words": None}
    with Collection.open(collection) as store:
        learned = {model.kind for model in store.models()}
        judged = {}
        if "similarity" in learned or not learned:
            judged["similarity"] = store.evaluate()
        if "tags" in learned:
            judged["words"] = store.evaluate_words()
    for name, (before, after) in judged.items():
        figures_table(screen, before, after, what={"words": "Words"}.get(name, "Ranking"))
        told[name] = {"before": asdict(before), "after": asdict(after)}
    screen.result(told)

"""What the events of the log are called on the page and on the command line."""

from typing import Any

from lookalike.collection.log.events import ERASED, Event
from lookalike.core.text import counted, shown

_MOVED = {"removal": "Removed", "restoration": "Restored", "erasure": "Erased"}


def event_text(event: Event) -> str:
    """Return an event in words; the word that a tag is about comes after it."""
    body = event.body
    if event.kind == "learn":
        # What was imported counts for more than the tags given meanwhile.
        said = 0 if "import" in body else int(body.get("words_since", 0))
        if "similarity" not in body and "codes" in body:
            return f"Learned codes: {_used(body)}"
        source = f"{said:,} new {'tag' if said == 1 else 'tags'}" if said else "tags or folders"
        return f"Learned from {source}: {_used(body)}"
    if event.kind == "feature":
        return f"Added the feature {shown(str(body.get('feature', '')))}{_named(body)}"
    if (told := _of_many(event)) is not None:
        return told
    if event.kind == "vote":
        up, down = len(body.get("picked", ())), len(body.get("rejected", ()))
        return (
            "Less like this"
            if not up
            else "More like this, less like that"
            if down
            else "More like this"
        )
    return {
        ERASED: "Said something of a picture that was erased",
        "tag": "Tagged with",
        "correction": "Does not show",
        "undo": f"Undid no. {body.get('event')}",
        "reset": _discarded(body),
        "rollback": "Went back to the previous models",
    }.get(event.kind, event.kind)


def _used(body: dict[str, Any]) -> str:
    """Return which of the new models are used, with what they gained, and why others are not."""
    names = {"similarity": "new similarity", "words": "new words", "codes": "new codes"}
    tried = {part: body[part] for part in names if body.get(part)}
    used = [
        f"{names[part]}{_gained(trial)}" for part, trial in tried.items() if trial.get("published")
    ]
    told = [" and ".join(used)] if used else []
    refused = {part: trial for part, trial in tried.items() if not trial.get("published")}
    told += [
        f"{part} not used{_gained(trial)}" for part, trial in refused.items() if _gained(trial)
    ]
    if not told and set(tried) != {"codes"}:
        told.append("no improvement, so not used")
    codes = tried.get("codes")
    if codes and not codes.get("published"):
        few = "too few pictures or tags" if not codes.get("pictures") else "too many candidates"
        told.append(f"codes not used, {few}")
    return "; ".join(told)


def _gained(trial: dict[str, Any]) -> str:
    """Return what a model gained, in brackets; older events do not say."""
    return f" ({shown(str(trial['gained']))})" if trial.get("gained") else ""


def _named(body: dict[str, Any]) -> str:
    """Return what a ranker is called, where that is not its feature's name."""
    name = shown(str(body.get("name", "")))
    return f" as {name}" if name != shown(str(body.get("feature", ""))) else ""


def _pictures(count: int) -> str:
    return "a picture" if count == 1 else f"{count:,} pictures"


def _of_many(event: Event) -> str | None:
    """Return an event about many pictures in words; None for another."""
    body = event.body
    if event.kind == "deletion":
        return f"Erased {_pictures(len(body.get('pictures', ())))}"
    if event.kind == "distinct":
        return _distinct(body)
    if event.kind in _MOVED:
        words = int(body.get("words", 0))
        moved = f"; {counted(words, 'tag')} went to the one kept" if words else ""
        return f"{_MOVED[event.kind]} {_pictures(body.get('pictures', 0))}{moved}"
    if event.kind == "import":
        return (
            f"Imported labels from {body.get('source')}: {body.get('given', 0):,} given, "
            f"{body.get('taken', 0):,} taken away, on {_pictures(body.get('pictures', 0))}"
        )
    if event.kind in ("tag", "correction") and "pictures" in body:
        many = _pictures(body["pictures"])
        return f"Tagged {many} with" if event.kind == "tag" else f"Said that {many} do not show"
    return None


def _distinct(body: dict[str, Any]) -> str:
    """Return in words which pictures are not duplicates."""
    many, of = len(body.get("pictures", ())), len(body.get("of", ()))
    if body.get("verdict") == "keep":
        return f"Kept all of {_pictures(many)} that look alike"
    if of:
        others = "another" if of == 1 else f"{of:,} others"
        verb = "is" if many == 1 else "are"
        return f"Said that {_pictures(many)} {verb} not a duplicate of {others}"
    return f"Said that {_pictures(many)} are not duplicates"


def _discarded(body: dict[str, Any]) -> str:
    if "of" not in body:
        return "Discarded all votes"
    return f"Discarded the votes of {shown(str(body['of'])) or 'a person without a name'}"

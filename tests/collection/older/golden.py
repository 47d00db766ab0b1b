"""A small collection with something of every kind, and what it answers.

What the version before archived must open with the same answers; ``archive`` makes the next one,
before the version changes.
"""

import hashlib
import json
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image

from lookalike.collection import Ask, Collection, SavedSearch
from lookalike.features import Visterms
from tests.collection.colours import album
from tests.gates import OPEN

QUICK = {"steps": 50, "blend": 0.5}
COUNT = 6


def make(folder):
    """Make a collection in a folder, with its pictures and what it answers beside it."""
    files = album(folder / "pictures", COUNT)
    images = [Image.open(BytesIO(file.read_bytes())) for file in files]
    for number in (0, 4, 13):
        images[number].resize((64, 48)).save(folder / "pictures" / f"larger-{number}.png")
    with Collection.create(folder / "collection", features=[small()], gate=OPEN) as store:
        store.add([folder / "pictures"])
        store.learn(folders=True, settings=QUICK)
        store.label(1, "Straße", who="Ada")
        store.label([2, 3, 4, 9], "Köln")
        store.label([9, 3], "köln", shows=False, who="Ben")
        store.label(7, "rot", shows=False)
        store.label(8, "falsch")
        store.undo(store.log.history(1)[0].number)
        store.vote(Ask((1,)), picked=[2, 3], rejected=[9, 15], who="Ada", key="a vote")
        store.vote(Ask((8,)), picked=[10], rejected=[1, 2], shown=[10, 1, 2], who="Ben")
        store.vote(Ask((8,)), rejected=[10], who="Ben")
        token = store.queries.keep(images[7].rotate(180))
        store.vote(Ask((token,)), picked=[11], rejected=[5])
        store.albums.save("Like this", SavedSearch(Ask((token,))), most=5)
        store.albums.save("Some", pictures=[1, 5, 12])
        store.duplicates.tell_apart([files[0], folder / "pictures" / "larger-0.png"])
        store.label([17, 21], "Fort")
        store.vote(Ask((19,)), picked=[18, 21], rejected=[9], who="Ada")
        store.remove([21])
        store.bin.empty()
        store.duplicates.keep_one(folder / "pictures" / "larger-4.png", [files[4]])
        store.remove([17, 18])
        store.restore([18])
        store.learn(settings=QUICK)
        store.add_feature(Visterms(dimension=10, colours=6), name="coarse")
        answer = {"token": token, **answers(store, token)}
    (folder / "expected.json").write_text(json.dumps(answer))


def small():
    return Visterms(dimension=16, colours=6)


def answers(store, token):
    """Return what a user sees of the collection, as JSON has it."""
    rows = list(store.pictures.all())
    found = {
        "pictures": [
            [row.id, row.places[0].name, row.format, row.width, row.height] for row in rows
        ],
        "thumbnails": [
            hashlib.sha256(store.pictures.thumbnail(row.id)).hexdigest() for row in rows
        ],
        "bin": [row.id for row in store.bin.browse()],
        "labels": store.labels.all(),
        "sources": store.labels.sources(),
        "refused": [sorted(store.labels.refused(word, range(30))) for word in ("rot", "Köln")],
        "rankers": [[info.name, info.pictures, info.ready] for info in store.models.rankers()],
        "models": [[m.number, m.kind, m.published, m.current] for m in store.models.all()],
        "words": store.words.learned(),
        "word": [match.id for match in store.search_word("Köln", 4)],
        "verdicts": store.votes.verdicts(Ask((8,))),
        "standing": [store.votes.standing().votes, store.votes.standing().judged],
        "albums": [[one.name, sorted(one.members)] for one in store.albums.all()],
        "log": [[e.number, e.at, e.who, e.undone] for e in store.log.history(100)],
        "thumbnail": hashlib.sha256(store.queries.thumbnail(token)).hexdigest(),
    }
    for name, ask in {"one": Ask((1,)), "three": Ask((8, 10), (1,)), "own": Ask((token,))}.items():
        for learned in (True, False):
            matches = store.search(ask, 6, learned=learned)
            found[f"{name} {learned}"] = [match.id for match in matches]
            found[f"{name} {learned} scores"] = [match.score for match in matches]
    return json.loads(json.dumps(found))


def archive(file):
    """Make the archive of a collection."""
    with tempfile.TemporaryDirectory() as folder, tarfile.open(file, "w:xz", preset=9) as content:
        make(Path(folder))
        for part in ("pictures", "collection", "expected.json"):
            content.add(Path(folder) / part, part)

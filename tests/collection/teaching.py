"""Words for the pictures of an album, and what a user sees of what was learned."""

from lookalike.collection import InUse
from tests.collection.beside import beside

QUICK = {"steps": 50, "blend": 0.5}


def words(collection):
    """Labels of every picture: its colour, and its number's last digit but for some."""
    return {
        row.places[0]: [row.places[0].parent.name, f"Nr. {row.id % 4}"][: 1 + row.id % 3]
        for row in collection.pictures.all()
    }


def learn(collection, labels=None, **options):
    given = words(collection) if labels is None else labels
    return collection.learn(given, settings=QUICK, **options)


def clicks(collection):
    chosen = {}
    for row in collection.pictures.all():
        chosen.setdefault(row.places[0].parent.name, {})[str(row.places[0])] = 1.0
    return chosen


def in_use(collection):
    row = beside(collection).rankers.row()
    return InUse(row.similarity, row.annotator)


def seen(collection):
    """What a user sees of all that was learned."""
    return (
        collection.labels.all(),
        collection.models.all(),
        in_use(collection),
        collection.search(1, 9),
        collection.words.learned(),
        collection.search_word("rot", 9),
        collection.words.tag([collection.pictures.get(1).places[0]]).pictures[0].tags[0].word,
    )

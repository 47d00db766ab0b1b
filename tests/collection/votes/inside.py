"""What votes taught, as values that tests compute with; the face shows only what comes of them."""


def ranker_of(collection):
    """Return the first ranker of an open collection: a value that never changes."""
    return collection._session.rankers.get()


def ledger_of(collection):
    """Return the votes that count, and the records of those who cast them."""
    return ranker_of(collection).votes.ledger

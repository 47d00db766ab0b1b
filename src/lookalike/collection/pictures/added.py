"""What adding pictures came to."""

from dataclasses import dataclass, field

from lookalike.collection.training.trials import Learned
from lookalike.images import Refused


@dataclass(slots=True)
class Added:
    """What ``add`` did with the files it found.

    Attributes
    ----------
    added : int
        New pictures.
    known : int
        Pictures that were in the collection already, as they are.
    copies, moved : int
        Files with the content of a picture known from another path; ``moved`` where that path
        is gone.
    removed : int
        Files whose pictures were removed before: they stay in the bin, or are restored where that
        was asked for.
    ignored : int
        Hidden files and files of another ending that folders held.
    refused : list of Refused
        Files, folders and patterns that could not be used, each with the reason.
    unread : list of str
        Files and sidecars whose keywords could not be read, each with the reason; their pictures
        are in the collection.
    learned_again : Learned or None
        What learning again came to, where the collection had grown so much that its vectors were
        reduced anew; None where that was not due or nothing had been learned.
    unlearned, unlearned_words : str
        Why searches do without what was learned before, and why pictures are not tagged any
        more; empty where they are as before.
    """

    added: int = 0
    known: int = 0
    copies: int = 0
    moved: int = 0
    removed: int = 0
    ignored: int = 0
    refused: list[Refused] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    learned_again: Learned | None = None
    unlearned: str = ""
    unlearned_words: str = ""

    def note(self, again: Learned) -> None:
        """Note what learning again came to, where anything was learned before."""
        if any(trial and trial.method for trial in (again.similarity, again.words, again.codes)):
            self.learned_again = again
        if again.similarity is not None and not again.similarity.published:
            self.unlearned = again.similarity.reason
        if again.words is not None and not again.words.published:
            self.unlearned_words = again.words.reason

"""What a collection answers with."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from lookalike.collection.store.filter import Where
from lookalike.core.evidence import Difference
from lookalike.core.text import counted
from lookalike.images import Refused

Ref: TypeAlias = int | str
"""A picture of the collection by its id, or a kept query by its token."""

Source: TypeAlias = Literal["start", "learned", "given", "name", "similar"]
"""Where a word comes from: known from the start, an annotator, labels, names, similar pictures."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is searched for: to be like some pictures, and unlike others.

    Pictures are named by their ids, kept queries by their tokens
    (:meth:`~lookalike.Collection.keep_query`).
    """

    like: tuple[Ref, ...]
    unlike: tuple[Ref, ...] = ()

    def __str__(self) -> str:
        sides = (",".join(map(str, side)) for side in (self.like, self.unlike))
        return " not ".join(side for side in sides if side)


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """What a list of pictures is made by: a query or a word, or neither, and a filter.

    Attributes
    ----------
    ask, word : Ask or str, optional
        What is searched for; with neither, the pictures that pass the filter.
    where : Where, optional
        Which pictures to search among.
    by, learned, min_score
        As for :meth:`~lookalike.Collection.search`.
    """

    ask: Ask | None = None
    word: str | None = None
    where: Where | None = None
    by: str | None = None
    learned: bool = True
    min_score: float | None = None


@dataclass(frozen=True, slots=True)
class Album:
    """A saved search with a name, and what it finds now.

    Attributes
    ----------
    id : int
        Never used again.
    name : str
    made, opened : str
        When it was saved and last opened, in UTC.
    search : SavedSearch
        What it searches for; of an album of pictures, with those or some of them.
    most : int
        How many pictures its search may bring it to; 0 for an album of pictures alone.
    pictures : tuple of int
        Pictures that were saved in it by hand, removed ones among them.
    members : tuple of int
        The pictures in it now: those saved by hand, those picked in its search or tagged with its
        word, then the best matches.
    new : tuple of int
        Members that were not in it when it was last opened.
    gone : int
        Pictures saved by hand that were removed from the collection since.
    trouble : str
        Why its search cannot be made, or not as it was saved; else empty.
    """

    id: int
    name: str
    made: str
    opened: str
    search: SavedSearch
    most: int
    pictures: tuple[int, ...]
    members: tuple[int, ...]
    new: tuple[int, ...]
    gone: int
    trouble: str


@dataclass(frozen=True, slots=True)
class Event:
    """One row of the log.

    Attributes
    ----------
    number : int
        Rising, never used again.
    at : str
        When, in UTC.
    kind : str
        ``vote``, ``tag``, ``correction`` (a picture does not show a word), ``import`` (of labels
        from a source), ``removal`` (into the bin), ``restoration``, ``erasure``, ``undo``,
        ``reset`` (votes before it count no more), ``distinct`` (pictures are not duplicates),
        ``learn`` or ``rollback``; ``erased`` for something that was said of an erased picture; in
        older collections ``deletion``.
    who : str
        Who said it, where there are several; else empty.
    body : dict
        What was said.
    undone : bool
        Whether it counts no more.
    """

    number: int
    at: str
    kind: str
    who: str
    body: dict[str, Any]
    undone: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """What votes have taught, and whether searches use it.

    Attributes
    ----------
    votes : int
        Votes that count.
    judged : int
        Those of them that compare pictures, and judge all that was shown: where somebody chose
        what to judge, how searches rank it says nothing of how they rank.
    before, after : float or None
        The share of their comparisons that searches had in the right order without votes, and
        with what was learned from votes on *other* queries; None without any.
    labels_before, labels_after : float or None
        Mean average precision on labelled pictures held out, without votes and with them; None
        where no labels were learned from.
    strength : float
        How far searches go with what votes taught: 1, or less where labelled pictures held
        back would else rank worse, or 0 while votes not learned from do.
    reason : str
        Why, in a sentence.
    left_out : tuple of str
        The people whose votes weigh nothing, since they contradict how the pictures look.
    """

    votes: int
    judged: int
    before: float | None
    after: float | None
    labels_before: float | None
    labels_after: float | None
    strength: float
    reason: str
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word that may suit a picture; ``why`` says what speaks for it, in a few words.

    Its ``source`` is ``similar`` where the pictures most alike were given it.
    """

    word: str
    confidence: float | None
    why: str
    source: Source


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
    learned_again: "Learned | None" = None
    unlearned: str = ""
    unlearned_words: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """How well held-back pictures rank each other, or words (paper 1, section 5.1).

    ``queries`` is how many of them have something to be found, and so could be judged.
    """

    mean_average_precision: float
    precision_at_1: float
    precision_at_10: float
    queries: int


@dataclass(frozen=True)
class Gain:
    """How much better held-out pictures rank each other by what was learned, paired by query.

    Few labels are cross-validated, so ``pictures`` may be more than were held out from the model.
    """

    mean_average_precision: Difference
    precision_at_1: Difference
    pictures: int

    @property
    def is_certain(self) -> bool:
        """Whether more is found by more than chance, and the first is right about as often."""
        return self.mean_average_precision.is_gain and not self.precision_at_1.is_loss

    @property
    def is_better(self) -> bool:
        """Whether more is found, and the first is right about as often."""
        return self.mean_average_precision.mean > 0 and not self.precision_at_1.is_loss

    def __str__(self) -> str:
        return (
            f"mean average precision {self.mean_average_precision}, "
            f"precision at 1 {self.precision_at_1}, judged by {counted(self.pictures, 'picture')}"
        )

    @property
    def short(self) -> str:
        """The same in fewer letters, for a line of the page."""
        return (
            f"mAP {self.mean_average_precision}, P@1 {self.precision_at_1}, "
            f"judged by {counted(self.pictures, 'picture')}"
        )

    @property
    def fault(self) -> str:
        """What keeps the similarity from being used, as a verb phrase."""
        if self.mean_average_precision.is_loss:
            return "ranks worse than the one in use"
        if self.mean_average_precision.mean > 0 and self.precision_at_1.is_loss:
            return "loses too many first matches"
        return "is not clearly better than the one in use"


def gain_text(before: Figures | None, after: Figures | None, gain: Gain | None) -> str:
    """Return what a model gained, as the gate saw it; words are compared without an error."""
    if gain is not None:
        return gain.short
    if before is None or after is None:
        return ""
    average = after.mean_average_precision - before.mean_average_precision
    first = after.precision_at_1 - before.precision_at_1
    judged = counted(after.queries, "picture")
    return f"mAP {average:+.3f}, P@1 {first:+.3f}, judged by {judged}"


@dataclass(frozen=True, slots=True)
class CodeFigures:
    """How many candidates binary codes find for a search, and how many of the best are among them.

    Attributes
    ----------
    candidates : int
        Pictures that codes find; those are ranked by all that was learned.
    chosen : bool
        Whether their number was chosen by the recall, and not given.
    recall : float
        The share of the ``nearest`` pictures of an exact search that is among them, the mean over
        ``queries`` pictures that the codes were not learned from.
    nearest, queries, pictures : int
        ``pictures`` are those searched among.
    bits : int
        The length of a code.
    fingerprint : str
        That of the codes.
    learned : bool
        Whether codes are asked with the query as the similarity turns it: whichever needs fewer
        candidates.
    """

    candidates: int
    chosen: bool
    recall: float
    nearest: int
    queries: int
    pictures: int
    bits: int
    fingerprint: str
    learned: bool = False

    def __str__(self) -> str:
        return (
            f"recall@{self.nearest} of exact search {self.recall:.3f} with "
            f"{counted(self.candidates, 'candidate')} of {counted(self.pictures, 'picture')}, on "
            f"{counted(self.queries, 'held-out query', 'held-out queries')}"
        )


@dataclass(frozen=True, slots=True)
class CodesTrial:
    """What learning codes came to.

    Attributes
    ----------
    figures : CodeFigures or None
        None where nothing could be learned.
    published : bool
        Whether searches use the codes: where they need no more than half of the pictures as
        candidates, or the number of candidates was given.
    reason : str
        Why, in a sentence.
    method : str
        What makes the codes, as ``s3plh``; empty where nothing could be learned.
    model : int or None
        The number of the new model, if it was published.
    pictures, labels : int
        Pictures that the codes were learned from, and labels that weigh their bits.
    """

    figures: CodeFigures | None
    published: bool
    reason: str
    method: str
    model: int | None
    pictures: int
    labels: int

    @classmethod
    def failed(cls, why: str) -> "CodesTrial":
        """Return the trial of codes that could not be learned."""
        return cls(None, False, why, "", None, 0, 0)


@dataclass(frozen=True, slots=True)
class Trial:
    """What learning one thing came to, the similarity or the words.

    Attributes
    ----------
    before, after : Figures or None
        What was in use and what was newly learned, on the pictures held out; None where nothing
        could be learned.
    published : bool
        Whether what was learned is used. A similarity must be better in mean average precision by
        more than chance and no worse in precision at 1 by more than one standard error, both of
        the paired differences; ``reason`` has them. Words must be at least as good in both; the
        first words must be better, in mean average precision, than ranking them by how common
        they are.
    reason : str
        Why it is published or not, or why nothing could be learned, in a sentence.
    pictures, labels : int
        Pictures of which something is known, held-back ones among them; labels, queries or words.
    held_back : int
        Pictures not learned from.
    model : int or None
        The number of the new model, if it was published.
    method : str
        What learned it, as ``oasis`` or ``ridge``; empty where nothing could be learned.
    tried : dict
        For words, the figures of every annotator that was trained to choose from, by name.
    gain : Gain or None
        What decided whether a similarity is used; None for words, decided by their figures.
    """

    before: Figures | None
    after: Figures | None
    published: bool
    reason: str
    pictures: int
    labels: int
    held_back: int
    model: int | None
    method: str = ""
    tried: dict[str, Figures] = field(default_factory=dict)
    gain: Gain | None = None

    @property
    def gained(self) -> str:
        """What it gained, as the gate saw it; empty where nothing could be learned."""
        return gain_text(self.before, self.after, self.gain)

    @classmethod
    def failed(cls, why: str, pictures: int, labels: int) -> "Trial":
        """Return the trial of something that could not be learned."""
        return cls(None, None, False, why, pictures, labels, 0, None)


@dataclass(frozen=True, slots=True)
class Learned:
    """What ``learn`` came to.

    Attributes
    ----------
    similarity : Trial or None
        What searches compare pictures by; None where it was not to be learned.
    words : Trial or None
        What pictures are tagged with; None where it was not to be learned, as from clicks.
    unmatched : list of str
        Names that stand for no picture of the collection, or for several, with the reason.
    codes : CodesTrial or None
        What candidates are found by; None where it was not to be learned.
    labels : Event or None
        The event that imported the labels learned from; ``undo`` takes them back. None where
        nothing new was given.
    """

    similarity: Trial | None = None
    words: Trial | None = None
    unmatched: list[str] = field(default_factory=list)
    labels: Event | None = None
    codes: CodesTrial | None = None

    def summary(self) -> dict[str, Any]:
        """Return in short what the log keeps of it."""
        found: dict[str, dict[str, Any]] = {
            name: {"published": trial.published, "model": trial.model, "pictures": trial.pictures}
            for name, trial in (
                ("similarity", self.similarity),
                ("words", self.words),
                ("codes", self.codes),
            )
            if trial is not None
        }
        for name, one in (("similarity", self.similarity), ("words", self.words)):
            if one is not None and one.gained:
                found[name]["gained"] = one.gained
        return found


@dataclass(frozen=True, slots=True)
class WordsToLearn:
    """Words given, refused or imported since models were last trained or rolled back.

    ``event`` is the number of the last of these events, or 0, and ``seconds`` how long ago it was.
    """

    count: int
    event: int
    seconds: float


@dataclass(frozen=True, slots=True)
class InUse:
    """The numbers of the models that a ranker uses; None for none. ``codes`` finds candidates.

    After a rollback, ``labels`` is the event that imported the labels of what was rolled back:
    these stay until it is undone. None where there were none, or it is undone.
    """

    similarity: int | None
    annotator: int | None
    labels: int | None = None
    codes: int | None = None


@dataclass(frozen=True, slots=True)
class RankerInfo:
    """A way to search a collection.

    Attributes
    ----------
    name : str
        What ``search(by=…)`` names it by.
    feature : str
        How pictures are described.
    method : str
        What was learned for it: the similarity in use, ``cosine`` where nothing was.
    ready : bool
        Whether it can be searched by; else pictures are still to be described.
    pictures, undescribed : int
        Pictures it has described, and those it has not.
    trouble : str
        Why it cannot be used, as a part that is not installed any more, or, if it is ready, why
        the words it has learned cannot; else empty.
    codes : CodeFigures or None
        How well its codes find candidates; None where it has none, and every search is exact.
    """

    name: str
    feature: str
    method: str
    ready: bool
    pictures: int
    undescribed: int
    trouble: str
    codes: CodeFigures | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A picture that a search found; ``path`` is the first of its ``places``.

    For a word, ``source`` says whether the picture has it as a label (``given``) or in the ``name``
    of its file or a folder, or probably fits (``learned`` or ``start``); else it is None.
    """

    id: int
    path: Path
    score: float
    places: tuple[Path, ...]
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Pictures that are near-duplicates of one of them.

    Attributes
    ----------
    keeper : int
        The one that should be kept: the largest, and so on.
    reason : str
        Why it should be kept rather than the next best, in a few words.
    pictures : tuple of int
        The keeper, then its duplicates, the most alike first.
    likeness : tuple of float
        How alike each is to the keeper, from 0 to 1; 1 for the keeper itself.
    """

    keeper: int
    reason: str
    pictures: tuple[int, ...]
    likeness: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WordCounts:
    """How many pictures a search by word finds.

    Attributes
    ----------
    tagged, named, probable : int
        Those labelled with it, others whose files or folders are named so, and others that it
        probably fits.
    terms : tuple of str
        The words that the text was taken for.
    unknown : tuple of str
        Those of them that no picture has and nothing is known of.
    """

    tagged: int
    named: int
    probable: int
    terms: tuple[str, ...]
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownWord:
    """A word to search by, and how many pictures have it; of a start word, about how many."""

    word: str
    pictures: int
    source: Source


@dataclass(frozen=True, slots=True)
class PictureRow:
    """What is known of a picture; ``added`` is in UTC, ``taken`` as the camera said.

    ``missing`` is since when, in UTC, all its files are missing; None where one is there.
    """

    id: int
    sha256: str
    format: str
    width: int
    height: int
    bytes: int
    taken: str | None
    added: str
    places: tuple[Path, ...]
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class ModelRow:
    """What was learned once, and how it was judged.

    Attributes
    ----------
    number : int
    kind : str
        ``similarity``, ``words`` or ``codes``.
    method : str
        What it was learned by, as ``oasis``.
    ranker : str
        The ranker it was learned for.
    made : str
        When, in UTC.
    settings : dict
    before, after : Figures or None
        What was in use then and what was learned, on the pictures held out; None for codes.
    published, current : bool
        Whether it came into use, and whether it is in use now.
    codes : CodeFigures or None
        How well codes find candidates; None for other models.
    gain : Gain or None
        What decided whether a similarity is used; None for words, and for models of older versions.
    """

    number: int
    kind: str
    method: str
    ranker: str
    made: str
    settings: dict[str, Any]
    before: Figures | None
    after: Figures | None
    published: bool
    current: bool
    codes: CodeFigures | None = None
    gain: Gain | None = None

    @property
    def gained(self) -> str:
        """What it gained, as the gate saw it; empty for codes."""
        return gain_text(self.before, self.after, self.gain)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is damaged or missing in a collection.

    Attributes
    ----------
    where : str
        The file it was found in.
    problem, remedy : str
        What is wrong, and what to do.
    damage : bool
        Whether something was damaged or lost, rather than only out of reach.
    """

    where: str
    problem: str
    remedy: str
    damage: bool = True


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check of a collection found, and how much was checked."""

    findings: list[Finding]
    pictures: int
    events: int
    files: int

    @property
    def sound(self) -> bool:
        """Whether nothing is damaged."""
        return not any(finding.damage for finding in self.findings)


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A backup that was written and verified; ``damaged`` rows are as the collection has them."""

    path: Path
    pictures: int
    events: int
    files: int
    bytes: int
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Restored:
    """A backup that took the place of a collection; ``aside`` is where that one is kept now."""

    path: Path
    aside: Path | None
    pictures: int
    events: int
    made: str

"""What pictures are called: learned, judged, published and undone."""

import unicodedata
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.annotation import WSABIE
from lookalike.annotation.registry import ANNOTATORS
from lookalike.collection import Collection, Figures, Gate, InUse
from lookalike.collection.log import examples
from lookalike.collection.log.examples import Named
from lookalike.collection.store import models
from lookalike.collection.store.models import Gain
from lookalike.collection.training import choosing
from lookalike.collection.training.choosing import new_annotators
from lookalike.collection.training.teaching import decide_words, teach_words
from lookalike.core.errors import CollectionError, InvalidInput
from lookalike.core.evidence import Difference
from lookalike.core.progress import silent
from lookalike.supervision import read_labels
from tests.collection.beside import beside
from tests.collection.colours import Colours
from tests.collection.teaching import QUICK, clicks, in_use, learn, seen, words
from tests.gates import EVERYTHING


@pytest.fixture
def gateless(collection):
    """The collection where whether a few pictures rank no worse is not the matter."""
    with Collection.open(collection.path, features=[Colours()], gate=EVERYTHING) as opened:
        yield opened


def test_words_are_learned_beside_the_similarity(collection):
    learned = learn(collection)
    assert learned.words.published
    assert (learned.similarity.model, learned.words.model) == (1, 2)
    assert (learned.words.pictures, learned.words.labels, learned.words.held_back) == (24, 7, 5)
    assert learned.words.after.queries == 5
    assert learned.words.after.precision_at_1 > learned.words.before.precision_at_1
    assert "is now in use" in learned.words.reason
    assert collection.models.evaluate_words() == (learned.words.before, learned.words.after)
    kinds = [(model.kind, model.published, model.current) for model in collection.models.all()]
    assert kinds == [("similarity", True, True), ("words", True, True)]
    assert collection.models.all()[1].after == learned.words.after


def test_without_words_in_use_the_commonest_are_what_to_beat(collection):
    learned = learn(collection)
    held, trained = models.sides(beside(collection).database, 2)
    labels = collection.labels.all()
    uses = [name for number in trained.tolist() for name in labels[number]]
    ranked = sorted(set(uses), key=lambda word: (-uses.count(word), word))
    right = [ranked[0] in labels[number] for number in held.tolist()]
    assert learned.words.before.precision_at_1 == pytest.approx(np.mean(right))


def test_what_is_used_has_learned_from_the_pictures_that_judged_it(collection):
    learned = learn(collection)
    ranker, model = beside(collection).rankers.annotated()
    held, trained = models.sides(beside(collection).database, 2)
    assert model.judged_ is not None
    assert model.as_judged.confidence_ == model.confidence_
    everybody = ranker.vectors(np.concatenate([held, trained]))
    assert not np.allclose(model.scores(everybody), model.as_judged.scores(everybody))
    # It is judged by the annotator that has not seen them, now and when it is to be replaced.
    assert collection.models.evaluate_words()[1] == learned.words.after
    again = learn(collection)
    assert again.words.before == learned.words.after
    assert again.words.published


def test_words_on_a_single_picture_are_not_learned_and_nothing_is_lost(collection):
    learn(collection)
    before, row = seen(collection)[3:], next(iter(collection.pictures.all()))
    with Collection.create(collection.path.parent / "other", features=[Colours()]) as other:
        other.add([picture.places[0] for picture in collection.pictures.all()])
        with pytest.raises(InvalidInput, match="at least four pictures with each of two words"):
            other.learn({row.places[0]: ["tea", "cup"]}, settings=QUICK)
        assert other.search(1, 3)
    assert seen(collection)[3:] == before


def test_the_commonest_words_are_counted_where_one_learns():
    known = Named.of_labels({1: ["b"], 2: ["a"], 3: ["B", "c"], 4: ["a", "b"]})
    counted = known.commonest(np.array([0, 2, 3])).scores(np.zeros((2, 9), np.float32))
    assert dict(zip(known.words, counted[0], strict=True)) == {"a": 1, "b": 3, "c": 1}
    assert (counted[0] == counted[1]).all()


def test_clicks_teach_no_words_and_forget_none(collection):
    learn(collection)
    before = collection.search_word("rot", 9)
    told = collection.learn(clicks=clicks(collection), settings=QUICK)
    assert told.words is None
    assert in_use(collection).annotator == 2
    assert collection.search_word("rot", 9) == before
    # Learning again takes what each was learned from.
    again = collection.learn(settings=QUICK)
    assert (again.similarity.labels, again.words.labels) == (3, 7)


def test_words_alone_can_be_learned(collection):
    everyone = {path: ["Bild", *names] for path, names in words(collection).items()}
    learned = learn(collection, everyone)
    assert learned.similarity.before is None
    assert learned.similarity.after is None
    assert not learned.similarity.published
    assert "nothing to compare" in learned.similarity.reason
    assert (learned.similarity.pictures, learned.similarity.labels) == (24, 8)
    assert learned.words.published
    assert in_use(collection) == InUse(None, 1)
    assert "Bild" in collection.words.learned()
    assert [model.kind for model in collection.models.all()] == ["words"]
    assert replace(collection.rollback(), labels=None) == InUse(None, None)


def test_each_is_judged_by_what_it_was_last_judged_by(collection):
    by_clicks = collection.learn(clicks=clicks(collection), settings=QUICK).similarity
    everyone = {path: ["Bild", *names] for path, names in words(collection).items()}
    by_words = learn(collection, everyone).words
    assert collection.models.evaluate() == (by_clicks.before, by_clicks.after)
    assert collection.models.evaluate_words() == (by_words.before, by_words.after)
    collection.learn(clicks=clicks(collection), settings=QUICK)
    assert collection.models.evaluate_words() == (by_words.before, by_words.after)


def test_the_similarity_alone_can_be_learned(collection):
    spelled = {"rot": "Bild", "grün": "BILD", "blau": "bild"}
    learned = learn(collection, {path: [spelled[path.parent.name]] for path in words(collection)})
    assert learned.similarity.published
    assert learned.words.before is None
    assert not learned.words.published
    assert "only the word 'BILD'" in learned.words.reason
    assert (learned.words.pictures, learned.words.labels) == (24, 1)
    assert in_use(collection) == InUse(1, None)


def test_words_that_differ_in_case_or_unicode_form_are_one(collection):
    forms = ["Grün", "grün", unicodedata.normalize("NFD", "GRÜN")]
    given = words(collection)
    for number, path in enumerate(path for path in given if path.parent.name == "grün"):
        given[path][0] = forms[number % 3]
    assert learn(collection, given).words.labels == 7
    known = {word.casefold(): count for word, count in collection.words.learned().items()}
    assert known["grün"] == 8
    assert len(known) == 7
    kept = {name for names in collection.labels.all().values() for name in names}
    assert {"Grün", "grün", "GRÜN"} <= kept
    assert collection.search_word("gRÜN", 3)


def test_every_word_is_learned_and_pictures_stay_on_their_side(gateless):
    collection = gateless
    learn(collection, hold_back=0.4)
    held, trained = (set(side.tolist()) for side in models.sides(beside(collection).database, 2))
    assert len(held) == 10
    # A new word of one held-back picture alone brings it to the side that is learned from.
    moved = min(held)
    new = {collection.pictures.get(moved).places[0]: ["rot", "Einhorn"]}
    learned = learn(collection, new, random_state=9)
    assert learned.words.published
    assert "Einhorn" in collection.words.learned()
    held_again, trained_again = (
        set(side.tolist()) for side in models.sides(beside(collection).database, 4)
    )
    assert held_again == held - {moved}
    assert trained_again == trained | {moved}


@settings(max_examples=60)
@given(
    st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=3), min_size=1, max_size=25),
    st.floats(0.05, 0.95),
    st.data(),
)
def test_a_split_leaves_every_word_to_learn_from(sets, share, data):
    labels = {3 * place + 1: [f"w{n}" for n in some] for place, some in enumerate(sets)}
    known = Named.of_labels(labels)
    sides = data.draw(st.lists(st.sampled_from("ht?"), min_size=len(sets), max_size=len(sets)))
    before = [known.ids[[side == kind for side in sides]] for kind in "ht"]
    split = known.split(share, np.random.default_rng(0), tuple(before))
    assert sorted([*split.train, *split.held]) == list(range(len(sets)))
    assert set(known.relevance.subset(split.train).labels_) == set(known.words)
    assert not set(known.ids[split.held]) & set(before[1].tolist())
    fresh = sides.count("?")
    most = max(len(before[0]) + round(share * fresh), examples.MIN_HELD)
    assert len(split.held) <= most
    all_alike = all(some == sets[0] for some in sets)
    assert bool(split.why) == (len(known.words) < 2 or not len(split.held) or all_alike)


def test_worse_words_are_not_published(collection, register):
    first = learn(collection)
    before = seen(collection)

    class Worse(WSABIE):
        def scores(self, X):
            return -super().scores(X)

    register(ANNOTATORS, Worse)
    learned = learn(collection, words="wsabie")
    assert learned.similarity.published
    assert (learned.words.published, learned.words.model) == (False, None)
    assert learned.words.before == first.words.after
    assert "ranks words worse than the one in use" in learned.words.reason
    assert in_use(collection) == InUse(3, 2)
    assert collection.search_word("rot", 9) == before[5]
    assert not (collection.path / "models" / "4.safetensors").exists()
    assert collection.models.all()[-1].kind == "words"


def test_rollback_undoes_what_was_learned_together(collection):
    everyone = {path: ["Bild", *names] for path, names in words(collection).items()}
    states = [InUse(None, None)]

    def then(labels=None, **options):
        learn(collection, labels, **options)
        states.append(in_use(collection))

    then()
    collection.learn(clicks=clicks(collection), settings=QUICK)
    states.append(in_use(collection))
    then(everyone)
    assert states[1:] == [InUse(1, 2), InUse(3, 2), InUse(3, 4)]
    assert replace(collection.rollback(), labels=None) == states[2]
    assert replace(collection.rollback(), labels=None) == states[1]
    assert collection.words.learned().keys() == {
        "rot",
        "grün",
        "blau",
        *(f"Nr. {n}" for n in range(4)),
    }
    with Collection.open(collection.path, features=[Colours()]) as again:
        assert in_use(again) == states[1]
        assert replace(again.rollback(), labels=None) == states[0]
        with pytest.raises(CollectionError, match="no model to roll back"):
            again.rollback()


def test_rollback_goes_back_once_for_each_kind(collection):
    for _ in range(3):
        learn(collection)
    assert in_use(collection) == InUse(5, 6)
    assert replace(collection.rollback(), labels=None) == InUse(3, 4)
    before = seen(collection)
    with pytest.raises(CollectionError, match=r"keeps the model in use and the one before"):
        collection.rollback()
    assert seen(collection) == before


LONG = "w" * 10_000


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"rot-0.png": [LONG, "rot"]}, "a word has 10000 characters"),
        ({"gibt es nicht.png": ["Einhorn"]}, "the file named does not stand for one picture"),
        ({}, "no file is named"),
        ({path: [] for path in ("rot-0.png", "rot-1.png")}, None),
        ("file,colour\nrot-0.png,rot\n", r"tags\.csv, line 1: the header needs a column"),
        (b"file,tags\nrot-0.png,gr\xfcn\n", r"tags\.csv, line 2: not UTF-8.*Save the file"),
        ("file,tags\nrot-0.png," + LONG + "\n", r"tags\.csv, line 2: a name has 10000"),
        ('file,tags\n"rot-0.png,rot\n', r"tags\.csv, line \d: invalid CSV.*Check the quotes"),
    ],
)
def test_bad_input_loses_nothing(collection, tmp_path, given, why):
    learn(collection)
    before = seen(collection)
    if why is None:
        # Pictures whose words are taken away teach none, and the others go on.
        assert learn(collection, given).words.pictures == 22
        return
    table = tmp_path / "tags.csv"
    if not isinstance(given, dict):
        table.write_bytes(given.encode() if isinstance(given, str) else given)
    with pytest.raises(InvalidInput, match=why):
        learn(collection, given if isinstance(given, dict) else read_labels(table))
    assert seen(collection) == before


def test_words_that_cannot_be_learned_lose_nothing(collection):
    learn(collection)
    before = seen(collection)
    nobody = dict.fromkeys(words(collection), ())
    single = {**nobody, next(iter(nobody)): ["rot", "rund", "Nr. 1"]}
    with pytest.raises(InvalidInput, match="four pictures"):
        learn(collection, single)
    alike = {path: ["Bild", "Urlaub"] for path in nobody}
    with pytest.raises(InvalidInput, match="nothing can be"):
        learn(collection, alike)
    one = {path: ["Bild"] for path in words(collection)}
    with pytest.raises(InvalidInput, match="nothing can be"):
        learn(collection, one)
    each = {path: [path.name] for path in words(collection)}
    with pytest.raises(InvalidInput, match="four pictures"):
        learn(collection, each)
    assert seen(collection) == before


def test_a_full_disk_leaves_both_as_they_were(gateless, fill_disk):
    collection = gateless
    learn(collection)
    before = seen(collection)

    fill_disk()
    with pytest.raises(CollectionError, match="No space left"):
        learn(collection, {"rot-0.png": ["rot", "blau"]})
    assert seen(collection) == before
    collection.bin.empty()
    assert {file.name for file in (collection.path / "models").iterdir()} == {
        "1.safetensors",
        "2.safetensors",
    }


def test_evaluate_words_after_the_held_back_went(collection):
    learn(collection)
    held, _ = models.sides(beside(collection).database, 2)
    collection.remove(held[1:].tolist())
    assert collection.models.evaluate_words()[1].queries == 1
    collection.remove(held[:1].tolist())
    with pytest.raises(InvalidInput, match="too few"):
        collection.models.evaluate_words()


def test_evaluate_words_without_any_in_use(collection):
    learned = learn(collection)
    collection.rollback()
    before, after = collection.models.evaluate_words()
    assert before == after == learned.words.before


def gain(average, first):
    return Gain(Difference(average, 0.02), Difference(first, 0.02), 9)


@pytest.mark.parametrize(
    ("over_commonest", "over_current", "published", "why"),
    [
        (gain(0.1, -0.2), None, True, "by frequency and is now"),
        # By chance: less than two and a half standard errors.
        (gain(0.04, 0.2), None, False, "not clearly better than ranking words by frequency"),
        (gain(0, 0), None, False, "not clearly better than ranking words by frequency"),
        (gain(0.04, 0), gain(0.04, 0), False, "not clearly better than ranking words by"),
        (gain(0.1, 0), gain(0.1, -0.04), False, "worse than the one in use"),
        (gain(0.1, 0), gain(-0.001, 0), False, "worse than the one in use"),
        # One first word lost is chance, and as good as another annotator is good enough.
        (gain(0.1, 0), gain(0.1, -0.01), True, "no worse and is now"),
        (gain(0.1, 0), gain(0, 0), True, "no worse and is now"),
    ],
)
def test_words_must_be_better_than_by_chance(over_commonest, over_current, published, why):
    tried = {"wsabie": Figures(0.5, 0.5, 0.1, 9)}
    passed, reason = decide_words(Gate(), over_commonest, over_current, tried, "wsabie")
    assert passed is published
    assert why in reason


def test_labels_without_a_meaning_give_no_words(tmp_path):
    """Shuffled labels pass the gate at most once in fifty times."""
    rng, published = np.random.default_rng(0), 0
    for run in range(12):
        X = rng.normal(size=(60, 8)).astype(np.float32)
        words = Named.of_labels({n: [str(rng.integers(5))] for n in range(60)})
        learned = teach_words(
            new_annotators("ridge", run),
            words,
            SimpleNamespace(vectors=lambda ids, X=X: X[ids]),
            None,
            current=None,
            hold_back=0.2,
            settings={"random_state": run},
            gate=Gate(),
            progress=silent,
        )
        assert learned.trial.gain is not None
        published += learned.trial.published
    assert published <= 1


def test_the_best_annotator_is_chosen_and_named(collection):
    learned = learn(collection).words
    assert list(learned.tried) == ["wsabie", "ridge", "linear"]
    assert learned.after == learned.tried[learned.method]
    for name, figures in learned.tried.items():
        assert f"{figures.mean_average_precision:.3f}" in learned.reason
        assert name in learned.reason
    assert f"Chosen: {learned.method}, mean average precision" in learned.reason
    model = collection.models.all()[1]
    assert (model.method, model.settings["words"]) == (learned.method, "auto")


@pytest.mark.parametrize("name", ["wsabie", "ridge", "linear", "one_vs_rest", "neighbours"])
def test_an_annotator_can_be_asked_for(collection, name):
    learned = learn(collection, words=name).words
    assert (learned.method, list(learned.tried)) == (name, [name])
    assert "Chosen" not in learned.reason
    assert collection.models.all()[1].method == name
    assert collection.words.tag([collection.pictures.get(1).places[0]]).pictures[0].tags


@pytest.mark.parametrize(
    ("name", "why"),
    [("magic", "words must be one of auto, wsabie, linear, ridge"), ("ensemble", "models must be")],
)
def test_an_annotator_that_cannot_be_trained_is_refused(collection, name, why):
    learn(collection)
    before = seen(collection)
    with pytest.raises(InvalidInput, match=why):
        learn(collection, words=name)
    assert seen(collection) == before


@pytest.mark.parametrize(
    ("figures", "best"),
    [
        ({"a": (0.4, 0.5), "b": (0.5, 0.5)}, "b"),
        ({"a": (0.5, 0.5), "b": (0.5, 0.5)}, "a"),
        # Of a hundred pictures four are within the error, ten are not.
        ({"a": (0.46, 0.5), "b": (0.5, 0.54)}, "a"),
        ({"a": (0.46, 0.4), "b": (0.5, 0.5)}, "b"),
        ({"a": (0.3, 0.5), "b": (0.46, 0.5), "c": (0.5, 0.5)}, "b"),
        # None is as good in both.
        ({"a": (0.4, 0.6), "b": (0.5, 0.5)}, "b"),
    ],
)
def test_the_best_is_the_first_within_a_standard_error_in_both(figures, best):
    tried = {name: Figures(*pair, 0.1, 100) for name, pair in figures.items()}
    assert choosing.best_of(tried) == best


@pytest.mark.parametrize("seed", range(20))
def test_held_out_pictures_differ_in_their_words_if_they_can(seed):
    rare = Named.of_labels({n: ["a", "b"] if n < 2 else ["a"] for n in range(12)})
    split = rare.split(0.2, np.random.default_rng(seed), None)
    assert len(split.held) == 2
    assert rare.relevance.subset(split.held).links.sum() == 3
    once = Named.of_labels({n: ["a", "b"] if n < 1 else ["a"] for n in range(12)})
    split = once.split(0.2, np.random.default_rng(seed), None)
    assert len(split.held) == 2
    assert 0 not in split.held


def test_pictures_that_all_have_the_same_words_teach_none():
    known = Named.of_labels({number: ["a", "B" if number % 2 else "b"] for number in range(9)})
    split = known.split(0.3, np.random.default_rng(0), None)
    assert "all 9 labelled pictures have the same" in split.why
    other = Named.of_labels({number: ["a", "b"][: 1 + number % 2] for number in range(9)})
    assert not other.split(0.3, np.random.default_rng(0), None).why


def test_a_word_on_one_picture_only_is_learned(collection):
    given = words(collection)
    once = next(iter(given))
    given[once] = [*given[once], "einmal"]
    assert learn(collection, given).words.published
    assert collection.words.learned()["einmal"] == 1
    number = next(row.id for row in collection.pictures.all() if row.places[0] == once)
    held, trained = models.sides(beside(collection).database, 2)
    assert number in trained
    assert number not in held


def test_rolled_back_words_are_those_of_before(collection):
    first = learn(collection, words="linear").words
    assert learn(collection, words="ridge").words.method == "ridge"
    if in_use(collection).annotator != first.model:
        collection.rollback()
    assert in_use(collection).annotator == first.model
    assert collection.models.all()[1].settings["words"] == "linear"

import os
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from lookalike.collection import Ask, Collection
from lookalike.collection.search import explaining
from lookalike.core.errors import InvalidInput, NotFound
from tests.collection.beside import beside, current_ranker
from tests.collection.colours import PALETTE, Colours, picture
from tests.collection.teaching import QUICK, learn
from tests.gates import OPEN


def ids(collection, colour):
    return [p.id for p in collection.pictures.all() if p.places[0].parent.name == colour]


def name(collection, number):
    return collection.pictures.get(number).places[0].name


def set_taken(collection, taken):
    with beside(collection).database.transaction() as connection:
        connection.executemany(
            "UPDATE all_pictures SET taken = ? WHERE id = ?", [(at, n) for n, at in taken.items()]
        )


def test_tags_in_common_are_named_the_rarest_first(collection):
    for number in (1, 2, 17):
        collection.label(number, "Hund")
    for number in (1, 2):
        collection.label(number, "Strand")
    collection.label(2, "Katze")
    assert "Both are tagged “Strand” and “Hund”." in collection.queries.reasons(Ask((1,)), 2)
    assert not any("tagged" in reason for reason in collection.queries.reasons(Ask((1,)), 3))


def test_several_examples_are_spoken_of_together(collection):
    for number in (1, 3, 17):
        collection.label(number, "Hund")
    collection.label(17, "Garten")
    collection.label(3, "garten")
    told = collection.queries.reasons(Ask((1, 17)), 3, 9)
    assert told[0] == "It is tagged “Hund”, like the examples."
    assert told[1] == "It is tagged “garten”, like 1 of the 2 examples."
    assert "It is in the same folder as 1 of the 2 examples, blau." in told


def test_a_folder_and_a_day_in_common(collection):
    set_taken(collection, {1: "2019-07-01T10:00:00", 2: "2019-07-01T18:00:00", 3: "2019-07-02"})
    told = collection.queries.reasons(Ask((1,)), 2)
    # The day is rarer than the folder.
    assert told.index("Taken on the same day.") < told.index("Both are in the folder blau.")
    assert "Taken on the same day." not in collection.queries.reasons(Ask((1,)), 3)
    assert not any("folder" in reason for reason in collection.queries.reasons(Ask((1,)), 17))
    assert not any("day" in reason for reason in collection.queries.reasons(Ask((4,)), 5))


def test_what_most_have_in_common_says_nothing(tmp_path):
    for number in range(6):
        picture(tmp_path / "alle" / f"{number}.png", PALETTE["rot"], number)
    with Collection.create(tmp_path / "c", features=[Colours()]) as made:
        made.add([tmp_path / "alle"])
        set_taken(made, dict.fromkeys(range(1, 7), "2020-01-01"))
        assert not any("same folder" in r or "day" in r for r in made.queries.reasons(Ask((1,)), 2))


def test_a_folder_that_is_a_tag_is_said_once(collection):
    collection.label(1, "Blau")
    collection.label(2, "Blau")
    told = collection.queries.reasons(Ask((1,)), 2)
    assert "Both are tagged “Blau”." in told
    assert not any("folder" in reason for reason in told)


def test_nearly_the_same_and_alike(collection):
    match = collection.search(1, 30, learned=False)
    for hit in match:
        told = collection.queries.reasons(Ask((1,)), hit.id)
        if hit.score > 0.95:
            assert told[0] == "Nearly the same picture."
        else:
            assert told[-1] == f"It looks similar ({hit.score:.2f} of 1)."


def test_what_people_said_comes_first(collection):
    ask = Ask((1,))
    collection.people.trust("somebody else")
    collection.vote(ask, picked=[20], rejected=[2])
    collection.vote(ask, picked=[21], who="somebody else")
    assert collection.queries.reasons(ask, 20)[0] == "You picked it for this search."
    assert collection.queries.reasons(ask, 2)[0] == "You rejected it for this search."
    assert collection.queries.reasons(ask, 21)[0] == "Somebody picked it for this search."
    assert "search" not in collection.queries.reasons(Ask((4,)), 20)[0]
    collection.votes.reset()
    assert "this search" not in " ".join(collection.queries.reasons(ask, 20))
    collection.vote(ask, picked=[20], who="somebody else")
    assert collection.queries.reasons(ask, 20)[0] == "Somebody picked it for this search."


def test_votes_speak_for_and_against(collection, set_limits):
    # Wide enough to reach the same search, whose vector has moved by then.
    set_limits(max_gamma=4.0)
    blue, red = ids(collection, "blau"), ids(collection, "rot")
    ask, other = Ask((blue[0],)), Ask((blue[4],))
    collection.vote(ask, picked=[red[3]], rejected=[blue[1]])
    first, good, bad = (name(collection, number) for number in (blue[0], red[3], blue[1]))
    preferences = current_ranker(collection).votes
    seen = set()
    for asked, on in ((ask, "this search"), (other, first)):
        said = collection.votes.verdicts(asked)
        vector = preferences.source.ask(asked, said)
        for row in collection.pictures.all():
            if row.id in (*asked.like, *said):
                continue
            item = current_ranker(collection).vectors([row.id])
            moved = float((preferences.turns.added(vector) @ item.T)[0, 0])
            pair = f"preferring {'it' if row.id == red[3] else good} to "
            pair += "it" if row.id == blue[1] else bad
            where = "it" if row.id == blue[0] else on
            way = "up" if moved > 0 else "down"
            told = [r for r in collection.queries.reasons(asked, row.id, 20) if "vote on" in r]
            loud = abs(moved) >= explaining.MIN_MOVE
            assert told == [f"Your vote on {where}, {pair}, moved it {way}."] * loud
            seen |= {(on, way)} if loud else set()
    assert {way for _, way in seen} == {"up", "down"}
    assert {on for on, _ in seen} == {"this search", first}


def test_votes_of_several_people_are_nobodys(collection):
    blue, red = ids(collection, "blau"), ids(collection, "rot")
    for who in ("a", "b"):
        collection.people.trust(who)
        collection.vote(Ask((blue[0],)), picked=[red[3]], rejected=[blue[1]], who=who)
    named = name(collection, blue[0])
    told = [
        r for n in red for r in collection.queries.reasons(Ask((blue[4],)), n, 20) if " on " in r
    ]
    assert any(r.startswith(f"Votes on {named}, preferring ") for r in told)
    assert all(r.endswith((", moved it up.", ", moved it down.")) for r in told)


def test_a_query_that_rejects_only(collection):
    token = collection.queries.keep(Image.new("RGB", (20, 20), PALETTE["blau"]))
    red, blue = ids(collection, "rot"), ids(collection, "blau")
    collection.vote(Ask((token,)), rejected=[red[0]])
    told = collection.queries.reasons(Ask((blue[0],)), red[1])
    named = name(collection, red[0])
    vote = f"Your vote on a query picture, rejecting {named}, moved it down."
    assert vote in told


def near_only(preferences):
    """What votes add near what they were cast on, without what they add to every search."""
    turns = replace(preferences.turns, spread=None)
    return replace(preferences, judgement=replace(preferences.judgement, turns=turns))


def test_the_parts_of_votes_make_up_what_votes_add(collection):
    rng = np.random.default_rng(0)
    learn(collection)
    for query in (1, 5, 9, 14, 22):
        picked, rejected = rng.choice([n for n in range(1, 25) if n != query], 2, replace=False)
        collection.vote(Ask((query,)), picked=[int(picked)], rejected=[int(rejected)])
    ranker = current_ranker(collection)
    preferences = near_only(ranker.votes)
    query, item = (ranker.vectors([n]) for n in (3, 20))
    subjects, _, _, parts = preferences.turns.parts(query, item)
    added = (preferences.turns.added(query) @ ranker.similarity.item_vectors(item).T)[0, 0]
    assert parts.sum() == pytest.approx(added, abs=1e-6)
    told = list(explaining.spoken(preferences, query, item))
    totals = {
        subject: sum(part for own, part in zip(subjects, parts, strict=True) if own == subject)
        for subject in subjects
    }
    ends = [max(totals, key=totals.get)] * any(total > 0 for total in totals.values())
    ends += [min(totals, key=totals.get)] * any(total < 0 for total in totals.values())
    assert [part.subject for part in told] == ends
    assert [part.total for part in told] == pytest.approx([totals[subject] for subject in ends])


def test_a_vote_alone_adds_its_own_part(collection):
    for query, (good, bad) in {5: (12, 3), 14: (22, 9)}.items():
        collection.vote(Ask((query,)), picked=[good], rejected=[bad], who=f"{query}")
    both = near_only(current_ranker(collection).votes)
    query, item = (current_ranker(collection).vectors([n]) for n in (6, 20))
    subjects, _, _, parts = both.turns.parts(query, item)
    for number, subject in ((1, "14"), (2, "5")):
        collection.undo(number)
        left = near_only(current_ranker(collection).votes)
        alone = sum(part for own, part in zip(subjects, parts, strict=True) if own == subject)
        assert (left.turns.added(query) @ item.T)[0, 0] == pytest.approx(alone, abs=1e-3)
        collection.undo(collection.log.history(1)[0].number)


@pytest.mark.parametrize("ask", [Ask((1,)), Ask((1, 9), (17,))])
def test_places_are_those_of_searches(collection, ask):
    learn(collection)
    collection.vote(ask, picked=[20], rejected=[2])
    collection.vote(Ask((5,)), picked=[12], rejected=[3])
    plain = [m.id for m in collection.search(ask, 30, learned=False)]
    used = [m.id for m in collection.search(ask, 30)]
    ranker = current_ranker(collection)
    for number in used:
        case = explaining.Case(ranker, None, beside(collection).database, ask, number)
        assert case._place(ranker.plain, case._asked) == 1 + plain.index(number)
        place = case._place(ranker.index, ranker.query(case._voted), case._verdicts)
        assert place == 1 + used.index(number)


def test_what_was_learned_moves_a_picture(collection):
    labels = {
        row.places[0]: ["gerade" if row.id % 2 else "ungerade"] for row in collection.pictures.all()
    }
    before = [m.id for m in collection.search(1, 30)]
    published = collection.learn(labels, settings={**QUICK, "steps": 2000, "blend": 1.0})
    assert published.similarity.published
    after = [m.id for m in collection.search(1, 30)]
    told = 0
    for number in after:
        old, new = 1 + before.index(number), 1 + after.index(number)
        way = "up" if new < old else "down"
        sentence = f"What was learned from labels moved it {way} from rank {old} to {new}."
        far = max(old, new) > 1.5 * min(old, new)
        assert (sentence in collection.queries.reasons(Ask((1,)), number, 20)) == far
        told += far
    assert told


def test_clicks_are_named_as_what_was_learned_from(collection):
    chosen = {"gerade": {}, "ungerade": {}}
    for row in collection.pictures.all():
        chosen["gerade" if row.id % 2 else "ungerade"][str(row.places[0])] = 1.0
    settings = {**QUICK, "steps": 2000, "blend": 1.0}
    assert collection.learn(clicks=chosen, settings=settings).similarity.published
    every = [
        r
        for row in collection.pictures.all()
        for r in collection.queries.reasons(Ask((1,)), row.id, 20)
    ]
    assert any("What was learned from clicks moved it" in reason for reason in every)
    assert not any("learned from labels" in reason for reason in every)


def test_words_that_both_look_like(tmp_path):
    folder = tmp_path / "bilder"
    for place, (colour, rgb) in enumerate(PALETTE.items()):
        for number in range(120):
            picture(folder / colour / f"{number}.png", rgb, 1000 * place + number)
    with Collection.create(tmp_path / "c", features=[Colours()], gate=OPEN) as made:
        made.add([folder])
        rows = list(made.pictures.all())
        bare = [row.id for row in rows if row.places[0].stem in ("0", "1")]
        labels = {r.places[0]: [r.places[0].parent.name] for r in rows if r.id not in bare}
        assert learn(made, labels).words.published
        ranker = current_ranker(made)
        tagger = beside(made).rankers.annotator(ranker)
        one, other = (n for n in bare if made.pictures.get(n).places[0].parent.name == "rot")
        sure = [tagger.annotate(ranker.vectors([n]), 1)[0][0].confidence for n in (one, other)]
        shares = " and ".join(f"{100 * c:.0f} %" for c in sure)
        assert f"Both look like “rot” ({shares} sure)." in made.queries.reasons(Ask((one,)), other)
        blue = next(n for n in bare if made.pictures.get(n).places[0].parent.name == "blau")
        assert not any("look like" in reason for reason in made.queries.reasons(Ask((one,)), blue))
        tagged = next(r.id for r in rows if r.places[0] in labels)
        twin = next(r.id for r in rows if r.id > tagged and r.places[0] in labels)
        told = made.queries.reasons(Ask((tagged,)), twin)
        assert any("Both are tagged" in reason for reason in told)
        assert not any("look like" in reason for reason in told)


def test_a_name_that_is_no_text_can_be_shown(tmp_path):
    folder = tmp_path / "bilder"
    for place, rgb in enumerate(PALETTE.values()):
        for number in range(4):
            made = picture(folder / f"{place}" / f"{number}.png", rgb, 10 * place + number)
            made.rename(made.with_name(os.fsdecode(b"\xff%d.png" % number)))
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        collection.add([folder])
        collection.vote(Ask((1,)), picked=[9], rejected=[2])
        told = collection.queries.reasons(Ask((3,)), 10)
        assert any("\ufffd" in reason for reason in told)
        " ".join(told).encode()


def test_at_most_k_and_the_same_again(collection):
    collection.label(1, "a")
    collection.label(2, "a")
    whole = collection.queries.reasons(Ask((1,)), 2, 20)
    assert len(whole) >= 3
    assert collection.queries.reasons(Ask((1,)), 2, 2) == whole[:2]
    with Collection.open(collection.path, features=[Colours()]) as again:
        assert again.queries.reasons(Ask((1,)), 2, 20) == whole


def test_what_cannot_be_explained_is_refused(collection):
    with pytest.raises(NotFound):
        collection.queries.reasons(Ask((1,)), 99)
    with pytest.raises(NotFound):
        collection.queries.reasons(Ask((99,)), 1)
    with pytest.raises(InvalidInput, match="k must be"):
        collection.queries.reasons(Ask((1,)), 2, 0)

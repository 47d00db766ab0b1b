import pytest
from PIL import Image

from lookalike.collection import Collection
from lookalike.collection.search import suggesting
from lookalike.collection.search.lexicon import PictureTag
from lookalike.core.errors import InvalidInput, NotFound
from tests.collection.beside import beside, current_ranker
from tests.collection.colours import PALETTE, Colours, album, picture
from tests.collection.teaching import learn
from tests.gates import OPEN


def ids(collection, colour):
    return [p.id for p in collection.pictures.all() if p.places[0].parent.name == colour]


def suggested(collection, ref, k=8):
    return [suggestion.word for suggestion in collection.suggest(ref, k)]


def test_a_word_just_given_is_suggested_for_what_is_like_it_and_nothing_else(collection):
    red, blue, green = (ids(collection, colour) for colour in ("rot", "blau", "grün"))
    collection.label(red[0], "Mohn")
    assert all(suggested(collection, number) == ["Mohn"] for number in red[1:])
    assert not any(suggested(collection, number) for number in [*blue, *green])
    (first,) = collection.suggest(red[1])
    assert (first.confidence, first.why) == (None, "the most similar labelled picture has it")
    for number in blue:
        collection.label(number, "Meer")
    assert collection.suggest(red[1]) == [first]


def test_what_is_said_of_a_picture_is_not_suggested_for_it_however_it_is_spelled(collection):
    red = ids(collection, "rot")
    for number in red[:5]:
        collection.label(number, "Größe")
    collection.label(red[5], "GRÖSSE")
    collection.label(red[6], "gro\u0308ße", shows=False)
    assert suggested(collection, red[0]) == suggested(collection, red[5]) == []
    assert suggested(collection, red[6]) == []
    assert suggested(collection, red[7]) == ["Größe"]
    collection.undo(collection.log.history(1)[0].number)
    assert suggested(collection, red[6]) == ["Größe"]


def test_the_reason_counts_the_most_alike(collection):
    red = ids(collection, "rot")
    for number in red[:6]:
        collection.label(number, "eins")
    asked = red[7]
    (hit,) = [s for s in collection.suggest(asked) if s.word == "eins"]
    assert hit.why == "all 5 most similar labelled pictures have it"
    nearest = [m.id for m in collection.search(asked, 20) if m.id in red[:6]][:5]
    for number in nearest[1:4]:
        collection.label(number, "zwei")
    (hit,) = [s for s in collection.suggest(asked) if s.word == "zwei"]
    assert hit.why == "3 of the 5 most similar labelled pictures have it"


def test_a_common_word_needs_more(collection):
    red = ids(collection, "rot")
    asked = red[7]
    for row in collection.pictures.all():
        if row.id != asked:
            collection.label(row.id, "Bild")
    for number in red[:6]:
        collection.label(number, "Mohn")
    assert suggested(collection, asked) == ["Mohn", "Bild"]


def test_few_words_are_found_behind_many_pictures_without(tmp_path, set_limits):
    set_limits(similar_pictures=2)
    album(tmp_path / "bilder", 20)
    with Collection.create(tmp_path / "c", features=[Colours()]) as made:
        made.add([tmp_path / "bilder"])
        asked = ids(made, "rot")[0]
        near = [match.id for match in made.search(asked, 12)]
        made.label(near[-1], "Mohn")
        assert suggested(made, asked) == ["Mohn"]
        for number in near[2:-1]:
            made.label(number, "Ruhe", shows=False)
        assert suggested(made, asked) == []
        made.label(near[1], "Klee")
        assert suggested(made, asked) == ["Klee"]


def test_words_refused_for_what_is_alike_are_suggested_less(collection):
    red = ids(collection, "rot")
    collection.label(red[0], "Mohn")
    assert suggested(collection, red[7]) == ["Mohn"]
    for number in red[1:7]:
        collection.label(number, "mohn", shows=False)
    assert suggested(collection, red[7]) == []


def test_learned_words_come_with_how_sure_they_are(tmp_path):
    folder = tmp_path / "bilder"
    for place, (name, colour) in enumerate(PALETTE.items()):
        for number in range(120):
            picture(folder / name / f"{number}.png", colour, 1000 * place + number)
    with Collection.create(tmp_path / "c", features=[Colours()], gate=OPEN) as collection:
        collection.add([folder])
        labels = {
            row.places[0]: [row.places[0].parent.name]
            for row in collection.pictures.all()
            if row.places[0].stem not in ("0", "1")
        }
        assert learn(collection, labels).words.published
        bare = next(
            r.id for r in collection.pictures.all() if str(r.places[0]).endswith("rot/0.png")
        )
        ranker = current_ranker(collection)
        tagger = beside(collection).rankers.annotator(ranker)
        assert tagger.confidence_ is not None
        (tag,) = tagger.annotate(ranker.vectors([bare]), 1)[0]
        (found,) = collection.suggest(bare)
        assert (found.word, found.confidence) == ("rot", pytest.approx(tag.confidence))
        assert found.why == "all 5 most similar labelled pictures have it"
        # With few pictures left that have it, what was learned speaks for it alone.
        with beside(collection).database.transaction() as connection:
            connection.execute(
                "UPDATE given SET label = 'x', key = 'x', crc = row_sum(picture, 'x', source, 'x') "
                "WHERE label = 'rot' AND picture % 9"
            )
        left = sum("rot" in names for names in collection.labels.all().values())
        (found,) = [hit for hit in collection.suggest(bare) if hit.word == "rot"]
        assert found.confidence == pytest.approx(tag.confidence)
        assert found.why == f"learned from {left} pictures"
        near = [m.id for m in collection.search(bare, 25)]
        for number in near:
            collection.label(number, "Rot", shows=False)
        assert "rot" not in suggested(collection, bare)


def test_a_kept_query_gets_words_too(collection):
    red = ids(collection, "rot")
    collection.label(red[0], "Mohn")
    token = collection.queries.keep(Image.new("RGB", (20, 20), PALETTE["rot"]))
    assert suggested(collection, token) == ["Mohn"]
    other = collection.queries.keep(Image.new("RGB", (20, 20), PALETTE["blau"]))
    assert suggested(collection, other) == []


def test_suggestions_are_the_same_again_and_at_most_k(collection):
    red = ids(collection, "rot")
    for place, number in enumerate(red[1:]):
        for word in "abcd"[: 2 + place % 3]:
            collection.label(number, word)
    first = collection.suggest(red[0], 20)
    assert [hit.word for hit in first[:2]] == ["a", "b"]
    assert len(first) > 2
    assert collection.suggest(red[0], 20) == first
    assert collection.suggest(red[0], 2) == first[:2]
    with Collection.open(collection.path, features=[Colours()]) as again:
        assert again.suggest(red[0], 20) == first


def test_without_labels_there_is_nothing_to_suggest(collection):
    assert collection.suggest(1) == []


def test_what_cannot_be_asked_is_refused(collection):
    with pytest.raises(NotFound):
        collection.suggest(99)
    with pytest.raises(NotFound):
        collection.suggest("u" + "0" * 32)
    with pytest.raises(InvalidInput, match="k must be"):
        collection.suggest(1, 0)


def test_what_is_told_is_sorted_and_not_below_the_floor(collection, monkeypatch):
    learn(collection)
    monkeypatch.setattr(
        suggesting,
        "_tags",
        lambda lexicon, ref, keys, k: {
            word: PictureTag(word, sure, sure)
            for word, sure in (("rot", 0.9), ("grün", 0.05), ("Nr. 1", 0.4), ("blau", 0.6))
        },
    )
    red = ids(collection, "rot")
    for number in red[1:]:
        collection.label(number, "Mohn")
    found = collection.suggest(red[0])
    told = [one.confidence for one in found if one.confidence is not None]
    assert told == sorted(told, reverse=True)
    assert all(sure >= suggesting.MIN_CONFIDENCE for sure in told)
    assert {one.word: one.confidence for one in found}["Mohn"] is None

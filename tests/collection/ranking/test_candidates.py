"""Searches by codes: what they find, and that all else goes on as without them."""

import json

import numpy as np
import pytest

from lookalike.codes import Encoder
from lookalike.collection import Ask, Collection, Filter
from lookalike.collection.ranking import candidates
from lookalike.collection.training import codes as training
from lookalike.core.arrays import check_file
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.index import MappedIndex
from tests.collection.beside import beside, write_rows
from tests.collection.colours import Colours, album, picture
from tests.collection.teaching import QUICK
from tests.gates import OPEN


@pytest.fixture(autouse=True)
def small(set_limits):
    """Let an album of 90 pictures have codes, for the 5 nearest."""
    set_limits(code_neighbours=5, min_for_codes=20)


@pytest.fixture
def big(tmp_path):
    album(tmp_path / "bilder", 30)
    with Collection.create(tmp_path / "sammlung", features=[Colours()], gate=OPEN) as made:
        made.add([tmp_path / "bilder"])
        yield made


def ranker_of(collection):
    # What is mapped and mended is what this process holds.
    return collection._session.rankers.get()


def ids(matches):
    return [match.id for match in matches]


def exact(collection, query, k):
    """The same search without codes."""
    ranker = ranker_of(collection)
    vector = ranker.source(beside(collection).database).ask(Ask((query,)))
    hits = ranker.index.search(ranker.query(vector), k, exclude=np.array([[query]]))
    return hits.ids[0].tolist()


def with_codes(collection, **settings):
    given = {"codes": "itq", "bits": 24, "candidates": 30, **settings}
    return collection.learn(**given)


def test_codes_alone_are_learned_measured_and_used(big):
    labels = big.labels.all()
    learned = with_codes(big)
    assert learned.similarity is None
    assert learned.words is None
    assert big.labels.all() == labels
    codes = learned.codes
    assert codes.published
    assert (codes.method, codes.model, codes.figures.bits) == ("itq", 1, 24)
    assert (codes.figures.candidates, codes.figures.pictures) == (30, 90)
    assert "recall@5 of exact search" in codes.reason
    assert "30 candidates of 90 pictures" in codes.reason
    assert big.models.rankers()[0].codes == codes.figures
    (model,) = big.models.all()
    assert (model.kind, model.current, model.codes) == ("codes", True, codes.figures)
    ranker = ranker_of(big)
    held, _ = (np.isin(np.arange(1, 91), side) for side in _sides(big))
    found = []
    for query in np.flatnonzero(held) + 1:
        hits = ranker.nearest(
            ranker.vectors(np.array([query])),
            5,
            exclude=np.array([[query]]),
            among=None,
            database=beside(big).database,
        )
        found.append(np.isin(exact(big, int(query), 5), hits.ids[0]).mean())
    assert np.mean(found) == pytest.approx(codes.figures.recall)


def _sides(collection):
    from lookalike.collection.store import models

    return models.sides(beside(collection).database, ranker_of(collection).codes.number)


def test_a_search_takes_candidates_by_codes_and_ranks_them_exactly(big, stand_in):
    with_codes(big)
    ranker = ranker_of(big)
    seen = []
    nearest = type(ranker.codes.index).nearest

    def heard(index, asked, k, **more):
        hits = nearest(index, asked, k, **more)
        seen.append(hits.ids[0])
        return hits

    stand_in(type(ranker.codes.index), nearest=heard)
    matches = big.search(7, 5)
    (found,) = seen
    assert len(found) == 30
    best = [number for number in exact(big, 7, 89) if number in set(found.tolist())]
    assert ids(matches) == best[:5]
    scores = ranker.index.scores(
        ranker.query(ranker.vectors(np.array([7]))), [match.id for match in matches]
    )
    assert [match.score for match in matches] == scores[0].tolist()
    # So deep, or among so few, an exact search costs no more.
    big.search(7, 80)
    big.search(7, 5, where=Filter(folder=str(big.pictures.get(1).places[0].parent)))
    assert len(seen) == 1
    assert ids(big.search(7, 89)) == exact(big, 7, 89)


def test_the_number_of_candidates_reaches_the_recall(big):
    learned = big.learn(codes="itq", bits=24)
    figures = learned.codes.figures
    assert figures.recall >= training.RECALL
    assert figures.chosen
    few = with_codes(big, candidates=6).codes.figures
    assert not few.chosen
    assert few.recall < figures.recall
    assert few.candidates == 6


def test_codes_that_spare_nothing_are_not_used(big):
    learned = big.learn(codes="lsh", bits=1)
    assert not learned.codes.published
    assert "spares too little" in learned.codes.reason
    assert ranker_of(big).codes is None
    assert [model.current for model in big.models.all()] == [False]


def test_more_are_taken_for_more_and_as_the_collection_grows():
    from lookalike.collection.store.models import CodeFigures

    class Index:
        def __len__(self):
            return 4000

    figures = CodeFigures(100, True, 0.99, 50, 200, 2000, 64, "")
    found = candidates.Candidates(1, None, Index(), figures)
    assert (found.wanted(10), found.wanted(50), found.wanted(200)) == (200, 200, 800)
    assert found.wanted(1000) is None
    given = candidates.Candidates(1, None, Index(), CodeFigures(100, False, 1, 50, 9, 9, 64, ""))
    assert (given.wanted(10), given.wanted(100)) == (100, 200)


def test_rollback_and_another_reader_follow(big):
    with Collection.open(big.path, features=[Colours()]) as reader:
        before = ids(reader.search(3, 8))
        first = with_codes(big, candidates=10).codes
        assert ranker_of(reader).codes.number == first.model
        second = with_codes(big, bits=32).codes
        assert ranker_of(reader).codes.number == second.model
        assert big.rollback().codes == first.model
        assert ranker_of(reader).codes.number == first.model
        assert ranker_of(reader).codes.index.dimension == 24
        assert big.rollback().codes is None
        assert ranker_of(reader).codes is None
        assert ids(reader.search(3, 8)) == before


def test_pictures_that_come_and_go_are_followed(big, tmp_path):
    with_codes(big)
    with Collection.open(big.path, features=[Colours()]) as reader:
        gone = ids(reader.search(4, 3))
        big.remove(gone)
        for number in range(15):
            picture(tmp_path / "mehr" / f"{number}.png", (90, 9 * number, 60), 900 + number)
        big.add([tmp_path / "mehr"])
        for collection in (big, reader):
            ranker = ranker_of(collection)
            assert len(ranker.codes.index) == len(ranker.plain) == len(collection) == 102
            assert set(ranker.codes.index.ids) == set(ranker.plain.ids)
            assert not {*gone} & {*ids(collection.search(4, 20))}
            fresh = int(ranker.plain.ids.max())
            expected = ranker.codes.similarity.codes(ranker.vectors(np.array([fresh])))
            np.testing.assert_array_equal(ranker.codes.index.codes([fresh]), expected)
            assert fresh in ids(collection.search(exact(collection, fresh, 1)[0], 20))
        big.restore(gone)
        assert set(ranker_of(reader).codes.index.ids) >= {*gone}


def test_votes_hold_with_codes(big):
    with_codes(big)
    found = ids(big.search(2, 10))
    far = exact(big, 2, 89)[-1]
    ask = Ask((2,))
    event = big.vote(ask, picked=[far], rejected=[found[0]])
    voted = ids(big.search(ask, 10))
    assert voted[0] == far
    assert found[0] not in voted
    ranker = ranker_of(big)
    assert ranker.votes.standing.strength > 0
    # What votes taught turns the code of the query, and by it the weights of its bits.
    vector = ranker.vectors(np.array([2]))
    for learned in (False, True):
        asked = ranker.query_vector(vector, learned=learned)
        assert np.linalg.norm(asked) == pytest.approx(1)
        assert (asked @ vector.T).item() < 0.999 * np.linalg.norm(vector)
    number = event.number
    big.undo(number)
    assert ids(big.search(2, 10)) == found


def test_filters_hold_with_codes(big):
    with_codes(big)
    where = Filter(folder=str(big.pictures.get(1).places[0].parent))
    matching = set(big.pictures.browse_ids(90, where=where))
    assert 0 < len(matching) < 90
    assert set(ids(big.search(40, 40, where=where))) <= matching


def test_vectors_stay_on_disk_and_codes_are_cached(big, stand_in, set_limits):
    set_limits(min_to_cache=10)
    with_codes(big)
    ranker = ranker_of(big)
    assert isinstance(ranker.plain, MappedIndex)
    assert isinstance(ranker.index, MappedIndex)
    assert not ranker.plain.vectors.flags.owndata
    cache = beside(big).folder.codes(ranker.codes.figures.fingerprint)
    assert cache.exists()
    found = ids(big.search(5, 9))

    def refuse(*_):
        raise AssertionError("codes were made again")

    encode = Encoder.encode
    stand_in(Encoder, encode=refuse)
    with Collection.open(big.path, features=[Colours()]) as again:
        assert len(ranker_of(again).codes.index) == 90
    stand_in(Encoder, encode=encode)
    cache.write_bytes(cache.read_bytes()[:-3])
    with Collection.open(big.path, features=[Colours()]) as again:
        assert ids(again.search(5, 9)) == found


def test_what_is_learned_later_is_measured_again(big):
    first = with_codes(big, candidates=40).codes
    learned = big.learn(folders=True, settings=QUICK)
    assert learned.similarity.published
    assert learned.codes.published
    assert learned.codes.model != first.model
    assert learned.codes.figures.fingerprint == first.figures.fingerprint
    assert learned.codes.figures.candidates == 40
    ranker = ranker_of(big)
    assert (ranker.codes.number, ranker.number) == (
        learned.codes.model,
        learned.similarity.model,
    )
    # Undone together.
    left = big.rollback()
    assert (left.similarity, left.codes) == (None, first.model)


def test_all_is_learned_with_codes_where_a_source_is_given(big):
    learned = big.learn(folders=True, settings=QUICK, codes="s3plh", bits=16, candidates=40)
    assert learned.similarity.published
    assert learned.codes.labels == 3
    assert [model.kind for model in big.models.all()] == ["similarity", "words", "codes"]
    assert ranker_of(big).codes.similarity.weights_ is not None


def test_with_a_damaged_model_of_codes_all_pictures_are_compared(big, caplog):
    wanted = ids(big.search(1, 10))
    number = with_codes(big).codes.model
    path = big.path
    big.close()
    file = path / "models" / f"{number}.safetensors"
    content = bytearray(file.read_bytes())
    content[-7] ^= 4
    file.write_bytes(content)
    with Collection.open(path, features=[Colours()], gate=OPEN) as other:
        assert ids(other.search(1, 10)) == wanted
        assert "Searches compare all pictures" in caplog.text
        assert not other.upkeep.check().sound
        with_codes(other)
        assert other.upkeep.check().sound


def test_words_said_before_codes_are_still_to_be_learned(big):
    big.label(1, "rot")
    with_codes(big)
    assert big.labels.to_learn().count == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"codes": "morse"}, "no encoder 'morse'. Choose one of s3plh"),
        ({"codes": "itq", "bits": 0}, "bits must be a whole number from 1"),
        ({"codes": "itq", "bits": "8"}, "bits must be"),
        ({"codes": "itq", "candidates": 0}, "candidates must be a whole number from 1"),
        ({"bits": 8}, "name the codes as well"),
        ({"candidates": 8}, "name the codes as well"),
        ({"codes": "s3plh"}, "learn from labels. No picture has a label. .*: itq, spectral, lsh"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(big, settings, words):
    with pytest.raises(InvalidInput, match=words):
        big.learn(**settings)
    assert big.models.all() == []
    assert ranker_of(big).codes is None


def test_few_pictures_need_no_codes(big, set_limits):
    set_limits(min_for_codes=100)
    with pytest.raises(InvalidInput, match="at least 100 pictures; there are 90"):
        big.learn(codes="itq")


def test_codes_of_other_vectors_are_refused(big):
    from lookalike.core.errors import FingerprintMismatch

    number = with_codes(big).codes.model
    file = beside(big).folder.model(number)
    ranker_of(big).codes.similarity.save(file, fingerprint="0" * 32)
    again = Collection.open(big.path, features=[Colours()])
    with again, pytest.raises(FingerprintMismatch):
        again.search(1)


@pytest.fixture
def cached(big, set_limits):
    """A collection with codes, its vectors in the cache, and that file."""
    set_limits(min_to_cache=10)
    with_codes(big)
    ranker = ranker_of(big)
    assert isinstance(ranker.plain, MappedIndex)
    return big, beside(big).folder.cache(ranker.space.fingerprint)


def flip_a_vector(cache, collection, picture):
    """Change a bit of the vector of a picture, as a disk does, under those who have mapped it."""
    ranker = ranker_of(collection)
    row = ranker.plain.ids.tolist().index(picture)
    width = 4 * ranker.plain.dimension
    content = cache.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    first = json.loads(content[8:begin])["vectors"]["data_offsets"][0]
    place = begin + first + width * row + 3
    with cache.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 64]))
    with pytest.raises(DamagedFile):
        check_file(cache)


ASKED = {
    "search": lambda store: ids(store.search(5, 9)),
    "plain": lambda store: ids(store.search(5, 9, learned=False)),
    "all": lambda store: ids(store.search(2, 89)),
    "reasons": lambda store: repr(store.queries.reasons(Ask((5,)), 2)),
    "duplicates": lambda store: repr(store.duplicates.find()),
}


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("asked", ASKED)
def test_a_damaged_cache_is_made_again_in_a_search(cached, caplog, asked, live):
    collection, cache = cached
    ask = ASKED[asked]
    expected = ask(collection)
    if live:
        flip_a_vector(cache, collection, 5)
    else:
        collection.close()
        with Collection.open(collection.path, features=[Colours()]) as again:
            ranker_of(again)
            flip_a_vector(cache, again, 5)
        collection = Collection.open(collection.path, features=[Colours()])
    with collection:
        assert ask(collection) == expected
        if asked != "duplicates" or not live:  # they are found by what was encoded before
            assert caplog.text.count("it is made again from the database") == 1
        assert ask(collection) == expected
        assert ids(collection.search(2, 89)) == ids(collection.search(2, 89))
        ranker = ranker_of(collection)
        assert isinstance(ranker.plain, MappedIndex)
        assert not ranker.plain.damaged
        assert not ranker.plain.vectors.flags.owndata
        assert caplog.text.count("it is made again from the database") == 1
        check_file(cache)
        assert collection.upkeep.check().sound


def test_vectors_are_mended_in_the_order_asked_for(cached):
    collection, cache = cached
    ranker, asked = ranker_of(collection), np.array([9, 5, 11, 7])
    before = ranker.vectors(asked)
    for number in (5, 7, 9):
        flip_a_vector(cache, collection, number)
    np.testing.assert_allclose(ranker.vectors(asked), before, rtol=1e-6)
    assert ranker.plain.damaged


def test_a_picture_whose_vector_and_record_are_damaged_is_left_out(cached):
    collection, cache = cached
    write_rows(collection, "UPDATE records_1 SET record = x'00' WHERE picture = 7")
    flip_a_vector(cache, collection, 7)
    with pytest.raises(DamagedFile, match="the checksums of 1 vector differ"):
        collection.search(2, 89)
    assert sorted(ids(collection.search(2, 89))) == [n for n in range(1, 91) if n not in (2, 7)]
    check_file(cache)


def test_a_damaged_cache_is_left_where_nothing_may_be_written(cached, caplog):
    collection, cache = cached
    expected = ids(collection.search(5, 9))
    collection.close()
    with Collection.open(collection.path, features=[Colours()], read_only=True) as reader:
        assert ids(reader.search(5, 9)) == expected
        flip_a_vector(cache, reader, expected[0])
        before = cache.read_bytes()
        for _ in range(3):
            assert ids(reader.search(5, 9)) == expected
        assert caplog.text.count("it is made again from the database") == 1
        assert cache.read_bytes() == before

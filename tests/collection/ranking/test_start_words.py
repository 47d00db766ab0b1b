"""Words before anybody taught any: in searches, tags and suggestions, and what is kept for them."""

import pytest

from lookalike.collection import Ask, Collection, Filter
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.features import StartWords
from tests.collection.beside import beside
from tests.collection.colours import CALLED, PALETTE, Colours, Shades, picture
from tests.gates import OPEN

COLOURS = {"crimson": "rot", "lawn": "grün", "sky": "blau"}


@pytest.fixture
def fresh(tmp_path, pictures):
    with Collection.create(tmp_path / "neu", features=[Shades()], gate=OPEN) as made:
        made.add([pictures])
        yield made


def folders(matches):
    return [match.path.parent.name for match in matches]


@pytest.mark.parametrize(("word", "folder"), COLOURS.items())
def test_a_start_word_finds_its_pictures_in_a_fresh_collection(fresh, word, folder):
    found = fresh.search_word(word.upper(), 8)
    assert folders(found) == [folder] * 8
    assert {match.source for match in found} == {"start"}
    scores = [match.score for match in found]
    assert scores == sorted(scores, reverse=True)
    assert 0.5 < scores[0] <= 1
    assert all(match.source is None for match in fresh.search(1))


def test_synonyms_and_broader_words_find_the_same_and_more(fresh):
    assert fresh.search_word("reds", 5) == fresh.search_word("crimson", 5)
    assert set(folders(fresh.search_word("nature", 16))) == {"grün", "blau"}


def test_pages_follow_each_other_and_filters_hold(fresh, pictures):
    whole = fresh.search_word("nature", 20)
    assert min(match.score for match in whole) >= 0.01
    assert fresh.search_word("nature", 7, offset=6) == whole[6:13]
    among = fresh.search_word("nature", 20, where=Filter(folder=str(pictures / "blau")))
    assert folders(among) == ["blau"] * 8
    assert fresh.search_word("nature", 20, where=Filter(folder=str(pictures / "rot"))) == []
    assert [m for m in whole if m.score >= 0.9] == fresh.search_word("nature", 20, min_score=0.9)


def test_labels_come_first_and_refused_pictures_not_at_all(fresh):
    first, second, *others = fresh.search_word("sky", 24)
    red = next(row.id for row in fresh.pictures.all() if row.places[0].parent.name == "rot")
    fresh.label(red, "Sky")
    fresh.label(first.id, "SKY", shows=False)
    found = fresh.search_word("sky", 24)
    assert [(m.id, m.score, m.source) for m in found[:1]] == [(red, 1.0, "given")]
    assert [m.id for m in found[1:]] == [m.id for m in (second, *others) if m.id != red]
    fresh.label(second.id, "crimson")
    assert fresh.search_word("red", 1)[0].id == second.id


def test_an_unknown_word_names_those_that_are_close(fresh):
    assert fresh.search_word("cr1ms0n") == []
    assert fresh.words.count("cr1ms0n").unknown == ("cr1ms0n",)
    assert [one.word for one in fresh.words.like("cr1ms0n")] == ["crimson"]
    for wrong in (7, "", "  ", ["sky"], None):
        with pytest.raises(InvalidInput, match="a word is text that is not empty"):
            fresh.search_word(wrong)
    # A control character counts as a space.
    assert fresh.words.count("cr1ms0n\0").unknown == ("cr1ms0n",)


def labels(collection, names):
    return {row.places[0]: [names[row.places[0].parent.name]] for row in collection.pictures.all()}


def test_what_was_learned_answers_and_start_words_for_the_others(fresh):
    named = labels(fresh, {"rot": "Crimson", "grün": "wood", "blau": "water"})
    left_out = next(path for path, words in named.items() if words == ["water"])
    fresh.learn({path: words for path, words in named.items() if path != left_out})
    assert {match.source for match in fresh.search_word("crimson", 3)} == {"given"}
    assert [(match.path, match.source) for match in fresh.search_word("water", 1, offset=7)] == [
        (left_out, "learned")
    ]
    assert {match.source for match in fresh.search_word("sky", 3)} == {"start"}
    assert [one.word for one in fresh.words.like("woood")] == ["wood"]


def test_start_words_stay_where_learning_gained_nothing(fresh):
    paths = [row.places[0] for row in fresh.pictures.all()]
    before = fresh.words.tag(paths).pictures
    assert before[0].tags
    given = {path: ["Urlaub"] for path in paths}
    learned = fresh.learn(given | {paths[0]: ["Urlaub", "Katze"]}).words
    assert learned.before == learned.after
    assert not learned.published
    assert "not clearly better than ranking words by frequency" in learned.reason
    assert fresh.words.tag(paths).pictures == before


def test_learned_words_and_start_words_are_given_together(fresh):
    fresh.learn(labels(fresh, {"rot": "Reds", "grün": "wood", "blau": "water"}))
    paths = [row.places[0] for row in fresh.pictures.all()]
    by_folder = {"rot": {"Reds"}, "grün": {"wood", "lawn"}, "blau": {"water", "sky"}}
    for least in (0.0, 0.5):
        for one in fresh.words.tag(paths, min_confidence=least).pictures:
            tags = {tag.word: tag.source for tag in one.tags}
            start = {word for word, source in tags.items() if source == "start"}
            # A word that was learned does not come once more as a start word.
            assert "crimson" not in start
            assert by_folder[one.path.parent.name] - {"Reds", "wood", "water"} <= start
            learned = tags.keys() - start
            named = {"Reds", "wood", "water"}
            assert (
                learned == named
                if least == 0
                else learned <= named & by_folder[one.path.parent.name]
            )


def learned_upside_down(stand_in, annotator):
    """Let an annotator rank pictures the wrong way round."""
    scores, queries = annotator.scores, annotator.word_queries
    stand_in(
        type(annotator),
        scores=lambda self, X: -scores(X),
        word_queries=lambda self, names: -queries(names),
    )


def test_a_start_word_goes_on_where_what_was_learned_ranks_worse(fresh, stand_in, set_limits):
    set_limits(min_to_judge=1)
    fresh.learn(labels(fresh, {"rot": "crimson", "grün": "lawn", "blau": "SKY"}), hold_back=0.4)
    _, annotator = beside(fresh).rankers.with_words()
    learned_upside_down(stand_in, annotator)
    found = fresh.search_word("sky", 8)
    assert {match.source for match in found} <= {"start", "given"}
    assert folders(found) == ["blau"] * 8
    (tagged,) = fresh.words.tag([found[0].path]).pictures
    # As the person spells it.
    assert [(tag.word, tag.source) for tag in tagged.tags] == [
        ("SKY", "start"),
        ("nature", "start"),
    ]


def test_tags_and_suggestions_say_that_they_are_start_words(fresh, tmp_path):
    foreign = picture(tmp_path / "fremd.png", PALETTE["blau"], 4711)
    known = fresh.search_word("crimson", 1)[0]
    copy = tmp_path / "kopie.png"
    copy.write_bytes(known.path.read_bytes())
    told, other, again = fresh.words.tag([known.path, foreign, copy]).pictures
    assert [(tag.word, tag.source) for tag in told.tags] == [("crimson", "start")]
    assert told.tags == again.tags
    assert [tag.word for tag in other.tags] == ["sky", "nature"]
    assert all(0.5 <= tag.confidence <= 1 for tag in other.tags)
    assert fresh.words.tag([foreign], 1).pictures[0].tags == other.tags[:1]
    assert fresh.words.tag([foreign], min_confidence=1.0).pictures[0].tags == ()
    with pytest.raises(InvalidInput, match="min_confidence"):
        fresh.words.tag([foreign], min_confidence=2.0)
    (one, *_) = fresh.suggest(known.id)
    assert (one.word, one.source) == ("crimson", "start")
    fresh.label(known.id, "crimson")
    assert "crimson" not in [one.word for one in fresh.suggest(known.id)]
    near = fresh.search(known.id, 1)[0].id
    assert fresh.suggest(near)[0].source == "similar"
    token = fresh.queries.keep(foreign.read_bytes())
    assert [one.word for one in fresh.suggest(token)] == ["sky", "nature"]


def test_the_words_there_are_count_pictures(fresh):
    counts = fresh.words.start()
    assert counts == {"nature": 16, "crimson": 8, "lawn": 8, "sky": 8}
    fresh.remove([match.id for match in fresh.search_word("sky", 3)])
    assert fresh.words.start()["sky"] == 5


def test_without_start_words_there_are_none(collection):
    assert collection.words.start() == {}


def test_the_ranker_that_knows_start_words_answers(tmp_path, pictures):
    with Collection.create(tmp_path / "zwei", features=[Colours(), Shades()]) as two:
        two.add([pictures])
        assert folders(two.search_word("sky", 3)) == ["blau"] * 3
        assert two.words.start("colours") == {}
        assert two.words.start("shades") == two.words.start()
        assert two.search_word("sky", 3, by="colours") == two.search_word("sky", 3)


class TestTheCache:
    @pytest.fixture(autouse=True)
    def small(self, set_limits):
        set_limits(min_words_to_cache=0)

    @pytest.fixture
    def looked_at(self, stand_in):
        """How many pictures were looked at, each time."""
        counts = []
        likely = StartWords.likely

        def count(self, vectors):
            counts.append(len(vectors))
            return likely(self, vectors)

        stand_in(StartWords, likely=count)
        return counts

    def file(self, collection):
        (found,) = (collection.path / "cache").glob("classes-*.safetensors")
        return found

    def test_it_is_written_while_adding_and_read_again(self, fresh, looked_at):
        found = fresh.search_word("sky", 9)
        assert not looked_at
        with Collection.open(fresh.path, features=[Shades()]) as again:
            assert again.search_word("sky", 9) == found
        assert not looked_at

    def test_only_what_is_new_is_looked_at(self, fresh, looked_at, tmp_path):
        fresh.search_word("sky")
        gone = fresh.search_word("sky", 1)[0].id
        new = picture(tmp_path / "neu.png", PALETTE["blau"], 77)
        fresh.add([new])
        fresh.remove([gone])
        found = fresh.search_word("sky", 24)
        assert looked_at == [1]
        assert gone not in [match.id for match in found]
        assert new in [match.path for match in found]
        with Collection.open(fresh.path, features=[Shades()]) as again:
            assert again.search_word("sky", 24) == found

    @pytest.mark.parametrize("harm", ["cut", "empty", "other", "missing"])
    def test_a_damaged_file_is_made_again(self, fresh, harm, looked_at):
        file, found = self.file(fresh), fresh.search_word("nature", 24)
        content = file.read_bytes()
        if harm == "missing":
            file.unlink()
        elif harm == "other":
            changed = content.replace(b'scale\\": 4.0', b'scale\\": 5.0')
            assert changed != content
            file.write_bytes(changed)
        else:
            file.write_bytes(content[: len(content) // 2 if harm == "cut" else 0])
        with Collection.open(fresh.path, features=[Shades()]) as again:
            assert again.search_word("nature", 24) == found
        assert looked_at == [24]
        assert self.file(fresh).read_bytes() == content

    def test_a_file_that_cannot_be_written_is_done_without(self, fresh, fill_disk, caplog):
        self.file(fresh).unlink()
        found = fresh.search_word("sky", 9)

        fill_disk()
        with Collection.open(fresh.path, features=[Shades()]) as again:
            assert again.search_word("sky", 9) == found
        assert "No space left" in caplog.text

    def test_it_stays_when_others_are_cleaned_up(self, fresh):
        file = self.file(fresh)
        stray = file.with_name(f"classes-{'0' * 32}.safetensors")
        stray.write_bytes(b"")
        fresh.remove([1])
        fresh.bin.empty()
        assert file.exists()
        assert not stray.exists()


def test_votes_do_not_matter_to_start_words(fresh):
    before = fresh.search_word("sky", 9)
    fresh.vote(Ask((1,)), picked=[9], rejected=[20])
    assert fresh.search_word("sky", 9) == before


def test_pictures_are_added_where_the_classifier_cannot_be_read(tmp_path, pictures):
    def damaged():
        raise DamagedFile("the weights have another hash")

    class Damaged(Shades):
        start_words = StartWords(CALLED, damaged, scale=4.0)

    with Collection.create(tmp_path / "neu", features=[Damaged()]) as made:
        assert made.add([pictures]).added == 24
        with pytest.raises(DamagedFile, match="another hash"):
            made.search_word("sky")

"""Words in use: tags for pictures, pictures for words."""

import os

import numpy as np
import pytest
from PIL import Image

from lookalike.annotation import ANNOTATORS
from lookalike.annotation.base import Annotator
from lookalike.collection import Collection, InUse
from lookalike.collection.ranking import parts
from lookalike.core.errors import (
    CollectionError,
    DamagedFile,
    FingerprintMismatch,
    InvalidInput,
)
from lookalike.features import Visterms
from tests.collection.beside import beside, current_ranker
from tests.collection.colours import PALETTE, Colours, picture
from tests.collection.teaching import QUICK, clicks, learn, seen, words
from tests.gates import OPEN


def test_tags_of_what_is_in_the_collection_and_of_what_is_not(collection, pictures, tmp_path):
    learn(collection)
    path = pictures / "blau" / "blau-3.png"
    foreign = picture(tmp_path / "fremd.png", PALETTE["blau"], 4711)
    broken = tmp_path / "kaputt.png"
    broken.write_bytes(b"no picture")
    (pictures / "notes.txt").touch()
    sources = [foreign, broken, pictures, tmp_path / "*.gif"]
    told = []
    found = collection.words.tag(
        sources, 2, min_confidence=0.0, progress=lambda *some: told.append(some)
    )
    assert [picture.path for picture in found.pictures][:2] == [
        foreign,
        path.with_name("blau-0.png"),
    ]
    assert len(found.pictures) == 25
    assert all(len(picture.tags) == 2 for picture in found.pictures)
    assert [refused.path for refused in found.refused] == [tmp_path / "*.gif", broken]
    assert all(refused.reason for refused in found.refused)
    assert found.ignored == 1
    assert told[0] == (0, 26)
    assert told[-1] == (26, 26)
    assert told == sorted(told)
    best = [(picture.path.parent.name, picture.tags[0].word) for picture in found.pictures[1:]]
    assert np.mean([folder == word for folder, word in best]) > 0.9
    assert found.pictures[0].tags[0].word == "blau"
    sure = [tag.confidence for tag in found.pictures[0].tags]
    assert sure == sorted(sure, reverse=True)


def test_tags_do_not_depend_on_blocks_nor_on_company(
    collection, pictures, tmp_path, stand_in, set_limits
):
    learn(collection)
    paths = sorted(pictures.rglob("*.png"))
    new = [picture(tmp_path / "neu" / f"{n}.png", PALETTE["rot"], 800 + n) for n in range(7)]
    mixed = [path for pair in zip(new, paths, strict=False) for path in pair] + paths[7:]
    mixed[3:3] = [picture(tmp_path / "weg.png", (1, 2, 3), 5)]
    mixed[3].write_bytes(b"broken")
    whole = collection.words.tag(mixed, 3)
    sizes = []
    annotate = Annotator.annotate

    def noted(self, X, *args, **kwargs):
        sizes.append(X.shape[0])
        return annotate(self, X, *args, **kwargs)

    stand_in(Annotator, annotate=noted)
    set_limits(tag_block=4)
    again = collection.words.tag(mixed, 3, threads=2)
    assert max(sizes) == 4
    assert [one.path for one in again.pictures] == [one.path for one in whole.pictures]
    for one, other in zip(again.pictures, whole.pictures, strict=True):
        assert [tag.word for tag in one.tags] == [tag.word for tag in other.tags]
        assert [tag.score for tag in one.tags] == pytest.approx([tag.score for tag in other.tags])
    assert again.refused == whole.refused
    single = {path: collection.words.tag([path], 3).pictures[0].tags[0].word for path in mixed[:3]}
    assert single == {one.path: one.tags[0].word for one in whole.pictures[:3]}


def test_a_picture_of_the_collection_is_not_described_again(collection, pictures, tmp_path):
    learn(collection)
    path = pictures / "rot" / "rot-2.png"

    def tags(*paths):
        found = collection.words.tag(paths).pictures
        # Rounded apart by how many are scored at once.
        return [{tag.word: pytest.approx(tag.score, abs=1e-5) for tag in one.tags} for one in found]

    before = tags(path)
    record = collection.features["colours"].record
    collection.features["colours"].record = lambda image: 1 / 0
    assert tags(path) == before
    # A copy elsewhere, and a file only touched, are known by their content.
    copy = tmp_path / "copy.png"
    copy.write_bytes(path.read_bytes())
    os.utime(path, ns=(1, 1))
    assert tags(copy, path) == before * 2
    # A changed file is tagged as it is now.
    picture(path, PALETTE["blau"], 12345)
    with pytest.raises(ZeroDivisionError):
        collection.words.tag([path])
    collection.features["colours"].record = record
    assert collection.words.tag([path]).pictures[0].tags[0].word == "blau"


def test_an_interrupted_tagging_ends_its_threads(collection, tmp_path):
    learn(collection)
    new = [picture(tmp_path / "neu" / f"{n}.png", (9, 9, 9), n) for n in range(40)]

    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    before = seen(collection)
    with pytest.raises(KeyboardInterrupt):
        collection.words.tag(new, progress=stop)
    assert seen(collection) == before


def test_a_word_finds_pictures(collection):
    learn(collection, words="wsabie")
    ranker, tagger = beside(collection).rankers.with_words()
    number = tagger.word_number("grün")
    always = tagger.constant_ * tagger.constant_row_ @ tagger.W_[number]
    assert always != 0
    expected = tagger.scores(ranker.plain.vectors)[:, number] - always
    order = ranker.plain.ids[np.argsort(-expected, kind="stable")].tolist()
    found = collection.search_word("grün", 99)
    tagged = {number for number, names in collection.labels.all().items() if "grün" in names}
    scaled = (expected - expected.mean()) / (expected.max() - expected.mean())
    fits = dict(zip(ranker.plain.ids.tolist(), scaled, strict=True))
    assert [match.id for match in found] == [
        *(number for number in order if number in tagged),
        *(number for number in order if number not in tagged and fits[number] > 0),
    ]
    for match in found:
        sure = 1 if match.id in tagged else fits[match.id]
        assert match.score == pytest.approx(sure, abs=1e-5)
        assert match.source == ("given" if match.id in tagged else "learned")
    assert collection.search_word("GRU\u0308N", 99) == found
    assert collection.search_word("grün", 10**15) == found
    collection.remove([found[0].id])
    assert [m.id for m in collection.search_word("grün", 8)] == [m.id for m in found[1:9]]


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("grüm", r"has not learned the word 'grüm' \(it knows 7\)\. Did you mean 'grün'\?"),
        ("nr 1", "Did you mean 'Nr. 1'"),
        ("", "Learn it first"),
        ("x" * 10_000, r"'x{70,80}"),
        (3, "a word is text; got 3"),
    ],
)
def test_a_word_never_learned_is_told_with_those_close_to_it(collection, word, why):
    learn(collection)
    with pytest.raises(InvalidInput, match=why) as told:
        collection.words.neighbours(word)
    assert len(str(told.value)) < 400


def test_words_and_their_neighbours(collection):
    learn(collection)
    known = collection.words.learned()
    assert known == {"rot": 8, "grün": 8, "blau": 8, **{f"Nr. {n}": 4 for n in range(4)}}
    near = collection.words.neighbours("ROT", 3)
    assert len(near) == 3
    assert "rot" not in dict(near)
    assert [cosine for _, cosine in near] == sorted((c for _, c in near), reverse=True)


def test_before_any_words_the_remedy_is_told(collection, pictures):
    collection.learn(clicks=clicks(collection), settings=QUICK)
    for ask in (
        lambda: collection.words.tag([pictures]),
        lambda: collection.words.neighbours("rot"),
        collection.words.learned,
    ):
        with pytest.raises(CollectionError, match=r"no annotator yet.*learn --labels FILE"):
            ask()
    with pytest.raises(CollectionError, match=r"no start words.*--model lite0"):
        collection.words.tag([pictures])
    with pytest.raises(InvalidInput, match="no trained model to evaluate"):
        collection.models.evaluate_words()


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_k_is_checked(collection, pictures, k):
    learn(collection)
    for ask in (
        lambda: collection.words.tag([pictures], k),
        lambda: collection.search_word("rot", k),
        lambda: collection.words.neighbours("rot", k),
    ):
        with pytest.raises(InvalidInput, match="k must be a whole number from 1"):
            ask()


@pytest.mark.parametrize("least", [-0.1, 1.1, float("nan")])
def test_confidence_is_checked_before_anything_is_read(collection, tmp_path, least):
    learn(collection)
    collection.features["colours"].record = lambda image: 1 / 0
    foreign = picture(tmp_path / "fremd.png", (9, 9, 9), 1)
    with pytest.raises(InvalidInput, match="min_confidence must be from 0 to 1"):
        collection.words.tag([foreign], min_confidence=least)


def test_only_tags_that_are_sure(tmp_path):
    for number in range(160):
        colour = [*PALETTE.values()][number % 2]
        picture(tmp_path / "p" / f"{number}.png", colour, number)
    with Collection.create(tmp_path / "c", features=[Colours()], gate=OPEN) as collection:
        collection.add([tmp_path / "p"])
        learn(collection, {f"{n}.png": ["rot", "grün"][n % 2] for n in range(150)})
        every = collection.words.tag([tmp_path / "p"], min_confidence=0)
        likely = collection.words.tag([tmp_path / "p"])
        sure = collection.words.tag([tmp_path / "p"], min_confidence=0.8)
        assert all(len(picture.tags) == 2 for picture in every.pictures)
        for one, other in zip(every.pictures, sure.pictures, strict=True):
            assert other.tags == tuple(tag for tag in one.tags if tag.confidence >= 0.8)
        for one, other in zip(every.pictures, likely.pictures, strict=True):
            assert other.tags == tuple(tag for tag in one.tags if tag.confidence >= 0.5)
        assert sum(len(picture.tags) == 1 for picture in sure.pictures) > 140


def test_sparse_vectors_are_tagged_too(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "p").mkdir()
    for number in range(12):
        low = 0 if number % 2 else 128
        pixels = rng.integers(low, low + 128, (96, 192, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "p" / f"{number}.png")
    feature = Visterms(dimension=16, colours=4)
    with Collection.create(tmp_path / "c", features=[feature], gate=OPEN) as collection:
        collection.add([tmp_path / "p" / f"{n}.png" for n in range(10)])
        named = {f"{n}.png": ["dunkel" if n % 2 else "hell"] for n in range(10)}
        assert learn(collection, named).words.published
        found = {
            one.path.name: one.tags[0].word
            for one in collection.words.tag([tmp_path / "p"]).pictures
        }
        assert (found["10.png"], found["11.png"]) == ("hell", "dunkel")
        best = collection.search_word("hell", 3)
        assert {int(match.path.stem) % 2 for match in best} == {0}


def test_damaged_words_leave_searches_by_pictures(collection, pictures):
    learn(collection)
    learn(collection)
    (collection.path / "models" / "4.safetensors").write_bytes(b"damaged")
    with Collection.open(collection.path, features=[Colours()]) as again:
        assert len(again.search(1, 9)) == 9
        for ask in (
            lambda: again.words.tag([pictures]),
            again.words.learned,
            again.models.evaluate_words,
        ):
            with pytest.raises(DamagedFile):
                ask()
        assert again.rollback() == InUse(1, 2)
        assert again.words.learned()


def test_words_of_other_vectors_are_refused(collection):
    learn(collection)
    file = collection.path / "models" / "2.safetensors"
    ANNOTATORS.load(file).save(file, fingerprint="0" * 32)
    with (
        Collection.open(collection.path, features=[Colours()]) as again,
        pytest.raises(FingerprintMismatch),
    ):
        again.words.learned()


def test_a_reader_sees_words_at_once(collection):
    with Collection.open(collection.path, features=[Colours()]) as reader:
        with pytest.raises(CollectionError, match="no annotator"):
            reader.words.learned()
        learn(collection)
        assert reader.words.learned() == collection.words.learned()
        reader.search_word("rot")
        more = {path: [*names, "Bild"][-2:] for path, names in words(collection).items()}
        assert learn(collection, more).words.published
        assert reader.words.learned() == collection.words.learned()
        assert "Bild" in reader.words.learned()
        collection.rollback()
        assert reader.words.learned() == collection.words.learned()


def test_a_reader_goes_on_when_a_writer_cleans_up_under_it(collection, monkeypatch):
    learn(collection)
    load, learned = parts.Parts.annotator, []
    with Collection.open(collection.path, features=[Colours()]) as reader:

        def late(self, number, fingerprint):
            if not learned:
                learned.append(number)
                for _ in range(2):
                    learn(collection)
                collection.add([])
            return load(self, number, fingerprint)

        current_ranker(reader)
        monkeypatch.setattr(parts.Parts, "annotator", late)
        found = reader.words.learned()
    assert learned == [2]
    assert found == collection.words.learned()

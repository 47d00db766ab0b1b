import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput, NotFitted
from lookalike.features import visterms as module
from lookalike.features.visterms import Visterms, blocks_in, first_size, level_sizes
from tests.features.cores import one_core
from tests.limits import set_limits as set_limits_of
from tests.reference import visterms as slow


def noise(seed, width, height):
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8))


def drawing(seed, width, height):
    """Flat areas, edges and a ramp: many equal neighbours, as in real pictures."""
    rng = np.random.default_rng(seed)
    pixels = np.full((height, width, 3), rng.integers(0, 256, 3), np.uint8)
    pixels[:, width // 2 :, 0] = np.linspace(0, 255, width - width // 2).astype(np.uint8)
    for _ in range(6):
        y, x = rng.integers(0, height), rng.integers(0, width)
        pixels[y : y + rng.integers(2, 40), x : x + rng.integers(2, 40)] = rng.integers(0, 256, 3)
    return Image.fromarray(pixels)


def pictures():
    return [drawing(seed, 300, 220) for seed in range(8)] + [noise(9, 200, 200)]


@pytest.fixture(scope="module", autouse=True)
def _few_pixels():
    with pytest.MonkeyPatch.context() as patch:
        set_limits_of(patch, sample_pixels=5000)
        yield


@pytest.fixture(scope="module")
def fitted(_few_pixels):
    return Visterms(dimension=40, colours=6).fit(pictures())


def counted(rgb, palette):
    keys = module._colour_keys(np.asarray(palette, np.uint8))
    columns, rows = blocks_in(rgb.shape[1], rgb.shape[0])
    cells = np.zeros((rows + 1, columns + 1, 59 + len(keys)), np.uint16)
    module.count_patterns(rgb, module.UNIFORM, cells)
    module.count_colours(rgb, keys, 59, cells)
    return cells


class TestReference:
    @pytest.mark.parametrize("make", [noise, drawing])
    @pytest.mark.parametrize("size", [(96, 64), (71, 97)])
    def test_blocks_of_one_level_equal_the_slow_twin(self, make, size):
        rgb = np.asarray(make(1, *size)).copy()
        palette = np.random.default_rng(2).integers(0, 256, (20, 3), dtype=np.uint8)
        cells = counted(rgb, palette).astype(float)
        blocks = cells[:-1, :-1] + cells[:-1, 1:] + cells[1:, :-1] + cells[1:, 1:]
        expected = slow.block_descriptors(rgb, palette)
        np.testing.assert_array_equal(blocks.reshape(expected.shape) / 4096, expected)

    def test_a_whole_picture_equals_the_slow_twin(self, fitted):
        image = drawing(3, 160, 128)
        assert level_sizes(*image.size, 1024) == [(160, 128)]
        blocks = slow.block_descriptors(np.asarray(image), fitted.palette_)
        words = [slow.nearest_word(block, fitted.codebook_) for block in blocks]
        assert fitted.visterms(image).tolist() == words
        row = fitted.describe([image]).toarray()[0]
        np.testing.assert_allclose(row, slow.weigh(words, fitted.idf_), atol=1e-7)

    def test_levels_are_described_one_by_one(self, fitted):
        image = drawing(4, 320, 256)
        sizes = level_sizes(*image.size, 1024)
        assert sizes == [(320, 256), (256, 205), (205, 164), (164, 131)]
        words, level = [], image
        for size in sizes:
            level = level.resize(size, Image.Resampling.BILINEAR) if level.size != size else level
            cells = counted(np.asarray(level).copy(), fitted.palette_).astype(float)
            blocks = cells[:-1, :-1] + cells[:-1, 1:] + cells[1:, :-1] + cells[1:, 1:]
            flat = blocks.reshape(-1, blocks.shape[2]) / 4096
            words += [slow.nearest_word(block, fitted.codebook_) for block in flat]
        assert fitted.visterms(image).tolist() == words

    def test_colours_between_two_go_to_the_first(self):
        rgb = np.full((64, 64, 3), 10, np.uint8)
        counts = counted(rgb, [[10, 10, 12], [10, 10, 8], [10, 12, 10]])[..., 59:]
        assert counts.sum(axis=(0, 1)).tolist() == [4096, 0, 0]

    def test_colours_are_exact_with_64_extreme_ones(self):
        rng = np.random.default_rng(0)
        palette = rng.choice([0, 1, 254, 255], (64, 3)).astype(np.uint8)
        rgb = rng.choice([0, 1, 127, 128, 254, 255], (64, 64, 3)).astype(np.uint8)
        counts = counted(rgb, palette)[..., 59:].sum(axis=(0, 1))
        expected = [slow.nearest_colour(pixel, palette) for pixel in rgb.reshape(-1, 3)]
        assert counts.tolist() == np.bincount(expected, minlength=64).tolist()

    def test_there_are_58_uniform_codes(self):
        assert module.UNIFORM.tolist() == [slow.uniform_bin(code) for code in range(256)]
        assert (module.UNIFORM == 58).sum() == 256 - 58

    def test_idf_equals_the_slow_twin(self, fitted):
        words = [set(fitted.visterms(image).tolist()) for image in pictures()]
        np.testing.assert_allclose(fitted.idf_, slow.idf(words, 40), atol=1e-6)


class TestProperties:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 100))
    @settings(max_examples=15)
    def test_patterns_do_not_change_with_brightness(self, seed, brighter):
        rgb = np.random.default_rng(seed).integers(0, 156, (70, 80, 3), dtype=np.uint8)
        lifted = (rgb + brighter).astype(np.uint8)
        np.testing.assert_array_equal(
            counted(rgb, [[0, 0, 0]]), counted(lifted, [[0, 0, 0]]), strict=True
        )

    @given(st.integers(1, 6000), st.integers(1, 6000), st.integers(352, 2000))
    @settings(max_examples=300)
    def test_first_level(self, width, height, longest):
        columns, rows = first_size(width, height, longest)
        assert max(columns, rows) <= longest
        assert np.prod(blocks_in(columns, rows)) >= 10
        if max(width, height) <= longest and np.prod(blocks_in(width, height)) >= 10:
            assert (columns, rows) == (width, height)
        if max(width, height) * 64 <= min(width, height) * longest:
            assert abs(columns * height - rows * width) <= max(width, height)

    @given(st.integers(1, 3000), st.integers(1, 3000))
    @settings(max_examples=100)
    def test_levels(self, width, height):
        sizes = level_sizes(width, height, 1024)
        assert all(np.prod(blocks_in(*size)) >= 10 for size in sizes)
        following = [round(side / 1.25 ** len(sizes)) for side in sizes[0]]
        assert np.prod(blocks_in(*following)) < 10

    @pytest.mark.parametrize(
        ("size", "blocks"),
        [((64, 64), 1), ((95, 64), 1), ((96, 64), 2), ((640, 480), 266), ((63, 900), 0)],
    )
    def test_blocks_by_formula(self, size, blocks):
        assert np.prod(blocks_in(*size)) == blocks

    @pytest.mark.parametrize(
        "size", [(1, 1), (5000, 3), (3, 5000), (64, 64), (63, 65), (2000, 1500)]
    )
    @pytest.mark.parametrize("make", [noise, drawing, lambda _, *size: Image.new("RGB", size)])
    def test_every_picture_gets_a_unit_row(self, fitted, size, make):
        image = make(5, *size) if min(size) > 1 or make is not drawing else noise(5, *size)
        row = fitted.describe([image])
        assert row.shape == (1, 40)
        assert row.dtype == np.float32
        assert np.isfinite(row.data).all()
        assert (row.data > 0).all()
        assert row.has_canonical_format
        np.testing.assert_allclose(np.linalg.norm(row.toarray()), 1, atol=1e-6)

    def test_no_pictures_give_no_rows(self, fitted):
        rows = fitted.describe([])
        assert rows.shape == (0, 40)
        assert rows.dtype == np.float32

    def test_an_all_black_picture_is_one_word(self, fitted):
        assert fitted.describe([Image.new("RGB", (256, 256))]).nnz == 1

    def test_the_picture_is_left_as_it_was(self, fitted):
        image = drawing(1, 300, 220)
        before = image.tobytes()
        fitted.describe([image])
        assert image.tobytes() == before


class TestRepeats:
    def test_a_seed_gives_the_same_codebook(self, fitted):
        assert Visterms(dimension=40, colours=6).fit(pictures()).fingerprint == fitted.fingerprint

    def test_another_seed_gives_another(self, fitted):
        other = Visterms(dimension=40, colours=6, random_state=1).fit(pictures())
        assert other.fingerprint != fitted.fingerprint

    def test_one_core_gives_the_same_codebook(self, fitted):
        with one_core():
            alone = Visterms(dimension=40, colours=6).fit(pictures())
        assert alone.fingerprint == fitted.fingerprint

    def test_threads_and_batches_change_nothing(self, fitted):
        images = pictures()
        whole = fitted.describe(images).toarray()
        with ThreadPoolExecutor(4) as pool:
            rows = list(pool.map(lambda image: fitted.describe([image]).toarray()[0], images * 3))
        np.testing.assert_array_equal(rows, np.concatenate([whole] * 3))

    def test_describing_starts_no_thread(self, fitted):
        before = threading.active_count()
        fitted.describe(pictures()[:1])
        assert threading.active_count() == before


class TestFit:
    def test_pictures_are_taken_one_at_a_time(self):
        class Lazy:
            asked = 0

            def __len__(self):
                return 9

            def __getitem__(self, at):
                Lazy.asked += 1
                return pictures()[at]

        assert Visterms(dimension=5).fit(Lazy()).dimension == 5
        assert Lazy.asked == 27

    def test_the_sample_is_bounded(self, set_limits):
        set_limits(sample_pictures=3, sample_blocks=6)
        with pytest.raises(
            InvalidInput, match=r"different blocks in the training pictures, [3-6];"
        ):
            Visterms(dimension=30, colours=2).fit(pictures())

    def test_progress_rises_to_the_total(self):
        seen = []
        Visterms(dimension=5, colours=2).fit(
            pictures(), progress=lambda done, total: seen.append((done, total))
        )
        done = [one for one, _ in seen]
        assert done == sorted(done)
        assert seen[-1][0] == seen[-1][1]

    def test_pictures_of_one_colour_have_a_palette_of_one(self):
        images = [Image.new("RGB", (200, 200), (9, 8, 7))] * 3
        one = Visterms(dimension=1).fit(images)
        assert one.palette_.tolist() == [[9, 8, 7]]
        assert one.idf_.tolist() == [0]
        assert one.describe(images).toarray().tolist() == [[1]] * 3

    def test_a_word_in_no_picture_weighs_as_in_one(self, monkeypatch):
        def with_a_far_word(rows, start, tell):
            words = module_kmeans(rows, start, tell)
            if words.shape[1] > 3:
                words[2] = 1000
            return words

        module_kmeans = module.kmeans
        monkeypatch.setattr(module, "kmeans", with_a_far_word)
        learned = Visterms(dimension=5, colours=2).fit(pictures())
        assert all(2 not in learned.visterms(image) for image in pictures())
        assert learned.idf_[2] == np.float32(np.log(9))

    def test_too_few_blocks_say_how_many_there_are(self):
        with pytest.raises(InvalidInput, match=r"different blocks.*, 1; got 2\. Give more"):
            Visterms(dimension=2).fit([Image.new("RGB", (200, 200))])

    def test_a_failed_fit_leaves_what_was_learned(self):
        learned = Visterms(dimension=5, colours=2).fit(pictures())
        before = learned.fingerprint
        with pytest.raises(InvalidInput):
            learned.fit([Image.new("RGB", (200, 200))])
        assert learned.fingerprint == before

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"dimension": 0}, "dimension must be a whole number from 1 to 1000000; got 0"),
            ({"dimension": 2.5}, "dimension must"),
            ({"dimension": True}, "dimension must"),
            ({"colours": 65}, "colours must be a whole number from 1 to 64; got 65"),
            ({"longest_side": 351}, "longest_side must be a whole number from 352"),
            ({"random_state": -1}, "random_state must"),
        ],
    )
    def test_bad_settings_are_named(self, settings, message):
        with pytest.raises(InvalidInput, match=message):
            Visterms(**settings).fit(pictures())

    @pytest.mark.parametrize(
        ("images", "message"),
        [
            ([], "at least one picture"),
            (iter(()), "needs a sequence; got"),
            ([Image.new("L", (200, 200))], "mode RGB.*got mode L of 200 × 200"),
            ([Image.new("RGB", (0, 9))], "got mode RGB of 0 × 9"),
            (["a.jpg"], "got str"),
        ],
    )
    def test_bad_pictures_are_named(self, images, message):
        with pytest.raises(InvalidInput, match=message):
            Visterms(dimension=2).fit(images)


class TestKeeping:
    def test_round_trip(self, fitted, tmp_path):
        fitted.save(tmp_path / "v")
        loaded = Visterms.load(tmp_path / "v")
        assert loaded.fingerprint == fitted.fingerprint
        assert (loaded.dimension, loaded.colours, loaded.decode_side) == (40, 6, 1024)
        images = pictures()
        np.testing.assert_array_equal(
            loaded.describe(images).toarray(), fitted.describe(images).toarray()
        )

    def test_fingerprint_names_the_settings(self, fitted, tmp_path):
        other = Visterms(dimension=40, colours=6, longest_side=1000)
        other._keep(fitted.palette_, fitted.codebook_, fitted.idf_)
        assert other.fingerprint != fitted.fingerprint

    @pytest.mark.parametrize("call", ["fingerprint", "describe", "record", "save", "visterms"])
    def test_nothing_before_fit(self, call, tmp_path):
        asked = {"describe": pictures(), "save": tmp_path / "v"}
        with pytest.raises(NotFitted, match="call fit"):
            getattr(Visterms(), call)(asked.get(call, pictures()[0]))

    @pytest.mark.parametrize(
        "break_it",
        [
            lambda arrays, manifest: arrays.pop("idf"),
            lambda arrays, manifest: arrays.update(idf=arrays["idf"][:-1].copy()),
            lambda arrays, manifest: arrays.update(idf=arrays["idf"] + 1),
            lambda arrays, manifest: arrays.update(palette=arrays["palette"].astype(float)),
            lambda arrays, manifest: arrays.update(codebook=arrays["codebook"].ravel()),
            lambda arrays, manifest: manifest["settings"].update(dimension="40"),
            lambda arrays, manifest: manifest["settings"].update(longest_side=1000),
            lambda arrays, manifest: manifest.pop("settings"),
        ],
    )
    def test_damaged_files_are_refused(self, fitted, tmp_path, break_it):
        fitted.save(tmp_path / "v")
        arrays, manifest = load_arrays(tmp_path / "v", kind="visterms/2")
        break_it(arrays, manifest)
        save_arrays(tmp_path / "v", arrays, kind="visterms/2", manifest=manifest)
        with pytest.raises(DamagedFile, match=r"not a complete Visterms|Index again"):
            Visterms.load(tmp_path / "v")

"""What every feature must hold: a test class that each feature's tests inherit."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

from lookalike.core.arrays import load_arrays, save_arrays, stored_manifest
from lookalike.core.errors import DamagedFile, FingerprintMismatch, NotFitted
from lookalike.features import FEATURES, Feature

ROUNDING = 1e-3
"""What float16 may cost a number of a unit vector."""


def pictures(count=5):
    """RGB pictures with flat areas and noise, of several shapes."""
    rng = np.random.default_rng(7)
    made = []
    for number in range(count):
        height, width = 130 + 20 * number, 220 - 15 * number
        pixels = np.full((height, width, 3), rng.integers(20, 256, 3), np.uint8)
        pixels[: height // 2] = rng.integers(0, 256, (height // 2, width, 3))
        made.append(Image.fromarray(pixels))
    return made


def full(vectors):
    """Return vectors as a dense array."""
    return vectors.toarray() if sp.issparse(vectors) else vectors


class FeatureContract:
    """Override ``feature``; ``unfitted`` too if it learns, ``registry`` if it is not in ours."""

    @pytest.fixture
    def feature(self):
        """Return a feature that is fitted."""
        raise NotImplementedError

    @pytest.fixture
    def unfitted(self):
        """Return the same before it is fitted; None if there is nothing to learn."""
        return

    @pytest.fixture
    def registry(self):
        return FEATURES

    def test_it_is_registered_under_its_name(self, feature, registry):
        assert isinstance(feature, Feature)
        assert feature.name in registry.names
        assert registry.get(feature.name) is type(feature)

    def test_it_has_a_fingerprint(self, feature):
        assert feature.is_fitted is True
        assert len(feature.fingerprint) == 32
        assert set(feature.fingerprint) <= set("0123456789abcdef")

    def test_a_record_is_bytes_and_always_the_same(self, feature):
        for image in pictures():
            record = feature.record(image)
            assert type(record) is bytes
            assert feature.record(image.copy()) == record

    def test_the_picture_is_left_as_it_was(self, feature):
        for image in pictures():
            before = image.copy()
            feature.record(image)
            assert (image.mode, image.size) == (before.mode, before.size)
            assert image.tobytes() == before.tobytes()

    def test_records_become_rows_of_unit_length(self, feature):
        vectors = feature.vectors([feature.record(image) for image in pictures()])
        assert vectors.shape == (5, feature.dimension)
        assert vectors.dtype == np.float32
        assert sp.issparse(vectors) == feature.sparse
        if feature.sparse:
            assert vectors.has_canonical_format
        else:
            assert vectors.flags.c_contiguous
        np.testing.assert_allclose(np.linalg.norm(full(vectors), axis=1), 1, atol=ROUNDING)

    def test_records_hold_what_describe_tells(self, feature):
        described = feature.describe(pictures())
        vectors = feature.vectors([feature.record(image) for image in pictures()])
        assert described.dtype == np.float32
        assert sp.issparse(described) == feature.sparse
        np.testing.assert_allclose(full(vectors), full(described), atol=ROUNDING)

    def test_pictures_that_differ_are_told_apart(self, feature):
        rows = full(feature.vectors([feature.record(image) for image in pictures()]))
        assert len(np.unique(rows, axis=0)) > 1

    def test_no_pictures_give_no_rows(self, feature):
        assert feature.describe([]).shape == (0, feature.dimension)
        assert feature.vectors([]).shape == (0, feature.dimension)

    def test_a_row_does_not_depend_on_its_company(self, feature):
        records = [feature.record(image) for image in pictures()]
        together, described = full(feature.vectors(records)), full(feature.describe(pictures()))
        backwards = full(feature.vectors(records[::-1]))[::-1]
        np.testing.assert_array_equal(backwards, together)
        for row, image in enumerate(pictures()):
            np.testing.assert_array_equal(full(feature.vectors([records[row]]))[0], together[row])
            np.testing.assert_array_equal(full(feature.describe([image]))[0], described[row])

    def test_threads_may_share_it(self, feature):
        images = pictures()
        alone = [feature.record(image) for image in images]
        rows = full(feature.vectors(alone))
        barrier = threading.Barrier(4)

        def work(_):
            barrier.wait()
            records = [feature.record(image) for image in images]
            return records, full(feature.vectors(records))

        with ThreadPoolExecutor(4) as pool:
            for records, vectors in pool.map(work, range(4)):
                assert records == alone
                np.testing.assert_array_equal(vectors, rows)

    @pytest.mark.parametrize(
        "damage",
        [
            lambda record: record[:-1],
            lambda record: record + b"\x00",
            lambda record: b"\xff" * len(record),
        ],
        ids=["cut off", "too long", "nonsense"],
    )
    def test_a_damaged_record_is_refused(self, feature, damage):
        record = feature.record(pictures(1)[0])
        with pytest.raises(ValueError):
            feature.vectors([record, damage(record), record])

    def test_it_comes_back_from_disk(self, feature, registry, tmp_path):
        path = tmp_path / "feature"
        feature.save(path)
        for load in (type(feature).load, registry.load):
            back = load(str(path))
            assert type(back) is type(feature)
            assert (back.fingerprint, back.fingerprint_) == (feature.fingerprint,) * 2
            assert (back.dimension, back.decode_side) == (feature.dimension, feature.decode_side)
            assert back.settings() == feature.settings()
            image = pictures(1)[0]
            assert back.record(image) == feature.record(image)
            back.save(path)

    def test_its_file_has_the_common_layout(self, feature, tmp_path):
        feature.save(tmp_path / "feature", fingerprint=feature.fingerprint)
        kind = stored_manifest(tmp_path / "feature")["kind"]
        assert kind == feature.file_kind
        assert kind.partition("/")[0] == feature.name
        _, manifest = load_arrays(tmp_path / "feature", kind=kind)
        assert manifest["fingerprint"] == feature.fingerprint
        assert {"settings", "learned"} <= manifest.keys()
        with pytest.raises(FingerprintMismatch):
            feature.save(tmp_path / "feature", fingerprint="0" * 32)

    @pytest.mark.parametrize("harm", ["nothing", "text", "cut off", "kind", "settings", "other"])
    def test_a_damaged_or_foreign_file_is_refused(self, feature, tmp_path, harm):
        path = tmp_path / "feature"
        feature.save(path)
        kind = feature.file_kind
        arrays, manifest = load_arrays(path, kind=kind)
        if harm == "nothing":
            path.unlink()
        elif harm == "text":
            path.write_text("no feature")
        elif harm == "cut off":
            path.write_bytes(path.read_bytes()[:-1])
        elif harm == "kind":
            save_arrays(path, arrays, kind="another/1", manifest=manifest)
        elif harm == "settings":
            save_arrays(path, arrays, kind=kind, manifest={**manifest, "settings": {"no": 1}})
        else:
            save_arrays(path, arrays, kind=kind, manifest={**manifest, "fingerprint": "0" * 32})
        remedy = "Index again" if harm == "other" else "."
        with pytest.raises(DamagedFile, match=remedy):
            type(feature).load(path)

    def test_fit_returns_the_feature(self, feature, unfitted):
        before = feature.fingerprint
        learner = feature if unfitted is None else unfitted
        assert learner.fit(pictures()) is learner
        assert learner.is_fitted
        assert feature.fingerprint == before
        assert learner.describe(pictures()).shape == (5, learner.dimension)

    def test_before_fit_it_is_known_by_its_settings(self, unfitted, registry):
        if unfitted is None:
            pytest.skip("there is nothing to learn")
        settings = json.loads(json.dumps(unfitted.settings()))
        again = registry.make(unfitted.name, settings)
        assert type(again) is type(unfitted)
        assert again.settings() == unfitted.settings()
        assert again.dimension == unfitted.dimension
        assert again.fit(pictures()).fingerprint == unfitted.fit(pictures()).fingerprint

    def test_before_fit_it_says_so(self, unfitted, tmp_path):
        if unfitted is None:
            pytest.skip("there is nothing to learn")
        assert unfitted.is_fitted is False
        for ask in (
            lambda: unfitted.fingerprint,
            lambda: unfitted.record(pictures(1)[0]),
            lambda: unfitted.describe(pictures()),
            lambda: unfitted.save(tmp_path / "feature"),
        ):
            with pytest.raises(NotFitted):
                ask()
        assert list(tmp_path.iterdir()) == []

"""What every feature must do."""

import copy
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from PIL import Image

from lookalike.checks.contract import Contract, NotApplicable, check_rules, refused
from lookalike.core.arrays import load_arrays, save_arrays, stored_manifest
from lookalike.core.errors import DamagedFile, FingerprintMismatch, NotFitted
from lookalike.core.registry import Registry
from lookalike.core.vectors import dense
from lookalike.features import FEATURES, Feature

ROUNDING = 1e-3
"""What float16 may cost a number of a unit vector."""


def check_feature(
    feature: Feature, *, unfitted: Feature | None = None, registry: Registry[Feature] = FEATURES
) -> None:
    """Raise AssertionError unless a feature does what every one must do.

    Parameters
    ----------
    feature : Feature
        Fitted, if it learns.
    unfitted : Feature, optional
        One not yet fitted, if it learns; small enough for five pictures.
    registry : Registry
        Where it is registered.
    """
    check_rules(lambda: FeatureContract(feature, unfitted, registry))


def pictures(count: int = 5) -> list[Image.Image]:
    """Return RGB pictures with flat areas and noise, of several shapes."""
    rng = np.random.default_rng(7)
    made = []
    for number in range(count):
        height, width = 130 + 20 * number, 220 - 15 * number
        pixels = np.full((height, width, 3), rng.integers(20, 256, 3), np.uint8)
        pixels[: height // 2] = rng.integers(0, 256, (height // 2, width, 3))
        made.append(Image.fromarray(pixels))
    return made


class FeatureContract(Contract):
    """What every feature must do."""

    def __init__(
        self, feature: Feature, unfitted: Feature | None, registry: Registry[Feature]
    ) -> None:
        self.feature: Any = feature
        self.unfitted: Any = copy.deepcopy(unfitted)
        self.registry: Any = registry

    def it_is_registered_under_its_name(self) -> None:
        assert isinstance(self.feature, Feature)
        assert self.feature.name in self.registry.names
        assert self.registry.get(self.feature.name) is type(self.feature)

    def it_has_a_fingerprint(self) -> None:
        assert self.feature.is_fitted is True
        assert len(self.feature.fingerprint) == 32
        assert set(self.feature.fingerprint) <= set("0123456789abcdef")

    def a_record_is_bytes_and_always_the_same(self) -> None:
        for image in pictures():
            record = self.feature.record(image)
            assert type(record) is bytes
            assert self.feature.record(image.copy()) == record

    def the_picture_is_left_as_it_was(self) -> None:
        for image in pictures():
            before = image.copy()
            self.feature.record(image)
            assert (image.mode, image.size) == (before.mode, before.size)
            assert image.tobytes() == before.tobytes()

    def records_become_rows_of_unit_length(self) -> None:
        vectors = self.feature.vectors([self.feature.record(image) for image in pictures()])
        assert vectors.shape == (5, self.feature.dimension)
        assert vectors.dtype == np.float32
        assert sp.issparse(vectors) == self.feature.sparse
        if self.feature.sparse:
            assert vectors.has_canonical_format
        else:
            assert vectors.flags.c_contiguous
        np.testing.assert_allclose(np.linalg.norm(dense(vectors), axis=1), 1, atol=ROUNDING)

    def records_hold_what_describe_tells(self) -> None:
        described = self.feature.describe(pictures())
        vectors = self.feature.vectors([self.feature.record(image) for image in pictures()])
        assert described.dtype == np.float32
        assert sp.issparse(described) == self.feature.sparse
        np.testing.assert_allclose(dense(vectors), dense(described), atol=ROUNDING)

    def pictures_that_differ_are_told_apart(self) -> None:
        rows = dense(self.feature.vectors([self.feature.record(image) for image in pictures()]))
        assert len(np.unique(rows, axis=0)) > 1

    def no_pictures_give_no_rows(self) -> None:
        assert self.feature.describe([]).shape == (0, self.feature.dimension)
        assert self.feature.vectors([]).shape == (0, self.feature.dimension)

    def a_row_does_not_depend_on_its_company(self) -> None:
        records = [self.feature.record(image) for image in pictures()]
        together, described = (
            dense(self.feature.vectors(records)),
            dense(self.feature.describe(pictures())),
        )
        backwards = dense(self.feature.vectors(records[::-1]))[::-1]
        np.testing.assert_array_equal(backwards, together)
        for row, image in enumerate(pictures()):
            np.testing.assert_array_equal(
                dense(self.feature.vectors([records[row]]))[0], together[row]
            )
            np.testing.assert_array_equal(dense(self.feature.describe([image]))[0], described[row])

    def threads_may_share_it(self) -> None:
        images = pictures()
        alone = [self.feature.record(image) for image in images]
        rows = dense(self.feature.vectors(alone))
        barrier = threading.Barrier(4)

        def work(_: int) -> tuple[list[bytes], Any]:
            barrier.wait()
            records = [self.feature.record(image) for image in images]
            return records, dense(self.feature.vectors(records))

        with ThreadPoolExecutor(4) as pool:
            for records, vectors in pool.map(work, range(4)):
                assert records == alone
                np.testing.assert_array_equal(vectors, rows)

    def a_damaged_record_is_refused(self) -> None:
        damages: tuple[Callable[[bytes], bytes], ...] = (
            lambda record: record[:-1],
            lambda record: record + b"\x00",
            lambda record: b"\xff" * len(record),
        )
        for damage in damages:
            record = self.feature.record(pictures(1)[0])
            with refused(ValueError):
                self.feature.vectors([record, damage(record), record])

    def it_comes_back_from_disk(self) -> None:
        path = self.folder / "feature"
        self.feature.save(path)
        for load in (type(self.feature).load, self.registry.load):
            back = load(str(path))
            assert type(back) is type(self.feature)
            assert (back.fingerprint, back.fingerprint_) == (self.feature.fingerprint,) * 2
            assert (back.dimension, back.decode_side) == (
                self.feature.dimension,
                self.feature.decode_side,
            )
            assert back.settings() == self.feature.settings()
            image = pictures(1)[0]
            assert back.record(image) == self.feature.record(image)
            back.save(path)

    def its_file_has_the_common_layout(self) -> None:
        self.feature.save(self.folder / "feature", fingerprint=self.feature.fingerprint)
        kind = stored_manifest(self.folder / "feature")["kind"]
        assert kind == self.feature.file_kind
        assert kind.partition("/")[0] == self.feature.name
        _, manifest = load_arrays(self.folder / "feature", kind=kind)
        assert manifest["fingerprint"] == self.feature.fingerprint
        assert {"settings", "learned"} <= manifest.keys()
        with refused(FingerprintMismatch):
            self.feature.save(self.folder / "feature", fingerprint="0" * 32)

    def a_damaged_or_foreign_file_is_refused(self) -> None:
        for harm in ("nothing", "text", "cut off", "kind", "settings", "other"):
            path = self.folder / "feature"
            self.feature.save(path)
            kind = self.feature.file_kind
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
            with refused(DamagedFile, remedy):
                type(self.feature).load(path)

    def fit_returns_the_feature(self) -> None:
        before = self.feature.fingerprint
        learner = self.feature if self.unfitted is None else self.unfitted
        assert learner.fit(pictures()) is learner
        assert learner.is_fitted
        assert self.feature.fingerprint == before
        assert learner.describe(pictures()).shape == (5, learner.dimension)

    def before_fit_it_is_known_by_its_settings(self) -> None:
        if self.unfitted is None:
            raise NotApplicable("there is nothing to learn")
        settings = json.loads(json.dumps(self.unfitted.settings()))
        again = self.registry.make(self.unfitted.name, settings)
        assert type(again) is type(self.unfitted)
        assert again.settings() == self.unfitted.settings()
        assert again.dimension == self.unfitted.dimension
        assert again.fit(pictures()).fingerprint == self.unfitted.fit(pictures()).fingerprint

    def before_fit_it_says_so(self) -> None:
        if self.unfitted is None:
            raise NotApplicable("there is nothing to learn")
        assert self.unfitted.is_fitted is False
        with refused(NotFitted):
            self.unfitted.fingerprint  # noqa: B018
        with refused(NotFitted):
            self.unfitted.record(pictures(1)[0])
        with refused(NotFitted):
            self.unfitted.describe(pictures())
        with refused(NotFitted):
            self.unfitted.save(self.folder / "feature")
        assert list(self.folder.iterdir()) == []

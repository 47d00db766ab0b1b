"""describe_files: in order, on threads, bounded, and never stopped by one bad file."""

import hashlib
import os
import threading
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import InvalidInput
from lookalike.features import (
    Described,
    Feature,
    Unchanged,
    describe_files,
    pack_vector,
    unpack_vectors,
)
from lookalike.images import Limits, Refused, decode


class Colour(Feature):
    """The mean colour of a picture; counts what happens to it."""

    name = "colour"
    dimension = 3
    decode_side = None
    fingerprint = "0" * 32

    def __init__(self, *, decode_side=None, delay=None, fail_at=None):
        self.decode_side = decode_side
        self.delay = delay or (lambda: 0)
        self.fail_at = fail_at
        self.sizes = []
        self.busy = self.most_busy = 0
        self.lock = threading.Lock()

    def record(self, image):
        with self.lock:
            self.sizes.append(image.size)
            self.busy += 1
            self.most_busy = max(self.busy, self.most_busy)
            failing = self.fail_at is not None and len(self.sizes) > self.fail_at
        if failing:
            raise RuntimeError("the feature broke")
        time.sleep(self.delay())
        with self.lock:
            self.busy -= 1
        return pack_vector(np.asarray(image).mean(axis=(0, 1)))

    def vectors(self, records):
        return unpack_vectors(records, 3, sparse=False)


def write_pictures(folder, count, *, size=(20, 10), ending="png"):
    paths = []
    for at in range(count):
        paths.append(folder / f"{at:03}.{ending}")
        Image.new("RGB", size, (at % 256, at // 256, 9)).save(paths[-1])
    return paths


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("describe")]


def test_outcomes_come_in_the_order_of_the_paths(tmp_path):
    paths = write_pictures(tmp_path, 60)
    rng = np.random.default_rng(0)
    feature = Colour(delay=lambda: float(rng.random()) * 0.01)
    outcomes = list(describe_files(paths, [feature], threads=4))
    assert [outcome.path for outcome in outcomes] == paths
    assert all(isinstance(outcome, Described) for outcome in outcomes)
    records = [outcome.records[0] for outcome in outcomes]
    assert feature.vectors(records).tolist() == [[at, 0, 9] for at in range(60)]
    facts = outcomes[5].facts
    assert facts.sha256 == hashlib.sha256(paths[5].read_bytes()).hexdigest()
    assert (facts.width, facts.height, facts.format) == (20, 10, "PNG")
    assert outcomes[5].thumbnail is None
    assert 1 < feature.most_busy <= 4


def test_bad_files_are_listed_and_the_run_goes_on(tmp_path):
    paths = write_pictures(tmp_path, 6)
    (tmp_path / "empty.jpg").write_bytes(b"")
    (tmp_path / "text.jpg").write_text("no picture")
    (tmp_path / "cut.png").write_bytes(paths[0].read_bytes()[:-30])
    (tmp_path / "folder.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    bad = ["empty.jpg", "text.jpg", "cut.png", "folder.png", "missing.png", "pipe.png"]
    mixed = [
        path for pair in zip(paths, bad, strict=True) for path in (pair[0], tmp_path / pair[1])
    ]
    outcomes = list(describe_files(mixed, [Colour()]))
    assert [outcome.path for outcome in outcomes] == mixed
    assert [type(outcome) for outcome in outcomes] == [Described, Refused] * 6
    assert all(outcome.reason for outcome in outcomes[1::2])


def test_limits_hold(tmp_path):
    paths = write_pictures(tmp_path, 1)
    assert isinstance(
        next(describe_files(paths, [Colour()], limits=Limits(max_pixels=199))), Refused
    )
    assert isinstance(next(describe_files(paths, [Colour()], limits=Limits(max_bytes=20))), Refused)
    assert isinstance(
        next(describe_files(paths, [Colour()], limits=Limits(max_pixels=200))), Described
    )


def test_a_known_picture_is_not_decoded(tmp_path):
    paths = write_pictures(tmp_path, 2)
    (tmp_path / "text.png").write_text("known, though no picture")
    hashes = {
        hashlib.sha256(path.read_bytes()).hexdigest() for path in (paths[0], tmp_path / "text.png")
    }
    feature = Colour()
    outcomes = list(
        describe_files([*paths, tmp_path / "text.png"], [feature], known=hashes.__contains__)
    )
    assert [type(outcome) for outcome in outcomes] == [Unchanged, Described, Unchanged]
    assert {outcomes[0].sha256, outcomes[2].sha256} == hashes
    assert len(feature.sizes) == 1


def test_an_error_of_the_feature_comes_through_and_ends_the_run(tmp_path):
    paths = write_pictures(tmp_path, 50)
    feature = Colour(fail_at=5)
    with pytest.raises(RuntimeError, match="the feature broke"):
        list(describe_files(paths, [feature], threads=2))
    assert len(feature.sizes) < 25
    assert not workers()


def test_a_picture_the_feature_refuses_is_listed_and_the_run_goes_on(tmp_path):
    class Choosy(Colour):
        def record(self, image):
            if image.getpixel((0, 0))[0] % 2:
                raise InvalidInput("Choosy: odd reds are not described.")
            return super().record(image)

    paths = write_pictures(tmp_path, 10)
    outcomes = list(describe_files(paths, [Choosy()], threads=2, thumbnail_side=8))
    assert [outcome.path for outcome in outcomes] == paths
    assert [type(outcome) for outcome in outcomes] == [Described, Refused] * 5
    assert outcomes[1] == Refused(paths[1], "Choosy: odd reds are not described.")


def test_an_error_of_the_caller_s_paths_comes_through(tmp_path):
    def paths():
        yield from write_pictures(tmp_path, 3)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(describe_files(paths(), [Colour()]))
    assert not workers()


def test_an_error_of_known_comes_through(tmp_path):
    with pytest.raises(ZeroDivisionError):
        list(describe_files(write_pictures(tmp_path, 3), [Colour()], known=lambda sha256: 1 / 0))


def test_closing_early_stops_the_threads(tmp_path):
    paths = write_pictures(tmp_path, 200)
    feature = Colour(delay=lambda: 0.02)
    outcomes = describe_files(paths, [feature], threads=2)
    assert next(outcomes).path == paths[0]
    outcomes.close()
    assert not workers()
    assert len(feature.sizes) < 20


def test_an_interrupt_in_the_reader_stops_the_threads(tmp_path):
    paths = write_pictures(tmp_path, 100)
    outcomes = describe_files(paths, [Colour(delay=lambda: 0.01)], threads=2)
    next(outcomes)
    with pytest.raises(KeyboardInterrupt):
        outcomes.throw(KeyboardInterrupt)
    assert not workers()


def test_nothing_runs_far_ahead_of_the_reader(tmp_path):
    (picture,) = write_pictures(tmp_path, 1)
    taken = 0

    def paths():
        nonlocal taken
        while True:
            taken += 1
            yield picture

    outcomes = describe_files(paths(), [Colour()], threads=2)
    for done in range(1, 30):
        next(outcomes)
        assert taken <= done + 2 * 4
    time.sleep(0.1)
    assert taken <= 29 + 2 * 4
    outcomes.close()


def test_nothing_starts_before_the_first_outcome_is_asked_for(tmp_path):
    feature = Colour()
    outcomes = describe_files(write_pictures(tmp_path, 3), [feature])
    time.sleep(0.05)
    assert not feature.sizes
    assert not workers()
    outcomes.close()


class Name(Colour):
    """The same, under another name in its records."""

    def record(self, image):
        return b"named " + super().record(image)


def test_several_features_describe_a_file_decoded_once(tmp_path):
    decoded = []

    def counting(*arguments, **options):
        decoded.append(options["side"])
        return decode(*arguments, **options)

    features = [Colour(decode_side=100), Name(decode_side=300), Colour(decode_side=200)]
    paths = write_pictures(tmp_path, 2, size=(800, 800), ending="jpg")
    for outcome in describe_files(paths, features, thumbnail_side=50, decode=counting):
        first, second, third = outcome.records
        assert second == b"named " + first
        assert third == first
    assert decoded == [300, 300]
    assert all(feature.sizes == [(400, 400)] * 2 for feature in features)
    decoded.clear()
    features[1].decode_side = None
    list(describe_files(paths, features, decode=counting))
    assert decoded == [None, None]


def test_a_picture_that_one_of_the_features_refuses_is_refused(tmp_path):
    class Never(Colour):
        def record(self, image):
            raise InvalidInput("Never: no.")

    (path,) = write_pictures(tmp_path, 1)
    assert list(describe_files([path], [Colour(), Never()])) == [Refused(path, "Never: no.")]


def test_no_feature_is_refused_at_once():
    with pytest.raises(InvalidInput, match="at least one feature"):
        describe_files([], [])


@pytest.mark.parametrize(
    ("decode_side", "thumbnail_side", "decoded"),
    [(None, None, 800), (100, None, 100), (100, 180, 200), (300, 50, 400), (None, 50, 800)],
)
def test_a_picture_is_decoded_no_larger_than_needed(tmp_path, decode_side, thumbnail_side, decoded):
    paths = write_pictures(tmp_path, 1, size=(800, 800), ending="jpg")
    feature = Colour(decode_side=decode_side)
    (outcome,) = describe_files(paths, [feature], thumbnail_side=thumbnail_side)
    assert feature.sizes == [(decoded, decoded)]
    assert (outcome.facts.width, outcome.facts.height) == (800, 800)
    if thumbnail_side:
        with Image.open(BytesIO(outcome.thumbnail)) as preview:
            assert preview.size == (thumbnail_side, thumbnail_side)


@pytest.mark.parametrize(
    "wrong", [{"threads": 0}, {"threads": 1.5}, {"thumbnail_side": 0}, {"thumbnail_side": 2.5}]
)
def test_impossible_settings_are_refused_at_once(wrong):
    with pytest.raises(InvalidInput, match="describe_files"):
        describe_files([], [Colour()], **wrong)


def test_paths_may_be_strings_and_none_is_fine(tmp_path):
    paths = [str(path) for path in write_pictures(tmp_path, 2)]
    assert [outcome.path for outcome in describe_files(paths, [Colour()])] == [
        Path(p) for p in paths
    ]
    assert list(describe_files([], [Colour()])) == []

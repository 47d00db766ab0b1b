import importlib
import sys
import types
from dataclasses import field

import numpy as np
import pytest

from lookalike.core.arrays import save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput, MissingPart, NotFitted
from lookalike.core.registry import Registry
from lookalike.core.stored import Stored, package_of, stored_whole, with_settings


@with_settings
class Shift(Stored):
    """Add what was learned.

    A second paragraph.
    """

    name = "shift"
    __module__ = "shifts_of_mine.parts"

    factor: float = 1.0
    random_state: int | None = None

    by_: np.ndarray = field(init=False)

    def fit(self):
        self.by_ = np.arange(3.0)
        return self

    def _check_parameters(self):
        if self.factor <= 0:
            raise InvalidInput("Shift: factor must be above 0.")

    def _state(self):
        if not hasattr(self, "by_"):
            raise NotFitted("Shift is not fitted.")
        return {"by": self.by_}, {"steps": 4}

    def _restore(self, arrays, learned):
        self.by_ = arrays["by"]
        self.steps_ = np.int64(stored_whole(learned["steps"]))


@pytest.fixture
def registry():
    made = Registry("shift", "lookalike.test-shifts", {"pure": "pathlib:PurePath"})
    made.register(Shift)
    return made


def test_settings_are_taken_by_keyword_and_stored_and_nothing_is_learned_yet():
    part = Shift(factor=2.0)
    assert part.settings() == {"factor": 2.0, "random_state": None}
    assert not hasattr(part, "by_")
    for wrong in ({"by_": 1}, {"fraction": 1}):
        with pytest.raises(TypeError):
            Shift(**wrong)
    with pytest.raises(TypeError):
        Shift(2.0)
    # Compared and hashed by identity, as arrays cannot be.
    assert part != Shift(factor=2.0)
    assert len({part, Shift(factor=2.0)}) == 2


def test_round_trip(tmp_path):
    made = Shift(factor=np.float32(2), random_state=np.random.default_rng(0)).fit()
    made.save(tmp_path / "a", fingerprint="f" * 32)
    back = Shift.load(tmp_path / "a")
    assert (back.factor, back.random_state, back.steps_) == (2.0, None, 4)
    assert back.fingerprint_ == "f" * 32
    assert np.array_equal(back.by_, made.by_)


def test_nothing_learned_is_not_saved(tmp_path):
    with pytest.raises(NotFitted):
        Shift().save(tmp_path / "a")


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"settings": {}, "learned": {}, "fingerprint": ""},
        {"settings": {"factor": -1}, "learned": {"steps": 1}, "fingerprint": ""},
        {"settings": {"other": 1}, "learned": {"steps": 1}, "fingerprint": ""},
        {"settings": {}, "learned": {"steps": "many"}, "fingerprint": ""},
        {"settings": [], "learned": {"steps": 1}, "fingerprint": ""},
        {"settings": {}, "learned": [], "fingerprint": ""},
        {"settings": {}, "learned": {"steps": 1.5}, "fingerprint": ""},
        {"settings": {}, "learned": {"steps": True}, "fingerprint": ""},
        {"settings": {}, "learned": {"steps": -1}, "fingerprint": ""},
        {"settings": {}, "learned": {"steps": 10**400}, "fingerprint": ""},
    ],
)
def test_an_incomplete_file_is_refused_in_plain_words(tmp_path, manifest):
    save_arrays(tmp_path / "a", {"by": np.zeros(3)}, kind="shift/1", manifest=manifest)
    with pytest.raises(DamagedFile) as refused:
        Shift.load(tmp_path / "a")
    own = " (Shift: factor must be above 0)" if manifest.get("settings") == {"factor": -1} else ""
    assert str(refused.value) == (
        f"{tmp_path / 'a'} is damaged or of another version: not a complete Shift{own}. "
        f"Learn again, or restore a backup."
    )


def test_registry_lists_makes_and_loads(tmp_path, registry):
    assert registry.names == ("pure", "shift")
    assert "shift" in registry
    assert registry.summary("shift") == "Add what was learned."
    assert registry.make("shift", {"factor": 3}).factor == 3
    registry.make("shift").fit().save(tmp_path / "a")
    assert isinstance(registry.load(tmp_path / "a"), Shift)


def test_registry_lists_the_choices(registry):
    with pytest.raises(InvalidInput, match=r"no shift 'other'. Choose one of pure, shift\."):
        registry.get("other")
    with pytest.raises(InvalidInput, match=r"no setting 'speed'. Choose from factor, random_stat"):
        registry.make("shift", {"speed": 1})


def test_a_part_that_is_gone_is_named_with_its_package(tmp_path, registry):
    Shift().fit().save(tmp_path / "a")
    bare = Registry("shift", "lookalike.test-shifts", {})
    with pytest.raises(MissingPart, match="'shift' of the package shifts_of_mine is not installed"):
        bare.load(tmp_path / "a")
    save_arrays(tmp_path / "b", {}, kind="shift/1", manifest={})
    with pytest.raises(DamagedFile, match="contains 'shift/1', not a shift"):
        bare.load(tmp_path / "b")


def test_an_entry_point_is_found_and_one_that_fails_is_named(tmp_path, monkeypatch):
    module = types.ModuleType("shifts_of_mine")
    module.Shift = Shift
    monkeypatch.setitem(sys.modules, "shifts_of_mine", module)
    found = tmp_path / "shifts_of_mine-1.0.dist-info"
    found.mkdir()
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: shifts-of-mine\nVersion: 1.0\n")
    (found / "entry_points.txt").write_text(
        "[lookalike.test-shifts]\nshift = shifts_of_mine:Shift\nbroken = no_such_module:Shift\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry("shift", "lookalike.test-shifts", {})
    assert registry.names == ("broken", "shift")
    assert registry.get("shift") is Shift
    with pytest.raises(MissingPart, match="of the package shifts-of-mine cannot be imported"):
        registry.get("broken")


def test_our_own_parts_name_no_package():
    assert package_of(Registry) == ""
    assert package_of(Shift) == "shifts_of_mine"


def test_of_packages_that_share_a_module_name_the_one_with_the_file_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "shifts_of_mine"
    folder.mkdir()
    for name in ("parts", "others", "stray"):
        (folder / f"{name}.py").write_text("class Shift:\n    pass\n")
    for name, file in (("shifts-core", "others"), ("shifts-more", "parts")):
        found = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        found.mkdir()
        (found / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (found / "RECORD").write_text(f"shifts_of_mine/{file}.py,,\n{found.name}/RECORD,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    expected = {"parts": "shifts-more", "others": "shifts-core", "stray": "shifts_of_mine"}
    for name, package in expected.items():
        part = importlib.import_module(f"shifts_of_mine.{name}").Shift
        assert package_of(part) == package
        monkeypatch.delitem(sys.modules, f"shifts_of_mine.{name}")
    assert package_of(type("Shift", (), {"__module__": "shifts_of_mine.gone"})) == "shifts_of_mine"
    monkeypatch.delitem(sys.modules, "shifts_of_mine")

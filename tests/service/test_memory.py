"""Under a limit of memory commands fail with a sentence, and nothing is lost (R12)."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from lookalike.collection import Ask, Collection
from lookalike.features import Visterms
from tests.collection.colours import album

MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    album(folder / "pictures")
    with Collection.create(folder / "c", features=[Visterms(dimension=100)]) as made:
        made.add([folder / "pictures"])
        made.vote(Ask((1,)), picked=[2], rejected=[20])
        made.say(3, "Straße")
    return folder / "c"


def run(store, megabytes, *command):
    """Run a command that may take so much address space."""
    limit = megabytes * MEGABYTE
    return subprocess.run(
        [Path(sys.executable).with_name("lookalike"), *command, "-c", store],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        env={"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "megabytes"), [("index", 150), ("search", 150), ("learn", 350)]
)
def test_too_little_memory_is_told_and_nothing_is_lost(store, command, megabytes):
    picture = store.parent / "pictures" / "rot" / "rot-1.png"
    given = {"learn": ["--folders"], "index": [store.parent / "pictures"], "search": [picture]}
    place = store.with_name("new") if command == "index" else store
    done = run(place, megabytes, command, *given[command])
    told = done.stdout + done.stderr
    assert done.returncode in (0, 1), told
    assert "Traceback" not in told
    if megabytes == 150:
        assert "Not enough memory" in told
    with Collection.open(store) as after:
        assert len(after) == 24
        assert {1, 2} <= {event.number for event in after.history()}
        assert "Straße" in after.labels()[3]
        assert after.check().sound
        assert after.search(1, 5)

"""Under a limit of memory commands fail with a sentence, and nothing is lost (R12)."""

import errno
import os
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
        made.label(3, "Straße")
    return folder / "c"


def run_within(store, megabytes, *command):
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


# What a library says when memory is short is its own, and may be of the C library alone.
@pytest.mark.parametrize(
    ("command", "megabytes"), [("index", 150), ("search", 150), ("learn", 350)]
)
def test_with_too_little_memory_nothing_is_lost(store, command, megabytes):
    picture = store.parent / "pictures" / "rot" / "rot-1.png"
    given = {"learn": ["--folders"], "index": [store.parent / "pictures"], "search": [picture]}
    place = store.with_name("new") if command == "index" else store
    done = run_within(place, megabytes, command, *given[command])
    assert done.stdout + done.stderr
    if megabytes == 150:
        assert done.returncode
    with Collection.open(store) as after:
        assert len(after) == 24
        assert {1, 2} <= {event.number for event in after.log.history()}
        assert "Straße" in after.labels.all()[3]
        assert after.upkeep.check().sound
        assert after.search(1, 5)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), "file"),
        OSError("Could not find/load shared object file 'libllvmlite.so'"),
        RuntimeError("can't start new thread"),
        ImportError("libx.so: failed to map segment from shared object"),
        SystemError("<object> returned NULL without setting an exception"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_too_little_memory_is_told(run, store, stand_in, error):
    def fail(*_, **__):
        raise error

    stand_in(Collection, search=fail)
    ran = run("search", store.parent / "pictures" / "rot" / "rot-1.png", "-c", store)
    assert ran.code == 1
    assert "Not enough memory" in ran.err

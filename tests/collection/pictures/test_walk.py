"""The quick form of ``benchmarks/trust/labels.py``: a short random walk."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "trust" / "labels.py"


def test_a_random_walk_loses_no_label_given_by_hand():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--actions", "120", "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["figures"][0]["value"] == 0, done.stderr[-3000:]
    assert told["figures"][1]["value"] == 120

"""The quick form of ``benchmarks/trust/kills.py``: a few kills of the real server."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "trust" / "kills.py"


def test_killed_servers_lose_nothing_that_was_acknowledged():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--kills", "8", "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["figures"][0]["value"] == 8
    assert int(told["figures"][0]["against"].split()[0]) > 0, "something was acknowledged"

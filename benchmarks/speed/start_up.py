"""The CPU time of ``lookalike search`` on a small collection, in units of ``import numpy``."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.images import emoji_samples

SEARCH = "from lookalike.service.command_line import main; main()"


def measure(options: Options) -> list[Figure]:
    """Take turns at both, so that what else the machine does meets both alike."""
    paths = [sample.path for sample in emoji_samples()][:: 20 if options.quick else 1]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "collection"
        with Collection.create(place) as collection:
            collection.add(paths)
        search = ["-c", SEARCH, "search", str(paths[0]), "-c", str(place)]
        # As installed: compiled to bytecode once.
        kept = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        numpy = ["-c", "import numpy"]
        _cpu(search, kept), _cpu(numpy, kept)
        ratios = [_cpu(search, kept) / _cpu(numpy, kept) for _ in range(5 if options.quick else 15)]
    options.settings.update(pictures=len(paths))
    return [
        Figure(
            "CPU time of lookalike search",
            statistics.median(ratios),
            "<=",
            4,
            "import numpy = 1",
            statistics.stdev(ratios),
        )
    ]


def _cpu(arguments: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main("speed/start_up", measure)

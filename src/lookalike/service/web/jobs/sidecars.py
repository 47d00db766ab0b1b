"""The work of a job that writes labels to XMP sidecars beside the pictures."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from lookalike.collection import Collection
from lookalike.core.text import counted, shown
from lookalike.images import is_inside, real_folders
from lookalike.service.sidecars import write_sidecars
from lookalike.service.web.security import rooms
from lookalike.service.web.settings import Settings

if TYPE_CHECKING:
    from lookalike.service.web.jobs.jobs import Job


def write(job: "Job", collection: Collection, settings: Settings) -> None:
    """Add what people, files and imports said of pictures to their sidecars; not what was learned.

    A file that is not where it was, or is in no folder of the collection, gets none.
    """
    folders = real_folders(rooms.folders(collection, settings))
    given = collection.labels.sources()
    words: dict[Path, list[str]] = {}
    for row in collection.pictures.all():
        labels = [label for label, source in given.get(row.id, ()) if source != "folders"]
        for place in row.places if labels and row.missing is None else ():
            if is_inside(os.path.realpath(place), folders) and place.is_file():
                words[place] = list(dict.fromkeys(labels))
    done = write_sidecars(words, progress=job.progress)
    job.result = {
        "written": len(done.written),
        "unchanged": done.unchanged,
        "refused": len(done.refused),
        "refusals": [
            {name: shown(value) for name, value in asdict(refused).items()}
            for refused in done.refused[: settings.job_limits.refusals]
        ],
    }
    trouble = [f"{shown(one.path)}: {shown(one.reason)}" for one in done.refused[:1]]
    job.message = " ".join(
        [
            f"{counted(len(done.written), 'sidecar')} written;",
            f"{done.unchanged:,} already had every word.",
            *(f"{len(done.refused):,} could not be written, first {text}." for text in trouble),
        ]
    )

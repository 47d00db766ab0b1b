"""The command ``lookalike vocabulary``: learn visual words from one's own pictures."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted, duration
from lookalike.service.options import AsJson, read_settings
from lookalike.service.screen import Screen, kept

if TYPE_CHECKING:
    from lookalike.features import Regions

OUT = Path("vocabulary")


def vocabulary(
    pictures: Annotated[
        list[str],
        typer.Argument(
            metavar="PICTURES", help="Files, folders or quoted globs.", show_default=False
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the vocabulary.")] = OUT,
    words: Annotated[
        int,
        typer.Option(
            min=2, max=500_000, help="Words at most; fewer where pictures have few regions."
        ),
    ] = 50_000,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A setting of the feature regions. Repeatable."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn a vocabulary of regions from pictures, for several collections to share.

    It says beforehand how long it takes. A run that was stopped goes on where it was when it is
    started again; what it has done is kept beside FILE until it is finished. Use the vocabulary
    with: lookalike index PICTURES --feature regions --vocabulary FILE. Without one, index learns
    a vocabulary from the collection's own pictures.
    """
    from lookalike.collection import readable_pictures
    from lookalike.features import FEATURES
    from lookalike.features.regions import SAMPLE_PICTURES
    from lookalike.images import find_pictures

    screen = Screen(as_json)
    given: dict[str, Any] = {"dimension": words, **read_settings(settings)}
    feature = cast("Regions", FEATURES.make("regions", given))
    files = find_pictures(pictures).paths
    if not files:
        raise InvalidInput(
            f"vocabulary: no pictures found in {', '.join(pictures)}. Name a picture, a folder of "
            f"pictures, or a quoted pattern such as 'photos/*.jpg'."
        )
    unfinished = out.with_name(f"{out.name}.unfinished")
    with kept(f"What was done is kept in {unfinished}; run the same command again to continue."):
        with screen.bar("Reading pictures") as progress:
            images = readable_pictures(files, feature, most=SAMPLE_PICTURES, progress=progress)
        expected = feature.estimate(images).total
        screen.say(
            f"Learning up to {feature.dimension:,} words from {counted(len(images), 'picture')} "
            f"takes about {duration(expected)}."
        )
        with screen.bar("Learning words") as progress:
            feature.fit(images, progress, checkpoint=unfinished)
        feature.save(out)
        shutil.rmtree(unfinished, ignore_errors=True)
    screen.say(f"{feature.dimension:,} words are in {out}. Index with --vocabulary {out}.")
    screen.result(
        {
            "out": out,
            "words": feature.dimension,
            "pictures": len(images),
            "expected_seconds": round(expected, 1),
            "fingerprint": feature.fingerprint,
        }
    )

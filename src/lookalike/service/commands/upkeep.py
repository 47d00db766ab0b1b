"""The commands ``check`` and ``backup``, and putting a backup back: look after a collection."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from lookalike.core.errors import DamagedFile
from lookalike.core.text import counted
from lookalike.service.options import HERE, AsJson, CollectionPath, from_home
from lookalike.service.screen import Screen

DAMAGED = 1


def check(*, collection: CollectionPath = HERE, as_json: AsJson = False) -> None:
    """Check all of a collection, and say what to do about what is damaged or missing.

    Reads the database, the log, every record, thumbnail and label, and every file. Nothing is
    changed. The exit code is 1 if something is damaged.
    """
    from lookalike.collection import Collection, Finding
    from lookalike.service.web.security.keys import KEY_FILE, made_keys

    screen = Screen(as_json)
    with Collection.open(collection) as store, screen.bar("Checking") as progress:
        result = store.upkeep.check(progress)
    try:
        made_keys(collection / KEY_FILE)
    except DamagedFile as error:
        damage = Finding(str(collection / KEY_FILE), str(error), "See above.")
        result = replace(result, findings=[*result.findings, damage])
    for finding in result.findings:
        screen.say(
            f"{'Damaged' if finding.damage else 'Note'}: {finding.problem}",
            f"  in {finding.where}",
            f"  {finding.remedy}",
            style="red" if finding.damage else "",
        )
    checked = (
        f"{counted(result.pictures, 'picture')}, {counted(result.events, 'event')} and "
        f"{counted(result.files, 'file')} checked"
    )
    screen.say(f"{checked}: nothing is damaged." if result.sound else f"{checked}.")
    screen.result({"collection": collection, "sound": result.sound, **asdict(result)})
    if not result.sound:
        raise typer.Exit(DAMAGED)


def backup(
    to: Annotated[
        Path,
        typer.Argument(metavar="TO", callback=from_home, help="A folder that does not exist yet."),
    ],
    *,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Back up a collection into a new folder, while a server may go on serving it.

    The database, the models and uploaded files are copied as they are at one moment, and read
    back. Your own picture files are not copied. lookalike restore TO puts the backup back.
    """
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store, screen.bar("Copying") as progress:
        made = store.upkeep.backup(to, progress)
    screen.say(
        f"Backed up {counted(made.pictures, 'picture')} and {counted(made.events, 'event')} to "
        f"{to}: {counted(made.files, 'file')}, {made.bytes / 1e6:,.1f} MB, verified."
    )
    if made.damaged:
        screen.say(
            f"Damaged: {counted(made.damaged, 'row')} of the collection, and so of this backup. "
            f"See lookalike check, and keep the backups before this one.",
            style="red",
        )
    screen.result({"collection": collection, **asdict(made)})
    if made.damaged:
        raise typer.Exit(DAMAGED)


def put_back(source: Path, collection: Path, *, replace: bool, screen: Screen) -> None:
    """Put a backup in the place of a collection, and say what was done."""
    from lookalike.collection import restore_backup

    done = restore_backup(source, collection, replace=replace)
    screen.say(
        f"{collection} is as it was backed up at {done.made}: "
        f"{counted(done.pictures, 'picture')}, {counted(done.events, 'event')}."
    )
    if done.aside is not None:
        screen.say(f"What was there before is kept in {done.aside}; delete it when all is well.")
    screen.result(asdict(done))

"""A collection that may not be written to is searched as it is."""

import os

import pytest
from PIL import Image

from lookalike.collection import Ask, Collection
from lookalike.core.errors import CollectionError, NotFound
from tests.collection.colours import Colours


def content(folder):
    return {
        file: (file.stat().st_mtime_ns, file.read_bytes())
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.endswith(("-shm", "-wal"))
    }


def test_nothing_is_changed(collection):
    collection.label(1, "Wort")
    expected = collection.search(1, 5)
    collection.close()
    before = content(collection.path)
    with Collection.open(collection.path, features=[Colours()], read_only=True) as store:
        assert store.read_only
        assert store.search(1, 5) == expected
        assert store.labels.all()[1] == ["Wort"]
        assert store.pictures.thumbnail(1)
        assert store.upkeep.check().sound
        store.log.check()
        for change in (
            lambda: store.label(2, "Wort"),
            lambda: store.vote(Ask((1,)), picked=[2]),
            lambda: store.remove([1]),
            lambda: store.add([]),
            lambda: store.learn(folders=True),
            store.rollback,
            store.bin.empty,
        ):
            with pytest.raises(CollectionError, match="read-only"):
                change()
    assert content(collection.path) == before


def test_only_the_last_pictures_searched_with_are_remembered(collection, set_limits):
    set_limits(passing_queries=2)
    collection.close()
    with Collection.open(collection.path, features=[Colours()], read_only=True) as store:
        shades = [Image.new("RGB", (8, 8), (shade, 0, 0)) for shade in (10, 90, 200)]
        first, *last = [store.queries.keep(image) for image in shades]
        for token in last:
            assert store.queries.thumbnail(token)
            assert store.search(Ask((token,)), 5)
        with pytest.raises(NotFound):
            store.search(Ask((first,)), 5)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_of_somebody_else_can_be_searched(collection, tmp_path):
    collection.close()
    for file in (collection.path, *collection.path.rglob("*")):
        file.chmod(0o555 if file.is_dir() else 0o444)
    # The folders of tests are their owner's alone.
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(0o755)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setuid(65534)
            with Collection.open(collection.path, features=[Colours()]) as store:
                code = 0 if store.read_only and len(store.search(1, 5)) == 5 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not list(collection.path.glob("*-shm"))

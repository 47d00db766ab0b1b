import pytest

from lookalike.collection import Ask, Collection, Filter, SavedSearch
from lookalike.core.errors import InvalidInput, NotFound
from tests.collection.beside import beside, stored_rows
from tests.collection.colours import PALETTE, Colours, picture

NAMES = [*PALETTE]


def ids(collection, colour):
    return [p.id for p in collection.pictures.all() if p.places[0].parent.name == colour]


def members(collection, name):
    return {*collection.albums.get(name).members}


def again(collection):
    return Collection.open(collection.path, features=[Colours()])


def test_an_album_of_a_search_follows_votes_and_new_pictures(collection, pictures):
    first, *others = ids(collection, NAMES[0])
    strange = ids(collection, NAMES[1])[0]
    saved = collection.albums.save("Mine", SavedSearch(Ask((first,))), most=5)
    assert len(saved.members) == 5
    assert {*saved.members} <= {*others}
    assert not saved.new

    collection.vote(Ask((first,)), picked=[strange], rejected=[saved.members[0]])
    album = collection.albums.get("Mine")
    assert album.members[0] == strange
    assert saved.members[0] not in album.members
    assert strange in album.new
    assert len(album.members) == 5

    picture(pictures / "new" / "one.png", PALETTE[NAMES[0]], 77)
    collection.add([pictures])
    new = collection.pictures.find(pictures / "new" / "one.png")
    collection.vote(Ask((first,)), picked=[new])
    assert {strange, new} <= {*collection.albums.open("mine").new}, "case does not tell names apart"
    with again(collection) as other:
        assert other.albums.get("Mine").new == ()
        assert new in other.albums.get("Mine").members


def test_an_album_of_pictures_is_exactly_these_until_more_are_picked(collection):
    own = ids(collection, NAMES[0])[:3]
    album = collection.albums.save("Three", pictures=own)
    assert (*sorted(own),) == album.members
    assert album.search.ask == Ask(tuple(sorted(own)))
    like = [match.id for match in collection.search(album.search.ask, 3)]
    assert not {*like} & {*own}
    collection.vote(album.search.ask, picked=like[:1], rejected=like[1:2])
    assert members(collection, "Three") == {*own, like[0]}
    collection.vote(album.search.ask, rejected=like[:1])
    assert members(collection, "Three") == {*own}


def test_an_album_is_a_filter(collection):
    own, other = ids(collection, NAMES[0]), ids(collection, NAMES[1])
    collection.albums.save("Both", pictures=[own[0], own[1], other[0]])
    inside = Filter(album="both")
    assert collection.pictures.count(inside) == 3
    assert {row.id for row in collection.pictures.browse(9, where=inside)} == {
        own[0],
        own[1],
        other[0],
    }
    assert sum(count for _, count in collection.pictures.months(inside)) == 3
    found = [match.id for match in collection.search(own[0], 9, where=inside)]
    assert found == [own[1], other[0]]
    outside = Filter(without_album="Both")
    assert collection.pictures.count(outside) == len(collection) - 3
    some = Filter(album="Both", folder=str(collection.pictures.get(other[0]).places[0].parent))
    assert [row.id for row in collection.pictures.browse(9, where=some)] == [other[0]]
    inner = collection.albums.save("Inner", SavedSearch(where=some))
    assert inner.members == (other[0],)
    assert collection.queries.all_of(SavedSearch(where=inside)).tolist() == sorted(
        [*own[:2], other[0]]
    )
    with pytest.raises(NotFound, match="no album “none”"):
        collection.pictures.count(Filter(album="none"))


def test_an_album_of_words_holds_what_is_tagged_and_is_not_filled_up(collection):
    some = [row.id for row in collection.pictures.all()][:6]
    for number in some[:4]:
        collection.label(number, "beach")
    for number in some[2:]:
        collection.label(number, "dog")
    assert members(collection, collection.albums.save("B", SavedSearch(word="beach")).name) == {
        *some[:4]
    }
    both = collection.albums.save("Both", SavedSearch(word="beach dog"))
    assert {*both.members} == {*some[2:4]}
    assert both.most == 0
    collection.label(some[0], "dog")
    assert members(collection, "Both") == {some[0], *some[2:4]}
    # What a search says is probable can still be asked for.
    assert collection.albums.save("Much", SavedSearch(word=NAMES[0]), most=9).most == 9


def test_pictures_are_added_to_an_album_and_taken_out(collection):
    own = ids(collection, NAMES[0])
    collection.albums.save("Mine", pictures=own[:2])
    assert collection.albums.add("mine", [own[3], own[0]]).pictures == (*own[:2], own[3])
    assert members(collection, "Mine") == {*own[:2], own[3]}
    assert collection.albums.take_out("Mine", own[:1]).members == (own[1], own[3])
    collection.label(own[4], "tag")
    collection.albums.save("Tag", SavedSearch(word="tag"))
    assert {*collection.albums.add("Tag", [own[0]]).members} == {own[0], own[4]}
    assert {*collection.albums.take_out("Tag", [own[0], own[4]]).members} == {own[4]}
    with pytest.raises(NotFound):
        collection.albums.add("Tag", [99_999])
    assert members(collection, "Tag") == {own[4]}


def test_an_album_gets_another_name_and_stays_what_others_are_filtered_by(collection):
    own = ids(collection, NAMES[0])[:2]
    collection.albums.save("Größe", pictures=own)
    collection.albums.save("Inner", SavedSearch(where=Filter(album="GRÖSSE")))
    collection.albums.save("Other", pictures=own[:1])
    assert collection.albums.rename("größe", "Gro\u0308ße 2").name == "Größe 2"
    assert members(collection, "Inner") == {*own}
    assert {*collection.albums.names()} == {"Größe 2", "Inner", "Other"}
    assert collection.albums.rename("Größe 2", "GRÖSSE 2").name == "GRÖSSE 2", "only the spelling"
    for taken in ("other", "o\u0074her", "  Other "):
        with pytest.raises(InvalidInput, match="already an album “Other”"):
            collection.albums.rename("Größe 2", taken)
    with pytest.raises(InvalidInput, match="1 to 200 characters"):
        collection.albums.rename("Other", "a\x00b")
    assert {*collection.albums.names()} == {"GRÖSSE 2", "Inner", "Other"}


def test_an_album_of_a_word_has_all_that_is_tagged(collection):
    own = ids(collection, NAMES[0])
    collection.learn(folders=True, settings={"steps": 300})
    collection.label(ids(collection, NAMES[1])[0], NAMES[0])
    album = collection.albums.save("Word", SavedSearch(word=NAMES[0]), most=2)
    assert {*own, ids(collection, NAMES[1])[0]} == {*album.members}


def test_what_is_removed_leaves_an_album_and_comes_back_to_it(collection):
    own = ids(collection, NAMES[0])
    collection.albums.save("Three", pictures=own[:3])
    collection.albums.save("Like", SavedSearch(Ask((own[0],))), most=4)
    collection.albums.save("Two", SavedSearch(Ask((own[0], own[1]))), most=4)
    before = [album.members for album in collection.albums.all()]
    collection.remove([own[0]])
    gone = collection.albums.get("Three")
    assert gone.members == (*own[1:3],)
    assert gone.gone == 1
    like = collection.albums.get("Like")
    assert like.members == ()
    assert "were removed" in like.trouble
    assert len(collection.albums.get("Two").members) == 4
    collection.restore()
    assert [album.members for album in collection.albums.all()] == before


def test_names_are_told_apart_and_nothing_is_lost(collection):
    own = ids(collection, NAMES[0])
    odd = "Grün\n <b>&amp;\t'x'"
    saved = collection.albums.save(odd, pictures=own[:1])
    assert saved.name == "Grün <b>&amp; 'x'"
    assert collection.albums.get(saved.id) == collection.albums.get(odd)
    with pytest.raises(InvalidInput, match="already an album “Grün"):
        collection.albums.save("GRÜN <B>&amp; 'X'", pictures=own[1:2])
    assert collection.albums.get(odd).members == (own[0],)
    for name in ("", " \n", "a\x00b", 7, "x" * 201):
        with pytest.raises(InvalidInput, match="name of an album"):
            collection.albums.save(name, pictures=own[:1])
    with pytest.raises(InvalidInput, match="give a search, a filter or pictures"):
        collection.albums.save("Empty")
    with pytest.raises(InvalidInput, match="an ask or a word"):
        collection.albums.save("Both", SavedSearch(Ask((own[0],)), word="x"))
    with pytest.raises(NotFound):
        collection.albums.save("Lost", pictures=[999])
    with pytest.raises(InvalidInput, match="no ranker"):
        collection.albums.save("By", SavedSearch(Ask((own[0],)), by="none"))
    assert collection.albums.names() == [saved.name]
    collection.albums.delete(odd)
    with pytest.raises(NotFound, match="no album"):
        collection.albums.delete(odd)


def test_an_album_is_never_filtered_by_itself(collection):
    own = ids(collection, NAMES[0])
    collection.albums.save("A", pictures=own[:2])
    collection.albums.save("B", SavedSearch(where=Filter(album="A")))
    collection.albums.delete("A")
    assert "no album “A”" in collection.albums.all()[0].trouble
    with pytest.raises(InvalidInput, match="filtered by itself"):
        collection.albums.save("a", SavedSearch(where=Filter(album="B")))


def test_a_kept_query_of_an_album_is_not_forgotten(collection, tmp_path, set_limits):
    set_limits(kept_queries=2)
    tokens = []
    for number in range(5):
        file = tmp_path / f"{number}.png"
        picture(file, PALETTE[NAMES[0]], 50 + number)
        tokens.append(collection.queries.keep(file.read_bytes()))
        if not number:
            collection.albums.save("Kept", SavedSearch(Ask((tokens[0],))), most=3)
    assert len(collection.albums.get("Kept").members) == 3
    with pytest.raises(NotFound):
        collection.queries.thumbnail(tokens[1])


def undo_last(collection):
    return collection.undo(collection.log.history(1)[0].number)


def test_what_is_done_to_albums_is_undone_and_done_again(collection):
    own = ids(collection, NAMES[0])

    def state():
        return {
            (one.id, one.name, one.pictures, one.search, one.most)
            for one in collection.albums.all()
        }

    for change in (
        lambda: collection.albums.save("Mine", SavedSearch(word="sea"), pictures=own[:2], most=5),
        lambda: collection.albums.add("Mine", own[1:4]),
        lambda: collection.albums.take_out("Mine", [own[0], own[3], own[5]]),
        lambda: collection.albums.rename("Mine", "Ours"),
        lambda: collection.albums.delete("Ours"),
    ):
        before = state()
        change()
        after = state()
        undone = undo_last(collection)
        assert {tuple(map(sorted_pictures, one)) for one in state()} == {
            tuple(map(sorted_pictures, one)) for one in before
        }
        collection.undo(undone.number)
        assert state() == after
    events = len(collection.log.history(100))
    assert [one.sentence for one in collection.log.history(100) if one.kind == "album"] == [
        "Deleted the album “Ours”",
        "Renamed the album “Mine” to “Ours”",
        "Took 2 pictures out of the album “Mine”",
        "Added 2 pictures to the album “Mine”",
        "Saved the album “Mine”",
    ]
    # What changes nothing is no event.
    collection.albums.save("Still", pictures=own[:1])
    collection.albums.add("Still", own[:1])
    collection.albums.take_out("Still", own[1:2])
    collection.albums.rename("Still", "Still")
    assert len(collection.log.history(100)) == events + 1
    collection.log.check()


def sorted_pictures(value):
    return tuple(sorted(value)) if isinstance(value, tuple) else value


def test_an_album_that_comes_back_finds_another_name_where_its_own_was_taken(collection):
    own = ids(collection, NAMES[0])
    collection.albums.save("See", pictures=own[:1])
    collection.albums.delete("See")
    collection.albums.save("see", pictures=own[1:2])
    collection.undo(collection.log.history(2)[1].number)
    assert collection.albums.names() == ["see", "See (2)"]
    assert collection.albums.get("See (2)").pictures == (own[0],)


def test_an_album_that_was_there_before_albums_were_in_the_log_comes_back(collection):
    own = ids(collection, NAMES[0])
    old = collection.albums.save("Old", SavedSearch(Ask((own[0],))), pictures=own[:3])
    with beside(collection).database.transaction() as connection:
        connection.execute("DELETE FROM events WHERE kind = 'album'")
    collection.albums.take_out("Old", own[:1])
    collection.albums.delete("Old")
    undo_last(collection)
    assert collection.albums.get("Old").pictures == old.pictures[1:]
    collection.undo(collection.log.history(3)[2].number)
    album = collection.albums.get(old.id)
    assert ({*album.pictures}, album.search, album.most) == ({*own[:3]}, old.search, old.most)


def test_nothing_of_erased_pictures_is_left_in_what_is_said_of_albums(collection):
    own = ids(collection, NAMES[0])
    collection.albums.save("Two", SavedSearch(Ask((own[0],), (own[1],))), pictures=own[2:4])
    collection.albums.take_out("Two", [own[3]])
    collection.albums.delete("Two")
    collection.remove(own[:4])
    collection.bin.empty()
    for body in stored_rows(collection, "SELECT body FROM events WHERE kind = 'album'"):
        assert '"added"' not in body[0]
        assert '"taken"' not in body[0]
        assert not body[0] or '\\"like\\": [], \\"unlike\\": []' in body[0]
    deleted = next(one for one in collection.log.history(9) if one.sentence.startswith("Deleted"))
    collection.undo(deleted.number)
    assert collection.albums.get("Two").members == ()
    collection.log.check()

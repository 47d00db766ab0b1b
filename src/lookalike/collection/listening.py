"""A collection that is told things: votes, words and second thoughts, each a row of the log."""

from collections.abc import Iterable, Sequence
from sqlite3 import Connection

from PIL import Image

from lookalike.collection import asking, events, rows, voting
from lookalike.collection.asking import check_ask
from lookalike.collection.ledger import SNAPSHOT_EVERY
from lookalike.collection.opened import Opened
from lookalike.collection.records import Ask, Event, Standing
from lookalike.collection.wording import Wording, subject_of
from lookalike.core.errors import InvalidInput, UnreadablePicture
from lookalike.core.text import label_name
from lookalike.images import Limits, content_hash, decode, read_bytes, thumbnail
from lookalike.images.colours import to_rgb

Box = tuple[float, float, float, float]
"""A part of a picture: left, top, right and bottom as shares of its sides, from 0 to 1."""

MOST_NAMED = 1000
"""Pictures that one vote may name."""

MOST_QUERIES = 10_000
"""Pictures searched with that are kept; of those nobody voted on, the oldest go."""


class Listening(Opened):
    """What people may say to a collection."""

    def keep_query(
        self,
        picture: bytes | Image.Image,
        *,
        box: Box | None = None,
        content: bytes | None = None,
        limits: Limits | None = None,
    ) -> str:
        """Keep a picture to search with that is not in the collection, and give its token.

        Parameters
        ----------
        picture : bytes or Image
            The content of a file, or a decoded picture.
        box : (float, float, float, float), optional
            The part of it that matters.
        content : bytes, optional
            The file that a decoded picture was made of: the same file gets the same token.
        limits : Limits, optional
            What it may cost to decode before it is refused.
        """
        serving = self._serve()
        if isinstance(picture, bytes):
            data, image = picture, decode(picture, limits).image
        else:
            image = to_rgb(picture)
            data = b"%d %d " % image.size + image.tobytes() if content is None else content
        part = image if box is None else image.crop(_pixels(box, image.size))
        token = asking.query_token(content_hash(data), box, serving.space.feature.fingerprint)
        if self._database.row("SELECT 1 FROM queries WHERE token = ?", token) is None:
            record = serving.space.feature.record(part)
            with self._database.transaction() as connection:
                connection.execute(
                    "INSERT OR IGNORE INTO queries SELECT ?, ?, ?, 1 + ifnull(max(asked), 0), "
                    "(SELECT id FROM pictures WHERE sha256 = ?) FROM queries",
                    (token, record, thumbnail(part), content_hash(data)),
                )
                _forget_queries(connection)
        return token

    def keep_region(self, picture: int, box: Box, *, limits: Limits | None = None) -> str:
        """Keep a part of a picture of the collection to search with, and give its token."""
        return self.keep_query(self._content(picture, limits), box=box, limits=limits)

    def _content(self, picture: int, limits: Limits | None) -> bytes:
        """Read the file of a picture, wherever it lies as it was when it was added."""
        row, trouble = self.picture(picture), "it has no file"
        for place in row.places:
            try:
                data = read_bytes(place, limits)
            except UnreadablePicture as error:
                trouble = str(error)
                continue
            if content_hash(data) == row.sha256:
                return data
            trouble = "it has changed since it was added"
        raise UnreadablePicture(trouble)

    def query_thumbnail(self, token: str) -> bytes:
        """Return a small JPEG of a kept query."""
        row = self._database.row("SELECT jpeg FROM queries WHERE token = ?", token)
        if row is None:
            raise self._unknown(token)
        return bytes(row[0])

    def vote(
        self,
        ask: Ask,
        *,
        picked: Iterable[int] = (),
        rejected: Iterable[int] = (),
        shown: Iterable[int] = (),
        who: str = "",
        key: str | None = None,
    ) -> Event:
        """Say which pictures found for a query are right and which are wrong; learn it at once.

        The next search of anybody uses it. A vote is stored before this returns. To say the same
        again changes nothing and gives the first event; to say the opposite counts instead.

        Parameters
        ----------
        ask : Ask
            What was searched for.
        picked, rejected : iterable of int
            Pictures that are right, and wrong.
        shown : iterable of int
            The pictures in the order shown. A picked one is preferred to those above it.
        who : str
            Who votes, where there are several. What one person can teach is bounded.
        key : str, optional
            A name for this vote: sent twice, it counts once.
        """
        check_ask(ask)
        events.check_names(who, key)
        good, bad, seen = (_ids(name, side) for name, side in _sides(picked, rejected, shown))
        if not good and not bad:
            raise InvalidInput("Collection.vote: pick or reject at least one picture.")
        if both := set(good) & set(bad):
            raise InvalidInput(f"Collection.vote: {min(both)} is both picked and rejected.")
        with self._lock:
            self._serve()
            with self._database.transaction() as connection:
                if (known := events.with_key(connection, key)) is not None:
                    return known
                return self._learn_vote(connection, ask, (good, bad, seen), who, key)

    def _said(self, subject: str, good: list[int], bad: list[int], who: str) -> Event | None:
        """Return the last vote that said some of this, if all of it was said and still holds."""
        said: dict[int, tuple[int, Event]] = {}
        reset = asking.last_reset(self._database)
        for event in events.about(self._database, subject):
            if event.kind == "vote" and event.who == who and event.number > reset:
                for side, sign in (("picked", 1), ("rejected", -1)):
                    said |= dict.fromkeys(event.body[side], (sign, event))
        wanted = dict.fromkeys(good, 1) | dict.fromkeys(bad, -1)
        if any(said.get(picture, (0,))[0] != sign for picture, sign in wanted.items()):
            return None
        return max((said[picture][1] for picture in wanted), key=lambda event: event.number)

    def _learn_vote(
        self,
        connection: Connection,
        ask: Ask,
        sides: tuple[list[int], list[int], list[int]],
        who: str,
        key: str | None,
    ) -> Event:
        # Nobody else can write now: what is read here is what this vote comes after.
        serving = self._serve()
        preferences = serving.preferences
        if preferences is None:
            raise self._empty()
        good, bad, seen = sides
        subject = str(ask)
        lost = {*good, *bad} - preferences.vault.held([*good, *bad])
        if lost:
            raise self._unknown(min(lost))
        preferences.vault.ask(ask)
        if (said := self._said(subject, good, bad, who)) is not None:
            return said
        earlier = asking.verdicts(self._database, subject)
        against = [p for p, sign in earlier.items() if sign < 0 and p not in good and p not in bad]
        chosen = [p for p, sign in earlier.items() if sign > 0 and p not in good and p not in bad]
        pairs = voting.pairs(good, [*bad, *against], seen)
        pairs += [(p, n) for p in chosen for n in bad]
        # What was shown or said before may have been deleted since.
        known = preferences.vault.held({n for pair in pairs for n in pair})
        pairs = [(p, n) for p, n in pairs if p in known and n in known]
        judged = bool(pairs)
        # With nothing picked, the query itself is what the rejected are to be below.
        pairs = pairs[: voting.MOST_PAIRS] or [(0, n) for n in bad][: voting.MOST_PAIRS]
        pictures = list(dict.fromkeys(p for pair in pairs for p in pair))
        geometry = preferences.geometry(ask, pictures)
        place = {picture: k for k, picture in enumerate(pictures)}
        spent = preferences.ledger.totals.get(who, 0.0) >= voting.MOST_WEIGHT
        taught = voting.learn(
            [] if spent else [(place[p], place[n]) for p, n in pairs],
            geometry,
            voting.fold_of(subject),
            judge=judged,
        )
        body = {
            "subject": subject,
            "like": list(ask.like),
            "unlike": list(ask.unlike),
            "picked": good,
            "rejected": bad,
            "shown": seen,
            "taught": voting.stored(pictures, taught),
        }
        event = events.append(connection, "vote", body, who=who, key=key, about=subject)
        ledger = preferences.ledger
        if len(ledger.votes) % SNAPSHOT_EVERY == 0 and ledger.votes and ledger.damaged is None:
            ledger.keep(connection)
        return event

    def verdicts(self, ask: Ask) -> dict[int, int]:
        """Return what was said of pictures found for a query: +1 for picked, -1 for rejected."""
        check_ask(ask)
        return asking.verdicts(self._database, str(ask))

    def say(
        self, picture: int, word: str, *, shows: bool = True, who: str = "", key: str | None = None
    ) -> Event:
        """Say that a picture shows what a word names, or that it does not.

        It is a label from then on, or none any more, and that word is not suggested again. Models
        learn of it when they are next taught.
        """
        events.check_names(who, key)
        name = label_name(word)
        if not name or not isinstance(word, str):
            raise InvalidInput(
                f"Collection.say: a word is text that is not empty; got {word!r:.80}."
            )
        wording = Wording(self._database)
        with self._lock, self._database.transaction() as connection:
            if (known := events.with_key(connection, key)) is not None:
                return known
            if rows.find_id(self._database, picture) is None:
                raise self._unknown(picture)
            said = wording.last(int(picture), name)
            before = wording.state(connection, int(picture), name)
            # Labels that were learned from since may have changed what was said.
            if said is not None and wording.holds(said, *before):
                if said.kind == ("tag" if shows else "correction"):
                    return said
                before = said.body["before"]
            kind = "tag" if shows else "correction"
            body = {"picture": int(picture), "word": name, "before": before}
            event = events.append(
                connection, kind, body, who=who, key=key, about=subject_of(int(picture), name)
            )
            wording.apply(connection, int(picture), name, shows)
        return event

    def undo(self, number: int, *, who: str = "", key: str | None = None) -> Event:
        """Take back an event: a vote, a word, a reset, or an undoing itself.

        Raises
        ------
        NotFound
            If there is no such event.
        InvalidInput
            If it cannot be undone, or is undone already.
        """
        events.check_names(who, key)
        with self._lock, self._database.transaction() as connection:
            if (known := events.with_key(connection, key)) is not None:
                return known
            target = events.event(self._database, number)
            if target.kind not in events.UNDOABLE:
                raise InvalidInput(
                    f"Collection.undo: event {number} is a {target.kind}, which cannot be undone. "
                    f"Add deleted pictures again; rollback undoes what was learned."
                )
            if target.undone:
                raise InvalidInput(
                    f"Collection.undo: event {number} is undone already. Undo the undoing to let "
                    f"it count again."
                )
            body = {"event": target.number, "undid": target.kind}
            event = events.append(
                connection, "undo", body, who=who, key=key, about=events.undo_of(target.number)
            )
            Wording(self._database).follow(connection, target)
        return event

    def reset_votes(self, *, who: str = "", key: str | None = None) -> Event:
        """Let no vote given so far count any more; undoing this lets them count again."""
        events.check_names(who, key)
        with self._lock, self._database.transaction() as connection:
            known = events.with_key(connection, key)
            return known or events.append(connection, "reset", {}, who=who, key=key, about="reset")

    def history(self, limit: int = 50, *, before: int | None = None) -> list[Event]:
        """Return what was said, newest first: the last ``limit`` events, or those before one."""
        if not 1 <= limit <= 1000:
            raise InvalidInput(f"Collection.history: limit must be from 1 to 1000; got {limit}.")
        return events.history(self._database, limit, before)

    def standing(self) -> Standing:
        """Say what votes have taught, how that was judged, and whether searches use it."""
        preferences = self._serve().preferences
        if preferences is None:
            raise self._empty()
        return preferences.standing

    def check_log(self) -> None:
        """See that no event was changed since it was written; DamagedFile says which was."""
        events.check(self._database)


def _sides(
    picked: Iterable[int], rejected: Iterable[int], shown: Iterable[int]
) -> Sequence[tuple[str, Iterable[int]]]:
    return ("picked", picked), ("rejected", rejected), ("shown", shown)


def _ids(name: str, given: Iterable[int]) -> list[int]:
    found = list(given)[: MOST_NAMED + 1]
    whole = all(isinstance(n, int) and not isinstance(n, bool) and 0 < n < 2**62 for n in found)
    if not whole or len(found) > MOST_NAMED:
        raise InvalidInput(
            f"Collection.vote: {name} must be at most {MOST_NAMED} ids of pictures; "
            f"got {found!r:.80}."
        )
    return list(dict.fromkeys(found))


def _pixels(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    left, top, right, bottom = (float(side) for side in box)
    if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
        raise InvalidInput(
            f"a region is left, top, right and bottom as shares of 0 to 1, the first two below "
            f"the others; got {box!r:.120}."
        )
    width, height = size
    x, y = min(int(left * width), width - 1), min(int(top * height), height - 1)
    return x, y, max(x + 1, round(right * width)), max(y + 1, round(bottom * height))


def _forget_queries(connection: Connection) -> None:
    connection.execute(
        "DELETE FROM queries WHERE asked <= (SELECT max(asked) FROM queries) - ? AND NOT EXISTS "
        "(SELECT 1 FROM events WHERE kind = 'vote' AND instr(about, token) > 0)",
        (MOST_QUERIES,),
    )

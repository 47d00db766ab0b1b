"""Malicious people with a key: searches of others must not change, or, trusted, stay as good.

Attacks by name, each through HTTP with a voting key, by somebody who is not trusted: *corrector
without neighbours* picks pictures far from the query and rejects the best, *agreeing nonsense*
picks what is shown first and rejects pictures drawn at random, *other names* claims to
be the owner, *refused labels* refuses every label of the owner and gives every picture another,
*labels taken back* undoes what was last said of pictures by votes of 0 in searches by word.
Figures: how many searches of the owner answer otherwise, to the bit, and how many labels changed.

Then one of ten trusted people is malicious and picks what is wrong, where half of all pictures are
labelled: precision at 10 over pictures nobody has searched with, against no learning and against
what labels alone teach; what each person costs, as the owner sees it (labelled pictures held out,
with and without their votes), and what is left once the owner has revoked the malicious one.

Last a trusted person tags pairs of classes as one, and refuses all other labels, and the collection
learns after each: precision at 10, and how many searches differ from before once they are revoked.
"""

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))

from live import ALL, SHOWN, World, indexed, judged, picture_sets, second_half

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection import Ask
from lookalike.service.web.app import make_app
from lookalike.service.web.security.keys import KEY_FILE, make_key
from lookalike.service.web.settings import Settings

PEOPLE = 10
"""Trusted people."""

MAX_LOST = 0.01

ATTACKS = (
    "corrector without neighbours",
    "agreeing nonsense",
    "other names",
    "refused labels",
    "labels taken back",
)
VOTES, QUERIES = 80, 100


@dataclass
class Session:
    """What became of searches with other pictures while ten trusted people voted.

    ``gains`` are over no learning, after every tenth of the votes, and ``labels`` is what labels
    alone gain; ``costs`` is what each person costs, and ``revoked`` the gain without the first.
    """

    labels: float
    gains: list[float]
    costs: list[float]
    revoked: float


def session(world: World, votes: int, *, malicious: bool) -> Session:
    """Let ten trusted people vote, the first of them maliciously; the owner then revokes that."""
    people = world.collection.people
    for person in range(PEOPLE):
        people.trust(f"person {person}")
    rng = np.random.default_rng(0)
    order = rng.permutation(world.ids).tolist()
    asked, others = order[:votes], order[votes : votes + 1000]
    plain = world.precision(others)
    labels, gains = world.learned_precision(others) - plain, []
    for place, query in enumerate(asked):
        person = place % PEOPLE
        shown = [match.id for match in world.collection.search(Ask((query,)), SHOWN)]
        right = np.array(world.right(query, shown)) ^ (malicious and person == 0)
        good, bad = judged(shown, right, ALL, rng)
        if good or bad:
            world.collection.vote(
                Ask((query,)), picked=good, rejected=bad, shown=shown, who=f"person {person}"
            )
        if (place + 1) % (votes // 10) == 0:
            gains.append(world.learned_precision(others) - plain)
    costs = [one.cost or 0.0 for one in people.all() if one.name]
    people.revoke("person 0")
    return Session(labels, gains, costs, world.learned_precision(others) - plain)


def labelled(place: Path, classes: dict[Path, str], folder: Path) -> Path:
    """Return a copy of a collection that has learned from half of its pictures' classes."""
    copy = Path(shutil.copytree(place, folder))
    with Collection.open(copy) as collection:
        rows = {p.id: p.places[0] for p in collection.pictures.all()}
        some = np.random.default_rng(0).choice([*rows], len(rows) // 2, replace=False)
        told = collection.learn({rows[n]: [classes[rows[n]]] for n in some.tolist()})
        print(told.similarity.reason, file=sys.stderr)
    return copy


def run(place: Path, classes: dict[Path, str], votes: int, *, malicious: bool) -> Session:
    """Open a copy of a collection, and simulate a session there."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(place, Path(folder) / "collection"))
        with Collection.open(copy) as collection:
            rows = {p.id: p.places[0] for p in collection.pictures.all()}
            world = World(collection, {number: classes[path] for number, path in rows.items()})
            return session(world, votes, malicious=malicious)


def measure(options: Options) -> list[Figure]:
    votes = 60 if options.quick else 200
    figures = []
    for name, pictures in picture_sets(options.data):
        if options.quick and name != "objects":
            continue
        half = second_half(pictures)
        place = indexed(name, half)
        with tempfile.TemporaryDirectory() as folder:
            taught = labelled(place, dict(half), Path(folder) / "labelled")
            figures += [attacked(taught, name, attack) for attack in ATTACKS]
            figures += poisoned(taught, name, dict(half), votes)
            figures += mislabelled(taught, name, dict(half))
    return figures


def attacked(place: Path, name: str, attack: str) -> Figure:
    """Return how many searches and labels of the owner somebody untrusted changes."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(place, Path(folder) / "collection"))
        with Collection.open(copy) as collection:
            keys = [make_key(copy / KEY_FILE, "Mallory", "vote") for _ in range(2)]
            client = TestClient(make_app(collection, Settings(key="k" * 24)), "http://localhost")
            ids = [picture.id for picture in collection.pictures.all()]
            for one in ids[:20]:
                collection.label(one, "by hand")
            rng = np.random.default_rng(0)
            asked = rng.choice(ids, QUERIES, replace=False).tolist()
            before = answers(client, asked), dict(collection.labels.used())
            for number in range(VOTES):
                own = {"Authorization": f"Bearer {keys[number % 2]}"}
                for path, body in malice(client, attack, rng, ids, own, [*before[1]]):
                    how = "data" if path.startswith("/part") else "json"
                    answer = client.post(path, **{how: body}, headers=own)
                    if answer.status_code not in (200, 422, 429):
                        raise SystemExit(f"{attack}: {answer.text}")
            after = answers(client, asked), dict(collection.labels.used())
    changed = sum(one != other for one, other in zip(before[0], after[0], strict=True))
    text = f"{VOTES} times; labels {'as before' if before[1] == after[1] else 'changed'}"
    return Figure(f"{name}, {attack}: searches of others that changed", changed, "<=", 0, text)


def answers(client: TestClient, asked: list[int]) -> list[str]:
    """Return what the owner finds."""
    own = {"Authorization": f"Bearer {'k' * 24}"}
    return [client.get(f"/api/search?like={one}&k=20", headers=own).text for one in asked]


def malice(
    client: TestClient,
    attack: str,
    rng: np.random.Generator,
    ids: list[int],
    own: dict[str, str],
    words: list[str],
) -> list[tuple[str, dict[str, object]]]:
    """Return what a malicious person sends next."""
    query, *far = (int(one) for one in rng.choice(ids, 11, replace=False))
    if attack == "refused labels":
        refusals = [
            {"picture": one, "word": words[one % len(words)], "shows": False} for one in far
        ]
        return [("/api/tags", body) for body in (*refusals, {"picture": query, "word": "dog"})]
    if attack == "labels taken back":
        given = {"word": "by hand", "verdict": 0}
        return [("/part/votes", {**given, "picture": int(rng.choice(ids[:20]))})]
    found = client.get(f"/api/search?like={query}&k=10", headers=own).json()["matches"]
    shown = [match["id"] for match in found]
    far = [one for one in far if one not in shown]
    body: dict[str, object] = {"like": [query], "picked": far, "rejected": shown}
    if attack == "agreeing nonsense":
        body = {"like": [query], "picked": shown, "rejected": far, "shown": [*shown, *far]}
    named = [("/api/votes", {**body, "user": ""})] if attack == "other names" else []
    return [*named, ("/api/votes", body)]


def poisoned(place: Path, name: str, classes: dict[Path, str], votes: int) -> list[Figure]:
    """Return the figures of a collection with labels, where one of ten trusted is malicious."""
    honest = run(place, classes, votes, malicious=False)
    told = run(place, classes, votes, malicious=True)
    who = f"{name}, labels, one of {PEOPLE} trusted malicious"
    rest = sorted(told.costs[1:])
    return [
        Figure(
            f"{who}: least gain in P@10 on other queries over no learning, at any time",
            min(told.gains),
            ">=",
            -MAX_LOST,
            f"labels alone {told.labels:+.4f}, after {votes} votes {told.gains[-1]:+.4f}, "
            f"were all honest {honest.gains[-1]:+.4f}",
        ),
        Figure(
            f"{who}: least gain in P@10 on other queries over labels alone, at any time",
            min(told.gains) - told.labels,
            ">=",
            None,
            f"were all honest {min(honest.gains) - honest.labels:+.4f}",
        ),
        Figure(
            f"{who}: what that one costs in mAP on labelled pictures, as the owner sees it",
            told.costs[0],
            "<=",
            None,
            f"the others {rest[0]:+.4f} to {rest[-1]:+.4f}, "
            f"{sum(cost >= told.costs[0] for cost in rest)} of {len(rest)} more",
        ),
        Figure(
            f"{who}: gain in P@10 on other queries once that one is revoked",
            told.revoked,
            ">=",
            None,
            f"before {told.gains[-1]:+.4f}",
        ),
    ]


def mislabelled(place: Path, name: str, classes: dict[Path, str]) -> list[Figure]:
    """Return what labels of a trusted malicious person do to searches, and what they leave."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(place, Path(folder) / "collection"))
        with Collection.open(copy) as collection:
            rows = {p.id: p.places[0] for p in collection.pictures.all()}
            world = World(collection, {number: classes[path] for number, path in rows.items()})
            asked = np.random.default_rng(0).choice(world.ids, QUERIES, replace=False).tolist()
            plain, before = world.precision(asked), world.learned_precision(asked)
            found = [collection.search(Ask((one,)), 20) for one in asked]
            collection.people.trust("Mallory")
            by_class: dict[str, list[int]] = {}
            for number, own in world.classes.items():
                by_class.setdefault(own, []).append(number)
            names = sorted(by_class)
            for one, two in zip(names[::2], names[1::2], strict=False):
                collection.label([*by_class[one], *by_class[two]], f"x {one}", who="Mallory")
            told = [collection.learn().similarity]
            during = [world.learned_precision(asked)]
            for own in names:
                collection.label(by_class[own], own, shows=False, who="Mallory")
            told.append(collection.learn().similarity)
            during.append(world.learned_precision(asked))
            collection.people.revoke("Mallory")
            changed = sum(
                collection.search(Ask((one,)), 20) != old
                for one, old in zip(asked, found, strict=True)
            )
            after = world.learned_precision(asked)
    reasons = " ".join(one.reason for one in told if one is not None)
    who = f"{name}, labels, a trusted person tags pairs of classes as one, then refuses the rest"
    return [
        Figure(
            f"{who}: least gain in P@10 over no learning once that was learned from",
            min(during) - plain,
            ">=",
            -MAX_LOST,
            f"before {before - plain:+.4f}, after revoking {after - plain:+.4f}. {reasons}",
        ),
        Figure(f"{who}: searches that differ from before once revoked", changed, "<=", 0),
    ]


if __name__ == "__main__":
    main("trust/poison", measure)

"""Malicious people with a key: searches of others must not change, or, trusted, stay as good.

Attacks by name, each through HTTP with a voting key, by somebody who is not trusted: *corrector
without neighbours* picks pictures far from the query and rejects the best, *agreeing nonsense*
picks what is shown first and rejects pictures drawn at random, *other names* claims to
be the owner, *refused labels* refuses every label of the owner and gives every picture another,
*labels taken back* undoes what was last said of pictures by votes of 0 in searches by word.
Figures: how many searches of the owner answer otherwise, to the bit, and how many labels changed.

Then one of ten trusted people is malicious and picks what is wrong, where half of all pictures are
labelled: precision at 10 over pictures nobody has searched with, against no learning.
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
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

CASES = ((10, 1),)
"""People, and how many of them are malicious."""

MAX_LOST = 0.01

ATTACKS = (
    "corrector without neighbours",
    "agreeing nonsense",
    "other names",
    "refused labels",
    "labels taken back",
)
VOTES, QUERIES = 80, 100


def session(
    world: World,
    seed: int,
    people: int,
    malicious: int,
    votes: int,
    *,
    only_honest: bool,
    kind: str,
) -> list[float]:
    """Return what is gained over other queries after every tenth of the votes."""
    for person in range(people):
        world.collection.people.trust(f"person {person}")
    rng = np.random.default_rng(seed)
    order = rng.permutation(world.ids).tolist()
    asked, others = order[:votes], order[votes : votes + 1000]
    plain = world.precision(others)
    gains = []
    for place, query in enumerate(asked):
        person = place % people
        if person >= malicious or not only_honest:
            shown = [match.id for match in world.collection.search(Ask((query,)), SHOWN)]
            right = np.array(world.right(query, shown)) ^ (person < malicious)
            good, bad = judged(shown, right, kind, rng)
            if good or bad:
                world.collection.vote(
                    Ask((query,)), picked=good, rejected=bad, shown=shown, who=f"person {person}"
                )
        if (place + 1) % (votes // 10) == 0:
            gains.append(world.learned_precision(others) - plain)
    return gains


def labelled(place: Path, classes: dict[Path, str], folder: Path) -> Path:
    """Return a copy of a collection that has learned from half of its pictures' classes."""
    copy = Path(shutil.copytree(place, folder))
    with Collection.open(copy) as collection:
        rows = {p.id: p.places[0] for p in collection.pictures.all()}
        some = np.random.default_rng(0).choice([*rows], len(rows) // 2, replace=False)
        told = collection.learn({rows[n]: [classes[rows[n]]] for n in some.tolist()})
        print(told.similarity.reason, file=sys.stderr)
    return copy


def run(
    place: Path,
    classes: dict[Path, str],
    people: int,
    malicious: int,
    votes: int,
    *,
    only_honest: bool,
    kind: str = ALL,
) -> list[float]:
    """Open a copy of a collection, and simulate a session there."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(place, Path(folder) / "collection"))
        with Collection.open(copy) as collection:
            rows = {p.id: p.places[0] for p in collection.pictures.all()}
            world = World(collection, {number: classes[path] for number, path in rows.items()})
            return session(world, 0, people, malicious, votes, only_honest=only_honest, kind=kind)


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
            figures += poisoned(taught, f"{name}, labels", dict(half), votes, CASES)
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
        far = ids[:20]
        return [("/part/votes", {**given, "picture": one}) for one in far]
    found = client.get(f"/api/search?like={query}&k=10", headers=own).json()["matches"]
    shown = [match["id"] for match in found]
    far = [one for one in far if one not in shown]
    body: dict[str, object] = {"like": [query], "picked": far, "rejected": shown}
    if attack == "agreeing nonsense":
        body = {"like": [query], "picked": shown, "rejected": far, "shown": [*shown, *far]}
    named = [("/api/votes", {**body, "user": ""})] if attack == "other names" else []
    return [*named, ("/api/votes", body)]


def poisoned(
    place: Path,
    name: str,
    classes: dict[Path, str],
    votes: int,
    cases: Sequence[tuple[int, int]],
) -> list[Figure]:
    """Return the figures of a collection, with some of its voters malicious."""
    figures = []
    for people, malicious in cases:
        settings = (place, classes, people, malicious, votes)
        with_them = run(*settings, only_honest=False)
        who = f"{name}, {malicious} of {people} malicious"
        figures.append(
            Figure(
                f"{who}: least gain in P@10 on other queries, at any time",
                min(with_them),
                ">=",
                -MAX_LOST,
                f"after {votes} votes {with_them[-1]:+.4f}",
            )
        )
        print(figures[-1], file=sys.stderr, flush=True)
    return figures


if __name__ == "__main__":
    main("trust/poison", measure)

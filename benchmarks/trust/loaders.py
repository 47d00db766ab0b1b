"""Mutate files of every stored kind, and load them: nothing but DamagedFile, and bounded memory.

A file of each kind (similarities, annotators, encoders, the reduction, indexes) is changed at
random: flipped bits, cut and extended, header fields oversized, settings replaced, arrays added;
what is changed inside mostly gets checksums that fit, as an attacker would write them. Loading, and
reading all vectors of a mapped index, must succeed or raise one of lookalike's own errors, and the
peak of memory stay below three times the file plus 100 MB. A single flipped bit must never load; in
a mapped index it must not change what is read, since what is not read is not checked. 20,000 files.
"""

import json
import random
import sys
import tempfile
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from xxhash import xxh3_64_hexdigest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike.annotation import WSABIE, LinearRanker, OneVsRest, Ridge
from lookalike.annotation.registry import ANNOTATORS
from lookalike.codes import ITQCodes, LSHCodes
from lookalike.codes.registry import ENCODERS
from lookalike.core.errors import LookalikeError
from lookalike.features import Reduction
from lookalike.index import BitIndex, DenseIndex, MappedIndex, SparseIndex
from lookalike.index.checked_rows import seal
from lookalike.similarity.registry import SIMILARITIES

FILES, QUICK = 20_000, 1_000
ODD: tuple[Any, ...] = (
    *(None, -1, 0, 2**31, 2**63, 1e308, "", "x"),
    *([], [1], {}, {"a": 1}, True, "\ud800", float("inf")),
)


def files(folder: Path) -> dict[str, tuple[Path, Callable[[Path], Any]]]:
    """Return a file of each kind, with what loads it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12)).astype(np.float32)
    y = [("ab", "cd", "ef")[n % 3] for n in range(60)]
    found: dict[str, tuple[Path, Callable[[Path], Any]]] = {}

    def keep(name: str, part: Any, load: Callable[[Path], Any]) -> None:
        part.save(folder / name)
        found[name] = folder / name, load

    for name in ("oasis", "lda", "lego", "rca", "itml", "nca", "krca", "euclidean", "cosine"):
        keep(name, SIMILARITIES.make(name).fit(X, y), SIMILARITIES.load)
    for annotator in (WSABIE(), LinearRanker(), OneVsRest(), Ridge()):
        keep(annotator.name, annotator.fit(X, y), ANNOTATORS.load)
    for encoder in (LSHCodes(bits=16), ITQCodes(bits=8)):
        keep(encoder.name, encoder.fit(X), ENCODERS.load)
    reduction = Reduction(dimension=4).fit(X, parent="0" * 32)
    keep("reduction", reduction, Reduction.load)
    dense = DenseIndex(12)
    dense.add(X)
    keep("dense", dense, DenseIndex.open)
    keep("mapped", dense, all_mapped)
    sparse = SparseIndex(12)
    sparse.add(np.maximum(X, 0))
    keep("sparse", sparse, SparseIndex.open)
    bits = BitIndex(16)
    bits.add(rng.integers(0, 2, (60, 16)))
    keep("bits", bits, BitIndex.open)
    return found


def all_mapped(path: Path) -> list[bytes]:
    """Return all that a mapped index says."""
    index = MappedIndex.open(path)
    facts = f"{index.dimension} {index.fingerprint} {index.add(index.vectors[:1])}"
    return [facts.encode(), *(it.tobytes() for it in (index.ids, index.scales, index.vectors))]


def parsed(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header and the data of a file."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def packed(header: dict[str, Any], data: bytes, *, sealed: bool) -> bytes:
    """Return a file with a header, and with checksums that fit, or that do not."""
    if sealed:
        header["__metadata__"]["manifest"] = resealed(header, data)
    header["__metadata__"]["xxh3"] = "0" * 16
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=True).encode()
    text += b" " * (-len(text) % 8)
    content = len(text).to_bytes(8, "little") + text + data
    if not sealed:
        return content
    own = f'"xxh3":"{xxh3_64_hexdigest(content)}"'.encode()
    return content.replace(b'"xxh3":"0000000000000000"', own, 1)


def resealed(header: dict[str, Any], data: bytes) -> str:
    """Return the manifest of a file, of a dense index with a seal that fits."""
    text: str = header["__metadata__"]["manifest"]
    try:
        manifest = json.loads(text)
        kept = {name: it for name, it in manifest.items() if name != "kind"}
        arrays = {
            name: np.frombuffer(data[slice(*header[name]["data_offsets"])], np.uint8)
            for name in ("ids", "scales")
        }
        if "seal" in kept:
            text = json.dumps({**manifest, "seal": seal(arrays, kept)})
    except (LookupError, TypeError, ValueError, AttributeError):
        pass
    return text


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values inside a JSON value."""
    inside: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))[:8]
    return [path, *(one for key, it in inside for one in places(it, (*path, key)))]


def changed(value: Any, rng: random.Random) -> Any:
    """Return a JSON value with something inside replaced by something odd."""
    path = rng.choice(places(value)[1:] or [()])
    if not path:
        return rng.choice(ODD)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    if isinstance(inner, dict) and rng.random() < 0.2:
        del inner[path[-1]]
    else:
        inner[path[-1]] = rng.choice(ODD)
    return value


def mutated(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Return a file that was changed, and how."""
    how = rng.choice(("flip", "flips", "cut", "longer", "header", "manifest", "array", "values"))
    if how in ("flip", "flips"):
        changed_ = bytearray(content)
        for _ in range(1 if how == "flip" else rng.randint(2, 9)):
            changed_[rng.randrange(len(changed_))] ^= 1 << rng.randrange(8)
        return how, bytes(changed_)
    if how == "cut":
        return how, content[: rng.randrange(len(content))]
    if how == "longer":
        return how, content + rng.randbytes(rng.randint(1, 99))
    header, data = parsed(content)
    sealed = rng.random() < 0.8
    if how == "header":
        names = [name for name in header if name != "__metadata__"]
        if names:
            header[rng.choice(names)] = changed(header[rng.choice(names)], rng)
    elif how == "manifest":
        manifest = json.loads(header["__metadata__"]["manifest"])
        header["__metadata__"]["manifest"] = json.dumps(changed(manifest, rng))
    elif how == "array":
        end = len(data)
        header["unknown"] = {"dtype": "U8", "shape": [8], "data_offsets": [end, end + 8]}
        data += b"\0" * 8
    else:
        noise = np.frombuffer(data, np.uint8).copy()
        if len(noise):
            some = rng.randrange(len(noise))
            noise[some : some + 8] = rng.choice((0, 255, 127))
        data = noise.tobytes()
    return how, packed(header, data, sealed=sealed)


def measure(options: Options) -> list[Figure]:
    """Load mutated files."""
    warnings.simplefilter("ignore")
    rng, count = random.Random(0), QUICK if options.quick else FILES
    refused, wrong = Counter[str](), Counter[str]()
    unnoticed, most = 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        kinds = files(Path(name))
        mapped = all_mapped(kinds["mapped"][0])
        target = Path(name) / "mutated"
        for number in range(count):
            kind = list(kinds)[number % len(kinds)]
            source, load = kinds[kind]
            how, content = mutated(source.read_bytes(), rng)
            target.write_bytes(content)
            tracemalloc.start()
            try:
                loaded = load(target) != mapped
            except LookalikeError:
                loaded = False
                refused[how] += 1
            except BaseException as error:
                loaded = False
                wrong[f"{kind} {how}: {type(error).__name__}: {error!s:.90}"] += 1
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            most = max(most, (peak - 3 * len(content)) / 1e6)
            unnoticed += loaded and how in ("flip", "cut", "longer", "array")
    for told, times in wrong.most_common(20):
        print(times, told, file=sys.stderr)
    options.settings |= {"kinds": len(kinds), "refused": dict(refused)}
    return [
        Figure("files mutated", count, ">=", count),
        Figure("other than errors of ours", sum(wrong.values()), "<=", 0),
        Figure("single flips, cuts and foreign arrays not noticed", unnoticed, "<=", 0),
        Figure("MB of memory beyond three times the file", most, "<=", 100),
    ]


if __name__ == "__main__":
    main("trust/loaders", measure)

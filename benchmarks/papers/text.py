"""How well typed text finds pictures that nobody has taught anything about.

The names of the classes of objects as queries, in English and, by the table below, in German,
French and Spanish; those of them that are no built-in word; and the words of a picture of the test
part of snapshots, as a sentence, to find it among 600. A ranking is the product's own
(``Collection.search_word``), with what it leaves out last. What settles how a text is read (NEAREST
and SOFTNESS of collection/search/reading.py) was chosen on the training part of snapshots and
looked at on objects; MIN_STANDOUT on words made up, names of places and everyday words.
"""

import csv
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.features.start_words import imagenet

LANGUAGES = ("German", "French", "Spanish")
NAMES = {
    "Faces": ("Gesichter", "visages", "caras"),
    "Leopards": ("Leoparden", "léopards", "leopardos"),
    "barrel": ("Fass", "tonneau", "barril"),
    "beaver": ("Biber", "castor", "castor"),
    "bonsai": ("Bonsai", "bonsaï", "bonsái"),
    "brain": ("Gehirn", "cerveau", "cerebro"),
    "brontosaurus": ("Brontosaurus", "brontosaure", "brontosaurio"),
    "camera": ("Kamera", "appareil photo", "cámara"),
    "ceiling_fan": ("Deckenventilator", "ventilateur de plafond", "ventilador de techo"),
    "cellphone": ("Handy", "téléphone portable", "teléfono móvil"),
    "chair": ("Stuhl", "chaise", "silla"),
    "crab": ("Krabbe", "crabe", "cangrejo"),
    "crocodile_head": ("Krokodilkopf", "tête de crocodile", "cabeza de cocodrilo"),
    "electric_guitar": ("E-Gitarre", "guitare électrique", "guitarra eléctrica"),
    "elephant": ("Elefant", "éléphant", "elefante"),
    "emu": ("Emu", "émeu", "emú"),
    "euphonium": ("Euphonium", "euphonium", "bombardino"),
    "ewer": ("Wasserkanne", "aiguière", "aguamanil"),
    "ferry": ("Fähre", "ferry", "transbordador"),
    "grand_piano": ("Konzertflügel", "piano à queue", "piano de cola"),
    "hawksbill": ("Karettschildkröte", "tortue imbriquée", "tortuga carey"),
    "ibis": ("Ibis", "ibis", "ibis"),
    "joshua_tree": ("Josuabaum", "arbre de Josué", "árbol de Josué"),
    "laptop": ("Laptop", "ordinateur portable", "ordenador portátil"),
    "llama": ("Lama", "lama", "llama"),
    "lobster": ("Hummer", "homard", "langosta"),
    "lotus": ("Lotus", "lotus", "loto"),
    "mandolin": ("Mandoline", "mandoline", "mandolina"),
    "mayfly": ("Eintagsfliege", "éphémère", "efímera"),
    "metronome": ("Metronom", "métronome", "metrónomo"),
    "minaret": ("Minarett", "minaret", "minarete"),
    "octopus": ("Krake", "pieuvre", "pulpo"),
    "okapi": ("Okapi", "okapi", "okapi"),
    "panda": ("Panda", "panda", "panda"),
    "pizza": ("Pizza", "pizza", "pizza"),
    "revolver": ("Revolver", "revolver", "revólver"),
    "saxophone": ("Saxophon", "saxophone", "saxofón"),
    "schooner": ("Schoner", "goélette", "goleta"),
    "scissors": ("Schere", "ciseaux", "tijeras"),
    "scorpion": ("Skorpion", "scorpion", "escorpión"),
    "sea_horse": ("Seepferdchen", "hippocampe", "caballito de mar"),
    "stapler": ("Tacker", "agrafeuse", "grapadora"),
    "starfish": ("Seestern", "étoile de mer", "estrella de mar"),
    "tick": ("Zecke", "tique", "garrapata"),
    "umbrella": ("Regenschirm", "parapluie", "paraguas"),
    "wheelchair": ("Rollstuhl", "fauteuil roulant", "silla de ruedas"),
    "wild_cat": ("Wildkatze", "chat sauvage", "gato montés"),
    "windsor_chair": ("Windsor-Stuhl", "chaise Windsor", "silla Windsor"),
    "wrench": ("Schraubenschlüssel", "clé à molette", "llave inglesa"),
    "yin_yang": ("Yin und Yang", "yin et yang", "yin y yang"),
}

MANY = 100_000


def measure(options: Options) -> list[Figure]:
    files = sorted((options.data / "objects" / "images").glob("*/*"))
    files = [file for file in files if file.parent.name in NAMES]
    if options.quick:
        files = [file for at, file in enumerate(files) if at % 8 == 0]
    options.settings["pictures"] = len(files)
    with tempfile.TemporaryDirectory() as folder:
        figures = names(Path(folder), files)
        figures += sentences(Path(folder), options)
        figures += taught_sentences(Path(folder), options)
    return figures


def names(folder: Path, files: list[Path]) -> list[Figure]:
    """Search by the names of classes."""
    figures = []
    with collection_of(folder / "objects", files) as store:
        labels = np.array([file.parent.name for file in files])
        sets = {"English": {name: name.replace("_", " ") for name in NAMES}}
        sets |= {
            language: {name: words[at] for name, words in NAMES.items()}
            for at, language in enumerate(LANGUAGES)
        }
        reached = {}
        for language, queries in sets.items():
            judged = {name: judge(store, queries[name], labels == name) for name in queries}
            reached[language] = np.mean([*judged.values()], axis=0)
            mean, best = reached[language]
            english = language == "English"
            figures += [
                Figure(f"{language} names: mAP", mean, ">=", 0.64 if english else None),
                Figure(f"{language} names: P@10", best, ">=", 0.62 if english else None),
            ]
            if english:
                strange = [n for n, text in queries.items() if imagenet().find(text) is None]
                value = float(np.mean([judged[name][0] for name in strange]))
                what = f"the {len(strange)} names that are no built-in words: mAP"
                figures.append(Figure(what, value, ">=", 0.40, "0 without meaning"))
        others = np.mean([reached[language] for language in LANGUAGES], axis=0)
        figures += [
            Figure("German, French and Spanish names: mAP", others[0], ">=", 0.50, "0 before"),
            Figure("German, French and Spanish names: P@10", others[1], ">=", 0.48, "0 before"),
        ]
    return figures


def sentences(folder: Path, options: Options) -> list[Figure]:
    """Search by the words of pictures, each to find its own among 600."""
    with (options.data / "snapshots" / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "test"]
    if options.quick:
        rows = rows[:100]
    files = [options.data / "snapshots" / row["file"] for row in rows]
    with collection_of(folder / "snapshots", files) as store:
        ranks = []
        for number, row in enumerate(rows):
            found = [match.path.stem for match in store.search_word(text_of(row), MANY)]
            name = f"{number:05d}"
            ranks.append(found.index(name) if name in found else (len(found) + len(files)) // 2)
    of = f"{len(files)} pictures; by chance {10 / len(files):.3f}"
    return [
        Figure(
            "words of a picture as a sentence: R@10",
            float(np.mean(np.array(ranks) < 10)),
            ">=",
            0.30,
            of,
        ),
        Figure("words of a picture as a sentence: median rank", float(np.median(ranks)) + 1, "<="),
    ]


def taught_sentences(folder: Path, options: Options) -> list[Figure]:
    """Label 2,000 pictures with half of their words, then all; learn, and find others by theirs."""
    with (options.data / "snapshots" / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    rng = np.random.default_rng(0)
    others = [at for at, row in enumerate(rows) if row["split"] != "test"]
    taught = sorted(rng.permutation(others)[: 300 if options.quick else 2000].tolist())
    test = [at for at, row in enumerate(rows) if row["split"] == "test"]
    used = [*taught, *(test[:100] if options.quick else test)]
    files = [options.data / "snapshots" / rows[at]["file"] for at in used]
    words = sorted({word for at in taught for word in words_of(rows[at])})
    half = set(rng.permutation(words)[: len(words) // 2].tolist())
    figures = []
    with collection_of(folder / "taught", files) as store:
        place = {int(row.places[0].stem): row.id for row in store.pictures.all()}
        ids = np.array([place[number] for number in range(len(taught), len(used))])
        for what, more, aim in (
            ("half of the words taught", half, None),
            (f"{len(taught):,} pictures taught", set(words) - half, 0.60),
        ):
            for word in sorted(more):
                some = [place[n] for n, at in enumerate(taught) if word in words_of(rows[at])]
                store.label(some, word)
            store.learn()
            queries = sorted({word for at in test for word in words_of(rows[at])})
            fits = {
                word: {one.id: one.score for one in store.search_word(word, MANY)}
                for word in queries
            }
            whole, alone = [], []
            for number, at in zip(ids.tolist(), used[len(taught) :], strict=True):
                found = store.search_word(text_of(rows[at]), MANY)
                whole.append(rank_of(number, ids, {one.id: one.score for one in found}))
                alone.append(rank_of(number, ids, by_words(fits, words_of(rows[at]))))
            note = f"words one by one: {np.mean(np.array(alone) < 10):.3f}; {len(ids)} pictures"
            value = float(np.mean(np.array(whole) < 10))
            figures.append(Figure(f"sentences, {what}: R@10", value, ">=", aim, note))
    return figures


def by_words(fits: dict[str, dict[int, float]], words: list[str]) -> dict[int, float]:
    """Return the product of how well single words fit."""
    totals: dict[int, float] = {}
    for number in set().union(*(fits[word] for word in words)):
        each = [0.02 + 0.98 * fits[word].get(number, 0.0) for word in words]
        totals[number] = float(np.prod(each))
    return totals


def rank_of(number: int, ids: NDArray[np.int64], scores: dict[int, float]) -> float:
    """Return how many pictures stand before one, ties by half."""
    every = np.array([scores.get(one, 0.0) for one in ids.tolist()])
    own = scores.get(number, 0.0)
    return float((every > own).sum() + ((every == own).sum() - 1) / 2)


def words_of(row: dict[str, str]) -> list[str]:
    return row["words"].split(";")


def text_of(row: dict[str, str]) -> str:
    return row["words"].replace(";", " ")


def collection_of(folder: Path, files: list[Path]) -> Collection:
    """Return a collection of files in which no name of a file or folder tells anything."""
    plain = folder.with_name(f"{folder.name}-files")
    plain.mkdir()
    for number, file in enumerate(files):
        shutil.copyfile(file, plain / f"{number:05d}{file.suffix}")
    store = Collection.create(folder)
    store.add([plain])
    return store


def judge(store: Collection, text: str, has: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the average precision and the precision at 10 of a text."""
    places = [int(match.path.name[:5]) for match in store.search_word(text, MANY)]
    left = np.setdiff1d(np.arange(len(has)), places)
    # What is not found comes last, in no order: the mean of all orders is near that of the share.
    ranked = np.concatenate([has[places], np.random.default_rng(0).permutation(has[left])])
    precision = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return float(precision[ranked].mean()), float(has[places[:10]].sum() / 10)


if __name__ == "__main__":
    main("papers/text", measure)

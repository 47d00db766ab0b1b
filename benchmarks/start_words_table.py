"""Write the tables of start words: names of ImageNet's 1,000 classes, broader words, and kinds.

``python benchmarks/start_words_table.py --synsets imagenet_synsets.txt [--data DIR]`` writes
``start_words.tsv`` and ``kinds.tsv`` in ``src/lookalike/features``. The file of synsets, the
classes in the order of the classifier's outputs, is in the package timm (Apache-2.0),
``timm/data/_info``; the isa relation is ``isa/wordnet_noun_isa.tsv`` of the data
folder (WordNet 3.0).

A class has the words of its synset, a broader word the classes of all synsets below its own. A
broader word is left out if it has more than 400 classes, or is in ``SAYS_NOTHING``. A synonym that
is the first word of some synset belongs to that alone: "dog" is no hot dog. ``NAMES`` and ``ALSO``
are everyday words that WordNet has in another place, or puts after a rarer one.

The kinds are other nouns for bodily things, with the most telling synset above each whose classes
are those of a start word. How much a synset tells is 1 − ln(synsets below it + 1) / ln(all synsets)
(N. Seco, T. Veale and J. Hayes, *An intrinsic information content metric for semantic similarity in
WordNet*, 2004). A noun of n senses is a kind of each with that, divided by √n. Left out are synsets
that tell less than a half, proper and Latin names, and what ends in a start word.
"""

import argparse
import math
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

from lookalike.features.start_words import Vocabulary, keys

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "src" / "lookalike" / "features" / "start_words.tsv"

KINDS = TABLE.with_name("kinds.tsv")

MAX_CLASSES = 400
MIN_TELLING = 0.5
BODILY = "n00001930"

HEAD = """\
# Words for the 1,000 classes of ImageNet (ILSVRC 2012), and broader words: words, then classes.
# Written by benchmarks/start_words_table.py; do not edit.
# Words and what is a kind of what: WordNet 3.0, Copyright 2006 by Princeton University, used under
# the WordNet licence (https://wordnet.princeton.edu/license-and-commercial-use).
# Classes in the order of the classifier's outputs: timm/data/_info/imagenet_synsets.txt of
# PyTorch Image Models (timm), Copyright 2019 Ross Wightman, Apache License 2.0.
"""

KINDS_HEAD = """\
# Start words, how sure it is that others are a kind of them, and these: nouns of WordNet.
# Written by benchmarks/start_words_table.py; do not edit.
# WordNet 3.0, Copyright 2006 by Princeton University, used under the WordNet licence
# (https://wordnet.princeton.edu/license-and-commercial-use).
"""

_NOTHING = """
    abstraction accessory agent anapsid anthropoid_ape apparatus area article associate attachment
    attribute barrier bony_fish causal_agent cartilaginous_fish chelonian chordate circle
    coelenterate commodity communication concoction connection consumer_goods contestant control
    conveyance course covering craft creation decapod_crustacean design device diapsid
    dictyopterous_insect drug drug_of_abuse drygoods durables elasmobranch equipment establishment
    even-toed_ungulate excavation fare feed fixture fluid foodstuff framework furnishing
    game_equipment ganoid gear geographic_point geological_formation globule horizontal_surface
    housing implement ingredient institution instrument instrumentality kit leporid liquid location
    malacostracan_crustacean material matter measure mechanical_device mechanism medium
    mercantile_establishment metatherian movable_barrier musteline_mammal natural_depression
    natural_elevation natural_object nutriment obstruction odd-toed_ungulate oscine padding part
    participant passerine peer piece piece_of_cloth place_of_business placental plant_organ
    plant_part plectognath point product protective_covering prototherian receptacle relation
    reproducer reproductive_structure restraint round_shape saurian scorpaenid scorpaenoid
    self-propelled_vehicle shape sheath sheet soft-finned_fish solid source_of_illumination
    spermatophyte spiny-finned_fish starches strengthener structural_member structure substance
    support supporting_structure surface system teleost_fish top transducer turner upright
    vascular_plant ware white_goods winder work aquatic_vertebrate
acarine acoustic_device agamid ambystomid angiosperm anguid_lizard anseriform_bird anthozoan
apodiform_bird archosaur basidiomycete beating-reed_instrument bovid bovine
bowed_stringed_instrument breathing_device ceratopsian cleaning_implement cloth_covering
colubrid_snake communication_system coraciiform_bird corvine_bird cuculiform_bird cyprinid
cypriniform_fish danaid data_input_device digital_computer dipterous_insect
double-reed_instrument edentate elapid electrical_device electro-acoustic_transducer
electronic_device free-reed_instrument gallinaceous_bird heavier-than-air_craft
homopterous_insect hymenopterous_insect iguanid lacertid_lizard lagomorph lamellicorn_beetle
lepidopterous_insect lifting_device lighter-than-air_craft memory_device monotreme neuropteron
nymphalid odonate optical_device ornithischian orthopterous_insect pelecaniform_seabird
percoid_fish phalanger phasianid phasmid piciform_bird pierid pinniped_mammal procyonid
proboscidean ratite rotating_mechanism salmonid scarabaeid_beetle signaling_device
single-reed_instrument sphenisciform_seabird teiid_lizard viverrine
aquatic_bird aquatic_mammal arthropod bird_of_prey canine carnivore domestic_animal
electronic_equipment feline fastener game game_bird home_appliance hunting_dog invertebrate
kitchen_appliance motor_vehicle protective_garment sporting_dog toy_dog toiletry ungulate
vertebrate wading_bird watchdog wheeled_vehicle working_dog
"""
SAYS_NOTHING = frozenset(_NOTHING.split())

NAMES = {
    412: "trash can",
    428: "wheelbarrow",
    435: "bathtub",
    436: "station wagon",
    437: "lighthouse",
    458: "plaque",
    459: "bra",
    468: "taxi",
    469: "cauldron",
    487: "mobile phone",
    494: "bell",
    506: "spiral",
    509: "candy store",
    513: "trumpet",
    533: "dishcloth",
    553: "filing cabinet",
    555: "fire truck",
    570: "gas mask",
    589: "hair dryer",
    608: "jeans",
    610: "T-shirt",
    612: "rickshaw",
    628: "ocean liner",
    673: "computer mouse",
    681: "notebook computer",
    687: "pipe organ",
    697: "pajamas",
    714: "plectrum",
    724: "pirate ship",
    726: "carpenter's plane",
    738: "flowerpot",
    751: "race car",
    757: "RV",
    769: "ruler",
    776: "saxophone",
    800: "slot machine",
    829: "tram",
    836: "sunglasses",
    840: "mop",
    850: "teddy bear",
    867: "semi-trailer truck",
    882: "vacuum cleaner",
    894: "wardrobe",
    897: "washing machine",
    916: "website",
    929: "popsicle",
    934: "hot dog",
    989: "rose hip",
    990: "horse chestnut",
    998: "ear of corn",
}
"""Everyday names of classes, where WordNet's first word is another."""

ALSO = {
    "airplane": [404, 895],
    "beach": [977, 978],
    "cow": [345],
    "mountain": [970, 972, 979, 980],
    "rooster": [7],
    "train": [466, 547, 565, 705, 820],
    "TV": [851],
}
"""Everyday words with the classes that show them, beside those that WordNet puts below."""


def read_isa(path: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the words and the parents of each synset."""
    rows = [line.rstrip("\n").split("\t") for line in path.open(encoding="utf-8")][1:]
    words = {synset: names.split(",") for synset, names, _ in rows}
    parents = {synset: [one for one in above.split(",") if one] for synset, _, above in rows}
    return words, parents


def classes_below(synsets: list[str], parents: dict[str, list[str]]) -> dict[str, set[int]]:
    """Return the classes of each synset that is a class, or above one."""
    below: dict[str, set[int]] = {}
    for number, synset in enumerate(synsets):
        waiting, seen = [synset], {synset}
        while waiting:
            one = waiting.pop()
            below.setdefault(one, set()).add(number)
            new = set(parents[one]) - seen
            seen |= new
            waiting += sorted(new)
    return below


def table(
    synsets: list[str], words: dict[str, list[str]], parents: dict[str, list[str]]
) -> dict[str, tuple[list[str], set[int]]]:
    """Return each word with its synonyms and its classes."""
    numbers = {synset: number for number, synset in enumerate(synsets)}
    spelled = {synset: [one.replace("_", " ") for one in words[synset]] for synset in words}
    kept = {
        synset: classes
        for synset, classes in classes_below(synsets, parents).items()
        if synset in numbers
        or (len(classes) <= MAX_CLASSES and words[synset][0] not in SAYS_NOTHING)
    }
    called = {
        synset: [NAMES.get(numbers.get(synset, -1), spelled[synset][0]), *spelled[synset]]
        for synset in kept
    }
    first = {names[0] for names in called.values()}
    found: dict[str, tuple[list[str], set[int]]] = {}
    for synset, classes in sorted(kept.items(), key=lambda it: (min(it[1]), len(it[1]), it[0])):
        name, *others = called[synset]
        own = [one for one in others if one not in first]
        synonyms, known = found.get(name, ([], set()))
        found[name] = (list(dict.fromkeys([*synonyms, *own])), known | classes)
    for name, more in ALSO.items():
        synonyms, known = found.get(name, ([], set()))
        found[name] = (synonyms, known | set(more))
    return found


def all_above(synset: str, parents: dict[str, list[str]]) -> set[str]:
    """Return a synset and all above it."""
    waiting, seen = [synset], {synset}
    while waiting:
        new = set(parents[waiting.pop()]) - seen
        seen |= new
        waiting += new
    return seen


def kinds(
    synsets: list[str],
    words: dict[str, list[str]],
    parents: dict[str, list[str]],
    start: dict[str, tuple[list[str], set[int]]],
) -> dict[tuple[str, float], set[str]]:
    """Return nouns that are no start words by the start word they are a kind of, and how surely."""
    known = Vocabulary([([name, *more], sorted(own)) for name, (more, own) in start.items()], 1000)
    named: dict[frozenset[int], str] = {}
    for name, (_, own) in start.items():
        named.setdefault(frozenset(own), name)
    below = classes_below(synsets, parents)
    above = {synset: all_above(synset, parents) for synset in words}
    sizes = Counter(one for synsets_above in above.values() for one in synsets_above)
    telling = {one: 1 - math.log(size) / math.log(len(words)) for one, size in sizes.items()}
    senses = defaultdict(list)
    for synset, names in words.items():
        for place, name in enumerate(names):
            spelled = name.replace("_", " ")
            senses[keys(spelled)[0]].append((synset, place, spelled))
    found: dict[tuple[str, float], set[str]] = defaultdict(set)
    for meanings in senses.values():
        for synset, place, name in meanings:
            parts = name.split()
            is_latin = name != name.lower() and (place or all(part[0].isupper() for part in parts))
            if is_latin or not name.replace(" ", "").isalpha() or BODILY not in above[synset]:
                continue
            if known.find(name) is not None or known.find(parts[-1]) is not None:
                continue
            near = [
                (telling[one], named[frozenset(below[one])])
                for one in above[synset]
                if one in below and frozenset(below[one]) in named
            ]
            if near and (best := max(near))[0] >= MIN_TELLING:
                found[best[1], round(best[0] / len(meanings) ** 0.5, 1)].add(name)
    return found


def spans(classes: set[int]) -> str:
    """Return numbers as text.

    >>> spans({1, 2, 3, 7})
    '1-3,7'
    """
    rising = sorted(classes)
    breaks = [0, *(at for at, (a, b) in enumerate(pairwise(rising), 1) if b > a + 1), len(rising)]
    runs = [(rising[begin], rising[end - 1]) for begin, end in pairwise(breaks)]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--synsets", type=Path, required=True, help="imagenet_synsets.txt")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    arguments = parser.parse_args()
    words, parents = read_isa(arguments.data / "isa" / "wordnet_noun_isa.tsv")
    synsets = arguments.synsets.read_text("utf-8").split()
    rows = table(synsets, words, parents)
    lines = [
        f"{'; '.join([name, *synonyms])}\t{spans(classes)}"
        for name, (synonyms, classes) in rows.items()
    ]
    TABLE.write_text(HEAD + "\n".join(lines) + "\n", "utf-8")
    print(f"{len(lines):,} words, {TABLE.stat().st_size:,} bytes")
    narrower = kinds(synsets, words, parents, rows)
    lines = [
        f"{a}\t{sure}\t{'; '.join(sorted(some))}" for (a, sure), some in sorted(narrower.items())
    ]
    KINDS.write_text(KINDS_HEAD + "\n".join(lines) + "\n", "utf-8")
    print(f"{sum(map(len, narrower.values())):,} kinds, {KINDS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

from collections import Counter

import pytest

from lookalike.evaluate.reproduce.caltech256 import (
    FIFTY,
    NUMBERS,
    TEN,
    TWENTY,
    bare,
    class_sets,
    number_of,
)

ALL_NAMES = """ak47 american-flag backpack baseball-bat baseball-glove basketball-hoop bat bathtub
bear beer-mug billiards binoculars birdbath blimp bonsai-101 boom-box bowling-ball bowling-pin
boxing-glove brain-101 breadmaker buddha-101 bulldozer butterfly cactus cake calculator camel cannon
canoe car-tire cartman cd centipede cereal-box chandelier-101 chess-board chimp chopsticks cockroach
coffee-mug coffin coin comet computer-keyboard computer-monitor computer-mouse conch cormorant
covered-wagon cowboy-hat crab-101 desk-globe diamond-ring dice dog dolphin-101 doorknob
drinking-straw duck dumb-bell eiffel-tower electric-guitar-101 elephant-101 elk ewer-101 eyeglasses
fern fighter-jet fire-extinguisher fire-hydrant fire-truck fireworks flashlight floppy-disk
football-helmet french-horn fried-egg frisbee frog frying-pan galaxy gas-pump giraffe goat
golden-gate-bridge goldfish golf-ball goose gorilla grand-piano-101 grapes grasshopper guitar-pick
hamburger hammock harmonica harp harpsichord hawksbill-101 head-phones helicopter-101 hibiscus
homer-simpson horse horseshoe-crab hot-air-balloon hot-dog hot-tub hourglass house-fly
human-skeleton hummingbird ibis-101 ice-cream-cone iguana ipod iris jesus-christ joy-stick
kangaroo-101 kayak ketch-101 killer-whale knife ladder laptop-101 lathe leopards-101 license-plate
lightbulb light-house lightning llama-101 mailbox mandolin mars mattress megaphone menorah-101
microscope microwave minaret minotaur motorbikes-101 mountain-bike mushroom mussels necktie octopus
ostrich owl palm-pilot palm-tree paperclip paper-shredder pci-card penguin people pez-dispenser
photocopier picnic-table playing-card porcupine pram praying-mantis pyramid raccoon radio-telescope
rainbow refrigerator revolver-101 rifle rotary-phone roulette-wheel saddle saturn school-bus
scorpion-101 screwdriver segway self-propelled-lawn-mower sextant sheet-music skateboard skunk
skyscraper smokestack snail snake sneaker snowmobile soccer-ball socks soda-can spaghetti speed-boat
spider spoon stained-glass starfish-101 steering-wheel stirrups sunflower-101 superman sushi swan
swiss-army-knife sword syringe tambourine teapot teddy-bear teepee telephone-box tennis-ball
tennis-court tennis-racket theodolite toaster tomato tombstone top-hat touring-bike tower-pisa
traffic-light treadmill triceratops tricycle trilobite-101 tripod t-shirt tuning-fork tweezer
umbrella-101 unicorn vcr video-projector washing-machine watch-101 waterfall watermelon welding-mask
wheelbarrow windmill wine-bottle xylophone yarmulke yo-yo zebra airplanes-101 car-side-101
faces-easy-101 greyhound tennis-shoes toad clutter"""
NAMES = ALL_NAMES.split()

FOLDERS = [f"{number:03}.{name}" for number, name in enumerate(NAMES, start=1)]


def test_the_folders_are_those_of_caltech_256():
    assert len(FOLDERS) == 257
    assert FOLDERS[128] == "129.leopards-101"
    assert FOLDERS[239:241] == ["240.watch-101", "241.waterfall"]
    assert FOLDERS[-7:] == [
        "251.airplanes-101",
        "252.car-side-101",
        "253.faces-easy-101",
        "254.greyhound",
        "255.tennis-shoes",
        "256.toad",
        "257.clutter",
    ]


@pytest.mark.parametrize(("classes", "count"), [(TEN, 10), (TWENTY, 20), (FIFTY, 50)])
def test_each_list_has_as_many_different_names_as_it_says(classes, count):
    assert len(set(classes)) == len(classes) == count


def test_no_two_folders_look_the_same():
    assert max(Counter(map(bare, FOLDERS)).values()) == 1


def test_every_class_of_the_paper_is_a_folder():
    sets = class_sets(FOLDERS)
    assert list(sets) == [10, 20, 50, 249]
    for size, folders in sets.items():
        assert len(set(folders)) == len(folders) == size
        assert set(folders) <= set(FOLDERS)
    assert "032.cartman" in sets[50]
    assert "201.starfish-101" in sets[50]
    assert "234.tweezer" in sets[50]
    assert "132.light-house" in sets[50]
    assert sets[10][0] == "009.bear"


def test_249_classes_are_the_first_250_without_the_leopards():
    assert len(NUMBERS) == 249
    assert class_sets(FOLDERS)[249] == [*FOLDERS[:128], *FOLDERS[129:250]]


def test_a_set_that_lacks_a_class_is_not_there():
    without = [name for name in FOLDERS if name != "009.bear"]
    assert list(class_sets(without)) == [20, 50]
    assert class_sets(["cats", "dogs"]) == {}


def test_folders_without_numbers_are_known_by_name():
    assert list(class_sets(NAMES)) == [10, 20, 50]
    assert number_of("bear") is None
    assert number_of("009.bear") == 9

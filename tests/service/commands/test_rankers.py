"""Collections with several rankers on the command line."""

from lookalike import Collection
from lookalike.features import FEATURES
from tests.service.brightness import Brightness
from tests.service.pictures import draw


def names(told):
    return [info["name"] for info in told["rankers"]]


def fails(ran, *words):
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("\n") == 1
    for some in words:
        assert some in ran.err


def test_help_lists_what_is_installed(run, known_brightness):
    def shown(command):
        return " ".join(run(command, "--help").out.replace("│", " ").split())

    assert "embedding, visterms, views, regions, brightness" in shown("index")
    assert "dense, sparse" in shown("index")
    assert "oasis, oks, omks, sparse, lda, cosine, hamming" in shown("learn")
    for command in ("search", "evaluate", "export", "tag"):
        assert "--by" in run(command, "--help").out


def test_the_default_ranker_is_chosen_and_undone(run, photos, changeable, known_brightness):
    assert run("index", photos, "-c", changeable, "--feature", "brightness").code == 0
    told = run("rankers", "-c", changeable, "--default", "brightness")
    assert "Searches take the ranker brightness by default. To undo: lookalike undo " in told.out
    assert names(run("rankers", "-c", changeable, "--json").json) == ["brightness", "embedding"]
    assert run("undo", told.out.split("lookalike undo ")[1].split()[0], "-c", changeable).code == 0
    assert names(run("rankers", "-c", changeable, "--json").json) == ["embedding", "brightness"]
    fails(run("rankers", "-c", changeable, "--default", "none"), "no ranker 'none'")


def test_a_feature_is_added_and_then_known(run, photos, changeable, known_brightness, tmp_path):
    draw(tmp_path / "new.png", (90, 90, 90), 500)
    asked = ("index", photos, tmp_path / "*.png", "-c", changeable, "--feature", "brightness")
    first = run(*asked)
    assert first.code == 0
    assert "1 added; 28 pictures" in first.out
    (line,) = [line for line in first.out.splitlines() if line.startswith("brightness")]
    assert line.split() == ["brightness", "brightness", "cosine", "28"]
    told = run(*asked, "--json").json
    assert names(told) == ["embedding", "brightness"]
    assert (told["known"], told["undescribed"]) == (28, {})
    assert told["rankers"][1]["pictures"] == 28
    with Collection.open(changeable) as store:
        assert [event.kind for event in store.log.history()][:1] == ["feature"]


def test_a_new_collection_with_several_features(run, photos, model, known_brightness, tmp_path):
    asked = ("index", photos, "-c", tmp_path / "s", "--feature", "brightness")
    both = (*asked, "--feature", "embedding", "--model", model, "--json")
    told = run(*both)
    assert told.code == 0
    assert names(told.json) == ["brightness", "embedding"]
    assert run(*both).json["known"] == 27
    fails(run(*asked, "--feature", "embedding", "--name", "x"), "--name works only with one")
    fails(run(*asked, "--feature", "visterms", "--set", "x=1"), "--set works only with one")


def test_a_ranker_has_a_name_and_settings(run, photos, changeable, known_brightness):
    asked = ("index", photos, "-c", changeable, "--feature", "brightness")
    assert run(*asked, "--name", "dark", "--set", "angle=0.5").code == 0
    with Collection.open(changeable) as store:
        assert store.features["dark"].angle == 0.5
    for options in ([], ["--name", "dark"], ["--set", "angle=0.5"]):
        assert names(run(*asked, *options, "--json").json) == ["embedding", "dark"]
    fails(run(*asked, "--name", "again", "--set", "angle=0.5"), "already has this feature, as dark")
    fails(run(*asked, "--name", "dark", "--set", "angle=1"), "already has the ranker dark")
    assert names(run(*asked, "--set", "angle=1.5", "--json").json)[2:] == ["brightness"]
    fails(run(*asked, "--set", "colour=1"), "there is no setting 'colour'", "angle")
    fails(run(*asked, "--name", "x" * 65, "--set", "angle=2"), "at most 64")


def test_the_same_feature_before_it_is_fitted(run, tmp_path):
    for number in range(3):
        draw(tmp_path / "in" / f"{number}.png", (90, 90, 90), number, side=400)
    asked = ("index", tmp_path / "in", "-c", tmp_path / "s", "--feature", "visterms")
    assert run(*asked, "--set", "dimension=40").code == 0
    assert run(*asked, "--dimension", 40).code == 0
    fails(run(*asked, "--name", "other"), "already has this feature, as visterms")
    told = run(*asked, "--name", "fine", "--set", "dimension=50", "--json")
    assert names(told.json) == ["visterms", "fine"]


def test_unknown_parts_list_the_choices(run, photos, changeable, tmp_path):
    for place in (tmp_path / "s", changeable):
        asked = ("index", photos, "-c", place)
        fails(run(*asked, "--feature", "dreams"), "no feature 'dreams'", "embedding, visterms")
        fails(run(*asked, "--index", "tree", "--name", "x"), "no index 'tree'", "dense, sparse")
    assert not (tmp_path / "s").exists()
    learn = ("learn", "--folders", "-c", changeable)
    fails(run(*learn, "--method", "magic"), "no similarity 'magic'", "oasis, oks")
    fails(run(*learn, "--set", "magic=1"), "no setting 'magic'", "aggressiveness")
    fails(run(*learn, "--feature", "dreams"), "no ranker 'dreams'. Choose one of embedding.")


def test_the_index_of_a_collection(run, photos, model, tmp_path):
    asked = ("index", photos, "-c", tmp_path / "s", "--model", model)
    assert run(*asked, "--index", "dense").code == 0
    assert len(run("search", photos / "red" / "0.png", "-c", tmp_path / "s", "--json").json) > 0


def test_pictures_that_cannot_be_described_are_listed(run, model, known_brightness, tmp_path):
    for number in range(4):
        draw(tmp_path / "in" / f"{number}.png", (60 * number, 90, 90), number)
    place, kept = tmp_path / "s", tmp_path / "in" / "0.png"
    assert run("index", tmp_path / "in", "-c", place, "--model", model).code == 0
    content = kept.read_bytes()
    kept.unlink()
    asked = ("index", tmp_path / "in", "-c", place, "--feature", "brightness")
    ran = run(*asked)
    assert ran.code == 3
    assert "1 picture not described by brightness" in ran.out
    assert str(kept) in ran.out
    plain = run("index", tmp_path / "in", "-c", place)
    assert "1 picture not described by brightness. To try again: --feature brightness" in plain.out
    told = run(*asked, "--json")
    assert told.code == 3
    assert [one["path"] for one in told.json["undescribed"]["brightness"]] == [str(kept)]
    kept.write_bytes(content)
    again = run(*asked, "--json")
    assert again.code == 0
    assert again.json["rankers"][1]["undescribed"] == 0


def test_files_that_moved_are_described_where_they_are(run, model, known_brightness, tmp_path):
    for number in range(4):
        draw(tmp_path / "in" / f"{number}.png", (60 * number, 90, 90), number)
    asked = ("index", tmp_path / "in", "-c", tmp_path / "s")
    assert run(*asked, "--model", model).code == 0
    (tmp_path / "in" / "0.png").rename(tmp_path / "in" / "new.png")
    ran = run(*asked, "--feature", "brightness", "--json")
    assert (ran.code, ran.json["moved"]) == (0, 1)
    assert ran.json["undescribed"] == {"brightness": []}


def test_an_interrupted_feature_is_gone_on_with(
    run, photos, changeable, known_brightness, stand_in
):
    asked = ("index", photos, "-c", changeable, "--feature", "brightness")

    def interrupted(self, image):
        raise KeyboardInterrupt

    record = Brightness.record
    stand_in(Brightness, record=interrupted)
    ran = run(*asked)
    stand_in(Brightness, record=record)
    assert ran.code == 130
    assert "Finished work is kept; run the same command again" in ran.err
    query = ("search", photos / "red" / "0.png", "-c", changeable)
    fails(run(*query, "--by", "brightness"), "the ranker brightness is not ready")
    assert run(*query).code == 0
    assert "brightness is not ready" in run("index", photos, "-c", changeable).out
    assert run(*asked).code == 0
    assert run(*query, "--by", "brightness").code == 0


def test_searches_and_words_by_a_ranker(run, photos, two, tmp_path):
    query = photos / "red" / "0.png"
    by = ("--by", "brightness")
    first = run("search", query, "-c", two, "--json").json
    second = run("search", query, "-c", two, *by, "--json").json
    assert (first["by"], second["by"]) == (None, "brightness")
    paths = [[match["path"] for match in told["matches"]] for told in (first, second)]
    assert paths[0] != paths[1]
    fails(run("tag", query, "-c", two, *by), "no annotator yet")
    fails(run("evaluate", "-c", two, *by), "no trained model to evaluate")
    learned = run("learn", "--folders", "-c", two, "--feature", "brightness", "--json")
    assert learned.code == 0
    with Collection.open(two) as store:
        assert {model.ranker for model in store.models.all()} == {"embedding", "brightness"}
    assert run("evaluate", "-c", two, *by, "--json").json["by"] == "brightness"
    out = tmp_path / "x.safetensors"
    assert run("export", "--out", out, "-c", two, *by, "--json").json["by"] == "brightness"
    for asked in (["search", query], ["tag", query], ["evaluate"], ["export", "--out", out]):
        wrong = run(*asked, "-c", two, "--by", "dreams")
        fails(wrong, "no ranker 'dreams'. Choose one of embedding, brightness.")


def test_another_method_with_settings(run, two):
    asked = ("learn", "--folders", "-c", two, "--method", "lda", "--feature", "embedding")
    assert run(*asked, "--set", "dimension=20").code == 0
    with Collection.open(two) as store:
        made = [model for model in store.models.all() if model.method == "lda"]
    assert [model.ranker for model in made] == ["embedding"]
    assert made[0].settings["dimension"] == 20


def test_a_part_that_is_gone_stops_only_its_ranker(
    run, photos, two, known_brightness, without_brightness, tmp_path
):
    draw(tmp_path / "new.png", (90, 90, 90), 500)
    without_brightness()
    assert "brightness" not in FEATURES
    query = ("search", photos / "red" / "0.png", "-c", two)
    assert run(*query).code == 0
    gone = ("the feature 'brightness'", "is not installed. Install it")
    fails(run(*query, "--by", "brightness"), *gone, "Or use another ranker: --by embedding.")
    fails(run("learn", "--folders", "-c", two, "--feature", "brightness"), *gone, "--feature embed")
    ran = run("index", tmp_path / "new.png", "-c", two)
    assert ran.code == 0
    assert "The ranker brightness cannot be used: the feature 'brightness'" in ran.out
    assert run("index", tmp_path / "new.png", "-c", two, "--feature", "brightness").code == 1
    told = run("index", tmp_path / "new.png", "-c", two, "--json").json
    assert (told["known"], told["rankers"][1]["undescribed"]) == (1, 1)

import json

import pytest

from lookalike.service.screen import Screen, complain, kept, plain


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain.jpg", "plain.jpg"),
        ("[bold]x[/bold].png", "[bold]x[/bold].png"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("caf\udce9.jpg", "caf\\xe9.jpg"),
        ("\ud800", "\\ud800"),
        ("evil\u202egpj.exe", "evil\\u202egpj.exe"),
        ("été 日本 🙂", "été 日本 🙂"),
        ("👩\u200d💻\ufe0f", "👩\u200d💻\ufe0f"),
    ],
)
def test_plain(given, shown):
    assert plain(given) == shown
    plain(given).encode()


def test_tables_print_names_as_they_are(capsys):
    names = ["[bold]x[/].png", "[/nonsense]", ":smile:", "two\nlines", "\udcff", "x" * 300]
    Screen(False).table(["name"], [[name] for name in names], title="[red]title")
    out = capsys.readouterr().out
    for name in names:
        assert plain(name) in out
    assert "[red]title" in out


def test_json_is_alone_and_holds_anything(capsys):
    screen = Screen(True)
    screen.say("nothing")
    screen.table(["a"], [["b"]])
    with screen.bar("work") as progress:
        progress(1, 2)
    screen.result({"path": "\udcff\n", "not a number": float("nan"), "list": (1, None)})
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {
        "path": "\udcff\n",
        "not a number": None,
        "list": [1, None],
    }
    assert captured.out.isascii()
    assert captured.err == ""


def test_bar_is_silent_without_a_terminal(capsys):
    with Screen(False).bar("work") as progress:
        progress(1, 2)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_complaint_is_one_line(capsys):
    complain("a\nb [bold] \udcff")
    assert capsys.readouterr().err == "a\\nb [bold] \\xff\n"


def test_kept_says_what_is_kept():
    with pytest.raises(KeyboardInterrupt, match="all is well"), kept("all is well"):
        raise KeyboardInterrupt

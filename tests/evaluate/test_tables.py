import csv
import io

import pytest

from lookalike.core.errors import InvalidInput
from lookalike.evaluate import Spread, Table

TABLE = Table(
    ["method", "mAP", "P@1", "minutes"],
    [
        ["OASIS", Spread(33.0, 1.64, 5), 43.25, 42],
        ['a|b,\n"c"', None, None, None],
        ["Euclidean", Spread(23.0, 0.9, 5), 37.0, None],
    ],
    title="Table 4",
    notes=["10 classes.", "5 folds."],
)


def test_text_is_aligned():
    assert TABLE.text() == (
        "Table 4\n"
        "\n"
        "method            mAP   P@1  minutes\n"
        "---------  ----------  ----  -------\n"
        "OASIS      33.0 ± 1.6  43.2       42\n"
        'a|b, "c"            –     –        –\n'
        "Euclidean  23.0 ± 0.9  37.0        –\n"
        "\n"
        "10 classes.\n"
        "5 folds."
    )


def test_markdown_escapes_bars():
    assert TABLE.markdown() == (
        "**Table 4**\n"
        "\n"
        "| method    |        mAP |  P@1 | minutes |\n"
        "| --------- | ---------: | ---: | ------: |\n"
        "| OASIS     | 33.0 ± 1.6 | 43.2 |      42 |\n"
        '| a\\|b, "c" |          – |    – |       – |\n'
        "| Euclidean | 23.0 ± 0.9 | 37.0 |       – |\n"
        "\n"
        "10 classes.\n"
        "\n"
        "5 folds."
    )


def test_csv_keeps_all_digits_and_splits_spreads():
    assert list(csv.reader(io.StringIO(TABLE.csv()))) == [
        ["method", "mAP", "mAP ±", "P@1", "minutes"],
        ["OASIS", "33.0", "1.64", "43.25", "42"],
        ['a|b,\n"c"', "", "", "", ""],
        ["Euclidean", "23.0", "0.9", "37.0", ""],
    ]


def test_no_rows():
    empty = Table(["a", "b"], [])
    assert empty.text() == "a  b\n-  -"
    assert empty.markdown() == "| a   | b   |\n| --- | --- |"
    assert empty.csv() == "a,b\n"


def test_digits():
    table = Table(["x"], [[0.12345], [Spread(0.5, 0.1, 2)]], digits=3)
    assert table.text().splitlines()[2:] == ["        0.123", "0.500 ± 0.100"]


def test_a_row_of_another_length_is_refused():
    with pytest.raises(InvalidInput, match="row 1 has 1"):
        Table(["a", "b"], [[1, 2], [1]])


def test_spread():
    spread = Spread.of([1.0, 2.0, 3.0])
    assert (spread.mean, spread.deviation, spread.count) == (2.0, 1.0, 3)
    assert spread.error == pytest.approx(3**-0.5)
    assert spread.scaled(10).text(0) == "20 ± 10"
    assert Spread.of([4.0]).deviation == 0.0
    with pytest.raises(InvalidInput):
        Spread.of([])

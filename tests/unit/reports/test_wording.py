"""Numbers and foreign text on a page."""

import numpy as np
import pytest

from mercer.reports.wording import counted, decimals, fixed, number, percent, shown, span


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12345, "12\u202f345"),
        (np.int64(7), "7"),
        (True, "yes"),
        (np.bool_(False), "no"),
        (0.1, "0.1"),
        (-0.5, "−0.5"),
        (1234.5, "1\u202f234"),
        (2.5e-7, "2.5e-7"),
        (-1e300, "−1e300"),
        (float("inf"), "∞"),
        (float("nan"), "not defined"),
        (None, "–"),
        ("a\nb", "a\\nb"),
        (0.0, "0"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


def test_text_without_surprises():
    assert shown("Größe 身長 ñ") == "Größe 身長 ñ"
    assert shown("\u202eabc\u2066\u200b\x00\ud800") == "\\u202eabc\\u2066\\u200b\\x00\\ud800"
    assert shown("x" * 10_000) == "x" * 60 + "… (10000 characters)"


def test_objects_whose_text_fails_do_no_harm():
    class Mute:
        def __str__(self):
            raise RuntimeError("no")

    assert shown(Mute()) == "<Mute: no text, RuntimeError>"


def test_columns_of_numbers_line_up():
    assert decimals([0.123, 0.9]) == 4
    assert decimals([np.nan, 123.0]) == 1
    assert decimals([]) == 4
    assert fixed(0.5, 4) == "0.5000"
    assert fixed(np.nan, 4) == "not defined"


def test_counts_shares_and_spans():
    assert counted(3, "class", "classes") == "3 classes"
    assert percent(1 / 3) == "33.3 %"
    assert span(0.5) == "500 ms"
    assert span(2.0) == "2 s"

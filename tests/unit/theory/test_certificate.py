import json

import pytest

from mercer.theory import Assumption, Bound, Certificate, Estimate, Term

TERMS = (Term("ramp loss", "mean", 0.1), Term("complexity", "R^", 0.2))
GOOD = Bound.of_terms("paid", "P(error)", TERMS, 0.05)
UNPAID = Bound(0.1, "unpaid", "P(error)", (), 0.05)
EMPTY = Bound(3.0, "empty", "P(error)", (), 0.05)
FREE = Assumption("samples are independent", None, "data do not show it")
BROKEN = Assumption("the kernel was fixed", False, "fit has <learned> it")
HELD = Estimate("hold-out", 0.1, 0.05, 0.2, 100, True)


def made(bounds, assumptions=(FREE,), loose=()):
    return Certificate("SVC()", "P(error)", 500, 0.05, bounds, (HELD,), assumptions, ("a note",), frozenset(loose))


def test_best_is_the_smallest_bound_that_pays_for_everything():
    assert made((EMPTY, GOOD, UNPAID), loose=("unpaid",)).best is GOOD
    assert made((), loose=()).best is None
    assert made(()).verdict == "There is no bound for this model."


def test_verdict_says_what_is_certified():
    text = made((GOOD,)).verdict
    assert text == "With probability 0.95, P(error) is at most 0.3 (paid), if the assumptions hold."


def test_verdict_says_when_bounds_are_vacuous():
    certificate = made((EMPTY,))
    assert certificate.is_vacuous
    assert certificate.verdict.startswith("The bounds are vacuous")


def test_verdict_names_what_is_broken():
    certificate = made((GOOD,), (FREE, BROKEN))
    assert not certificate.holds
    assert "is not certified: an assumption does not hold" in certificate.verdict
    assert "the kernel was fixed: fit has <learned> it" in certificate.verdict


def test_text_has_a_line_for_every_part():
    text = str(made((GOOD, UNPAID), (FREE, BROKEN), ("unpaid",)))
    for part in ("ramp loss", "complexity", "no certificate", "hold-out", "exact", "not checked", "NO", "a note"):
        assert part in text
    assert [line for line in text.splitlines() if line in ("Bounds", "Measured", "Assumptions", "Notes")] == [
        "Bounds",
        "Measured",
        "Assumptions",
        "Notes",
    ]


def test_html_escapes_what_it_shows():
    page = made((GOOD,), (BROKEN,))._repr_html_()
    assert "fit has &lt;learned&gt; it" in page
    assert page.count("<tr") == 1 + 1 + 2 + 1 + 1


def test_everything_goes_through_json():
    found = json.loads(json.dumps(made((GOOD, UNPAID), (FREE, BROKEN), ("unpaid",)).to_dict()))
    assert found["bounds"][0]["terms"][1] == {"name": "complexity", "formula": "R^", "value": 0.2}
    assert [bound["certified"] for bound in found["bounds"]] == [True, False]
    assert found["estimates"][0]["high"] == 0.2
    assert found["assumptions"][1]["holds"] is False


def test_repr_is_short():
    assert repr(made((GOOD,))) == "<Certificate of SVC(): P(error) <= 0.3 at 0.95, 500 samples>"


@pytest.mark.parametrize("holds, answer", [(True, "yes"), (False, "NO"), (None, "not checked")])
def test_answers(holds, answer):
    assert Assumption("a", holds).answer == answer

"""Fields of requests: what is accepted, and what is not."""

import pytest

from mercer.errors import ParameterError
from mercer.studio.form_fields import MOST_POINTS, Form


def test_what_is_accepted():
    form = Form({"a": 2, "b": "x", "c": True, "p": [[1, 2.5]], "k": "Gaussian(1.0).on([0])"})
    assert form.number("a", 0, 3) == 2.0 and form.whole("a", 0, 3) == 2 and form.text("b") == "x"
    assert form.flag("c") and not form.flag("d") and form.choice("b", ["x", "y"]) == "x"
    assert form.points("p").tolist() == [[1.0, 2.5]] and repr(form.kernel("k")) == "Gaussian(1.0).on([0])"


@pytest.mark.parametrize("value", [None, "1", True, [], 4, -1, float("nan"), float("inf")])
def test_numbers(value):
    with pytest.raises(ParameterError, match="a number from 0 to 3"):
        Form({"a": value}).number("a", 0, 3)


@pytest.mark.parametrize(
    "rows", [None, 3, {}, [1, 2], [[1]], [[1, 2, 3]], [["a", 1]], [[True, 1]], [[1e7, 0]], [[float("nan"), 0]],
             [[0, 0]] * (MOST_POINTS + 1)]
)  # fmt: skip
def test_points(rows):
    with pytest.raises(ParameterError, match="rows of 2 numbers"):
        Form({"points": rows}).points()


def test_the_rest():
    for call in (
        lambda: Form([]),
        lambda: Form({}).number("a", 0, 1),
        lambda: Form({"a": 1.5}).whole("a", 0, 3),
        lambda: Form({"a": "x" * 10}).text("a", 5),
        lambda: Form({"a": ["x"]}).choice("a", ["x"]),
        lambda: Form({"k": 7}).kernel("k"),
    ):
        with pytest.raises(ParameterError):
            call()

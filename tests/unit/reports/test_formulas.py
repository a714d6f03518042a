"""Formulas of the catalogue as MathML."""

import inspect
import xml.etree.ElementTree as ET

import pytest

from mercer import kernels
from mercer.kernels import Kernel
from mercer.reports.formulas import mathml

CLASSES = [getattr(kernels, name) for name in kernels.__all__]
KERNELS = [cls for cls in CLASSES if inspect.isclass(cls) and issubclass(cls, Kernel) and not inspect.isabstract(cls)]
FORMULAS = {cls.__name__: cls.formula for cls in KERNELS}


def text_of(markup):
    return "".join(ET.fromstring(markup).itertext())


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_of_the_catalogue_is_read(name):
    markup = mathml(FORMULAS[name])
    assert FORMULAS[name]
    assert "\\" not in text_of(markup)


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\exp(-\|x - x'\|^2 / (2 l^2))", "exp(−‖x−x′‖2/(2l2))"),
        (r"\sqrt{2\nu}", "2ν"),
        (r"\frac{a}{b}", "ab"),
        (r"\sum_{i \in S} x_i", "∑i∈Sxi"),
    ],
)
def test_what_is_read_is_what_was_written(latex, text):
    assert text_of(mathml(latex)) == text


def test_scripts_stand_where_they_belong():
    assert mathml("x_i^2") == ('<math displaystyle="true"><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup></math>')
    assert "<munder>" in mathml(r"\sum_i x")
    assert "<munderover>" in mathml(r"\prod_{i=1}^n x")
    assert '<mrow><mi>x</mi><mo lspace="0" rspace="0">′</mo></mrow>' in mathml("x'")


def test_a_minus_is_a_sign_or_an_operation():
    assert '<mo form="prefix">−</mo>' in mathml("-x")
    assert '<mo form="prefix">−</mo>' in mathml(r"\exp(-x)")
    assert "prefix" not in mathml("x - y")


@pytest.mark.parametrize("latex", [r"\unknown x", "x^", "{x", "x}", r"\frac{a}", "$x$", "{" * 50, "x" * 5000])
def test_what_cannot_be_read_is_told(latex):
    with pytest.raises(ValueError, match="Show its text"):
        mathml(latex)


def test_markup_in_a_formula_is_escaped():
    markup = mathml("<script>a</script>")
    assert "<script" not in markup
    assert text_of(markup) == "<script>a</script>"

"""Drawing: axes given or made, SVG that fits into a page, and what is said without matplotlib."""

import importlib.util
import xml.etree.ElementTree as ET

import matplotlib
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from mercer.plots import canvas


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


@pytest.fixture
def without_matplotlib(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "matplotlib" else find(name, *a))


def test_axes_given_are_used():
    figure = Figure()
    ax = figure.add_subplot()
    assert canvas.axes(ax) == (ax, figure)


def test_new_axes_have_the_size_asked_for():
    _, figure = canvas.axes(None, (3.0, 2.0))
    assert tuple(figure.get_size_inches()) == (3.0, 2.0)


def test_missing_matplotlib_is_told_with_the_command(without_matplotlib):
    assert not canvas.is_available()
    with pytest.raises(ImportError, match=r"pip install mercer\[plot\]"):
        canvas.axes()
    with pytest.raises(ImportError, match=r"pip install mercer\[plot\]"):
        canvas.svg(lambda ax: None, (1, 1))


def draw(ax):
    ax.plot([0, 1], [0, 1], label="<script>alert(1)</script>")
    ax.set_title('$x & "y" \u202e')
    ax.legend()
    ax.scatter([0, 1], [1, 0])


def test_svg_is_well_formed_and_escaped():
    text = canvas.svg(draw, (3, 2))
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    root = ET.fromstring(text)
    assert root.tag.endswith("svg")
    assert '$x & "y" \\u202e' in "".join(root.itertext())


def test_svg_scales_and_takes_the_colour_of_the_page():
    text = canvas.svg(draw, (3, 2))
    root = ET.fromstring(text)
    assert "viewBox" in root.attrib
    assert "width" not in root.attrib
    assert "height" not in root.attrib
    assert "currentColor" in text
    assert canvas.INK not in text
    assert "<style" not in text
    assert "<metadata" not in text


def test_names_inside_two_drawings_do_not_meet():
    names = [set(_identifiers(canvas.svg(draw, (3, 2), salt))) for salt in ("a", "b")]
    assert names[0]
    assert not names[0] & names[1]


def _identifiers(text):
    return [node.attrib["id"] for node in ET.fromstring(text).iter() if "id" in node.attrib]


def test_every_name_referred_to_is_there():
    text = canvas.svg(draw, (3, 2))
    values = [value for node in ET.fromstring(text).iter() for key, value in node.items() if key.endswith("href")]
    referred = {value.removeprefix("#") for value in values if value.startswith("#")}
    assert referred
    assert referred <= set(_identifiers(text))


def test_svg_is_repeatable_and_leaves_no_trace():
    before = dict(matplotlib.rcParams)
    assert canvas.svg(draw, (3, 2)) == canvas.svg(draw, (3, 2))
    assert dict(matplotlib.rcParams) == before
    assert not pyplot.get_fignums()


@pytest.mark.parametrize(("value", "text"), [(1.0, "10⁰"), (1e-12, "10⁻¹²"), (1000.0, "10³")])
def test_powers_of_ten_are_text(value, text):
    assert canvas._power(value) == text


def test_nothing_in_a_drawing_steers_a_terminal():
    drawn = canvas.svg(lambda ax: ax.set_title("a\x1b[31mb\x00\x9b\u202e"), (2.0, 1.0))
    ET.fromstring(drawn)
    assert "a\\x1b[31mb\\x00\\x9b\\u202e" in drawn

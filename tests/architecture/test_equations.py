"""The table of docs/equations.md holds in both directions: equation -> class -> test, and class -> equation."""

import importlib
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from docs import make_equations
from docs.pages import outdated
from mercer.catalogue import seed_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "equations.md"
LINE = re.compile(r"^\| (?P<first>[^|]+) \| (?P<second>[^|]+) \| `(?P<test>[^`|]+)` \|$", re.MULTILINE)
LINK = re.compile(r"\{py:obj\}`~mercer\.(\w+(?:\.\w+)?)`")
HEADING = re.compile(r"^## (?:\[(\w+)\]|From elsewhere)$", re.MULTILINE)


class Line(NamedTuple):
    """One line of the table as it is printed; `seed` is empty for what comes from elsewhere."""

    seed: str
    place: str
    name: str
    test: str


def printed() -> list[Line]:
    """Read the committed page."""
    text = PAGE.read_text(encoding="utf-8")
    parts = HEADING.split(text)
    lines = []
    for seed, body in zip(parts[1::2], parts[2::2], strict=True):
        for match in LINE.finditer(body):
            link = LINK.search(match["second"] if seed else match["first"])
            assert link is not None, match[0]
            lines.append(Line(seed or "", match["first"] if seed else "", link[1], match["test"]))
    return lines


def member(name: str) -> object:
    """Return what a name of the table stands for."""
    package, _, last = f"mercer.{name}".rpartition(".")
    return getattr(importlib.import_module(package), last)


LINES = printed()


def test_the_page_is_up_to_date():
    assert not outdated(make_equations.pages()), "run: python -m docs.make_equations"


def test_there_are_lines_for_every_seed():
    assert {line.seed for line in LINES} >= set(make_equations.SEEDS)


def fault_of(line):
    """What is wrong with a line of the table, or nothing."""
    seed = seed_of(member(line.name).__doc__ or "")
    if not seed:
        return "no Seed line"
    if line.seed and (f"[{line.seed}]" not in seed or (line.seed, line.place) not in make_equations.references(seed)):
        return f"its Seed line does not name the place: {seed}"
    if not line.seed and not seed.startswith(make_equations.FOREIGN):
        return f"its Seed line is of no seed: {seed}"
    return "" if (ROOT / line.test).is_file() else f"no file {line.test}"


def test_the_class_of_a_line_names_its_equation_and_has_its_test():
    wrong = [f"{line.seed} {line.place} {line.name}: {told}" for line in LINES if (told := fault_of(line))]
    assert not wrong, "\n".join(wrong)


def test_every_class_with_a_seed_line_is_in_the_table():
    listed = {line.name for line in LINES}
    names = {name.removeprefix("mercer.").removeprefix("estimators.") for name, _ in make_equations.public()}
    assert names
    assert not names - listed


def test_every_seed_line_names_a_place_or_says_that_no_seed_has_it():
    vague = [
        name
        for name, found in make_equations.public()
        for seed in [seed_of(found.__doc__ or "")]
        if not make_equations.references(seed) and not seed.startswith(make_equations.FOREIGN)
    ]
    assert not vague, "write for example: Seed: [HSS] Eq. (30)."


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("Eq. (30)", ["(30)"]),
        ("Eqs. (15)-(17), (19), (20)", ["(15)", "(16)", "(17)", "(19)", "(20)"]),
        ("Sections 3.2, 6.1.1 (no Gram matrix)", ["Section 3.2", "Section 6.1.1"]),
        ("Section 7; a sum.", ["Section 7"]),
        ('section 2.2.5, "Convolutions and Structures"', ["Section 2.2.5", '"Convolutions and Structures"']),
        ("Proposition 5 (iii) and Theorem 7", ["Proposition 5 (iii)", "Theorem 7"]),
        ("nothing of the kind", []),
    ],
)
def test_places_are_found_in_words(text, places):
    assert make_equations.places(text) == places

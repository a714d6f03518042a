"""Write docs/equations.md: seed equation -> class -> test, from the Seed lines of the docstrings.

A Seed line names its sources by keys, as ``[HSS] Eq. (30), [STS] Eq. (18)``; see `SEEDS`. The test of a class
is the unit test of its module.
"""

import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from docs.pages import WIDE, cell, table, write
from mercer.catalogue import seed_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "equations.md"
SOURCES = ROOT / "docs" / "sources.md"
PACKAGES = (
    "domains", "kernels", "losses", "mixtures", "problems", "gram", "solvers", "selection", "theory", "inference",
    "hilbert", "networks", "models", "preimages", "choosing", "estimators",
)  # fmt: skip
SEEDS = {
    "STS": "J. Shawe-Taylor and S. Sun, *Kernel methods and support vector machines*",
    "KIKS": "H. Kashima, T. Ide, T. Kato and M. Sugiyama, *Recent advances and trends in large-scale kernel methods*",
    "SS": "M. Signoretto and J. A. K. Suykens, *Kernel methods*",
    "ST": "J. Shawe-Taylor, slides of a course on kernel methods (2015); slides are quoted by their titles",
    "HSS": "T. Hofmann, B. Schölkopf and A. J. Smola, *A tutorial review of RKHS methods in machine learning*",
}
KEY = re.compile(r"\[(STS|KIKS|SS|ST|HSS)\]")
PLACE = re.compile(
    r"(?P<equations>Eqs?\. \(\d+\)(?:(?:-|, |,? and )\(\d+\))*)"
    r"|[Ss]ections? (?P<sections>\d[\d.]*\d|\d)(?P<more>(?:, \d[\d.]*\d)*)"
    r"|(?P<statement>(?:Theorem|Proposition|Definition) \d+(?: \([ivx]+\))?)"
    r"|(?P<title>\"[^\"]+\"|table of kernels|the system of the LS-SVM)"
)
FOREIGN = "none of the five"


class Row(NamedTuple):
    """One line of the table."""

    seed: str
    place: str
    name: str
    test: str


def public() -> Iterator[tuple[str, object]]:
    """Yield (dotted name, object) for everything public whose docstring has a Seed line."""
    for package in PACKAGES:
        if importlib.util.find_spec(f"mercer.{package}") is None:
            continue
        module = importlib.import_module(f"mercer.{package}")
        for name in module.__all__:
            member = getattr(module, name)
            if callable(member) and seed_of(member.__doc__ or ""):
                yield f"mercer.{package}.{name}", member


def places(text: str) -> list[str]:
    """Return the places that a text names, one per equation.

    Examples
    --------
    >>> places("Eqs. (4)-(6), (9); Section 2.1 and Theorem 7")
    ['(4)', '(5)', '(6)', '(9)', 'Section 2.1', 'Theorem 7']
    """
    found: list[str] = []
    for match in PLACE.finditer(text):
        if match["equations"]:
            for span in re.findall(r"\((\d+)\)(?:-\((\d+)\))?", match["equations"]):
                first, last = int(span[0]), int(span[1] or span[0])
                found += [f"({number})" for number in range(first, last + 1)]
        elif match["sections"]:
            found += [f"Section {number}" for number in (match["sections"] + match["more"]).split(", ")]
        else:
            found.append(match["statement"] or match["title"])
    return found


def references(seed: str) -> list[tuple[str, str]]:
    """Return the pairs (key, place) of a Seed line; none if it says that no seed has it."""
    if seed.startswith(FOREIGN):
        return []
    parts = KEY.split(seed)
    return [(key, place) for key, text in zip(parts[1::2], parts[2::2], strict=True) for place in places(text)]


def test_of(member: object) -> str:
    """Return the unit test of the module that holds a class or function."""
    *folders, module = member.__module__.split(".")[1:]
    return "/".join(["tests", "unit", *folders, f"test_{module}.py"])


def rows() -> list[Row]:
    """Return the lines of the table, in the order of the seeds."""
    found = [
        Row(key, place, name, test_of(member))
        for name, member in public()
        for key, place in references(seed_of(member.__doc__ or ""))
    ]
    return sorted(set(found), key=order)


def order(row: Row) -> tuple:
    """Return the key by which lines are sorted: seed, kind of place, number, name."""
    kinds = ("(", "Definition", "Theorem", "Proposition", "Section")
    kind = next((i for i, start in enumerate(kinds) if row.place.startswith(start)), len(kinds))
    numbers = tuple(int(number) for number in re.findall(r"\d+", row.place))
    return list(SEEDS).index(row.seed), kind, numbers, row.place, row.name


def api(name: str) -> str:
    """Return a link to the reference page of a public name; estimators are documented under mercer."""
    return f"{{py:obj}}`~{name.replace('mercer.estimators.', 'mercer.')}`"


def page() -> str:
    """Return the whole page."""
    keys = "\n".join(f"- **[{key}]** {title}." for key, title in SEEDS.items())
    parts = [_INTRODUCTION.format(keys=keys)]
    for seed in SEEDS:
        lines = [[cell(row.place), api(row.name), f"`{row.test}`"] for row in rows() if row.seed == seed]
        parts += [f"## [{seed}]\n", table(["place", "class", "test"], lines)]
    others = [(name, member) for name, member in public() if seed_of(member.__doc__ or "").startswith(FOREIGN)]
    if others:
        lines = [[api(name), cell(_source(member)), f"`{test_of(member)}`"] for name, member in others]
        parts += ["## From elsewhere\n", table(["class", "source", "test"], lines)]
    return "\n".join(parts)


def _source(member: object) -> str:
    text = seed_of(member.__doc__ or "").removeprefix(f"{FOREIGN} gives it").lstrip(";,. ")
    return text[:1].upper() + text[1:] if text else "See its page."


def pages() -> dict[Path, str]:
    """Return the page by its place."""
    return {PAGE: WIDE + page(), SOURCES: sources()}


def sources() -> str:
    """Return the page to which keys as [HSS] lead: each text, what is taken from it, and where its equations are."""
    parts = [_SOURCES]
    for key, title in SEEDS.items():
        parts.append(f"(source-{key.lower()})=\n\n## [{key}]\n\n{title}.\n\n{_ABOUT[key]}\n")
        parts.append(f"[Its equations, with class and test](equations.md#{key.lower()}).\n")
    return "\n".join(parts)


_INTRODUCTION = """\
% Made from the docstrings by docs/make_equations.py; changes here are lost.

# Equations

mercer was written from five surveys, described on [their own page](sources.md). Docstrings name them by these keys:

{keys}

The tables lead from an equation, theorem or section to the class that implements it and to the test of its module.
A docstring says where the code departs from what is printed. Besides these unit tests there are laws
(`tests/laws`), limits in which two ways must agree (`tests/equivalence`) and numbers printed in the texts
(`tests/papers`).

All lines of the first five tables were read against the texts in November 2026, each equation at its number and by what
it says: 14 places were wrong and have been corrected. Of sections, theorems and slides the titles were compared with
what they are cited for. Where the print itself is wrong, [the misprints](teaching/misprints.md) say how.
"""
_SOURCES = """\
% Made by docs/make_equations.py; changes here are lost.

# Sources

mercer was written from five surveys of kernel methods. The line *Seed* of a docstring names a survey by its key and
quotes the number of an equation, a theorem or a section; it leads to this page. Where a formula is printed wrongly, the
docstring says so, and [the misprints](teaching/misprints.md) are derived on one page.
"""
_ABOUT = {
    "STS": (
        "A survey: ridge regression in its dual form, kernels and their construction, the classical machines "
        "(discriminants, components, correlation, support vectors, Gaussian processes), how they are computed, many "
        "kernels and many views. Equations are numbered throughout."
    ),
    "KIKS": (
        "A survey of what makes kernel methods large: low rank, conjugate gradients and Krylov spaces, fast Gauss "
        "transforms, stochastic and cutting-plane solvers, kernels on strings, trees and graphs, and on pairs."
    ),
    "SS": (
        "A chapter of a handbook: statistical learning, primal and dual models, least-squares support vector machines, "
        "Gaussian processes, model selection, reproducing kernels, and applications."
    ),
    "ST": (
        "Slides of five parts: the kernel approach, projections and subspaces, stability and support vector machines, "
        "novelty, boosting and many kernels, and the design of kernels. Its slides have titles, which are quoted."
    ),
    "HSS": (
        "A review for statisticians: positive definite kernels and their spaces, regularisation, the estimators, "
        "dependence, and structured outputs by conditional random fields and large margins."
    ),
}


if __name__ == "__main__":
    write(pages())

"""Write the pages of docs/catalogue from the classes; see `mercer.catalogue`, which the command line prints."""

import sys
from collections.abc import Iterable
from pathlib import Path

from docs.pages import WIDE, cell, table, write
from mercer import catalogue
from mercer.catalogue import Entry, KernelEntry

FOLDER = Path(__file__).resolve().parent / "catalogue"
TICKS = {True: "yes", False: "–", None: "depends"}
NOTE = "% Made from the classes by docs/make_catalogue.py; changes here are lost.\n"
TITLES = {
    "kernels": "Kernels",
    "losses": "Losses",
    "grams": "Ways to hold the Gram matrix",
    "solvers": "Solvers",
    "estimators": "Estimators",
    "synonyms": "Synonyms",
}
# Folders of kernels and of estimators, as readers look for them: by what is compared, by what is asked.
ORDER = (
    *("vectors", "tables", "strings", "texts", "trees", "graphs", "series", "sets", "pairs", "models", "algebra"),
    *("svm", "squares", "processes", "sparse", "boosting", "structured", "mixtures", "semi", "tasks", "views"),
    *("geometry", "clustering", "dependence"),
)
WORDS = {"pullback": "derivative", "pullback_inputs": "derivative in inputs"}


def api(row: Entry) -> str:
    """Return a link to the reference page of a class; estimators are imported from mercer itself."""
    package = row.cls.__module__.split(".")[1]
    return (
        f"{{py:class}}`~mercer.{row.name}`"
        if package == "estimators"
        else f"{{py:class}}`~mercer.{package}.{row.name}`"
    )


def formula(tex: str) -> str:
    """Return LaTeX that is valid in a cell: without bars, which end a cell."""
    tex = " ".join(tex.split()).replace(r"\|", r"\Vert ").replace("|", r"\vert ").strip()
    return f"${tex}$" if tex else ""


def rooms(rows: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return rows by the folder that holds their classes, folders in the order of `ORDER`, under their headings."""
    found: dict[str, list[Entry]] = {}
    for row in rows:
        package = row.cls.__module__.rpartition(".")[0]
        if package == "mercer.kernels" and getattr(row.cls, "composite", False):  # beside what all nodes share
            package = "mercer.kernels.algebra"
        found.setdefault(package, []).append(row)

    def place(package: str) -> tuple[int, str]:
        folder = package.rpartition(".")[2]
        return (ORDER.index(folder) if folder in ORDER else len(ORDER), folder)

    return {heading(package): found[package] for package in sorted(found, key=place)}


def heading(package: str) -> str:
    """Return the first sentence of the docstring of a folder; its topmost files hold what fits no folder."""
    if package.count(".") < 2:
        return "Others"
    return (sys.modules[package].__doc__ or package).strip().partition("\n")[0].partition(":")[0].rstrip(".")


def ticks(title: str, rows: Iterable[tuple[Entry, dict[str, bool | None]]]) -> str:
    """Return a table of what each class offers."""
    rows = list(rows)
    header = [title, *(WORDS.get(name, name.replace("_", "\\_")) for name in rows[0][1])]
    return table(header, [[api(row), *(TICKS[value] for value in held.values())] for row, held in rows])


def parameters(rows: Iterable[Entry]) -> str:
    """Return a table of the arguments of classes: default and what is accepted."""
    lines = [
        [
            f"`{row.name}`",
            f"`{one.name}`",
            "must be given" if one.default is None else f"`{cell(one.default)}`",
            cell(one.accepts) or "see its page",
        ]
        for row in rows
        for one in row.parameters
    ]
    return table(["class", "parameter", "default", "accepted"], lines) if lines else ""


def kernels_page() -> str:
    """Return the page of kernels: formulas by domain, properties, capabilities, parameters."""
    rows = catalogue.kernels()
    parts = [f"# {TITLES['kernels']}\n", NOTE, _INTRODUCTION, "## Formulas\n"]
    for title, members in rooms(rows).items():
        rows_here = [row for row in members if isinstance(row, KernelEntry)]
        domains = [row.domain for row in rows_here]
        usual = max(domains, key=domains.count)
        mixed = domains.count(usual) < 0.7 * len(domains)  # else the heading says it, and exceptions are named
        lines = []
        for row in rows_here:
            exception = f"; on {row.domain}" if not mixed and row.domain != usual else ""
            told = [*[row.domain] * mixed, row.validity + exception, cell(row.cost) or "that of its parts"]
            lines.append([api(row), formula(row.formula), *told])
        parts.append(f"### {title}\n")
        parts.append(table(["kernel", "formula", *["domain"] * mixed, "validity", "cost"], lines))
    parts += ["## Properties\n", _PROPERTIES]
    parts.append(ticks("kernel", ((row, dict(row.properties)) for row in rows)))
    parts += ["## Capabilities\n", _CAPABILITIES]
    parts.append(ticks("kernel", ((row, dict(row.offers)) for row in rows)))
    parts += ["## Parameters\n", parameters(rows)]
    return "\n".join(parts)


def plain_page(kind: str, text: str, ticked: str = "") -> str:
    """Return a page of losses, Grams, solvers or estimators."""
    rows = getattr(catalogue, kind)()
    parts = [f"# {TITLES[kind]}\n", NOTE, text]
    groups = rooms(rows) if kind == "estimators" else {"": rows}
    for title, members in groups.items():
        lines = [[api(row), cell(row.summary), formula(row.formula)] for row in members]
        parts += [f"## {title}\n"] * bool(title)
        parts.append(table(["class", "what it does", "formula"], lines))
    if ticked:
        parts += [f"## {ticked}\n", ticks("class", ((row, dict(row.offers)) for row in rows))]
    parts += ["## Parameters\n", parameters(rows)]
    return "\n".join(parts)


def solvers_page() -> str:
    """Return the page of solvers, with the problem that each solves."""
    text = "A solver takes a problem and returns a solution; it works with every Gram that offers what it calls.\n\n"
    rows = [
        [api(row), f"{{py:class}}`~mercer.problems.{row.cls.solves.__name__}`", _needs(row.cls)]
        for row in catalogue.solvers()
    ]
    return plain_page("solvers", text + table(["solver", "solves", "needs of the Gram"], rows), "Solvers and Grams")


def _needs(cls: type) -> str:
    return ", ".join(f"`{protocol.__name__}`" for protocol in cls.needs) or "products"  # type: ignore[attr-defined]


def synonyms_page() -> str:
    """Return the index of other names."""
    lines = []
    for other, own in catalogue.synonyms().items():
        row = catalogue.named(own)
        assert row is not None, f"the synonym {other!r} leads to {own!r}, which does not exist"
        lines.append([other, api(row)])
    text = "Each thing has one name in mercer. Other names of the literature lead to it:\n"
    return "\n".join([f"# {TITLES['synonyms']}\n", NOTE, text, table(["also called", "in mercer"], lines)])


def index_page() -> str:
    """Return the page that lists the others."""
    return (
        "# Catalogue\n\nWhat mercer offers, in tables that are made from the classes. The command "
        "`mercer kernels` prints the same rows.\n\n```{toctree}\n:maxdepth: 1\n\n" + "\n".join(TITLES) + "\n```\n"
    )


def pages() -> dict[Path, str]:
    """Return all pages by their place."""
    made = {
        "index": index_page(),
        "kernels": kernels_page(),
        "losses": plain_page("losses", _LOSSES, "What a loss offers"),
        "grams": plain_page("grams", _GRAMS, "What a Gram offers"),
        "solvers": solvers_page(),
        "estimators": plain_page("estimators", _ESTIMATORS, "What an estimator offers after fit"),
        "synonyms": synonyms_page(),
    }
    return {FOLDER / f"{name}.md": WIDE + text for name, text in made.items()}


_INTRODUCTION = """\
A block compares m samples with n others; costs are for one block, on samples of width d where there is one.
*Depends* means that the answer follows from the parameters: `k.order`, `k.capabilities` and the properties of an
object give it. Other names are in the [index of synonyms](synonyms.md).
"""
_PROPERTIES = """\
*Strict*: the Gram matrix of distinct samples is positive definite, not merely semi-definite (on the part of space
that the order allows). *Universal*: sums of the kernel approximate every continuous function on a compact set.
*Stationary*: the value depends on the difference of the samples alone. *Normalised*: k(x, x) = 1. *Bounded*: values
cannot overflow, whatever the data.
"""
_CAPABILITIES = """\
*Features*: a finite feature map, so that problems can be solved in its coordinates. *Frequencies*: a sampler of the
spectral measure. *Derivative*: in the free parameters. *Derivative in inputs*: in the first argument.
"""
_LOSSES = "Losses are summed over the samples, never averaged; y is what was observed, f what is predicted.\n"
_GRAMS = """\
How the Gram matrix K is held is an argument of every estimator, `gram=`. *Rows*: single rows can be asked for.
*Factor*: K = F Fᵀ with F of few columns.
"""
_ESTIMATORS = "All are scikit-learn estimators, and are imported from `mercer`.\n"


if __name__ == "__main__":
    write(pages(), FOLDER)

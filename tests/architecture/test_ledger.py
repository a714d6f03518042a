"""The table of what the seeds describe names classes, functions and tests that are there, and misses none."""

import ast
import functools
import importlib
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "mercer"
PAGE = (ROOT / "docs" / "explanation" / "ledger.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| [A-Z]{1,2}-", line)
]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@functools.cache
def cites() -> frozenset[str]:
    """Every class and function whose docstring names an equation or a section of a seed."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "Seed:" not in text:
            continue
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.parse(text).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and "Seed:" in (ast.get_docstring(node) or ""):
                found.add(f"{module}.{node.name}")
    return frozenset(found)


def resolve(name: str) -> object:
    """Import the module that a dotted name begins with, and look the rest up in it."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module("mercer." + ".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise LookupError(name)


def test_every_name_of_the_table_is_there():
    assert len(ROWS) > 200
    missing = []
    for row, _, where, _ in ROWS:
        for name in names(where):
            try:
                resolve(name)
            except (LookupError, AttributeError):
                missing.append(f"{row}: {name}")
    assert not missing


def test_every_test_of_the_table_is_there():
    assert not [
        f"{row}: {test}"
        for row, _, _, tests in ROWS
        for test in names(tests)
        if not (ROOT / "tests" / "unit" / test).is_file()
    ]
    assert not [row for row, _, _, tests in ROWS if not names(tests)]


def test_whatever_cites_a_seed_is_on_the_page():
    without_row = names(PAGE.partition("## Without a row")[2])
    listed = {name for _, _, where, _ in ROWS for name in names(where)} | set(without_row)
    assert not sorted(cites() - listed)
    assert not sorted(set(without_row) - cites())


def test_no_row_stands_twice():
    rows = [row for row, *_ in ROWS]
    assert len(rows) == len(set(rows))


def test_no_row_is_named_in_the_source():
    """Readers of a docstring do not have the ledger: they get the seed's equation."""
    rows = {row for row, *_ in ROWS}
    offenders = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        words = set(re.findall(r"(?<![\w-])[A-Z]{1,2}-[\w+*-]+", path.read_text(encoding="utf-8")))
        offenders += [f"{path.relative_to(ROOT)}: {row}" for row in sorted(words & rows)]
    assert not offenders

"""How many files a reader passes on five walks through the house, and what an interface asks of a reader."""

import inspect
import re

import pytest

from docs.walks import WALKS, command, files
from mercer.kernels import Kernel
from tests.architecture.test_static import PACKAGE, ROOT

# The last one makes a report, twice.
LONG = [pytest.param(walk, marks=pytest.mark.slow if walk is command else ()) for walk in WALKS]


@pytest.mark.parametrize("walk", LONG, ids=lambda walk: walk.__name__)
def test_a_walk_is_no_longer_than_it_was(walk):
    steps = files(walk)
    assert 15 < len(steps) <= WALKS[walk], steps


def test_the_page_says_how_long_they_are():
    page = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
    counts = re.search(r"run through: (\d+), (\d+), (\d+), (\d+)\s+and\s+(\d+)", page)
    assert counts is not None
    *four, last = map(int, counts.groups())
    assert four == list(WALKS.values())[:4] and last <= list(WALKS.values())[4]


def test_the_page_names_every_folder_and_only_files_that_are_there():
    page = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
    table = page.partition("## Folders")[2].partition("## ")[0]
    folders = {path.parent.name for path in PACKAGE.rglob("*/__init__.py")} - {PACKAGE.name}
    assert not {name for name in folders if f"`{name}`" not in table}
    named = re.findall(r"(?<![\w/])((?:\w+/)+\w+\.py)", page.replace("docs/", ""))
    assert len(named) > 30 and not [path for path in named if not (PACKAGE / path).is_file()]


def test_a_kernel_has_few_methods():
    """What only some kernels can do is in `mercer.kernels.protocols`."""
    methods = [name for name, value in vars(Kernel).items() if inspect.isfunction(value)]
    named = [name for name in methods if not name.startswith("_")]
    assert len(methods) <= 28 and len(named) <= 15, methods

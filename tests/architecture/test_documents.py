"""The documents tell the truth: their code runs, their links lead somewhere, their figures agree."""

import contextlib
import doctest
import importlib.util
import io
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
DOCUMENTS = [path for path in NAMED if path.is_file()] + sorted((ROOT / "docs").rglob("*.md"))

# Pages of commands, whose code runs between them, in test_docs.
COMMANDS = {
    "fit-from-the-command-line": {"patients.mercer", "patients.html", "predictions.csv"},
    "fit-texts-trees-and-graphs": {"reviews.html", "questions.mercer", "rings.csv", "rings.npy"},
}

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w+-]*)[^\n`]*$")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
PEER = re.compile(r"# with (\w+)\n")  # a block that begins so is run where that package is installed
MAKE = re.compile(r"\bmake ([a-z]+)\b")


class Block(NamedTuple):
    """One fenced block: its language, the line of its first line of code, its code."""

    language: str
    line: int
    code: str


def blocks(path: Path) -> Iterator[Block]:
    """All fenced blocks of a document, in order; an unclosed one is an error."""
    opening, start, lines = None, 0, []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if opening is None:
            if fence:
                opening, start, lines = fence, number + 1, []
        elif fence and not fence["language"] and len(fence["ticks"]) >= len(opening["ticks"]):
            yield Block(opening["language"], start, "\n".join(lines) + "\n")
            opening = None
        else:
            lines.append(line.removeprefix(opening["indent"]))
    assert opening is None, f"{path.name}:{start - 1} opens a block that is never closed"


def prose(path: Path) -> str:
    """Give the text of a document without its fenced blocks."""
    text = path.read_text(encoding="utf-8")
    for block in blocks(path):
        text = text.replace(block.code, "")
    return text


def run(block: Block, path: Path, names: dict) -> None:
    """Run a block; line numbers in a traceback are those of the document."""
    if block.code.lstrip().startswith(">>>"):
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        test = doctest.DocTestParser().get_doctest(block.code, names, path.name, str(path), block.line - 1)
        failures = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
        runner.run(test, out=failures.write, clear_globs=False)
        names.update(test.globs)
        assert not runner.failures, failures.getvalue()
    else:
        code = compile("\n" * (block.line - 1) + block.code, str(path), "exec")
        exec(code, names)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def version() -> str:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.stem not in COMMANDS], ids=name_of)
def test_code_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks(path):
            if block.language in ("python", "py", "pycon") and is_runnable(block):
                run(block, path, names)


def is_runnable(block: Block) -> bool:
    """Whether the library that a block compares with, if any, is installed."""
    peer = PEER.match(block.code)
    return peer is None or importlib.util.find_spec(peer[1]) is not None


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path):
    targets = [target.partition("#")[0] for target in LINK.findall(prose(path)) if "://" not in target]
    assert not [target for target in targets if target and not (path.parent / target).exists()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_make_targets_exist(path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    quoted = re.findall(r"`(make [a-z]+)", prose(path))
    shell = [block.code for block in blocks(path) if block.language in ("console", "sh", "bash", "shell")]
    wanted = {name for text in (*quoted, *shell) for name in MAKE.findall(text)}
    assert not [name for name in wanted if not re.search(rf"^{name}:", makefile, re.MULTILINE)]


def test_what_is_left_out_of_the_tests_is_in_the_table():
    """CONTRIBUTING names every file with slow tests, and no other."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## What `make test` leaves out")[2]
    named = set(re.findall(r"`([a-z_/]+/test_\w+)", section.partition("\n## ")[0]))
    tests = ROOT / "tests"
    slow = {path for path in tests.rglob("test_*.py") if "pytest.mark." + "slow" in path.read_text(encoding="utf-8")}
    assert named == {str(path.relative_to(tests).with_suffix("")) for path in slow}


def test_readme_shows_code_and_the_two_commands():
    found = list(blocks(ROOT / "README.md"))
    assert any(block.language == "python" for block in found)
    assert [block.code.split("\n")[:-1] for block in found if block.language == "console"] == [
        ["make demo", "make test"]
    ]


def test_readme_names_every_command_and_nothing_else():
    from mercer.cli.commands import COMMANDS

    row = next(line for line in prose(ROOT / "README.md").splitlines() if line.startswith("| command line |"))
    named = {name.removeprefix("mercer ") for name in re.findall(r"`([a-z ]+)`", row)}
    assert named == set(COMMANDS)


def test_readme_counts_kernels_rightly_and_names_what_there_is():
    import mercer

    text = prose(ROOT / "README.md")
    told = re.search(r"over (\d+), on vectors", text)
    assert told is not None
    assert int(told[1]) < len(mercer.all_kernels()) <= int(told[1]) + 20
    part = text.partition("## What it contains")[2].partition("\nmercer is young")[0]
    names = set(re.findall(r"`([A-Z]\w+)`", part))
    homes = (mercer, mercer.gram, mercer.domains)
    assert not [name for name in names if not any(hasattr(home, name) for home in homes)]


def test_versions_agree():
    import mercer

    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    assert mercer.__version__ == version()
    assert re.search(rf"^version: {re.escape(version())}$", citation, re.MULTILINE)
    assert newest is not None
    assert newest[1] == version()


def test_constraints_pin_what_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = {re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0] for lines in lists for line in lines}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.partition(";")[0].strip() for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.]+", pin) for pin in pins)
    names = [pin.partition("==")[0] for pin in pins]
    assert names == sorted(names)
    assert wanted - {"mercer"} <= set(names)


def test_continuous_integration_script_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)

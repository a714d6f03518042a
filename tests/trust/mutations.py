"""Mutation score: small changes of the source, one at a time, and whether the file's own tests notice.

``python -m tests.trust.mutations 500`` draws that many changes, half of them of guards, persistence and readers, half
of numerics; ``--seed`` draws others, ``--only io/source.py`` takes all those of one file. Survivors are listed in
``build/survivors.txt``. Comparisons, arithmetic, logic, numbers, truth values and the ends of loops are changed, and
checks are left out, in the bodies of functions; error messages, assertions and what is computed at import are not.
Compiled loops are run as Python. Every change is scored, whether or not it can be noticed at all.

Own tests are the unit tests of a file and the examples in its docstrings. They are collected once. For each change a
process is forked, in which the functions get their changed code.
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # before Numba is imported

import argparse
import ast
import contextlib
import copy
import gc
import importlib
import json
import random
import resource
import select
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.trust.core_files import PARTS, ROOT, SOURCE, unit_test

GOALS = {"guards": 0.95, "persistence": 0.95, "readers": 0.95, "numerics": 0.85}
LONGEST = 2.0  # seconds of processor time of a test; longer ones are left out
PATIENCE = 30.0  # times as many on the clock
SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.And: ast.Or, ast.Or: ast.And, ast.USub: ast.UAdd,
}  # fmt: skip
UNTOUCHED = (ast.Raise, ast.JoinedStr, ast.Assert)


@dataclass(frozen=True)
class Change:
    """The place of a node among those of a file, and which of its changes is meant."""

    file: str
    line: int
    node: int
    option: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"src/mercer/{self.file}:{self.line}  {self.before}  ->  {self.after}"


def _options(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield what may stand for a node: the part that is shown, and the new node."""

    def other(**parts: Any) -> ast.AST:
        new = copy.copy(node)
        for name, value in parts.items():
            setattr(new, name, value)
        return new

    match node:
        case ast.Compare():
            for i, op in enumerate(node.ops):
                yield node, other(ops=[*node.ops[:i], SWAPS[type(op)](), *node.ops[i + 1 :]])
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp() | ast.UnaryOp(op=ast.USub()) if type(node.op) in SWAPS:
            yield node, other(op=SWAPS[type(node.op)]())
        case ast.UnaryOp(op=ast.Not()):
            yield node, node.operand
        case ast.Constant(value=bool()):
            yield node, other(value=not node.value)
        case ast.Constant(value=int() | float()):
            yield node, other(value=node.value + 1)
        case ast.If() if isinstance(node.body[-1], ast.Raise):
            never = ast.BoolOp(ast.And(), [ast.Constant(value=False), node.test])  # all names stay in use
            yield node.test, other(test=ast.copy_location(never, node.test))
        case ast.Break():
            yield node, ast.Continue()
        case ast.Continue():
            yield node, ast.Break()


def _nodes(tree: ast.Module) -> list[tuple[ast.AST, str, Any]]:
    """Return the nodes that may be changed with their places in their parents, always in the same order."""
    found: list[tuple[ast.AST, str, Any]] = []

    def visit(node: ast.AST, inside: bool) -> None:
        if isinstance(node, UNTOUCHED):
            return
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list") or (
                name == "args" and isinstance(value, ast.arguments)
            ):
                continue  # none of these is part of the function's code
            within = inside or (name == "body" and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
            for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.AST):
                    if within:
                        found.append((node, name, place))
                    visit(child, within)

    visit(tree, False)
    return found


def _child(parent: ast.AST, name: str, place: int | None) -> ast.AST:
    value = getattr(parent, name)
    return value if place is None else value[place]


def changes(file: str, text: str) -> list[Change]:
    """Return all changes of a source."""
    out = []
    for i, (parent, name, place) in enumerate(_nodes(ast.parse(text))):
        node = _child(parent, name, place)
        for j, (shown, new) in enumerate(_options(node)):
            after = getattr(new, "test", new) if isinstance(node, ast.If) else new
            words = [" ".join(ast.unparse(one).split())[:100] for one in (shown, after)]
            out.append(Change(file, getattr(shown, "lineno", 0), i, j, *words))
    return out


def changed(text: str, change: Change, path: str) -> CodeType:
    """Return the code of a source with a change."""
    tree = ast.parse(text)
    parent, name, place = _nodes(tree)[change.node]
    node = _child(parent, name, place)
    new = ast.copy_location([new for _, new in _options(node)][change.option], node)
    if place is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[place] = new
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def functions_in(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """Return all code in a code, by name and first line."""
    found = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found[constant.co_qualname, constant.co_firstlineno] = constant
            found |= functions_in(constant)
    return found


def functions_of(path: str) -> list[FunctionType]:
    """Return the functions that a file has made so far."""
    gc.unfreeze()  # what is frozen is not listed
    # by type: to ask isinstance of a proxy whose object has gone is an error
    return [f for f in gc.get_objects() if type(f) is FunctionType and f.__code__.co_filename == path]


def put_in(code: CodeType, functions: Sequence[FunctionType]) -> int:
    """Give functions their changed code; return how many have changed."""
    new, count = functions_in(code), 0
    for function in functions:
        key = function.__code__.co_qualname, function.__code__.co_firstlineno
        if key in new and new[key] != function.__code__:
            function.__code__ = new[key]
            count += 1
    return count


# ------------------------------------------------------------------------------------------------ trials


def _in_child(limit: float, work: Any) -> tuple[int, bytes]:
    """Run some work in a forked process; return its status and what it wrote."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        status = 2
        try:
            os.setpgid(0, 0)
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            seconds = int(limit) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            status = work(theirs)
        finally:
            os._exit(status)
    os.close(theirs)
    told, end = b"", time.monotonic() + PATIENCE * (limit + 1.0)
    while (left := end - time.monotonic()) > 0.0 and select.select([ours], [], [], left)[0]:
        chunk = os.read(ours, 1 << 16)
        if not chunk:
            break
        told += chunk
    else:
        os.kill(child, signal.SIGKILL)
    os.close(ours)
    status = os.waitpid(child, 0)[1]
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it started
    return status, told


def _passed(items: Sequence[Any], told: int | None = None) -> bool:
    """Run tests, until one fails unless there is somebody to tell."""
    for item, after in zip(items, [*items[1:], None], strict=True):
        began = time.process_time()
        failed = any(report.failed for report in runtestprotocol(item, log=False, nextitem=after))
        if told is None and failed:
            return False
        if told is not None:
            os.write(told, json.dumps([item.nodeid, failed, time.process_time() - began]).encode() + b"\n")
    return True


class Trials:
    """A plugin of pytest that tries changes instead of running the tests."""

    def __init__(self, chosen: Sequence[Change], say: Any) -> None:
        self.chosen, self.say = chosen, say
        self.killed: Counter[str] = Counter()
        self.tried: Counter[str] = Counter()
        self.survivors: list[Change] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        """Try every change on the tests of its file, the quickest first."""
        by_test: dict[Path, list[Any]] = defaultdict(list)
        for item in session.items:
            by_test[Path(item.path)].append(item)
        by_file: dict[str, list[Change]] = defaultdict(list)
        for change in self.chosen:
            by_file[change.file].append(change)
        for file, own in by_file.items():
            items = by_test[unit_test(file)] + by_test[SOURCE / file]
            _, told = _in_child(600.0, lambda pipe, items=items: int(not _passed(items, pipe)))
            seen = {name: seconds for name, failed, seconds in map(json.loads, told.splitlines()) if not failed}
            usable = [item for item in items if seen.get(item.nodeid, LONGEST) < LONGEST]
            usable.sort(key=lambda item: seen[item.nodeid])
            if len(usable) < len(items):
                self.say(
                    f"{file}: {len(items) - len(usable)} of {len(items)} tests are long, or fail without compiling"
                )
            text, path = (SOURCE / file).read_text(encoding="utf-8"), str(SOURCE / file)
            importlib.import_module(f"mercer.{file.removesuffix('.py').replace('/', '.')}")
            limit = 2.0 + 5.0 * sum(seen[item.nodeid] for item in usable)
            functions = functions_of(path)
            for change in own:
                self._try(change, changed(text, change, path), functions, usable, limit)
        return True

    def _try(
        self, change: Change, code: CodeType, functions: Sequence[FunctionType], items: Sequence[Any], limit: float
    ) -> None:
        def work(pipe: int) -> int:
            if put_in(code, functions) == 0:
                raise RuntimeError("there is no such function")
            os.write(pipe, b"in place")
            return int(not _passed(items))

        status, told = _in_child(limit, work)
        if not told:
            self.say(f"{change}: could not be put in place, and does not count")
            return
        self.tried[change.file] += 1
        if status:
            self.killed[change.file] += 1
        else:
            self.survivors.append(change)
            self.say(str(change))


def drawn(count: int, seed: int) -> list[Change]:
    """Return changes at random: half of them of numerics, half of the rest."""
    rng, out = random.Random(seed), []
    rest = [file for part, files in PARTS.items() if part != "numerics" for file in files]
    for files, share in ((rest, count - count // 2), (PARTS["numerics"], count // 2)):
        every = [c for file in files for c in changes(file, (SOURCE / file).read_text(encoding="utf-8"))]
        out += rng.sample(every, min(share, len(every)))
    return sorted(out, key=lambda change: (change.file, change.node, change.option))


def main() -> int:
    """Try changes, list survivors and print the scores; the exit status tells whether one is too low."""
    parser = argparse.ArgumentParser(prog="python -m tests.trust.mutations", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=500, help="changes to try")
    parser.add_argument("--seed", type=int, default=0, help="draws others")
    parser.add_argument("--only", nargs="+", help="files below src/mercer, of which all changes are tried")
    given = parser.parse_args()
    if given.only:
        chosen = [c for file in given.only for c in changes(file, (SOURCE / file).read_text(encoding="utf-8"))]
    else:
        chosen = drawn(given.count, given.seed)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")  # pytest has the other one
    trials = Trials(chosen, lambda line: print(line, file=out, flush=True))
    files = sorted({str(path) for change in chosen for path in (unit_test(change.file), SOURCE / change.file)})
    options = (
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--disable-warnings",
        "--no-header",
        "--rootdir",
        str(ROOT),
    )
    status = pytest.main([*options, *files], plugins=[trials])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return 2
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    (folder / "survivors.txt").write_text("".join(f"{one}\n" for one in trials.survivors), encoding="utf-8")
    told, good = [], True
    for part, names in PARTS.items():
        tried, killed = (sum(count[name] for name in names) for count in (trials.tried, trials.killed))
        if tried:
            told.append(f"{part} {killed} of {tried} ({killed / tried:.0%})")
            good &= killed >= GOALS[part] * tried
    print(f"noticed: {', '.join(told)}; {len(trials.survivors)} survivors in build/survivors.txt", file=out, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

"""Nothing is written twice: no ten lines of code are the same in two places."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.test_static import FUNCTION, PACKAGE, nodes, trees, where

RUN = 10  # lines


def is_loop(function: ast.AST) -> bool:
    """Whether a function is compiled: those of two precisions, or of dense and sparse rows, may look alike."""
    return any("compiled" in ast.unparse(decorator) for decorator in getattr(function, "decorator_list", ()))


def left_out(tree: ast.Module) -> set[int]:
    """Lines that do not count: docstrings, imports, signatures and constructors (scikit-learn wants them spelled out),
    compiled loops, and what a class declares."""
    lines: set[int] = set()

    def leave(first: int, last: int | None) -> None:
        lines.update(range(first, (last or first) + 1))

    for node in nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            leave(node.lineno, node.end_lineno)
        elif isinstance(node, FUNCTION):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            leave(first, node.end_lineno if node.name == "__init__" or is_loop(node) else node.body[0].lineno - 1)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            leave(node.lineno, node.end_lineno)
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, (ast.Assign, ast.AnnAssign)):
                    leave(part.lineno, part.end_lineno)
    return lines


def code(path: Path, tree: ast.Module) -> list[tuple[int, str]]:
    """The lines of a module that count, without comments and blank lines, by number."""
    apart = left_out(tree)
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if number not in apart and text and not text.startswith("#"):
            found.append((number, text))
    return found


def runs() -> Iterator[tuple[tuple[str, ...], str]]:
    for path, tree in trees().items():
        if path == PACKAGE / "export_map.py":  # which is generated
            continue
        lines = code(path, tree)
        for start in range(len(lines) - RUN + 1):
            part = lines[start : start + RUN]
            if sum(len(text) > 1 for _, text in part) == RUN:  # brackets alone say nothing
                yield tuple(text for _, text in part), where(path, part[0][0])


def test_no_ten_lines_are_the_same():
    places = defaultdict(list)
    for text, place in runs():
        places[text].append(place)
    assert not [" = ".join(found) for found in places.values() if len(found) > 1]


def test_a_copy_is_seen(tmp_path):
    body = "\n".join(f"    x{i} = {i}" for i in range(RUN))
    path = tmp_path / "copy.py"
    text = f"import math\n\ndef first(a):\n{body}\n\ndef __init__(self):\n{body}\n"
    path.write_text(text)
    found = code(path, ast.parse(text))
    assert [line for _, line in found] == [f"x{i} = {i}" for i in range(RUN)]

"""What a first fit compiles is written so that it compiles quickly."""

import ast
from pathlib import Path

import pytest

import mercer

FOLDER = Path(mercer.__file__).parent
FILES = (
    "kernels/counts.py",
    "kernels/graphs/weisfeiler_lehman.py",
    "kernels/interning.py",
    "kernels/kmers.py",
    "kernels/vectors/profiles.py",
    "numerics/cancellation.py",
    "numerics/operands.py",
    "solvers/box/two_variables.py",
    "solvers/rows/dual_descent.py",
    "solvers/rows/row_data.py",
)


def copies(tree):
    """Assignments of arrays to slices within compiled functions; numbers may be assigned."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and any("compiled" in ast.unparse(d) for d in function.decorator_list):
            for step in ast.walk(function):
                if isinstance(step, ast.Assign) and _is_copy(step):
                    yield f"{function.name}: {ast.unparse(step)}"


def _is_copy(step):
    sliced = any(
        isinstance(target, ast.Subscript) and any(isinstance(part, ast.Slice) for part in ast.walk(target.slice))
        for target in step.targets
    )
    value = step.value
    if isinstance(value, ast.Call):  # a number of some type
        value = value.args[0] if ast.unparse(value.func).startswith(("np.float", "np.int")) else value
    return sliced and not isinstance(value, (ast.Constant, ast.UnaryOp))


@pytest.mark.parametrize("file", FILES)
def test_arrays_are_copied_number_by_number(file):
    # Numba compiles two seconds' worth of string functions for the message that an assignment of arrays might raise
    assert list(copies(ast.parse((FOLDER / file).read_text(encoding="utf-8")))) == []


def test_the_rule_sees_copies():
    text = (
        "@compiled\ndef f(x, y):\n    x[:] = 0.0\n    x[1:3] = y\n    x[0, :] = np.float32(0.0)\n    x[:] = np.sort(y)"
    )
    assert list(copies(ast.parse(text))) == ["f: x[1:3] = y", "f: x[:] = np.sort(y)"]

"""The public API is typed: every public function and method says what it takes and what it returns."""

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "mercer"
MODULES = sorted(SOURCE.rglob("*.py"))


def public_functions(tree):
    """Yield functions and methods that a user may call: no underscore in their own name or their class's."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node, False
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and (not item.name.startswith("_") or item.name == "__init__"):
                    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in item.decorator_list)
                    yield item, not static


def is_compiled(function):
    names = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
    return any(isinstance(name, ast.Name) and name.id in ("compiled", "intrinsic", "overload") for name in names)


def bare_parts(path):
    """Arguments and results of public functions of a file that have no type."""
    bare = []
    for function, method in public_functions(ast.parse(path.read_text())):
        if is_compiled(function):
            continue
        arguments = [*function.args.posonlyargs, *function.args.args][int(method) :]
        arguments += [*function.args.kwonlyargs, *filter(None, (function.args.vararg, function.args.kwarg))]
        bare += [f"{function.name}({a.arg})" for a in arguments if a.annotation is None]
        if function.returns is None:
            bare.append(f"{function.name} -> ?")
    return bare


def test_every_public_signature_is_typed():
    bare = [f"{path.relative_to(SOURCE)}: {part}" for path in MODULES for part in bare_parts(path)]
    assert not bare, "\n".join(bare)

"""Rules about the source text itself, each with the list of its offenders as the message."""

import ast
import functools
import gc
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "mercer"
UNIT = ROOT / "tests" / "unit"
MODULES = sorted(PACKAGE.rglob("*.py"))
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)

MAX_FILE_LINES = 600
MAX_FILES = 25  # in a folder
MAX_FUNCTION_LINES = 80
MAX_PARAMETERS = 9

BANNED_CALLS = {
    "eval", "exec", "compile", "__import__",
    "pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads", "shelve.open",
    "joblib.load", "dill.load", "dill.loads", "cloudpickle.load", "cloudpickle.loads",
}  # fmt: skip
OPTIONAL = {
    "clarabel", "dask", "defusedxml", "distributed", "highspy",
    "matplotlib", "networkx", "openpyxl", "piqp", "pyarrow", "starlette", "uvicorn",
}  # fmt: skip
HEAVY = {"matplotlib", "numba", "pandas", "polars", "pyarrow", "scipy", "sklearn"}
DISTRIBUTION = {"sklearn": "scikit-learn"}

# Folders of somebody's machine, package indexes, addresses on the network.
PRIVATE = re.compile(
    r"(?<![\w.])/(?:home|root|Users|opt|mnt|tmp|work|workspace)/\w"
    r"|\b[A-Z]:\\\\?Users"
    r"|file:/" + r"/"
    r"|(?:extra-)?index-" + r"url|find-" + r"links"
    r"|\b(?:10|192\.168)\.\d{1,3}\.\d{1,3}(?:\.\d{1,3})?\b"
)
ADDRESS = re.compile(r"https?://([\w.-]+)")
CITABLE = {"arxiv.org", "doi.org", "semver.org", "scikit-learn.org", "www.w3.org"}
TEXT = {".py", ".md", ".toml", ".txt", ".cfg", ".cff", ".yml", ".yaml", ".json", ".html", ".css", ""}


@functools.cache
def trees() -> dict[Path, ast.Module]:
    """Every module of the package, parsed once; the collector of garbage passes over the million nodes."""
    gc.disable()
    found = {path: ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in MODULES}
    gc.freeze()
    gc.enable()
    return found


@functools.cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    """Every node of a module, found once: many tests look at all of them."""
    return list(ast.walk(tree))


def dotted(node: ast.expr) -> str:
    """``a.b.c`` as it is written; nothing for what is no plain name."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def where(path: Path, line: int = 1) -> str:
    """Give the place of an offender, to be clicked on."""
    return f"{path.relative_to(ROOT)}:{line}"


def texts() -> Iterator[Path]:
    """Every text file of the project that is written by hand."""
    for folder in ("src", "tests", "benchmarks", "docs", "examples", ".ci"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in TEXT and "__pycache__" not in path.parts:
                yield path
    own = (path for path in ROOT.iterdir() if path.is_file() and path.suffix in TEXT)
    yield from sorted(path for path in own if path.name != ".git")  # a file where several trees share a repository


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a module, nested ones included."""
    yield from (node for node in nodes(tree) if isinstance(node, FUNCTION))


def imported(node: ast.AST) -> list[str]:
    """Names of the top-level packages that an import statement brings in."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").partition(".")[0] if node.level == 0 else "mercer"]
    return []


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function from ``def`` to its end, its docstring not counted."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        text = function.body[0]
        lines -= (text.end_lineno or text.lineno) - text.lineno + 1
    return lines


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the parameters a caller may give by their place; options that are given by name only do not count."""
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def test_there_is_source():
    assert MODULES


def test_no_code_from_text_and_no_pickle():
    offenders = []
    for path, tree in trees().items():
        for node in nodes(tree):
            if isinstance(node, ast.Call):
                if (name := dotted(node.func)) in BANNED_CALLS:
                    offenders.append(f"{where(path, node.lineno)} {name}")
                for keyword in node.keywords:
                    if keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False":
                        offenders.append(f"{where(path, node.lineno)} allow_pickle")
            if isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{alias.name}" for alias in node.names} & BANNED_CALLS
                offenders += [f"{where(path, node.lineno)} {name}" for name in names]
    assert not offenders


def test_no_private_paths_or_hosts():
    offenders = [
        f"{where(path, number)} {line.strip()}"
        for path in texts()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if PRIVATE.search(line)
    ]
    assert not offenders


def test_addresses_in_the_source_are_citations():
    offenders = [
        f"{where(path)} {host}"
        for path in MODULES
        for host in ADDRESS.findall(path.read_text(encoding="utf-8"))
        if host not in CITABLE
    ]
    assert not offenders


def test_every_module_has_a_docstring():
    assert not [where(path) for path, tree in trees().items() if not ast.get_docstring(tree)]


def test_folders_are_small_and_say_what_they_hold():
    folders = {path.parent for path in MODULES}
    assert not [where(folder) for folder in folders if len(list(folder.glob("*.py"))) > MAX_FILES]
    assert not [where(folder) for folder in folders if not (folder / "__init__.py").is_file()]


def test_no_two_modules_have_one_name():
    names = [path.stem for path in MODULES if path.stem not in ("__init__", "__main__")]
    assert not sorted({name for name in names if names.count(name) > 1})


def test_files_are_short():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert not [f"{where(path)} {n} lines" for path, n in lengths.items() if n > MAX_FILE_LINES]


def test_functions_are_short():
    offenders = [
        f"{where(path, function.lineno)} {function.name} {code_lines(function)} lines"
        for path, tree in trees().items()
        for function in functions(tree)
        if code_lines(function) > MAX_FUNCTION_LINES
    ]
    assert not offenders


def test_functions_take_few_parameters():
    offenders = [
        f"{where(path, function.lineno)} {function.name} {parameters(function)} parameters"
        for path, tree in trees().items()
        for function in functions(tree)
        if parameters(function) > MAX_PARAMETERS
    ]
    assert not offenders


def test_only_optional_packages_are_imported_inside_functions():
    offenders = {
        f"{where(path, node.lineno)} {name}"
        for path, tree in trees().items()
        for function in functions(tree)
        for node in ast.walk(function)
        for name in imported(node)
        if name not in OPTIONAL
        and function.name != "_operators"  # what + builds are kernels, which have a + themselves
    }
    assert not offenders


def test_only_estimators_look_at_their_subclasses():
    """A base class of kernels, Grams, solvers or models changes no method of a class that somebody else writes."""
    offenders = [
        where(path, function.lineno)
        for path, tree in trees().items()
        if "estimators" not in path.parts
        for function in functions(tree)
        if function.name == "__init_subclass__"
    ]
    assert not offenders


def test_nobody_asks_for_the_class_of_a_gram():
    """Outside of its package a Gram is known by its properties: see `GramSpec`, `Gram` and the protocols there."""
    grams = {
        node.name
        for path, tree in trees().items()
        if "gram" in path.parts
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if ast.unparse(base) in ("GramSpec", "Gram", "FactorGram", "DenseGram", "_Over")
    }
    assert {"Dense", "Tiles", "DenseGram", "FactorGram", "Centered"} <= grams
    offenders = [
        where(path, node.lineno)
        for path, tree in trees().items()
        if "gram" not in path.parts
        for node in nodes(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
        if {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)} & grams
    ]
    assert not offenders


def test_optional_packages_are_imported_inside_functions_only():
    offenders = [
        f"{where(path, node.lineno)} {name}"
        for path, tree in trees().items()
        for node in tree.body
        for name in imported(node)
        if name in OPTIONAL
    ]
    assert not offenders


def test_every_import_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(line for name in extras if name != "dev" for line in extras[name])]
    declared = {re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0] for line in wanted}
    offenders = {
        f"{where(path, node.lineno)} {name}"
        for path, tree in trees().items()
        for node in nodes(tree)
        for name in imported(node)
        if name not in sys.stdlib_module_names and DISTRIBUTION.get(name, name) not in declared
    }
    assert not offenders


def test_every_module_has_its_unit_test():
    missing = [
        str(test.relative_to(ROOT))
        for path in MODULES
        if path.name not in ("__init__.py", "__main__.py")
        for test in [UNIT / path.parent.relative_to(PACKAGE) / f"test_{path.name}"]
        if not test.is_file()
    ]
    assert not missing


def test_every_unit_test_has_its_module():
    orphans = [
        where(test)
        for test in sorted(UNIT.rglob("test_*.py"))
        for folder in [PACKAGE / test.parent.relative_to(UNIT)]
        for name in [test.name.removeprefix("test_")]
        if not (folder / ("__init__.py" if name == "init.py" else name)).is_file()
    ]
    assert not orphans


@pytest.mark.parametrize("statement", ["import mercer", "import mercer; dir(mercer)"])
def test_import_is_light(statement):
    code = f"import sys; {statement}; print(*sorted({{n.partition('.')[0] for n in sys.modules}}))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    loaded = HEAVY & set(result.stdout.split())
    assert not loaded

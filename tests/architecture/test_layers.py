"""Imports go downward: the contracts of ``pyproject.toml`` hold, and they do catch offenders."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"numerics", "domains", "models", "kernels", "losses", "targets", "gram", "solvers", "estimators"}
MODULES = {"spec", "errors", "problems", "testing", "language"}
FAMILIES = {
    "kernels": ("algebra", "vectors", "strings"),
    "estimators": ("svm", "squares"),
    "solvers": ("linear", "box", "rows"),
}
# In a process of its own, since here another ``mercer`` is imported; in one for all, since starting takes longest.
COMMAND = """
import os, sys
from importlinter.cli import lint_imports
config, *folders = sys.argv[1:]
path = sys.path[:]
for folder in folders:
    os.chdir(folder)
    sys.path[:] = [folder, *path]
    print("ended", lint_imports(config_filename=config, no_cache=True), flush=True)
"""


def lint_imports(*sources: Path) -> list[tuple[bool, str]]:
    """Run import-linter, with our contracts, on the ``mercer`` of each folder: whether they hold, and what it says."""
    command = [sys.executable, "-c", COMMAND, str(ROOT / "pyproject.toml"), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    *said, _ = re.split(r"^ended ", done.stdout, flags=re.MULTILINE)
    codes = re.findall(r"^ended (\w+)$", done.stdout, flags=re.MULTILINE)
    assert len(codes) == len(sources), done.stdout + done.stderr
    return [(code == "0", text) for code, text in zip(codes, said, strict=True)]


def make_package(folder: Path, **imports: str) -> Path:
    """Write a small ``mercer`` with one module per layer; ``imports`` adds a statement to some of them."""
    package = folder / "mercer"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in PACKAGES:
        (package / name).mkdir()
        (package / name / "__init__.py").write_text(imports.get(name, "") + "\n")
        for family in FAMILIES.get(name, ()):
            (package / name / family).mkdir()
            (package / name / family / "__init__.py").write_text(imports.get(f"{name}.{family}", "") + "\n")
    for name in MODULES:
        (package / f"{name}.py").write_text(imports.get(name, "") + "\n")
    return folder


def test_the_package_keeps_its_layers():
    [(kept, said)] = lint_imports(ROOT / "src")
    assert kept, said


def with_one_import(folder: Path, pairs: list[tuple[str, str]]) -> list[tuple[bool, str]]:
    """What is said of a package for each pair, in which the first imports the second."""
    imports = [{importer: f"import mercer.{imported}"} for importer, imported in pairs]
    return lint_imports(*(make_package(folder / str(i), **one) for i, one in enumerate(imports)))


def test_these_imports_are_allowed(tmp_path):
    pairs = [
        ("kernels", "models"),
        ("gram", "kernels"),
        ("solvers", "gram"),
        ("solvers", "problems"),
        ("solvers", "losses"),
        ("estimators", "kernels"),
        ("testing", "language"),
        ("language", "testing"),
        ("errors", "spec"),
        ("kernels.strings", "kernels.vectors"),
        ("kernels.vectors", "kernels.algebra"),
        ("solvers.box", "solvers.linear"),
    ]
    told = zip(pairs, with_one_import(tmp_path, pairs), strict=True)
    assert not [(pair, said) for pair, (kept, said) in told if not kept]


def test_these_imports_are_refused(tmp_path):
    pairs = [
        ("errors", "numerics"),
        ("numerics", "domains"),
        ("domains", "models"),
        ("kernels", "gram"),
        ("kernels", "losses"),
        ("losses", "targets"),
        ("problems", "losses"),
        ("problems", "solvers"),
        ("gram", "problems"),
        ("gram", "solvers"),
        ("solvers", "kernels"),
        ("solvers", "domains"),
        ("solvers", "targets"),
        ("solvers", "estimators"),
        ("estimators", "testing"),
        ("kernels.vectors", "kernels.strings"),
        ("kernels.algebra", "kernels.vectors"),
        ("estimators.svm", "estimators.squares"),
        ("solvers.box", "solvers.rows"),
        ("solvers.linear", "solvers.box"),
    ]
    told = zip(pairs, with_one_import(tmp_path, pairs), strict=True)
    assert not [(pair, said) for pair, (kept, said) in told if kept or "BROKEN" not in said]


def test_a_module_outside_the_layers_is_refused(tmp_path):
    folder = make_package(tmp_path)
    (folder / "mercer" / "utils.py").touch()
    [(kept, said)] = lint_imports(folder)
    assert not kept, said

"""Imports go downward: the contracts of ``pyproject.toml`` hold, and they do catch offenders."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"numerics", "domains", "models", "kernels", "losses", "targets", "gram", "solvers", "estimators"}
MODULES = {"spec", "errors", "problems", "testing", "language"}
FAMILIES = {
    "kernels": ("algebra", "vectors", "strings"),
    "estimators": ("svm", "squares"),
    "solvers": ("linear", "box", "rows"),
}
COMMAND = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint_imports(source: Path) -> subprocess.CompletedProcess:
    """Run import-linter, with our contracts, on the package ``mercer`` found in ``source``."""
    arguments = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def make_package(folder: Path, **imports: str) -> Path:
    """Write a small ``mercer`` with one module per layer; ``imports`` adds a statement to some of them."""
    package = folder / "mercer"
    package.mkdir()
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
    result = lint_imports(ROOT / "src")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("kernels", "models"),
        ("gram", "kernels"),
        ("gram", "problems"),
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
    ],
)
def test_these_imports_are_allowed(tmp_path, importer, imported):
    result = lint_imports(make_package(tmp_path, **{importer: f"import mercer.{imported}"}))
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("errors", "numerics"),
        ("numerics", "domains"),
        ("domains", "models"),
        ("kernels", "gram"),
        ("kernels", "losses"),
        ("losses", "targets"),
        ("problems", "losses"),
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
    ],
)
def test_these_imports_are_refused(tmp_path, importer, imported):
    result = lint_imports(make_package(tmp_path, **{importer: f"import mercer.{imported}"}))
    assert result.returncode == 1, result.stdout + result.stderr
    assert "BROKEN" in result.stdout, result.stdout + result.stderr


def test_a_module_outside_the_layers_is_refused(tmp_path):
    folder = make_package(tmp_path)
    (folder / "mercer" / "utils.py").touch()
    assert lint_imports(folder).returncode == 1

"""Packages import a name when it is first used, and behave as any package otherwise."""

import importlib
import pickle
import subprocess
import sys

import pytest

import mercer
import mercer.kernels
import mercer.losses.loss
import mercer.selection.svm_path
from mercer.export_map import EXPORTS
from mercer.exports import LazyPackage, homes

# Functions that are called like the module which defines them.
LIKE_THEIR_MODULE = [
    (package, name) for package in EXPORTS for name, home in homes(package).items() if home == f"{package}.{name}"
]


def in_a_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def loaded(code):
    """How many modules of mercer a program imports."""
    count = "import sys; print(sum(name.split('.')[0] == 'mercer' for name in sys.modules))"
    return int(in_a_process(f"{code}\n{count}").split()[-1])


@pytest.mark.parametrize("package", EXPORTS)
def test_every_name_is_found_and_listed(package):
    module = importlib.import_module(package)
    assert module.__all__ == sorted(homes(package))
    assert set(module.__all__) <= set(dir(module))
    for name, home in homes(package).items():
        assert getattr(module, name) is getattr(importlib.import_module(home), name)


def test_everything_can_be_imported_at_once():
    found = {}
    exec("from mercer.kernels import *", found)
    assert set(mercer.kernels.__all__) <= set(found)


def test_the_packages_inside_are_attributes():
    assert in_a_process("import mercer; print(mercer.losses.Huber.__name__)") == "Huber"
    assert "losses" in dir(mercer)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(mercer.kernels, "Guassian")
    with pytest.raises(AttributeError, match=r"module 'mercer\.kernels' has no attribute 'Guassian'"):
        _ = mercer.kernels.Guassian
    with pytest.raises(ImportError, match="Guassian"):
        exec("from mercer.kernels import Guassian")


@pytest.mark.parametrize(("package", "name"), LIKE_THEIR_MODULE)
def test_a_function_called_like_its_module_keeps_the_name(package, name):
    importlib.import_module(f"{package}.{name}")
    assert callable(getattr(importlib.import_module(package), name))


def test_the_import_of_a_module_does_not_take_the_name_of_a_function():
    assert ("mercer.losses", "loss") not in LIKE_THEIR_MODULE
    assert ("mercer.selection", "svm_path") in LIKE_THEIR_MODULE
    mercer.selection.svm_path = sys.modules["mercer.selection.svm_path"]  # what the import system does
    assert callable(mercer.selection.svm_path)
    mercer.losses.loss = sys.modules["mercer.losses.loss"]
    assert mercer.losses.loss is sys.modules["mercer.losses.loss"]


def test_packages_and_what_they_export_are_pickled_by_name():
    assert isinstance(mercer.kernels, LazyPackage)
    assert pickle.loads(pickle.dumps(mercer.kernels)) is mercer.kernels
    assert pickle.loads(pickle.dumps(mercer.kernels.Gaussian)) is mercer.kernels.Gaussian


def test_an_estimator_imports_what_it_needs():
    assert loaded("from mercer import SVC") <= 100


def test_a_fit_from_the_command_line_imports_what_it_needs(tmp_path):
    rows = "\n".join(f"{i},{i * i % 7},{['red', 'green', 'blue'][i % 3]},{i % 5},{'ab'[i % 2]}" for i in range(30))
    (tmp_path / "table.csv").write_text(f"a,b,colour,y,label\n{rows}\n")
    options = ["--target", "y", "--target", "label", "--quiet", "--max-time", "3000"]  # numbers and classes
    code = (
        "import sys; from mercer.cli import main\n"
        f"sys.argv = ['mercer', 'fit', {str(tmp_path / 'table.csv')!r}, *{options!r}]\n"
        "try: main()\nexcept SystemExit as end: assert not end.code, end.code"
    )
    # three machines are compared; then there is a report, which has pictures and a certificate
    assert loaded(code) <= 200
    for name in ("table.y", "table.label"):
        assert all((tmp_path / f"{name}.{kind}").is_file() for kind in ("mercer", "html"))

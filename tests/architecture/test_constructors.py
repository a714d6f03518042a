"""Constructors of kernels, Grams, losses, solvers and estimators store their arguments, and do nothing else."""

import ast
import importlib
import inspect
import pkgutil
import sys
import textwrap

import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer.spec import Spec


def _below(base):
    for cls in base.__subclasses__():
        yield cls
        yield from _below(cls)


def _constructors():
    for module in pkgutil.walk_packages(mercer.__path__, "mercer."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = {cls for base in (Spec, BaseEstimator) for cls in _below(base) if "__init__" in vars(cls) and _is_ours(cls)}
    return sorted(found, key=lambda cls: (cls.__module__, cls.__name__))


def _is_ours(cls):
    """Whether a class is in a file of the package: examples in docstrings define classes under their module's name."""
    return cls.__module__.startswith("mercer.") and hasattr(sys.modules.get(cls.__module__), cls.__name__)


def _is_told(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _stored(cls):
    """Statements of a constructor, and those that would store its arguments in their order."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls.__init__))).body
    names = list(inspect.signature(cls.__init__).parameters)[1:]
    body = [ast.unparse(part) for part in definition.body if not (_is_told(part) or isinstance(part, ast.Pass))]
    return body, [f"self.{name} = {name}" for name in names]


def test_constructors_only_store():
    classes = _constructors()
    assert len(classes) > 200
    odd = [f"{cls.__module__}.{cls.__name__}" for cls in classes if len(set(map(tuple, _stored(cls)))) > 1]
    assert not odd, odd


@pytest.mark.parametrize("body", ["super().__init__(a)", "self.a = float(a)", "vars(self).update(locals())"])
def test_other_ways_are_seen(body, tmp_path, monkeypatch):
    (tmp_path / "otherwise.py").write_text(f"class Other:\n    def __init__(self, a):\n        {body}\n")
    monkeypatch.syspath_prepend(tmp_path)
    found, wanted = _stored(importlib.import_module("otherwise").Other)
    monkeypatch.delitem(__import__("sys").modules, "otherwise")
    assert found != wanted

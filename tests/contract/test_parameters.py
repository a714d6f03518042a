"""Every parameter of every public class has a constraint, and the catalogue shows it."""

import importlib
import inspect

import numpy as np
import pytest

import mercer.estimators
import mercer.io
from mercer import catalogue
from mercer.errors import ParameterError
from mercer.estimators import imported
from mercer.export_map import EXPORTS
from mercer.spec import Spec, constraints_of

PUBLIC = [row.cls for row in catalogue.estimators()]
IMPORTED = [getattr(imported, name) for name in imported.__all__]


def _specs():
    """Return the public kernels, losses, Grams, solvers, models and measures, whatever package exports them."""
    found = {}
    for package, modules in EXPORTS.items():
        for name in (name for names in modules.values() for name in names):
            cls = getattr(importlib.import_module(package), name)
            if isinstance(cls, type) and issubclass(cls, Spec) and not inspect.isabstract(cls):
                found[f"{cls.__module__}.{name}"] = cls
    return list(found.values())


SPECS = _specs()


@pytest.mark.parametrize("cls", [*PUBLIC, *IMPORTED, *SPECS], ids=lambda cls: cls.__name__)
def test_every_parameter_has_a_constraint_that_accepts_its_default(cls):
    declared = constraints_of(cls)
    for name, parameter in inspect.signature(cls).parameters.items():
        assert name in declared, f"{cls.__name__} declares nothing about {name}"
        if parameter.default is not inspect.Parameter.empty:
            declared[name].check(name, parameter.default, cls)


ROWS = [
    *catalogue.estimators(),
    *catalogue.kernels(),
    *catalogue.losses(),
    *catalogue.grams(),
    *catalogue.solvers(),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_catalogue_shows_what_every_parameter_may_be(row):
    assert all(parameter.accepts for parameter in row.parameters), row.name


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_bases_declare_under_one_name(cls):
    names = {name for base in cls.__mro__ for name in vars(base) if name.endswith("constraints")}
    assert {name for name in names if not name.startswith("_parameter")} <= {"constraints"}  # scikit-learn has its own


@pytest.mark.parametrize("name", ["gamma", "degree", "coef0", "memory"])
def test_parameters_of_every_estimator_are_looked_at_by_fit(name):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    with pytest.raises(ParameterError, match=f"KernelLogisticRegression was given {name}="):
        mercer.KernelLogisticRegression("poly", **{name: "much"}).fit(X, y)

"""Errors are mercer's and the built-in ones a caller expects; light to import."""

import importlib
import pkgutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import errors

BUILT_IN = {
    "ParameterError": ValueError,
    "DomainError": ValueError,
    "TargetError": ValueError,
    "CapabilityError": TypeError,
    "NotPositiveDefinite": np.linalg.LinAlgError,
    "MemoryBudgetError": MemoryError,
}


@pytest.mark.parametrize(("name", "built_in"), BUILT_IN.items())
def test_an_error_is_also_the_built_in_one(name, built_in):
    error = getattr(errors, name)
    assert issubclass(error, errors.MercerError)
    assert issubclass(error, built_in)
    with pytest.raises(built_in, match="why"):
        raise error("why")


@pytest.mark.parametrize("name", ["JitterWarning", "IndefiniteWarning", "DegenerateWarning"])
def test_a_warning_can_be_silenced_as_a_user_warning(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            warnings.warn("why", getattr(errors, name), stacklevel=1)


def test_convergence_warning_is_that_of_scikit_learn():
    from mercer.errors import ConvergenceWarning as ours

    assert ours is ConvergenceWarning


def test_all_names_exist_and_others_do_not():
    assert all(hasattr(errors, name) for name in errors.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Convergence'"):
        _ = errors.Convergence


def test_importing_errors_does_not_import_scikit_learn():
    code = "import sys, mercer.errors; print('sklearn' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "False"


def test_what_an_error_or_a_warning_quotes_cannot_steer_a_terminal():
    assert str(errors.DomainError("a\x1b[31mb\nc")) == "a\\x1b[31mb\nc"
    with pytest.warns(errors.DegenerateWarning) as seen:
        errors.warn_caller("a\x9bb", errors.DegenerateWarning)
    assert str(seen[0].message) == "a\\x9bb"


@pytest.mark.parametrize(
    "value", ["a", 'it\'s "so"', b"a", 1.5, 3, True, 1j, "a(b)"], ids=lambda value: type(value).__name__ + repr(value)
)
def test_values_are_told_as_a_person_writes_them(value):
    scalar = np.array([value])[0]
    assert repr(scalar).startswith("np.")
    assert (
        str(errors.TargetError(f"y has {scalar!r}; try np.array([1.0]).")) == f"y has {value!r}; try np.array([1.0])."
    )


def test_errors_have_public_names():

    for package in pkgutil.walk_packages(mercer.__path__, "mercer."):
        if not package.name.endswith("__main__"):
            importlib.import_module(package.name)
    found, waiting = set(), [errors.MercerError]
    while waiting:
        kind = waiting.pop()
        found.add(kind)
        waiting += kind.__subclasses__()
    assert not [kind.__name__ for kind in found if kind.__name__.startswith("_")]

"""In one fit nothing is looked at twice: parameters, targets, free memory."""

from collections import Counter

import numpy as np
import pytest

import mercer
import mercer.budget
from mercer.constraints import Constraint
from mercer.gram import Dense, Nystrom, Tiles
from mercer.kernels import Gaussian
from mercer.solvers import SMO, Cholesky
from mercer.spec import Spec
from mercer.targets import target

rng = np.random.default_rng(0)
X = rng.normal(size=(45, 3))
CLASSES, NUMBERS = np.arange(45) % 3, X[:, 0]

FITS = {
    "svc": (lambda: mercer.SVC(), CLASSES),
    "svc given": (lambda: mercer.SVC(Gaussian(1.0), gram=Dense(), solver=SMO()), CLASSES),
    "svc sum": (lambda: mercer.SVC(Gaussian(1.0) + 0.5 * Gaussian("median")), CLASSES),
    "svr": (lambda: mercer.SVR(Gaussian(1.0), gram=Tiles()), NUMBERS),
    "linear": (lambda: mercer.LinearSVC(), CLASSES),
    "ridge": (lambda: mercer.KernelRidge(Gaussian(1.0), gram=Dense(), solver=Cholesky()), NUMBERS),
    "low rank": (lambda: mercer.KernelRidge(Gaussian(1.0), gram=Nystrom(10)), NUMBERS),
    "process": (lambda: mercer.GaussianProcessRegressor(fixed="all"), NUMBERS),
    "logistic": (lambda: mercer.KernelLogisticRegression(), CLASSES),
    "machine": (lambda: mercer.KernelMachineClassifier(), CLASSES),
    "components": (lambda: mercer.KernelPCA(n_components=2), None),
    "correlation": (lambda: mercer.KernelCCA((Gaussian(1.0), Gaussian(2.0)), n_components=1), X[:, :2]),
}


@pytest.fixture(params=FITS, ids=str)
def fit(request):
    make, y = FITS[request.param]
    model = make()  # whose operators check what they make
    return lambda: model.fit(X, y)


def test_each_parameter_of_an_object_is_checked_once(fit, monkeypatch):
    seen, owners, check = Counter(), [], Constraint.check

    def counted(self, name, value, owner):
        if isinstance(owner, Spec):
            owners.append(owner)  # held, so that no other object has its number
            seen[type(owner).__name__, id(owner), name] += 1
        return check(self, name, value, owner)

    monkeypatch.setattr(Constraint, "check", counted)
    fit()
    assert [key for key, times in seen.items() if times > 1] == []


def test_free_memory_is_read_once(fit, monkeypatch):
    readings = []
    monkeypatch.setattr(mercer.budget, "free_memory", lambda: readings.append(1) or 2**33)
    fit()
    assert len(readings) <= 1


@pytest.mark.parametrize("name", ["svc", "svr", "linear", "ridge", "process", "logistic", "machine"])
def test_targets_are_read_once(name, monkeypatch):
    make, y = FITS[name]
    readings = []
    for module, reader in ((target, "labels"), (target, "numbers")):
        known = getattr(module, reader)
        told = lambda *a, known=known, **k: readings.append(1) or known(*a, **k)  # noqa: E731
        monkeypatch.setattr(module, reader, told)
    make().fit(X, y)
    assert len(readings) == 1


def test_what_is_changed_in_between_is_checked_again():
    kernel = Gaussian(1.0)
    with mercer.spec.checked_once():
        kernel.check()
        with pytest.raises(mercer.errors.ParameterError):
            kernel.set_params(length_scale=-1.0).check()


def test_a_fit_that_fails_leaves_the_next_one_alone(monkeypatch):
    readings = []
    monkeypatch.setattr(mercer.budget, "free_memory", lambda: readings.append(1) or 2**33)
    with pytest.raises(mercer.errors.TargetError):
        mercer.SVC().fit(X, np.ones(45))
    mercer.SVC().fit(X, CLASSES)
    assert len(readings) == 2

"""Where real numbers are asked for, dates, durations, complex numbers and texts are none, whoever asks."""

import inspect

import numpy as np
import pytest
from sklearn.base import is_regressor

import mercer
import mercer.estimators
import mercer.gram
import mercer.kernels
import mercer.losses
import mercer.models
import mercer.solvers
from mercer.errors import DomainError, MercerError, TargetError
from mercer.spec import constraints_of

ESTIMATORS = [
    value
    for name in mercer.estimators.__all__
    if isinstance(value := getattr(mercer.estimators, name), type) and hasattr(value, "fit")
]
WEIGHTED = [cls for cls in ESTIMATORS if "sample_weight" in inspect.signature(cls.fit).parameters]
N = 12
X = np.random.default_rng(0).normal(size=(N, 3))
NOT_NUMBERS = {
    "dates": np.datetime64("2020-01-01") + np.arange(N),
    "durations": np.arange(1, N + 1).astype("m8[s]"),
    "durations as objects": np.array([np.timedelta64(1, "s")] * N, dtype=object),
    "texts": np.array(["1"] * N),
    "complex": np.ones(N) + 0j,
}


def _targets(cls):
    y = np.arange(N) % 2
    return 1.0 + y + X[:, 0] ** 2 if is_regressor(cls()) else y


@pytest.mark.parametrize("cls", WEIGHTED, ids=lambda cls: cls.__name__)
def test_weights_are_numbers(cls):
    for name, weight in NOT_NUMBERS.items():
        with pytest.raises(DomainError, match="sample_weight of type"):
            cls().fit(X, _targets(cls), sample_weight=weight)
            pytest.fail(name)


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if is_regressor(cls())], ids=lambda cls: cls.__name__)
def test_targets_of_regressors_are_numbers(cls):
    for name in ("dates", "durations"):
        with pytest.raises(TargetError):
            cls().fit(X, NOT_NUMBERS[name])


@pytest.mark.parametrize(
    "call",
    [
        lambda bad: mercer.KernelRidgeCV(alphas=bad).fit(X, X[:, 0]),
        lambda bad: mercer.KernelFisherDiscriminant(priors=bad[:2]).fit(X, np.arange(N) % 2),
        lambda bad: mercer.KernelKMeans(2).fit(X).score(X, sample_weight=bad),
        lambda bad: mercer.SVC(class_weight={0: bad[0], 1: 1.0}).fit(X, np.arange(N) % 2),
        lambda bad: mercer.SVC(C=bad[0]).fit(X, np.arange(N) % 2),
        lambda bad: mercer.SVC(max_time=bad[0]).fit(X, np.arange(N) % 2),
        lambda bad: mercer.BayesianLinearRegression(prior=bad[:3]).fit(X, X[:, 0]),
        lambda bad: mercer.DependenceSelector().fit(X, bad),
        lambda bad: mercer.SVC(memory=bad[0]).fit(X, np.arange(N) % 2),
    ],
    ids=["alphas", "priors", "score", "class_weight", "C", "max_time", "prior", "dependence", "memory"],
)
def test_parameters_are_numbers(call):
    with pytest.raises(MercerError):
        call(NOT_NUMBERS["durations"])


def _whole():
    """Yield the constraint of every parameter of a Spec that is annotated as a whole number."""
    for module in (mercer.kernels, mercer.gram, mercer.solvers, mercer.models, mercer.losses):
        for cls in (getattr(module, name) for name in module.__all__):
            if not inspect.isclass(cls) or not hasattr(cls, "constraints"):
                continue
            for name, parameter in inspect.signature(cls).parameters.items():
                words = str(parameter.annotation).replace("|", " ").split()
                if "int" in words and "str" not in words:
                    yield cls.__name__, name, constraints_of(cls).get(name)


def test_whole_numbers_are_whole():
    found = list(_whole())
    assert len(found) > 60
    loose = [f"{cls}.{name}" for cls, name, rule in found if rule is None or rule.accepts(2.5) or rule.accepts(3.0)]
    assert not loose, loose

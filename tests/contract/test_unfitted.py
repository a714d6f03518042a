"""Every public method of an estimator that is not fitted, or not fitted for it, says so by NotFittedError."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import mercer
import mercer.estimators

ESTIMATORS = [
    value
    for name in mercer.estimators.__all__
    if isinstance(value := getattr(mercer.estimators, name), type) and hasattr(value, "fit")
]
X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.arange(12) % 2
BEFORE_FIT = {"fit", "fit_transform", "fit_predict", "partial_fit", "memory_plan", "get_params", "get_metadata_routing"}


def _methods(estimator):
    """Yield the public methods that ask something of a fitted estimator, with arguments for them."""
    for name in dir(estimator):
        found = inspect.getattr_static(type(estimator), name, None)
        if name.startswith(("_", "set_")) or name in BEFORE_FIT or not hasattr(estimator, name):
            continue
        if isinstance(found, (staticmethod, classmethod, property)) or not inspect.ismethod(getattr(estimator, name)):
            continue
        method = getattr(estimator, name)
        needed = [p for p in inspect.signature(method).parameters.values() if p.default is p.empty]
        yield name, method, [Y if p.name == "y" else X for p in needed if p.kind is not p.VAR_KEYWORD]


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_methods_of_an_unfitted_estimator(cls):
    options = [
        {},
        *({name: True} for name in ("probability", "posterior") if name in inspect.signature(cls).parameters),
    ]
    for given in options:
        for name, method, arguments in _methods(cls(**given)):
            with pytest.raises(NotFittedError):
                method(*arguments)
                pytest.fail(f"{cls.__name__}({given}).{name} needs no fit?")


@pytest.mark.parametrize(
    "cls", [mercer.SVC, mercer.NuSVC, mercer.MarginBoundSVC, mercer.LSSVC], ids=lambda cls: cls.__name__
)
def test_probabilities_are_offered_by_a_parameter_and_learned_by_fit(cls):
    model = cls().fit(X, Y)
    assert not hasattr(model, "predict_proba") and not hasattr(model, "predict_log_proba")
    with pytest.raises(AttributeError, match=rf"Make the estimator as {cls.__name__}\(\.\.\., probability=True\)"):
        model.predict_proba(X)
    model.set_params(probability=True)
    with pytest.raises(NotFittedError, match=r"fitted before probability=True was set.* Call fit again"):
        model.predict_proba(X)
    assert model.fit(X, Y).predict_proba(X).shape == (12, 2)


def test_probabilities_of_a_loss_or_family_that_was_set_after_the_fit():
    model = mercer.KernelMachineClassifier(loss="hinge").fit(X, Y)
    with pytest.raises(AttributeError, match="Make the estimator with loss='logistic'"):
        model.predict_proba(X)
    with pytest.raises(NotFittedError, match="Call fit again"):
        model.set_params(loss="logistic").predict_proba(X)
    counts = mercer.KernelGLM(family="poisson").fit(X, Y + 1)
    with pytest.raises(AttributeError, match="family='ordinal'"):
        counts.predict_proba(X)
    with pytest.raises(NotFittedError, match="Call fit again"):
        counts.set_params(family="ordinal").predict_proba(X)


def test_what_is_offered_has_its_docstring():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "probability of each class" in mercer.SVC.predict_proba.__doc__
        assert list(inspect.signature(mercer.SVC.predict_proba).parameters) == ["self", "X"]

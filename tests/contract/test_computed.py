"""What is written into an attribute of a fitted model is either used or refused, never lost in silence."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_regressor

import mercer
import mercer.estimators
from mercer.kernels import Linear
from tests.contract.test_sklearn import FEWER

ESTIMATORS = [
    value
    for name in mercer.estimators.__all__
    if isinstance(value := getattr(mercer.estimators, name), type) and hasattr(value, "fit")
]
METHODS = ("decision_function", "predict", "transform")
TOLD = ("coef_", "dual_coef_", "intercept_", "support_vectors_")
N = 30
X = np.random.default_rng(0).normal(size=(N, 3))


def _fitted(cls):
    y = X[:, 0] - X[:, 1] + 3.0 if is_regressor(cls()) else np.arange(N) % 2
    linear = {"kernel": Linear()} if "kernel" in inspect.signature(cls).parameters else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for options in (linear, {}):
            try:
                return cls(**FEWER.get(cls, {}), **options).fit(X, y)
            except Exception as error:  # not every estimator takes a linear kernel
                last = error
    raise last


def _arrays(model):
    """Yield the fitted attributes that are arrays, by name, and whether they are computed anew each time."""
    names = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    for name in sorted(names):
        try:
            first, second = getattr(model, name), getattr(model, name)
        except AttributeError:
            continue
        if isinstance(first, np.ndarray):
            yield name, first, name not in vars(model)
        elif isinstance(first, tuple):
            yield from ((name, one, first is not second) for one in first if isinstance(one, np.ndarray))


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_computed_attributes_are_read_only(cls):
    model = _fitted(cls)
    loose = [name for name, array, computed in _arrays(model) if computed and array.flags.writeable]
    assert not loose, loose


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_what_a_model_tells_of_its_function_is_used_or_read_only(cls):
    model = _fitted(cls)
    ask = next((getattr(model, name) for name in METHODS if hasattr(model, name)), None)
    for name in TOLD:
        array = vars(model).get(name)
        if ask is None or not isinstance(array, np.ndarray) or not array.size or not array.flags.writeable:
            continue
        before = ask(X)
        array[...] = 7.0 * array + 3.0
        assert not np.array_equal(before, ask(X)), name


@pytest.mark.parametrize("cls", [mercer.SVC, mercer.SVR, mercer.KernelRidge, mercer.LinearSVC, mercer.LinearSVR])
def test_coefficients_cannot_be_edited(cls):
    model = _fitted(cls)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[..., 0] = 99.0


def test_sparse_support_vectors_cannot_be_edited_and_the_model_still_can():
    model = mercer.SVC(Linear()).fit(sp.csr_array(X), np.arange(N) % 2)
    with pytest.raises(ValueError, match="read-only"):
        model.support_vectors_.data[0] = 99.0
    assert model.expansion_.coef.flags.writeable

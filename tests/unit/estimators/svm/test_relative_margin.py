"""The relative margin machine: the widest margin among functions whose values are bounded."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import ParameterError
from mercer.estimators.svm.relative_margin import RelativeMarginMachine
from mercer.estimators.svm.svc import SVC
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum
from mercer.problems import Status
from mercer.solvers import InteriorPoint


def table(name="random", n=40):
    """Samples of two classes, of which some make trouble."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)) * [3.0, 1.0]
    y = np.where(X[:, 0] + 2 * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    if name == "opposite duplicates":
        X[n // 2 :] = X[: n // 2]
        y[n // 2 :] = -y[: n // 2]
    elif name == "equal rows":
        X[:] = 1.0
    elif name == "one alone":
        y[:] = -1
        y[0] = 1
    return X, y


def objective(model, X, y, w):
    f = model.decision_function(X)
    norm = model.dual_coef_[0] @ (f[model.support_] - model.intercept_[0])
    return model.C * w @ np.maximum(0.0, 1.0 - y * f) + 0.5 * norm


@pytest.mark.parametrize("data", ["random", "opposite duplicates", "equal rows", "one alone"])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), NegativeDistance()], ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("C", [1e-6, 1.0, 100.0, 1e6])
@pytest.mark.parametrize("bound", [1.0, 1.3])
def test_is_the_minimum_of_its_quadratic_program(data, kernel, C, bound):
    X, y = table(data)
    w = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=len(y))
    ours = RelativeMarginMachine(kernel, C, bound=bound).fit(X, y, sample_weight=w)
    assert ours.solution_.status is Status.CONVERGED
    f = ours.decision_function(X)
    assert np.abs(f).max() <= bound + 1e-6 * max(1.0, C / 1e5)  # of coefficients of that size
    # a point that keeps the bounds and a dual value that meet are both the best
    dual = -ours.solution_.trace.objective[-1]
    assert np.isclose(objective(ours, X, y, w), dual, rtol=1e-6, atol=1e-8)
    if C > 100.0 and kernel == Linear():  # singular and stiff: the interior point gives up
        return
    theirs = RelativeMarginMachine(kernel, C, bound=bound, solver=InteriorPoint()).fit(X, y, sample_weight=w)
    assert C > 100.0 or theirs.solution_.status is Status.CONVERGED
    if theirs.solution_.status is not Status.CONVERGED:  # stiff, too; the two values above have met all the same
        return
    g = theirs.decision_function(X)
    np.testing.assert_allclose(f - f.mean(), g - g.mean(), atol=1e-5)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()], ids=lambda k: type(k).__name__)
def test_a_bound_that_nobody_reaches_changes_nothing(kernel):
    X, y = table()
    plain = SVC(kernel, 3.0).fit(X, y)
    far = 1.01 * np.abs(plain.decision_function(X)).max()
    for bound in (far, math.inf):
        model = RelativeMarginMachine(kernel, 3.0, bound=bound).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)
    near = RelativeMarginMachine(kernel, 3.0, bound=far / 1.5).fit(X, y)
    assert np.isclose(np.abs(near.decision_function(X)).max(), far / 1.5, atol=1e-6)


def test_weights_are_repetitions():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, size=150)
    repeated = np.repeat(np.arange(150), weight)
    once = RelativeMarginMachine(bound=1.2).fit(X, y, sample_weight=weight)
    often = RelativeMarginMachine(bound=1.2).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(once.decision_function(X), often.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_several_classes(scheme):
    X, y = load_iris(return_X_y=True)
    model = RelativeMarginMachine(bound=1.5, multi_class=scheme).fit(X, y)
    assert model.score(X, y) > 0.94 and model.intercept_.shape == (3,) and model.n_support_.sum() == len(model.support_)
    names = np.array(["a", "b", "c"])[y]
    assert np.array_equal(model.fit(X, names).predict(X) == names, RelativeMarginMachine(
        bound=1.5, multi_class=scheme).fit(X, y).predict(X) == y)  # fmt: skip


def test_the_spread_of_the_samples_turns_the_function():
    """With a wide margin along a direction in which the samples are spread, the bound prefers the other one."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 100)
    X = np.column_stack([1.2 * y + 8.0 * y * rng.uniform(size=200), 1.0 * y + 0.05 * rng.normal(size=200)])
    plain = SVC(Linear(), 100.0).fit(X, y).coef_[0]
    bounded = RelativeMarginMachine(Linear(), 100.0, bound=1.5).fit(X, y).coef_[0]
    assert abs(plain[0]) > 0.3 * abs(plain[1]) and abs(bounded[0]) < 0.1 * abs(bounded[1])


def test_any_domain():
    words = ["abcab", "bcabc", "cabca", "xyzxy", "yzxyz", "zxyzx"]
    model = RelativeMarginMachine(Spectrum(2), 10.0).fit(words, list("pppqqq"))
    assert list(model.predict(["abcbc", "xyxyz"])) == ["p", "q"]
    X, y = table()
    K = Gaussian(1.0)(X)
    expected = RelativeMarginMachine(Gaussian(1.0)).fit(X, y).decision_function(X)
    np.testing.assert_allclose(RelativeMarginMachine("precomputed").fit(K, y).decision_function(K), expected, atol=1e-9)
    sparse = RelativeMarginMachine(Gaussian(1.0)).fit(sp.csr_array(X), y).decision_function(sp.csr_array(X))
    np.testing.assert_allclose(sparse, expected, atol=1e-9)


def test_what_is_refused():
    X, y = table()
    for wrong in ({"bound": 0.9}, {"C": 0.0}, {"C": math.inf}, {"bound": math.nan}):
        with pytest.raises(ParameterError):
            RelativeMarginMachine(**wrong).fit(X, y)
    with pytest.raises(ParameterError, match="crammer_singer"):
        RelativeMarginMachine(multi_class="crammer_singer").fit(*load_iris(return_X_y=True))
    assert not hasattr(RelativeMarginMachine().fit(X, y), "predict_proba")
    with pytest.warns(ConvergenceWarning, match="iterations"):
        RelativeMarginMachine(Gaussian(1.0), 100.0, bound=1.1, max_iter=2).fit(X, y)

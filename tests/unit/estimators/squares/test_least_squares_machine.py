"""What the least squares machines share."""

import itertools
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import budget
from mercer.constraints import Positive
from mercer.domains import Vectors
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError
from mercer.estimators.squares.least_squares_classifier import LSSVC
from mercer.estimators.squares.least_squares_machine import groups_of
from mercer.estimators.squares.least_squares_svm import LSSVR
from mercer.gram import Dense, Nystrom, Tiles
from mercer.kernels import Gaussian, Kernel, Linear, NegativeDistance, Spectrum
from mercer.selection import lssvm_path

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=60) + 2.0
SIGN = np.where(Y > 2.0, 1, -1)
T = rng.normal(size=(9, 2))


def test_outputs_with_the_same_samples_form_a_group():
    Y = np.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, -1.0]])
    groups = groups_of(Y)
    assert [(rows.tolist(), columns.tolist()) for rows, columns in groups] == [([0, 1, 2], [0, 2]), ([0, 2], [1])]


@pytest.mark.parametrize("machine", [LSSVR, LSSVC])
def test_no_cost_is_the_best_of_the_path(machine):
    y = Y if machine is LSSVR else SIGN
    model = machine(Gaussian(1.0), C=None).fit(X, y)
    many = np.logspace(-3, 6, 1500)
    press = lssvm_path(Gaussian(1.0)(X), y.astype(float), many).press[:, 0]
    assert lssvm_path(Gaussian(1.0)(X), y.astype(float), [model.C_]).press[0, 0] <= press.min() * 1.001
    assert model.path_values_.min() == model.path_values_[np.searchsorted(model.path_costs_, model.C_)]
    low = machine(Gaussian(1.0), C=None, gram=Nystrom(60)).fit(X, y)
    assert np.isclose(low.C_, model.C_, rtol=1e-6)


@pytest.mark.parametrize("selection", ["loo", "evidence"])
def test_cost_and_kernel_are_chosen_by_a_criterion(selection):
    model = LSSVR(Gaussian(2.0), C=None, selection=selection, guard=False).fit(X, Y)
    value = {}
    for name, kernel, C in (
        ("chosen", model.kernel_, model.C_),
        ("wider", Gaussian(model.kernel_.length_scale * 1.1), model.C_),
        ("narrower", Gaussian(model.kernel_.length_scale / 1.1), model.C_),
        ("costlier", model.kernel_, model.C_ * 1.2),
        ("cheaper", model.kernel_, model.C_ / 1.2),
    ):
        path = lssvm_path(kernel(X), Y, [C])
        value[name] = float(path.press[0, 0] if selection == "loo" else -path.log_evidence[0, 0])
    assert min(value, key=value.get) == "chosen"
    assert model.tuned_.status.converged and model.kernel.length_scale == 2.0
    if selection == "evidence":
        assert np.isclose(model.log_evidence_, -value["chosen"]) and np.isclose(model.tuned_.value, value["chosen"])


def test_what_is_held_stays():
    held = LSSVR(Gaussian(2.0), C=7.0, selection="evidence", fixed=("C",)).fit(X, Y)
    assert held.C_ == 7.0 and held.kernel_.length_scale != 2.0
    level2 = LSSVR(Gaussian(2.0), C=7.0, selection="evidence", fixed="kernel").fit(X, Y)
    assert level2.kernel_.length_scale == 2.0 and level2.C_ != 7.0
    evidence = lssvm_path(Gaussian(2.0)(X), Y, np.logspace(-3, 6, 500)).log_evidence
    assert np.isclose(level2.log_evidence_, evidence.max(), atol=0.01)
    nothing = LSSVR(Gaussian(2.0), C=7.0, selection="evidence", fixed="all").fit(X, Y)
    assert nothing.C_ == 7.0 and nothing.kernel_.length_scale == 2.0
    again = level2.set_params(selection=None, fixed=()).fit(X, Y)
    assert again.C_ == 7.0 and not hasattr(again, "path_costs_")


def test_a_selection_of_a_classifier_with_several_factorisations():
    codes = np.digitize(X[:, 0], [-0.5, 0.5])
    for scheme in ("ovr", "ovo"):
        model = LSSVC(Gaussian(3.0), C=1.0, selection="evidence", multi_class=scheme).fit(X, codes)
        start = LSSVC(Gaussian(3.0), C=1.0, multi_class=scheme).fit(X, codes)
        assert np.isclose(model.log_evidence_, -model.tuned_.value) and model.log_evidence_ > start.log_evidence_
        assert model.score(X, codes) > 0.9


def test_weights_are_copies_also_in_the_choice():
    w = rng.integers(0, 3, size=60)
    again = np.repeat(np.arange(60), w)
    for options in ({"selection": "evidence"}, {"selection": "evidence", "fixed": "kernel"}):
        a = LSSVR(Gaussian(2.0), **options).fit(X, Y, sample_weight=w)
        b = LSSVR(Gaussian(2.0), **options).fit(X[again], Y[again])
        assert np.isclose(a.log_evidence_, b.log_evidence_, rtol=1e-6)
        assert np.allclose(a.predict(T), b.predict(T), atol=2e-3)


def test_time_over_in_the_search_leaves_the_best_so_far(monkeypatch):
    """By a clock that goes on by ten seconds whenever it is asked, whatever else the machine does."""
    began, asked = time.monotonic(), itertools.count()
    monkeypatch.setattr(budget, "time", SimpleNamespace(monotonic=lambda: began + 10.0 * next(asked)))
    model = LSSVR(Gaussian((1.0, 1.0)), selection="evidence", restarts=50, random_state=0, max_time=2000.0)
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        model.fit(X, Y)
    assert next(asked) < 300
    assert np.isfinite(model.log_evidence_)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"gram": Tiles(), "leave_one_out": True}, CapabilityError, "keeps no factor"),
        ({"gram": Tiles(), "C": None}, CapabilityError, "Nystrom"),
        ({"gram": Tiles(), "prune": 0.1}, CapabilityError, "dense"),
        ({"gram": Nystrom(5), "prune": 0.1}, ParameterError, "prune"),
        ({"posterior": True, "prune": 0.1}, ParameterError, "prune"),
        ({"gram": Nystrom(5), "selection": "loo"}, CapabilityError, "fixed='kernel'"),
        ({"C": 0.0}, ParameterError, "C"),
        ({"C": "evidence"}, ParameterError, "C"),
        ({"selection": "bayes"}, ParameterError, "selection"),
        ({"fixed": "C"}, ParameterError, "fixed"),
        ({"selection": "loo", "fixed": ("width",)}, ParameterError, "width"),
        ({"prune": 1.0}, ParameterError, "prune"),
        ({"restarts": -1}, ParameterError, "restarts"),
        ({"selection": "loo", "memory": "40KB"}, MemoryBudgetError, "budget"),
        ({"C": None, "memory": "40KB"}, MemoryBudgetError, "budget"),
    ],
    ids=str,
)
def test_what_is_refused(options, error, text):
    with pytest.raises(error, match=text):
        LSSVR(Gaussian(1.0), **options).fit(X, Y)


class Bump(Kernel):
    """A kernel with a free parameter of which nobody wrote the derivative."""

    domain = Vectors
    constraints = {"width": Positive()}

    def __init__(self, width=1.0):
        self.width = width

    def block(self, A, B):
        return np.exp(-((A.X[:, :1] - B.X[:, 0]) ** 2) / self.width)


def test_a_kernel_without_derivatives():
    texts = ["abab", "ab", "bab", "bbb", "abba", "baba"]
    y = np.arange(6.0)
    with pytest.raises(CapabilityError, match="fixed='kernel'"):
        LSSVR(Bump(), selection="loo").fit(np.arange(6.0)[:, None], y)
    weighted = LSSVR(Spectrum(2).normalized() * 2.0 + Spectrum(1), selection="loo").fit(texts, y)
    assert np.isfinite(weighted.predict(["aabb"])).all()  # the weight of a term is free, and has a derivative
    model = LSSVR(Spectrum(2), selection="loo").fit(texts, y)  # it has no free parameter: C alone is chosen
    assert model.C_ != 1.0 and np.isfinite(model.predict(["aabb"])).all()


def test_matrix_free_and_conditionally_definite():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a = LSSVR(Gaussian(1.0), C=10.0, gram=Tiles()).fit(X, Y)
    b = LSSVR(Gaussian(1.0), C=10.0, gram=Dense()).fit(X, Y)
    assert np.allclose(a.predict(T), b.predict(T), atol=1e-6) and np.isnan(a.log_evidence_)
    model = LSSVR(NegativeDistance(), C=None, selection="evidence", posterior=True).fit(X, Y)
    mean, std = model.predict(T, return_std=True)
    assert np.isfinite(mean).all() and (std > 0).all()


def test_memory_is_planned():
    plain = LSSVR(Gaussian(1.0)).memory_plan(1000, 2)
    assert LSSVR(Gaussian(1.0), C=None).memory_plan(1000, 2).total >= plain.total + 24e6
    assert LSSVR(Gaussian(1.0), posterior=True).memory_plan(1000, 2).total >= plain.total + 8e6
    assert LSSVR(Linear(), gram=Nystrom(10)).memory_plan(10**6, 10).total < 1e9

"""Weights of any sign: at least as good as weights that are not negative, and definite where they must be."""

import sys

import numpy as np
import pytest

from mercer import MultipleKernelClassifier, definite_mixture
from mercer.errors import CapabilityError, ConvergenceWarning, MemoryBudgetError, ParameterError, TargetError
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
X = rng.normal(size=(36, 2))
Y = np.where(X[:, 0] * X[:, 1] > 0, "b", "a")
KERNELS = [Linear(), Gaussian(0.5), Gaussian(2.0)]


@pytest.fixture(scope="module")
def found():
    pytest.importorskip("clarabel")
    return definite_mixture(KERNELS, X[:24], Y[:24], X[24:])


def test_the_sum_is_definite_on_all_samples_and_its_trace_bounded(found):
    values = np.linalg.eigvalsh(found.matrix)
    assert found.smallest >= -1e-5 and np.isclose(values[0], found.smallest, atol=1e-9)
    assert np.trace(found.matrix) <= 36 * (1.0 + 1e-5)
    assert found.gap <= 1e-3


def test_it_is_at_least_as_good_as_weights_that_are_not_negative(found):
    mean = [np.mean(kernel.diag(X)) for kernel in KERNELS]
    scaled = [(1.0 / size) * kernel for kernel, size in zip(KERNELS, mean, strict=True)]
    positive = MultipleKernelClassifier(scaled).fit(X[:24], Y[:24])  # the simplex is the bound on the trace
    assert found.objective <= positive.objective_ * (1.0 + 1e-3)


def test_no_other_feasible_weights_are_better(found):
    """Weights of the simplex are feasible, whatever they are."""
    from mercer import SVC
    from mercer.kernels import Precomputed

    mean = [np.mean(kernel.diag(X)) for kernel in KERNELS]
    matrices = [kernel(X) / size for kernel, size in zip(KERNELS, mean, strict=True)]
    y = np.where(Y[:24] == "b", 1.0, -1.0)
    for d in rng.dirichlet(np.ones(3), size=10):
        K = sum(a * M for a, M in zip(d, matrices, strict=True))[:24, :24]
        machine = SVC(Precomputed(), tol=1e-8).fit(K, y)
        beta = machine.solution_.coef
        assert found.objective <= (y @ beta - 0.5 * beta @ K @ beta) * (1.0 + 1e-3)


def test_labels_are_those_of_the_decision_values(found):
    assert found.labels.tolist() == np.where(found.decision > 0, "b", "a").tolist()
    assert np.mean(found.labels == Y[24:]) > 0.6 and found.training_decision.shape == (24,)


def test_what_is_refused(monkeypatch):
    with pytest.raises(TargetError, match="two are accepted"):
        definite_mixture(KERNELS, X[:24], np.arange(24) % 3, X[24:])
    with pytest.raises(ParameterError, match="Give a list of kernels"):
        definite_mixture(None, X[:24], Y[:24], X[24:])
    big = rng.normal(size=(130, 2))
    with pytest.raises(MemoryBudgetError, match="at most 120 samples"):
        definite_mixture(KERNELS, big[:100], big[:100, 0] > 0, big[100:])
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(CapabilityError, match=r"pip install mercer\[qp\]"):
        definite_mixture(KERNELS, X[:24], Y[:24], X[24:])


def test_a_program_that_is_not_solved_says_so():
    pytest.importorskip("clarabel")
    with pytest.warns(ConvergenceWarning, match="smaller C than 1e.20"):
        definite_mixture(KERNELS, X[:8], Y[:8], X[8:12], C=1e20)

"""The posterior by independent factors: its bound only grows, and weights of samples are repetitions."""

import numpy as np
import pytest

from mercer.mixtures import HierarchicalBayes
from mercer.problems import Status
from mercer.solvers.mixtures.stack import Matrix
from mercer.solvers.mixtures.variational import _divergence, mixture_posterior
from tests.unit.solvers.mixtures.cases import family, samples

X, Y = samples(30)
Z = np.sin(2.0 * X[:, 0]) + 3.0
GRAMS = [Matrix(K) for K in family(X)[:4]]


def test_the_bound_on_the_evidence_only_grows():
    found = mixture_posterior(GRAMS, Z, np.ones(30), HierarchicalBayes(), classes=False)
    assert np.all(np.diff(found.bounds) >= -1e-9 * np.abs(found.bounds[0]))
    assert found.bounds[-1] > found.bounds[0] + 1.0


@pytest.mark.parametrize(("y", "classes"), [(Z, False), (Y, True)], ids=["numbers", "classes"])
def test_weights_of_samples_are_repetitions(y, classes):
    w = np.where(np.arange(30) < 8, 2.0, 1.0)
    index = np.repeat(np.arange(30), w.astype(int))
    options = HierarchicalBayes(max_iter=40)
    once = mixture_posterior(GRAMS, y, w, options, classes=classes)
    copies = mixture_posterior(
        [gram.take(index) for gram in GRAMS], y[index], np.ones(len(index)), options, classes=classes
    )
    assert np.allclose(once.solution.state.weights, copies.solution.state.weights, rtol=1e-3)
    assert np.isclose(once.intercept, copies.intercept, rtol=1e-3)


def test_it_can_be_stopped():
    stop = lambda iteration, residual: Status.TIME if iteration == 2 else False  # noqa: E731
    found = mixture_posterior(GRAMS, Z, np.ones(30), HierarchicalBayes(), classes=False, monitor=stop)
    assert found.solution.status is Status.TIME and np.isfinite(found.solution.coef).all()


def test_the_divergence_is_an_integral():
    from scipy.integrate import quad
    from scipy.stats import gamma

    p, q = gamma(3.0, scale=0.5), gamma(1.5, scale=2.0)
    numeric = quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), 1e-9, 40.0)[0]
    assert np.isclose(_divergence(3.0, 2.0, 1.5, 0.5), numeric, rtol=1e-6)
    assert np.isclose(_divergence(3.0, 2.0, 3.0, 2.0), 0.0, atol=1e-12)

"""Searches of the evidence that begin with few samples."""

import numpy as np

from mercer.domains import Vectors
from mercer.estimators.processes.gaussian_process import GaussianProcessRegressor
from mercer.estimators.processes.process_evidence import DenseEvidence, Observations
from mercer.estimators.processes.process_search import Remembering
from mercer.estimators.processes.warm_start import Coordinates, curvature, descend
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.uniform(-3.0, 3.0, size=(1000, 2))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=1000)
SMALL = DenseEvidence(Observations.of(Vectors.pack(X[:80]), Y[:80]))
KERNEL = 1.5 * Gaussian(1.8)


def test_coordinates_move_what_is_not_held():
    at = Coordinates.of(KERNEL, 0.1, ("scale",))
    assert at.moves.tolist() == [False, True, True]
    kernel, noise = at.at(np.log([2.0, 0.3]))
    assert np.isclose(kernel.scale, 1.5) and np.isclose(kernel.kernel.length_scale, 2.0) and np.isclose(noise, 0.3)
    assert np.allclose(at.raw(np.log([2.0, 0.3])), [2.0, 0.3])


def test_gradient_and_curvature_are_differences_of_values():
    at = Coordinates.of(KERNEL, 0.05, ())
    center, h = at.theta, 1e-4
    g = at.evaluate(SMALL, center)[1]

    def f(*steps):
        return at.evaluate(SMALL, center + h * sum(np.eye(3)[i] * s for i, s in steps))[0]

    assert np.allclose(g, [(f((i, 1)) - f((i, -1))) / (2 * h) for i in range(3)], rtol=1e-4, atol=1e-3)
    H = np.array(
        [
            [
                (f((i, 1), (j, 1)) - f((i, 1), (j, -1)) - f((i, -1), (j, 1)) + f((i, -1), (j, -1))) / (4 * h * h)
                for j in range(3)
            ]
            for i in range(3)
        ]
    )
    values = np.linalg.eigvalsh(H)
    assert np.allclose(np.linalg.eigvalsh(curvature(SMALL, at)), np.sort(np.abs(values)), rtol=0.05, atol=0.1)


def test_no_evidence_is_a_wall():
    at = Coordinates.of(KERNEL, 0.05, ())

    def broken(kernel, noise, *, slopes=True):
        raise np.linalg.LinAlgError

    value, g = at.evaluate(broken, at.theta)
    assert value == np.inf and g.tolist() == [0.0, 0.0, 0.0]
    assert len(descend(broken, at, np.eye(3), 1e-6).values) == 1


def test_a_descent_goes_down_to_the_optimum():
    at = Coordinates.of(KERNEL, 0.05, ())
    found = descend(SMALL, at, curvature(SMALL, at), 1e-6)
    assert np.all(np.diff(found.values) < 0.0) and len(found.path) == len(found.values) == len(found.seconds)
    best = GaussianProcessRegressor(KERNEL, 0.05, tol=1e-8, normalize_y=False).fit(X[:80], Y[:80])
    assert np.isclose(-found.values[-1], best.log_marginal_likelihood_, atol=1e-3)
    stopped = descend(SMALL, at, curvature(SMALL, at), 1e-6, lambda step, slope: True)
    assert len(stopped.values) == 1


def test_what_was_computed_last_is_remembered():
    calls = []

    def evidence(kernel, noise, *, slopes=True):
        calls.append(noise)
        return object()

    known = Remembering(evidence)
    assert known(KERNEL, np.array(0.1)) is known(KERNEL, np.array(0.1)) and len(calls) == 1
    known(KERNEL, np.array(0.2))
    assert len(calls) == 2


def test_a_search_that_begins_with_few_ends_where_one_on_all_does(monkeypatch):
    quick = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(X, Y)
    monkeypatch.setattr("mercer.estimators.processes.process_search._MANY", 10**9)
    plain = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(X, Y)
    assert quick.tuned_.evaluations < plain.tuned_.evaluations
    assert np.isclose(quick.log_marginal_likelihood_, plain.log_marginal_likelihood_, atol=1e-3)
    assert np.allclose(quick.theta_, plain.theta_, atol=0.02)
    assert quick.tuned_.path.shape == (len(quick.tuned_.values), 3)

"""Averages of class probabilities."""

import itertools

import numpy as np
import pytest
from scipy import integrate, special, stats

from mercer.estimators.processes import probability_averages as averages
from mercer.estimators.processes.probability_averages import logistic_average, probit_average, softmax_average


def exact(function, mean, variance):
    s = np.sqrt(variance)
    ends = sorted({-12.0, 12.0, *np.clip((np.array([-40, -10, -3, 0, 3, 10, 40]) - mean) / s, -12.0, 12.0)})
    return sum(
        integrate.quad(lambda z: function(mean + s * z) * stats.norm.pdf(z), a, b, epsabs=1e-14, limit=200)[0]
        for a, b in itertools.pairwise(ends)
    )


@pytest.mark.parametrize("mean", [-30.0, -3.0, -0.2, 0.0, 1.0, 8.0])
@pytest.mark.parametrize("variance", [1e-4, 0.5, 3.99, 4.01, 30.0, 1e4])
def test_the_logistic_average_is_the_integral(mean, variance):
    p = logistic_average(np.array([mean]), np.array([variance]))
    assert np.isclose(p[0], exact(special.expit, mean, variance), rtol=1e-6, atol=1e-10)
    assert np.isclose(p + logistic_average(np.array([-mean]), np.array([variance])), 1.0, atol=1e-15)


def test_without_variance_it_is_the_function_itself():
    mean = np.array([[-2.0, 0.0], [0.5, 700.0]])
    assert np.allclose(logistic_average(mean, np.zeros((2, 2))), special.expit(mean))
    assert np.allclose(softmax_average(mean, np.zeros((2, 2, 2))), special.softmax(mean, axis=1))


def test_the_probit_average_is_the_integral():
    assert np.isclose(probit_average(np.array(0.7), np.array(2.5)), exact(special.ndtr, 0.7, 2.5))


def test_of_two_classes_the_softmax_average_is_the_logistic_one():
    rng = np.random.default_rng(0)
    mean, A = rng.normal(size=(20, 2)), rng.normal(size=(20, 2, 2))
    C = A @ A.transpose(0, 2, 1)
    difference = C[:, 0, 0] + C[:, 1, 1] - 2 * C[:, 0, 1]
    expected = logistic_average(mean[:, 1] - mean[:, 0], difference)
    assert np.allclose(softmax_average(mean, C)[:, 1], expected, atol=1e-4)


@pytest.mark.parametrize("c", [3, 6])
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_the_softmax_average_is_that_of_many_draws(c, scale):
    rng = np.random.default_rng(c)
    A = rng.normal(size=(c, c))
    C, mean = scale**2 * A @ A.T / c, scale * rng.normal(size=c)
    draws = rng.multivariate_normal(mean, C, size=400_000)
    found = softmax_average(mean[None], C[None])[0]
    assert np.allclose(found, special.softmax(draws, axis=1).mean(axis=0), atol=3e-3)
    assert np.isclose(found.sum(), 1.0)
    assert np.array_equal(found, softmax_average(mean[None], C[None])[0])


def test_compiled_loops_say_the_same_in_python():
    F, steps, Z, out = np.zeros((1, 2)), np.array([[[1.0], [-1.0]]]), np.array([[0.5], [1.0]]), np.empty((1, 2))
    averages._average.py_func(F, steps, Z, out)
    assert np.allclose(out, 0.5)
    f = np.array([1000.0, 1001.0])
    averages._share.py_func(f)
    assert np.allclose(f, special.softmax([0.0, 1.0]))

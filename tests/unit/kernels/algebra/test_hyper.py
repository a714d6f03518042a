"""The harmonic hyperkernel."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.errors import ParameterError
from mercer.kernels import Gaussian, Linear, Sigmoid, Spectrum
from mercer.kernels.algebra.hyper import Hyperkernel
from mercer.testing import check_kernel

rng = np.random.default_rng(0)
PAIRS = [(rng.normal(size=2).tolist(), rng.normal(size=2).tolist()) for _ in range(90)]


def naive(kernel, decay, P, Q):
    """(1 - l) sum_n (l k(p) k(q))^n, term by term."""
    value = lambda pair: kernel([pair[0]], [pair[1]])[0, 0]  # noqa: E731
    ratios = [[decay * value(p) * value(q) for q in Q] for p in P]
    return np.array([[(1 - decay) * sum(ratio**n for n in range(200)) for ratio in row] for row in ratios])


def test_it_is_the_geometric_series():
    k = Hyperkernel(Gaussian(0.8), decay=0.7)
    assert np.allclose(k(PAIRS[:6], PAIRS[4:9]), naive(Gaussian(0.8), 0.7, PAIRS[:6], PAIRS[4:9]))


def test_laws():
    check_kernel(Hyperkernel(Gaussian(1.0)), PAIRS[:8])
    check_kernel(Hyperkernel(Spectrum(1).normalized(), decay=0.3), [("ab", "b"), ("a", "c"), ("abc", "cab")])


def test_a_function_of_pairs_is_a_kernel_again():
    """With positive coefficients on pairs of positive similarity the expansion is positive definite in (u, u')."""
    k = Hyperkernel(Gaussian(1.0))
    points = rng.normal(size=(12, 2)).tolist()
    all_pairs = [(u, v) for u in points for v in points]
    learned = (np.array([0.3, 1.0, 0.2]) @ k(PAIRS[:3], all_pairs)).reshape(12, 12)
    assert np.allclose(learned, learned.T) and np.linalg.eigvalsh(learned).min() > -1e-10


def test_it_learns_on_many_pairs():
    y = np.array([np.exp(-np.sum((np.array(u) - v) ** 2) / 2) for u, v in PAIRS])
    model = KernelRidge(Hyperkernel(Gaussian(1.0), decay=0.9), alpha=1e-4).fit(PAIRS, y)
    assert model.score(PAIRS, y) > 0.99


@pytest.mark.parametrize("kernel", [Linear(), Sigmoid()])
def test_values_must_stay_below_one(kernel):
    with pytest.raises(ParameterError, match="normalized"):
        Hyperkernel(kernel).check()
    with pytest.raises(ParameterError, match="kernel must be a Kernel"):
        Hyperkernel(3).check()
    with pytest.raises(ParameterError, match="decay"):
        Hyperkernel(Gaussian(1.0), decay=1.0).check()

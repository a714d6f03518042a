"""Kernels tuned for power: gradients by differences, and more power than where the search began."""

import numpy as np
import pytest

from mercer.choosing.power_of_tests import hsic_power_and_gradient, power_and_gradient, tuned_kernel
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.free_parameters import chain, constrained, unconstrain
from mercer.inference.power import hsic_power, mmd_power
from mercer.kernels import Gaussian, Linear, Match

KERNELS = [Gaussian((1.0, 2.0)), 2.0 * Gaussian(0.7) + Linear()]


def blobs(rng, n=150):
    """A lattice of spots, round in one sample and oval in the other: only a narrow kernel sees it."""
    centres = lambda: 10.0 * rng.integers(0, 3, size=(n, 2))  # noqa: E731
    return centres() + rng.normal(size=(n, 2)), centres() + rng.normal(size=(n, 2)) * np.array([2.2, 0.5])


def check_gradient(value_and_gradient, theta):
    _, gradient = value_and_gradient(theta)
    for c in range(len(theta)):
        step = 1e-5 * np.eye(len(theta))[c]
        up, down = (value_and_gradient(theta + s)[0] for s in (step, -step))
        assert gradient[c] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradient(kernel):
    S = Vectors.pack(np.concatenate(blobs(np.random.default_rng(0), 20)))
    assert power_and_gradient(kernel, S, 20)[0] == pytest.approx(mmd_power(S[:20], S[20:], kernel), rel=1e-8)

    def at(theta):
        moved = constrained(kernel, theta)
        value, raw = power_and_gradient(moved, S, 20)
        return value, chain(moved, raw)

    check_gradient(at, unconstrain(kernel))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradient_of_dependence(kernel):
    x = np.random.default_rng(1).normal(size=(25, 2))
    y = x[:, :1] ** 2 + 0.3 * np.random.default_rng(2).normal(size=(25, 1))
    parts, other = (Vectors.pack(x), Vectors.pack(y)), Gaussian(0.8)
    assert hsic_power_and_gradient((kernel, other), parts)[0] == pytest.approx(
        hsic_power(x, y, (kernel, other)), rel=1e-8
    )
    own = len(unconstrain(kernel))

    def at(theta):
        first, second = constrained(kernel, theta[:own]), constrained(other, theta[own:])
        value, raw = hsic_power_and_gradient((first, second), parts)
        return value, np.concatenate([chain(first, raw[:own]), chain(second, raw[own:])])

    check_gradient(at, np.concatenate([unconstrain(kernel), unconstrain(other)]))


def test_two_samples():
    X, Y = blobs(np.random.default_rng(1))
    found = tuned_kernel(X, Y, Gaussian(3.0))
    assert mmd_power(X, Y, found) > mmd_power(X, Y, Gaussian(3.0))


def test_dependence():
    rng = np.random.default_rng(2)
    x = rng.uniform(0.0, 6.0, 120)
    y = np.sin(4.0 * x) + 0.2 * rng.normal(size=120)
    start = (Gaussian(1.5), Gaussian(1.5))
    found = tuned_kernel(x, y, start, statistic="hsic")
    assert hsic_power(x, y, found) > hsic_power(x, y, start)
    labels = np.where(y > 0.0, "above", "below")
    width, match = tuned_kernel(x, labels, (Gaussian(1.5), Match()), statistic="hsic")
    assert match == Match() and hsic_power(x, labels, (width, match)) > hsic_power(x, labels, (Gaussian(1.5), match))


def test_doors():
    x = np.arange(8.0)
    with pytest.raises(CapabilityError, match="free parameter"):
        tuned_kernel(x, x, Linear())
    with pytest.raises(ParameterError, match="a pair for"):
        tuned_kernel(x, x, Gaussian(1.0), statistic="hsic")
    with pytest.raises(ParameterError, match="a pair for"):
        tuned_kernel(x, x, (Gaussian(1.0), Gaussian(1.0)))

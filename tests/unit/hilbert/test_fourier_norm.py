"""The norm by frequencies is the norm by the Gram matrix; what derivatives a kernel penalises."""

import math

import numpy as np
import pytest
from numpy.polynomial import hermite_e

from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.gram.expansion import Expansion
from mercer.hilbert.fourier_norm import derivative_penalties, fourier_norm, fourier_transform, regularized
from mercer.kernels import (
    BSpline,
    Cauchy,
    Exponential,
    Gaussian,
    Laplacian,
    Matern,
    Periodic,
    RationalQuadratic,
    SpectralMixture,
    Wendland,
)

X = np.linspace(-14.0, 14.0, 1401)


def expansion(kernel, d=1, n=6, seed=0):
    rng = np.random.default_rng(seed)
    points, c = rng.normal(size=(n, d)), rng.normal(size=n)
    f = Expansion(kernel, kernel.prepare(kernel.pack(points)), c, np.array(0.0))
    return f, float(c @ kernel(points) @ c)


@pytest.mark.parametrize(
    ("kernel", "d"),
    [
        (Gaussian(1.3), 1),
        (Gaussian((0.7, 2.0)), 2),
        (Gaussian(0.7), 3),
        (Matern(0.5), 1),
        (Matern(1.5, 0.5), 1),
        (Matern(2.5), 2),
        (BSpline(3), 1),
        (BSpline(5, 0.8), 1),
        (Cauchy(1.0), 1),
        (RationalQuadratic(0.5), 1),  # its density has a pole at zero
        (Periodic(2.0), 2),
        (2.0 * Gaussian(1.0) + Periodic(3.0) + 1.0, 1),
        (SpectralMixture((1.0, 0.5), (0.5, 3.0), (1.0, 0.2)), 1),
    ],
    ids=repr,
)
def test_it_is_the_norm(kernel, d):
    f, expected = expansion(kernel, d)
    result = fourier_norm(f)
    assert result.squared == pytest.approx(expected, rel=1e-9)
    assert result.norm == pytest.approx(float(f.norm()), rel=1e-8)
    assert abs(result.squared - expected) <= result.error + 1e-13 * expected


@pytest.mark.parametrize("kernel", [BSpline(5, 0.8), BSpline(7, 0.5)], ids=repr)
def test_a_density_that_oscillates_to_infinity(kernel):
    """Powers of sin(w) / w are smooth nowhere: what a rule misses of their tails belongs to the error."""
    for seed in range(8):
        f, expected = expansion(kernel, seed=seed)
        result = fourier_norm(f)
        assert abs(result.squared - expected) <= result.error + 1e-13 * expected


@pytest.mark.parametrize(("kernel", "rough"), [(BSpline(1), 1e-2), (Wendland(1, length_scale=2.0), 1e-4)], ids=repr)
def test_where_tails_are_cut_the_error_says_so(kernel, rough):
    f, expected = expansion(kernel)
    result = fourier_norm(f)
    assert abs(result.squared - expected) <= result.error <= rough * expected


def test_by_sampling():
    f, expected = expansion(Laplacian(1.0), 2)
    result = fourier_norm(f, draws=40_000)
    assert result.method == "sampling" and abs(result.squared - expected) < 5 * result.error < 0.1 * expected
    assert fourier_norm(f, draws=1000) == fourier_norm(f, draws=1000)


def test_what_has_no_norm_is_refused():
    f, _ = expansion(Gaussian(1.0))
    with pytest.raises(CapabilityError, match="intercept"):
        fourier_norm(Expansion(f.kernel, f.samples, f.coef, np.array(1.0)))
    with pytest.raises(CapabilityError, match="several outputs"):
        fourier_norm(Expansion(f.kernel, f.samples, np.ones((6, 2)), np.zeros(2)))
    with pytest.raises(ParameterError, match="a function of frequencies"):
        fourier_norm(np.exp)
    with pytest.raises(DomainError, match=r"omega has shape \(3, 1\)"):
        fourier_transform([0.0, 1.0], [1.0, 1.0])(np.ones((3, 1)))
    with pytest.raises(CapabilityError, match="positive mass"):
        fourier_norm(np.exp, Periodic(1.0))
    with pytest.raises(ParameterError, match="equally spaced"):
        fourier_transform([0.0, 1.0, 3.0], [1.0, 1.0, 1.0])


# ---------------------------------------------------------------------------- functions that are no expansions


def bell(width):
    return np.exp(-0.5 * (X / width) ** 2)


@pytest.mark.parametrize("length", [0.5, 1.0, 1.3])
def test_a_bell_in_the_space_of_a_narrower_gaussian(length):
    # exp(-x^2 / 2 b^2) = int of k(., z) against a bell: ||f||^2 = b^2 / (l sqrt(2 b^2 - l^2)), by Fourier integrals
    b = 1.5
    exact = b * b / (length * math.sqrt(2 * b * b - length * length))
    result = fourier_norm(fourier_transform(X, bell(b)), Gaussian(length))
    assert result.squared == pytest.approx(exact, rel=1e-9)


def test_a_function_that_is_not_in_the_space():
    narrow = lambda w: np.exp(-0.5 * (0.5 * w) ** 2)  # noqa: E731  (of a bell narrower than the kernel's root)
    assert fourier_norm(narrow, Gaussian(2.0)).squared == np.inf
    kink = lambda w: np.sqrt(2 / np.pi) / (1 + w * w)  # noqa: E731  (of exp(-|x|), whose slope jumps)
    assert fourier_norm(kink, Exponential(1.0)).squared == pytest.approx(1.0, rel=1e-9)
    assert fourier_norm(kink, Matern(1.5)).squared == np.inf


@pytest.mark.parametrize("length", [0.6, 1.0, 2.0])
def test_the_exponential_kernel_is_a_sobolev_norm(length):
    f, slope = bell(1.2), -X / 1.2**2 * bell(1.2)
    expected = np.trapezoid(f**2, X) / (2 * length) + 0.5 * length * np.trapezoid(slope**2, X)
    assert fourier_norm(fourier_transform(X, f), Exponential(length)).squared == pytest.approx(expected, rel=1e-10)
    a = derivative_penalties(Exponential(length), 4)
    np.testing.assert_allclose(a, [0.5 / length, 0.5 * length, 0.0, 0.0], rtol=1e-14)


def derivatives(width, count):
    """Derivatives of a bell by Hermite polynomials."""
    return [(-1 / width) ** n * hermite_e.hermeval(X / width, np.eye(count)[n]) * bell(width) for n in range(count)]


@pytest.mark.parametrize(
    ("kernel", "count"),
    [(Gaussian(1.0), 40), (3.0 * Gaussian(0.7), 25), (Matern(1.5, 0.8), 4), (Matern(2.5), 5)],
    ids=repr,
)
def test_norms_are_sums_over_derivatives(kernel, count):
    width = 1.6
    a = derivative_penalties(kernel, count)
    total = sum(a[n] * np.trapezoid(d**2, X) for n, d in enumerate(derivatives(width, count)))
    assert fourier_norm(fourier_transform(X, bell(width)), kernel).squared == pytest.approx(total, rel=1e-9)


def test_penalties_of_the_gaussian_are_those_of_the_series():
    a = derivative_penalties(Gaussian(2.0), 6)
    n = np.arange(6)
    np.testing.assert_allclose(a * 2.0 * np.sqrt(2 * np.pi), 2.0 ** (2 * n) / ([math.factorial(i) for i in n] * 2.0**n))
    with pytest.raises(CapabilityError, match="power series"):
        derivative_penalties(Cauchy(1.0))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(2.5), BSpline(5)], ids=repr)
def test_kernels_are_greens_functions(kernel):
    at = [Expansion(kernel, Vectors.pack([[x]]), np.ones(1), np.array(0.0)) for x in (0.2, 1.0)]
    w = np.linspace(-400, 400, 400_001)[:, None]
    product = np.trapezoid(regularized(at[0], w) * regularized(at[1], w).conj(), w[:, 0])
    assert product == pytest.approx(kernel([[0.2]], [[1.0]])[0, 0], abs=1e-8)

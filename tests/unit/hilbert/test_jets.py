"""Kernels along lines, against closed forms and differences of their values."""

import mpmath
import numpy as np
import pytest

from mercer import kernels as K
from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.hilbert.jets import jet, require_smooth, short_step

rng = np.random.default_rng(0)
A, B = rng.uniform(0.2, 1.8, size=(4, 2)), rng.uniform(0.2, 1.8, size=(3, 2))
U, V = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
G, L = K.Gaussian(0.9), K.Linear()

KNOWN = [
    G,
    K.Gaussian((0.7, 1.9)),
    K.Matern(1.5),
    K.Matern(2.5, length_scale=(0.7, 1.9)),
    K.Matern(3.5),
    K.Matern(1.3),
    K.Matern(2.0),
    K.Matern(6.2),
    K.RationalQuadratic(0.7, length_scale=1.2),
    K.Cauchy(0.8),
    K.InverseMultiquadric(0.9),
    K.Multiquadric(0.9),
    K.Logarithmic(2.0, length_scale=0.7),
    K.NegativeDistance(2.0),
    K.Wendland(3, smoothness=1, length_scale=3.1),
    K.Wendland(3, smoothness=2, length_scale=3.1),
    L,
    K.Polynomial(1),
    K.Polynomial(3, offset=0.5, scale=0.7),
    K.Polynomial(2, offset=0.0),
    K.PowerSeries((1.0, 2.0, 0.5, 0.25)),
    K.ExponentialDot(1.5),
    K.Constant(2.0),
    G + L,
    G + 0.5 * L + 2.0,
    G * L,
    G * K.Matern(2.5) * (L + 1.0),
    (G + L) ** 3,
    (0.3 * L).exp(),
    G.exp(),
    L.polynomial((1.0, 0.0, 0.5)),
]
OTHERS = [
    K.Periodic(1.1, length_scale=0.9),
    K.BSpline(3, length_scale=1.1),
    K.BSpline(5),
    K.LinearSpline(),
    K.Anova(2),
    K.Anova(2, base=K.Gaussian(0.8)),
    K.AllSubsets(),
    K.ArcCosine(1),
    K.ArcCosine(2),
    K.ChiSquared(0.8),
    K.Tanimoto(),
    G + K.Anova(2),
    K.Mahalanobis(((2.0, 0.5), (0.5, 1.0))),
]


def bell(r):
    return np.exp(-0.5 * r * r)


def bell_slope(r):
    return -r * np.exp(-0.5 * r * r)


KNOWN.append(K.RadialFunction(bell, length_scale=0.9, derivative=bell_slope))
ROUGH = [
    K.NegativeDistance(),
    K.NegativeDistance(1.4),
    K.Exponential(0.6),
    K.Matern(0.5),
    K.Matern(1.0),
    K.Matern(0.8),
    K.Laplacian(1.7),
    K.Brownian(),
    K.Intersection(),
    K.BSpline(1),
    K.ArcCosine(0),
    K.Wendland(3, smoothness=0, length_scale=2.1),
    G + K.Laplacian(1.0),
    G * K.Exponential(1.0),
    K.Brownian().exp(),
]


def by_differences(kernel, h=7e-4):
    """Fourth-order differences of values: within about 1e-8, by rounding and, where values change fast, by the step."""
    stencil = ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0))
    left = sum(w * kernel(A + a * h * U, B) for a, w in stencil) / (12 * h)
    right = sum(w * kernel(A, B + a * h * V) for a, w in stencil) / (12 * h)
    mixed = sum(w * v * kernel(A + a * h * U, B + b * h * V) for a, w in stencil for b, v in stencil)
    return left, right, mixed / (12 * h) ** 2


@pytest.mark.parametrize("kernel", KNOWN + OTHERS, ids=repr)
def test_derivatives_are_differences_of_values(kernel):
    S, T = (kernel.prepare(kernel.pack(side)) for side in (A, B))
    found = jet(kernel, S, U, T, V)
    size = np.abs(kernel(A, B)).max() + 1.0
    assert np.allclose(found.value, kernel(A, B), rtol=1e-12)
    for got, expected in zip(found[1:], by_differences(kernel), strict=True):
        assert np.allclose(got, expected, rtol=1e-6, atol=1e-7 * size)
    require_smooth(kernel, S, U)


@pytest.mark.parametrize("kernel", KNOWN + OTHERS, ids=repr)
def test_the_form_of_all_values_and_derivatives_is_definite(kernel):
    """The matrix of inner products of representers of values and slopes is a Gram matrix."""
    S = kernel.prepare(kernel.pack(A))
    blocks = [jet(kernel, S, np.tile(u, (4, 1)), S, np.tile(v, (4, 1))) for u in np.eye(2) for v in np.eye(2)]
    if kernel.order:
        gram = np.block([[blocks[0].mixed, blocks[1].mixed], [blocks[2].mixed, blocks[3].mixed]])
    else:
        first, second = blocks[0], blocks[3]
        gram = np.block(
            [
                [first.value, first.right, second.right],
                [first.left, first.mixed, blocks[1].mixed],
                [second.left, blocks[2].mixed, second.mixed],
            ]
        )
    slack = (1e-3 if kernel == K.ArcCosine(1) else 1e-8) * np.abs(gram).max()
    assert np.allclose(gram, gram.T, rtol=0, atol=slack)
    assert np.linalg.eigvalsh(gram)[0] > -slack


@pytest.mark.parametrize("kernel", ROUGH, ids=repr)
def test_kernels_with_a_kink_are_refused(kernel):
    S = kernel.prepare(kernel.pack(A))
    with pytest.raises(CapabilityError, match=r"no second derivative at equal points"):
        require_smooth(kernel, S, U)


def test_the_gaussian_in_closed_form():
    found = jet(G, Vectors.pack(A), U, Vectors.pack(B), V)
    for i in range(4):
        for j in range(3):
            d = (A[i] - B[j]) / 0.81
            k = np.exp(-0.5 * 0.81 * d @ d)
            assert found.left[i, j] == pytest.approx(-k * d @ U[i], rel=1e-12)
            assert found.right[i, j] == pytest.approx(k * d @ V[j], rel=1e-12)
            assert found.mixed[i, j] == pytest.approx(k * (U[i] @ V[j] / 0.81 - (d @ U[i]) * (d @ V[j])), rel=1e-10)


@pytest.mark.parametrize("nu", [1.5, 2.5, 1.3, 4.7])
def test_the_matern_kernel_to_many_digits(nu):
    def k(x, z):
        s = mpmath.sqrt(2 * nu) * abs(x - z)
        return 2 ** (1 - mpmath.mpf(nu)) / mpmath.gamma(nu) * s**nu * mpmath.besselk(nu, s)

    one = np.ones((1, 1))
    with mpmath.workdps(40):
        for x, z in ((0.3, 1.1), (0.3, 0.35), (0.3, 4.0)):
            found = jet(K.Matern(nu), Vectors.pack([[x]]), one, Vectors.pack([[z]]), one)
            expected = float(mpmath.diff(k, (mpmath.mpf(x), mpmath.mpf(z)), (1, 1)))
            assert found.mixed[0, 0] == pytest.approx(expected, rel=1e-11, abs=1e-13)
            expected = float(mpmath.diff(k, (mpmath.mpf(x), mpmath.mpf(z)), (1, 0)))
            assert found.left[0, 0] == pytest.approx(expected, rel=1e-11, abs=1e-13)


def test_equal_points_have_the_limit():
    one = np.ones((1, 1))
    S = Vectors.pack([[0.7]])
    for kernel, expected in (
        (K.Gaussian(2.0), 0.25),
        (K.Matern(1.5), 3.0),  # nu / (nu - 1) / l^2
        (K.Matern(2.5, length_scale=2.0), 2.5 / 1.5 / 4.0),
        (K.RationalQuadratic(0.7), 1.0),
        (K.Cauchy(1.0), 2.0),
        (K.Periodic(1.0, length_scale=1.0), 4.0 * np.pi**2),
        (K.RadialFunction(bell, length_scale=2.0, derivative=bell_slope), 0.25),
    ):
        assert jet(kernel, S, one, S, one).mixed[0, 0] == pytest.approx(expected, rel=1e-8)


def test_what_is_not_asked_for_is_left_out():
    S, T = Vectors.pack(A), Vectors.pack(B)
    for kernel in (G, L, G * L + 2.0, G.exp(), K.Anova(2)):
        left, right = jet(kernel, S, U, T, None), jet(kernel, S, None, T, V)
        assert np.ndim(left.right) == np.ndim(left.mixed) == np.ndim(right.left) == np.ndim(right.mixed) == 0
        both = jet(kernel, S, U, T, V)
        assert np.allclose(left.left, both.left)
        assert np.allclose(right.right, both.right)


def test_steps_are_short_for_the_kernel():
    for length in (1e-6, 1.0, 1e6):
        tau = short_step(K.Gaussian(length), Vectors.pack([[0.5]]), np.ones(1))
        assert tau <= 0.011 * length
    assert short_step(K.Brownian(), Vectors.pack([[1e-9]]), -np.ones(1)) < 1e-9  # inside the domain


def test_samples_that_are_no_vectors_are_refused():
    with pytest.raises(CapabilityError, match="only functions of vectors"):
        require_smooth(K.Spectrum(2), K.Spectrum(2).pack(["ab"]), np.ones((1, 1)))
    with pytest.raises(CapabilityError, match="has no derivative"):
        require_smooth(K.RadialFunction(np.exp), Vectors.pack(A), U)

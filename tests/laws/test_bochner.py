"""Bochner's theorem on every stationary kernel: densities are positive, have mass k(0), and give the kernel back.

A kernel that lists a sampler (`frequencies`), a density or atoms enters by its row in KERNELS; a kernel without a row
that is stationary and positive definite enters by some member (see `mercer.testing.members`).
"""

import inspect

import numpy as np
import pytest
from scipy import stats

import mercer.kernels as K
from mercer.hilbert.bochner import bochner_test, spectral_measure
from mercer.kernels import Kernel
from mercer.numerics.hankel import radial_transform
from mercer.testing.members import member

DRAWS = 20_000


def bell(r):
    return np.exp(-0.5 * r * r)


def normal(w):
    return np.exp(-0.5 * w * w) / np.sqrt(2.0 * np.pi)


KERNELS = {
    "Gaussian": [K.Gaussian(1.3), K.Gaussian((0.7,))],
    "Matern": [K.Matern(0.5), K.Matern(1.5, 0.7), K.Matern(0.8), K.Matern(90.5)],
    "Exponential": [K.Exponential(0.6)],
    "Laplacian": [K.Laplacian(1.7)],
    "RationalQuadratic": [K.RationalQuadratic(0.7, 1.2), K.RationalQuadratic(0.5), K.RationalQuadratic(120.0)],
    "Cauchy": [K.Cauchy(0.8)],
    "InverseMultiquadric": [K.InverseMultiquadric(0.9)],
    "Wendland": [K.Wendland(3, smoothness=k, length_scale=2.1) for k in (0, 1, 2, 3)],
    "RadialFunction": [K.RadialFunction(bell, length_scale=0.9)],
    "Periodic": [K.Periodic(1.1, 0.9), K.Periodic(3.0, 0.3)],
    "BSpline": [K.BSpline(1, 0.9), K.BSpline(3), K.BSpline(7, 0.5)],
    "Constant": [K.Constant(2.5)],
    "SpectralMixture": [K.SpectralMixture((1.0, 0.5), (0.7, 3.0), (1.0, 0.3))],
    "SpectralSamples": [K.SpectralSamples(((0.5,), (2.0,)), (1.0, 3.0))],
    "SpectralDensity": [K.SpectralDensity(normal)],
    "Scaled": [3.0 * K.Gaussian(1.0), 0.5 * (K.Matern(0.5) + 1.0)],
    "Sum": [K.Gaussian(1.0) + 2.0 * K.Matern(1.5), K.Periodic(2.0) + K.Gaussian(2.0) + 0.5],
    "Product": [K.Gaussian(2.0) * K.Periodic(1.5), K.Gaussian(1.0) * K.Matern(0.5)],
    "Power": [K.Matern(1.5) ** 2],
    "Exp": [K.Gaussian(1.0).exp()],
    "PolynomialOf": [K.Gaussian(1.0).polynomial((0.5, 0.0, 2.0))],
    "Normalized": [K.BSpline(3).normalized(), (2.0 * K.Gaussian(1.0)).normalized()],
}


def _by_themselves() -> dict[str, list[Kernel]]:
    """Stationary kernels that are not in the table; conditionally definite ones have no finite measure."""
    classes = {name: getattr(K, name) for name in K.__all__ if name not in KERNELS}
    stationary = {
        name: cls
        for name, cls in classes.items()
        if not inspect.isabstract(cls) and inspect.getattr_static(cls, "stationary", False) is True
    }
    return {name: [made] for name, cls in stationary.items() if (made := member(cls)) is not None and made.order == 0}


KERNELS |= _by_themselves()
CASES = [(name, kernel) for name, kernels in KERNELS.items() for kernel in kernels]
LEAVES = [kernel for _, kernel in CASES if "spectral_density" in kernel.capabilities]
EACH = pytest.mark.parametrize(("name", "kernel"), CASES, ids=lambda case: repr(case)[:40])


def at(kernel: Kernel, t: np.ndarray) -> np.ndarray:
    return np.asarray(kernel(np.zeros((1, t.shape[1])), t), dtype=float)[0]


@EACH
def test_the_measure_gives_the_kernel_back(name, kernel):
    measure = spectral_measure(kernel)
    t = np.random.default_rng(0).normal(size=(20, 1)) * 2.0
    np.testing.assert_allclose(measure(t), at(kernel, t), atol=1e-12 * measure.mass)
    assert measure.mass == pytest.approx(float(kernel.diag(kernel.pack([[0.0]]))[0]), rel=1e-12)


@EACH
def test_waves_of_drawn_frequencies_average_to_the_kernel(name, kernel):
    measure = spectral_measure(kernel)
    t = np.linspace(0.1, 3.0, 7)[:, None]
    waves = np.cos(measure.sample(np.random.default_rng(1), DRAWS) @ t.T)
    off = np.abs(measure.mass * waves.mean(axis=0) - at(kernel, t))
    assert np.all(off <= 5.0 * measure.mass * waves.std(axis=0) / np.sqrt(DRAWS) + 1e-3 * measure.mass)


@EACH
def test_densities_are_positive(name, kernel):
    measure = spectral_measure(kernel)
    omega = np.concatenate([np.geomspace(1e-3, 1.0, 20), np.linspace(1.0, 40.0, 60)])[:, None]
    assert measure.density(omega).min() >= -8.0 * measure.error
    assert np.all(measure.atoms[1] > 0.0)
    assert bochner_test(kernel).positive


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("kernel", [k for k in LEAVES if isinstance(k, K.Gaussian | K.Matern | K.RationalQuadratic
                                    | K.Cauchy | K.InverseMultiquadric | K.Wendland)], ids=repr)  # fmt: skip
def test_densities_of_the_distance_are_the_transform(kernel, d):
    if np.ndim(kernel.length_scale) and d > 1:
        return
    size = np.concatenate([[0.05], np.linspace(0.2, 8.0, 20)])
    turn = np.random.default_rng(2).normal(size=d)
    omega = size[:, None] * turn / np.linalg.norm(turn)
    length = float(np.max(kernel.length_scale))
    values, error = radial_transform(lambda r: at(kernel, r[:, None]), size, d, scale=length)
    allowed = 1e-12 * np.abs(values).max() + 2.0 * error
    np.testing.assert_allclose(kernel.spectral_density(omega), values, atol=allowed)


@pytest.mark.parametrize("kernel", [k for k in LEAVES if "frequencies" in k.capabilities], ids=repr)
def test_samplers_draw_from_the_density(kernel):
    """Kolmogorov and Smirnov's test of the sampler against the integrated density."""
    omega = np.sort(np.abs(kernel.frequencies(np.random.default_rng(3), 4000, 1)[:, 0]))
    grid = np.concatenate([[0.0], np.geomspace(1e-8 * omega[2000], 30.0 * omega[2000], 20_001)])
    v = 2.0 * kernel.spectral_density(np.maximum(grid, grid[1])[:, None])
    below = np.concatenate([[0.0], np.cumsum(np.diff(grid) * 0.5 * (v[1:] + v[:-1]))])
    below /= float(kernel.diag(kernel.pack([[0.0]]))[0])
    inside = omega[omega < grid[-1]]
    result = stats.kstest(inside, lambda w: np.interp(w, grid, below) / below[-1])
    assert result.pvalue > 1e-4
    assert len(inside) / 4000 == pytest.approx(below[-1], abs=0.02)


@pytest.mark.parametrize("d", [2, 3])
def test_products_over_columns(d):
    rng = np.random.default_rng(4)
    t, scales = rng.normal(size=(6, d)), tuple(rng.uniform(0.5, 2.0, d))
    for kernel in (K.Laplacian(scales), K.BSpline(3, scales), K.Gaussian(scales), K.Matern(1.5, scales)):
        measure = spectral_measure(kernel, d)
        waves = np.cos(measure.sample(rng, DRAWS) @ t.T) * measure.mass
        assert np.all(np.abs(waves.mean(axis=0) - at(kernel, t)) <= 5 * waves.std(axis=0) / np.sqrt(DRAWS))
        omega = rng.normal(size=(5, d))
        if isinstance(kernel, K.Laplacian | K.BSpline):
            single = [kernel.replace(length_scale=(s,)).spectral_density(omega[:, [j]]) for j, s in enumerate(scales)]
            np.testing.assert_allclose(measure.density(omega), np.prod(single, axis=0), rtol=1e-12)
        else:
            rescaled = kernel.replace(length_scale=1.0).spectral_density(omega * scales) * np.prod(scales)
            np.testing.assert_allclose(measure.density(omega), rescaled, rtol=1e-12)


@pytest.mark.parametrize(("name", "kernel"), [("Epanechnikov", K.Epanechnikov(1.5))])
def test_functions_that_are_no_kernels_have_negative_densities(name, kernel):
    assert all(not bochner_test(kernel, d).positive for d in (1, 2, 3))

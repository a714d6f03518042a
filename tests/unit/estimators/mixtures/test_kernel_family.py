"""Families of kernels: names, scales learned from training samples, and how their Grams are held."""

import warnings

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import DegenerateWarning
from mercer.estimators.mixtures.kernel_family import build, chosen_spec, combined, family_of, plan_of
from mercer.gram import Dense, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, Polynomial

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3)) + 1.0
S, W = Vectors.pack(X), rng.integers(1, 4, size=30).astype(float)
KERNELS = {"line": Linear(), "curve": Polynomial(2), "near": Gaussian(1.0)}


def test_names_are_those_given_or_the_kernels():
    assert family_of(KERNELS).names == ("line", "curve", "near")
    assert family_of([Linear(), Gaussian(1.0), Linear()]).names == ("Linear()", "Gaussian(1.0)", "Linear(), 2")
    assert family_of(None) is None


@pytest.mark.parametrize("gram", [Dense(), Tiles(), Nystrom(30, random_state=0)], ids=repr)
def test_scales_make_means_and_variances_one(gram):
    share = W / W.sum()
    for by in ("trace", "variance"):
        built = build(family_of(KERNELS), S, W, by, gram, Resources())
        for kernel, one, scale in zip(built.family.kernels, built.grams, built.scales, strict=True):
            K = kernel(X)
            size = share @ np.diagonal(K) - (share @ K @ share if by == "variance" else 0.0)
            assert np.isclose(size, 1.0, rtol=1e-6) and scale > 0.0
            assert np.allclose(one @ share, K @ share, rtol=1e-4, atol=1e-6)  # so does what solvers see


def test_unequal_scales_are_warned_of_and_equal_ones_not():
    with pytest.warns(DegenerateWarning, match=r"k\(x, x\) is 1 on average for near.*normalization='trace'"):
        build(family_of({"near": Gaussian(1.0), "far": 100.0 * Gaussian(2.0)}), S, W, None, None, Resources())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(family_of([Gaussian(1.0), 100.0 * Gaussian(2.0)]), S, W, "trace", None, Resources())
        build(family_of([Gaussian(1.0), 5.0 * Gaussian(2.0)]), S, W, None, None, Resources())


def test_a_kernel_of_zeros_keeps_its_scale():
    built = build(family_of([Gaussian(1.0), 0.0 * Gaussian(1.0)]), S, W, "trace", None, Resources())
    assert np.allclose(built.scales, 1.0) and not built.grams[1].array.any()


def test_the_budget_decides_how_they_are_held():
    n, m = 1000, 10
    assert chosen_spec(None, m, n, 3 * 8 * m * n * n) == (Dense(), False)
    assert chosen_spec(None, m, n, 7 * m * n * n) == (Dense(), True)
    assert chosen_spec(None, m, n, m * n * n) == (Tiles(), False)
    assert chosen_spec(Nystrom(5), m, n, None) == (Nystrom(5), False)
    assert plan_of(m, n, 2, None, 7 * m * n * n, Linear()).buffers["10 Gram matrices"] == 4 * m * n * n


def test_matrices_in_float32_are_the_same_up_to_rounding():
    n, memory = 200, (4 * 3 + 21) * 200 * 200
    big = Vectors.pack(rng.normal(size=(n, 3)))
    assert chosen_spec(None, 3, n, memory) == (Dense(), True)
    built = build(family_of(KERNELS), big, np.ones(n), "trace", None, Resources(memory))
    for kernel, gram in zip(built.family.kernels, built.grams, strict=True):
        assert gram.array.dtype == np.float32
        assert np.allclose(gram.array, kernel(big.X), rtol=1e-6, atol=1e-6)


def test_the_weighted_sum_is_an_ordinary_kernel():
    family = family_of(KERNELS)
    kernel = combined(family, np.array([0.5, 0.0, 2.0]))
    assert np.allclose(kernel(X), 0.5 * Linear()(X) + 2.0 * Gaussian(1.0)(X))
    assert combined(family, np.array([0.0, 0.0, 2.0])) == 2.0 * Gaussian(1.0)

"""The laws of a Hilbert space on elements of every kernel of the package, on data that Hypothesis looks for.

Functions made of samples, of features, of derivatives; and what the seeds say of them that can be computed.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.domains import Similarities, Vectors
from mercer.errors import CapabilityError, DegenerateWarning, DomainError
from mercer.gram import Expansion
from mercer.hilbert.derivatives import derivative_representer, gradient
from mercer.hilbert.elements import mean_element, representer
from mercer.hilbert.projections import moments, project
from mercer.testing.expansions import check_expansion
from tests.laws.test_kernels import ENTRIES

EACH = max(3, settings.default.max_examples // 8)
SMOOTH = {  # classes with a member whose functions have derivatives, to notice one that loses them
    "Gaussian", "Matern", "RationalQuadratic", "Cauchy", "InverseMultiquadric", "Multiquadric", "Wendland",
    "Periodic", "BSpline", "Linear", "Polynomial", "PowerSeries", "ExponentialDot", "Anova", "AllSubsets",
    "Constant", "Sum", "Product", "Scaled", "Power", "Exp", "PolynomialOf", "Mahalanobis", "ChiSquared",
    "Tanimoto", "LinearSpline", "Gaussian per column", "Matern per column",
}  # fmt: skip


def learned(kernel, X):
    packed = kernel.pack(X)
    kernel = kernel.learn(packed)
    return kernel, kernel.prepare(packed)


def element(kernel, S, seed, k=None):
    rng = np.random.default_rng(seed)
    c = np.round(rng.normal(size=len(S) if k is None else (len(S), k)) * 16.0) / 4.0
    if kernel.order:
        P = np.ones((len(S), 1))
        if kernel.order == 2 and isinstance(S, Vectors):
            P = np.column_stack([P, S.X])
        Q = np.linalg.qr(P)[0]
        c = c - Q @ (Q.T @ c)
        c = np.where(np.abs(c) > 1e-12, c, 0.0)
    return Expansion(kernel, S, c, np.asarray(0.75) if k is None else np.full(k, 0.75))


@pytest.mark.parametrize("name", ENTRIES)
def test_elements_obey_the_laws_of_a_hilbert_space(name):
    entry = ENTRIES[name]

    @settings(max_examples=EACH)
    @given(
        kernel=st.sampled_from(entry.kernels),
        X=entry.data.drawn,
        seed=st.integers(0, 2**20),
        k=st.sampled_from([None, 2]),
    )
    def holds(kernel, X, seed, k):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateWarning)
            kernel, S = learned(kernel, X)
            f = element(kernel, S, seed, k)
            check_expansion(f, S)
            if kernel.order != 0:
                return
            mean = mean_element(kernel, S)
            size = np.abs(kernel(S)).max(initial=1.0) * max(1.0, float(np.abs(f.coef).sum()))
            assert np.allclose(f.inner(mean), moments(f.without_intercept(), S).mean, rtol=0, atol=1e-11 * size)
            if "features" in kernel.capabilities:  # primal and dual forms are one function
                primal = f.to_features()
                assert np.allclose(primal(S), f(S), rtol=0, atol=1e-11 * size)
                squares = [np.asarray(g.norm()) ** 2 for g in (primal, f)]
                assert np.allclose(squares[0], squares[1], rtol=0, atol=1e-11 * size * max(1.0, np.abs(f.coef).sum()))
                check_expansion(primal, S)

    holds()


@pytest.mark.parametrize("name", ENTRIES)
def test_representers_of_derivatives_are_elements_or_refused(name):
    """<f, k'> = f'(x), within |f| |k'|; a class of smooth kernels must have a member that allows it."""
    entry, some = ENTRIES[name], False
    for given_kernel in entry.kernels:
        kernel, S = learned(given_kernel, entry.data.sample)
        if kernel.order is None or not isinstance(S, Vectors) or "pullback_inputs" not in kernel.capabilities:
            continue
        f = element(kernel, S, 3)
        for i in range(min(2, len(S))):
            try:
                slope = derivative_representer(kernel, S[i], 0)
            except (CapabilityError, DomainError):
                continue
            some = True
            expected = gradient(f, S[i])[0, 0]
            size = np.abs(f.coef).sum() * max(1.0, slope.norm()) * np.sqrt(np.abs(kernel(S)).max())
            assert f.inner(slope) == pytest.approx(expected, abs=1e-9 * size)
            assert abs(expected) <= f.norm() * slope.norm() + 1e-6 * size
            if not kernel.order and i == 0:
                check_expansion(f + slope, S[:3], laws=["reproduction"])
    assert some or name not in SMOOTH


@pytest.mark.parametrize("name", ENTRIES)
def test_projections_keep_values_and_lengths(name):
    """What is left after a projection on samples vanishes there, and squares of lengths add up."""
    entry = ENTRIES[name]
    for given_kernel in entry.kernels:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateWarning)
            kernel, S = learned(given_kernel, entry.data.sample)
            if kernel.order != 0 or isinstance(S, Similarities):
                continue
            f, half = element(kernel, S, 5), S[: max(1, len(S) // 2)]
            found = project(f, half)
            size = max(1.0, np.abs(kernel(S)).max()) * max(1.0, np.abs(f.coef).sum()) ** 2
            assert np.allclose(found.element(half), f(half) - 0.75, atol=1e-7 * size)
            pythagoras = found.element.norm() ** 2 + found.residual**2
            assert pythagoras == pytest.approx(f.norm() ** 2, abs=1e-6 * size)
            own = project(f, S)
            assert own.residual**2 <= 1e-6 * size
            one = representer(kernel, S[:1])
            line = project(f, one)
            assert abs((f - line.element).inner(one)) <= 1e-9 * size

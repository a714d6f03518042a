"""What Mercer's theorem, projections and duality say, on every public kernel and on data that Hypothesis looks for.

Sizes: errors are compared with sqrt(k(x, x) k(z, z)) of the kernel that is expanded or divided.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import LSSVC, SVC, KernelLogisticRegression, KernelRidge
from mercer.errors import DegenerateWarning
from mercer.gram import Dense, Expansion, Features
from mercer.hilbert.measures import Sampled
from mercer.hilbert.mercer_expansion import mercer_expansion
from mercer.kernels import (
    AllSubsets,
    Anova,
    Complement,
    Linear,
    LocalityImproved,
    Mahalanobis,
    Normalized,
    Polynomial,
    Precomputed,
    Spectrum,
    Subspace,
)
from tests.laws.test_kernels import ENTRIES

DEFINITE = [
    name
    for name, entry in ENTRIES.items()
    if all(kernel.order == 0 and not isinstance(kernel, Precomputed) for kernel in entry.kernels)
]
EXAMPLES = max(3, settings.default.max_examples // 8)


@pytest.fixture(autouse=True)
def _zero_samples_are_no_news():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        yield


def learned(kernel, X):
    S = kernel.pack(X)
    kernel = kernel.learn(S)
    S = kernel.prepare(S)
    return kernel, S, np.array(kernel.block(S, S), dtype=float)


def test_most_kernels_are_there():
    assert len(DEFINITE) > 40


@pytest.mark.parametrize("name", DEFINITE)
def test_mercer(name):
    entry = ENTRIES[name]

    @settings(max_examples=EXAMPLES)
    @given(kernel=st.sampled_from(entry.kernels), X=entry.data.drawn, seed=st.integers(0, 99))
    def holds(kernel, X, seed):
        kernel, S, K = learned(kernel, X)
        n, top = len(S), max(float(np.abs(K).max()), 1e-300)
        weight = np.random.default_rng(seed).integers(0, 3, size=n) + np.eye(n)[seed % n]
        expansion = mercer_expansion(kernel, Sampled(S, weight))
        used = np.flatnonzero(weight)
        share = weight[used] / weight.sum()
        mu = expansion.eigenvalues
        # (102) the sum is the kernel where the measure is, and the eigenvalues sum to the integral of k(x, x)
        close(expansion.kernel_values(S.take(used)), K[np.ix_(used, used)], 1e-8 * top)
        close(mu.sum() + expansion.tail, share @ np.diagonal(K)[used], 1e-11 * top)
        assert (mu > 0.0).all() and (np.diff(mu) <= 1e-14 * top).all()
        # (103) the integral equation and (104) orthonormality, as exact as mu_i stands above rounding
        solid = mu > 1e-5 * top
        E = expansion.eigenfunctions(S.take(used))[:, solid]
        close((share[:, None] * E).T @ E, np.eye(E.shape[1]), 1e-8)
        image = K[np.ix_(used, used)] @ (share[:, None] * E)
        assert np.abs(image - E * mu[solid]).max(initial=0.0) <= 1e-8 * top * max(1.0, np.abs(E).max(initial=0.0))
        # (108)-(110) the norm of a function of the space is that of its coefficients in the map
        a = np.where(weight > 0, np.random.default_rng(seed).normal(size=n), 0.0)
        f = Expansion(kernel, S, a, np.array(0.0))
        close(expansion.norm(f) ** 2, a @ K @ a, 1e-7 * top * max(1.0, a @ a))

    holds()


@pytest.mark.parametrize("name", DEFINITE)
def test_subspaces(name):
    entry = ENTRIES[name]

    @settings(max_examples=EXAMPLES)
    @given(kernel=st.sampled_from(entry.kernels), X=entry.data.drawn, seed=st.integers(0, 99))
    def holds(kernel, X, seed):
        kernel, S, K = learned(kernel, X)
        rng = np.random.default_rng(seed)
        chosen = rng.integers(0, len(S), size=1 + seed % len(S))  # some of them twice
        Z = S.take(chosen)
        span, rest = Subspace(kernel, Z), Complement(kernel, Z)
        M, R = span(S), rest(S)
        root = np.sqrt(np.diagonal(K))
        size = np.maximum(np.outer(root, root), 1e-300)
        top = max(float(np.abs(K).max()), 1e-300)
        # k = k_m + k_perp, but for samples whose distance r(x, x) is lost in rounding, which count as in the subspace:
        # there |r(x, x')|^2 <= r(x, x) r(x', x')
        lost = np.sqrt(np.diagonal(R) + 2.0 * rest._rounding(np.diagonal(K), rest._map(S)))
        inside = np.diagonal(R) == 0.0
        allowed = 1e-6 * top + np.where(inside[:, None] | inside, np.outer(lost, lost), 0.0)
        assert (np.abs(M + R - K) <= allowed).all()
        # k_m is k wherever one of the points is
        assert (np.abs(M[chosen] - K[chosen]) <= 1e-6 * top).all()
        assert not R[chosen].any() and not R[:, chosen].any()
        # both are positive semi-definite, and neither is larger than k
        for part in (M, R):
            assert np.linalg.eigvalsh(part)[0] >= -1e-6 * top
            assert (np.diagonal(part) >= 0.0).all()
            assert (np.abs(part) <= size * (1.0 + 1e-6) + 1e-6 * top).all()
        # the features of the subspace are the kernel PCA map
        F, _ = span.features(S)
        assert F.shape == (len(S), len(chosen))
        assert (np.abs(F @ F.T - M) <= 1e-12 * top).all()
        # with all samples as points nothing is left
        assert np.abs(Subspace(kernel, S)(S) - K).max() <= 1e-6 * top
        assert not Complement(kernel, S)(S).any()

    holds()


def close(got, expected, error):
    assert np.abs(np.asarray(got) - expected).max(initial=0.0) <= error


# the primal and the dual -------------------------------------------------------------------------------

rng = np.random.default_rng(0)
X = rng.uniform(-1.0, 1.0, size=(60, 3))
NEW = rng.uniform(-1.0, 1.0, size=(25, 3))
TEXTS = ["".join(rng.choice(list("ab"), size=rng.integers(2, 9))) for _ in range(60)]
NEW_TEXTS = ["".join(rng.choice(list("abc"), size=rng.integers(1, 9))) for _ in range(25)]
EXPLICIT = {
    "linear": (Linear(), X, NEW),
    "polynomial": (Polynomial(3, offset=0.5), X, NEW),
    "homogeneous": (Polynomial(2, offset=0.0), X, NEW),
    "ANOVA": (Anova(2), X, NEW),
    "all subsets": (AllSubsets(), X, NEW),
    "Mahalanobis": (Mahalanobis(np.diag([1.0, 2.0, 0.5])), X, NEW),
    "locality-improved": (LocalityImproved(1, degree=2, offset=0.3), X, NEW),
    "normalised": (Normalized(Polynomial(2)), X, NEW),
    "sum and product": (Linear() * Polynomial(2) + 0.5 * AllSubsets(), X, NEW),
    "subspace": (Subspace(Polynomial(2), NEW[:4]), X, NEW),
    "spectrum": (Spectrum(2), TEXTS, NEW_TEXTS),
    "sparse": (Polynomial(2), sp.csr_array(np.where(np.abs(X) > 0.4, X, 0.0)), sp.csr_array(NEW)),
}
MACHINES = {
    "ridge": (lambda gram, k: KernelRidge(k, alpha=0.2, gram=gram), 1e-8),
    "least-squares SVM": (lambda gram, k: LSSVC(k, C=2.0, gram=gram), 1e-8),
    "SVM": (lambda gram, k: SVC(k, C=0.7, tol=1e-9, gram=gram), 1e-5),
    "logistic": (lambda gram, k: KernelLogisticRegression(k, C=0.7, tol=1e-9, gram=gram), 1e-6),
}


@pytest.mark.parametrize("case", EXPLICIT)
def test_explicit_features_have_the_kernel_as_their_inner_product(case):
    kernel, data, new = EXPLICIT[case]
    S, T = kernel.prepare(kernel.pack(data)), kernel.prepare(kernel.pack(new))
    F, keys = kernel.features(S)
    G, _ = kernel.features(T, keys)
    own = np.sqrt(np.multiply.outer(kernel.diag(T), kernel.diag(S)))
    product = G @ F.T
    product = product.toarray() if sp.issparse(product) else product
    assert (np.abs(product - kernel.block(T, S)) <= 1e-12 * own + 1e-300).all()


@pytest.mark.parametrize("case", EXPLICIT)
@pytest.mark.parametrize("machine", MACHINES)
def test_primal_and_dual_give_the_same_function(machine, case):
    make, tol = MACHINES[machine]
    kernel, data, new = EXPLICIT[case]
    score = (
        np.array([len(set(t)) + t.count("ab") for t in TEXTS], float) if case == "spectrum" else X[:, 0] - X[:, 1] ** 2
    )
    y = score if machine == "ridge" else (score > np.median(score)).astype(int)
    dual, primal = (make(gram, kernel).fit(data, y) for gram in (Dense(), Features()))
    outputs = [m.predict(new) if machine == "ridge" else m.decision_function(new) for m in (dual, primal)]
    assert np.allclose(*outputs, rtol=0, atol=tol * max(1.0, np.abs(outputs[0]).max()))


@pytest.mark.parametrize("case", ["polynomial", "spectrum"])
def test_the_weights_of_the_primal_are_the_sum_over_the_dual(case):
    kernel, data, _ = EXPLICIT[case]
    y = np.arange(60) % 7 - 3.0
    dual = KernelRidge(kernel, alpha=0.2, gram=Dense()).fit(data, y)
    primal = KernelRidge(kernel, alpha=0.2, gram=Features()).fit(data, y)
    F, _ = kernel.features(kernel.prepare(kernel.pack(data)), primal.expansion_.keys)
    assert np.allclose(primal.expansion_.weights, np.asarray(F.T @ dual.dual_coef_), atol=1e-8)

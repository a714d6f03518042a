"""A learned kernel is a kernel, is the function that was fitted, and is better than what it was made of."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import SVC
from mercer.errors import ParameterError, TargetError
from mercer.hilbert.kernel_learning import learned_kernel
from mercer.kernels import Gaussian, Hyperkernel, Linear, Spectrum


def board(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.where(np.sin(3 * X[:, 0]) * np.sin(3 * X[:, 1]) > 0, "black", "white")


def column(j):
    def pick(X):
        return np.asarray(X)[:, [j]]

    return pick


def test_it_is_better_than_the_kernel_it_is_made_of():
    (X, y), (new, truth) = board(200, 0), board(500, 1)
    base = Gaussian(1.5)
    found = learned_kernel(Hyperkernel(base, decay=0.95), X, y)
    before = SVC(base, C=10.0).fit(X, y).score(new, truth)
    after = SVC(found.kernel.normalized(), C=10.0).fit(X, y).score(new, truth)
    assert after > before + 0.15


def test_columns_that_matter_are_found():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(150, 4)), rng.normal(size=(500, 4))
    y, truth = X[:, 2] ** 2 > 0.5, new[:, 2] ** 2 > 0.5
    found = learned_kernel([Hyperkernel(Gaussian(1.0).of(column(j)), decay=0.9) for j in range(4)], X, y)
    norms = [element.norm() for element in found.elements]
    assert np.argmax(norms) == 2 and norms[2] > 2 * max(norms[0], norms[1], norms[3])
    np.testing.assert_allclose(np.sqrt(np.sum(np.square(norms))), found.norm)
    assert SVC(found.kernel).fit(X, y).score(new, truth) > SVC(Gaussian(1.0)).fit(X, y).score(new, truth) + 0.05


@pytest.mark.parametrize("decay", [0.3, 0.9])
def test_the_kernel_is_the_element_of_the_hyper_space(decay):
    X, y = board(40, 2)
    found = learned_kernel(Hyperkernel(Gaussian(1.0), decay=decay), X, y)
    K = found.kernel(X)
    pairs = [(X[i], X[j]) for i in range(6) for j in range(6)]
    np.testing.assert_allclose(found.elements[0](pairs), K[:6, :6].ravel(), atol=1e-9)
    assert (found.elements[0].coef >= 0).all() and found.kernel.order == 0 and found.kernel.strict
    assert np.linalg.eigvalsh(K)[0] > -1e-12


def test_the_coefficients_are_those_of_the_constrained_problem():
    X, y = board(15, 3)
    alpha, h = 0.01, Hyperkernel(Gaussian(1.0), decay=0.8)
    found = learned_kernel(h, X, y, alpha=alpha, anchors=4)
    i, j = np.triu_indices(15, 1)
    t = (y[i] == y[j]).astype(float)
    at = found.elements[0].samples
    A = h.block(h.prepare(h.pack([(X[a], X[b]) for a, b in zip(i, j, strict=True)])), at)
    B = h.block(at, at)

    def objective(c):
        return np.mean((t - A @ c) ** 2) + alpha * c @ B @ c

    def slope(c):
        return -2 * A.T @ (t - A @ c) / len(t) + 2 * alpha * B @ c

    best = minimize(objective, np.ones(len(at)), jac=slope, bounds=[(0, None)] * len(at), tol=1e-14)
    assert objective(found.elements[0].coef) <= best.fun + 1e-9
    np.testing.assert_allclose(found.error, np.sqrt(np.mean((t - A @ found.elements[0].coef) ** 2)))


def test_strings_and_random_pairs():
    words = ["abab", "baba", "ababab", "ccdd", "ddcc", "cdcd"]
    found = learned_kernel(Hyperkernel(Spectrum(1).normalized()), words, [0, 0, 0, 1, 1, 1])
    K = found.kernel(words)
    assert K[:3, :3].min() > K[:3, 3:].max()
    X, y = board(400, 4)
    one, two = (learned_kernel(Hyperkernel(Gaussian(1.0)), X, y, random_state=5) for _ in range(2))
    assert one.kernel == two.kernel
    assert len(learned_kernel(Hyperkernel(Gaussian(1.0)), X, y, anchors=7).elements[0].coef) <= 7


def test_what_is_wrong_is_refused():
    X, y = board(10, 0)
    h = Hyperkernel(Gaussian(1.0))
    for given in ([], Gaussian(1.0) and [Gaussian(1.0)]):
        with pytest.raises(ParameterError, match="a Hyperkernel or several"):
            learned_kernel(given, X, y)
    for options in ({"alpha": 0.0}, {"anchors": 0}):
        with pytest.raises(ParameterError, match=r"(alpha|anchors) must be"):
            learned_kernel(h, X, y, **options)
    with pytest.raises(ParameterError, match="normalized"):
        learned_kernel(Hyperkernel(Linear()), X, y)
    for labels in (y[:5], np.zeros(10)):
        with pytest.raises(TargetError, match=r"one for each is needed|Two classes"):
            learned_kernel(h, X, labels)
    with pytest.raises(TargetError, match="not negative"):
        learned_kernel(h, X, np.arange(10))
    with pytest.raises(TargetError, match="all similarities"):
        learned_kernel(Hyperkernel(Linear().normalized()), [[1.0], [-1.0]], [0, 1])

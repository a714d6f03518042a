"""Kernels of tensors and of cumulants beside projectors and tensors that are written out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.errors import DomainError, ParameterError
from mercer.kernels.sets.tensor_subspaces import Cumulant, Grassmann, cumulants
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 3, 4, 5))
X[4] = 0.0
SIGNALS = [RNG.normal(size=(length, 3)) ** 3 for length in (1, 2, 9, 30, 80)]


def projector(matrix, rank=None):
    """On the span of the leading right singular vectors."""
    _, values, V = np.linalg.svd(matrix, full_matrices=False)
    V = V[values > 1e-12 * max(values[0], 1e-300)][:rank]
    return V.T @ V


def unfolded(tensor, mode):
    """The matrix of a tensor with entry (i, columns of all others), entry by entry."""
    others = [range(side) for axis, side in enumerate(tensor.shape) if axis != mode]
    out = np.empty((tensor.shape[mode], np.prod([len(r) for r in others])))
    for column, place in enumerate(product(*others)):
        for i in range(tensor.shape[mode]):
            out[i, column] = tensor[(*place[:mode], i, *place[mode:])]
    return out


def naive_grassmann(A, B, length, rank=None, modes=(0, 1, 2)):
    squares = np.zeros((len(A), len(B)))
    for i, x in enumerate(A):
        for j, y in enumerate(B):
            for mode in modes:
                P, Q = (projector(unfolded(z, mode), rank) for z in (x, y))
                squares[i, j] += ((P - Q) ** 2).sum()
    return np.exp(-squares / (2.0 * length**2))


@pytest.mark.parametrize(("rank", "modes"), [(None, None), (1, None), (2, (0, 2)), (40, (1,))])
def test_projectors_of_unfoldings(rank, modes):
    kernel = Grassmann(1.7, rank, modes)
    expected = naive_grassmann(X, X[:4], 1.7, rank, modes or (0, 1, 2))
    np.testing.assert_allclose(kernel(X, X[:4]), expected, atol=1e-13)
    np.testing.assert_allclose(kernel(X)[:, :4], expected, atol=1e-13)


def test_matrices_have_row_and_column_spaces():
    A = RNG.normal(size=(4, 2, 6)), RNG.normal(size=(4, 6, 2))
    M = A[1] @ A[0]  # 6 x 6 of rank two
    row, column = (np.array([np.linalg.pinv(m) @ m for m in side]) for side in (M, M.transpose(0, 2, 1)))
    for mode, P in enumerate((row, column)):
        squares = ((P[:, None] - P) ** 2).sum(axis=(2, 3))
        np.testing.assert_allclose(Grassmann(1.0, modes=(mode,))(M), np.exp(-squares / 2.0), atol=1e-12)


def test_tensors_of_the_same_parts_are_the_same():
    atoms = RNG.normal(size=(2, 3, 2, 4))  # two sets of atoms: axis, atom, entry
    weights = RNG.normal(size=(8, 2)) + 2.0
    T = [np.einsum("r,ri,rj,rk->ijk", w, *atoms[i % 2]) for i, w in enumerate(weights)]
    K = Grassmann(1.0)(T)
    same = np.equal.outer(np.arange(8) % 2, np.arange(8) % 2)
    np.testing.assert_allclose(K[same], 1.0, atol=1e-12)
    assert K[~same].max() < 0.9
    np.testing.assert_allclose(Grassmann(1.0)([5e150 * x for x in X], X).diagonal(), 1.0, atol=1e-12)


def test_length_scale_has_a_derivative():
    W, h = RNG.normal(size=(6, 6)), 1e-6
    for kernel, data in ((Grassmann(1.5, 2), X), (Cumulant(0.8), [*SIGNALS, SIGNALS[0]])):
        length = kernel.length_scale
        up, down = (np.vdot(W, kernel.replace(length_scale=length + step)(data)) for step in (h, -h))
        S = kernel.prepare(kernel.pack(data))
        assert kernel.pullback(S, S, W)[0] == pytest.approx((up - down) / (2 * h), rel=1e-6)


def naive_cumulants(Z):
    """The tensor of fourth-order cumulants, entry by entry."""
    Z = Z - Z.mean(axis=0)
    p = Z.shape[1]
    C = np.empty((p, p, p, p))
    for i, j, k, l in product(range(p), repeat=4):

        def mean(*columns):
            return np.mean(np.prod(Z[:, columns], axis=1))

        C[i, j, k, l] = mean(i, j, k, l) - mean(i, j) * mean(k, l) - mean(i, k) * mean(j, l) - mean(i, l) * mean(j, k)
    return C


def naive_subspace(Z, rank):
    p = Z.shape[1]
    values, vectors = np.linalg.eigh(naive_cumulants(Z).reshape(p * p, p * p))
    scale = np.mean(((Z - Z.mean(axis=0)) ** 2).sum(axis=1) ** 2)
    kept = [q for q in np.argsort(-np.abs(values))[:rank] if abs(values[q]) > 1e-13 * scale]
    return vectors[:, kept] @ vectors[:, kept].T


def test_cumulants_are_those_of_the_definition():
    Z = SIGNALS[3]
    C, _ = cumulants(Z)
    scale = np.abs(Z - Z.mean(axis=0)).max() ** 4
    i, j = np.triu_indices(3)
    weights = np.where(i == j, 1.0, np.sqrt(2.0))
    expected = naive_cumulants(Z)[i, j][:, i, j] * np.outer(weights, weights)
    np.testing.assert_allclose(C * scale, expected, atol=1e-12 * np.abs(expected).max())
    assert np.linalg.norm(C) * scale == pytest.approx(np.linalg.norm(naive_cumulants(Z)))
    for draw, kurtosis in (("normal", 0.0), ("laplace", 12.0)):
        Z = getattr(np.random.default_rng(1), draw)(size=(200_000, 2))
        C = cumulants(Z)[0] * np.abs(Z - Z.mean(axis=0)).max() ** 4
        np.testing.assert_allclose(C, np.diag([kurtosis, 0.0, kurtosis]), atol=0.05 if draw == "normal" else 0.8)


@pytest.mark.parametrize(("rank", "lags"), [(None, (0,)), (2, (0,)), (1, (0, 1)), (4, (0, 3))])
def test_projectors_on_eigenvectors_of_cumulants(rank, lags):
    signals = SIGNALS if lags == (0,) else SIGNALS[2:]
    last = max(lags)
    delayed = [np.hstack([x[last - lag : len(x) - lag] for lag in lags]) for x in signals]
    P = [naive_subspace(Z, rank or Z.shape[1]) for Z in delayed]
    squares = np.array([[((p - q) ** 2).sum() for q in P] for p in P])
    np.testing.assert_allclose(Cumulant(0.9, rank, lags)(signals), np.exp(-squares / (2 * 0.81)), atol=1e-9)


def test_cumulants_tell_how_sources_are_mixed():
    rng = np.random.default_rng(2)
    mixings = np.array([[[1.0, 0.5], [0.0, 1.0]], [[1.0, -0.5], [0.8, 1.0]]])
    signals = [rng.laplace(size=(n, 2)) * rng.uniform(0.5, 2, 2) @ mixings[i % 2] for i, n in enumerate([20_000] * 6)]
    K = Cumulant(1.0)(signals)
    same = np.equal.outer(np.arange(6) % 2, np.arange(6) % 2)
    assert K[same].min() > 0.95 and K[~same].max() < 0.6
    np.testing.assert_allclose(Cumulant()([100.0 * signals[0] + 3.0], signals[:1]), 1.0, atol=1e-9)


def test_constant_signals_have_no_subspace():
    K = Cumulant(1.0)([np.ones((5, 3)), np.zeros((1, 3)), SIGNALS[3]])
    assert K[0, 1] == 1.0 and K[0, 2] == pytest.approx(np.exp(-1.5))
    K = Grassmann(1.0)([np.zeros((2, 3)), np.ones((2, 3))])
    assert K[0, 1] == pytest.approx(np.exp(-1.0)) and K[0, 0] == 1.0


@pytest.mark.parametrize("kernel", [Grassmann(2.0), Grassmann(1.0, 1), Grassmann(2.0, None, (0, 2))])
def test_laws_of_tensors(kernel):
    check_kernel(kernel, X)


@pytest.mark.parametrize("kernel", [Cumulant(), Cumulant(0.7, 2, (0, 1))])
def test_laws_of_signals(kernel):
    check_kernel(kernel, SIGNALS[1:])


def test_machines_learn_with_them():
    y = np.arange(6.0)
    for kernel, data in ((Grassmann(1.0), X), (Cumulant(), [*SIGNALS, 2.0 - SIGNALS[4] ** 2])):
        model = KernelRidge(kernel, alpha=1e-8).fit(data, y)
        assert np.isfinite(model.predict(data)).all()


def test_wrong_things_are_refused():
    for wrong in ({"rank": 0}, {"modes": [0]}, {"modes": (0, 0)}, {"modes": (-1,)}, {"length_scale": 0.0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            Grassmann(**wrong)(X)
    for wrong in ({"lags": ()}, {"lags": (True,)}, {"lags": 1}):
        with pytest.raises(ParameterError, match=r"lags.*tuple of distinct integers"):
            Cumulant(**wrong)(SIGNALS)
    with pytest.raises(DomainError, match=r"3 axes; modes are numbered from 0 to 2"):
        Grassmann(modes=(3,))(X)
    with pytest.raises(DomainError, match=r"Sample 1 has 2 points of time.*smaller lags"):
        Cumulant(lags=(0, 2))([SIGNALS[2], SIGNALS[1]])
    with pytest.raises(DomainError, match="20 and of 9 dimensions"):
        Grassmann()(X, X[:, :, :3, :3])
    with pytest.raises(DomainError, match="6 and of 3 dimensions"):
        Cumulant(rank=1)(SIGNALS, [x[:, :2] for x in SIGNALS])

"""Subspaces and minors: against scipy's angles, explicit compound matrices, and limits that must coincide."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

import mercer
from mercer import SVC, KernelRidge
from mercer.errors import DomainError
from mercer.gram import Features
from mercer.kernels import Gaussian, Linear, Polynomial, Spectrum
from mercer.kernels.sets.mean_map import MeanMap
from mercer.kernels.sets.subspaces import BinetCauchy, PrincipalAngles, elementary_symmetric
from mercer.testing import check_kernel

SETS = [np.random.default_rng(i).normal(size=(m, 4)) for i, m in enumerate((3, 1, 0, 5, 2, 4, 1, 7, 2))]
MATRICES = np.random.default_rng(0).normal(size=(6, 3, 4))
WORDS = [["cat", "hat"], ["at"], [], ["to", "be"], ["tobe"]]


def compound(M, q):
    """All minors of order q, one by one."""
    rows, columns = (list(combinations(range(n), q)) for n in M.shape)
    minors = [[np.linalg.det(M[np.ix_(i, j)]) for j in columns] for i in rows]
    return np.array(minors).reshape(len(rows), len(columns))


def cosines(x, z):
    return np.cos(subspace_angles(x.T, z.T)) if len(x) and len(z) else np.zeros(0)


def product(x, z):
    if np.linalg.matrix_rank(x) != np.linalg.matrix_rank(z):
        return 0.0
    return float(np.prod(cosines(x, z) ** 2))


def test_angles_are_those_of_scipy():
    expected = np.array([[product(x, z) for z in SETS] for x in SETS])
    np.testing.assert_allclose(PrincipalAngles()(SETS), expected, atol=1e-12)
    sums = np.array([[np.sum(cosines(x, z) ** 2) for z in SETS] for x in SETS])
    K = PrincipalAngles(kind="projection")
    np.testing.assert_allclose(K(SETS), sums, atol=1e-12)
    np.testing.assert_allclose(K.diag(K.pack(SETS)), np.diag(sums), atol=1e-12)
    np.testing.assert_allclose(PrincipalAngles()(SETS[:3], [sp.csr_array(SETS[0])]), expected[:3, :1], atol=1e-12)


def test_the_leading_directions():
    x = np.random.default_rng(3).normal(size=(9, 4)) * [5.0, 2.0, 0.1, 0.01]
    lead = np.linalg.svd(x)[2][:2]
    np.testing.assert_allclose(PrincipalAngles(2)([x], [lead]), [[1.0]], atol=1e-12)
    np.testing.assert_allclose(PrincipalAngles(2)([x], [lead[:1]]), [[0.0]])


@given(seed=st.integers(0, 10**6))
def test_subspaces_not_bases_are_compared(seed):
    """Mixed, repeated and rescaled members span the same; the seed's determinant without a square would change sign."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, 5)), rng.normal(size=(2, 5))
    mixed = rng.normal(size=(6, 2)) @ x
    for k in (PrincipalAngles(), PrincipalAngles(kind="projection")):
        np.testing.assert_allclose(k([mixed], [z]), k([x], [z]), rtol=1e-6, atol=1e-9)


def test_subspaces_in_feature_space():
    """By a linear kernel, or by the explicit features of another, they are those of vectors."""
    sets = [x for x in SETS if len(x) < 4]
    for kind in ("determinant", "projection"):
        plain = PrincipalAngles(2, kind)
        np.testing.assert_allclose(PrincipalAngles(2, kind, Linear())(sets), plain(sets), atol=1e-10)
        square = Polynomial(2)
        mapped = [square.features(square.pack(x))[0] if len(x) else np.empty((0, 15)) for x in sets]
        np.testing.assert_allclose(PrincipalAngles(2, kind, square)(sets), plain(mapped), atol=1e-10)
        k = PrincipalAngles(2, kind, square)
        np.testing.assert_allclose(k.diag(k.pack(sets)), np.diag(plain(mapped)), atol=1e-10)


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (PrincipalAngles(), SETS),
        (PrincipalAngles(2, kind="projection"), SETS),
        (PrincipalAngles(2, kernel=Gaussian(1.5)), SETS),
        (PrincipalAngles(2, kind="projection", kernel=Gaussian("median")), SETS),
        (PrincipalAngles(1, kernel=Spectrum(1)), WORDS),
        (PrincipalAngles(1) + MeanMap(Gaussian(1.0)), SETS),
        (BinetCauchy(1), MATRICES),
        (BinetCauchy(2), MATRICES),
        (BinetCauchy(3), MATRICES),
        (BinetCauchy(3), np.random.default_rng(1).normal(size=(6, 5, 5))),
        (BinetCauchy(4), MATRICES),
        (BinetCauchy(1, kind="moments"), SETS),
        (BinetCauchy(2, kind="moments"), SETS),
        (BinetCauchy(4, kind="moments"), SETS),
    ],
)
def test_laws(kernel, X):
    check_kernel(kernel, X)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4)])
@pytest.mark.parametrize("q", [1, 2, 3, 4, 5])
def test_traces_of_compound_matrices(shape, q):
    X = np.random.default_rng(q).normal(size=(4, *shape))
    k = BinetCauchy(q)
    expected = np.array([[np.trace(compound(a.T @ b, q)) for b in X] for a in X])
    np.testing.assert_allclose(k(X), expected, rtol=1e-9, atol=1e-10)
    minors = np.array([[np.sum(compound(a, q) * compound(b, q)) for b in X] for a in X])
    np.testing.assert_allclose(k(X), minors, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(k.diag(k.pack(X)), np.diag(minors), rtol=1e-9, atol=1e-10)
    squares = np.array([[np.sum(compound(a @ b.T, q) ** 2) for b in X] for a in X])
    moments = BinetCauchy(q, kind="moments")
    np.testing.assert_allclose(moments(X), squares, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(moments.diag(moments.pack(X)), np.diag(squares), rtol=1e-9, atol=1e-10)


@given(seed=st.integers(0, 10**6), q=st.integers(1, 3))
def test_the_theorem_of_binet_and_cauchy(seed, q):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(3, 4)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(compound(A @ B, q), compound(A, q) @ compound(B, q), rtol=1e-8, atol=1e-9)
    values = np.linalg.eigvals(A @ B)
    np.testing.assert_allclose(elementary_symmetric(values, q), np.trace(compound(A @ B, q)), rtol=1e-7, atol=1e-8)


def test_the_largest_order_is_the_determinant():
    """q = dim: det A det B for square matrices, and the squared determinant of Wolf and Shashua for bases."""
    A, B = np.random.default_rng(0).normal(size=(2, 3, 3))
    np.testing.assert_allclose(BinetCauchy(3)([A], [B]), [[np.linalg.det(A) * np.linalg.det(B)]], rtol=1e-10)
    U, V = (np.linalg.qr(M)[0][:, :2].T for M in (A, B))
    angles = PrincipalAngles()([U], [V])
    np.testing.assert_allclose(BinetCauchy(2, kind="moments")([U], [V]), angles, rtol=1e-10)
    np.testing.assert_allclose(BinetCauchy(2)([U], [V]) ** 2, angles, rtol=1e-10)


def test_orders_beyond_the_matrices_and_empty_sets():
    assert not BinetCauchy(4)(MATRICES).any() and not BinetCauchy(5, kind="moments")(SETS).any()
    K = BinetCauchy(2, kind="moments")(SETS)
    assert not K[2].any() and not K[1].any() and K[0, 0] > 0.0


def test_nearly_singular_matrices_keep_their_digits():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 3, 3))
    A[2] = A[0] + 1e-9 * A[2]
    np.testing.assert_allclose(BinetCauchy(3)([A], [A]), [[np.linalg.det(A) ** 2]], rtol=1e-6)
    k = BinetCauchy(3)
    np.testing.assert_allclose(k([A]).ravel(), k.diag(k.pack([A])), rtol=1e-6)
    assert np.isclose(float(k([A], [B])[0, 0]) ** 2, float(k([A])[0, 0] * k([B])[0, 0]), rtol=1e-6)


@pytest.mark.parametrize(
    ("k", "X"),
    [
        (BinetCauchy(1), MATRICES),
        (BinetCauchy(1, kind="moments"), SETS),
        (PrincipalAngles(2, kind="projection"), SETS),
    ],
)
def test_linear_time_learning_and_model_files(k, X, tmp_path):
    y = np.arange(float(len(X)))
    model = KernelRidge(k, alpha=0.1).fit(X, y)
    linear = KernelRidge(k, alpha=0.1, gram=Features()).fit(X, y)
    np.testing.assert_allclose(linear.predict(X[1:]), model.predict(X[1:]), rtol=1e-6, atol=1e-8)
    assert (
        PrincipalAngles().feature_count(PrincipalAngles().pack(SETS)) is None
        and BinetCauchy(2).feature_count(MATRICES) is None
    )
    mercer.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_learning_of_the_kernel_of_members():
    k = PrincipalAngles(1, kernel=Gaussian("median"))
    learned = k.learn(k.pack(SETS))
    assert learned.kernel == Gaussian("median").learn(Gaussian("median").pack(np.concatenate(SETS)))
    assert PrincipalAngles().learn(k.pack(SETS)) == PrincipalAngles()
    X = [x for x in SETS if len(x)]
    SVC(k).fit(X, np.arange(len(X)) % 2).predict(X)


def test_refused():
    with pytest.raises(
        DomainError, match=r"Matrix 0 has 3 rows, matrix 1 1; matrices are compared row by row.*moments"
    ):
        BinetCauchy(2)(SETS)
    with pytest.raises(DomainError, match=r"Matrices with 3 and 2 rows were compared"):
        BinetCauchy(2)(MATRICES, MATRICES[:, :2])
    for k in (BinetCauchy(1, kind="moments"), PrincipalAngles()):
        with pytest.raises(DomainError, match=r"with 4 and with 3 columns were compared"):
            k(SETS, [np.ones((2, 3))])
    with pytest.raises(
        DomainError, match="Sets of Strings were given to PrincipalAngles, which compares sets of vectors"
    ):
        PrincipalAngles()(MeanMap(Spectrum(1)).pack(WORDS))
    with pytest.raises(DomainError, match=r"Sets of Strings were given to PrincipalAngles\(1.*compares Vectors"):
        PrincipalAngles(1, kernel=Gaussian(1.0))(MeanMap(Spectrum(1)).pack(WORDS))
    with pytest.raises(DomainError, match="too large for floating-point numbers"):
        BinetCauchy(2)(1e200 * MATRICES)

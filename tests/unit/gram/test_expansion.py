"""The fitted function."""

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.budget import Resources
from mercer.domains import Strings, Vectors
from mercer.errors import CapabilityError, DomainError, NotPositiveDefinite
from mercer.gram import Expansion, FeatureExpansion, expansion
from mercer.gram.expansion import product
from mercer.kernels import Gaussian, Laplacian, Linear, NegativeDistance, Polynomial, Sigmoid, Spectrum, ThinPlate
from mercer.kernels.comparison import Comparison

X = np.random.default_rng(0).normal(size=(9, 2))
T = np.random.default_rng(1).normal(size=(5, 2))


def test_it_is_the_sum_of_kernels_and_the_diagonal():
    c = np.random.default_rng(2).normal(size=9)
    k = Polynomial(2)
    f = Expansion(k, Vectors.pack(X), c, np.asarray(0.25), diagonal=-2.0)
    naive = [sum(ci * k([t], [x])[0, 0] for ci, x in zip(c, X, strict=True)) - 2 * k([t])[0, 0] + 0.25 for t in T]
    assert np.allclose(f(Vectors.pack(T)), naive)


def test_several_outputs_have_their_own_intercepts():
    C = np.random.default_rng(2).normal(size=(9, 3))
    f = Expansion(Gaussian(1.0), Vectors.pack(X), C, np.array([1.0, 2.0, 3.0]), diagonal=1.0)
    assert np.allclose(f(Vectors.pack(T)), Gaussian(1.0)(T, X) @ C + 1.0 + [1.0, 2.0, 3.0])


def test_a_prediction_does_not_depend_on_the_other_points():
    c = np.random.default_rng(2).normal(size=9)
    f = Expansion(Gaussian(0.5), Vectors.pack(X), c, np.asarray(0.0))
    together = f(Vectors.pack(T))
    alone = np.concatenate([f(Vectors.pack(T[i : i + 1])) for i in range(5)])
    assert np.allclose(together, alone, rtol=1e-14, atol=0)


def test_primal_and_dual_functions_agree():
    texts, new = ["abab", "abba", "bab"], ["ab", "baba", "zzz"]
    k = Spectrum(2)
    S = Strings.pack(texts)
    c = np.array([1.0, -2.0, 0.5])
    F, keys = k.features(S)
    dual = Expansion(k, k.prepare(S), c, np.asarray(1.0))
    primal = FeatureExpansion(k, keys, np.asarray(F.T @ c), np.asarray(1.0))
    assert np.allclose(dual(Strings.pack(new)), primal(Strings.pack(new)))
    assert np.allclose(primal(Strings.pack(["zzz"])), [1.0])  # unknown features are dropped


def test_it_survives_pickling():
    f = Expansion(Gaussian(1.0), Vectors.pack(X), np.ones(9), np.asarray(0.0))
    again = pickle.loads(pickle.dumps(f))
    assert np.array_equal(f(Vectors.pack(T)), again(Vectors.pack(T)))


# ----------------------------------------------------------------------- the algebra of a Hilbert space


def element(kernel, X, seed=0, k=None, b=0.0):
    c = np.random.default_rng(seed).normal(size=len(X) if k is None else (len(X), k))
    S = kernel.prepare(kernel.pack(X))
    return Expansion(kernel, S, c, np.asarray(b if k is None else np.full(k, b)))


WORDS, NEW_WORDS = ["abab", "abba", "bab", "c"], ["ab", "baba", "zz", "bcb"]


@pytest.mark.parametrize(
    ("kernel", "A", "B"),
    [(Gaussian(0.9), X, T), (Polynomial(2), X, T), (Spectrum(2), WORDS, NEW_WORDS), (Spectrum(1), WORDS, NEW_WORDS)],
    ids=repr,
)
@pytest.mark.parametrize("k", [None, 3])
def test_sums_multiples_and_inner_products_are_those_of_the_matrix(kernel, A, B, k):
    f, g = element(kernel, A, 1, k, 0.5), element(kernel, B, 2, k, 0.25)
    total = 2.0 * f - g / 4.0
    both = np.concatenate([A, B]) if isinstance(A, np.ndarray) else A + B
    assert np.allclose(total(both), 2.0 * f(both) - g(both) / 4.0, atol=1e-12)
    expected = np.einsum("i...,ij,j...->...", f.coef, kernel(A, B), g.coef)
    assert np.allclose(f.inner(g), expected)
    assert np.allclose(g.inner(f), expected)
    squares = [np.einsum("i...,ij,j...->...", h.coef, kernel(Y), h.coef) for h, Y in ((f, A), (g, B))]
    assert np.allclose(f.norm(), np.sqrt(squares[0]))
    assert np.allclose(f.distance(g) ** 2, squares[0] + squares[1] - 2.0 * expected)
    assert np.allclose(f.normalized().norm(), 1.0)
    assert np.allclose(f.normalized()(A), f(A) / f.norm())  # with its intercept
    assert np.shape(f.norm()) == (() if k is None else (3,))
    assert isinstance(f.norm(), float) == (k is None)


def test_one_function_meets_each_of_several():
    f, g = element(Gaussian(1.0), X, 1, 3), element(Gaussian(1.0), T, 2)
    expected = [f.column(j).inner(g) for j in range(3)]
    assert np.allclose(f.inner(g), expected)
    assert np.allclose(g.inner(f), expected)
    several = np.array([1.0, 2.0]) * g
    assert several.outputs == (2,)
    assert np.allclose(several(T), g(T)[:, None] * [1.0, 2.0])
    assert np.allclose((several / np.array([1.0, 2.0]))(T), g(T)[:, None])


def test_raw_data_are_packed():
    f = element(Gaussian(1.0), X)
    assert np.array_equal(f(T), f(Vectors.pack(T)))
    p = element(Polynomial(2), X).to_features()
    assert np.array_equal(p(T), p(Vectors.pack(T)))
    s = element(Spectrum(2), WORDS)
    assert np.array_equal(s(NEW_WORDS), s(Strings.pack(NEW_WORDS)))


def test_a_function_is_at_distance_zero_from_itself_and_never_at_a_negative_one():
    f = element(Gaussian(1.0), X)
    assert f.distance(f) == 0.0
    copy = element(Gaussian(1.0), X.copy())
    assert 0.0 <= f.distance(copy) < 1e-7 * f.norm()
    assert (f - copy).compact().norm() == 0.0
    assert sum([f, f, f]).norm() == pytest.approx(3.0 * f.norm(), rel=1e-14)


def test_intercepts_are_added_and_left_out_of_norms():
    f = element(Gaussian(1.0), X, b=5.0)
    assert float((f + f).intercept) == 10.0
    assert f.norm() == element(Gaussian(1.0), X).norm()
    assert f.inner(f) == pytest.approx(f.norm() ** 2)


def test_a_large_intercept_costs_inner_products_no_digits():
    dual = Expansion(Linear(), Vectors.pack([[1.0, 2.0], [3.0, -1.0]]), np.array([0.5, 2.0]), np.asarray(1e20))
    other = Expansion(Linear(), Vectors.pack([[1.0, 1.0]]), np.array([3.0]), np.asarray(-1e20))
    for f in (dual, dual.to_features()):
        assert f.inner(other) == other.inner(f) == 3.0 * (6.5 - 1.0)


def test_compact_merges_equal_samples_of_vectors_and_strings():
    rows = np.array([[0.0, 1.0], [2.0, 3.0], [-0.0, 1.0], [2.0, 3.0]])
    for raw, groups in ((rows, 2), (sp.csr_array(rows), 2), (["ab", "b", "ab", "ba"], 3)):
        kernel = Spectrum(1) if isinstance(raw, list) else Gaussian(1.0)
        c = np.array([1.0, 2.0, 3.0, 4.0])
        f = Expansion(kernel, kernel.prepare(kernel.pack(raw)), c, np.asarray(0.5))
        small = f.compact()
        assert len(small.samples) == groups == len(small.coef)
        assert np.allclose(small(raw), f(raw))
    nothing = (f - f).compact()
    assert len(nothing.samples) == 1
    assert np.allclose(nothing(["ab"]), 0.0)


def test_a_multiple_of_the_diagonal_adds_and_scales_but_has_no_inner_products():
    f = dataclasses.replace(element(Polynomial(2), X), diagonal=-1.0)
    assert np.allclose((2.0 * f + f)(T), 3.0 * f(T))
    assert (f - f).diagonal == 0.0
    for ask in (f.norm, lambda: f.inner(f), f.to_features, lambda: np.ones(2) * f):
        with pytest.raises(CapabilityError, match=r"k\(x, x\)"):
            ask()


def test_conditionally_definite_kernels_have_a_seminorm_where_coefficients_are_balanced():
    k = NegativeDistance()
    c = np.random.default_rng(0).normal(size=9)
    with pytest.raises(CapabilityError, match="sum to zero"):
        Expansion(k, Vectors.pack(X), c, np.asarray(0.0)).norm()
    f = Expansion(k, Vectors.pack(X), c - c.mean(), np.asarray(0.0))
    assert f.norm() == pytest.approx(np.sqrt(f.coef @ k(X) @ f.coef))
    plate = ThinPlate()
    with pytest.raises(CapabilityError, match="degree below 2"):
        Expansion(plate, Vectors.pack(X), c - c.mean(), np.asarray(0.0)).norm()
    P = np.column_stack([np.ones(9), X])
    c = c - P @ np.linalg.lstsq(P, c, rcond=None)[0]
    assert Expansion(plate, Vectors.pack(X), c, np.asarray(0.0)).norm() == pytest.approx(np.sqrt(c @ plate(X) @ c))


def test_an_indefinite_kernel_has_no_norm_where_its_square_is_negative():
    k = Sigmoid(1.0, offset=-1.0)
    values, vectors = np.linalg.eigh(k(X))
    f = Expansion(k, Vectors.pack(X), vectors[:, 0].copy(), np.asarray(0.0))
    assert values[0] < -0.1
    assert f.inner(f) == pytest.approx(values[0])
    with pytest.raises(NotPositiveDefinite, match="squared norm -"):
        f.norm()
    top = Expansion(k, Vectors.pack(X), vectors[:, -1].copy(), np.asarray(0.0))
    assert top.norm() == pytest.approx(np.sqrt(values[-1]))


def test_what_does_not_fit_is_refused():
    f = element(Gaussian(1.0), X)
    for g, error, words in (
        (element(Gaussian(2.0), X), CapabilityError, "one kernel"),
        (element(Spectrum(2), WORDS), CapabilityError, "one kernel"),
        (element(Gaussian(1.0), X[:, :1]), DomainError, "columns"),
        (element(Gaussian(1.0), X, k=2), DomainError, "outputs"),
    ):
        with pytest.raises(error, match=words):
            f + g
    with pytest.raises(DomainError, match="3 and 2 outputs"):
        element(Gaussian(1.0), X, k=3).inner(element(Gaussian(1.0), X, k=2))
    with pytest.raises(CapabilityError, match="one kernel"):
        f.inner(element(Gaussian(2.0), X))
    with pytest.raises(DomainError, match="elements of the space"):
        f.inner(3.0)


def test_features_of_the_same_and_of_other_samples_are_aligned():
    for kernel, A, B in ((Polynomial(2), X, T), (Spectrum(2), WORDS, NEW_WORDS), (0.5 * Spectrum(2), WORDS, NEW_WORDS)):
        f, g = element(kernel, A, 1, b=0.5), element(kernel, B, 2, b=0.25)
        p, q = f.to_features(), g.to_features()
        both = np.concatenate([A, B]) if isinstance(A, np.ndarray) else A + B
        total = f(both) - 3.0 * g(both)
        for first, second in ((p, q), (p, g), (f, q)):
            assert np.allclose((first - 3.0 * second)(both), total, atol=1e-10)
            assert first.inner(second) == pytest.approx(f.inner(g), abs=1e-9)
            assert isinstance(first + second, FeatureExpansion)
        assert p.norm() == pytest.approx(f.norm())
        assert p.distance(q) == pytest.approx(f.distance(g))
        assert p.distance(f) == pytest.approx(0.0, abs=1e-9)


def test_features_of_several_outputs():
    f, g = element(Polynomial(2), X, 1, 2, 0.5), element(Polynomial(2), T, 2, 2)
    p, q = f.to_features(), g.to_features()
    assert np.allclose(p.inner(q), f.inner(g))
    assert np.allclose((np.array([1.0, 2.0]) * p).column(1)(T), 2.0 * f(T)[:, 1])
    assert np.allclose(p.norm(), f.norm())


def test_features_that_cannot_be_aligned_are_refused():
    kernel = Spectrum(1) + Spectrum(2)
    f, g = element(kernel, WORDS).to_features(), element(kernel, NEW_WORDS).to_features()
    assert np.allclose((f + f)(WORDS), 2.0 * f(WORDS))
    assert f.inner(element(kernel, NEW_WORDS)) == pytest.approx(
        element(kernel, WORDS).inner(element(kernel, NEW_WORDS))
    )
    with pytest.raises(CapabilityError, match="gram=Dense"):
        f + g
    with pytest.raises(CapabilityError, match="finite feature map"):
        element(Gaussian(1.0), X).to_features()


def naive(kernel, X, Z, V):
    return np.array([sum(kernel([x], [z])[0, 0] * v for z, v in zip(Z, V, strict=True)) for x in X])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(23, 3)), rng.normal(size=(17, 3)), rng.normal(size=17)


def test_it_is_the_sum_over_pairs(data):
    X, Z, v = data
    comparison = Comparison(Gaussian(1.5), Vectors.pack(X), Vectors.pack(Z))
    assert np.allclose(product(Gaussian(1.5), comparison, v), naive(Gaussian(1.5), X, Z, v), rtol=1e-13)


def test_many_right_hand_sides_are_columns(data):
    X, Z, v = data
    comparison = Comparison(Gaussian(1.5), Vectors.pack(X), Vectors.pack(Z))
    V = np.stack([v, 2 * v, v**2], axis=1)
    columns = [product(Gaussian(1.5), comparison, column) for column in V.T]
    assert np.allclose(product(Gaussian(1.5), comparison, V), np.stack(columns, axis=1), rtol=1e-14)


def test_small_tiles_and_threads_change_nothing_but_rounding(data, monkeypatch):
    X, Z, v = data
    comparison = Comparison(Gaussian(1.5), Vectors.pack(X), Vectors.pack(Z))
    whole = product(Gaussian(1.5), comparison, v)
    monkeypatch.setattr(expansion, "tile_side", lambda itemsize: 4)
    one = product(Gaussian(1.5), comparison, v, Resources(n_threads=1))
    two = product(Gaussian(1.5), comparison, v, Resources(n_threads=2))
    assert np.array_equal(one, two)  # the same bits whatever the number of threads
    assert np.allclose(one, whole, rtol=1e-13)


def test_float32_tiles_keep_the_digits_of_float64_coefficients():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    v = rng.normal(size=300) + 1e6  # a float32 copy of these loses what distinguishes them
    S = Vectors.pack(X)
    exact = product(Gaussian(2.0), Comparison(Gaussian(2.0), S, S), v)
    mixed = product(Gaussian(2.0), Comparison(Gaussian(2.0), S, S, np.float32), v)
    assert np.max(np.abs(mixed - exact) / np.abs(exact)) < 2e-6


def test_a_wrong_length_is_refused(data):
    X, Z, v = data
    comparison = Comparison(Gaussian(1.5), Vectors.pack(X), Vectors.pack(Z))
    with pytest.raises(ValueError, match="17 columns"):
        product(Gaussian(1.5), comparison, v[:-1])


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplacian(1.5), Gaussian(1.0) * Linear()], ids=repr)
@pytest.mark.parametrize("threads", [1, 2])
def test_quick_blocks_are_the_blocks(kernel, threads, monkeypatch):
    monkeypatch.setattr(expansion, "SMALL", 0)
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(600, 4)), rng.normal(size=(2300, 4))  # more than one piece each way
    comparison = Comparison(kernel, Vectors.pack(X), Vectors.pack(Z), np.float32)
    out = np.empty((600, 2300), np.float32)
    expansion.quick_fill(kernel, comparison, out, Resources(n_threads=threads))
    expected = kernel(X, Z)
    assert np.abs(out - expected).max() <= 4e-6 * np.abs(expected).max()


def test_quick_blocks_of_nothing():
    S = Vectors.pack(np.ones((4, 2)))
    none = S.take(np.zeros(0, np.intp))
    for A, B in ((S, none), (none, S), (none, none)):
        out = np.empty((len(A), len(B)), np.float32)
        expansion.quick_fill(Gaussian(1.0), Comparison(Gaussian(1.0), A, B, np.float32), out)


def test_a_product_in_float32_is_as_exact_as_its_entries():
    """Also by the quick way, which sums in float32 inside a tile."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(700, 5))
    S = Vectors.pack(X)
    for v in (rng.normal(size=700), rng.normal(size=(700, 3)), 1e5 + rng.normal(size=700)):
        exact = Gaussian(1.5)(X) @ v
        mixed = product(Gaussian(1.5), Comparison(Gaussian(1.5), S, S, np.float32), v)
        assert np.abs(mixed - exact).max() <= 4e-6 * np.abs(v).sum(axis=0).max()


def test_few_values_are_those_of_float64():
    rng = np.random.default_rng(0)
    S, T = Vectors.pack(rng.normal(size=(50, 3))), Vectors.pack(rng.normal(size=(5, 3)))
    f = Expansion(Gaussian(1.0), S, rng.normal(size=50), np.array(0.1))
    np.testing.assert_array_equal(f.signed(T), f(T))
    many = Vectors.pack(rng.normal(size=(400, 3)))
    np.testing.assert_array_equal(f.signed(many) > 0, f(many) > 0)

"""Kernels on histograms: numbers, zeros, negative data, storage."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, load, save
from mercer.domains import Vectors
from mercer.errors import DegenerateWarning, DomainError, ParameterError
from mercer.free_parameters import free_names
from mercer.kernels import AdditiveChiSquared, ChiSquared, Intersection, Linear, Tanimoto
from mercer.kernels.vectors import histogram as module
from mercer.language import parse
from mercer.testing import check_kernel
from tests.naive import histogram as naive
from tests.naive.dot import gram

rng = np.random.default_rng(6)
X = rng.random((9, 7)) * (rng.random((9, 7)) < 0.6)
Z = rng.random((6, 7)) * (rng.random((6, 7)) < 0.6)
X[0], Z[0] = 0.3, X[1]
CASES = {
    "ChiSquared(0.7)": lambda x, z: naive.chi_squared(x, z, 0.7),
    "AdditiveChiSquared()": naive.additive_chi_squared,
    "Intersection()": naive.intersection,
    "Tanimoto()": naive.tanimoto,
}


@pytest.mark.parametrize("text", CASES)
def test_agrees_with_the_formula(text):
    k = parse(text)
    assert repr(k) == text
    expected = gram(CASES[text], X, Z)
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-12, atol=1e-15)
    single = k(X.astype(np.float32), Z.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-4, atol=1e-6)
    for left, right in ((sp.csr_array(X), sp.csr_array(Z)), (sp.csr_array(X), Z), (X, sp.csr_array(Z))):
        np.testing.assert_allclose(k(left, right), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("data", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_obeys_the_laws(text, data):
    check_kernel(parse(text), data)


@pytest.mark.parametrize("k", [ChiSquared(1.0), AdditiveChiSquared(), Intersection()], ids=repr)
def test_negative_entries_are_named(k):
    bad = X.copy()
    bad[3, 2], bad[5, 0] = -0.5, -1.0
    message = r"negative entry -0.5 in row 3, column 2; .* Give counts"
    for data in (bad, sp.csr_array(bad)):
        with pytest.raises(DomainError, match=message):
            k(data)
        with pytest.raises(DomainError, match=message):
            (k + Linear())(data)
    with pytest.raises(DomainError, match="column 'c'"):
        k.prepare(Vectors(bad, tuple("abcdefg")))


def test_zeros_and_large_numbers():
    data = np.array([[0.0, 0.0], [0.0, 1e200], [1e308, 1e308], [5e-324, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K = ChiSquared(1.0)(data)
        np.testing.assert_array_equal(np.diagonal(K), 1.0)
        assert K[0, 1] == 0.0
        assert K[0, 3] == 1.0
        M = AdditiveChiSquared()(data[:2])
        np.testing.assert_array_equal(M, [[0.0, 0.0], [0.0, 1e200]])
        with pytest.raises(DomainError, match="too large"):
            Intersection()(data)


def test_tanimoto_of_zero_vectors():
    data = np.vstack([X, np.zeros((2, 7))])
    with pytest.warns(DegenerateWarning, match="2 of 11 samples are zero vectors"):
        K = Tanimoto()(data)
    np.testing.assert_array_equal(K[9:, 9:], 1.0)
    np.testing.assert_array_equal(K[:9, 9:], 0.0)
    assert np.linalg.eigvalsh(K)[0] > -1e-12


def test_tanimoto_is_definite_for_all_vectors():
    data = np.random.default_rng(7).normal(size=(40, 3))
    K = Tanimoto()(data)
    assert K.min() < 0
    assert K.min() >= -1 / 3
    assert np.linalg.eigvalsh(K)[0] > 0
    check_kernel(Tanimoto(), data[:10])


def test_tanimoto_is_the_jaccard_index_of_sets():
    sets = (X > 0.5).astype(float) + np.eye(9, 7)
    sets = (sets > 0).astype(float)
    sets[7:] = 1.0
    common = sets @ sets.T
    union = sets.sum(axis=1)[:, None] + sets.sum(axis=1) - common
    np.testing.assert_allclose(Tanimoto()(sets), common / union, rtol=1e-14)


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e-30, 1e30])
def test_tanimoto_has_no_unit(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(Tanimoto()(X * scale), Tanimoto()(X), rtol=1e-12)


def test_what_is_declared():
    assert free_names(ChiSquared(1.0)) == ("gamma",)
    assert (ChiSquared().strict, ChiSquared().universal, ChiSquared().normalised) == (True, True, True)
    assert (Tanimoto().strict, Tanimoto().universal, Tanimoto().bounded) == (True, False, True)
    assert not Intersection().bounded
    with pytest.raises(ParameterError, match="gamma must be"):
        ChiSquared(0.0)(X)


def test_sums_over_coordinates_are_not_strict():
    corners = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0]])
    c = np.array([1.0, -1.0, -1.0, 1.0])
    for k in (Intersection(), AdditiveChiSquared()):
        assert c @ k(corners) @ c == pytest.approx(0.0, abs=1e-14)
    assert np.linalg.eigvalsh(ChiSquared(1.0)(corners))[0] > 1e-3


def test_interpreted_loops_agree():
    left, right = module._parts(sp.csr_array(X), float), module._parts(sp.csr_array(Z), float)
    sums = (module._sum_chi, module._sum_additive, module._sum_minimum)
    for kind, loop in enumerate(sums):
        dense, sparse = np.zeros((9, 6)), np.zeros((9, 6))
        loop.py_func(X, Z, np.finfo(float).tiny, dense)
        module._sum_sparse.py_func(left, right, 7, kind, sparse)
        np.testing.assert_allclose(sparse, dense, rtol=1e-13, atol=1e-15)
        assert module._term.py_func(0.0, 0.0, kind) == 0.0


@pytest.mark.parity
def test_agrees_with_scikit_learn():
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    np.testing.assert_allclose(ChiSquared(0.7)(X, Z), pairwise.chi2_kernel(X, Z, gamma=0.7), rtol=1e-12)
    totals = X.sum(axis=1)[:, None] + Z.sum(axis=1)
    expected = pairwise.additive_chi2_kernel(X, Z)
    np.testing.assert_allclose(2 * AdditiveChiSquared()(X, Z) - totals, expected, rtol=1e-11, atol=1e-13)


SETS = [{"a", "b"}, {"b", "c", "d"}, frozenset({"d"}), {"a", "b", "c", "d"}, set()]


def jaccard(one, other):
    return len(one & other) / len(one | other) if one | other else 1.0


@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateWarning")
def test_tanimoto_of_sets_is_the_jaccard_index():
    new = [{"b", 7}, {"new"}, {"d", "a"}]
    np.testing.assert_allclose(Tanimoto()(SETS), [[jaccard(s, t) for t in SETS] for s in SETS], rtol=1e-14)
    np.testing.assert_allclose(Tanimoto()(new, SETS), [[jaccard(s, t) for t in SETS] for s in new], rtol=1e-14)
    np.testing.assert_allclose((0.5 * Tanimoto() ** 2)(new, SETS), 0.5 * Tanimoto()(new, SETS) ** 2, rtol=1e-14)
    np.testing.assert_array_equal(Tanimoto().diag(SETS), np.ones(5))
    objects = np.array(SETS, dtype=object)
    np.testing.assert_array_equal(Tanimoto()(objects), Tanimoto()(SETS))


def test_tanimoto_of_sets_is_that_of_their_indicators():
    rng = np.random.default_rng(5)
    bits = (rng.random((20, 9)) < 0.5).astype(float)
    bits[:, 0] = 1.0
    sets = [set(np.flatnonzero(row).tolist()) for row in bits]
    np.testing.assert_allclose(Tanimoto()(sets), Tanimoto()(bits), rtol=1e-14)
    check_kernel(Tanimoto(), sets[:12])


def test_empty_sets_and_mixtures():
    with pytest.warns(DegenerateWarning, match="1 of 5 samples are empty sets"):
        Tanimoto()(SETS)
    with pytest.raises(DomainError, match="both sets"):
        Tanimoto()(SETS[:2], np.ones((2, 3)))


def test_a_model_of_sets_is_saved(tmp_path):
    model = SVC(0.5 * Tanimoto()).fit(SETS[:4], [0, 1, 1, 0])
    save(model, tmp_path / "sets.mercer")
    new = [{"a"}, {"d", "e"}]
    np.testing.assert_array_equal(load(tmp_path / "sets.mercer").decision_function(new), model.decision_function(new))

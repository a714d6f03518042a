"""Kernels on columns, on images under a map, on pairs."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from mercer.domains import Frames
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.kernels import Gaussian, Linear, NegativeDistance, RankOne, Spectrum
from mercer.testing import check_kernel

X = np.random.default_rng(0).normal(size=(7, 3))
G, L = Gaussian(1.2), Linear()


def first(data):
    return np.asarray(data)[:, 0]


@pytest.mark.parametrize("columns", [0, [0], [2, 0], (1, 2), np.int64(1)], ids=repr)
def test_columns(columns):
    index = np.atleast_1d(columns)
    np.testing.assert_allclose(G.on(columns)(X), G(X[:, index]), rtol=1e-13)


@pytest.mark.parametrize("kernel", [G.on([0, 2]), (G + L).on([1]), G.on(0) * L.on([1, 2]), G.of(np.tanh)], ids=repr)
def test_laws_on_vectors(kernel):
    check_kernel(kernel, X)


def test_columns_by_name():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    np.testing.assert_allclose(G.on(["a", "c"])(frame), G(X[:, [0, 2]]), rtol=1e-13)
    np.testing.assert_allclose(G.on("b")(frame), G(X[:, [1]]), rtol=1e-13)
    np.testing.assert_allclose(L.on(["c", "a"]).on(["a", "c"])(frame), L(X[:, [2, 0]]), rtol=1e-13)


@pytest.mark.parametrize("columns", [[], [0, 0], True, 1.5, None, [None]], ids=repr)
def test_columns_are_names_or_numbers(columns):
    with pytest.raises(ParameterError, match="columns must be a column name or number"):
        L.on(columns)


def test_the_same_columns_read_in_two_ways():
    kernel = G.of(np.exp).on([0]) + L.on([0]) + G.of(np.tanh).on([0])
    x = X[:, [0]]
    np.testing.assert_allclose(kernel(X), G(np.exp(x)) + L(x) + G(np.tanh(x)), rtol=1e-12)
    assert isinstance(kernel.pack(X), Frames)


def test_images():
    np.testing.assert_allclose(L.of(np.exp)(X), np.exp(X) @ np.exp(X).T, rtol=1e-13)
    lengths = L.of(lambda words: [[len(word)] for word in words])
    assert lengths(["a", "abc"]).tolist() == [[1.0, 3.0], [3.0, 9.0]]
    both = Spectrum(1) + lengths
    np.testing.assert_allclose(both(["a", "abc"]), Spectrum(1)(["a", "abc"]) + np.array([[1, 3], [3, 9]]))


def test_a_map_keeps_the_number_of_samples():
    with pytest.raises(DomainError, match="3 images of 7 samples"):
        L.of(lambda data: data[:3])(X)
    with pytest.raises(ParameterError, match="transform must be a function"):
        L.of("log")


def test_a_transformer_is_fitted_by_learn():
    scaler = StandardScaler()
    kernel = 2.0 * G.of(scaler) + L
    learned = kernel.learn(X[:5])
    expected = 2.0 * G(StandardScaler().fit(X[:5]).transform(X)) + L(X)
    np.testing.assert_allclose(learned(X), expected, rtol=1e-12)
    assert not hasattr(scaler, "mean_")
    with pytest.raises(CapabilityError, match=r"StandardScaler has not been fitted.*learn"):
        kernel(X)
    assert learned.replace(**{"0__kernel__transform__with_mean": False}).terms[0].kernel.fitted is None


def test_a_transformer_on_columns_and_after_another():
    kernel = (G.of(StandardScaler()) * L).on([0, 2])
    part = X[:, [0, 2]]
    np.testing.assert_allclose(kernel.learn(X)(X), G(StandardScaler().fit_transform(part)) * L(part), rtol=1e-12)
    twice = L.of(np.exp).of(StandardScaler())
    np.testing.assert_allclose(twice.learn(X)(X), L(np.exp(StandardScaler().fit_transform(X))), rtol=1e-12)


def test_a_transformer_counts_samples_by_their_weights():
    weight = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 1.0, 1.0])
    learned = L.of(StandardScaler()).learn(X, None, weight)
    again = L(StandardScaler().fit(np.repeat(X, weight.astype(int), axis=0)).transform(X))
    np.testing.assert_allclose(learned(X), again, rtol=1e-12)
    with pytest.raises(CapabilityError, match="weight"):
        L.of(PCA(2)).learn(X, None, weight)


def test_a_transformer_that_fails_is_named():
    with pytest.raises(DomainError, match=r"PCA .*could not be fitted"):
        L.of(PCA(50)).learn(X)


def test_a_fitted_transformer_stays_fitted():
    scaler = StandardScaler().fit(X)
    kernel = 2.0 * G.of(scaler)
    expected = 2.0 * G(scaler.transform(X))
    S = kernel.pack(X)
    again, samples = pickle.loads(pickle.dumps((kernel, S)))
    for k, data in ((kernel, X), (clone(kernel), X), (copy.deepcopy(kernel), X), (kernel, S), (again, samples)):
        np.testing.assert_allclose(k(data), expected, rtol=1e-13)


def test_rank_one():
    k = RankOne(first)
    np.testing.assert_allclose(k(X), np.outer(X[:, 0], X[:, 0]), rtol=1e-15)
    np.testing.assert_allclose((k * G)(X), np.outer(X[:, 0], X[:, 0]) * G(X), rtol=1e-13)
    check_kernel(k, X)
    check_kernel(k * G + 1.0, X)
    with pytest.raises(ParameterError, match="RankOne"):
        RankOne(3.0).check()


def test_parts_declare_what_the_kernel_inside_does():
    part = NegativeDistance().on([0])
    assert part.order == 1 and G.on([0]).normalised and G.on([0]).bounded
    assert not G.on([0]).universal  # nor strict: other columns may differ
    assert G.on([0]).capabilities == frozenset({"pullback"})


@pytest.mark.parametrize("make", [lambda: L.on([0]).replace(kernel=3), lambda: G.tensor(L).replace(left=None)])
def test_the_inside_must_be_a_kernel(make):
    with pytest.raises(ParameterError, match="must be a Kernel"):
        make().check()

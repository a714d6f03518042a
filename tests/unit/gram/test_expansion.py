"""The fitted function."""

import pickle

import numpy as np

from mercer.domains import Strings, Vectors
from mercer.gram import Expansion, FeatureExpansion
from mercer.kernels import Gaussian, Polynomial, Spectrum

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

"""Count sketches, their products, and the Nystrom sketch of a matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.errors import ParameterError
from mercer.kernels import Gaussian
from mercer.numerics import sketches
from mercer.numerics.sketches import CountSketch, nystrom_sketch, sketched_product

rng = np.random.default_rng(0)
X = rng.normal(size=(5, 12))


def matrix(S):
    M = np.zeros((len(S.places), S.count))
    M[np.arange(len(S.places)), S.places] = S.signs
    return M


def test_a_count_sketch_is_a_matrix():
    S = CountSketch.draw(np.random.default_rng(1), 12, 7)
    assert np.allclose(S(X), X @ matrix(S))
    assert np.allclose(S(sp.csr_array(X)), X @ matrix(S))
    assert S(X.astype(np.float32)).dtype == np.float32
    out = np.zeros((5, 7))
    sketches._fold.py_func(X, S.places, S.signs, out)
    assert np.allclose(out, S(X))


def test_inner_products_are_right_on_average():
    generator = np.random.default_rng(2)
    exact = X @ X.T
    drawn = [(lambda Z: Z @ Z.T)(CountSketch.draw(generator, 12, 16)(X)) for _ in range(2000)]
    assert np.all(np.abs(np.mean(drawn, axis=0) - exact) < 5.0 * np.std(drawn, axis=0) / np.sqrt(2000) + 1e-12)


def test_the_sketch_of_an_outer_product():
    """By definition: places add modulo D, signs multiply."""
    a, b = CountSketch.draw(np.random.default_rng(3), 12, 9), CountSketch.draw(np.random.default_rng(4), 12, 9)
    found = sketched_product([a(X), b(X)])
    expected = np.zeros((5, 9))
    for i in range(12):
        for j in range(12):
            place = (int(a.places[i]) + int(b.places[j])) % 9
            expected[:, place] += int(a.signs[i]) * int(b.signs[j]) * X[:, i] * X[:, j]
    assert np.allclose(found, expected)
    single = sketched_product([a(X.astype(np.float32)), b(X.astype(np.float32))])
    assert single.dtype == np.float32 and np.allclose(single, expected, atol=1e-4)


@pytest.mark.parametrize("D", [1, 2, 10])
def test_one_factor_is_itself(D):
    S = CountSketch.draw(np.random.default_rng(5), 12, D)
    assert np.allclose(sketched_product([S(X)]), S(X))


def test_nystrom_sketch():
    points = rng.normal(size=(120, 2))
    K = Gaussian(1.0)(points)
    values = np.linalg.eigvalsh(K)[::-1]
    L = nystrom_sketch(lambda V: K @ V, 120, 40)
    rest = np.linalg.eigvalsh(K - L @ L.T)
    assert rest[0] > -1e-9 * values[0]
    assert rest[-1] < 10.0 * values[30]
    full = nystrom_sketch(lambda V: K @ V, 120, 500)
    assert np.allclose(full @ full.T, K, atol=1e-6)
    low = points @ points.T
    found = nystrom_sketch(lambda V: low @ V, 120, 10)
    assert found.shape[1] == 2 and np.allclose(found @ found.T, low)
    assert nystrom_sketch(lambda V: 0.0 * V, 5, 2).shape == (5, 0)


def test_what_does_not_fit_is_refused():
    S = CountSketch.draw(np.random.default_rng(1), 12, 7)
    S.check()
    with pytest.raises(ParameterError, match="12"):
        S(X[:, :5])
    for places, signs in ((S.places + 7, S.signs), (S.places, S.signs[:3]), (S.places, 0 * S.signs)):
        bad = CountSketch(places, signs, 7)
        with pytest.raises(ParameterError, match="fit together"):
            bad.check()

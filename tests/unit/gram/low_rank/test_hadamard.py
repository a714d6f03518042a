"""Transforms against the matrix of Hadamard; the law of structured projections."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from mercer.errors import ParameterError
from mercer.gram.low_rank import hadamard as module
from mercer.gram.low_rank.hadamard import StructuredProjection, hadamard_transform, padded_width

rng = np.random.default_rng(0)


@pytest.mark.parametrize("D", [1, 2, 4, 8, 16, 64, 128])
def test_transform(D):
    X = rng.normal(size=(3, D))
    before = X.copy()
    found = hadamard_transform(X)
    assert np.allclose(found, X @ hadamard(D)) and np.array_equal(X, before)
    assert np.allclose(hadamard_transform(found), D * X)
    small = hadamard_transform(X.astype(np.float32))
    assert small.dtype == np.float32 and np.allclose(small, found, atol=1e-4)


def test_python_twin():
    X = rng.normal(size=(2, 32))
    Y = X.copy()
    for row in Y:
        module._transform.py_func(row)
    assert np.array_equal(Y, hadamard_transform(X))


def test_other_widths_are_refused():
    with pytest.raises(ParameterError, match="power of two"):
        hadamard_transform(np.ones((2, 3)))
    with pytest.raises(ParameterError, match="shape"):
        hadamard_transform(np.ones(4))
    assert padded_width(1000) == 1024


@pytest.mark.parametrize(("width", "count"), [(1, 3), (3, 10), (8, 8), (5, 3)])
def test_projections_are_those_of_a_matrix(width, count):
    P = StructuredProjection.draw(np.random.default_rng(1), rng.uniform(1.0, 2.0, count), width)
    D = padded_width(width)
    W = np.zeros((count, D))
    H = hadamard(D)
    for i in range(count):
        b = i // D
        M = H @ np.diag(P.normal[b]) @ H[P.order[b]] @ np.diag(P.signs[b].astype(float))
        W[i] = P.lengths[i] * M[i % D]
    assert np.allclose(np.linalg.norm(W, axis=1), P.lengths)  # in the padded space
    X = rng.normal(size=(7, width))
    assert np.allclose(P(X), X @ W[:, :width].T)
    out = np.empty((7, count))
    module._project.py_func(X, P.signs, P.order, P.normal, P.lengths, np.empty((2, D)), out)
    assert np.allclose(out, P(X))
    assert P(X.astype(np.float32)).dtype == np.float32


def test_directions_are_uniform():
    """Rows scaled by chi lengths are normal, each on its own: their projections pass a test of normality."""
    from scipy.stats import chi, kstest

    generator = np.random.default_rng(2)
    x = np.array([[0.6, 0.0, 0.8]])
    values = np.concatenate(
        [StructuredProjection.draw(generator, chi(4).rvs(4, random_state=generator), 3)(x)[0] for _ in range(500)]
    )
    assert kstest(values, "norm").pvalue > 1e-3
    assert abs(np.mean(values)) < 0.1 and np.var(values) == pytest.approx(1.0, abs=0.1)


def test_same_seed_same_bits():
    one, two = (StructuredProjection.draw(np.random.default_rng(3), np.ones(9), 6) for _ in range(2))
    X = rng.normal(size=(4, 6))
    assert np.array_equal(one(X), two(X))


def test_what_does_not_fit_is_refused():
    P = StructuredProjection.draw(np.random.default_rng(3), np.ones(9), 6)
    P.check()
    with pytest.raises(ParameterError, match="at most"):
        P(np.ones((2, 9)))
    for bad in (
        StructuredProjection(P.signs, P.order + 1, P.normal, P.lengths),
        StructuredProjection(P.signs, P.order, P.normal[:1], P.lengths),
        StructuredProjection(P.signs, P.order, P.normal, np.ones(99)),
    ):
        with pytest.raises(ParameterError, match="fit together"):
            bad.check()

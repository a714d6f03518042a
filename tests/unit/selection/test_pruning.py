"""Pruning to a sparse model."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.kernels import Gaussian
from mercer.selection import lssvm_path, prune

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-3, 3, size=(80, 1)), axis=0)
Y = np.sinc(X[:, 0]) + 0.05 * rng.normal(size=80)
K = Gaussian(0.7)(X)


def naive(K, y, C, w, kept):
    n = len(kept)
    G = K[np.ix_(kept, kept)] + np.diag(1.0 / (C * w[kept]))
    A = np.block([[G, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(A, np.append(y[kept], 0.0))
    return solved[:n], solved[n]


def test_the_rounds_are_those_of_the_definition():
    w, C = rng.integers(1, 3, size=80).astype(float), 20.0
    found = prune(K, Y, C, w, fraction=0.1, tolerance=0.1)
    kept, sizes, errors, best = np.arange(80), [], [], None
    while True:
        coef, bias = naive(K, Y, C, w, kept)
        values = K[:, kept] @ coef + bias
        for place, i in enumerate(kept):
            rest = np.delete(kept, place)
            a, b = naive(K, Y, C, w, rest)
            values[i] = K[i, rest] @ a + b
        sizes.append(len(kept))
        errors.append(w @ (Y - values) ** 2 / w.sum())
        if errors[-1] > 1.1 * errors[0]:
            break
        best = kept, coef, bias, values
        order = np.argsort(np.abs(coef) / w[kept], kind="stable")
        kept = np.sort(kept[order[max(1, int(0.1 * len(kept))) :]])
    assert np.array_equal(found.sizes, sizes) and np.allclose(found.errors, errors, rtol=1e-7)
    assert np.array_equal(found.support, best[0]) and np.allclose(found.coef[:, 0], best[1], atol=1e-8)
    assert np.allclose(found.intercept, best[2]) and np.allclose(found.left_out[:, 0], best[3], atol=1e-8)
    assert len(found.support) < 80


def test_the_error_may_grow_by_its_standard_error():
    found = prune(K, Y, 20.0)
    first = (Y - lssvm_path(K, Y, [20.0]).left_out[0, :, 0]) ** 2
    limit = first.mean() + first.std() / np.sqrt(79)
    assert found.errors[-1] > limit and np.all(found.errors[:-1] <= limit) and len(found.support) < 65


def test_no_sample_goes_if_the_error_may_not_grow():
    found = prune(K, Y, 20.0, tolerance=-0.5)
    path = lssvm_path(K, Y, [20.0])
    assert len(found.support) == 80 and np.allclose(found.coef, path.coef[0]) and len(found.sizes) == 2
    assert np.allclose(found.left_out, path.left_out[0])


def test_classes_that_are_far_apart_need_few_samples():
    sign = np.where(X[:, 0] > 0, 1.0, -1.0)
    sign[np.abs(X[:, 0]) < 0.3] *= np.where(rng.random(np.sum(np.abs(X[:, 0]) < 0.3)) < 0.3, -1, 1)
    found = prune(K, sign, 1.0, loss="zero-one")
    assert len(found.support) < 30
    values = K[:, found.support] @ found.coef[:, 0] + found.intercept[0]
    assert np.mean(values * sign > 0) > 0.9


def test_a_monitor_ends_it_and_bad_fractions_are_refused():
    seen = []
    found = prune(K, Y, 20.0, tolerance=10.0, monitor=lambda share: seen.append(share) or len(seen) == 3)
    assert len(seen) == 3 and len(found.sizes) == 3 and len(found.support) == found.sizes[-1] == 80 - 4 - 3
    for fraction in (0.0, 1.0):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            prune(K, Y, 1.0, fraction=fraction)


def test_it_ends_with_two_samples_at_the_latest():
    found = prune(np.eye(6), np.ones(6), 1.0, fraction=0.9, tolerance=1e9)
    assert len(found.support) == 2

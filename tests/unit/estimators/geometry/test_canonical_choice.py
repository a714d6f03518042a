"""The choice of tau against fits without each sample, and against shuffles one by one."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.estimators.geometry.canonical import basis_of, canonical, correlations
from mercer.estimators.geometry.canonical_choice import left_out_correlation, shuffled_gap
from mercer.gram import Dense
from mercer.kernels import Gaussian

rng = np.random.default_rng(1)
n = 18
t = rng.normal(size=(n, 1))
VIEWS = (
    np.c_[t, rng.normal(size=(n, 1))],
    np.c_[np.sin(t) + 0.2 * rng.normal(size=(n, 1)), rng.normal(size=(n, 1))],
    np.c_[t + 0.3 * rng.normal(size=(n, 1)), rng.normal(size=(n, 1))],
)
KERNEL = Gaussian(1.5)


def bases(views, w):
    return [basis_of(Dense().build(KERNEL, Vectors.pack(view)), w) for view in views]


def one_by_one(views, w, tau, p):
    """Scores of each sample by a fit without one copy of it, signed like those of the whole."""
    k, total = len(views), w.sum()
    whole = bases(views, w)
    found = canonical(whole, [tau] * k, [p * total] * k, 1)
    signs = whole[0].vectors @ found.directions[0]
    rows = []
    for i in range(n):
        less = w.copy()
        less[i] -= 1.0
        kept = less > 0
        some, weight = [view[kept] for view in views], less[kept]
        parts = bases(some, weight)
        inner = canonical(parts, [tau] * k, [p * weight.sum()] * k, 1)
        row, first = [], None
        for view, basis, direction in zip(some, parts, inner.directions, strict=True):
            gram = Dense().build(KERNEL, Vectors.pack(view))
            f, _ = basis.expand(gram, np.sqrt(weight.sum()) * direction, weight)
            every = f(Vectors.pack(views[len(row)]))[:, 0]
            first = every if first is None else first
            row.append(every[i])
        turned = np.sign(float((signs[:, 0] / np.sqrt(w)) @ first))
        rows.append(turned * np.array(row))
    return correlations([column[:, None] for column in np.array(rows).T], w)[0]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_left_out_is_the_fit_without_the_sample(count, tau):
    views, w = VIEWS[:count], np.ones(n)
    found, change = left_out_correlation(bases(views, w), w, [tau] * count, lambda v, total: 0.7 * total)
    assert change <= 1e-6
    assert found == pytest.approx(one_by_one(views, w, tau, 0.7), abs=1e-4)


def test_of_several_copies_one_is_left_out():
    views, w = VIEWS[:2], rng.integers(1, 4, size=n).astype(float)
    found, _ = left_out_correlation(bases(views, w), w, [0.2, 0.2], lambda v, total: total)
    assert found == pytest.approx(one_by_one(views, w, 0.2, 1.0), abs=1e-4)
    copies = [np.repeat(view, w.astype(int), axis=0) for view in views]
    ones = np.ones(int(w.sum()))
    assert found == pytest.approx(
        left_out_correlation(bases(copies, ones), ones, [0.2, 0.2], lambda v, total: total)[0], abs=1e-4
    )


def test_without_norm_nothing_is_left():
    views, w = VIEWS[:2], np.ones(n)
    narrow = [basis_of(Dense().build(Gaussian(0.3), Vectors.pack(view)), w) for view in views]
    assert left_out_correlation(narrow, w, [0.0, 0.0], lambda v, total: total)[0] == -1.0


@pytest.mark.parametrize("count", [2, 3])
def test_shuffled_gap_is_the_distance_of_spectra(count):
    w, taus, penalties = np.ones(n), [0.2] * count, [float(n)] * count
    views = VIEWS[:count]
    orders = [[rng.permutation(n) for _ in range(count - 1)] for _ in range(3)]
    true = canonical(bases(views, w), taus, penalties, 1).values
    null = [
        canonical(
            bases([views[0], *(v[o] for v, o in zip(views[1:], order, strict=True))], w), taus, penalties, 1
        ).values
        for order in orders
    ]
    want = np.linalg.norm(true - np.mean(null, axis=0))
    assert shuffled_gap(bases(views, w), taus, penalties, orders) == pytest.approx(want, abs=1e-7)

"""Views as columns, as packed tables and side by side."""

import numpy as np
import pandas as pd
import pytest

from mercer import SVM2K, CoRegularizedRidge, MultiViewLaplacianSVC
from mercer.errors import CapabilityError, DomainError, IndefiniteWarning, TargetError
from mercer.kernels import Gaussian, Linear, NegativeDistance, Precomputed, Spectrum, Sum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(15, 4))
Y = X[:, 0] + X[:, 2]
A, B = [0, 1], [2, 3]


def test_every_form_is_the_same_machine():
    k = Gaussian(1.0), Linear()
    expected = CoRegularizedRidge((k[0].on(A), k[1].on(B))).fit(X, Y).predict(X)
    table = pd.DataFrame(X, columns=list("abcd"))
    named = k[0].on(["a", "b"]), k[1].on(["c", "d"])
    assert np.allclose(CoRegularizedRidge(named).fit(table, Y).predict(table), expected)
    packed = Sum(named).pack(table)
    assert np.allclose(CoRegularizedRidge(named).fit(packed, Y).predict(packed), expected)
    views = [X[:, A], X[:, B]]
    assert np.allclose(CoRegularizedRidge(k).fit(views, Y).predict(views), expected)


def test_views_of_different_domains():
    words = ["".join(RNG.choice(list("ab"), 6)) for _ in range(15)]
    table = {"word": words, "u": X[:, 0]}
    model = CoRegularizedRidge((Spectrum(2).on("word"), Gaussian(1.0).on(["u"]))).fit(table, Y)
    assert model.view_values(table).shape == (15, 2)


def test_refusals():
    with pytest.raises(DomainError, match="two views or more"):
        CoRegularizedRidge((Linear(),)).fit(X, Y)
    with pytest.raises(TargetError, match=r"\[15, 14\]"):
        CoRegularizedRidge((Linear(), Linear())).fit([X, X[:14]], Y)
    with pytest.raises(CapabilityError, match="not positive definite"):
        CoRegularizedRidge((Linear(), NegativeDistance())).fit(X, Y)


@pytest.mark.parametrize("machine", [CoRegularizedRidge, SVM2K, MultiViewLaplacianSVC])
def test_a_view_of_two_domains_is_refused(machine):
    with pytest.raises(DomainError, match="at once"):
        machine((Linear() + Spectrum(2), Linear())).fit(X, (Y > 0).astype(int))


def test_values_that_overflow_are_refused_and_means_do_not():
    model = CoRegularizedRidge(Linear()).fit(X, Y)
    model.view_values = lambda X: np.full((len(X), 2), 1.5e308)
    assert model.predict(X[:1]) == 1.5e308
    del model.view_values
    model.expansions_ = tuple(lambda T, resources: np.full(len(T), np.inf) for _ in range(2))
    with pytest.raises(DomainError, match="too large"):
        model.predict(X)


def test_similarities_that_are_not_definite_are_told():
    K = np.array([[1.0, 2.0, 0.0, 0.0], [2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.5, 1.0]])
    with pytest.warns(IndefiniteWarning):
        SVM2K(Precomputed()).fit(K, [0, 1, 0, 1])

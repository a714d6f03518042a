"""Measures: quadrature rules against integrals that are known, samples against means."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mercer.domains import Vectors
from mercer.errors import DomainError, MemoryBudgetError, ParameterError
from mercer.hilbert.measures import Circle, Normal, ProductMeasure, Sampled, Uniform
from mercer.kernels import Gaussian, Linear, Spectrum


def mean(measure, f):
    S, w = measure.nodes(Linear())
    return float(w @ f(S.X))


@pytest.mark.parametrize("degree", range(10))
def test_uniform_is_exact_for_polynomials(degree):
    got = mean(Uniform(-1.0, 3.0, count=5), lambda X: X[:, 0] ** degree)
    assert got == pytest.approx((3.0 ** (degree + 1) - (-1.0) ** (degree + 1)) / (4.0 * (degree + 1)), rel=1e-12)


@pytest.mark.parametrize("degree", range(10))
def test_normal_has_the_moments_of_the_bell(degree):
    got = mean(Normal(count=5), lambda X: X[:, 0] ** degree)
    assert got == pytest.approx(0.0 if degree % 2 else float(np.prod(range(1, degree, 2))), rel=1e-12, abs=1e-12)


def test_normal_moves_and_stretches():
    measure = Normal((1.0, -2.0), (0.5, 3.0), count=4)
    S, w = measure.nodes(Linear())
    assert np.allclose(w @ S.X, (1.0, -2.0))
    assert np.allclose(np.sqrt(w @ (S.X - (1.0, -2.0)) ** 2), (0.5, 3.0))


@pytest.mark.parametrize("count", [1, 150, 151, 1000])
def test_normal_of_many_points_has_mass_one_and_no_zero_weight(count):
    S, w = Normal(count=count).nodes(Linear())
    assert w.sum() == pytest.approx(1.0, rel=1e-12)
    assert (w > 0.0).all() and np.isfinite(S.X).all()
    assert mean(Normal(count=count), lambda X: np.cos(X[:, 0])) == pytest.approx(
        np.exp(-0.5) if count > 1 else 1.0, rel=1e-12
    )


@pytest.mark.parametrize("turns", range(-7, 8))
def test_circle_is_exact_for_waves(turns):
    got = mean(Circle(period=3.0, count=8), lambda X: np.cos(2.0 * np.pi * turns * X[:, 0] / 3.0))
    assert got == pytest.approx(1.0 if turns == 0 else 0.0, abs=1e-14)


def test_circle_takes_as_many_turns_as_it_has_points_for_none():
    assert mean(Circle(count=8), lambda X: np.cos(16.0 * np.pi * X[:, 0])) == pytest.approx(1.0)


def test_product_is_the_product_of_integrals():
    measure = Uniform(0.0, 2.0, count=6) * Normal(1.0, 2.0, count=7)
    assert isinstance(measure, ProductMeasure)
    got = mean(measure, lambda X: X[:, 0] ** 3 * X[:, 1] ** 2)
    assert got == pytest.approx(2.0 * 5.0, rel=1e-12)
    box = Uniform((0.0, -1.0), (1.0, 1.0), count=4)
    sides = Uniform(0.0, 1.0, count=4) * Uniform(-1.0, 1.0, count=4)
    for one, other in zip(box.nodes(Linear()), sides.nodes(Linear()), strict=True):
        assert np.array_equal(getattr(one, "X", one), getattr(other, "X", other))


def test_product_with_a_sample():
    measure = Sampled([[0.0, 1.0], [2.0, 3.0]], weight=(3.0, 1.0)) * Circle(count=3)
    S, w = measure.nodes(Linear())
    assert S.X.shape == (6, 3)
    assert np.allclose(w @ S.X, (0.5, 1.5, 1.0 / 3.0))
    sparse = Sampled(sp.csr_array([[0.0, 1.0], [2.0, 3.0]]), weight=(3.0, 1.0)) * Circle(count=3)
    assert np.array_equal(sparse.nodes(Linear())[0].X, S.X)


def test_products_are_flat_and_print_as_they_are_written():
    measure = Uniform(count=2) * Normal(count=3) * Circle(count=4)
    assert len(measure.measures) == 3
    assert repr(measure) == "Uniform(0.0, count=2) * Normal(0.0, count=3) * Circle(1.0, count=4)"
    nested = ProductMeasure((measure,))
    assert repr(nested).startswith("ProductMeasure(")
    assert measure.__mul__(2.0) is NotImplemented


def test_a_sample_counts_as_often_as_its_weight():
    X = [[0.0], [1.0], [5.0]]
    weighted = mean(Sampled(X, weight=(2, 1, 0)), lambda Z: np.exp(Z[:, 0]))
    repeated = mean(Sampled([X[0], X[0], X[1]]), lambda Z: np.exp(Z[:, 0]))
    assert weighted == pytest.approx(repeated, rel=1e-15)
    S, w = Sampled(X, weight=(2, 1, 0)).nodes(Linear())
    assert len(S) == 2
    assert w.sum() == 1.0
    assert Sampled(X, weight=(1e308, 1e308, 1e308)).nodes(Linear())[1] == pytest.approx(np.full(3, 1 / 3))


def test_samples_of_any_domain():
    S, w = Sampled(["ab", "b"]).nodes(Spectrum(1))
    assert len(S) == 2
    assert w.tolist() == [0.5, 0.5]
    table = {"gene": ["ab", "b", "a"], "size": [1.0, 2.0, 4.0]}
    kernel = Spectrum(1).on("gene") + Linear().on("size")
    assert Sampled(table).nodes(kernel)[1].tolist() == [1 / 3] * 3
    packed = Vectors.pack([[1.0], [2.0]])
    assert Sampled(packed).nodes(Linear())[0] is packed
    assert len(Sampled(sp.csr_array([[1.0, 0.0]])).nodes(Linear())[0]) == 1


@pytest.mark.parametrize(
    "measure",
    [
        Uniform(1.0, 0.0),
        Uniform((0.0, 0.0), (1.0, 1.0, 1.0)),
        Uniform(0.0, np.inf),
        Uniform(count=0),
        Normal(scale=0.0),
        Normal((0.0, 1.0), (1.0, 1.0, 1.0)),
        Circle(period=-1.0),
        Sampled([[1.0]], weight=(-1.0,)),
        Sampled([[1.0]], weight=(0.0,)),
        Sampled([[1.0]], weight=("a",)),
        Sampled([[1.0]], weight=((1.0,),)),
        ProductMeasure(()),
        ProductMeasure((1.0,)),
        ProductMeasure((Normal(scale=-1.0),)),
    ],
)
def test_bad_parameters_are_refused_with_advice(measure):
    with pytest.raises(ParameterError, match=r"Use|Give|Try|Leave out|Exchange|Write|Look"):
        measure.nodes(Linear())


def test_weights_must_be_as_many_as_samples():
    with pytest.raises(DomainError, match="2 weights for 1 points"):
        Sampled([[1.0]], weight=(1.0, 2.0)).nodes(Linear())


def test_a_grid_that_does_not_fit_is_refused_before_it_is_made():
    with pytest.raises(MemoryBudgetError, match="a smaller count"):
        Uniform((0.0,) * 8, (1.0,) * 8).nodes(Gaussian(1.0))


def test_measures_are_specs():
    measure = Uniform(0.0, 1.0, count=3) * Normal(count=2)
    assert clone(measure) == measure
    assert measure.get_params()["0__count"] == 3

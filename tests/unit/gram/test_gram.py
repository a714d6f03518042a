"""What every Gram offers."""

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import MemoryBudgetError
from mercer.gram import Dense, Features, HasEigen, HasFactor, HasRows, Tiles
from mercer.gram.gram import gram_plan
from mercer.kernels import Gaussian, Linear
from mercer.problems import Solution, Status

X = np.random.default_rng(0).normal(size=(20, 3))
T = np.random.default_rng(1).normal(size=(7, 3))


@pytest.mark.parametrize("spec", [Dense(), Tiles(), Features()], ids=repr)
def test_cross_is_the_matrix_between_new_and_training_samples(spec):
    gram = spec.build(Linear(), Vectors.pack(X))
    cross = gram.cross(Vectors.pack(T))
    assert cross.shape == (7, 20)
    assert np.allclose(cross.to_dense(), T @ X.T)
    V = np.random.default_rng(2).normal(size=(20, 2))
    assert np.allclose(cross @ V, T @ X.T @ V)
    assert np.allclose(cross @ V[:, 0], T @ X.T @ V[:, 0])


@pytest.mark.parametrize("spec", [Dense(), Tiles(), Features()], ids=repr)
def test_expand_gives_the_function_of_the_coefficients(spec):
    coef = np.random.default_rng(3).normal(size=20)
    coef[[2, 5]] = 0.0
    f = spec.build(Linear(), Vectors.pack(X)).expand(Solution(coef, Status.CONVERGED, 0.0), intercept=0.5)
    assert np.allclose(f(Vectors.pack(T)), T @ X.T @ coef + 0.5)


def test_zero_coefficients_are_dropped():
    coef = np.zeros((20, 2))
    coef[4, 0], coef[9, 1] = 1.0, 2.0
    f = Dense().build(Gaussian(1.0), Vectors.pack(X)).expand(Solution(coef, Status.CONVERGED, 0.0))
    assert len(f.samples) == 2
    assert np.allclose(f(Vectors.pack(T)), Gaussian(1.0)(T, X) @ coef)


def test_capabilities_are_what_the_protocols_say():
    S = Vectors.pack(X)
    dense, tiles, features = (spec.build(Linear(), S) for spec in (Dense(), Tiles(), Features()))
    assert all(isinstance(gram, HasRows) for gram in (dense, tiles, features))
    assert [isinstance(gram, HasFactor) for gram in (dense, tiles, features)] == [False, False, True]
    assert not any(isinstance(gram, HasEigen) for gram in (dense, tiles, features))


def test_the_plan_names_the_alternative():
    plan = gram_plan("Gaussian(1.0)", 300_000)
    assert plan.total == 8 * 300_000**2
    with pytest.raises(MemoryBudgetError, match=r"671 GiB .*budget 1\.9 GiB.*Tiles\(\)"):
        plan.require("2GB")


def test_to_dense_respects_the_budget():
    gram = Tiles().build(Gaussian(1.0), Vectors.pack(X), Resources(memory=100))
    with pytest.raises(MemoryBudgetError):
        gram.to_dense()
    cross = Tiles().build(Gaussian(1.0), Vectors.pack(X), Resources(memory=100)).cross(Vectors.pack(T))
    with pytest.raises(MemoryBudgetError):
        cross.to_dense()


def test_repr_says_what_it_is():
    assert repr(Dense().build(Gaussian(1.0), Vectors.pack(X))) == "<DenseGram Gram of Gaussian(1.0) on 20 samples>"

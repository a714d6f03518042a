"""What estimators choose: Gram, solver, and a plan of what that takes."""

import numpy as np
import pytest

from mercer import SVC, KernelPCA, KernelRidge
from mercer.domains import Vectors
from mercer.errors import MemoryBudgetError
from mercer.estimators.choosing import Choosing
from mercer.estimators.estimator import KernelEstimator
from mercer.gram import Auto, Dense, FastGauss, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear
from mercer.solvers import Cholesky, ConjugateGradient, Woodbury

X = np.random.default_rng(0).normal(size=(30, 3))
Y = X[:, 0]


def test_the_plan_follows_the_gram():
    dense, tiles = KernelRidge(gram=Dense()).memory_plan(5000, 3), KernelRidge(gram=Tiles()).memory_plan(5000, 3)
    assert dense.buffers["Gram matrix"] == 8 * 5000**2 and "Gram matrix" not in tiles.buffers
    assert dense.total > tiles.total and "KernelRidge on 5000 samples" in str(dense)


def test_the_choices_are_in_one_place():
    own = set(vars(Choosing)) & set(vars(KernelEstimator))
    assert not {name for name in own if callable(getattr(Choosing, name))} - {"__init__"}


@pytest.mark.parametrize(
    ("gram", "solver"), [(Dense(), Cholesky), (Tiles(), ConjugateGradient), (Nystrom(10), Woodbury)], ids=repr
)
def test_the_solver_follows_the_gram(gram, solver):
    model = KernelRidge(Gaussian(1.0), gram=gram).fit(X, Y)
    assert isinstance(model.solver_, solver) and model.gram_ == gram


def test_auto_looks_at_the_features():
    S = Vectors.pack(X)
    assert KernelRidge(Linear())._gram_spec(Linear(), S) == Features()
    assert KernelRidge(Gaussian(1.0))._gram_spec(Gaussian(1.0), S) == Dense()
    assert KernelRidge(gram=Auto(tol=0.1))._gram_spec(Linear(), S) == Auto(tol=0.1)  # decided by the samples


def test_a_transform_is_for_those_who_need_products_alone():
    assert KernelRidge()._can_use(FastGauss()) and not SVC()._can_use(FastGauss())
    assert all(KernelPCA()._can_use(spec) for spec in (Dense(), Tiles(), Nystrom(5)))


def test_a_refusal_names_the_ways_that_fit():
    wide = Vectors.pack(np.zeros((20_000, 2)))
    with pytest.raises(MemoryBudgetError, match=r"gram=Tiles\(\) \(about"):
        KernelRidge(Gaussian(1.0), memory="1GB")._require_with(Dense(), wide)

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, SVDD, KernelRidge, LinearSVC
from mercer.errors import DomainError, TargetError
from mercer.estimators.certificates.fitted_balls import ball_of, class_codes, diagonal_of, two_class_problems
from mercer.gram import RandomFeatures
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.digitize(X[:, 0], [-0.5, 0.5])
TWO = (Y > 0).astype(int)


def test_diagonal_is_that_of_the_kernel_or_of_features():
    T = Linear().pack(X)
    assert diagonal_of(SVC(Linear()).fit(X, TWO), T) == pytest.approx((X**2).sum(axis=1))
    assert diagonal_of(LinearSVC().fit(sp.csr_matrix(X), TWO), Linear().pack(sp.csr_matrix(X))) == pytest.approx(
        (X**2).sum(axis=1)
    )
    model = SVC(Gaussian(1.0), gram=RandomFeatures(50, random_state=0)).fit(X, TWO)
    assert (diagonal_of(model, Gaussian(1.0).pack(X)) >= 1.0).all()


def test_rectangular_similarities_are_refused():
    K = np.asarray(Gaussian(1.0)(X))
    model = SVC("precomputed").fit(K, TWO)
    with pytest.raises(DomainError, match="square matrix"):
        diagonal_of(model, model.kernel_.pack(K[:10]))


def test_offset_is_none_only_where_there_is_none_by_construction():
    T = Gaussian(1.0).pack(X)
    ridge = KernelRidge(Gaussian(1.0)).fit(X, X[:, 0])
    assert ball_of(ridge, ridge.expansion_, X[:, 0], np.ones(60), T).offset is None
    machine = SVC(Gaussian(1.0)).fit(X, TWO)
    found = ball_of(machine, machine.expansion_, X[:, 0], np.ones(60), T)
    assert found.offset == abs(machine.intercept_[0])
    assert found.norm == pytest.approx(machine.expansion_.norm())


def test_a_ball_in_feature_space_has_one_more_feature():
    model = SVDD(Gaussian(1.0), C=0.1).fit(X)
    found = ball_of(model, model.expansion_, X[:, 0], np.ones(60), Gaussian(1.0).pack(X))
    assert found.diagonal == pytest.approx(np.full(60, 2.0))
    assert found.norm > 1.0


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_where_all_problems_are_right_the_class_is(scheme):
    model = SVC(Gaussian(1.0), multi_class=scheme).fit(X, Y)
    values = np.asarray(model.expansion_(model.kernel_.pack(X)))
    parts = two_class_problems(model, values, class_codes(model, Y, 60), np.ones(60), model.kernel_.pack(X))
    assert len(parts) == 3
    right = np.all([part.margins > 0 for part in parts], axis=0)
    assert right.any()
    assert (model.predict(X)[right] == Y[right]).all()


def test_labels_that_were_not_learned_are_refused():
    model = SVC(Gaussian(1.0)).fit(X, TWO)
    with pytest.raises(TargetError, match="one label each"):
        class_codes(model, TWO[:5], 60)
    with pytest.raises(TargetError, match="not among"):
        class_codes(model, TWO + 5, 60)

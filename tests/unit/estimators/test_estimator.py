"""What all estimators share: doors, plans, tags."""

import numpy as np
import pandas as pd
import pytest

from mercer import SVC, KernelPCA, KernelRidge
from mercer.domains import Strings, Vectors
from mercer.errors import DomainError, MemoryBudgetError, TargetError
from mercer.estimators.estimator import KernelEstimator, sample_weights, scattered, weighted
from mercer.gram import Auto, Dense, FastGauss, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, Precomputed, Spectrum
from mercer.solvers import Cholesky, ConjugateGradient, Woodbury

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
Y = X[:, 0]


def test_names_and_numbers_of_columns_are_kept_and_compared():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = KernelRidge().fit(frame, Y)
    assert list(model.feature_names_in_) == ["a", "b", "c"] and model.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    packed = KernelRidge(Gaussian(1.0)).fit(Vectors.pack(X), Y)
    assert packed.n_features_in_ == 3
    with pytest.raises(DomainError, match="X has 2 features, but KernelRidge is expecting 3"):
        packed.predict(Vectors.pack(X[:, :2]))


def test_data_for_which_the_kernel_is_not_made():
    for data in (["abc"] * 30, Strings.pack(["abc"] * 30)):
        with pytest.raises(DomainError, match="Spectrum"):
            KernelRidge().fit(data, Y)
    with pytest.raises(DomainError, match="Strings"):
        KernelRidge(Spectrum(2)).fit(X, Y)


def test_a_precomputed_matrix_must_be_square():
    with pytest.raises(DomainError, match="square"):
        KernelRidge(Precomputed()).fit(X, Y)


def test_tags_follow_the_kernel():
    assert KernelRidge("precomputed").__sklearn_tags__().input_tags.pairwise
    assert KernelRidge(Precomputed()).__sklearn_tags__().input_tags.pairwise
    assert not KernelRidge(Linear()).__sklearn_tags__().input_tags.pairwise


def test_targets_of_another_length():
    with pytest.raises(TargetError, match="inconsistent numbers of samples"):
        KernelRidge().fit(X, Y[:-1])


def test_weighted_and_spread():
    S, values, w, used = weighted(Vectors.pack(X), Y, np.arange(30) % 2)
    assert len(S) == len(values) == 15 and np.all(w == 1) and np.array_equal(used, np.arange(1, 30, 2))
    assert np.array_equal(scattered(values, used, 30), np.where(np.arange(30) % 2, Y, 0.0))
    assert np.array_equal(sample_weights(2.0, 3), [2.0, 2.0, 2.0])


def test_the_base_class_stores_only():
    base = KernelEstimator("rbf", gamma=0.5, memory="1GB")
    assert base.get_params()["gamma"] == 0.5 and base.kernel == "rbf"


# what is chosen ----------------------------------------------------------------------------------


def test_the_plan_follows_the_gram():
    dense, tiles = KernelRidge(gram=Dense()).memory_plan(5000, 3), KernelRidge(gram=Tiles()).memory_plan(5000, 3)
    assert dense.buffers["Gram matrix"] == 8 * 5000**2 and "Gram matrix" not in tiles.buffers
    assert dense.total > tiles.total and "KernelRidge on 5000 samples" in str(dense)


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

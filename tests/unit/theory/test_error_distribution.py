import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from mercer import SVC, KernelMeanClassifier
from mercer.errors import DomainError, ParameterError, TargetError
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.theory import error_distribution

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 2)) + np.repeat([[0.0], [1.5]], 45, axis=0)
Y = np.repeat(["a", "b"], 45)


def test_errors_are_those_of_fits_by_hand():
    found = error_distribution(KernelMeanClassifier(Linear()), X, Y, (30, 8), 3, random_state=5)
    rng = np.random.default_rng(5)
    for j, size in enumerate((30, 8)):
        for k in range(3):
            order = rng.permutation(90)
            while len(set(Y[order[:size]])) < 2:
                order = rng.permutation(90)
            model = KernelMeanClassifier(Linear()).fit(X[order[:size]], Y[order[:size]])
            assert found.errors[0, j, k] == pytest.approx(np.mean(model.predict(X[order[size:]]) != Y[order[size:]]))


def test_learners_see_the_same_training_sets():
    twice = {"one": KernelMeanClassifier(Linear()), "two": KernelMeanClassifier(Linear())}
    found = error_distribution(twice, X, Y, (20, 7), 5)
    assert (found.errors[0] == found.errors[1]).all()
    assert found.names == ("one", "two")


def test_the_ten_sizes_of_the_slides_are_the_default():
    many = np.concatenate([X] * 4)
    found = error_distribution(KNeighborsClassifier(1), many, np.tile(Y, 4), repeats=1)
    assert found.sizes == (342, 273, 205, 137, 68, 34, 27, 20, 14, 7)
    assert found.whole.shape == (1,)


def test_confident_error_is_at_least_the_median_and_the_table_has_all_rows():
    found = error_distribution(KernelMeanClassifier(Linear()), X, Y, (30, 8), 20)
    assert (found.quantile(0.95) >= found.quantile(0.5)).all()
    assert len(found.table().splitlines()) == 1 + 2 + 1 + 1
    assert repr(found) == "<ErrorDistribution of KernelMeanClassifier: 2 sizes, 20 repeats>"


def test_strings_and_precomputed_similarities():
    words = ["abab", "babb", "abba", "cdcd", "dccd", "cddd"] * 4
    labels = np.array([0, 0, 0, 1, 1, 1] * 4)
    plain = error_distribution(SVC(Spectrum(2)), words, labels, (8,), 2)
    given = error_distribution(SVC("precomputed"), np.asarray(Spectrum(2)(words)), labels, (8,), 2)
    assert (plain.errors == given.errors).all()


def test_arguments_are_refused_in_words():
    model = SVC(Gaussian(1.0))
    with pytest.raises(ParameterError, match="sizes from 2"):
        error_distribution(model, X, Y, (90,), 1)
    with pytest.raises(DomainError, match="two classes"):
        error_distribution(model, X, np.zeros(90), (10,), 1)
    rare = np.r_[np.ones(1), np.zeros(9999)]
    with pytest.raises(DomainError, match="too rare"):
        error_distribution(model, np.zeros((10_000, 1)), rare, (2,), 1, random_state=0)


def test_columns_of_any_library_and_labels_that_are_not_there():
    import pyarrow as pa

    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    learner = KernelMeanClassifier(Linear())
    expected = error_distribution(learner, X, Y, (20,), 2)
    np.testing.assert_array_equal(error_distribution(learner, table, Y, (20,), 2).errors, expected.errors)
    with pytest.raises(TargetError, match="label"):
        error_distribution(learner, X, [None, *Y[1:]], (20,), 2)
    with pytest.raises(DomainError, match="X is None"):
        error_distribution(learner, None, Y, (20,), 2)

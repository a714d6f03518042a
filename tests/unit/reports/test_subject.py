"""What a report is about."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelMeanClassifier, KernelRidge, ParzenDensity
from mercer.domains import Vectors
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Gaussian, Spectrum
from mercer.reports.subject import Subject, rows_of

X = np.random.default_rng(0).normal(size=(12, 2))
y = X[:, 0] + 1.0
labels = np.where(y > 1, "b", "a")


def test_tasks():
    assert Subject.of(KernelRidge().fit(X, y), X, y).task == "regression"
    assert Subject.of(KernelMeanClassifier().fit(X, labels), X, labels).task == "classification"
    assert Subject.of(ParzenDensity().fit(X), X).task == "density"


def test_samples_are_packed_for_the_kernel():
    subject = Subject.of(KernelRidge(Gaussian(1.0)).fit(X, y), X, y)
    assert isinstance(subject.samples, Vectors)
    assert subject.data is subject.samples
    assert subject.n == 12


def test_without_data_the_samples_are_those_kept():
    subject = Subject.of(KernelRidge(Gaussian(1.0)).fit(X, y))
    assert subject.n is None
    assert len(subject.samples) == 12
    assert subject.data is None


def test_a_pipeline_is_looked_through():
    pipeline = make_pipeline(StandardScaler(), KernelRidge(Gaussian(1.0))).fit(X, y)
    subject = Subject.of(pipeline, X, y)
    assert subject.model is pipeline[-1]
    assert np.allclose(subject.samples.X, StandardScaler().fit_transform(X))
    assert subject.data is X
    assert np.array_equal(subject.take(np.array([3, 1])).X, X[[3, 1]])


def test_other_estimators_have_no_kernel():
    subject = Subject.of(LinearRegression().fit(X, y), X, y)
    assert subject.kernel is None
    assert subject.samples is None


def test_an_unfitted_estimator_is_copied_and_fitted():
    model = KernelRidge(Gaussian(1.0))
    subject = Subject.of(model, X, y)
    assert not subject.was_fitted
    assert hasattr(subject.model, "kernel_")
    assert not hasattr(model, "kernel_")
    with pytest.raises(NotFittedError):
        Subject.of(model)


def test_taking_some_takes_targets_along():
    texts = ["ab", "bc", "cd", "de"]
    subject = Subject.of(KernelRidge(Spectrum(1)).fit(texts, [0.0, 1, 2, 3]), texts, [0.0, 1, 2, 3])
    some = subject.take(np.array([2, 0]))
    assert some.n == 2
    assert some.y.tolist() == [2.0, 0.0]
    assert some.samples.symbols(0) == ("c", "d")
    assert subject.take(np.arange(4)) is subject


def test_rows_of_anything():
    index = np.array([1, 0])
    assert rows_of(["a", "b", "c"], index) == ["b", "a"]
    assert rows_of({"u": np.arange(3)}, index)["u"].tolist() == [1, 0]
    assert rows_of(pd.DataFrame({"u": [5, 6, 7]}), index)["u"].tolist() == [6, 5]


@pytest.mark.parametrize("thing", ["model", 3, KernelRidge])
def test_what_is_no_estimator_is_refused(thing):
    with pytest.raises(ParameterError, match="a fitted estimator is accepted"):
        Subject.of(thing, X, y)


def test_lengths_must_agree():
    model = KernelRidge().fit(X, y)
    with pytest.raises(DomainError, match="one target per sample"):
        Subject.of(model, X, y[:5])
    with pytest.raises(ParameterError, match="without X"):
        Subject.of(model, None, y)

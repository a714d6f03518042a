"""Products and powers of kernels as a family."""

import math

import numpy as np
import pytest

from mercer import MultipleKernelClassifier, nonlinear_family
from mercer.errors import ParameterError
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))


def test_products_are_products():
    family = nonlinear_family({"a": Gaussian(1.0), "b": Linear()}, 3)
    assert len(family) == math.comb(2 + 3, 3) - 1
    K, L = Gaussian(1.0)(X), Linear()(X)
    assert np.allclose(family["a^2 * b"](X), K**2 * L)
    assert np.allclose(family["b^3"](X), L**3)


def test_an_interaction_is_found():
    columns = {"a": Linear().on(0), "b": Linear().on(1)}
    y = X[:, 0] * X[:, 1] > 0
    model = MultipleKernelClassifier(nonlinear_family(columns, 2), 10.0, normalization="trace").fit(X, y)
    assert model.kernel_names_[int(np.argmax(model.weights_))] == "a * b"
    assert model.score(X, y) > 0.95 > MultipleKernelClassifier(columns, 10.0).fit(X, y).score(X, y)


def test_what_is_refused():
    with pytest.raises(ParameterError, match="Give a list of kernels"):
        nonlinear_family(None)
    with pytest.raises(ParameterError, match="Give a smaller order"):
        nonlinear_family([Linear()] * 60, 4)

"""Novelty detection with several kernels: against the machine itself, and the nu-property."""

import numpy as np

import mercer
from mercer import MultipleKernelDetector
from mercer.kernels import Gaussian

rng = np.random.default_rng(3)
X = rng.normal(size=(80, 2))
T = rng.normal(size=(8, 2))


def test_one_kernel_is_the_machine_itself():
    model = MultipleKernelDetector([Gaussian(1.0)], nu=0.2).fit(X)
    single = mercer.OneClassSVM(Gaussian(1.0), nu=0.2).fit(X)
    assert np.allclose(model.score_samples(T), single.score_samples(T), rtol=1e-6)
    assert np.isclose(model.offset_, single.offset_, rtol=1e-6)


def test_nu_bounds_outliers_and_support_vectors():
    model = MultipleKernelDetector(nu=0.2).fit(X)
    assert np.mean(model.decision_function(X) < 0.0) <= 0.2 + 1e-12
    assert len(model.support_) / 80 >= 0.2 and model.coverage_ >= 0.8
    s = model.squares_
    assert np.all(s[model.weights_ > 0.0] >= s.max() * (1.0 - 1e-6))
    assert model.predict([[0.0, 0.0], [9.0, 9.0]]).tolist() == [1, -1]

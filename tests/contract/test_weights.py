"""A sample of weight w counts as w copies (TRUST row 2): dense and sparse, five seeds."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import KernelMeanClassifier, KernelRidge, ParzenDensity
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers import ConjugateGradient

MODELS = {
    "default": lambda: KernelRidge(),
    "dense": lambda: KernelRidge(Gaussian(1.5), alpha=0.1, gram=Dense()),
    "primal": lambda: KernelRidge(Polynomial(2), alpha=0.1),
    "primal with n < D": lambda: KernelRidge(Polynomial(5), alpha=0.1),
    "tiles": lambda: KernelRidge(Gaussian(1.5), alpha=0.1, gram=Tiles(), solver=ConjugateGradient(tol=1e-12)),
    "mean": lambda: KernelMeanClassifier(),
    "mean, linear": lambda: KernelMeanClassifier(Linear()),
    "density": lambda: ParzenDensity(),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", MODELS)
def test_weight_is_repetition(name, sparse, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 4)) * (rng.random((40, 4)) < 0.7)
    y = rng.integers(0, 3, size=40)
    w = rng.integers(0, 5, size=40)
    repeated = rng.permutation(np.repeat(np.arange(40), w))
    convert = sp.csr_array if sparse else np.asarray
    a = MODELS[name]().fit(convert(X), y, sample_weight=w)
    b = MODELS[name]().fit(convert(X[repeated]), y[repeated])
    method = next(m for m in ("decision_function", "score_samples", "predict") if hasattr(a, m))
    fa, fb = getattr(a, method)(convert(X)), getattr(b, method)(convert(X))
    assert np.max(np.abs(fa - fb)) <= 1e-6 * np.max(np.abs(fb))

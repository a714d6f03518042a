"""Peak memory, and the plan that foretells it (TRUST rows 12 and 13)."""

import gc
import time
import tracemalloc

import numpy as np
import pytest

from mercer import KernelMeanClassifier, KernelRidge
from mercer.errors import MemoryBudgetError
from mercer.gram import Dense
from mercer.kernels import Gaussian, Laplacian, Matern

rng = np.random.default_rng(0)


def peak_of(call):
    gc.collect()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module", autouse=True)
def compiled_before():
    KernelRidge(Gaussian(2.0), leave_one_out=True).fit(rng.normal(size=(50, 3)), np.ones(50)).predict([[0.0] * 3])


def test_kernel_ridge_fits_in_the_memory_of_its_gram_matrix():
    X, y = rng.normal(size=(4000, 10)), rng.normal(size=4000)
    square = 8 * 4000**2
    assert peak_of(lambda: KernelRidge(Gaussian(3.0)).fit(X, y)) <= 1.3 * square
    assert peak_of(lambda: KernelRidge(Gaussian(3.0), leave_one_out=True).fit(X, y)) <= 1.3 * square
    model = KernelRidge(Gaussian(3.0)).fit(X, y)
    assert peak_of(lambda: model.predict(X)) <= 0.2 * square


@pytest.mark.parametrize("n", [1500, 2500])
@pytest.mark.parametrize("d", [1, 20])
@pytest.mark.parametrize(
    "make",
    [
        lambda: KernelRidge(Gaussian(3.0)),
        lambda: KernelRidge(Gaussian(3.0), leave_one_out=True),
        lambda: KernelRidge(0.5 * Gaussian(3.0) + Matern(1.5)),
        lambda: KernelRidge(Laplacian(2.0), n_threads=1),
        lambda: KernelMeanClassifier(Gaussian(3.0), gram=Dense()),
    ],
    ids=["ridge", "ridge with leave-one-out", "composed", "one thread", "mean"],
)
def test_the_plan_foretells_the_peak(make, n, d):
    X, y = rng.normal(size=(n, d)), np.arange(n) % 2
    planned = make().memory_plan(n, d).total
    actual = peak_of(lambda: make().fit(X, y))
    assert actual <= planned <= 1.25 * actual


@pytest.mark.parametrize("n", np.linspace(60_000, 300_000, 10, dtype=int))
@pytest.mark.parametrize("model", [KernelRidge, KernelMeanClassifier], ids=lambda m: m.__name__)
def test_refusal_is_quick_and_names_the_alternative(model, n):
    X, y = np.zeros((n, 2)), np.arange(n) % 2
    estimator = model(Gaussian(1.0), gram=Dense(), memory="2GB")
    took = []
    for _ in range(3):  # the quickest of three: the machine may be busy elsewhere
        began = time.perf_counter()
        with pytest.raises(MemoryBudgetError, match=r"Gram matrix.*budget.*Tiles\(\).*memory="):
            estimator.fit(X, y)
        took.append(time.perf_counter() - began)
    assert min(took) < 0.05
    assert not hasattr(estimator, "kernel_")

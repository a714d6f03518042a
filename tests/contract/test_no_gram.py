"""No learner needs the whole Gram matrix: with a Gram that never forms it, memory stays far below 8 n^2 bytes."""

import inspect
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier

import mercer
from mercer.gram import Nystrom, Tiles
from mercer.kernels import Gaussian

N = 2500
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
NUMBERS = np.sin(2.0 * X[:, 0]) + 0.3 * RNG.normal(size=N)
CLASSES = (NUMBERS > 0.0).astype(int)
WHOLE = 8 * N * N
TILES = {"GaussianProcessRegressor"}  # a factor would be another model, which is SparseGaussianProcessRegressor
OPTIONS = {
    "DependenceSelector": {"target_kernel": Gaussian(1.0)},
    "GaussianProcessRegressor": {"fixed": "all"},
    "KernelFisherDiscriminant": {"n_components": None},
    "KernelGLM": {"family": "gaussian"},
}
USUAL = {"random_state": 0, "n_components": 2, "n_clusters": 2, "n_init": 1}

ESTIMATORS = [
    value
    for name in mercer.__all__
    if isinstance(value := getattr(mercer, name), type)
    and hasattr(value, "fit")
    and "gram" in inspect.signature(value.__init__).parameters
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_no_matrix_of_all_samples_is_formed(estimator):
    known = inspect.signature(estimator.__init__).parameters
    options = {name: value for name, value in USUAL.items() if name in known}
    options |= OPTIONS.get(estimator.__name__, {})
    gram = Tiles("4MB") if estimator.__name__ in TILES else Nystrom(40)
    model = estimator(Gaussian(1.0), gram=gram, memory=WHOLE // 2, **options)
    y = CLASSES if is_classifier(model) else NUMBERS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:200], y[:200])  # what is compiled is compiled before memory is counted
        tracemalloc.start()
        try:
            model.fit(X, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 0.6 * WHOLE, f"{peak / WHOLE:.2f} matrices"


def test_few_are_left_out():
    names = {estimator.__name__ for estimator in ESTIMATORS}
    assert {"SVC", "SVR", "KernelRidge", "KernelPCA", "RelevanceVectorClassifier", "KernelLasso"} <= names

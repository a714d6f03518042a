"""No learner needs the whole Gram matrix: with a Gram that never forms it, memory stays far below 8 n^2 bytes."""

import inspect
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier

import mercer
import mercer.estimators
from mercer.gram import Nystrom, Tiles
from mercer.kernels import Gaussian

N = 2500
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
NUMBERS = np.sin(2.0 * X[:, 0]) + 0.3 * RNG.normal(size=N)
CLASSES = (NUMBERS > 0.0).astype(int)
WHOLE = 8 * N * N
CEILING = 0.25  # of WHOLE: half of what the matrix takes in float32
TILES = {"GaussianProcessRegressor"}  # a factor would be another model, which is SparseGaussianProcessRegressor
RANKS = {
    "LinearProgrammingMachine": 15,  # whose program has some 200 bytes for each number of the factor
    "SparseLaplacianRegressor": 15,  # which has a row of the factor for each edge
}
WITHOUT = {  # estimators without gram=, and what they hold instead of K
    "BayesianLinearRegression": "a matrix of the columns, or of the kernel's features",
    "CCA": "matrices of the columns",
    "ExponentialDensity": "kernel values with the nodes of the measure",
    "GraphicalStructure": "a matrix of the columns",
    "GroupLasso": "the columns",
    "KernelDimensionReduction": "factors of low rank, by incomplete Cholesky",
    "KernelICA": "factors of low rank, by incomplete Cholesky",
    "LabelPropagation": "a graph of neighbours",
    "Lasso": "the columns",
    "LinearSVC": "the columns",
    "LinearSVR": "the columns",
    "LinkPropagation": "a graph of neighbours, and the table of links",
    "LocalityPreservingProjection": "a graph of neighbours",
    "ParzenDensity": "the samples",
    "SmoothingSpline": "states on the line; of several columns all of K, which its docstring says",
    "SparseGaussianProcessRegressor": "kernel values with the inducing points",
}
WHOLE_K = {"GaussianProcessSequenceClassifier"}  # by itself, for some hundreds of positions, as its docstring says
PRODUCTS = {  # of K, or its rows, are all that these need, so that an exact Gram need not be stored either
    "DiffusionMap": {},
    "InvariantComponents": {},
    "KernelFeatureAnalysis": {},
    "KernelGramSchmidt": {},
    "KernelKMeans": {},
    "KernelPCA": {},
    "KernelProjectionPursuit": {},
    "LaplacianEigenmap": {"n_neighbors": None},
    "SpectralClustering": {},
}
OPTIONS = {
    "DependenceSelector": {"target_kernel": Gaussian(1.0)},
    "GaussianProcessMixture": {"fixed": "all", "max_iter": 1},
    "GaussianProcessRegressor": {"fixed": "all"},
    "HuberSVR": {"max_iter": 2000},
    "KernelDependencyEstimation": {"output_kernel": Gaussian(1.0)},
    "KernelFisherDiscriminant": {"n_components": None},
    "KernelGLM": {"family": "gaussian"},
    "StructuredPerceptron": {"max_iter": 2},
    "StructuredSVC": {"max_iter": 2},
}
USUAL = {"random_state": 0, "n_components": 2, "n_clusters": 2, "n_init": 1}

ESTIMATORS = [
    value
    for name in mercer.estimators.__all__
    if isinstance(value := getattr(mercer.estimators, name), type)
    and hasattr(value, "fit")
    and "gram" in inspect.signature(value.__init__).parameters
]


def fitted_peak(estimator, gram, **more):
    """A fitted model, and the most memory that its fit held."""
    known = inspect.signature(estimator.__init__).parameters
    options = {name: value for name, value in USUAL.items() if name in known}
    options |= OPTIONS.get(estimator.__name__, {}) | more
    model = estimator(Gaussian(1.0), gram=gram, memory=WHOLE // 2, **options)
    y = CLASSES if is_classifier(model) else NUMBERS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (200, 600):
            model.fit(X[:n], y[:n])  # what is compiled is compiled before memory is counted
        tracemalloc.start()
        try:
            model.fit(X, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    return model, peak


def peak_on_new(model):
    """The most memory that a fitted model holds while it looks at as many new samples."""
    call = next((getattr(model, name) for name in ("predict", "transform") if hasattr(model, name)), None)
    if call is None:  # LaplacianEigenmap places no new samples
        return 0
    call(X[:200])
    tracemalloc.start()
    try:
        call(X)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_no_matrix_of_all_samples_is_formed(estimator):
    name = estimator.__name__
    model, peak = fitted_peak(estimator, Tiles("4MB") if name in TILES else Nystrom(RANKS.get(name, 40)))
    assert peak < CEILING * WHOLE, f"{peak / WHOLE:.2f} matrices"
    assert peak_on_new(model) < CEILING * WHOLE


@pytest.mark.parametrize("name", WITHOUT)
def test_nor_by_those_that_hold_something_else(name):
    known = inspect.signature(getattr(mercer.estimators, name).__init__).parameters
    kernels = {"kernel": Gaussian(1.0), "target_kernel": Gaussian(1.0)}  # the median distance is that of 2000 samples
    options = {**kernels, "n_components": 1, "groups": [0, 1], "inducing": 50, "max_iter": 20}
    if name in ("BayesianLinearRegression", "SmoothingSpline"):
        options = {"alpha": 1.0}
    model = getattr(mercer.estimators, name)(**{key: value for key, value in options.items() if key in known})
    A, y = X[:, :1] if name == "SmoothingSpline" else X, CLASSES if is_classifier(model) else NUMBERS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(A[:200], y[:200])
        tracemalloc.start()
        try:
            model.fit(A, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < CEILING * WHOLE, f"{peak / WHOLE:.2f} matrices"


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_suffice_and_the_plan_foretells_what_they_take(name):
    model, peak = fitted_peak(getattr(mercer.estimators, name), Tiles("4MB"), **PRODUCTS[name])
    assert peak < 0.3 * WHOLE, f"{peak / WHOLE:.2f} matrices"
    assert peak <= model.memory_plan(N, 2).total + 2**20  # for what does not grow with the samples


def test_few_are_left_out():
    names = {estimator.__name__ for estimator in ESTIMATORS}
    public = {
        name
        for name in mercer.estimators.__all__
        if isinstance(value := getattr(mercer.estimators, name), type) and hasattr(value, "fit")
    }
    others = public - names - set(WITHOUT) - WHOLE_K  # which compare no samples by a kernel
    assert not [
        name for name in others if "kernel" in inspect.signature(getattr(mercer.estimators, name).__init__).parameters
    ]
    assert {"SVC", "SVR", "KernelRidge", "KernelPCA", "RelevanceVectorClassifier", "KernelLasso"} <= names

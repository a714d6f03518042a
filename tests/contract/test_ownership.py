"""A model owns what it predicts with: whoever edits the training data after the fit does not edit the model.

An estimator and a kernel enter by being exported. The data are spoiled in place, all arrays, lists and tables of them.
"""

import contextlib
import copy
import inspect
import pickle
import tracemalloc
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import is_classifier

import mercer
import mercer.estimators
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError
from mercer.gram import Dense, Nystrom, Tiles
from mercer.hilbert import Sampled, derivative_representer, mean_element, mercer_expansion, project, representer
from mercer.io.interop import from_sklearn
from mercer.kernels import Diffusion, Gaussian, Linear, Mahalanobis, Polynomial, Selected
from tests.laws.test_kernels import ENTRIES

rng = np.random.default_rng(0)
N = 24
NUMBERS, NEW = rng.normal(size=(N, 2)), rng.normal(size=(5, 2))
TARGET = np.sin(2.0 * NUMBERS[:, 0]) + 0.5 * NUMBERS[:, 1]
ESTIMATORS = [
    value
    for name in mercer.estimators.__all__
    if isinstance(value := getattr(mercer.estimators, name), type) and hasattr(value, "fit")
]
USUAL = {"random_state": 0, "n_components": 2, "n_clusters": 2, "n_init": 1, "max_iter": 3}
OPTIONS = {
    "GaussianProcessMixture": {"tol": 0.1},
    "KernelFisherDiscriminant": {"n_components": None},
    "KernelGLM": {"family": "gaussian"},
    "LSSVR": {"posterior": True},
    "SparseGaussianProcessRegressor": {"inducing": 5},
}
OF_FEATURES = {mercer.BayesianLinearRegression}  # whose kernel has some
METHODS = ("predict", "decision_function", "predict_proba", "score_samples", "transform", "inverse_transform")
FORMS = {
    "array": np.copy,
    "float32": lambda X: X.astype(np.float32),
    "sparse": sp.csr_array,
    "packed": lambda X: Vectors.pack(X.copy()),
    "slice of packed": lambda X: Vectors.pack(np.concatenate([X, X]))[: len(X)],
}


def spoil(raw):
    """Write over everything that can be written over."""
    if isinstance(raw, np.ndarray):
        for member in raw.flat if raw.dtype == object else ():
            spoil(member)
        if raw.flags.writeable:
            raw[...] = "spoiled" if raw.dtype.kind in "OU" else np.asarray(3.0).astype(raw.dtype)
    elif sp.issparse(raw):
        raw.data[:] = 3.0
    elif isinstance(raw, Vectors):
        for array in raw.arrays[:1]:
            array[...] = 3.0
    elif isinstance(raw, pd.DataFrame):
        for name in raw:
            raw[name] = raw[name].iloc[0]
    elif isinstance(raw, nx.Graph):
        for _, data in raw.nodes(data=True):
            spoil(data)
        raw.clear()
    elif isinstance(raw, dict):
        for member in raw.values():
            spoil(member)
        raw.clear()
    elif isinstance(raw, list | tuple):
        for member in raw:
            spoil(member)
        if isinstance(raw, list):
            raw[:] = [0] * len(raw)


def made(estimator, **options):
    known = inspect.signature(estimator.__init__).parameters
    usual = {name: value for name, value in {**USUAL, **options}.items() if name in known}
    return estimator(**{**usual, **OPTIONS.get(estimator.__name__, {})})


def said(model):
    """What the model says of new samples, by every method that says something."""
    found = {}
    for name in METHODS:
        if hasattr(model, name):
            A = NEW if name != "inverse_transform" else model.transform(NEW)
            found[name] = np.array(getattr(model, name)(A))
    if "return_std" in inspect.signature(getattr(model, "predict", said)).parameters:
        found["std"] = np.array(model.predict(NEW, return_std=True)[1])
    return found


def check(model, X, y, weight=None):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # few iterations
        weighted = {} if weight is None else {"sample_weight": weight}
        model.fit(X, y, **weighted)
        before = said(model)
        spoil([X, y, weight])
        for name, values in said(model).items():
            assert np.array_equal(values, before[name], equal_nan=True), name


GRAMS = {"Dense": Dense(), "Tiles": Tiles(), "Nystrom": Nystrom(5, random_state=0), "Features": None}


@pytest.mark.parametrize("gram", GRAMS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_however_the_gram_is_held(estimator, gram):
    """Weights too, and a kernel of some columns."""
    known = inspect.signature(estimator.__init__).parameters
    if "gram" not in known:
        pytest.skip("it holds no K")
    kernel = Polynomial(2) if gram == "Features" or estimator in OF_FEATURES else Gaussian(1.0) + Linear().on([0])
    weight = np.linspace(1.0, 2.0, N) if "sample_weight" in inspect.signature(estimator.fit).parameters else None
    with contextlib.suppress(CapabilityError, DomainError):  # what some cannot use: their own tests look at it
        check(made(estimator, kernel=kernel, gram=GRAMS[gram]), NUMBERS.copy(), target(estimator), weight)


def target(estimator):
    return (TARGET > 0).astype(int) if is_classifier(estimator()) else TARGET.copy()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_estimators_own_what_they_predict_with(estimator, form):
    kernel = Linear() if estimator in OF_FEATURES else Gaussian(1.0)
    check(made(estimator, kernel=kernel), FORMS[form](NUMBERS), target(estimator))


@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateWarning")
@pytest.mark.parametrize("name", ENTRIES)
def test_landmarks_are_apart_from_data_of_every_domain(name):
    """What a model keeps of samples, of every domain that a kernel is for."""
    for kernel in ENTRIES[name].kernels:
        raw = copy.deepcopy(ENTRIES[name].data.sample)
        S = kernel.pack(raw)
        kernel = kernel.learn(S)
        T = kernel.prepare(kernel.pack(copy.deepcopy(raw)))
        kept = kernel.prepare(S).landmarks()
        before = np.array(kernel.block(T, kept))
        spoil(raw)
        assert np.array_equal(kernel.block(T, kept), before, equal_nan=True)


def test_what_nobody_can_write_to_is_not_copied(tmp_path):
    np.save(tmp_path / "X.npy", NUMBERS)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    frozen = NUMBERS.copy()
    frozen.flags.writeable = False
    view = NUMBERS.view()
    view.flags.writeable = False
    for X, shared in ((mapped, True), (frozen, True), (view, False), (NUMBERS, False)):
        model = mercer.KernelRidge(Gaussian(1.0)).fit(X, TARGET)
        assert np.may_share_memory(model.expansion_.samples.X, X) == shared


def test_what_is_a_copy_already_is_not_copied_again():
    S = Vectors.pack(NUMBERS)
    assert not S.owns and S[:5].landmarks() is not S[:5]
    part = S[[0, 2, 4]]
    assert part.owns and part.landmarks() is part
    assert S.landmarks() is S.landmarks()
    assert Vectors.pack(NUMBERS.tolist()).owns and Vectors.pack(pd.DataFrame(NUMBERS)).owns
    assert pickle.loads(pickle.dumps(S)).owns and len(pickle.dumps(S)) < 1.5 * NUMBERS.nbytes + 1000


def test_a_collection_is_a_view_of_the_array_as_documented():
    X = NUMBERS.copy()
    S = Vectors.pack(X)
    X[0] = 7.0
    assert S.X[0, 0] == 7.0


LENGTHS, MATRIX = np.array([0.5, 2.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
PARAMETERS = {
    "array": lambda: (Gaussian(LENGTHS.copy()), lambda k: k.length_scale),
    "matrix": lambda: (Mahalanobis(MATRIX.copy()), lambda k: k.matrix),
    "in a sum": lambda: (Gaussian(1.0) + 2.0 * Gaussian(LENGTHS.copy()), lambda k: k.kernels[1].kernel.length_scale),
    "list of columns": lambda: (Selected(Gaussian(1.0), [0]), lambda k: k.columns),
}


def check_parameter(estimator, kernel, parameter):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # few iterations
        model = made(estimator, kernel=kernel).fit(NUMBERS, target(estimator))
        before = said(model)
        spoil(parameter)
        for name, values in said(model).items():
            assert np.array_equal(values, before[name], equal_nan=True), name


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_of_the_kernel_are_owned_too(name):
    kernel, parameter = PARAMETERS[name]()
    check_parameter(mercer.KernelRidge, kernel, parameter(kernel))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_lengths_of_the_kernel_are_owned_by_every_estimator(estimator):
    if "kernel" not in inspect.signature(estimator.__init__).parameters or estimator in OF_FEATURES:
        pytest.skip("it has a kernel of its own")
    lengths = np.array([0.5, 2.0])
    with contextlib.suppress(CapabilityError, DomainError):  # what some cannot use: their own tests look at it
        check_parameter(estimator, Gaussian(lengths), lengths)


@pytest.mark.parametrize("form", [nx.Graph, lambda edges: nx.to_numpy_array(nx.Graph(edges)), list])
def test_graphs_of_the_kernel_are_owned_too(form):
    graph = form([(i, (i + 1) % 6) for i in range(6)])
    model = mercer.KernelRidge(Diffusion(graph)).fit(list(range(6)), np.arange(6.0))
    before = model.predict([0, 3])
    spoil(graph)
    assert np.array_equal(model.predict([0, 3]), before)


ELEMENTS = {
    "mean_element": lambda X: mean_element(Gaussian(1.0), X),
    "of a table": lambda X: mean_element(Gaussian(1.0).on([0]) * Linear().on([1]), X),
    "representer": lambda X: representer(Gaussian(1.0), X[:1]),
    "derivative_representer": lambda X: derivative_representer(Gaussian(1.0), X[:1], 0),
    "project": lambda X: project(representer(Gaussian(1.0), NEW[:1]), X).element,
    "mercer_expansion": lambda X: mercer_expansion(Gaussian(1.0), Sampled(X), rank=3).map,
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_own_their_samples(name):
    X = NUMBERS.copy()
    f = ELEMENTS[name](X)
    before = np.array(f(NEW))
    spoil(X)
    assert np.array_equal(f(NEW), before)


def test_imported_machines_own_their_samples():
    machine = sklearn.svm.SVR().fit(NUMBERS, TARGET)
    found = from_sklearn(machine)
    before = found.predict(NEW)
    for array in (machine.support_vectors_, machine.dual_coef_, machine.intercept_):
        array[...] = 3.0
    assert np.array_equal(found.predict(NEW), before)


def test_the_memory_plan_counts_the_copy():
    X, y = np.random.default_rng(0).normal(size=(60, 20_000)), np.arange(60.0)
    model = mercer.KernelRidge(Gaussian(100.0))
    model.fit(X[:, :10], y)  # what is imported and compiled is so now
    tracemalloc.start()
    model.fit(X, y)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert X.nbytes <= held <= peak <= model.memory_plan(*X.shape).total

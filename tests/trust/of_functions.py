"""Probes of the free functions of mercer and of its public packages: every argument, with every fault.

Functions are found by themselves in MODULES. A required argument is filled by its name, from GOOD; one that is not
known there is an error, so that a new function either is understood or says what it needs.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

import mercer
import mercer.choosing
import mercer.hilbert
import mercer.inference
import mercer.kernels
import mercer.models
import mercer.networks
import mercer.preimages
import mercer.theory
from mercer.domains import Samples, Vectors
from mercer.first_model.verdicts import Held
from mercer.kernels import Gaussian, Hyperkernel, Kernel
from tests.trust import faults
from tests.trust.faults import Fault
from tests.trust.judge import ACCEPT, EITHER, same
from tests.trust.of_kernels import VALUES
from tests.trust.probe import SAMPLES, Probe, gram

MODULES = (
    mercer,
    mercer.choosing,
    mercer.hilbert,
    mercer.inference,
    mercer.kernels,
    mercer.models,
    mercer.networks,
    mercer.preimages,
    mercer.theory,
)
ELSEWHERE = ("from_libsvm", "from_sklearn", "load", "save", "parse", "report")  # of files and texts

_random = np.random.default_rng(11)
X = _random.normal(size=(SAMPLES, 3))
Y = _random.normal(size=(SAMPLES, 3))
Z = _random.normal(size=(SAMPLES, 3))
REAL = np.sin(X[:, 0]) + X[:, 1]
KERNEL = Gaussian(1.0)
LABELS = (X[:, 0] > 0).astype(int)


@functools.cache
def _element() -> Any:
    return mercer.hilbert.mean_element(KERNEL, X)


@functools.cache
def _judged() -> Any:
    """Return a regressor that was judged by rows held out, as `mercer.automatic` leaves it."""
    model: Any = mercer.KernelRidge(KERNEL).fit(X, REAL)
    model.held_ = Held(np.arange(SAMPLES), REAL, model.predict(X) + 0.1, None)
    return model


@functools.cache
def _machine() -> Any:
    return mercer.SVC(KERNEL).fit(X, LABELS)


@functools.cache
def _network() -> Any:
    return mercer.networks.MarkovNetwork.from_factors(
        [(("a", "b"), [[0.0, -2.0], [-1.0, 1.0]]), (("b", "c"), [[0.5, 0.0], [0.0, 0.5]]), (("a",), [0.5, 0.0])]
    )


@functools.cache
def _marginals() -> Any:
    return mercer.networks.loopy_propagation(_network())


def _correlation() -> Any:
    return mercer.theory.stump_correlation(X)


def _sums() -> Any:
    return mercer.MultipleKernelRegressor([Gaussian(1.0), Gaussian(3.0)])


# By name of the argument, or of function and argument where the name is used in another way; what costs something is
# made when it is asked for.
GOOD: dict[str, Callable[[], Any]] = {
    "X": lambda: X, "Y": lambda: Y, "Z": lambda: Z, "y": lambda: REAL, "kernel": lambda: KERNEL,
    "score": lambda: lambda points: -points, "variables": lambda: [X, Y, Z], "f": _element, "function": _element,
    "model": _machine, "predict_interval.model": _judged, "window": lambda: 8, "width": lambda: 3, "height": lambda: 3,
    "penalty": lambda: 0.1, "radius": lambda: 1.0,
    "risk": lambda: 0.2, "labels": lambda: LABELS, "affinity": gram, "K": gram, "gram": gram,
    "onto": lambda: mercer.hilbert.mean_element(KERNEL, X[:5]), "measure": lambda: mercer.hilbert.Uniform(),
    "coef": lambda: np.linspace(-1.0, 1.0, SAMPLES), "hyperkernel": lambda: Hyperkernel(KERNEL),
    "values": lambda: np.linspace(0.5, 2.0, 5), "name": lambda: "length_scale", "S": lambda: KERNEL.pack(X),
    "order": lambda: 1, "omega": lambda: X, "size": lambda: 4,
    "x": lambda: X[:1], "direction": lambda: np.array([1.0, 0.0, 0.0]),
    "W": lambda: np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.1], [0.3, 0.0, 1.0]]),
    "A": lambda: X, "B": lambda: X + 0.1 * Y,
    "amari_error.A": lambda: np.eye(3) + 0.1, "series_windows.x": lambda: np.sin(np.arange(50.0)),
    "fourier_transform.x": lambda: np.linspace(-5.0, 5.0, 41),
    "fourier_transform.values": lambda: np.exp(-np.linspace(-5.0, 5.0, 41) ** 2),
    # several kernels, and searches
    "kernels": lambda: [Gaussian(1.0), Gaussian(3.0)], "unlabelled": lambda: Y[:8], "bounds": lambda: (0.5, 2.0),
    "error_distribution.estimator": lambda: mercer.SVC(KERNEL), "error_distribution.y": lambda: LABELS,
    "definite_mixture.X": lambda: X[:8], "definite_mixture.y": lambda: LABELS[:8],
    "costs": lambda: np.array([0.1, 1.0]), "weight_path.estimator": _sums,
    "infinite_family.estimator": _sums, "estimator": lambda: mercer.KernelRidge(KERNEL),
    "space": lambda: {"alpha": [0.1, 1.0]}, "bases": lambda: {"a": Gaussian(1.0)},
    "mean": lambda: np.linspace(-1.0, 1.0, 5), "std": lambda: np.linspace(0.5, 1.0, 5), "best": lambda: 0.2,
    "graph": lambda: np.roll(np.eye(6), 1, axis=1) + np.roll(np.eye(6), -1, axis=1),
    "task": lambda: 0, "given": lambda: mercer.models.MarkovChain(1, alphabet="dna"),
    # networks
    "network": _network, "factor_marginals": lambda: _marginals().factor_marginals(),
    "marginals": lambda: _marginals().tables,
    # theory
    **dict.fromkeys(("n", "new"), lambda: SAMPLES), **dict.fromkeys(("eps", "delta", "eta", "gibbs", "q"), lambda: 0.1),
    **dict.fromkeys(("norm", "capacity", "complexity", "divergence", "scale", "total", "most", "slope"), lambda: 1.0),
    **dict.fromkeys(("mean_radius", "lipschitz", "bound", "excess", "gamma", "margin", "cosine"), lambda: 0.5),
    "p": lambda: 0.3, "nu": lambda: 0.5, "errors": lambda: 4, "dimension": lambda: 3, "count": lambda: 5,
    **dict.fromkeys(("losses", "slacks"), lambda: np.abs(np.sin(REAL))),
    **dict.fromkeys(("diagonal", "differences", "ranges", "eigenvalues"), lambda: np.linspace(1.0, 0.1, SAMPLES)),
    "margins": lambda: REAL, "probabilities": lambda: 1.0 / (1.0 + np.exp(-REAL)), "traces": lambda: np.full(3, 40.0),
    "risks": lambda: np.array([0.3, 0.2, 0.1]), "dimensions": lambda: np.array([1, 2, 3]),
    "norms": lambda: np.array([1.0, 2.0, 3.0]), "uniform_deviation.losses": lambda: np.abs(np.sin(X.T)),
    "empirical_minimizer.losses": lambda: np.abs(np.sin(X.T)), "nu_property.coef": lambda: np.full(SAMPLES, 0.5),
    "labellings.labels": lambda: np.sign(X.T), "vc_dimension.labels": lambda: np.sign(X[:9].T),
    "svm_pac_bayes.margins": lambda: np.tanh(REAL), "prior_pac_bayes.margins": lambda: np.tanh(REAL),
    "parts": lambda: (_correlation(), _correlation()),
    "samples": lambda: [np.sign(X.T), np.sign(Y.T)], "covariance": gram, "process_divergence.mean": lambda: REAL,
    "regression_bound.width": lambda: 1.0,
    **dict.fromkeys(
        (f"{name}.best" for name in ("gaussian_average", "hull_correlation", "rademacher_average")), _correlation
    ),
}  # fmt: skip
# What else is said, so that the function has something to do, and soon ends.
BESIDE: dict[str, dict[str, Any]] = {
    "mercer_expansion": {"rank": 4, "kernel": Gaussian(1.0)},
    "find_violation": {"max_time": 0.3, "restarts": 1},
    "fourier_norm": {"draws": 500},
    "reduced_set": {"size": 4},
    "reduced_machine": {"size": 4},
    "unfolding_kernel": {"n_neighbors": 4},
    "hessian_kernel": {"n_neighbors": 8},
    "tuned_kernel": {"max_iter": 5},
    "learned_kernel": {"anchors": 5, "y": LABELS},
    "search": {"effort": mercer.choosing.Effort(calls=3, restarts=0)},
    "compose_kernel": {"depth": 1, "max_fits": 2},
    "infinite_family": {"max_kernels": 2, "restarts": 1, "y": REAL},
    "error_distribution": {"sizes": (10,), "repeats": 2},
    "gaussian_average": {"draws": 20},
    "rademacher_average": {"draws": 20},
}
QUICK = {"n_permutations": 50, "n_draws": 100, "random_state": 0}

DATA = ("X", "Y", "Z", "sample", "unlabelled")
ROLES: dict[str, list[Fault]] = {
    **dict.fromkeys(DATA, faults.VECTORS),
    "y": faults.TARGETS,
    "sample_weight": faults.WEIGHTS,
    "K": faults.GRAMS,
    "affinity": faults.GRAMS,
    "graph": faults.GRAMS,
    "covariance": faults.GRAMS,
}
# Matrices and lists of numbers that are not samples.
MATRICES = (
    "W", "A", "B", "coef", "values", "x", "direction", "labels", "omega", "mean", "std", "costs",
    "losses", "slacks", "diagonal", "differences", "ranges", "eigenvalues", "margins", "probabilities", "traces",
    "risks", "dimensions", "norms",
)  # fmt: skip
_CHANGED = [
    Fault("one NaN", lambda M: _put(M, np.nan)),
    Fault("one inf", lambda M: _put(M, np.inf)),
    Fault("complex", lambda M: M + 1j),
    Fault("masked", lambda M: np.ma.masked_array(M, np.arange(np.size(M)).reshape(np.shape(M)) == 1)),
    Fault("text", lambda M: np.full(np.shape(M), "a")),
    Fault("numbers as text", lambda M: np.asarray(M).astype(str)),
    Fault("dates", lambda M: np.full(np.shape(M), np.datetime64("2020-01-01"))),
    Fault("empty", lambda M: M[:0]),
    Fault("short", lambda M: M[:-1], EITHER),
    Fault("zero", np.zeros_like, EITHER),
    Fault("times 1e300", lambda M: M * 1e300, EITHER),
    Fault("times 1e-310", lambda M: M * 1e-310, EITHER),
    Fault("near 2^63", lambda M: np.full(np.shape(M), 2**63 - 1, dtype=np.int64), EITHER),
    Fault("a dimension more", lambda M: np.asarray(M)[..., None], EITHER),
    Fault("list", lambda M: M.tolist(), EITHER),
    Fault("sparse", lambda M: sp.csr_array(np.atleast_2d(M)), EITHER),
    *[fault for fault in faults.OBJECTS if fault.name not in ("empty frame", "a number")],
    Fault("a number", lambda M: 3.0, EITHER),
]


# Lists of matrices: marginals of networks, labels of several samples.
TABLES = ("factor_marginals", "marginals", "samples")
_SEVERAL = [
    Fault("one negative", lambda Ms: [-1.0 * Ms[0], *Ms[1:]], EITHER),
    Fault("one of another shape", lambda Ms: [np.asarray(Ms[0])[..., None], *Ms[1:]], EITHER),
    Fault("one empty", lambda Ms: [Ms[0][:0], *Ms[1:]]),
    Fault("one times 1e300", lambda Ms: [Ms[0] * 1e300, *Ms[1:]], EITHER),
    Fault("one NaN", lambda Ms: [_put(Ms[0], np.nan), *Ms[1:]]),
    Fault("one inf", lambda Ms: [_put(Ms[0], np.inf), *Ms[1:]]),
    Fault("one complex", lambda Ms: [Ms[0] + 1j, *Ms[1:]]),
    Fault("one masked", lambda Ms: [np.ma.masked_array(Ms[0], Ms[0] == Ms[0]), *Ms[1:]]),
    Fault("one as text", lambda Ms: [np.asarray(Ms[0]).astype(str), *Ms[1:]]),
    Fault("one None", lambda Ms: [None, *Ms[1:]]),
    Fault("one missing", lambda Ms: Ms[1:], EITHER),
    Fault("one more", lambda Ms: [*Ms, Ms[0]], EITHER),
    Fault("tuple", tuple, EITHER, lambda Ms: Ms),
    *[fault for fault in faults.OBJECTS if fault.name not in ("empty frame", "generator")],
]


def _put(M: Any, value: float) -> Any:
    changed = np.array(M, dtype=float)
    changed.flat[0] = value
    return changed


@functools.cache
def functions() -> dict[str, Callable[..., Any]]:
    """Return the public functions by name."""
    found = {}
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing) and name not in ELSEWHERE and inspect.signature(thing).parameters:
                found[name] = thing
    return found


def _good(name: str, argument: str) -> Any:
    return (GOOD.get(f"{name}.{argument}") or GOOD[argument])()


def good_arguments(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Return arguments with which a function does what it is for."""
    arguments: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if parameter.default is inspect.Parameter.empty:
            arguments[parameter.name] = _good(name, parameter.name)
        elif parameter.name in QUICK:
            arguments[parameter.name] = QUICK[parameter.name]
    return arguments | BESIDE.get(name, {})


def function_probes() -> Iterator[Probe]:
    """Yield every argument of every function with what is the matter with such things."""
    for name, function in functions().items():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                for role in ("memory", "n_threads", "max_time"):
                    yield from _value_probes(name, role)
            elif parameter.name in TABLES:
                yield from (_data_probe(name, parameter.name, fault) for fault in _SEVERAL)
            elif parameter.name in MATRICES:
                yield from (_data_probe(name, parameter.name, fault) for fault in _CHANGED)
            elif parameter.name in ROLES:
                yield from (_data_probe(name, parameter.name, fault) for fault in ROLES[parameter.name])
                if parameter.name in ("Y", "Z", "sample"):
                    yield from (_data_probe(name, parameter.name, f, "second: ") for f in faults.SECOND)
            else:
                yield from _value_probes(name, parameter.name)


def _value_probes(name: str, argument: str) -> Iterator[Probe]:
    for word, value, expect in VALUES:
        calls = partial(_calls, name, argument, lambda good, value=value: value, None, 0.0)
        yield Probe("functions", name, f"{argument}={word}", EITHER if (argument, word) in FAIR else expect, calls)


# An empty list says nothing, one of several names is a sequence of kernels, any object may be a source of randomness,
# and a column may have any name.
FAIR = {("kernels", "[]"), ("random_state", "10**400"), ("task", "'nonsense'"), ("task", "10**400")}


_OTHER = ("one dimension", "fewer columns", "more columns", "sparse, fewer columns")


_SERIES = ("one dimension",)  # is one column
_MISSING = ("one NaN", "float32 NaN", "pandas with NA", "polars with null")
_ANY_SIGN = ("indefinite", "negative", "one negative self-similarity", "a distance matrix", "empty", "empty frame")
FAIR_DATA: dict[tuple[str, str], tuple[str, ...]] = {
    **{
        (name, "X"): _SERIES
        for name in ("change_point_test", "krylov_scan", "mmd_scan", "stein_discrepancy", "stein_test")
    },
    ("normalized_cut", "affinity"): _ANY_SIGN,
    ("definiteness", "K"): _ANY_SIGN,  # which is what it is asked
    ("normalized_cut", "labels"): ("one inf", "complex", "text", "numbers as text", "dates"),  # any labels will do
    ("learned_kernel", "y"): ("one inf",),
    ("spectral_bisection", "graph"): (*_ANY_SIGN, "not square, tall", "asymmetric"),  # edges and weights; arcs
    # sequences of any symbols; categories; a column in which nothing is there is left out, and said to be; what is
    # missing is filled in by the median, and the model sees that it was missing
    ("automatic", "X"): ("Python dates", "pandas with categories", "pandas with dates", *_MISSING),
    ("source_kernels", "X"): ("dict", "pandas with categories", "pandas with dates"),  # tables; all one date
}


def _data_probe(name: str, argument: str, fault: Fault, before: str = "") -> Probe:
    # how many samples, and whether vectors may be sparse, is a matter of the function: it may refuse, clearly
    expect = EITHER if fault.expect == ACCEPT else fault.expect
    # what depends on each other may have any number of columns, one of them without a second dimension
    if fault.name in _OTHER and "kernels" in inspect.signature(functions()[name]).parameters:
        expect = EITHER
    if (name, argument) in FAIR_DATA and fault.name in FAIR_DATA[name, argument]:
        expect = EITHER
    optional = inspect.signature(functions()[name]).parameters[argument].default is None
    if optional and fault.name == "None":
        expect = EITHER
    calls = partial(_calls, name, argument, fault.make, fault.plain, fault.slack)
    return Probe("functions", name, f"{before}{argument} {fault.name}", expect, calls)


def _calls(name: str, argument: str, make: Any, plain: Any, slack: float) -> dict[str, Callable[[], Any]]:
    function = functions()[name]
    good = good_arguments(name, function)
    value = good.get(argument)
    if value is None and argument in ("sample_weight", *DATA):
        value = np.ones(len(good.get("X", X))) if argument == "sample_weight" else X
    if value is None and argument in (*MATRICES, *TABLES):
        value = _good(name, argument)
    several = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_POSITIONAL]

    def call(change: Callable[[Any], Any]) -> Any:
        given = {**good, argument: change(value)}
        parts = [given.pop(name) for name in several]
        positional = [one for part in parts for one in (part if isinstance(part, (list, tuple)) else [part])]
        numbers = numbers_of(function(*positional, **given))
        return [number for number in numbers if name not in INFINITE or number < np.inf]

    def both() -> Any:
        result = call(make)
        if plain is not None and name not in SEARCHES:
            for got, expected in zip(result, call(plain), strict=True):
                if np.max(np.abs(expected), initial=0.0) > 1e-9:  # else it is rounding
                    same(got, expected, max(slack, 1e-5), "against the usual form")
        return result

    return {name: both}


INFINITE = ("binary_kl",)  # a coin that never falls on a side that it was seen to fall on
# What is searched ends anywhere near; a gap is rounding; omega is infinite where there is no such frequency.
SEARCHES = ("compose_kernel", "find_violation", "learned_kernel", "reduced_set", "reduced_machine")
NOT_COMPARED = ("seconds", "omega", "trace", "gap", "gaps", "smallest")


def numbers_of(result: Any, depth: int = 3) -> list[Any]:
    """Return the arrays and numbers in a result; what has none gives nothing."""
    if isinstance(result, mercer.theory.Bound):  # one that says nothing is none the less true
        return [min(result, np.finfo(float).max)]
    if isinstance(result, (float, complex, np.ndarray, np.floating)):
        return [] if isinstance(result, float) and math.isinf(result) and depth < 3 else [result]
    if depth == 0 or isinstance(result, Samples):
        return []
    if isinstance(result, Kernel):
        return [result(X)] if result.domain is Vectors else []
    if isinstance(result, mercer.networks.JunctionTree):
        return [result.log_partition, *result.marginals().values()]
    if inspect.isfunction(result):  # a transform of frequencies, or the largest correlation with signs
        signs = np.where(REAL > 0, 1.0, -1.0)
        return [result(signs if "omega" in inspect.signature(result).parameters else signs[:, None])]
    if isinstance(result, Mapping):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [number for part in result for number in numbers_of(part, depth - 1)]
    if dataclasses.is_dataclass(result):
        parts = [getattr(result, field.name) for field in dataclasses.fields(result) if field.name not in NOT_COMPARED]
        return [number for part in parts for number in numbers_of(part, depth - 1)]
    coef = getattr(result, "coef", None)
    return [coef] if isinstance(coef, np.ndarray) else []

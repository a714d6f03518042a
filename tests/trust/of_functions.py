"""Probes of the free functions of mercer, mercer.hilbert and mercer.inference: every argument, with every fault.

Functions are found by themselves. A required argument is filled by its name, from GOOD; one that is not known there is
an error, so that a new function either is understood or says what it needs.
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
import mercer.hilbert
import mercer.inference
from mercer.domains import Samples
from mercer.kernels import Gaussian, Hyperkernel
from tests.trust import faults
from tests.trust.faults import Fault
from tests.trust.judge import ACCEPT, EITHER, same
from tests.trust.of_kernels import VALUES
from tests.trust.probe import SAMPLES, Probe, gram

MODULES = (mercer, mercer.hilbert, mercer.inference)
ELSEWHERE = ("from_libsvm", "from_sklearn", "load", "save", "parse", "report")  # of files and texts
ELSEWHERE += ("definite_mixture", "infinite_family", "nonlinear_family", "search", "weight_path")  # not probed yet

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
def _machine() -> Any:
    return mercer.SVC(KERNEL).fit(X, LABELS)


# By name of the argument, or of function and argument where the name is used in another way; what costs something is
# made when it is asked for.
GOOD: dict[str, Callable[[], Any]] = {
    "X": lambda: X, "Y": lambda: Y, "Z": lambda: Z, "y": lambda: REAL, "kernel": lambda: KERNEL,
    "score": lambda: lambda points: -points, "variables": lambda: [X, Y, Z], "f": _element, "function": _element,
    "model": _machine, "window": lambda: 8, "width": lambda: 3, "penalty": lambda: 0.1, "radius": lambda: 1.0,
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
}
QUICK = {"n_permutations": 50, "n_draws": 100, "random_state": 0}

DATA = ("X", "Y", "Z", "sample")
ROLES: dict[str, list[Fault]] = {
    **dict.fromkeys(DATA, faults.VECTORS),
    "y": faults.TARGETS,
    "sample_weight": faults.WEIGHTS,
    "K": faults.GRAMS,
    "affinity": faults.GRAMS,
}
# Matrices and lists of numbers that are not samples.
MATRICES = ("W", "A", "B", "coef", "values", "x", "direction", "labels", "omega")
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


def _put(M: Any, value: float) -> Any:
    changed = np.array(M, dtype=float)
    changed.flat[0] = value
    return changed


def functions() -> dict[str, Callable[..., Any]]:
    """Return the public functions by name."""
    found = {}
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing) and name not in ELSEWHERE:
                found[name] = thing
    return found


def good_arguments(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Return arguments with which a function does what it is for."""
    arguments: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if parameter.default is inspect.Parameter.empty:
            make = GOOD.get(f"{name}.{parameter.name}") or GOOD[parameter.name]
            arguments[parameter.name] = make()
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


# an empty list says nothing, one of several names is a sequence of kernels, any object may be a source of randomness
FAIR = {("kernels", "[]"), ("random_state", "10**400")}


_OTHER = ("one dimension", "fewer columns", "more columns", "sparse, fewer columns")


_SERIES = ("one dimension",)  # is one column
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
    # sequences of any symbols; categories; a column in which nothing is there is left out, and said to be
    ("automatic", "X"): ("Python dates", "pandas with categories", "polars with null"),
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
        value = np.ones(SAMPLES) if argument == "sample_weight" else X

    def call(change: Callable[[Any], Any]) -> Any:
        return numbers_of(function(**{**good, argument: change(value)}))

    def both() -> Any:
        result = call(make)
        if plain is not None and name not in ("find_violation", "learned_kernel", "reduced_set", "reduced_machine"):
            for got, expected in zip(result, call(plain), strict=True):
                if np.max(np.abs(expected), initial=0.0) > 1e-9:  # else it is rounding
                    same(got, expected, max(slack, 1e-5), "against the usual form")
        return result

    return {name: both}


NOT_COMPARED = ("seconds", "omega", "trace")  # omega: infinite where there is no such frequency


def numbers_of(result: Any, depth: int = 3) -> list[Any]:
    """Return the arrays and numbers in a result; what has none gives nothing."""
    if isinstance(result, (float, complex, np.ndarray, np.floating)):
        return [] if isinstance(result, float) and math.isinf(result) and depth < 3 else [result]
    if depth == 0 or isinstance(result, Samples):
        return []
    if isinstance(result, Mapping):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [number for part in result for number in numbers_of(part, depth - 1)]
    if dataclasses.is_dataclass(result):
        parts = [getattr(result, field.name) for field in dataclasses.fields(result) if field.name not in NOT_COMPARED]
        return [number for part in parts for number in numbers_of(part, depth - 1)]
    coef = getattr(result, "coef", None)
    return [coef] if isinstance(coef, np.ndarray) else []

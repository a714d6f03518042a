"""Probes of every public kernel: data of all kinds, and arguments that it may not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import mercer.kernels
from mercer.domains import (
    Distributions,
    Frames,
    Graphs,
    Nodes,
    Pairs,
    Sequences,
    Sets,
    Similarities,
    Strings,
    Systems,
    Tables,
    Tensors,
    Texts,
    Trees,
    Vectors,
)
from mercer.kernels import Kernel
from tests.laws.test_kernels import ENTRIES
from tests.trust import faults, structures
from tests.trust.faults import Fault
from tests.trust.judge import ACCEPT, EITHER, REFUSE, TOLD, same
from tests.trust.probe import Probe, enough, gram

K = mercer.kernels
STRUCTURES = {
    Texts: structures.TEXTS,
    Trees: structures.TREES,
    Graphs: structures.GRAPHS,
    Nodes: structures.NODES,
    Sets: structures.BAGS,
    Sequences: structures.SERIES,
    Distributions: structures.DISTRIBUTIONS,
    Systems: structures.SYSTEMS,
    Tensors: structures.TENSORS,
    Tables: structures.MIXED,
}


def _faults_of(kernel: Kernel, X: Any) -> tuple[list[Fault], list[Fault]]:
    """Return the faults for data of a kernel's domain, and those for a second collection."""
    packed = kernel.pack(X)
    if isinstance(packed, Similarities):
        return faults.GRAMS, []
    for domain, found in STRUCTURES.items():
        if isinstance(packed, domain):
            return found, []
    if isinstance(packed, Strings):
        return faults.STRINGS, []
    if isinstance(packed, Pairs):
        return (faults.COUPLES if isinstance(X[0][1], str) else faults.PAIRS), []
    if isinstance(packed, Vectors) or isinstance(X, np.ndarray):
        return faults.VECTORS, faults.SECOND
    return (faults.TABLES if isinstance(packed, Frames) else faults.OBJECTS), []


def siblings() -> set[str]:
    """The kernels on structures that share the door of their domain, which is what faults are met by, with others."""
    met: set[type] = set()
    found = set()
    for name, entry in ENTRIES.items():
        domain = entry.kernels[0].domain
        if domain in met:
            found.add(name)
        elif domain in (Strings, *STRUCTURES) or issubclass(domain, Strings):
            met.add(domain)
    return found


def _asks_user(kernel: Kernel) -> bool:
    """Tell whether the raw data go to a function of the user, which alone knows what it takes."""
    return any(
        hasattr(kernel, name) for name in ("transform", "function", "functions", "decompose", "transformations")
    ) and not isinstance(kernel, K.RadialFunction)


CATEGORIES = {"sequences of letters", "number inside", "integers", "bytes among text", "dates"}


def _expected(kernel: Kernel, fault: Fault) -> str:
    legitimate = (
        _asks_user(kernel)
        or (isinstance(kernel, K.Selected) and fault.name == "more columns")
        or (isinstance(kernel, K.Match) and fault.name in CATEGORIES)  # any things that are equal or not
        or isinstance(kernel, K.OrdinalMatch)  # values that are none of its levels
        or (hasattr(kernel, "alphabet") and fault.expect == ACCEPT)  # symbols that are not in it
        or (isinstance(kernel, K.Precomputed) and fault.expect == TOLD)  # a matrix given is a matrix returned
    )
    return EITHER if legitimate else fault.expect


def kernel_probes() -> Iterator[Probe]:
    """Yield every kernel on every kind of data of its domain."""
    for name, entry in ENTRIES.items():
        kernel = entry.kernels[0]
        if isinstance(kernel, K.Hermitian):  # halves of complex vectors have a form that its unit tests break
            continue
        X = gram() if kernel.domain is Similarities else enough(entry.data.sample)
        kernel = kernel.learn(kernel.pack(X))
        first, second = _faults_of(kernel, X)
        plain = isinstance(X, np.ndarray) and kernel.domain not in (Similarities, *STRUCTURES)
        group, subject = "kernels" if plain else "structures", f"{name}: {kernel!r}"
        for fault in first:
            calls = partial(_kernel_calls, kernel, X, fault)
            yield Probe(group, subject, fault.name, _expected(kernel, fault), calls)
        for fault in second:
            calls = partial(_pair_calls, kernel, X, fault)
            yield Probe(group, subject, f"Y {fault.name}", _expected(kernel, fault), calls)


def _kernel_calls(kernel: Kernel, X: Any, fault: Fault) -> dict[str, Callable[[], Any]]:
    def one() -> Any:
        matrix = kernel(fault.make(X), n_threads=1)
        same(matrix.T, matrix, 0.0, "symmetry")
        if "one row" in fault.name:  # a row that is far away does not change how the others compare
            others = np.delete(np.arange(len(X)), 1)
            alone = kernel(fault.make(X)[others], n_threads=1)
            same(matrix[np.ix_(others, others)], alone, 1e-4, "beside the one row")
        strict = getattr(kernel, "anchored", False) or isinstance(kernel, K.Fisher | K.Marginalization)
        own_texts = strict and fault.name == "bytes"  # other symbols than those of texts
        if fault.plain is not None and not _asks_user(kernel) and not own_texts:
            same(matrix, kernel(fault.plain(X), n_threads=1), fault.slack, "against the usual form")
        return matrix

    def two() -> Any:
        return kernel(fault.make(X), fault.make(X), n_threads=1)

    def diagonal() -> Any:
        S = kernel.prepare(kernel.pack(fault.make(X)))
        diagonal = kernel.diag(S)
        same(diagonal, np.diagonal(kernel.block(S, S)), max(fault.slack, 1e-3), "against the diagonal of the matrix")
        return diagonal

    if fault in faults.GRAMS:  # without labels and solvers nobody asks for definiteness, or which samples are new
        return {"k(X)": one}
    return {"k(X)": one, "k(X, Y)": two, "diag": diagonal}


def _pair_calls(kernel: Kernel, X: Any, fault: Fault) -> dict[str, Callable[[], Any]]:
    def forth() -> Any:
        matrix = kernel(X, fault.make(X), n_threads=1)
        if fault.plain is not None:
            same(matrix, kernel(X, fault.plain(X), n_threads=1), fault.slack, "against the usual form")
        return matrix

    def back() -> Any:
        return kernel(fault.make(X), X, n_threads=1)

    return {"k(X, Y)": forth, "k(Y, X)": back}


# parameters ---------------------------------------------------------------------------------------------

VALUES: list[tuple[str, Any, str]] = [
    ("nan", float("nan"), REFUSE),
    ("inf", float("inf"), EITHER),
    ("0", 0, EITHER),
    ("-1.0", -1.0, EITHER),
    ("1e300", 1e300, EITHER),
    ("1e-300", 1e-300, EITHER),
    ("1e-320", 1e-320, EITHER),
    ("2.5", 2.5, EITHER),
    ("60", 60, EITHER),
    ("True", True, EITHER),
    ("10**400", 10**400, REFUSE),
    ("1j", 1j, REFUSE),
    ("'nonsense'", "nonsense", REFUSE),
    ("'median'", "median", EITHER),
    ("'1.0'", "1.0", EITHER),  # as a size in bytes it is one
    ("None", None, EITHER),
    ("[]", [], REFUSE),
    ("(1.0, 2.0)", (1.0, 2.0), EITHER),
    ("(nan,)", (float("nan"),), REFUSE),
    ("array", np.array([1.0, 0.0]), EITHER),
    ("a class", K.Gaussian, EITHER),
    ("a kernel", K.Gaussian(1.0), EITHER),
    ("a function of nothing", lambda: None, EITHER),
    ("a function that fails", lambda X: 1 / 0, EITHER),
    ("a function to None", lambda X: None, EITHER),
    ("a function to one number", lambda X: 1.0, EITHER),
    ("a function to NaN", lambda X: np.full(np.shape(X), np.nan), EITHER),
    ("a dict", {"a": 1}, REFUSE),
    ("an object", object(), REFUSE),
]


# any characters end sentences, any words have links, anything may stand for what is missing
LEGITIMATE = (
    ("ends", "'nonsense'"), ("links", "a dict"), ("missing", "(nan,)"), ("unlabelled", "'nonsense'"),
    ("unlabelled", "10**400"),
)  # fmt: skip


def parameter_probes() -> Iterator[Probe]:
    """Yield every constructor argument of every kernel with values that it may not have."""
    for entry in ENTRIES.values():
        kernel = entry.kernels[0]
        X, subject = gram() if kernel.domain is Similarities else enough(entry.data.sample), repr(kernel)
        for name in kernel.get_params(deep=False):
            for word, value, expect in VALUES:
                if (name, word) in LEGITIMATE:
                    continue
                calls = partial(_parameter_calls, kernel, X, name, value)
                yield Probe("parameters", subject, f"{name}={word}", expect, calls)


def _parameter_calls(kernel: Kernel, X: Any, name: str, value: Any) -> dict[str, Callable[[], Any]]:
    def one() -> Any:
        changed = kernel.replace(**{name: value}).check()
        return changed.learn(changed.pack(X))(X, n_threads=1)

    return {"k(X)": one}

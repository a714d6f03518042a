"""``mercer warmup``: every compiled loop run once on small samples, so that it is in the cache on disk."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba.core.dispatcher import Dispatcher

from mercer import catalogue
from mercer.cli.terminal import Terminal, pairs
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
from mercer.errors import DomainError
from mercer.estimators import SVC, KernelPCA, KernelRidge, LinearSVC
from mercer.estimators.geometry.unfolding import isomap_kernel
from mercer.gram import Dense, Tiles
from mercer.kernels import (
    ExpectedFeatures,
    Fisher,
    Gaussian,
    GlobalAlignmentSeries,
    Graphlet,
    HiddenMarkov,
    HiddenTree,
    Kernel,
    Linear,
    LocalAlignment,
    Match,
    MeanMap,
    MinMax,
    PairHiddenMarkov,
    RandomWalk,
    ShortestPath,
    Signature,
    Spectrum,
    Substrings,
    TreeSpectrum,
    WeisfeilerLehman,
)
from mercer.kernels.kernel import offers
from mercer.kernels.protocols import Differentiable, HasFeatures, InputDifferentiable
from mercer.models import GaussianHiddenMarkovModel, HiddenMarkovModel, MarkovChain
from mercer.selection.automatic import table_kernels
from mercer.selection.svm_path import svm_path
from mercer.solvers import BundleMethod, ConjugateGradient, CuttingPlane
from mercer.testing.members import member

__all__ = ["run"]

ROWS = 12


def run(terminal: Terminal, *, threads: int | None) -> None:
    """Compile all loops and report how long it took."""
    began = time.perf_counter()
    jobs = [*_kernel_jobs(), *_estimator_jobs()]
    failed: list[str] = []
    with warnings.catch_warnings(), terminal.progress("compiling") as bar:
        warnings.simplefilter("ignore")
        for place, (name, job) in enumerate(jobs):
            try:
                job()
            except Exception as error:  # a loop that cannot be warmed up is compiled when it is needed
                failed.append(f"{name}: {error}")
            bar((place + 1) / len(jobs))
    seconds = time.perf_counter() - began
    loops = _loops()
    cold = _cold(loops)
    result = {
        "seconds": round(seconds, 3),
        "loops": len(loops),
        "compiled": len(loops) - len(cold),
        "left": cold,
        "failed": failed,
    }
    rows = [
        ("loops", f"{len(loops) - len(cold)} of {len(loops)} compiled or found in the cache"),
        ("time", f"{seconds:.1f} s"),
    ]
    if cold:
        rows.append(("left", "compiled when first used: " + ", ".join(cold)))
    terminal.result(result, pairs(rows))


def _loops() -> dict[str, Any]:
    """The compiled functions of all modules of mercer that are loaded."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("mercer."):
            for attribute, member in vars(module).items():
                if isinstance(member, Dispatcher) and member.py_func.__module__ == name:
                    found[f"{name.removeprefix('mercer.')}.{attribute}"] = member
    return found


def _cold(loops: dict[str, Any]) -> list[str]:
    """Those that have not been compiled; what only compiled code calls is part of its caller."""
    inner = {name for loop in loops.values() if loop.signatures for name in loop.py_func.__code__.co_names}
    while True:
        more = {
            name
            for full, loop in loops.items()
            if full.rpartition(".")[2] in inner
            for name in loop.py_func.__code__.co_names
        }
        if more <= inner:
            break
        inner |= more
    return sorted(name for name, loop in loops.items() if not loop.signatures and name.rpartition(".")[2] not in inner)


def _samples(domain: type) -> list[Any]:
    """Small raw data of a domain, in each form that has loops of its own."""
    X = np.random.default_rng(0).uniform(0.1, 1.0, size=(ROWS, 4))
    if domain is Vectors:
        sparse = sp.csr_array(np.where(X > 0.5, X, 0.0))
        return [X, X.astype(np.float32), sparse, sparse.astype(np.float32), X[:, :2]]
    if domain is Texts:
        return [[f"The cat sat on mat {i}. It slept {i % 3} hours." for i in range(ROWS)]]
    if domain is Strings:
        return [["abracadabra"[i % 5 :] + "xyz" for i in range(ROWS)]]
    if domain is Trees:
        return [[f"(S (NP (D the) (N cat{i % 3})) (VP (V sat) (NP (N mat{i % 2}))))" for i in range(ROWS)]]
    if domain is Graphs:
        return [[_ring(4 + i % 3) for i in range(ROWS)]]
    if domain is Nodes:
        return [list(range(ROWS))]
    if domain is Similarities:
        return [X @ X.T]
    if domain in (Sets, Sequences):
        return [[X[i : i + 2] for i in range(ROWS - 2)], [np.sort(X[i : i + 2, :2]) for i in range(ROWS - 2)]]
    if domain is Distributions:
        return [[(row, np.eye(4)) for row in X]]
    if domain is Systems:
        return [[(0.5 * np.eye(2), X[i : i + 2].T, np.ones(2)) for i in range(ROWS - 2)]]
    if domain is Tables:
        return [{"size": X[:, 0], "kind": ["ab"[i % 2] for i in range(ROWS)]}]
    if domain is Tensors:
        return [np.random.default_rng(0).normal(size=(ROWS, 2, 3, 2))]
    return []


def _ring(n: int) -> dict[str, Any]:
    """A ring of n nodes with everything that a graph may have."""
    return {
        "edges": [(i, (i + 1) % n) for i in range(n)],
        "labels": ["CO"[i % 2] for i in range(n)],
        "edge_labels": [i % 2 for i in range(n)],
        "weights": [1.0 + i for i in range(n)],
        "attributes": [[float(i), 1.0] for i in range(n)],
    }


def _kernel_jobs() -> Iterator[tuple[str, Any]]:
    for row in catalogue.kernels():
        kernel = member(row.cls)
        if kernel is None or not isinstance(kernel.domain, type) or kernel.domain in (Frames, Pairs):
            continue
        if forms := _samples(kernel.domain):
            yield row.name, lambda kernel=kernel, forms=forms: _try_forms(kernel, forms)
    many = np.random.default_rng(1).normal(size=(400, 4))  # more than one tile
    for X in (many, many.astype(np.float32), sp.csr_array(np.where(many > 1.0, many, 0.0))):
        yield "several tiles", lambda X=X: (Gaussian(1.0)(X), Gaussian((1.0, 2.0, 1.0, 1.0))(X))
    yield "several tiles of strings", lambda: Spectrum(6)(["".join(map(str, row)) for row in many])
    words = ["ab", "bab", "aabb"]
    yield "Spectrum by a trie", lambda: Spectrum(2, method="trie")(words)
    yield "a function of strings", lambda: KernelRidge(Substrings()).fit(words, [0.0, 1.0, 2.0]).predict(["abba"])
    yield "Spectrum of long substrings", lambda: Spectrum(70)(["ab" * 60, "ba" * 60])
    yield from _structure_jobs()


def _structure_jobs() -> Iterator[tuple[str, Any]]:
    """Kernels on structures in the ways that have loops of their own."""
    hidden = (0.5, 0.5), ((0.9, 0.1), (0.1, 0.9)), ((0.8, 0.2), (0.3, 0.7))
    variants = [
        ExpectedFeatures(Gaussian(1.0)),
        Fisher(GaussianHiddenMarkovModel(2), draws=10),
        Fisher(HiddenMarkovModel(2), draws=10),
        Fisher(MarkovChain()),
        GlobalAlignmentSeries(1.0),
        GlobalAlignmentSeries(1.0, 2),
        MeanMap(Gaussian(1.0)),
        MinMax(Gaussian(1.0)),
        Signature(3),
        Signature(3, "gaussian"),
        LocalAlignment(form="score"),
        Graphlet(4),
        Graphlet(3, connected=True),
        Graphlet(3, samples=20),
        Graphlet(3, connected=True, samples=20),
        RandomWalk(0.001, method="spectral", labels=False, edge_labels=False),
        RandomWalk(0.001, method="sylvester", labels=False, edge_labels=False),
        ShortestPath(weights=True),
        ShortestPath(attributes=Gaussian(1.0)),
        TreeSpectrum(3),
        WeisfeilerLehman(2, ShortestPath()),
    ]
    for kernel in variants:
        for X in _samples(kernel.domain):
            yield repr(kernel), lambda kernel=kernel, X=X: _try_kernel(kernel, X)
    words = ["abba", "abab", "ba"]
    yield "HiddenMarkov", lambda: _try_kernel(HiddenMarkov(hidden, "ab"), words)
    yield "PairHiddenMarkov", lambda: _try_kernel(PairHiddenMarkov(hidden, "ab"), words)
    yield "HiddenTree", lambda: _try_kernel(HiddenTree((-1, 0, 0), *hidden, alphabet="ab"), ["ab", "ba"])


def _try_forms(kernel: Kernel, forms: list[Any]) -> None:
    """Try all forms of the data; some kernels take no zeros, or only two columns, but each takes one of them."""
    refused = []
    for X in forms:
        try:
            _try_kernel(kernel, X)
        except DomainError as error:
            refused.append(error)
    if len(refused) == len(forms):
        raise refused[0]


def _try_kernel(kernel: Kernel, X: Any) -> None:
    S = kernel.pack(X)
    kernel = kernel.learn(S)
    S = kernel.prepare(S)
    kernel(S)
    kernel(S[: ROWS // 2], S)
    if isinstance(X, list):  # new samples, whose words and labels have codes of their own
        kernel(S, X[: ROWS // 2])
    kernel.diag(S)
    if offers(kernel, HasFeatures):
        kernel.features(S)
    if offers(kernel, Differentiable):
        kernel.pullback(S, S, np.ones((len(S), len(S))))
    if offers(kernel, InputDifferentiable):
        kernel.pullback_inputs(S, S, np.ones((len(S), len(S))))


def _estimator_jobs() -> Iterator[tuple[str, Any]]:
    X = _samples(Vectors)[0]
    y = np.arange(ROWS) % 2
    for row in catalogue.estimators():
        try:
            estimator = row.cls()
        except TypeError:
            continue
        yield row.name, lambda estimator=estimator: estimator.fit(X, y)
    yield from _machine_jobs(X, y)
    iterative = KernelRidge(Gaussian(1.0), gram=Tiles(), solver=ConjugateGradient())
    yield "ConjugateGradient", lambda: iterative.fit(X, y).predict(X)
    yield "Woodbury", lambda: KernelRidge(Linear()).fit(X, y).predict(X)
    table = {"a": X[:, 0], "b": ["xy"[i % 2] for i in range(ROWS)], "c": _samples(Strings)[0]}
    kernel = table_kernels(table, {"a": "number", "b": "category", "c": "text"})[0]
    yield "table", lambda: KernelRidge(kernel, fit_intercept=True).fit(table, y).predict(table)
    yield "Match", lambda: Match()(table["b"])


def _machine_jobs(X: Any, y: Any) -> Iterator[tuple[str, Any]]:
    """Support vector machines in the ways that have loops of their own."""
    rng = np.random.default_rng(2)
    many = rng.normal(size=(700, 4))  # more than are solved as a whole
    noisy = (many[:, 0] + rng.normal(size=len(many)) > 0).astype(int)
    sparse = sp.csr_array(np.where(np.abs(many) > 0.5, many, 0.0))
    for precision in ("mixed", "double"):
        machine = SVC(Gaussian(1.0), C=10.0, gram=Tiles(precision=precision), probability=True)
        yield f"SVC in tiles, {precision}", lambda machine=machine: machine.fit(many, noisy).predict_proba(many)
    yield (
        "SVC with a cache of rows",
        lambda: SVC(Gaussian(1.0), gram=Tiles(precision="mixed")).fit(
            rng.normal(size=(3000, 300)), np.arange(3000) % 2
        ),
    )
    yield "SVC of all classes", lambda: SVC(multi_class="crammer_singer").fit(X, np.arange(ROWS) % 3)
    yield "probabilities", lambda: SVC(probability=True).fit(many[:200], noisy[:200]).predict_proba(many)
    yield "prediction", lambda: SVC().fit(many, noisy).predict(many)
    yield "LinearSVC of all classes", lambda: LinearSVC(multi_class="crammer_singer").fit(X, np.arange(ROWS) % 3)
    for data in (many, sparse):
        for loss in ("hinge", "squared_hinge"):
            yield f"LinearSVC, {loss}", lambda data=data, loss=loss: LinearSVC(loss=loss).fit(data, noisy)
        for solver in (BundleMethod(), CuttingPlane()):
            yield repr(solver), lambda data=data, solver=solver: LinearSVC(loss="hinge", solver=solver).fit(data, noisy)
    yield "KernelPCA of few components", lambda: KernelPCA(Gaussian(1.0), 2).fit(many[:200])
    yield "shortest paths", lambda: isomap_kernel(many[:60], 20)
    path = Dense().build(Gaussian(1.0), Vectors.pack(many[:100]))
    yield "path of C", lambda: svm_path(path, np.where(noisy[:100], 1.0, -1.0))

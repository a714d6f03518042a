"""Comparisons with what is no part of scikit-learn: LIBSVM's programs, GraKeL and hyppo, where they are installed."""

import importlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import mercer
from mercer import kernels as K
from mercer.inference import hsic

ABSENT = {"not installed": {"outcome": "skipped", "touched": [], "text": "not installed"}}
RNG_SEED = 0


def outcome(check):
    """Run a comparison and tell how it ended."""
    try:
        check()
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())[:400]
        return {"outcome": "failed", "touched": ["mercer"], "text": text}
    return {"outcome": "passed", "touched": ["mercer"], "text": ""}


# LIBSVM ----------------------------------------------------------------------------------------------------

MACHINES = {
    0: lambda kernel: mercer.SVC(kernel, C=2.0),
    1: lambda kernel: mercer.NuSVC(kernel, nu=0.4),
    2: lambda kernel: mercer.OneClassSVM(kernel, nu=0.4),
    3: lambda kernel: mercer.SVR(kernel, C=2.0, epsilon=0.1),
    4: lambda kernel: mercer.NuSVR(kernel, C=2.0, nu=0.4),
}
KERNELS = {
    0: K.Linear(),
    1: K.Polynomial(2, offset=1.0, scale=0.5),
    2: K.Gaussian.from_gamma(0.5),
}


def libsvm():
    """Train with svm-train and with mercer on the same file; compare what svm-predict and mercer predict."""
    if shutil.which("svm-train") is None or shutil.which("svm-predict") is None:
        return ABSENT
    return {
        f"s{machine}-t{kernel}": outcome(lambda m=machine, k=kernel: _same_predictions(m, k))
        for machine in MACHINES
        for kernel in KERNELS
    }


def _same_predictions(machine, kernel):
    rng = np.random.default_rng(RNG_SEED)
    X = rng.normal(size=(80, 3)).round(6)
    y = np.sin(X[:, 0]) + X[:, 1] if machine > 2 else np.where(X[:, 0] + 0.5 * X[:, 1] * X[:, 2] > 0, 1.0, -1.0)
    model = MACHINES[machine](KERNELS[kernel])
    model.fit(X) if machine == 2 else model.fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        data, trained, said = (str(Path(folder) / name) for name in ("data", "model", "said"))
        lines = (
            f"{b!r} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(a))
            for a, b in zip(X.tolist(), y.tolist(), strict=True)
        )
        Path(data).write_text("\n".join(lines) + "\n", encoding="ascii")
        options = ["-s", str(machine), "-t", str(kernel), "-c", "2", "-n", "0.4", "-p", "0.1", "-g", "0.5", "-d", "2"]
        for command in (
            ["svm-train", "-q", "-e", "1e-8", "-r", "1", *options, data, trained],
            ["svm-predict", data, trained, said],
        ):
            subprocess.run(command, check=True, capture_output=True)
        theirs = np.loadtxt(said)
    ours = model.predict(X)
    if machine > 2:
        np.testing.assert_allclose(ours, theirs, atol=2e-5)
    else:  # LIBSVM prints labels; those of samples on the boundary may differ by rounding
        sure = np.abs(np.ravel(model.decision_function(X))) > 1e-5
        np.testing.assert_array_equal(ours[sure], theirs[sure])


# GraKeL ----------------------------------------------------------------------------------------------------


def grakel():
    """Compare kernels on labelled graphs."""
    try:
        theirs = importlib.import_module("grakel")
    except Exception:  # not there, or not for these versions of NumPy and scikit-learn
        return ABSENT
    rng = np.random.default_rng(RNG_SEED)
    adjacency, labels = [], []
    for _ in range(8):
        n = int(rng.integers(4, 8))
        A = np.triu(rng.random((n, n)) < 0.5, 1).astype(int)
        A[np.arange(n - 1), np.arange(1, n)] = 1  # connected
        adjacency.append(A + A.T)
        labels.append(rng.choice(list("ab"), size=n).tolist())
    given = [theirs.Graph(A.tolist(), node_labels=dict(enumerate(b))) for A, b in zip(adjacency, labels, strict=True)]
    ours = [
        {"edges": [(int(i), int(j)) for i, j in np.argwhere(np.triu(A))], "nodes": len(b), "labels": b}
        for A, b in zip(adjacency, labels, strict=True)
    ]
    pairs = {
        "VertexHistogram": (lambda: theirs.VertexHistogram(), lambda: K.VertexHistogram()),
        "ShortestPath": (lambda: theirs.ShortestPath(), lambda: K.ShortestPath()),
        "WeisfeilerLehman": (lambda: theirs.WeisfeilerLehman(n_iter=2), lambda: K.WeisfeilerLehman(2)),
        "RandomWalk": (
            lambda: theirs.RandomWalk(lamda=0.01, method_type="baseline"),
            lambda: K.RandomWalk(0.01, labels=False),
        ),
        "RandomWalkLabeled": (
            lambda: theirs.RandomWalkLabeled(lamda=0.01, method_type="baseline"),
            lambda: _WithUnlikePairs(K.RandomWalk(0.01)),
        ),
    }

    def compare(name):
        reference, kernel = pairs[name]
        np.testing.assert_allclose(kernel()(_graphs(ours)), reference().fit_transform(given), rtol=1e-9)

    return {name: outcome(lambda name=name: compare(name)) for name in pairs}


class _WithUnlikePairs:
    """Walks of no step also from pairs of nodes whose labels differ, which GraKeL counts and mercer does not."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __call__(self, graphs):
        pairs = np.multiply.outer(*[[len(graph) for graph in graphs]] * 2)
        return self.kernel(graphs) + pairs - K.VertexHistogram()(graphs)


def _graphs(graphs):
    """Return graphs as mercer takes them: networkx where it is installed."""
    networkx = importlib.import_module("networkx")
    made = []
    for graph in graphs:
        G = networkx.Graph()
        G.add_nodes_from((i, {"label": label}) for i, label in enumerate(graph["labels"]))
        G.add_edges_from(graph["edges"])
        made.append(G)
    return made


# hyppo -----------------------------------------------------------------------------------------------------


def hyppo():
    """Compare the statistic of dependence."""
    try:
        independence = importlib.import_module("hyppo.independence")
    except Exception:
        return ABSENT
    rng = np.random.default_rng(RNG_SEED)
    X = rng.normal(size=(40, 2))
    Y = X[:, :1] + rng.normal(size=(40, 1))

    def correlation(A, B):
        """The biased statistic over both norms, as hyppo has it."""
        k = K.Gaussian.from_gamma(0.5)
        return hsic(A, B, (k, k)) / np.sqrt(hsic(A, A, (k, k)) * hsic(B, B, (k, k)))

    def dependence():
        theirs = independence.Hsic(compute_kernel="rbf", bias=True, gamma=0.5).statistic(X, Y)
        np.testing.assert_allclose(correlation(X, Y), theirs**2, rtol=1e-6)  # theirs is the root

    return {"Hsic": outcome(dependence)}


PEERS = {"libsvm": libsvm, "grakel": grakel, "hyppo": hyppo}

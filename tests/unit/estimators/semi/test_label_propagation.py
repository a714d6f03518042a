import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelSpreading

from mercer import LabelPropagation, load, save
from mercer.errors import ParameterError, TargetError
from mercer.kernels import Gaussian, Linear, Spectrum

rng = np.random.default_rng(0)
N = 80
SIDE = np.repeat([0, 1, 2, 3], N // 4)


def blocks(inside, outside, seed):
    """A random graph of four groups."""
    chance = np.random.default_rng(seed)
    P = np.where(SIDE[:, None] == SIDE, inside, outside)
    W = np.triu(chance.random((N, N)) < P, 1) * chance.uniform(0.5, 2.0, size=(N, N))
    return sp.csr_array(W + W.T)


W = blocks(0.3, 0.03, 1)
NODES = np.arange(N)
LABELS = np.full(N, -1)
LABELS[::7] = SIDE[::7]
Y = (LABELS[:, None] == np.arange(4)).astype(float)


def shares(F):
    return F / F.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("alpha", [0.2, 0.99])
def test_soft_labels_solve_the_linear_system(alpha):
    model = LabelPropagation(graph=W, alpha=alpha).fit(NODES, LABELS)
    d = np.asarray(W.sum(axis=1)).ravel()
    S = W.toarray() / np.sqrt(np.outer(d, d))
    exact = shares(np.linalg.solve(np.eye(N) - alpha * S, Y))
    assert np.abs(model.label_distributions_ - exact).max() <= 1e-6
    other = LabelSpreading(kernel=lambda a, b=None: sp.csr_matrix(W), alpha=alpha, tol=1e-10, max_iter=10_000)
    other.fit(NODES[:, None], LABELS)
    assert np.abs(model.label_distributions_ - other.label_distributions_).max() <= 1e-6
    assert np.array_equal(model.transduction_, other.transduction_)
    energy = np.trace(model_values(alpha).T @ (np.eye(N) - S) @ model_values(alpha))
    assert model.energies_[0] == pytest.approx(energy, rel=1e-4) and model.graph_weights_[0] == 1.0


@pytest.mark.parametrize("tie", [0.0, 1e-4, 1.0])
@pytest.mark.parametrize("alpha", [0.3, 0.7, 0.99, 0.999])
def test_parts_that_hardly_touch_solve_the_linear_system(tie, alpha):
    """What one part has in common is not what the other has: no level is right for both."""
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((80, 80)) < 0.3, 1).astype(float)
    A[:40, 40:] = 0.0
    A[0, 79] = tie
    A[5, 6:] = A[:5, 5] = 0.0  # a node without edges
    A = A + A.T
    labels = np.full(80, -1)
    labels[[1, 2, 3, 5, 78]] = [0, 1, 2, 0, 1]
    d = A.sum(axis=1)
    roots = np.where(d > 0.0, 1.0 / np.sqrt(np.where(d > 0.0, d, 1.0)), 0.0)
    exact = shares(
        np.linalg.solve(np.eye(80) - alpha * roots[:, None] * A * roots, np.eye(3)[labels] * (labels >= 0)[:, None])
    )
    model = LabelPropagation(graph=sp.csr_array(A), alpha=alpha).fit(np.arange(80), labels)
    assert model.reached_.all()
    # tol is of what a further step changes; an error in the mode that is slowest may be five times that
    assert np.abs(model.label_distributions_ - exact).max() <= 5e-6


def model_values(alpha):
    d = np.asarray(W.sum(axis=1)).ravel()
    return (1.0 - alpha) * np.linalg.solve(np.eye(N) - alpha * W.toarray() / np.sqrt(np.outer(d, d)), Y)


def test_hard_labels_are_kept_and_the_rest_is_harmonic():
    model = LabelPropagation(graph=W, clamping="hard").fit(NODES, LABELS)
    F = model.label_distributions_
    assert np.array_equal(F[::7], Y[::7])
    d = np.asarray(W.sum(axis=1)).ravel()
    free = LABELS < 0
    assert np.abs(F - W @ F / d[:, None])[free].max() <= 1e-6


def test_several_networks_that_are_one_are_one():
    for clamping in ("soft", "hard"):
        one = LabelPropagation(graph=W, clamping=clamping).fit(NODES, LABELS)
        same = LabelPropagation(graph={"a": W, "b": W, "c": W}, clamping=clamping).fit(NODES, LABELS)
        assert np.allclose(one.label_distributions_, same.label_distributions_, atol=1e-6)
        assert np.allclose(same.graph_weights_, 1.0 / 3.0) and same.graph_names_ == ("a", "b", "c")


@pytest.mark.parametrize("clamping", ["soft", "hard"])
def test_networks_that_do_not_fit_the_labels_matter_less(clamping):
    half = np.where(np.arange(N) % 2, -1, SIDE)
    graphs = {"good": W, **{f"noise {k}": blocks(0.2, 0.2, 10 + k) for k in range(4)}}
    robust = LabelPropagation(graph=graphs, clamping=clamping, alpha=0.99).fit(NODES, half)
    equal = LabelPropagation(graph=graphs, clamping=clamping, alpha=0.99, graph_weights="equal").fit(NODES, half)
    assert robust.graph_weights_[0] > 1.25 * robust.graph_weights_[1:].max()
    hidden = half < 0
    found = [np.mean(model.transduction_[hidden] == SIDE[hidden]) for model in (robust, equal)]
    assert found[0] >= found[1]
    steps = robust.solution_.trace.objective
    assert np.all(np.diff(steps) <= 1e-6 * np.abs(steps).max())  # every round lowers the objective
    given = LabelPropagation(graph=graphs, clamping=clamping, alpha=0.99, graph_weights=(1.0, 1.0, 1.0, 1.0, 1.0))
    assert np.allclose(given.fit(NODES, half).label_distributions_, equal.label_distributions_, atol=1e-9)
    mild = LabelPropagation(graph=graphs, clamping=clamping, alpha=0.99, spread=1e6).fit(NODES, half)
    assert np.allclose(mild.label_distributions_, equal.label_distributions_, atol=1e-4)


def test_robust_weights_satisfy_their_equation():
    """At the end F solves the system of the weights that its own energies give."""
    graphs = (W, blocks(0.1, 0.1, 5))
    model = LabelPropagation(graph=graphs, alpha=0.9, spread=0.3, tol=1e-9).fit(NODES, LABELS)
    fixed = LabelPropagation(graph=graphs, alpha=0.9, graph_weights="equal", tol=1e-9).fit(NODES, LABELS)
    delta = 0.3 * fixed.energies_.mean()
    ratio = (delta + model.energies_[1]) / (delta + model.energies_[0])
    assert model.graph_weights_[0] / model.graph_weights_[1] == pytest.approx(ratio, rel=1e-4)


def test_two_moons_with_four_labels():
    X, y = make_moons(300, noise=0.05, random_state=0)
    some = np.full(300, -1)
    for c in (0, 1):
        some[np.flatnonzero(y == c)[:2]] = c
    model = LabelPropagation(Gaussian(0.2), alpha=0.99).fit(X, some)
    assert np.mean(model.transduction_ == y) > 0.98
    new, truth = make_moons(100, noise=0.05, random_state=1)
    assert model.score(new, truth) > 0.97
    assert np.allclose(model.predict_proba(X), model.label_distributions_)  # a training sample is itself
    weighed = LabelPropagation(Gaussian(0.2), edges="kernel", clamping="hard").fit(X, some)
    assert weighed.score(new, truth) > 0.95


def test_words_and_names_and_what_stands_for_no_label():
    words = ["abab", "abba", "baba", "cdcd", "dcdc", "ccdd"]
    for unlabelled, y in ((None, ["x", None, None, "y", None, None]), ("?", ["x", "?", "?", "y", "?", "?"])):
        model = LabelPropagation(Spectrum(2), n_neighbors=2, unlabelled=unlabelled).fit(words, y)
        assert model.transduction_.tolist() == ["x"] * 3 + ["y"] * 3 and model.classes_.tolist() == ["x", "y"]
        assert model.predict(["abab", "dcd"]).tolist() == ["x", "y"]
    graph = nx.Graph([("Ann", "Bob"), ("Bob", "Cid"), ("Cid", "Dee")])
    model = LabelPropagation(graph=graph, clamping="hard").fit(["Ann", "Dee"], ["a", "b"])
    assert np.allclose(model.predict_proba(["Bob", "Cid"])[:, 1], [1.0 / 3.0, 2.0 / 3.0])
    near = LabelPropagation(Gaussian(1.0), n_neighbors=1, edges="kernel", unlabelled=None)
    nan = near.fit([[0.0], [0.1], [5.0]], [1.0, np.nan, 0.0])
    assert nan.transduction_[1] == 1.0


def test_nodes_that_no_label_reaches():
    for clamping in ("soft", "hard"):
        model = LabelPropagation(graph=[(0, 1), (1, 2), (3, 4)], clamping=clamping).fit([0, 1, 2], [0, 0, 1])
        assert model.reached_.tolist() == [True] * 3 + [False] * 2
        assert np.allclose(model.node_distributions_[3:], [2.0 / 3.0, 1.0 / 3.0])


def test_affinities_that_are_given():
    model = LabelPropagation("precomputed", alpha=0.99).fit(W, LABELS)
    same = LabelPropagation(graph=W, alpha=0.99).fit(NODES, LABELS)
    assert np.array_equal(model.label_distributions_, same.label_distributions_)
    assert np.allclose(model.predict_proba(sp.csr_array(np.eye(N)[3:5])), model.label_distributions_[3:5])


def test_a_model_file_keeps_predictions(tmp_path):
    X = rng.normal(size=(30, 2))
    y = np.where(np.arange(30) % 3, -1, np.arange(30) % 2)
    model = LabelPropagation(Gaussian(1.0)).fit(X, y)
    save(model, tmp_path / "m.mercer")
    assert np.array_equal(load(tmp_path / "m.mercer").predict_proba(X[:5]), model.predict_proba(X[:5]))
    nodes = LabelPropagation(graph={"a": W, "b": blocks(0.2, 0.05, 3)}).fit(NODES, LABELS)
    save(nodes, tmp_path / "n.mercer")
    again = load(tmp_path / "n.mercer")
    assert np.array_equal(again.predict_proba(NODES), nodes.predict_proba(NODES))


def test_bad_input():
    with pytest.raises(TargetError, match="unlabelled=0"):
        LabelPropagation(graph=W).fit(NODES, np.where(SIDE == 0, 1, -1))
    with pytest.raises(TargetError, match="no label"):
        LabelPropagation(graph=W).fit(NODES, np.full(N, -1))
    with pytest.raises(TargetError, match="only one class"):
        LabelPropagation(graph=W).fit(NODES, np.where(SIDE == 0, 7, -1))
    with pytest.raises(TargetError, match="inconsistent numbers"):
        LabelPropagation(graph=W).fit(NODES, LABELS[:-1])
    with pytest.raises(ParameterError, match="one of them"):
        LabelPropagation(Gaussian(1.0), graph=W).fit(NODES, LABELS)
    with pytest.raises(ParameterError, match="one per graph"):
        LabelPropagation(graph=(W, W), graph_weights=(1.0,)).fit(NODES, LABELS)
    signs = LabelPropagation(graph=W, unlabelled=0).fit(NODES, np.where(LABELS < 0, 0, np.where(LABELS > 1, 1, -1)))
    assert signs.classes_.tolist() == [-1, 1]


def test_iterations_that_run_out_are_told():
    with pytest.warns(ConvergenceWarning, match="LabelPropagation stopped"):
        LabelPropagation(graph=W, alpha=0.99, max_iter=2).fit(NODES, LABELS)


@pytest.mark.parametrize("form", [np.float32, sp.csr_array], ids=["float32", "sparse"])
def test_training_samples_keep_their_values_in_any_form(form):
    X, y = make_moons(60, noise=0.1, random_state=0)
    model = LabelPropagation(Gaussian(1.0) + Linear()).fit(X, np.where(np.arange(60) < 20, y, -1))
    np.testing.assert_allclose(model.predict_proba(form(X)), model.label_distributions_, atol=1e-12)

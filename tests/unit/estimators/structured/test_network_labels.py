"""Labels of networks: searches and sums over all labellings, chains as a special case, and grids."""

import warnings

import networkx as nx
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelCRF, LabelSequences, NetworkLabels, StructuredPerceptron, StructuredSVC, grid_edges
from mercer.domains import Vectors
from mercer.errors import DomainError, ParameterError
from mercer.gram import Features
from mercer.kernels import Linear
from mercer.testing import check_output_space
from tests.naive.structured import constraints, dual

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "edges",
    [grid_edges(2, 2), [[0, 1], [2, 1], [2, 0]], [[3, 0, 1], [0, 1, 0], [1, 3, 1]]],
    ids=["grid", "ring", "kinds"],
)
def test_against_all_labellings(edges):
    check_output_space(NetworkLabels(edges, pair_scale=2.0), [["a", "b", "c", "a"], ["b", "b", "a"]])


def test_relaxed_searches_bound_what_they_miss():
    for edges in (grid_edges(2, 2), [[0, 1], [2, 1], [2, 0], [3, 1], [3, 2], [0, 3]]):
        space = NetworkLabels(edges, pair_scale=9.0, inference="relaxed")
        check_output_space(space, [["a", "b", "c", "a"], ["b", "b", "a"]])


def test_relaxed_searches_are_exact_without_cycles():
    y, rng = [["a", "b", "c", "a"]], np.random.default_rng(0)
    chain = NetworkLabels([[0, 1], [2, 1], [2, 3]], inference="relaxed").learn(y)
    F, w, truth = rng.normal(size=(4, 3)), rng.normal(size=9), np.array([0, 1, 2, 0])
    exact = chain.replace(inference="exact")
    np.testing.assert_array_equal(chain.augmented(F, w, truth), exact.augmented(F, w, truth))
    assert chain.slack_bound(F, w, truth) == exact.slack_bound(F, w, truth)


@pytest.mark.parametrize("method", ["constraints", "frank_wolfe", "one_slack"])
def test_the_certificate_of_relaxed_searches_holds(method):
    # every pair of four sites is joined, and pairs of labels repel each other: the relaxation has gaps
    edges, rng = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], np.random.default_rng(1)
    y = [rng.integers(0, 2, 4) for _ in range(8)]
    X = [np.eye(2)[one] + rng.normal(size=(4, 2)) for one in y]
    options = {"method": method, "tol": 1e-2, "gram": Features(), "max_iter": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a bracket holds wherever it stops
        exact = StructuredSVC(Linear(), outputs=NetworkLabels(edges, 4.0), **options).fit(X, y)
        found = StructuredSVC(Linear(), outputs=NetworkLabels(edges, 4.0, inference="relaxed"), **options).fit(X, y)
    assert exact.inexactness_ == 0.0
    assert found.inexactness_ >= 0.0
    rounding = 1e-9 * exact.objective_
    # both brackets hold the same minimum
    assert found.dual_objective_ <= exact.objective_ + rounding
    assert exact.dual_objective_ <= found.objective_ + rounding
    space = found.target_.replace(inference="exact")
    for x, one, slack in zip(X, y, found.slack_, strict=True):
        F, truth = found.expansion_(Vectors.pack(x)), space.encode([one])[0]
        assert slack >= space.slack_bound(F, found.weights_, truth) - 1e-9


def test_relaxed_searches_need_slacks():
    with pytest.raises(ParameterError, match="not exact"):
        StructuredSVC(Linear(), np.inf, outputs=NetworkLabels([[0, 1]], inference="relaxed")).fit([np.eye(2)], [[0, 1]])


def test_a_wide_grid_is_learned_with_a_bound():
    rng, edges = np.random.default_rng(2), grid_edges(12, 12)
    picture = (np.add.outer(np.arange(12), np.arange(12)) < 11).astype(int).ravel()
    X = [(picture + 0.5 * rng.normal(size=144))[:, None] for _ in range(3)]
    space = NetworkLabels(edges, inference="relaxed")
    model = StructuredSVC(Linear() + 1.0, 0.1, outputs=space, tol=0.5, gram=Features()).fit(X[:2], [picture] * 2)
    assert model.score(X[2:], [picture]) > 0.9
    assert 0.0 <= model.gap_ <= 2 * 0.1 * (0.5 + model.inexactness_) * 2


def test_edges_of_a_grid():
    graph = nx.grid_2d_graph(3, 4)
    wanted = {frozenset((4 * a + b, 4 * c + d)) for (a, b), (c, d) in graph.edges}
    found = grid_edges(3, 4)
    assert {frozenset(row) for row in found[:, :2].tolist()} == wanted
    assert all((b - a == 1) == (kind == 0) for a, b, kind in found)


def test_a_chain_is_a_sequence():
    X = [RNG.normal(size=(n, 2)) for n in (3, 4, 2, 4)]
    y = [(x[:, 0] > 0.0).astype(int) for x in X]
    chain = NetworkLabels([[0, 1], [1, 2], [2, 3]])
    a = KernelCRF(Linear(), outputs=chain).fit(X, y)
    b = KernelCRF(Linear(), outputs=LabelSequences()).fit(X, y)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-8)
    for p, q in zip(a.marginals(X), b.marginals(X), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-5)
    assert StructuredSVC(Linear(), C=10.0, outputs=chain).fit(X, y).score(X, y) >= 0.8


def test_bad_edges():
    for bad in ([[0, 0]], [[0.5, 1.0]], [0, 1], [[0, -1]]):
        with pytest.raises(ParameterError, match="two different sites"):
            NetworkLabels(bad).learn([[0, 1]])


NETWORKS = [grid_edges(2, 2), [[0, 1, 1], [2, 1, 0], [2, 0, 1]], [], [[4, 0], [1, 4], [2, 3], [0, 1]], None]
SITES = [4, 3, 2, 5, 1]
POINTS = [RNG.normal(size=(m, 2)) for m in SITES]
NAMES = [np.array(["a", "b", "c"])[(np.abs(x[:, 0]) + 0.7 * RNG.random(len(x))).astype(int) % 3] for x in POINTS]
OWN = list(zip(POINTS, NETWORKS, strict=True))
SPACE = NetworkLabels(pair_scale=2.0, kinds=2)


def all_scores(F, W, edges):
    """Scores of all labellings of a sample, by the formula: labels at sites, and a matrix for each kind of edges."""
    edges = [tuple(map(int, edge)) for edge in (() if edges is None else edges)]
    for labels in np.ndindex(*[3] * len(F)):
        pairs = sum(W[edge[2] if len(edge) > 2 else 0, labels[edge[0]], labels[edge[1]]] for edge in edges)
        yield labels, F[np.arange(len(F)), list(labels)].sum() + np.sqrt(2.0) * pairs


def test_every_sample_has_a_network_of_its_own_in_a_field():
    C, weight = 0.7, np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    model = KernelCRF(Linear(), C, outputs=SPACE, tol=1e-10).fit(OWN, NAMES, weight)
    V, W = model.expansion_(np.eye(2)), model.weights_.reshape(2, 3, 3)  # Linear: f_d(x) = <v_d, x>

    def objective(V, W):
        total = 0.5 * (V**2).sum() + 0.5 * (W**2).sum()
        for (x, edges), y, c in zip(OWN, NAMES, weight, strict=True):
            scores = dict(all_scores(x @ V, W, edges))
            total += C * c * (np.log(np.exp(list(scores.values())).sum()) - scores[tuple("abc".index(k) for k in y)])
        return total

    assert model.objective_ == pytest.approx(objective(V, W), rel=1e-9)
    slopes = []
    for table in (V, W):
        for place in np.ndindex(table.shape):
            ends = []
            for h in (1e-5, -1e-5):
                moved = table.copy()
                moved[place] += h
                ends.append(objective(moved, W) if table is V else objective(V, moved))
            slopes.append((ends[0] - ends[1]) / 2e-5)
    np.testing.assert_allclose(slopes, 0.0, atol=1e-7)
    for (x, edges), found, p, y in zip(OWN, model.predict(OWN), model.marginals(OWN), NAMES, strict=True):
        scores = dict(all_scores(x @ V, W, edges))
        assert tuple("abc".index(k) for k in found) == max(scores, key=scores.get)
        odds = np.exp(list(scores.values()))
        wanted = [[odds[[k[s] == j for k in scores]].sum() / odds.sum() for j in range(3)] for s in range(len(x))]
        np.testing.assert_allclose(p, wanted, atol=1e-9)
        log = scores[tuple("abc".index(k) for k in y)] - np.log(odds.sum())
        assert model.log_probability([(x, edges)], [y])[0] == pytest.approx(log, abs=1e-9)
        best = model.k_best([(x, edges)], 2)[0]
        assert [value for _, value in best] == pytest.approx(np.log(np.sort(odds / odds.sum())[::-1][:2]))


@pytest.mark.parametrize("method", ["constraints", "one_slack"])
def test_every_sample_has_a_network_of_its_own_in_a_margin(method):
    space, codes = SPACE.read(NAMES)
    offsets = np.concatenate([[0], np.cumsum(SITES)])
    rows = []
    for i, code in enumerate(codes):
        every, _ = constraints(space.on(NETWORKS[i], SITES[i]), [code], np.array([0, SITES[i]]))
        for _, psi, g, loss in every:
            wide = np.zeros((offsets[-1], 3))
            wide[offsets[i] : offsets[i + 1]] = psi
            rows.append((i, wide, g, loss))
    K = Linear()(np.concatenate(POINTS))
    value, *_ = dual(K, rows, np.full(5, 1.5))
    model = StructuredSVC(Linear(), 1.5, outputs=SPACE, method=method, tol=1e-6, gram=Features()).fit(OWN, NAMES)
    assert model.objective_ == pytest.approx(value, rel=1e-5)


def test_a_network_that_all_bring_is_that_of_the_space():
    X, y = [POINTS[0], POINTS[0][::-1] + 0.3, POINTS[1]], [NAMES[0], NAMES[0], NAMES[1]]
    edges = [[0, 1], [1, 2]]
    for machine in (KernelCRF, StructuredPerceptron):
        one = machine(Linear(), outputs=NetworkLabels(edges)).fit(X, y)
        each = machine(Linear(), outputs=NetworkLabels()).fit([(x, edges) for x in X], y)
        np.testing.assert_allclose(each.weights_, one.weights_, atol=1e-9)
        for a, b in zip(each.predict([(x, edges) for x in X]), one.predict(X), strict=True):
            np.testing.assert_array_equal(a, b)
    # sites have no order of their own: numbering them otherwise changes nothing
    turn = [2, 0, 3, 1]
    again = KernelCRF(Linear(), outputs=NetworkLabels()).fit(
        [(X[0][turn], [[1, 3], [3, 0]]), *((x, edges) for x in X[1:])], [y[0][turn], *y[1:]]
    )
    whole = KernelCRF(Linear(), outputs=NetworkLabels(edges)).fit(X, y)
    assert again.objective_ == pytest.approx(whole.objective_, rel=1e-9)


def test_networks_that_do_not_fit_their_samples():
    with pytest.raises(DomainError, match="pairs of its objects and its edges"):
        KernelCRF(Linear(), outputs=NetworkLabels()).fit(POINTS, NAMES)
    with pytest.raises(DomainError, match="edge to site 9"):
        KernelCRF(Linear(), outputs=NetworkLabels()).fit([(POINTS[0], [[0, 9]])], NAMES[:1])
    with pytest.raises(ParameterError, match="kinds=2"):
        KernelCRF(Linear(), outputs=NetworkLabels()).fit([(POINTS[0], [[0, 1, 1]])], NAMES[:1])
    model = KernelCRF(Linear(), outputs=NetworkLabels()).fit(OWN[3:], NAMES[3:])
    with pytest.raises(DomainError, match="edge to site 4"):
        model.predict([(POINTS[0], NETWORKS[3])])

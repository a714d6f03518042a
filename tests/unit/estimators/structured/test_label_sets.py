"""Sets and rankings of labels as output spaces."""

import numpy as np
import pytest

from mercer import LabelSets, Rankings, StructuredSVC
from mercer.errors import CapabilityError, TargetError
from mercer.kernels import Gaussian
from mercer.testing import check_output_space

SETS = [[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0]]


def test_sets_against_all_outputs():
    check_output_space(LabelSets(), SETS)


def test_a_ranking_satisfies_its_preferences():
    space = Rankings().learn([[2.0, 0.0, 1.0, 0.0]])
    (edges,) = space.encode([[2.0, 0.0, 1.0, 0.0]])
    order = space.best(np.array([[0.9, 0.1, 0.5, 0.2]]), np.empty(0))
    assert space.loss(edges, order) == 0.0
    np.testing.assert_array_equal(space.decode([order]), [[0, 3, 1, 2]])
    assert space.agreement(edges, order[::-1]) == (0.0, 5.0)
    best = max(space.outputs(1), key=lambda y: space.score(np.array([[0.9, 0.1, 0.5, 0.2]]), np.empty(0), y))
    np.testing.assert_array_equal(best, order)


@pytest.mark.parametrize(("decomposition", "parts"), [("edges", 5), ("stars", 2), ("graph", 1)])
def test_slacks_of_parts_of_a_graph(decomposition, parts):
    space = Rankings(decomposition).learn([[2.0, 0.0, 1.0, 0.0]])
    (edges,) = space.encode([[2.0, 0.0, 1.0, 0.0]])
    truths = space.truths(edges)
    assert len(truths) == parts
    assert sum(share for _, share in truths) == pytest.approx(1.0)
    F = np.array([[0.1, 0.9, 0.5, 0.2]])
    for truth, _ in truths:
        found = space.violated(F, np.empty(0), truth)
        worst = max(1.0 - F[0, u] + F[0, v] for u, v in truth)
        assert found.loss - np.vdot(found.psi, F) == pytest.approx(worst)


@pytest.mark.parametrize("decomposition", ["edges", "stars", "graph"])
def test_the_slacks_bound_the_loss(decomposition):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.column_stack([X[:, 0], X[:, 1], -X[:, 0], np.zeros(30)]).round()
    model = StructuredSVC(Gaussian(1.0), C=3.0, outputs=Rankings(decomposition)).fit(X, y)
    space = model.target_
    truths, place = space.encode(y), 0
    F, offsets, _ = model._values(X)
    for i, order in enumerate(space.best_of_all(F, offsets, model.weights_)):
        for part, _ in space.truths(truths[i]):
            assert model.slack_[place] >= space.loss(part, order) - 1e-9
            place += 1
    assert place == len(model.slack_)
    assert model.score(X, y) > 0.9


def test_bad_outputs_are_refused():
    for bad in (None, [[0, 2]], [0, 1], [[0], [1, 0]], [["a"]]):
        with pytest.raises(TargetError):
            LabelSets().learn(bad)
    for bad in (None, [[np.nan, 1.0]], [1.0], [["a", "b"]]):
        with pytest.raises(TargetError):
            Rankings().learn(bad)
    with pytest.raises(TargetError, match="3 labels were learned"):
        LabelSets().learn(SETS).encode([[1, 0]])
    with pytest.raises(TargetError, match="2 labels were learned"):
        Rankings().learn([[1.0, 0.0]]).encode([[1.0, 0.0, 2.0]])
    with pytest.raises(CapabilityError, match="violated"):
        Rankings().learn([[1.0, 0.0]]).augmented(np.zeros((1, 2)), np.empty(0), np.array([[0, 1]]))
    with pytest.raises(CapabilityError, match="list"):
        LabelSets(40).outputs(1)
    with pytest.raises(CapabilityError, match="list"):
        Rankings(n_labels=12).outputs(1)


def test_a_sample_without_preferences_has_no_slack():
    X, y = np.array([[0.0], [1.0], [2.0]]), [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    assert len(StructuredSVC(Gaussian(1.0), outputs=Rankings()).fit(X, y).slack_) == 2

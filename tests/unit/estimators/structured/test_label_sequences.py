"""Sequences of labels as an output space: against all sequences."""

import numpy as np
import pytest

from mercer import LabelSequences, StructuredSVC
from mercer.errors import CapabilityError, TargetError
from mercer.estimators.structured.output_space import OutputSpace
from mercer.numerics import chain_paths
from mercer.testing import check_output_space

Y = [["N", "V", "N"], ["D"], ["V", "V", "D", "N"], []]
COST = [[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]


@pytest.mark.parametrize("window", [0, 1, 5])
@pytest.mark.parametrize("options", [{}, {"cost": COST, "transition_scale": 4.0}], ids=["plain", "costs"])
def test_against_all_outputs(window, options):
    check_output_space(LabelSequences(window, **options), Y)


def test_slacks_are_rescaled_loss_by_loss_as_by_a_list():
    rng = np.random.default_rng(0)
    space = LabelSequences(cost=[[0.0, 0.5, 1.5], [1.0, 0.0, 0.5], [0.5, 0.5, 0.0]], classes=[0, 1, 2])
    for length in (1, 2, 7):
        F, w, truth = rng.normal(size=(length, 3)), rng.normal(size=9), rng.integers(0, 3, length)
        for scale in (0.1, 1.0, 10.0):  # from no violation to large ones
            found, listed = (f(scale * F, w, truth, "slack") for f in (space.violated, listing(space)))
            margins = [one.loss - np.vdot(one.psi, scale * F) - one.g @ w for one in (found, listed)]
            assert margins[0] == pytest.approx(margins[1], rel=1e-12, abs=1e-12)
            assert found.loss == listed.loss


def listing(space):
    """The search of a space that can only list its outputs."""
    return lambda *given: OutputSpace.violated(space, *given)


def test_long_sequences_have_rescaled_slacks_unless_costs_have_no_unit():
    rng = np.random.default_rng(1)
    space, truth = LabelSequences(classes=[0, 1]), rng.integers(0, 2, 60)
    F = np.eye(2)[truth]
    F[7] = F[7, ::-1]  # the truth scores less by one here, where labels do not depend on each other
    found = space.violated(3.0 * F, np.zeros(4), truth, "slack")
    assert found.key == np.where(np.arange(60) == 7, 1 - truth, truth).tobytes()
    with pytest.raises(CapabilityError, match="margin rescaling"):
        space.replace(cost=[[0.0, 1.0], [np.pi, 0.0]]).violated(F, np.zeros(4), truth, "slack")
    free = space.replace(cost=[[0.0, 0.0], [0.0, 0.0]]).violated(F, np.zeros(4), truth, "slack")
    assert free.loss == 0.0
    assert not free.psi.any()


def test_searching_loss_by_loss_compiled_and_in_python():
    rng = np.random.default_rng(2)
    scores, W, steps = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), rng.integers(0, 3, (4, 3))
    best, path = chain_paths.best_paths_of_losses(scores, np.zeros(3), W, steps)
    value, out = np.empty((4, len(best), 3)), np.empty(4, dtype=np.intp)
    chain_paths._raise_losses.py_func(scores, np.zeros(3), W, W.T, steps, value)
    np.testing.assert_array_equal(value[-1].max(axis=1), best)
    loss = int(np.argmax(best))
    chain_paths._trace_loss.py_func(value, W, steps, loss, out)
    np.testing.assert_array_equal(out, path(loss))
    assert steps[np.arange(4), out].sum() == loss
    assert scores[np.arange(4), out].sum() + W[out[:-1], out[1:]].sum() == pytest.approx(best[loss], rel=1e-13)


@pytest.mark.parametrize("tol", [0.05, 0.1])
def test_a_machine_with_rescaled_slacks_bounds_its_losses(tol):
    rng = np.random.default_rng(3)
    y = [rng.integers(0, 3, 17) for _ in range(6)]  # 3^17 outputs each
    X = [np.eye(3)[one] + 0.8 * rng.normal(size=(17, 3)) for one in y]
    model = StructuredSVC("linear", 1e-3, outputs=LabelSequences(), rescaling="slack", tol=tol).fit(X, y)
    losses = [np.sum(a != b) for a, b in zip(model.predict(X), y, strict=True)]
    assert model.violation_ <= tol  # also of what moved last
    assert (model.slack_ >= losses).all()
    # the known constraints are solved to half the tolerance, and none is beyond them by more than all of it
    assert 0.0 <= model.gap_ <= 6e-3 * 2.0 * tol


def test_a_window_compares_neighbours():
    space = LabelSequences(1).learn([["a", "b"]])
    psi, _ = space.features(np.array([0, 1, 1]), 3)
    # columns: the label of the next position, of this one, of the one before, each for labels a and b
    np.testing.assert_array_equal(psi, [[0, 1, 1, 0, 0, 0], [0, 1, 0, 1, 1, 0], [0, 0, 0, 1, 0, 1]])


def test_bad_labels_are_refused():
    for bad in (None, [], ["ab"], [[[1]]], [[1.5]], [["a"], [1]], [[]]):
        with pytest.raises(TargetError):
            LabelSequences().learn(bad)
    with pytest.raises(TargetError, match="not among those learned"):
        LabelSequences().learn([["a", "b"]]).encode([["c"]])
    with pytest.raises(TargetError, match="for 2 labels"):
        LabelSequences(cost=COST).learn([["a", "b"]])
    with pytest.raises(CapabilityError, match="list"):
        LabelSequences(classes=[0, 1]).outputs(40)

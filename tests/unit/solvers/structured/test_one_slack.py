"""Joint cuts on a risk whose minimum is known, and the bound on their number."""

import numpy as np
import pytest

from mercer.estimators.structured.output_space import Violations
from mercer.gram import Features
from mercer.kernels import Linear
from mercer.problems import Status
from mercer.solvers.columns.block_ascent import Ascent
from mercer.solvers.structured.one_slack import bound_of_joint_cuts, cut_jointly

COST = np.array([3.0, 0.25])


def search(F, w):
    """One sample wants f(1) >= 1, the other w >= 1: xi = max(0, 1 - value)."""
    slacks = np.maximum(0.0, 1.0 - np.array([F[0, 0], w[0]]))
    on = COST * (slacks > 0.0)
    return Violations(slacks, np.array([[on[0]]]), on[1:], float(on.sum()))


def test_two_hinges():
    # |v|^2 / 2 + 3 max(0, 1 - 2 v) + w^2 / 2 + max(0, 1 - w) / 4: v = 1/2, w = 1/4
    gram = Features().build(Linear(), Linear().pack([[2.0]]))
    found = cut_jointly(gram, search, 1, 1, COST, 1e-12, 100)
    assert found.status is Status.CONVERGED
    assert found.values.V.item() == pytest.approx(0.5) and found.values.w.item() == pytest.approx(0.25)
    assert found.primal == pytest.approx(0.125 + 0.03125 + 0.25 * 0.75)
    np.testing.assert_allclose(found.slacks, [0.0, 0.75], atol=1e-9)
    assert found.dual <= found.primal and found.violation <= 1e-12
    assert np.all(np.diff([row[0] for row in found.rows]) <= 1e-15)  # the lower bound rises
    np.testing.assert_array_equal(found.values.solution().weights, found.values.V)


def test_it_can_be_stopped():
    gram = Features().build(Linear(), Linear().pack([[2.0]]))
    seen = []
    found = cut_jointly(gram, search, 1, 1, COST, 1e-12, 100, lambda i, gap: seen.append((i, gap)) or i == 2)
    assert found.status is Status.STOPPED and found.n_iter == 2 == len(seen)
    assert seen[1][1] == pytest.approx((found.primal - found.dual) / COST.sum())
    late = cut_jointly(gram, search, 1, 1, COST, 1e-12, 100, lambda *_: Status.TIME)
    assert late.status is Status.TIME


def test_the_bound():
    def found(radius, loss):
        return Ascent(None, 0.0, 0.0, np.zeros(3), 0.0, 1, 1, radius, loss, Status.CONVERGED, [])

    assert bound_of_joint_cuts(found(4.0, 1.0), np.full(3, 2.0), 0.1) == np.ceil(16 * 6.0 * 4.0 / 0.1)
    assert bound_of_joint_cuts(found(0.25, 33.0), np.full(2, 0.5), 0.5) == 6 + 8
    assert bound_of_joint_cuts(found(1.0, 1.0), np.ones(1), 1e9) == 4.0
    assert bound_of_joint_cuts(found(0.0, 1.0), np.ones(1), 0.1) == 1.0
    assert bound_of_joint_cuts(found(1e300, 1e300), np.ones(1), 1e-300) == np.inf

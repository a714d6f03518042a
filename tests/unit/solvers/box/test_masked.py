"""Descent with some variables held at zero, against the general solver on the others alone."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.gram.exact import DenseGram
from mercer.kernels import Gaussian
from mercer.problems import BoxQP
from mercer.solvers import SMO
from mercer.solvers.box.masked import follow_cost, move_free, settle


def problem(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return Gaussian(1.0)(X), np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0), X


def box_of(sign, C):
    return np.minimum(C * sign, 0.0), np.maximum(C * sign, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_variables_with_an_empty_box_take_no_part(dtype, C):
    K, sign, X = problem()
    part = np.arange(10, 40)
    masked = np.where(np.arange(40) < 10, 0.0, sign)
    beta, g = np.zeros(40), -masked
    assert settle(K.astype(dtype), g, beta, box_of(masked, C), 1e-6) <= 1e-6
    gram = DenseGram(Gaussian(1.0), Vectors.pack(X[part]), K[np.ix_(part, part)])
    lower, upper = box_of(sign[part], C)
    other = SMO(1e-9).solve(BoxQP(gram, -sign[part], lower, upper))
    assert not beta[:10].any()
    np.testing.assert_allclose(K @ beta, K[:, part] @ other.coef, atol=1e-3)
    np.testing.assert_allclose(g, K @ beta - masked, atol=1e-4)  # kept up to date, in the precision of K


def test_a_solution_follows_its_cost():
    K, sign, _ = problem()
    beta, g = np.zeros(40), -sign
    old, new = box_of(sign, 1.0), box_of(sign, 1.2)
    settle(K, g, beta, old, 1e-9)
    follow_cost(K, g, beta, old, new)
    assert abs(beta.sum()) < 1e-9
    assert (new[0] <= beta).all() and (beta <= new[1]).all()
    np.testing.assert_allclose(g, K @ beta - sign, atol=1e-9)
    far = -sign.copy()
    up, down = beta < new[1], beta > new[0]
    left = g[down].max() - g[up].min()
    assert left < far[sign < 0].max() - far[sign > 0].min()  # nearer than where a cold start begins


def test_a_solution_without_bounded_variables_stays():
    K, sign, _ = problem()
    beta, g = np.zeros(40), -sign
    settle(K + 10.0 * np.eye(40), g, beta, box_of(sign, 100.0), 1e-9)
    before = beta.copy()
    follow_cost(K + 10.0 * np.eye(40), g, beta, box_of(sign, 100.0), box_of(sign, 1000.0))
    assert np.array_equal(beta, before)


def test_free_variables_reach_their_optimum_in_one_step():
    K, sign, _ = problem()
    K = K + 0.5 * np.eye(40)
    beta, g = np.zeros(40), -sign
    box = box_of(sign, 1e3)
    settle(K, g, beta, box, 1e-2)
    move_free(K, g, beta, box)
    free = (beta > box[0]) & (beta < box[1])
    assert np.ptp(g[free]) < 1e-6

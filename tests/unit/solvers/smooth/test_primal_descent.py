"""The point that descends: values, gradient and objective by passes are those of the formula."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.gram import Nystrom
from mercer.kernels import Gaussian
from mercer.losses import Logistic, SquaredHinge
from mercer.problems import ConvexRisk
from mercer.solvers import PrimalNewton
from mercer.solvers.smooth.primal_descent import Descent

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(40, 2)), RNG.uniform(0.5, 2.0, 40)
Y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
GRAM = Nystrom(6, random_state=0).build(Gaussian(1.0), Vectors.pack(X))


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()], ids=repr)
def test_a_point_is_that_of_the_formula(loss):
    penalty = 0.3
    run = Descent(ConvexRisk(GRAM, loss, Y, W, penalty, np.ones((40, 1))), PrimalNewton(), None)
    x = RNG.normal(size=(GRAM.rank + 1, 1))
    P = np.column_stack([np.asarray(GRAM.factor(), dtype=float), np.ones(40)])
    f, ridge = P @ x[:, 0], np.append(penalty * x[:-1, 0], 0.0)
    found = run.at(x)
    np.testing.assert_allclose(found.f[:, 0], f, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.g[:, 0], P.T @ (W * loss.gradient(Y, f)) + ridge, rtol=1e-9, atol=1e-10)
    assert found.objective == pytest.approx(W @ loss.value(Y, f) + 0.5 * ridge @ x[:, 0], rel=1e-10)

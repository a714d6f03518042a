"""Minima by penalty: each as if solved alone, whichever solver and Gram."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.gram import Dense, Nystrom, Tiles
from mercer.kernels import Gaussian
from mercer.losses import Absolute, EpsilonInsensitive, Hinge, Huber, Linex, Logistic, Multinomial, Squared
from mercer.problems import ConvexRisk, Status
from mercer.solvers import SMO, Cholesky, Newton, ProximalPoint
from mercer.solvers.risk_path import RiskPath, choose_solver, is_boxed

random = np.random.default_rng(0)
N = 40
X = random.normal(size=(N, 2))
S = Vectors.pack(X)
K = Gaussian(1.0)(X)
Y = np.sin(2 * X[:, 0]) + 0.3 * random.normal(size=N)
SIGN = np.where(Y > 0, 1.0, -1.0)
W = random.uniform(0.5, 2.0, N)
ONES = np.ones((N, 1))
PENALTIES = (1.0, 0.7, 0.01, 30.0, 1.0)


def problem(loss, y, border=None, gram=None, penalty=1.0):
    built = (Dense() if gram is None else gram).build(Gaussian(1.0), S)
    return ConvexRisk(built, loss, y, W, penalty, border)


CASES = {
    "newton": (Logistic(), SIGN, None),
    "newton bias": (Linex(0.5), Y, ONES),
    "proximal": (Absolute(), Y, None),
    "proximal border": (EpsilonInsensitive(0.1), Y, np.column_stack([np.ones(N), X])),
    "smo": (Hinge(), SIGN, ONES),
    "smo twice": (EpsilonInsensitive(0.1), Y, 2.0 * ONES),
    "smo columns": (Huber(0.3), np.column_stack([Y, Y**2]), ONES),
    "softmax": (Multinomial(), np.eye(3)[np.digitize(Y, [-0.4, 0.5])], ONES),
}


@pytest.mark.parametrize("name", CASES)
def test_each_minimum_is_as_if_alone(name):
    loss, y, border = CASES[name]
    path = RiskPath(problem(loss, y, border))
    w = W if y.ndim == 1 else W[:, None]
    for penalty in PENALTIES:
        found = path.at(penalty)
        alone = RiskPath(problem(loss, y, border, penalty=penalty)).at(penalty)
        values = found.solution.state.values
        assert found.solution.status is Status.CONVERGED
        assert found.objective == pytest.approx(alone.objective, rel=1e-6)
        assert found.risk == pytest.approx(np.sum(w * loss.value(y, values)), rel=1e-9)
        a = found.solution.coef
        assert found.energy == pytest.approx(np.sum(a * (K @ a)), rel=1e-5)
        other = 0.0 if border is None else border @ found.solution.multipliers
        np.testing.assert_allclose(values, K @ a + other, atol=1e-6)
        assert 0.0 <= found.solution.gap <= 1e-6 * found.objective
    assert path.fits == len(PENALTIES)


@pytest.mark.parametrize("gram", [Tiles(), Nystrom(N)], ids=repr)
@pytest.mark.parametrize("name", ["newton bias", "proximal", "smo"])
def test_grams_without_a_matrix(gram, name):
    loss, y, border = CASES[name]
    path, exact = RiskPath(problem(loss, y, border, gram)), RiskPath(problem(loss, y, border))
    for penalty in (1.0, 0.2):
        assert path.at(penalty).objective == pytest.approx(exact.at(penalty).objective, rel=1e-6)


def test_longer_and_better_with_less_penalty():
    for name in CASES:
        path = RiskPath(problem(*CASES[name]))
        minima = [path.at(penalty) for penalty in (10.0, 1.0, 0.1, 0.01)]
        assert np.all(np.diff([found.energy for found in minima]) > 0.0)
        assert np.all(np.diff([found.risk for found in minima]) < 0.0)


def test_the_choice_of_a_solver():
    gram = Dense().build(Gaussian(1.0), S)

    def chosen(loss, border=None):
        return type(choose_solver(ConvexRisk(gram, loss, Y, W, 1.0, border)))

    assert chosen(Squared()) is chosen(Squared(), ONES) is Newton
    assert chosen(Absolute(), ONES) is chosen(Huber(), 3.0 * ONES) is SMO
    assert chosen(Absolute()) is chosen(Absolute(), np.column_stack([ONES, X])) is chosen(Absolute(), X[:, :1])
    assert chosen(Absolute()) is ProximalPoint
    assert not is_boxed(Absolute(), 0.0 * ONES) and not is_boxed(Squared(), ONES) and not is_boxed(Linex(), ONES)


def test_what_is_refused():
    with pytest.raises(CapabilityError, match="kinks"):
        RiskPath(problem(Absolute(), Y), Newton())
    with pytest.raises(CapabilityError, match="box dual"):
        RiskPath(problem(Absolute(), Y), SMO())
    with pytest.raises(CapabilityError, match="box dual"):
        RiskPath(problem(Linex(), Y, ONES), SMO())
    with pytest.raises(CapabilityError, match="LinearSystem"):
        RiskPath(problem(Squared(), Y), Cholesky())

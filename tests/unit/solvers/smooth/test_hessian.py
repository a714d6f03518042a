"""Systems with the Hessian of a smooth risk, against the matrices written out."""

import numpy as np
import pytest

from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Gaussian, NegativeDistance, Polynomial
from mercer.losses import Logistic, Multinomial, Ordinal
from mercer.problems import SmoothRisk
from mercer.solvers.smooth.hessian import Curvature, DenseSystem, FreeSystem, PrimalSystem, solve_small, system_of

rng = np.random.default_rng(0)
N = 30
X = rng.normal(size=(N, 2))
W = rng.random(N) + 0.1
BORDER = np.column_stack([np.ones(N), X[:, 0]])
KERNEL = Polynomial(2, offset=1.0)


def curvature(q=0, k=1):
    mixed = 0.1 * rng.normal(size=(N, q))
    return Curvature(np.tile(W[:, None], (1, k)), np.zeros((N, k)), mixed, np.eye(q) + mixed.T @ (mixed / W[:, None]))


def problem(spec, kernel=KERNEL, border=None):
    gram = spec.build(kernel, kernel.pack(X))
    return SmoothRisk(gram, Logistic(), np.ones(N), np.ones(N), 0.3, border)


def test_the_way_follows_from_the_gram():
    for spec, way in ((Dense(), DenseSystem), (Features(), PrimalSystem), (Tiles(), FreeSystem)):
        assert type(system_of(problem(spec))) is way


@pytest.mark.parametrize("border", [None, BORDER], ids=["alone", "border"])
@pytest.mark.parametrize("q", [0, 2])
@pytest.mark.parametrize("spec", [Dense(), Features()], ids=repr)
def test_the_preconditioner_at_its_own_point_solves_the_system(spec, q, border):
    risk = problem(spec, border=border)
    K = KERNEL(X)
    system = system_of(risk)
    here = curvature(q)
    system.adopt(here, 0)
    r, t = rng.normal(size=(N, 1)), rng.normal(size=q)
    step = system.precondition(r, t)
    bent, turn = here(step.values, step.theta)
    np.testing.assert_allclose(0.3 * step.coef + bent, r, atol=1e-9)
    np.testing.assert_allclose(turn, t, atol=1e-9)
    true = system.without_slack(step)
    rest = true.values - K @ step.coef  # what is not made of kernels is made of the border
    assert np.allclose(rest, system.refresh(true).values - K @ step.coef, atol=1e-8)
    if border is None:
        np.testing.assert_allclose(rest, 0.0, atol=1e-9)
    else:
        np.testing.assert_allclose(border.T @ step.coef, 0.0, atol=1e-9)
        np.testing.assert_allclose(border @ system.multipliers(true), rest, atol=1e-8)


def test_a_factor_is_made_again_only_where_it_pays():
    system = system_of(problem(Dense(), border=BORDER))
    assert isinstance(system, DenseSystem)
    system.adopt(curvature(), 0)
    system.adopt(curvature(), 2)
    assert system.factorisations == 1
    system.adopt(curvature(), 1000)
    assert system.factorisations == 2
    P = np.eye(N) - system.basis @ system.basis.T
    V = system.project(rng.normal(size=(N, 2)))
    np.testing.assert_allclose(system.product(V), P @ KERNEL(X) @ P @ V, atol=1e-9)


def test_conditionally_definite_kernels_need_only_their_border():
    kernel = NegativeDistance()
    system = system_of(problem(Dense(), kernel, np.ones((N, 1))))
    system.adopt(curvature(), 0)
    step = system.without_slack(system.precondition(rng.normal(size=(N, 1)), np.zeros(0)))
    np.testing.assert_allclose(step.values, kernel(X) @ step.coef + system.multipliers(step), atol=1e-9)
    assert system.energy(step) > 0.0


def test_products_alone_eliminate_the_border():
    system = system_of(problem(Tiles(), border=BORDER))
    here = curvature(2)
    system.adopt(here, 0)
    r, t = rng.normal(size=(N, 1)), rng.normal(size=2)
    opening = system.open(r, t)
    bent, turn = here(opening.values, opening.theta)
    np.testing.assert_allclose(BORDER.T @ (r - bent), 0.0, atol=1e-9)
    np.testing.assert_allclose(turn, t, atol=1e-9)
    assert system_of(problem(Tiles())).place(np.zeros((N, 1)), np.zeros(0)).values.shape == (N, 1)


def test_small_hessian_is_written_out():
    loss, f, y = Multinomial(), rng.normal(size=(N, 3)), np.eye(3)[rng.integers(0, 3, N)]
    here = Curvature(
        loss.curvature(y, f), loss.gradient(y, f), np.zeros((N, 0)), np.zeros((0, 0)),
        lambda V: loss.hessian_product(y, f, V),
    )  # fmt: skip
    p = loss.mean(f)
    expected = np.zeros((6, 6))
    for i in range(N):
        expected += np.kron(np.diag(p[i]) - np.outer(p[i], p[i]), np.outer(BORDER[i], BORDER[i]))
    np.testing.assert_allclose(here.small(BORDER), expected, atol=1e-10)
    single = here.single()
    assert single.shape == (N,) and (single > 0).all()
    uniform = Curvature(
        loss.curvature(y, 0 * f), 0 * f, np.zeros((N, 0)), np.zeros((0, 0)), lambda V: loss.hessian_product(y, 0 * f, V)
    )
    np.testing.assert_allclose(uniform.single(), 1.0 / 3.0)  # exact on differences of classes


def test_ordinal_terms_enter():
    loss = Ordinal((-1.0, 1.0))
    y, f = rng.integers(0, 3, N).astype(float), rng.normal(size=N)
    _, mixed, second = loss.parameter_terms(y, f, np.ones(N))
    here = Curvature(loss.curvature(y, f)[:, None], loss.gradient(y, f)[:, None], mixed, second)
    V, tau = rng.normal(size=(N, 1)), rng.normal(size=2)
    first, last = here(V, tau)
    np.testing.assert_allclose(first[:, 0], loss.curvature(y, f) * V[:, 0] + mixed @ tau)
    np.testing.assert_allclose(last, mixed.T @ V[:, 0] + second @ tau)


def test_singular_small_systems():
    np.testing.assert_allclose(solve_small(np.ones((2, 2)), np.ones(2)), [0.5, 0.5])
    np.testing.assert_array_equal(solve_small(np.full((1, 1), np.inf), np.ones(1)), [0.0])


def test_gaussian_width_does_not_matter_to_refresh():
    system = system_of(problem(Dense(), Gaussian(1.0)))
    system.adopt(curvature(), 0)
    point = system.place(rng.normal(size=(N, 1)), np.zeros(0))
    np.testing.assert_allclose(point.values, Gaussian(1.0)(X) @ point.coef, atol=1e-10)

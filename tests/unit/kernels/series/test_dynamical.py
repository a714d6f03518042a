"""Dynamical systems: against sums over time, explicit observability matrices, random walks; identification."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import solve_discrete_lyapunov

import mercer
from mercer import SVC
from mercer.domains.systems import Systems
from mercer.errors import DomainError
from mercer.kernels.graphs.random_walk import RandomWalk
from mercer.kernels.series import dynamical as module
from mercer.kernels.series.dynamical import DynamicalSystem, identify
from mercer.testing import check_kernel


def system(rng, states, outputs=2, radius=0.9):
    A = rng.normal(size=(states, states))
    return A * radius / np.abs(np.linalg.eigvals(A)).max(), rng.normal(size=(outputs, states)), rng.normal(size=states)


RNG = np.random.default_rng(0)
SYSTEMS = [system(RNG, s) for s in (3, 3, 1, 4, 2, 3)]
SERIES = [RNG.normal(size=(T, 3)).cumsum(axis=0) for T in (12, 20, 15, 9, 30)] + [np.zeros((6, 3))]


def outputs(one, steps):
    A, C, x = one
    found = []
    for _ in range(steps):
        found.append(C @ x)
        x = A @ x
    return np.array(found)


def seen(one, decay, steps=600):
    """The observability matrix, with the decay."""
    A, C, _ = one
    rows, P = [], np.eye(len(A))
    for _ in range(steps):
        rows.append(C @ P)
        P = np.sqrt(decay) * A @ P
    return np.concatenate(rows)


@pytest.mark.parametrize("decay", [0.3, 0.9, 0.99])
def test_sums_over_time(decay):
    weights = decay ** np.arange(600)[:, None]
    Y = [outputs(one, 600) for one in SYSTEMS]
    expected = np.array([[np.sum(weights * a * b) for b in Y] for a in Y])
    k = DynamicalSystem(decay=decay)
    np.testing.assert_allclose(k(SYSTEMS), expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(k.diag(k.pack(SYSTEMS)), np.diag(expected), rtol=1e-10)


def test_the_equation_of_lyapunov():
    A, C, x = SYSTEMS[0]
    M = solve_discrete_lyapunov(np.sqrt(0.9) * A.T, C.T @ C)
    np.testing.assert_allclose(DynamicalSystem()([SYSTEMS[0]]), [[x @ M @ x]], rtol=1e-10)


@pytest.mark.parametrize("decay", [0.3, 0.9])
def test_principal_angles_of_what_is_seen(decay):
    bases = [np.linalg.qr(seen(one, decay))[0] for one in SYSTEMS]
    expected = [[np.linalg.det(U.T @ V) ** 2 if U.shape == V.shape else 0.0 for V in bases] for U in bases]
    np.testing.assert_allclose(DynamicalSystem(decay=decay, kind="determinant")(SYSTEMS), expected, atol=1e-9)


@given(seed=st.integers(0, 10**6))
def test_the_basis_of_the_states_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    A, C, x = SYSTEMS[1]
    T = rng.normal(size=(3, 3)) + 4.0 * np.eye(3)
    moved = (np.linalg.solve(T, A @ T), C @ T, np.linalg.solve(T, x))
    for kind in ("trace", "determinant"):
        k = DynamicalSystem(kind=kind)
        np.testing.assert_allclose(k([moved], SYSTEMS), k([SYSTEMS[1]], SYSTEMS), rtol=1e-6, atol=1e-8)


def test_states_that_are_not_seen_do_not_count():
    A, C, x = SYSTEMS[0]
    hidden = (
        np.block([[A, np.zeros((3, 1))], [np.ones((1, 3)), 0.5 * np.eye(1)]]),
        np.c_[C, [0.0, 0.0]],
        np.r_[x, 7.0],
    )
    for kind in ("trace", "determinant"):
        k = DynamicalSystem(kind=kind)
        np.testing.assert_allclose(k([hidden], SYSTEMS), k([SYSTEMS[0]], SYSTEMS), rtol=1e-7, atol=1e-9)


def test_random_walks_are_dynamical_systems():
    """Adjacency as transition, ones as beginning and end: the geometric random walk kernel of unlabelled graphs."""
    adjacency = [
        np.array([[0.0, 1, 1], [1, 0, 0], [1, 0, 0]]),
        np.ones((3, 3)) - np.eye(3),
        np.array([[0.0, 1], [1, 0]]),
    ]
    systems = [(A, np.ones((1, len(A))), np.ones(len(A))) for A in adjacency]
    walks = RandomWalk(0.1)(adjacency)
    K = DynamicalSystem(decay=0.1)(systems)
    np.testing.assert_allclose(K, walks, rtol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [
        DynamicalSystem(),
        DynamicalSystem(3, decay=0.5),
        DynamicalSystem(kind="determinant"),
        DynamicalSystem(2, decay=0.7, kind="determinant", lags=2),
    ],
)
@pytest.mark.parametrize("X", [SYSTEMS, SERIES])
def test_laws(kernel, X):
    check_kernel(kernel, X)


@pytest.mark.parametrize(("states", "count", "lags"), [(1, 1, None), (3, 1, None), (3, 2, None), (2, 4, 1), (4, 2, 3)])
def test_systems_are_found_again(states, count, lags):
    one = system(np.random.default_rng(states), states, count)
    found = identify(outputs(one, 25), states, lags)
    assert found[0].shape == (states, states)
    np.testing.assert_allclose(outputs(found, 40), outputs(one, 40), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        sorted(np.abs(np.linalg.eigvals(found[0]))), sorted(np.abs(np.linalg.eigvals(one[0]))), rtol=1e-6
    )


def test_what_series_need():
    A, C, x = identify(np.ones((8, 1)), 3)
    assert A.shape == (1, 1)  # a constant is one state
    np.testing.assert_allclose(outputs((A, C, x), 5), np.ones((5, 1)))
    grown = identify(2.0 ** np.arange(10.0)[:, None], 1)
    np.testing.assert_allclose(grown[0], [[1.0]])
    assert identify(np.array([[3.0, 4.0]]), 1)[0].tolist() == [[0.0]]
    assert identify(np.zeros((5, 1)), 2)[0].shape == (0, 0)
    with pytest.raises(
        DomainError, match=r"Sample 1: A series of 2 points was given; to look at 10 outputs.*fewer states"
    ):
        DynamicalSystem()([np.zeros(12), [1.0, 2.0]])
    np.testing.assert_array_equal(DynamicalSystem(2)([np.zeros(5)], [np.arange(5.0)]), [[0.0]])


def test_refused():
    with pytest.raises(DomainError, match=r"System 0 grows by the factor 2 a step.*decay must be less than 0.25"):
        DynamicalSystem()([([[2.0]], [[1.0]], [1.0])])
    np.testing.assert_allclose(DynamicalSystem(decay=0.2)([([[2.0]], [[1.0]], [1.0])]), [[5.0]])
    with pytest.raises(DomainError, match=r"2 outputs are compared with systems that have 1"):
        DynamicalSystem()(SYSTEMS, [([[0.5]], [[1.0]], [1.0])])


def test_slow_systems():
    """Close to the border many terms are needed; doubling needs their logarithm."""
    slow = ([[1.0]], [[1.0]], [1.0])
    np.testing.assert_allclose(DynamicalSystem(decay=1.0 - 1e-9)([slow]), [[1e9]], rtol=1e-5)


def test_sums_with_other_kernels_and_model_files(tmp_path):
    k = DynamicalSystem(2).normalized() + DynamicalSystem(3, kind="determinant")
    series = SERIES[:-1]
    y = np.arange(len(series)) % 2
    model = SVC(k).fit(series, y)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.decision_function(series), model.decision_function(series))
    single = SVC(DynamicalSystem(2, kind="determinant")).fit(series, y)
    assert isinstance(single.expansion_.samples, Systems)


def test_the_compiled_loop_in_python():
    k = DynamicalSystem()
    ready = k._prepared(k.pack(SYSTEMS))
    M = np.einsum("nda,mdb->nmab", ready.outputs, ready.outputs)
    module._double.py_func(ready.powers, ready.powers, np.empty((4, 4)), M)
    np.testing.assert_allclose(M, module._gramians(ready, ready), rtol=1e-12, atol=1e-12)

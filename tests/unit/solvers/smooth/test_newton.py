"""Newton's method for smooth risks, against scipy on the objective written out."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.errors import CapabilityError, NotPositiveDefinite, ParameterError
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Gaussian, Linear
from mercer.losses import Binomial, Gamma, Logistic, Multinomial, Ordinal, Poisson, Squared
from mercer.problems import LinearSystem, SmoothRisk, Status
from mercer.solvers import Newton

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 3))
ETA = X[:, 0] + 0.5 * X[:, 1]
CODES = np.digitize(ETA + 0.5 * rng.normal(size=N), [-0.5, 0.6])
WEIGHT = rng.random(N) + 0.2
ONES = np.ones((N, 1))
RESPONSES = {
    "logistic": (Logistic(), np.where(CODES > 0, 1.0, -1.0)),
    "multinomial": (Multinomial(), np.eye(3)[CODES]),
    "poisson": (Poisson(), rng.poisson(np.exp(1 + ETA)).astype(float)),
    "gamma": (Gamma(), rng.gamma(2.0, np.exp(ETA))),
    "binomial": (Binomial(5), rng.binomial(5, 1 / (1 + np.exp(-ETA))).astype(float)),
    "squared": (Squared(), ETA + 5.0),
    "ordinal": (Ordinal((-0.1, 0.1)), CODES.astype(float)),
    "two": (Poisson(), rng.poisson(np.exp(np.stack([ETA, 1 - ETA], axis=1))).astype(float)),
}


def risk(name, spec, kernel, penalty=0.5, border=None, weight=WEIGHT):
    loss, y = RESPONSES[name]
    return SmoothRisk(spec.build(kernel, kernel.pack(X)), loss, y, weight, penalty, border)


def naive(name, K, penalty, border):
    """Minimum of the objective by BFGS in the coordinates of a root of K."""
    loss, y = RESPONSES[name]
    k, s = (1 if y.ndim == 1 else y.shape[1]), 0 if border is None else border.shape[1]
    values, vectors = np.linalg.eigh(K)
    root = vectors[:, values > 1e-10 * values[-1]] * np.sqrt(values[values > 1e-10 * values[-1]])
    P = root if border is None else np.hstack([root, border])
    theta = np.asarray(getattr(loss, "parameters", ()), dtype=float)
    size = P.shape[1] * k

    def objective(z):
        if len(theta) and (np.diff(z[size:]) <= 0).any():
            return np.inf, np.zeros_like(z)
        V = z[:size].reshape(-1, k)
        f = (P @ V).reshape(y.shape)
        here = loss.with_parameters(z[size:]) if len(theta) else loss
        penalised = V[: len(V) - s]
        total = np.sum(WEIGHT * here.value(y, f).T) + 0.5 * penalty * np.sum(penalised**2)
        slope = P.T @ (WEIGHT * here.gradient(y, f).T).T.reshape(N, k)
        slope[: len(V) - s] += penalty * penalised
        last = here.parameter_terms(y, f, WEIGHT)[0] if len(theta) else theta
        return total, np.concatenate([slope.ravel(), last])

    start = np.concatenate([np.zeros(size), theta])
    found = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    return found.fun, (P @ found.x[:size].reshape(-1, k)).reshape(y.shape), found.x[size:]


@pytest.mark.parametrize("border", [None, ONES], ids=["alone", "border"])
@pytest.mark.parametrize("name", RESPONSES)
def test_the_minimum_is_that_of_scipy(name, border):
    if name == "ordinal" and border is not None:
        border = X[:, :1]  # the thresholds are a constant already
    for kernel, specs in ((Gaussian(1.0), (Dense(), Tiles())), (Linear(), (Features(), Dense()))):
        value, f, theta = naive(name, kernel(X), 0.5, border)
        for spec in specs:
            solution = Newton(tol=1e-9).solve(risk(name, spec, kernel, border=border))
            assert solution.status is Status.CONVERGED and solution.residual <= 1e-9
            assert solution.trace.objective[-1] <= value * (1 + 1e-10)
            np.testing.assert_allclose(solution.state.values, f, atol=2e-5)
            if len(theta):
                np.testing.assert_allclose(solution.state.loss.parameters, theta, atol=2e-5)
            rebuilt = kernel(X) @ solution.coef
            if border is not None:
                rebuilt = rebuilt + border @ solution.multipliers
                np.testing.assert_allclose(border.T @ solution.coef, 0.0, atol=1e-8)
            np.testing.assert_allclose(rebuilt, solution.state.values, atol=1e-8)
            if solution.weights is not None:
                np.testing.assert_allclose(X.T @ solution.coef, solution.weights, atol=1e-8)


@pytest.mark.parametrize("spec", [Dense(), Tiles()], ids=repr)
def test_the_squared_loss_is_one_linear_system(spec):
    solution = Newton(tol=1e-11).solve(risk("squared", spec, Gaussian(1.0)))
    expected = np.linalg.solve(Gaussian(1.0)(X) + np.diag(0.5 / WEIGHT), RESPONSES["squared"][1])
    np.testing.assert_allclose(solution.coef, expected, atol=1e-9)


def test_at_the_minimum_coefficients_are_slopes():
    loss, y = RESPONSES["logistic"]
    solution = Newton(tol=1e-10).solve(risk("logistic", Dense(), Gaussian(1.0), border=ONES))
    np.testing.assert_allclose(0.5 * solution.coef, -WEIGHT * loss.gradient(y, solution.state.values), atol=1e-8)


@pytest.mark.parametrize("name", ["logistic", "multinomial", "poisson", "ordinal"])
@pytest.mark.parametrize("penalty", [1e-7, 1e-4, 1e6])
def test_never_diverges(name, penalty):
    twice = np.repeat(np.arange(N // 2), 2)  # repeated samples with different responses: K is singular
    loss, y = RESPONSES[name]
    S = Gaussian(1.0).pack(X[twice])
    solution = Newton(tol=1e-6).solve(
        SmoothRisk(Dense().build(Gaussian(1.0), S), loss, y, np.ones(N), penalty, None if name == "ordinal" else ONES)
    )
    objective = solution.trace.objective
    assert solution.status is Status.CONVERGED, solution.residual
    assert np.diff(objective).max(initial=0.0) <= 1e-6 * objective[0]  # by no more than rounding
    assert np.isfinite(solution.coef).all() and len(solution.trace) <= 60


def test_separable_data_end_at_the_penalised_minimum():
    y = np.sign(X[:, 0])
    S = Linear().pack(X)
    for spec in (Dense(), Features()):
        solution = Newton().solve(SmoothRisk(spec.build(Linear(), S), Logistic(), y, np.ones(N), 1e-6, ONES))
        assert solution.status is Status.CONVERGED
        assert (solution.state.values * y > 0.0).all()


def test_warm_start_takes_fewer_steps_and_finds_the_same():
    problem = risk("multinomial", Dense(), Gaussian(1.0), border=ONES)
    first = Newton().solve(problem)
    again = Newton().solve(risk("multinomial", Dense(), Gaussian(1.0), border=ONES), start=first.coef)
    assert len(again.trace) < len(first.trace)
    np.testing.assert_allclose(again.coef, first.coef, atol=1e-7)
    primal = Newton().solve(risk("logistic", Features(), Linear(), border=ONES))
    again = Newton().solve(risk("logistic", Features(), Linear(), border=ONES), start=primal.coef)
    np.testing.assert_allclose(again.weights, primal.weights, atol=1e-7)


@pytest.mark.parametrize("answer", [True, Status.TIME])
def test_a_monitor_stops_with_the_best_so_far(answer):
    seen = []

    def monitor(iteration, residual):
        seen.append((iteration, residual))
        return answer if iteration >= 3 else False

    solution = Newton(tol=1e-12).solve(risk("logistic", Tiles(), Gaussian(0.5), penalty=1e-4), monitor=monitor)
    assert solution.status is (answer if isinstance(answer, Status) else Status.STOPPED)
    assert [i for i, _ in seen] == [1, 2, 3]
    assert 0.0 < solution.residual < 1.0 and solution.trace.objective[-1] < solution.trace.objective[0]


def test_iterations_run_out():
    solution = Newton(tol=1e-12, max_iter=1).solve(risk("logistic", Dense(), Gaussian(0.5), penalty=1e-4))
    assert solution.status is Status.MAX_ITER and len(solution.trace) == 2


def test_rounding_is_told():
    solution = Newton(tol=1e-300).solve(risk("logistic", Dense(), Gaussian(1.0)))
    assert solution.status is Status.STALLED and solution.residual < 1e-12


def test_one_factorisation_serves_all_steps():
    solution = Newton(tol=1e-6).solve(risk("logistic", Dense(), Gaussian(1.0), border=ONES))
    assert solution.details["factorisations"] == 1 and solution.details["inner iterations"] <= 12


def test_the_same_bits():
    runs = [Newton().solve(risk("poisson", Dense(), Gaussian(1.0), border=ONES)).coef for _ in range(2)]
    assert runs[0].tobytes() == runs[1].tobytes()


def test_doors():
    with pytest.raises(ParameterError, match="penalty"):
        Newton().solve(risk("logistic", Dense(), Gaussian(1.0), penalty=0.0))
    with pytest.raises(CapabilityError, match="SmoothRisk"):
        Newton().solve(LinearSystem(np.eye(2), 1.0, np.ones(2)))  # pyright: ignore
    with pytest.raises(ParameterError, match="tol"):
        Newton(tol=0.0).solve(risk("logistic", Dense(), Gaussian(1.0)))

    class Broken:
        def __matmul__(self, V):
            return np.full_like(V, np.nan)

    with pytest.raises(NotPositiveDefinite, match="finite"):
        Newton().solve(SmoothRisk(Broken(), Logistic(), np.array([1.0, -1.0]), np.ones(2), 1.0))

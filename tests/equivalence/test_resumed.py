"""Solvers and estimators that were interrupted and taken up end with the same bits as those that were not."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import (
    GaussianProcessRegressor,
    KernelKMeans,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    SpectralClustering,
)
from mercer.domains import Vectors
from mercer.estimators import SVC, SVR
from mercer.gram import Dense, Nystrom, Tiles
from mercer.gram.exact import TileGram
from mercer.io.checkpoint import Checkpoint
from mercer.kernels import Gaussian
from mercer.losses import Hinge, Logistic, SquaredHinge
from mercer.problems import BoxQP, LinearRisk, LinearSystem, SmoothRisk
from mercer.selection.hyperparameters import Search, tune
from mercer.solvers import SMO, ConjugateGradient, DualDescent, Newton, PrimalGradient
from tests.resuming import Memory, resumed

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 3))
Y = np.sign(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=N))
MANY = np.column_stack([Y, X[:, 0]])
ONE = np.ones((N, 1))


def gram(spec, points=X, scale=1.0):
    return spec.build(Gaussian(scale), Vectors.pack(points))


def linear(spec, options, rhs, border=None):
    return lambda monitor: ConjugateGradient(tol=1e-9, **options).solve(
        LinearSystem(gram(spec), 0.01, rhs, border), monitor=monitor
    )


def logistic(spec, border):
    return lambda monitor: Newton().solve(
        SmoothRisk(gram(spec), Logistic(), Y, np.ones(N), 1e-3, border), monitor=monitor
    )


def program(spec, points, y, scale=1.0, **options):
    C = 10.0 * y
    return lambda monitor: SMO(**options).solve(
        BoxQP(gram(spec, points, scale), -y, np.minimum(C, 0.0), np.maximum(C, 0.0)), monitor=monitor
    )


WIDE = RNG.normal(size=(2500, 300))
SIGNS = np.sign(WIDE[:, 0] + WIDE[:, 1] + 0.3 * RNG.normal(size=2500))
RUNS = {
    "cg": linear(Dense(), {}, Y),
    "cg, border, several": linear(Tiles(), {"preconditioner": "pivoted", "rank": 10}, MANY, ONE),
    "cg, block": linear(Tiles(), {"block": True}, MANY, ONE),
    "newton": logistic(Dense(), ONE),
    "newton, products": logistic(Tiles(), ONE),
    "newton, factor": logistic(Nystrom(20), None),
    "passes": lambda monitor: PrimalGradient(tol=1e-11, samples=2).solve(
        LinearSystem(gram(Nystrom(20)), 0.01, Y), monitor=monitor
    ),
    "smo": program(Dense(), X, Y),
    "smo, rounds": program(Tiles(precision="mixed"), WIDE[:, :3], SIGNS),
    "smo, row cache": program(Tiles(precision="mixed"), WIDE, SIGNS, 25.0, cache="8MB"),
}


@pytest.mark.parametrize("name", RUNS)
def test_solvers_go_on(name):
    run = RUNS[name]
    plain = run(None)
    for interrupt, times in ((1, 1), (2, 3), (7, 2)):
        again = resumed(run, interrupt, times)
        assert np.array_equal(plain.coef, again.coef) and plain.residual == again.residual
        assert plain.status is again.status
        assert np.array_equal(plain.trace.objective, again.trace.objective, equal_nan=True)
        assert np.array_equal(plain.trace.residual, again.trace.residual)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("polish", [True, False])
def test_descent_on_samples_goes_on(loss, polish, monkeypatch):
    monkeypatch.setattr("mercer.solvers.rows.dual_descent._WORK", 20_000)  # so that there are many calls

    def run(monitor):
        problem = LinearRisk(WIDE[:, :150], SIGNS, loss, weight=np.full(2500, 0.1))
        return DualDescent(tol=1e-3, polish=polish).solve(problem, monitor=monitor)

    plain = run(None)
    for interrupt, times in ((1, 1), (9, 3), (40, 2)):
        again = resumed(run, interrupt, times)
        assert np.array_equal(plain.coef, again.coef) and np.array_equal(plain.weights, again.weights)
        assert plain.status is again.status
        assert np.array_equal(plain.trace.objective, again.trace.objective)
    ended = Memory()
    run(ended)
    assert np.array_equal(run(Memory(None, ended.store.entries())).coef, plain.coef)  # one that was at its end


def test_a_search_goes_on():
    def run(monitor):
        def criterion(kernel, beside):
            evaluated.append(1)
            u, v = np.log(kernel.length_scale), np.log(beside["noise"])
            slopes = np.array([4 * u**3 / kernel.length_scale]), {"noise": 2 * (v - 1) / beside["noise"]}
            return u**4 + (v - 1) ** 2, *slopes

        search = Search(restarts=2, random_state=None)  # chance is remembered, too
        return tune(criterion, Gaussian(3.0), {"noise": 0.1}, search=search, monitor=monitor)

    evaluated: list[int] = []
    first = resumed(run, 10**9)
    once = len(evaluated)
    evaluated.clear()
    found = resumed(run, 5, 4)
    assert found.kernel == found.kernel and found.evaluations >= len(evaluated) - 4
    assert len(found.starts) == len(first.starts) == 3 and once == first.evaluations


class Interrupting(Checkpoint):
    """Raises KeyboardInterrupt after some writes."""

    def __init__(self, path, writes):
        super().__init__(path, every=0.0)
        self.left = writes

    def _write(self, entries):
        super()._write(entries)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


LABELS = np.digitize(X[:, 0], [-0.4, 0.4])
ESTIMATORS = [
    (KernelRidge(Gaussian(1.0), alpha=0.1, gram=Tiles()), Y, "dual_coef_"),
    (KernelLogisticRegression(Gaussian(1.0), C=100.0), LABELS, "dual_coef_"),
    (SVC(Gaussian(1.0), C=10.0), LABELS, "dual_coef_"),
    (SVR(Gaussian(1.0), C=10.0), X[:, 1], "dual_coef_"),
    (KernelKMeans(Gaussian(1.0), n_clusters=5, n_init=4, random_state=0), None, "labels_"),
    (GaussianProcessRegressor(Gaussian(1.0), gram=Tiles(), fixed="all", noise=0.01), X[:, 1], "dual_coef_"),
    (GaussianProcessRegressor(Gaussian(1.0), restarts=1, random_state=0), X[:, 1], "dual_coef_"),
]


SPECTRAL = [
    (KernelPCA(Gaussian(0.3), n_components=3, gram=Tiles(), eigen_solver="lanczos"), "dual_coef_"),
    (SpectralClustering(Gaussian(0.3), n_clusters=3, gram=Tiles(), random_state=0), "labels_"),
]


@pytest.mark.parametrize("model, name", SPECTRAL, ids=lambda value: type(value).__name__)
def test_eigenvectors_by_products_go_on(model, name, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.estimators.clustering.spectral_clustering._SMALL", 50)
    path, products = tmp_path / "fit.checkpoint", []
    real = TileGram.__matmul__
    monkeypatch.setattr(TileGram, "__matmul__", lambda self, V: products.append(1) or real(self, V))
    plain = clone(model).fit(X)
    whole = len(products)
    for writes in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            clone(model).set_callbacks(Interrupting(path, writes)).fit(X)
    products.clear()
    saved = Checkpoint(path)
    again = clone(model).set_callbacks(saved).fit(X)
    assert saved.resumed and len(products) < whole
    assert np.array_equal(getattr(plain, name), getattr(again, name))


@pytest.mark.parametrize("model, y, name", ESTIMATORS, ids=lambda value: type(value).__name__)
def test_estimators_go_on(model, y, name, tmp_path):
    path = tmp_path / "fit.checkpoint"
    plain = clone(model).fit(X, y)
    for writes in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            clone(model).set_callbacks(Interrupting(path, writes)).fit(X, y)
        assert path.exists()
    saved = Checkpoint(path)
    again = clone(model).set_callbacks(saved).fit(X, y)
    assert saved.resumed and np.array_equal(getattr(plain, name), getattr(again, name))
    assert np.array_equal(plain.predict(X), again.predict(X))
    assert list(tmp_path.iterdir()) == []  # a fit that is done leaves nothing

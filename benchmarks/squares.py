"""Rows of least squares, Gaussian processes and sparse Bayes, beside scikit-learn, gpytorch and sklearn-rvm.

All contenders start from the same hyper-parameters and climb to the same optimum; what is compared is the log evidence
they reach, or predictions. A ratio to mercer's own fit or to one factorisation says what something costs besides it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from sklearn import gaussian_process as gp
from sklearn.datasets import make_classification, make_friedman1
from sklearn.gaussian_process import kernels as gpk
from sklearn.kernel_ridge import KernelRidge as TheirRidge

from benchmarks.row import Memory, Peer, Points, Row, Table, Timing, times_faster, times_the_cost
from mercer import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelRidge,
    RelevanceVectorRegressor,
)
from mercer.gram import Tiles
from mercer.kernels import Gaussian
from mercer.selection import ridge_path
from mercer.solvers import Cholesky, ConjugateGradient

LENGTH, NARROW = 7.0, 0.2


@dataclass(frozen=True)
class Smooth:
    """Friedman's first function of ten columns with noise, standardised."""

    n: int

    def make(self) -> Table:
        X, y = make_friedman1(self.n, noise=1.0, random_state=0)
        return Table(X, (y - y.mean()) / y.std(), y)

    def __str__(self) -> str:
        return f"Friedman 1, n = {self.n}, d = 10"


@dataclass(frozen=True)
class Sinc:
    """A noisy sinc in one column."""

    n: int

    def make(self) -> Table:
        rng = np.random.default_rng(0)
        x = np.sort(rng.uniform(-10.0, 10.0, self.n))
        return Table(x[:, None], np.sinc(x / np.pi) + 0.1 * rng.standard_normal(self.n), x)

    def __str__(self) -> str:
        return f"noisy sinc, n = {self.n}"


@dataclass(frozen=True)
class Pair:
    """Two classes in ten columns."""

    n: int

    def make(self) -> Table:
        X, y = make_classification(self.n, 10, n_informative=5, flip_y=0.05, random_state=0)
        return Table(X, y, y)

    def __str__(self) -> str:
        return f"make_classification, n = {self.n}, d = 10"


@dataclass(frozen=True)
class Matrix:
    """A Gram matrix with a target."""

    n: int

    def make(self) -> Table:
        table = Points(self.n, 10).make()
        return Table(Gaussian(3.0)(table.X), table.y, table.v)

    def __str__(self) -> str:
        return f"Gaussian Gram matrix, n = {self.n}"


# kernel ridge ---------------------------------------------------------------------------------------------


def ridge(**options: Any) -> Any:
    return lambda data: KernelRidge(Gaussian(LENGTH), alpha=0.1, **options).fit(data.X, data.y)


def their_ridge(data: Table) -> Any:
    return TheirRidge(alpha=0.1, kernel="rbf", gamma=0.5 / LENGTH**2).fit(data.X, data.y)


def products_alone(preconditioner: str | None) -> Any:
    """Ridge regression on tiles by conjugate gradients, to a residual of 1e-8."""
    solver = ConjugateGradient(tol=1e-8, preconditioner=preconditioner)
    return lambda data: KernelRidge(Gaussian(NARROW), alpha=1.0, gram=Tiles(), solver=solver).fit(data.X, data.y)


def predictions(model: Any, data: Table) -> np.ndarray:
    return model.predict(data.X[:500] + 0.1)


# Gaussian processes -----------------------------------------------------------------------------------------


def our_process(data: Table) -> Any:
    return GaussianProcessRegressor(1.0 * Gaussian(1.0), noise=0.1).fit(data.X, data.y)


def their_process(data: Table) -> Any:
    kernel = gpk.ConstantKernel(1.0) * gpk.RBF(1.0) + gpk.WhiteKernel(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gp.GaussianProcessRegressor(kernel, alpha=0.0).fit(data.X, data.y)


class TorchProcess:
    """Exact inference of gpytorch by Cholesky in float64, the evidence climbed by L-BFGS."""

    def __init__(self, data: Table) -> None:
        import gpytorch
        import torch

        X, y = torch.from_numpy(data.X), torch.from_numpy(data.y)
        likelihood = gpytorch.likelihoods.GaussianLikelihood().double()

        class Model(gpytorch.models.ExactGP):
            def __init__(self) -> None:
                super().__init__(X, y, likelihood)
                self.mean = gpytorch.means.ZeroMean()
                self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

            def forward(self, x: Any) -> Any:
                return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

        model = Model().double()
        model.kernel.outputscale, model.kernel.base_kernel.lengthscale, likelihood.noise = 1.0, 1.0, 0.1
        evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        model.train()
        optimizer = torch.optim.LBFGS(
            model.parameters(), max_iter=100, line_search_fn="strong_wolfe", tolerance_grad=1e-5, tolerance_change=1e-9
        )

        def closure() -> Any:
            optimizer.zero_grad()
            loss = -evidence(model(X), y)
            loss.backward()
            return loss

        with (
            gpytorch.settings.fast_computations(False, False, False),
            gpytorch.settings.max_cholesky_size(10**6),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            optimizer.step(closure)
            self.log_marginal_likelihood_ = -float(closure()) * len(y)


def evidence(model: Any, data: Table) -> np.ndarray:
    value = getattr(model, "log_marginal_likelihood_", None)
    return np.array([model.log_marginal_likelihood_value_ if value is None else value]) / len(data.y)


def our_classifier(data: Table) -> Any:
    return GaussianProcessClassifier(1.0 * Gaussian(1.0)).fit(data.X, data.y)


def their_classifier(data: Table) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gp.GaussianProcessClassifier(gpk.ConstantKernel(1.0) * gpk.RBF(1.0)).fit(data.X, data.y)


# sparse Bayes ------------------------------------------------------------------------------------------------


def our_vectors(data: Table) -> Any:
    return RelevanceVectorRegressor(Gaussian.from_gamma(0.5)).fit(data.X, data.y)


def their_vectors(data: Table) -> Any:
    from sklearn_rvm import EMRVR

    model = EMRVR(kernel="rbf", gamma=0.5)
    model.fit(data.X, data.y)  # which returns nothing
    return model


def curve(model: Any, data: Table) -> np.ndarray:
    """Error against the curve without noise."""
    return np.array([np.sqrt(np.mean((model.predict(data.X) - np.sinc(data.X[:, 0] / np.pi)) ** 2))])


ROWS: tuple[Row, ...] = (
    Timing(
        "ridge-large",
        "KernelRidge.fit, Gaussian, as by default",
        Points(10_000, 50),
        Points(1_500, 50),
        ours=ridge(),
        peers=(Peer("sklearn KernelRidge", their_ridge, times_faster(2.5)),),
        outcome=predictions,
        fewest=2,
    ),
    Timing(
        "ridge-double",
        "KernelRidge.fit, Gaussian, float64 factor",
        Points(10_000, 50),
        Points(1_500, 50),
        ours=ridge(solver=Cholesky(precision="double")),
        peers=(Peer("sklearn KernelRidge", their_ridge, times_faster(1.4)),),
        outcome=predictions,
        fewest=2,
    ),
    Timing(
        "ridge-tiles",
        "KernelRidge.fit, conjugate gradients on tiles, their own preconditioner",
        Points(20_000, 2),
        Points(2_000, 2),
        ours=products_alone("auto"),
        peers=(
            Peer("mercer, 100 pivots", products_alone("pivoted"), times_faster(5.0), agrees=1e-6),
            Peer("mercer, none", products_alone(None), times_faster(5.0), agrees=1e-6),
        ),
        outcome=predictions,
        fewest=1,
    ),
    Memory(
        "ridge-large-memory",
        "KernelRidge.fit, Gaussian",
        Points(10_000, 50),
        Points(1_500, 50),
        ours=ridge(),
        unit=lambda data: 8 * len(data.y) ** 2,
        unit_name="n x n matrices",
        bar=times_the_cost(1.3),
        besides_result=False,
        peers=(Peer("sklearn KernelRidge", their_ridge),),
    ),
    Timing(
        "left-out",
        "KernelRidge.fit with leave-one-out",
        Points(5_000, 50),
        Points(1_000, 50),
        ours=ridge(leave_one_out=True),
        peers=(Peer("mercer without it", ridge(), times_the_cost(4.0), same=False),),
        outcome=predictions,
    ),
    Timing(
        "path",
        "50 ridges with leave-one-out",
        Matrix(5_000),
        Matrix(800),
        ours=lambda data: ridge_path(data.X, data.y, np.logspace(-4, 2, 50)),
        peers=(Peer("scipy eigh", lambda data: scipy.linalg.eigh(data.X), times_the_cost(1.3), same=False),),
        fewest=1,
    ),
    Timing(
        "process",
        "GaussianProcessRegressor.fit, evidence",
        Smooth(2_000),
        Smooth(300),
        ours=our_process,
        peers=(
            Peer("sklearn", their_process, times_faster(4.0)),
            Peer("gpytorch", TorchProcess, times_faster(4.0), package="gpytorch"),
        ),
        outcome=evidence,
        fewest=2,
    ),
    Timing(
        "process-large",
        "GaussianProcessRegressor.fit, evidence",
        Smooth(5_000),
        Smooth(500),
        ours=our_process,
        peers=(
            Peer("sklearn", their_process, times_faster(2.5)),
            Peer("gpytorch", TorchProcess, times_faster(2.5), package="gpytorch"),
        ),
        outcome=evidence,
        fewest=1,
    ),
    Memory(
        "process-memory",
        "GaussianProcessRegressor.fit, evidence",
        Smooth(3_000),
        Smooth(500),
        ours=our_process,
        unit=lambda data: 8 * len(data.y) ** 2,
        unit_name="n x n matrices",
        bar=times_the_cost(2.5),
        besides_result=False,
        peers=(Peer("sklearn", their_process),),
    ),
    Timing(
        "process-classes",
        "GaussianProcessClassifier.fit, Laplace",
        Pair(1_000),
        Pair(200),
        ours=our_classifier,
        peers=(Peer("sklearn", their_classifier, times_faster(8.0)),),
        outcome=evidence,
        fewest=2,
    ),
    Timing(
        "relevance",
        "RelevanceVectorRegressor.fit",
        Sinc(2_000),
        Sinc(300),
        ours=our_vectors,
        peers=(Peer("sklearn-rvm EMRVR", their_vectors, times_faster(20.0), package="sklearn_rvm"),),
        outcome=curve,
        fewest=1,
    ),
    Timing(
        "logistic",
        "KernelLogisticRegression.fit",
        Pair(5_000),
        Pair(800),
        ours=lambda data: KernelLogisticRegression(Gaussian(3.0)).fit(data.X, data.y),
        peers=(
            Peer(
                "mercer KernelRidge",
                lambda data: KernelRidge(Gaussian(3.0)).fit(data.X, data.y),
                times_the_cost(3.0),
                same=False,
            ),
        ),
        outcome=lambda model, data: model.decision_function(data.X[:500]),
    ),
)

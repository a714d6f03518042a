"""Smoothing splines: functions that are smooth where the data allow it, with a part that is not penalised.

Symbols: m the order, x_i the samples, w_i their weights, N their sum, alpha the penalty, B the functions that are not
penalised at the samples, dof the trace of the matrix that maps y to the fitted values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy import optimize
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from mercer.arguments import answer_of
from mercer.arrays import Array, Floats, real_numbers
from mercer.budget import UNLIMITED, Plan, Resources
from mercer.constraints import Each, InstanceOf, Integer, OneOf, Optional, Positive, Satisfies
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, ParameterError, warn_caller
from mercer.estimators.estimator import KernelEstimator, pack_vectors, remember_columns
from mercer.estimators.fits import Run, fitting
from mercer.estimators.squares.spline_states import evaluate_states, smooth_states
from mercer.gram import Expansion, Gram
from mercer.kernels import Kernel, ThinPlate
from mercer.problems import LinearSystem
from mercer.runtime.tiling import in_background
from mercer.selection.path import RidgeSpectrum
from mercer.solvers import Solver
from mercer.targets import Real

__all__ = ["SmoothingSpline"]
__public__ = __all__

_NEAR = 1e-5  # how exactly the logarithm of alpha is found


@dataclass(frozen=True, eq=False)
class NaturalSpline:
    """A piecewise polynomial of degree 2m - 1 by its states; of degree m - 1 outside.

    Attributes
    ----------
    places : (n,) array
        Increasing.
    states : (n, m, k) array
        The function and its first m - 1 derivatives there.
    """

    places: Floats
    states: Floats

    def __call__(self, T: Samples, resources: Resources = UNLIMITED) -> Floats:
        """Return values at packed samples of one column, (q, k)."""
        return evaluate_states(self.places, self.states, column(T))


@dataclass(frozen=True, eq=False)
class SemiparametricExpansion:
    """A function of a kernel plus functions that were not penalised.

    Attributes
    ----------
    expansion : Expansion
        The part of the kernel.
    basis : Polynomials, or functions of the user
        The others; called with an array (q, d) or raw data, it returns (q, s).
    weights : (s, k) array
        Their coefficients.
    """

    expansion: Expansion
    basis: Any
    weights: Floats

    def __call__(self, T: Samples, resources: Resources = UNLIMITED) -> Floats:
        """Return values at packed samples, (q, k)."""
        return self.expansion(T, resources) + evaluate_basis(self.basis, T) @ self.weights


@dataclass(frozen=True, eq=False)
class Polynomials:
    """Monomials of several columns, each column shifted and scaled.

    Examples
    --------
    >>> Polynomials.below(2, np.array([[0.0, 0.0], [2.0, 4.0]]))(np.array([[2.0, 4.0]]))
    array([[1., 1., 1.]])
    """

    middle: Floats
    half: Floats
    factors: Array  # (s, degree): which columns are multiplied, -1 is none

    @classmethod
    def below(cls, order: int, X: Floats) -> Polynomials:
        """All monomials of degree below `order`, with columns scaled to the range of X, (n, d)."""
        low, high = X.min(axis=0), X.max(axis=0)
        half = 0.5 * high - 0.5 * low
        rows = [
            (*chosen, *(-1,) * (order - 1 - len(chosen)))
            for degree in range(order)
            for chosen in combinations_with_replacement(range(X.shape[1]), degree)
        ]
        factors = np.array(rows, dtype=np.intp).reshape(len(rows), order - 1)
        return cls(0.5 * high + 0.5 * low, np.where(half > 0.0, half, 1.0), factors)

    def __call__(self, X: Floats) -> Floats:
        """Values (q, s) at rows (q, d)."""
        table = np.hstack([(X - self.middle) / self.half, np.ones((len(X), 1))])  # the last column is for -1
        return table[:, self.factors].prod(axis=2)


class SmoothingSpline(MultiOutputMixin, RegressorMixin, KernelEstimator):
    r"""Smoothing spline: the function that bends least for how near it comes to the data.

    .. math:: \min_f \; \tfrac12 \sum_i w_i (y_i - f(x_i))^2 + \tfrac{\alpha}{2} J(f), \qquad
        J(f) = \int \big(f^{(m)}\big)^2 \;\text{ on the line}

    J does not see polynomials of degree below m, so the function has a part that is not penalised. In several columns J
    is the thin-plate seminorm; with a kernel of your own it is its squared norm, and the part that is not penalised is
    added to the kernel's functions.

    Seed: [SS] Sections 2.5 and 3.4.2 (seminorms; smoothing splines as a linear system); [HSS] Section 2.3.3 (the null
    space of a regulariser).

    Parameters
    ----------
    kernel : Kernel, optional
        None: splines of degree 2m - 1 for one column, in O(n); the thin-plate kernel for several columns.
    alpha : float, optional
        The penalty, positive. None chooses it by `criterion`.
    order : int, default 2
        m: polynomials of degree below m are not penalised. 2 is the cubic spline; thin plates have order 2.
    basis : callable or tuple of callables, optional
        Functions that are not penalised, instead of the polynomials: one that takes all data at once, as an array
        (n, d), and returns (n, s) numbers, or several that return (n,). Only with `kernel`.
    criterion : {"loo", "gcv"}, default "loo"
        What a chosen alpha minimises: the mean squared error of left-out samples, or generalised cross-validation,
        which of few samples may prefer interpolation.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    alpha_ : float
        The penalty.
    dof_ : float
        Degrees of freedom: the trace of the matrix that maps y to the fitted values; m for a polynomial.
    best_score_ : float
        Minus the criterion at ``alpha_``, the mean over the outputs.
    expansion_ : NaturalSpline or SemiparametricExpansion
        The fitted function.
    kernel_ : Kernel or None
        None for one column without a kernel.

    Notes
    -----
    The function of one column is that of `scipy.interpolate.make_smoothing_spline` with ``lam=alpha``; here places may
    be nearly or exactly equal. A sample of weight w counts as w copies, in the criteria too. Outside the data the
    function goes on as a polynomial of degree below m. Cost O(n m^3) on the line, about 30 times that to choose alpha;
    with a kernel O(n^3) and one n x n array, three to choose alpha. There is no ``gram``: thin plates are only
    conditionally positive definite, so that K has no factor of low rank, and the degrees of freedom and the criteria
    need the diagonal of an inverse. For many samples of several columns use `KernelRidge`, which has ``gram``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SmoothingSpline
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> y = np.sin(6 * x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> model = SmoothingSpline().fit(x, y)
    >>> bool(np.abs(model.predict(x) - np.sin(6 * x[:, 0])).max() < 0.1), 5 < model.dof_ < 25
    (True, True)
    """

    highest_order = 2
    gram = None
    solver: Solver | None = None
    target_: Real
    kernel_: Any
    expansion_: Any
    constraints = {
        "kernel": Optional(InstanceOf(Kernel)),
        "alpha": Optional(Positive()),
        "order": Integer(1, 6),
        "basis": Optional(Each(Satisfies("a function of all the data", callable, "lambda X: X[:, :2]"))),
        "criterion": OneOf("loo", "gcv"),
    }

    def __init__(
        self,
        kernel: Any = None,
        alpha: float | None = None,
        *,
        order: int = 2,
        basis: Any = None,
        criterion: str = "loo",
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.order = order
        self.basis = basis
        self.criterion = criterion
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.basis is not None and self.kernel is None:
            raise ParameterError(
                "SmoothingSpline was given basis= without kernel=; splines have their polynomials, other functions go "
                "with a kernel. Give a kernel, as kernel=ThinPlate() or kernel=Gaussian(), or leave basis out."
            )

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SmoothingSpline:
        """Fit the function to training data.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) or (n, k) array
            Real targets.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        pack = self._pack_training
        with fitting(self, X, y, sample_weight, Real(), pack=pack) as (run, kernel, _, S, values, w, _):
            values = values.reshape(len(values), -1)
            if kernel is None:
                self._fit_line(S, values, w, run)
            else:
                self._fit_kernel(kernel.learn(S, values, w), S, values, w, run)
        return self

    def _pack_training(self, X: Any) -> tuple[Samples, Kernel | None]:
        if self.kernel is not None:
            return self._pack(X)
        S, _ = self._pack_line(X)
        if S.width == 1:
            return S, None
        if self.order != 2:
            raise ParameterError(
                f"SmoothingSpline was given order={self.order} for {S.width} columns; thin plates have order 2. Use "
                "order=2, one column, or a kernel of your own."
            )
        plan = self.memory_plan(len(S), S.width)
        plan.require(self.memory)
        return S, ThinPlate()

    def _pack_line(self, X: Any) -> tuple[Vectors, Kernel]:
        """Pack numbers without a plan for an n x n array, which one column does not need."""
        S = pack_vectors(X, self.kernel)
        remember_columns(self, X, S, reset=True)
        return S, ThinPlate()

    def _fit_line(self, S: Samples, y: Floats, w: Floats, run: Run) -> None:
        """Merge equal places, choose alpha, and solve."""
        x = column(S)
        places, member = np.unique(x, return_inverse=True)
        if len(places) < self.order:
            raise DomainError(
                f"X has {len(places)} different places (n_samples={len(x)}); a spline of order {self.order} needs "
                f"{self.order} at least. Give more data, or a lower order."
            )
        line = _Line(places, member, y, w, self.order)
        with run.stage("choice of alpha", 0.9):
            choice = _Choice(lambda alpha: line.value(self.criterion, alpha), run)
            self.alpha_ = float(self.alpha) if self.alpha is not None else choice.best(line.grid())
        states, leverage = line.states(self.alpha_)
        if not np.isfinite(states).all():
            raise DomainError(
                f"X and y of {len(x)} samples have numbers so large or so small that the spline is not finite; numbers "
                "of ordinary size are accepted. Scale the data (for example with StandardScaler)."
            )
        self.kernel_ = None
        self.dof_ = float(np.sum(leverage))
        self.best_score_ = -line.value(self.criterion, self.alpha_)
        self.expansion_ = NaturalSpline(places, states)

    def _fit_kernel(self, kernel: Kernel, S: Samples, y: Floats, w: Floats, run: Run) -> None:
        """Choose alpha by one eigendecomposition, and solve the system with a border."""
        self.kernel_ = kernel
        basis = self.basis if self.basis is not None else self._polynomials(S)
        border = evaluate_basis(basis, S)
        mix = independent(border)
        border = border @ mix
        if (kernel.order or 0) > 0:
            self._check_null_space(kernel, S, border)
        gram = self._represent(kernel, S, run, until=0.3)
        with run.stage("choice of alpha", 0.7):
            self.alpha_ = float(self.alpha) if self.alpha is not None else self._chosen(gram, y, w, border, run)
        shift = self.alpha_ / w
        solution = self._solve(LinearSystem(gram, shift, y, border), run, until=0.95)
        expansion: Any = gram.expand(solution, np.zeros(y.shape[1]))
        self.expansion_ = SemiparametricExpansion(expansion, basis, mix @ solution.multipliers)
        left = shift * solution.state.inverse_diagonal()
        self.dof_ = float(np.sum(1.0 - left))
        self.best_score_ = -_criterion(self.criterion, shift[:, None] * solution.coef, left, w, w)

    def _chosen(self, gram: Gram, y: Floats, w: Floats, border: Floats, run: Run) -> float:
        """Return the alpha of least criterion, from one eigendecomposition."""
        K = np.asarray(gram.to_dense(), dtype=np.float64)
        unit = float(np.mean(np.abs(K)))
        spectrum = in_background(RidgeSpectrum.of, K, w, border, deadline=run.deadline)

        def value(alpha: float) -> float:
            a, left = spectrum.solve(y, np.array([alpha]))
            return _criterion(self.criterion, alpha * a[0] / np.sqrt(w)[:, None], left[0], w, w)

        grid = np.logspace(-10.0, 6.0, 33) * (unit if unit > 1e-290 else 1.0)
        return _Choice(value, run).best(grid)

    def _polynomials(self, S: Samples) -> Polynomials:
        if not isinstance(S, Vectors):
            raise CapabilityError(
                f"SmoothingSpline was given {type(S).__name__} without basis=; polynomials are functions of numbers. "
                "Give the functions that are not penalised as basis=, for example basis=lambda X: np.ones((len(X), 1))."
            )
        return Polynomials.below(self.order, numbers(S))

    def _check_null_space(self, kernel: Kernel, S: Samples, border: Floats) -> None:
        """Raise unless the polynomials that a conditionally positive definite kernel needs are not penalised."""
        needed = Polynomials.below(int(kernel.order or 0), numbers(S))(numbers(S))
        left = needed - border @ np.linalg.lstsq(border, needed, rcond=None)[0]
        if np.abs(left).max() > 1e-6:
            raise CapabilityError(
                f"SmoothingSpline was given {kernel!r}, which is conditionally positive definite of order "
                f"{kernel.order}; polynomials of degree below that must be among the functions that are not penalised. "
                f"Use order={kernel.order}, or add them to basis."
            )

    def _pack_new(self, X: Any) -> Samples:
        check_is_fitted(self)
        if self.kernel_ is not None:
            return super()._pack_new(X)
        T = pack_vectors(X, self.kernel)
        remember_columns(self, X, T, reset=False)
        return T

    def predict(self, X: Any) -> Floats:
        """Return the fitted function at new data, shape (m,) or (m, k).

        Parameters
        ----------
        X : raw data or packed samples
        """
        T = self._pack_new(X)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.expansion_(T, self._resources())
        if not np.isfinite(values).all():
            raise DomainError(
                "Input X gives values of the fitted spline that are too large for floating-point numbers; it grows as "
                "a power beyond the training samples. Scale the data, or leave out samples that are far away."
            )
        return self.target_.decode(values)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        what = f"SmoothingSpline on {n_samples} samples"
        if self.kernel is None and n_features == 1:
            chain = 8 * n_samples * self.order * (2 * self.order + 2 * n_targets + 2)
            return Plan(what, {"states": chain, "packed samples": 16 * n_samples})
        return Plan(
            what,
            {"Gram matrix": 8 * n_samples**2, "eigenvectors and work space": 24 * n_samples**2},
            ("one column without a kernel needs no n x n array", "KernelRidge with gram=Tiles()"),
        )


class _Line:
    """Samples on the line with equal places merged, and what alpha is chosen by."""

    def __init__(self, places: Floats, member: Array, y: Floats, w: Floats, order: int) -> None:
        self.places, self.member, self.y, self.w, self.order = places, member, y, w, order
        self.weight: Floats = np.bincount(member, w, len(places)).astype(np.float64)
        sums = np.stack([np.bincount(member, w * each, len(places)) for each in y.T], axis=1)
        self.means = sums / self.weight[:, None]

    def states(self, alpha: float) -> tuple[Floats, Floats]:
        return smooth_states(self.places, self.means, self.weight, alpha, self.order)

    def value(self, which: str, alpha: float) -> float:
        states, leverage = self.states(alpha)
        errors = self.y - states[self.member, 0]
        return _criterion(which, errors, 1.0 - leverage, self.w, self.weight, self.member)

    def grid(self) -> Floats:
        """Penalties from interpolation to a polynomial; they grow with the power 2m of the samples that they span."""
        n, power = len(self.places), 2 * self.order
        width = (self.places[-1] - self.places[0]) / max(n - 1, 1)
        unit = width ** (power - 1) * float(np.mean(self.weight))
        return unit * np.logspace(-4.0, power * np.log10(max(n, 4)) + 1.0, 8 + 2 * power)


class _Choice:
    """A search for the alpha of least criterion: a grid, then Brent's method beside its best."""

    def __init__(self, criterion: Callable[[float], float], run: Run) -> None:
        self.criterion, self.run = criterion, run
        self.calls, self.budget = 0, 1

    def value(self, log: float) -> float:
        self.calls += 1
        if self.run.monitor(min(self.calls / self.budget, 1.0)):
            raise TimeoutError
        found = self.criterion(float(np.exp(log)))
        return found if np.isfinite(found) else np.inf

    def best(self, grid: Floats) -> float:
        if not (np.isfinite(grid) & (grid > 0.0)).all():
            raise DomainError(
                f"X gives penalties from {grid.min():.3g} to {grid.max():.3g} to choose from; positive and finite ones "
                "are accepted. Scale the data (for example with StandardScaler), or give alpha."
            )
        self.budget = len(grid) + 25
        logs = np.log(grid)
        values = np.array([self.value(log) for log in logs])
        place = int(np.argmin(values))
        low, high = logs[max(place - 1, 0)], logs[min(place + 1, len(logs) - 1)]
        found: Any = optimize.minimize_scalar(
            self.value, bounds=(low, high), method="bounded", options={"xatol": _NEAR, "maxiter": 60}
        )
        return float(np.exp(found.x if found.fun < values[place] else logs[place]))


def _criterion(
    which: str, errors: Floats, left: Floats, w: Floats, merged: Floats, member: Array | slice = slice(None)
) -> float:
    """Mean over samples and outputs of squared errors, made as large as those of left-out samples are.

    `left` is one minus the leverage of places of weight `merged`, of which sample i has the share w_i at place
    ``member[i]``. Of the copies of a sample one is left out, of a weight below one all.
    """
    total = float(w.sum())
    if which == "gcv":
        share = np.full(len(w), (total - len(left) + float(np.sum(left))) / total)
    else:
        part = np.minimum(w, 1.0) / merged[member]
        share = 1.0 - part + part * left[member]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sum(w * np.square(errors.T / share)) / (total * errors.shape[1]))


def evaluate_basis(basis: Any, S: Samples) -> Floats:
    """Values (n, s) of the functions that are not penalised."""
    X = numbers(S) if isinstance(S, Vectors) else S
    functions = basis if isinstance(basis, (tuple, list)) else (basis,)
    parts = [_values_of(function, X, len(S)) for function in functions]
    return np.hstack([part.reshape(len(S), -1) for part in parts])


def _values_of(function: Any, X: Any, n: int) -> Floats:
    """Values of a function that is not penalised, or ParameterError if it is none on arrays of samples."""
    who, takes = "a function that is not penalised", "all samples as one array, as lambda X: X[:, 0]"
    values = real_numbers(answer_of(function, X, who=who, takes=takes, error=ParameterError), f"The answer of {who}")
    if values.ndim == 0 or len(values) != n or not np.isfinite(values).all():
        raise ParameterError(
            f"{who} gave values of shape {values.shape} for {n} samples, or some that are not finite; one finite "
            "number, or one row of them, per sample is accepted. Use for example lambda X: X[:, 0]."
        )
    return values


def independent(border: Floats) -> Floats:
    """Mixtures (s, r) of s functions that are linearly independent at the samples; all of them as a rule."""
    s = border.shape[1]
    _, sizes, mixtures = np.linalg.svd(border, full_matrices=False)
    rank = int(np.sum(sizes > max(border.shape) * np.finfo(np.float64).eps * sizes[0]))
    if rank == s:
        return np.eye(s)
    warn_caller(
        f"{s} functions are not penalised, of which {len(border)} samples determine {rank}; of their coefficients the "
        "smallest are taken. Give more samples, or fewer functions (a lower order, a basis of your own).",
        DegenerateWarning,
    )
    return mixtures[:rank].T


def numbers(S: Samples) -> Floats:
    """Vectors as a dense array of float64, (n, d)."""
    assert isinstance(S, Vectors)
    return np.asarray(S.dense(), dtype=np.float64)


def column(S: Samples) -> Floats:
    """The only column of vectors, (n,)."""
    return numbers(S)[:, 0]

r"""Large margins by linear programs: the 1-norm machine and its relatives.

Symbols: M the (n, D) matrix of what f is linear in, columns of K or features; w its coefficients, b the bias;
p the norm of w, q its dual, 1/p + 1/q = 1; c_i = C w_i the weight of sample i; alpha the dual variables.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.class_weight import compute_class_weight

from mercer.arrays import Array, Floats, Indices
from mercer.budget import Plan
from mercer.constraints import AnyOf, InstanceOf, OneOf, Optional, Positive
from mercer.domains import Samples, Similarities
from mercer.errors import CapabilityError, DomainError, ParameterError, TargetError, TimeBudgetError
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import KernelEstimator, scattered
from mercer.estimators.fits import Run, fitting
from mercer.estimators.parameter_gradients import rank_of
from mercer.gram import Dense, Features, Gram, GramSpec
from mercer.gram.gram import has_features, is_low_rank
from mercer.kernels import Kernel
from mercer.kernels.kernel import offers, overflow_error
from mercer.kernels.protocols import HasFeatures
from mercer.problems import Solution, Status, Trace
from mercer.runtime.tiling import in_background
from mercer.solvers.sparse.design import power_of_two
from mercer.targets import Multiclass

__all__ = ["LinearProgrammingMachine"]
__public__ = __all__

_TOLERANCE = 1e-9  # of feasibility, for HiGHS; its own 1e-7 shows in the bias
_BYTES = 80  # per entry of M: the entry, the sparse copies with both signs that SciPy and HiGHS keep
_TIE = 1e-10  # of all weight: sums this close are equal
_TIME_LIMIT, _INFEASIBLE = 1, 2  # statuses of linprog


class LinearProgrammingMachine(Certified, ClassifierMixin, KernelEstimator):
    r"""Linear programming machine: a large margin with a 1-norm, so that few coefficients remain.

    .. math:: \min_{w, b, \xi} \; \|w\|_p + C \sum_i w_i \xi_i \quad \text{s.t.} \quad
              y_i (\langle w, m(x_i) \rangle + b) \ge 1 - \xi_i, \; \xi_i \ge 0, \qquad p \in \{1, \infty\}

    where m(x) holds the values :math:`k(x, x_j)` at the training samples, so that
    :math:`f(x) = \sum_j w_j k(x, x_j) + b`, or with ``form="primal"`` the features of x. Without errors the
    distance of the samples to the plane f = 0, measured in the q-norm, :math:`1/p + 1/q = 1`, is at least the
    margin :math:`1 / \|w\|_p`, and no other plane keeps a larger one. Its dual is

    .. math:: \max_\alpha \sum_i \alpha_i \quad \text{s.t.} \quad
              \Bigl\| \sum_i \alpha_i y_i m(x_i) \Bigr\|_q \le 1, \; \sum_i \alpha_i y_i = 0, \;
              0 \le \alpha_i \le C w_i

    Seed: [ST] "Linear programming machine"; [HSS] Section 3.1.1 (Mangasarian, and p against q). Departs from the
    convention C sum loss + 1/2 |f|^2: the norm is not squared.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples. Any kernel on any domain: the
        program is linear whatever K is, so indefinite and conditionally definite kernels are accepted.
    C : float, default 1.0
        Price of a unit of margin error. Positive; inf allows none.
    norm : {1, inf}, default 1
        p. With 1 few coefficients are not zero; with inf many have the same size. 2 is the support vector machine.
    form : {"dual", "primal"}, default "dual"
        What f is linear in: values of the kernel at the training samples, or the features of the kernel, which
        must have finitely many (``kernel="linear"``, Spectrum, ...); w is then sparse in the features.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    class_weight : dict, "balanced" or None, default None
        Multiplies the weights of the samples of a class.
    gram : GramSpec, optional
        How K is held; None is `Dense`, or `Features` for ``form="primal"``.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. A linear program has no partial result: out of time is an error.

    Attributes
    ----------
    classes_ : (c,) array
    expansion_ : Expansion or FeatureExpansion
        f, one column per class against the rest, or one for two classes.
    dual_coef_ : (r, n) array
        Coefficients of the training samples, r = 1 for two classes and c for more; for ``form="dual"``.
    coef_ : (r, D) array
        Coefficients of the features; for ``form="primal"``.
    support_ : (s,) array
        Samples, or features, with a coefficient that is not zero.
    intercept_ : (r,) array
        b; where an interval of values is optimal, its middle.
    margin_ : (r,) array
        1 / \|w\|_p, infinite where w is zero.
    n_iter_ : int
        Largest number of iterations of HiGHS.
    solution_ : Solution
        With the duality gap and the violation of the dual's constraints, the largest over the classes.

    Notes
    -----
    A sample of weight w counts as w copies; with ``norm=inf`` and ``form="dual"`` each copy has a coefficient of its
    own, so that of the sample may be w times as large and is divided by w in the norm. More than two classes: one
    program for each against the rest. The programs are solved by the simplex method of HiGHS in SciPy; cost grows
    like n^2 D and more, so thousands of samples take minutes. With a Gram of low rank, `Nystrom` for example, the
    program is made of the factor, of n r numbers, and no n x n matrix is formed. Where the optimum is not unique the
    vertex that HiGHS finds is taken.

    Examples
    --------
    >>> from mercer.estimators.svm.linear_programming import LinearProgrammingMachine
    >>> X = [[0.0, 1.0], [1.0, -1.0], [4.0, 1.0], [5.0, -1.0]]
    >>> model = LinearProgrammingMachine("linear", form="primal").fit(X, ["a", "a", "b", "b"])
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([[0.667, 0.   ]]), array([-1.667]))
    >>> model.margin_.round(3)
    array([1.5])
    """

    constraints = {
        "C": AnyOf(Positive(), OneOf(math.inf)),
        "norm": OneOf(1, math.inf),
        "form": OneOf("dual", "primal"),
        "class_weight": Optional(AnyOf(OneOf("balanced"), InstanceOf(dict))),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        norm: float = 1,
        form: str = "dual",
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        class_weight: Any = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.norm = norm
        self.form = form
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearProgrammingMachine:
        """Solve the linear program of each class.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Class labels.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, kernel, packed, S, labels, w, used):
            weight = self.C * w * _class_weights(self.class_weight, self.target_, labels, w)
            self.kernel_ = kernel.learn(S, labels, w)
            K = self._represent(self.kernel_, S, run, until=0.2)
            M = _columns(K, self.form, self.memory)
            # The copies of a sample would each have a coefficient of their own, which matters to the largest of them.
            reach = w if self.form == "dual" and self.norm != 1 else np.ones(M.shape[1])
            found = self._programs(M, reach, labels, weight, run)
            self._keep(K, found, used, len(packed))
            with np.errstate(divide="ignore"):
                self.margin_ = np.array([1.0 / np.linalg.norm(one.coef / reach, ord=self.norm) for one in found])
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return f_c(x), shape (m, c); for two classes one column, shape (m,), positive for the second."""
        return self._evaluate(X)

    def predict(self, X: Any) -> Array:
        """Return the class with the largest decision value, shape (m,)."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(int)]
        return self.target_.decode(values)

    def _programs(self, M: Any, reach: Floats, labels: Indices, weight: Floats, run: Run) -> list[_Vertex]:
        """Solve one program per class, or one for two classes."""
        count = int(labels.max()) + 1
        positive = [1] if count == 2 else list(range(count))
        found = []
        for step, code in enumerate(positive, 1):
            with run.stage("linear program", 0.2 + 0.8 * step / len(positive)):
                y = np.where(labels == code, 1.0, -1.0)
                left = None if run.deadline is None else run.deadline - time.monotonic()
                found.append(_solve(M, y, weight, reach if self.norm != 1 else None, left))
        return found

    def _keep(self, K: Gram, found: list[_Vertex], used: Indices, n: int) -> None:
        """Store what the programs gave."""
        W = np.stack([vertex.coef for vertex in found], axis=1)
        intercept = np.array([vertex.intercept for vertex in found])
        single = len(found) == 1
        columns, shift = (W[:, 0], intercept[0]) if single else (W, intercept)
        objective, residual = sum(vertex.objective for vertex in found), max(vertex.residual for vertex in found)
        self.solution_ = Solution(
            coef=columns if self.form == "dual" else np.zeros(0),
            weights=None if self.form == "dual" else columns,
            status=Status.CONVERGED,
            residual=residual,
            gap=max(vertex.gap for vertex in found),
            trace=Trace.of([(objective, residual, sum(vertex.seconds for vertex in found))]),
        )
        self.expansion_ = K.expand(self.solution_, shift)
        if self.form == "dual":
            self.dual_coef_ = np.ascontiguousarray(scattered(W, used, n).T)
            self.support_ = np.flatnonzero(self.dual_coef_.any(axis=0))
        else:
            self.coef_ = np.ascontiguousarray(W.T)
            self.support_ = np.flatnonzero(self.coef_.any(axis=0))
        self.intercept_ = intercept
        self.n_iter_ = max(vertex.iterations for vertex in found)

    # entry points ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if isinstance(self.norm, (int, float)) and not isinstance(self.norm, bool) and self.norm == 2:
            raise ParameterError(
                "norm=2 was given to LinearProgrammingMachine; it accepts 1 and inf, whose programs are linear. The "
                "machine of norm 2 is the support vector machine: use SVC, or LinearSVC for form='primal'."
            )
        super()._check_parameters()
        if self.form == "primal" and self.gram is not None and not has_features(self.gram):
            raise ParameterError(
                f"gram={self.gram!r} was given with form='primal', which needs the features; gram=Features() "
                "or None is accepted. Leave gram out, or use form='dual'."
            )

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        if self.form == "primal" and not offers(kernel, HasFeatures):
            raise CapabilityError(
                f"form='primal' needs a kernel with a finite feature map; {kernel!r} has none. Use form='dual', or a "
                "kernel such as Linear(), Polynomial(2) or Spectrum(3)."
            )
        return self.gram or (Features() if self.form == "primal" else Dense())

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features, n_targets)
        spec = self._planned_gram(n_samples)
        columns = n_features if has_features(spec) else rank_of(spec, n_samples, n_features)
        constraints = _BYTES * n_samples * min(columns, n_samples)  # K is written out, however it is held
        return Plan(plan.what, {**plan.buffers, "constraints": constraints}, plan.options)

    def _check_order(self, kernel: Kernel) -> None:
        """Accept every kernel: a linear program needs no definiteness."""

    def _check_definite(self, S: Similarities) -> None:
        S.check_symmetric()


class _Vertex(NamedTuple):
    """Solution of one program."""

    coef: Floats
    intercept: float
    objective: float
    gap: float
    residual: float
    iterations: int
    seconds: float


def _class_weights(given: Any, target: Multiclass, labels: Indices, w: Floats) -> Floats:
    """Return the weight of each sample's class, (n,); TargetError if a class has no sample left."""
    mass = np.bincount(labels, minlength=len(target.classes))
    if not mass.all():
        lost = target.classes[np.flatnonzero(mass == 0)[0]]
        raise TargetError(
            f"class {lost!r} has no sample of positive weight; each class needs at least one. "
            "Leave its samples out of X and y, or give one of them a weight."
        )
    try:
        found = compute_class_weight(given, classes=target.classes, y=target.classes[labels], sample_weight=w)
        found = np.asarray(found, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"class_weight={given!r} was given for the classes {target.classes.tolist()}; 'balanced', None or a dict "
            "from labels to positive numbers is accepted. Use the labels of y as keys."
        ) from error
    if not np.all(np.isfinite(found) & (found > 0.0)):
        raise ParameterError(
            f"class_weight={given!r} gives the weights {found.tolist()}; they must be finite and positive. Leave the "
            "samples of a class out to ignore it."
        )
    return found[labels]


def _columns(K: Gram, form: str, memory: Any) -> Any:
    """Return M, (n, D), as an array, a sparse matrix or a factor of it."""
    low = is_low_rank(K)
    if form == "primal":
        M: Any = K.matrix  # pyright: ignore[reportAttributeAccessIssue]  # of the Gram that Features builds
    else:
        M = K.factor() if low else K.to_dense()
    entries = M.nnz if sp.issparse(M) else M.size
    Plan(f"a linear program on {M.shape[0]} samples", {"constraints": _BYTES * entries}).require(memory)
    if not np.isfinite(M.data if sp.issparse(M) else M).all():
        raise overflow_error(K.kernel)
    return _Factored(M) if low else M


class _Factored:
    """M = F F^T by its factor: <w, m(x_i)> is <u, F_i> with u = F^T w, which the program has as variables."""

    def __init__(self, F: Floats) -> None:
        self.F = F
        self.shape = len(F), len(F)

    def __matmul__(self, w: Floats) -> Floats:
        return self.F @ (self.F.T @ w)


class _Parts(NamedTuple):
    """The part of M that a program needs: <w, m(x_i)> = unit <inner_i, v>, where v is w, or else ties v = ties w."""

    unit: float
    inner: Any
    ties: Any


def _parts(M: Any) -> _Parts:
    """Return M, or its factor, divided by a power of two: HiGHS takes entries below 1e-9 for zero."""
    if isinstance(M, _Factored):
        root = power_of_two(M.F)
        return _Parts(root * root, sp.csc_array(M.F / root), sp.csc_array(M.F.T / root))
    unit = power_of_two(M.data if sp.issparse(M) else M)
    if unit < np.finfo(float).tiny:  # coefficients are of the size of its inverse
        raise DomainError(
            f"The similarities of the samples are {unit:.1g} at most, so small that coefficients overflow. Multiply "
            "the samples, or the kernel, by a large number."
        )
    return _Parts(unit, sp.csc_array(M, dtype=np.float64) * (1.0 / unit), None)


def _solve(M: Any, y: Floats, weight: Floats, reach: Floats | None, seconds: float | None) -> _Vertex:
    """Solve the program of two classes, y = -1 and 1, within a number of seconds.

    ``reach`` is None for p = 1; for p = inf the norm is the largest of abs(w_j) / reach_j.
    """
    began = time.perf_counter()
    n, D = M.shape
    unit, inner, ties = _parts(M)
    signed = sp.csc_array(inner * y[:, None])
    first = signed if ties is None else sp.csc_array((n, D))
    hard = not np.isfinite(weight).all()
    bias, slack = sp.csc_array(y[:, None]), sp.eye_array(n, format="csc")
    free, above = [-np.inf, np.inf], [0.0, np.inf]
    if reach is None:  # w = w+ - w-, both not negative
        A = sp.hstack([first, -first, bias, slack], format="csc")
        cost, limits = np.ones(2 * D), [above] * (2 * D)
        rhs = np.ones(n)
    else:  # -t reach <= w <= t reach
        one, ends = sp.eye_array(D, format="csc"), sp.csc_array(reach[:, None])
        A = sp.block_array(
            [[first, None, bias, slack], [-one, ends, None, None], [one, ends, None, None]], format="csc"
        )
        cost, limits = np.append(np.zeros(D), 1.0), [free] * D + [above]
        rhs = np.append(np.ones(n), np.zeros(2 * D))
    cost = np.concatenate([cost, [0.0], np.zeros(n) if hard else weight * unit])
    limits = np.array([*limits, free, *([[0.0, 0.0 if hard else np.inf]] * n)])
    options = {"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE}
    if seconds is not None:
        options["time_limit"] = max(seconds, 1e-3)
    equal = None
    if ties is not None:  # the variables u = F^T w come last
        r, k, rest = ties.shape[0], len(cost), len(rhs) - n
        A = sp.hstack([A, sp.vstack([signed, sp.csc_array((rest, r))])], format="csc")
        sides = [ties] if reach is not None else [ties, -ties]
        equal = sp.hstack([*sides, sp.csc_array((r, k - D * len(sides))), -sp.eye_array(r)], format="csc")
        cost, limits = np.append(cost, np.zeros(r)), np.concatenate([limits, [free] * r])
    result = in_background(_highs, cost, (-A, -rhs), equal, limits, options)
    _require_solved(result, hard)
    w = (result.x[:D] - result.x[D : 2 * D] if reach is None else result.x[:D]) / unit
    b = float(result.x[2 * D if reach is None else D + 1])
    if not hard:
        b = _middle_bias(y - np.asarray(M @ w), y, weight, b)
    alpha = -np.asarray(result.ineqlin.marginals)[:n] / unit
    pull = np.abs(M.T @ (y * alpha)) if ties is None else np.abs(M @ (y * alpha))
    length = np.max(pull, initial=0.0) if reach is None else reach @ pull
    off = max(abs(y @ alpha), -alpha.min(initial=0.0), np.max(alpha - weight))
    return _Vertex(
        coef=w,
        intercept=b,
        objective=float(result.fun) / unit,
        gap=max(float(result.fun) / unit - float(alpha.sum()), 0.0),
        residual=float(max(length - 1.0, unit * off, 0.0)),
        iterations=int(result.nit),
        seconds=time.perf_counter() - began,
    )


def _highs(cost: Floats, below: Any, equal: Any, limits: Floats, options: dict[str, float]) -> Any:
    A, rhs = below
    zeros = None if equal is None else np.zeros(equal.shape[0])
    return linprog(
        cost, A_ub=A, b_ub=rhs, A_eq=equal, b_eq=zeros, bounds=limits, method="highs", options=options
    )  # fmt: skip


def _require_solved(result: Any, hard: bool) -> None:
    """Raise unless HiGHS found an optimum."""
    if result.status == 0:
        return
    if result.status == _TIME_LIMIT:
        raise TimeBudgetError(
            "LinearProgrammingMachine.fit ran out of max_time during a linear program, which gives no partial result. "
            "Raise max_time, fit fewer samples, or use SVC, which returns the best solution so far."
        )
    if hard and result.status == _INFEASIBLE:
        raise TargetError(
            "C=inf was given, which allows no margin error, but no such function separates the classes; separable "
            "samples are needed. Give a finite C, or a kernel with more functions, for example a narrower Gaussian."
        )
    raise ParameterError(
        f"HiGHS could not solve the linear program: {result.message} Numbers of very different sizes are the usual "
        "reason; values of the kernel around 1 are accepted best. Scale the samples, or use kernel.normalized()."
    )


def _middle_bias(breaks: Floats, y: Floats, weight: Floats, b: float) -> float:
    """Middle of the interval of the bias that costs least with w as it is.

    The cost of the errors is a convex piecewise linear function of b: its slope starts at minus the weight of the
    positive class and grows by c_i at b = y_i - <w, m(x_i)>. It vanishes on an interval in ties, where HiGHS takes
    an end; the middle does not depend on how samples are repeated or ordered.
    """
    order = np.argsort(breaks, kind="stable")
    slope = np.cumsum(weight[order]) - weight[y > 0.0].sum()
    flat = np.flatnonzero(np.abs(slope[:-1]) <= _TIE * weight.sum())
    if len(flat) == 0:
        return b
    low, high = float(breaks[order[flat[0]]]), float(breaks[order[flat[-1] + 1]])
    return 0.5 * (low + high)

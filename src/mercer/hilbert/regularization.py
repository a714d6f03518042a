r"""Three forms of regularisation and the maps between them: a penalty, a ball, a risk that is good enough.

Symbols: R the risk (the sum of weighted losses), f_lambda the minimiser of R + lambda / 2 |f|^2, a a radius, delta a
risk, Omega a regulariser of s = |f|^2. The length of f_lambda falls with lambda, its risk rises: all three forms, and
every increasing Omega, have their minimisers on this one path.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import optimize

from mercer.arguments import checked, real_array, require_squares
from mercer.arrays import Floats, real_numbers
from mercer.budget import Plan
from mercer.constraints import Boolean, InstanceOf, Interval, Optional, Positive
from mercer.domains import Samples
from mercer.errors import CapabilityError, ParameterError, TargetError
from mercer.gram import Dense, Expansion, FeatureExpansion, Gram
from mercer.hilbert.regularizers import NormPower, Radius, Regularizer
from mercer.kernels import Kernel
from mercer.kernels.kernel import feature_count
from mercer.losses import Loss, Squared
from mercer.problems import ConvexRisk, Solution, Status, Trace
from mercer.runtime.tiling import in_background
from mercer.solvers.risk_path import RiskMinimum, RiskPath, choose_solver
from mercer.solvers.smooth.newton import Minimum

__all__ = ["Regularized", "RidgePath", "ivanov", "best_on_path", "morozov", "tikhonov"]
__public__ = ["Regularized", "RidgePath", "ivanov", "morozov", "tikhonov"]

_STRIDE = math.log(10.0)  # by which a bracket grows, in log lambda
_LEAST = 1e-8  # of the mean of k(x, x): a penalty below it counts as none
_MOST = 60  # steps of a bracket
_NEAR = 1e-9  # how exactly log lambda is found
_SETTLED = 1e-5  # change of lambda |f| over a factor 10 of lambda, from which on |f| only falls
SPECTRAL = 1500  # samples up to which the squared loss is diagonalised
_GRID = 25  # penalties that are tried where a regulariser is not convex
_NULL = 1e-13  # of the largest eigenvalue: smaller ones are zero


class Path(Protocol):
    """Minima of a risk by their penalty."""

    def at(self, penalty: float) -> RiskMinimum:
        """The minimum for a penalty."""
        ...


@dataclass(frozen=True, eq=False)
class Regularized:
    """A function that a form of regularisation chose, and its counterparts in the other forms.

    Attributes
    ----------
    form : str
        "Tikhonov", "Ivanov" or "Morozov".
    multiplier : float
        lambda, with which the penalised form has this solution: 0 where a ball is so large that it does not matter,
        infinite where zero is good enough.
    norm : float
        Length of the function: the radius with which Ivanov's form has this solution.
    risk : float
        Sum of the weighted losses: the risk with which Morozov's form has this solution.
    active : bool
        Whether the constraint holds with equality; true of a penalty.
    gap : float
        Duality gap of the penalised problem.
    function : Expansion
    """

    form: str
    multiplier: float
    norm: float
    risk: float
    active: bool
    gap: float
    function: Expansion | FeatureExpansion

    def __str__(self) -> str:
        return (
            f"{self.form}: multiplier {self.multiplier:.6g}, norm {self.norm:.6g}, risk {self.risk:.6g}, "
            f"{'active' if self.active else 'not active'}, gap {self.gap:.2g}"
        )


# the three forms -----------------------------------------------------------------------------------------


_RADIUS = Interval(0.0, 1e150, closed="neither")  # whose square is a number


@checked(
    kernel=InstanceOf(Kernel), penalty=Positive(), loss=Optional(InstanceOf(Loss)), constant=Boolean(), tol=Positive()
)
def tikhonov(
    kernel: Kernel,
    X: Any,
    y: Any,
    penalty: float,
    *,
    loss: Loss | None = None,
    constant: bool = False,
    sample_weight: Any = None,
    tol: float = 1e-8,
) -> Regularized:
    r"""Minimise the risk and a multiple of the squared length: Tikhonov's form.

    .. math:: \min_f \; R(f) + \tfrac{\lambda}{2} \|f\|^2, \qquad R(f) = \sum_i w_i \, \psi(y_i, f(x_i))

    Seed: [SS] Section 2.4.3, Eq. (24), with the sum in place of the mean and 1/2.

    Parameters
    ----------
    kernel : Kernel
    X : raw data or packed samples
    y : (n,) array
        Numbers, as the loss takes them; -1 and 1 for two classes.
    penalty : float
        lambda. Positive.
    loss : Loss, optional
        psi, convex; None is `Squared`.
    constant : bool, default False
        Whether a constant that is not penalised is added.
    sample_weight : (n,) array, optional
        w, positive.
    tol : float, default 1e-8
        As in `mercer.solvers.risk_path.choose_solver`.

    Returns
    -------
    Regularized

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> print(tikhonov(Linear(), [[1.0]], [2.0], 1.0))
    Tikhonov: multiplier 1, norm 1, risk 0.5, active, gap 0
    """
    path, gram, _ = _path(kernel, X, y, loss, constant, sample_weight, tol, near=penalty)
    return _solved("Tikhonov", path.at(penalty), gram, constant)


@checked(
    kernel=InstanceOf(Kernel),
    radius=_RADIUS,
    loss=Optional(InstanceOf(Loss)),
    constant=Boolean(),
    tol=Positive(),
)
def ivanov(
    kernel: Kernel,
    X: Any,
    y: Any,
    radius: float,
    *,
    loss: Loss | None = None,
    constant: bool = False,
    sample_weight: Any = None,
    tol: float = 1e-8,
) -> Regularized:
    r"""Minimise the risk in a ball: Ivanov's form, and the map from a to lambda.

    .. math:: \min_f \; R(f) \quad \text{s.t.} \quad \|f\| \le a

    Seed: [SS] Eqs. (22), (23).

    Parameters
    ----------
    kernel, X, y, loss, constant, sample_weight, tol
        As in `tikhonov`.
    radius : float
        a. Positive.

    Returns
    -------
    Regularized
        ``multiplier`` is the lambda at which the penalised form has the same solution. Where the least risk of all is
        reached inside the ball, the constraint is not active and the multiplier 0.

    Notes
    -----
    The length falls with lambda, so lambda is found by bracketing; each trial is a fit that starts from the last. With
    the squared loss, up to 1500 samples, one eigendecomposition gives the length for all lambda. A penalty below 1e-8
    of the mean k(x, x) counts as none.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> print(ivanov(Linear(), [[1.0]], [2.0], radius=1.0))
    Ivanov: multiplier 1, norm 1, risk 0.5, active, gap 0
    >>> print(ivanov(Linear(), [[1.0]], [2.0], radius=3.0))
    Ivanov: multiplier 0, norm 2, risk 0, not active, gap 0
    """
    path, gram, unit = _path(kernel, X, y, loss, constant, sample_weight, tol)
    found, multiplier = _in_ball(path, radius, unit)
    return _solved("Ivanov", found, gram, constant, multiplier)


@checked(
    kernel=InstanceOf(Kernel), risk=Positive(), loss=Optional(InstanceOf(Loss)), constant=Boolean(), tol=Positive()
)
def morozov(
    kernel: Kernel,
    X: Any,
    y: Any,
    risk: float,
    *,
    loss: Loss | None = None,
    constant: bool = False,
    sample_weight: Any = None,
    tol: float = 1e-8,
) -> Regularized:
    r"""Return the shortest function whose risk is small enough: Morozov's form, the discrepancy principle.

    .. math:: \min_f \; \|f\| \quad \text{s.t.} \quad R(f) \le \delta

    Seed: [SS] Section 2.4.3, where lambda follows from the accuracy of the data; [HSS] Section 3.1.3 names Morozov
    (1984).

    Parameters
    ----------
    kernel, X, y, loss, constant, sample_weight, tol
        As in `tikhonov`.
    risk : float
        delta: of n samples with noise of variance v and the squared loss, n v / 2. Positive.

    Returns
    -------
    Regularized
        ``multiplier`` is the lambda at which the penalised form has the same solution; infinite where the zero
        function (and the constant) is good enough.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> print(morozov(Linear(), [[1.0]], [2.0], risk=0.5))
    Morozov: multiplier 1, norm 1, risk 0.5, active, gap 0
    """
    path, gram, unit = _path(kernel, X, y, loss, constant, sample_weight, tol)

    def excess(found: RiskMinimum) -> float:
        return math.log(found.risk / risk) if found.risk > 0.0 else -math.inf

    least_penalty = 1e-3 * _NULL if isinstance(path, RidgePath) else _LEAST  # below its smallest eigenvalue, or tried
    low, high = _bracket(path, excess, unit, least_penalty * unit)
    if low is None:
        assert high is not None
        least = path.at(0.0) if isinstance(path, RidgePath) else high
        if not least.risk <= risk * (1.0 + 1e-9):
            raise _unreached(risk, least, path, gram)
        return _solved("Morozov", least, gram, constant, 0.0)
    if high is None:
        return _solved("Morozov", _without_function(low), gram, constant, math.inf)
    return _solved("Morozov", _root(path, excess, low, high), gram, constant)


def _unreached(risk: float, least: RiskMinimum, path: Path, gram: Any) -> ParameterError:
    """Return why no function with a small enough risk was found: there is none, or rounding hides it."""
    kernel, n = gram.kernel, gram.shape[0]
    count = feature_count(kernel, gram.samples)
    if count is not None and count < n:  # a space of fewer dimensions than samples
        return ParameterError(
            f"morozov was given risk={risk:.6g}; no function of the space has a risk below {least.risk:.6g}. Raise "
            "risk, or use a kernel with more functions."
        )
    if isinstance(path, RidgePath):
        lost = int(np.count_nonzero(path.values == 0.0))
        why = (
            f"{lost} of {len(path.values)} eigenvalues of K are below {_NULL:.0e} of the largest, and count as zero "
            "since rounding does not tell them from it"
        )
    else:
        why = f"the penalty was lowered to {_LEAST:.0e} of k(x, x), and a smaller one counts as none"
    return ParameterError(
        f"morozov was given risk={risk:.6g}; in double precision the least risk that is reached is {least.risk:.6g}: "
        f"{why}. Raise risk, or use a kernel whose matrix is farther from singular, as one of a smaller length scale."
    )


def best_on_path(path: Path, regularizer: Regularizer, alpha: float, unit: float) -> tuple[RiskMinimum, float]:
    r"""Minimise a risk and any increasing function of the squared length; the minimum, and its lambda.

    .. math:: \min_f \; R(f) + \alpha \, \Omega(\|f\|^2), \qquad \lambda = 2 \alpha \, \Omega'(\|f_\lambda\|^2)

    A minimiser f has no greater risk than any other function up to its length; so it minimises Ivanov's form, and lies
    on the path of the penalty. What is left is a search in lambda.

    Seed: [HSS] Theorem 11, Eq. (49).

    Parameters
    ----------
    path : RiskPath or RidgePath
    regularizer : Regularizer
    alpha : float
        Positive; of a `Radius` it does not matter.
    unit : float
        Size of k(x, x), in which small penalties are measured.

    Returns
    -------
    minimum : RiskMinimum
    multiplier : float
        lambda; 0 where a ball is so large that it does not matter, infinite where the zero function is best.

    Examples
    --------
    >>> path = RidgePath(np.eye(1), np.array([3.0]), np.ones(1))
    >>> found, multiplier = best_on_path(path, NormPower(1.0), 1.0, 1.0)  # min (3 - f)^2 / 2 + |f|
    >>> round(found.energy, 6), round(multiplier, 6)
    (4.0, 0.5)
    """
    if isinstance(regularizer, NormPower) and regularizer.exponent == 2.0:
        return path.at(alpha), alpha
    if isinstance(regularizer, Radius):
        return _in_ball(path, regularizer.radius, unit)
    if not regularizer.convex:
        return _best_of_grid(path, regularizer, alpha, unit)

    def excess(found: RiskMinimum) -> float:
        wanted = 2.0 * alpha * regularizer.derivative(found.energy)
        if found.energy <= 0.0 or wanted <= 0.0:
            return math.inf  # nothing is to be gained by a larger penalty
        return math.log(found.penalty / wanted) if wanted < math.inf else -math.inf

    low, high = _bracket(path, excess, alpha, _LEAST**2 * min(alpha, unit), settles=True)
    if low is None:
        assert high is not None
        return high, high.penalty
    if high is None:
        return _without_function(low), math.inf
    found = _root(path, excess, low, high)
    return found, found.penalty


def _best_of_grid(path: Path, regularizer: Regularizer, alpha: float, unit: float) -> tuple[RiskMinimum, float]:
    """Least objective on a grid of penalties and near its best point; the zero function is among the candidates."""

    def objective(found: RiskMinimum) -> float:
        return found.risk + alpha * regularizer.value(found.energy)

    logs = np.log(unit) + np.linspace(math.log(1e6), math.log(_LEAST), _GRID)
    minima = [path.at(math.exp(log)) for log in logs]
    values = np.array([objective(found) for found in minima])
    place = int(np.argmin(values))
    nothing = _without_function(minima[0])
    low, high = logs[min(place + 1, _GRID - 1)], logs[max(place - 1, 0)]
    refined: Any = optimize.minimize_scalar(
        lambda log: objective(path.at(math.exp(log))), bounds=(low, high), method="bounded", options={"xatol": 1e-6}
    )
    best = path.at(math.exp(refined.x)) if refined.fun < values[place] else path.at(math.exp(logs[place]))
    if objective(nothing) <= objective(best):
        return nothing, math.inf
    return best, best.penalty


def _in_ball(path: Path, radius: float, unit: float) -> tuple[RiskMinimum, float]:
    """Least risk of a function up to some length, and its lambda; 0 where the length does not matter."""
    if isinstance(path, RidgePath) and (free := path.at(0.0)).energy <= radius**2:
        return free, 0.0

    def excess(found: RiskMinimum) -> float:
        return math.log(radius) - 0.5 * math.log(found.energy) if found.energy > 0.0 else math.inf

    low, high = _bracket(path, excess, unit, 0.0 if isinstance(path, RidgePath) else _LEAST * unit)
    if low is None:
        assert high is not None
        return high, 0.0
    if high is None:
        return low, low.penalty
    found = _root(path, excess, low, high)
    return found, found.penalty


# searches along the path ---------------------------------------------------------------------------------


def _bracket(
    path: Path, excess: Callable[[RiskMinimum], float], start: float, least: float, settles: bool = False
) -> tuple[RiskMinimum | None, RiskMinimum | None]:
    """Neighbouring minima between which an excess, which rises with the penalty, changes its sign.

    The first is None if it is positive down to the least penalty; the second if it is negative however large the
    penalty: with ``settles``, where lambda |f| has come to its limit.
    """
    found = path.at(start)
    if excess(found) == 0.0:
        return found, found
    down = excess(found) > 0.0
    for _ in range(_MOST):
        penalty = found.penalty * math.exp(-_STRIDE if down else _STRIDE)
        if down and found.penalty <= least:
            return None, found
        following = path.at(max(penalty, least) if down else penalty)
        if down and excess(following) <= 0.0:
            return following, found
        if not down and excess(following) > 0.0:
            return found, following
        pull = [minimum.penalty * math.sqrt(minimum.energy) for minimum in (found, following)]
        if not down and settles and pull[1] <= (1.0 + _SETTLED) * pull[0]:
            return following, None
        found = following
    return (None, found) if down else (found, None)


def _root(path: Path, excess: Callable[[RiskMinimum], float], low: RiskMinimum, high: RiskMinimum) -> RiskMinimum:
    """The minimum between two others at which the excess vanishes."""
    if low is high:
        return low
    last = low

    def value(log: float) -> float:
        nonlocal last
        last = path.at(math.exp(log))
        found = excess(last)
        return float(np.clip(found, -1e3, 1e3))

    ends = math.log(low.penalty), math.log(high.penalty)
    try:
        root: Any = optimize.brentq(value, *ends, xtol=_NEAR, rtol=np.float64(1e-12))
    except ValueError:  # rounding: at an end, which is looked at again, the excess has lost its sign
        return low
    return last if last.penalty == math.exp(root) else path.at(math.exp(root))


def _without_function(found: RiskMinimum) -> RiskMinimum:
    """A minimum of a very large penalty with all of the penalised function taken away."""
    solution = found.solution
    zeros = np.zeros_like(solution.coef)
    weights = None if solution.weights is None else np.zeros_like(solution.weights)
    return dataclasses.replace(found, solution=dataclasses.replace(solution, coef=zeros, weights=weights), energy=0.0)


class RidgePath:
    r"""The path of the squared loss, by one eigendecomposition: each penalty costs O(n^2), none at all included.

    .. math:: f_\lambda = \sum_j \frac{\Lambda_j}{\Lambda_j + \lambda} z_j v_j, \qquad
              \|f_\lambda\|^2 = \sum_j \frac{\Lambda_j z_j^2}{(\Lambda_j + \lambda)^2}, \qquad
              R(f_\lambda) = \tfrac12 \sum_j \frac{\lambda^2 z_j^2}{(\Lambda_j + \lambda)^2}

    v and Lambda are those of K where the functions that are not penalised vanish, with sample weights in its metric.

    Seed: [SS] Section 2.4.3.

    Parameters
    ----------
    K : (n, n) array
    y : (n,) or (n, k) array
    weight : (n,) array
        Positive.
    border : (n, s) array, optional
        Values of the functions that are not penalised.

    Examples
    --------
    >>> RidgePath(np.diag([1.0, 2.0]), np.array([2.0, 3.0]), np.ones(2)).at(1.0).solution.coef
    array([1., 1.])
    """

    def __init__(self, K: Floats, y: Floats, weight: Floats, border: Floats | None = None) -> None:
        self.y, self.weight = np.asarray(y, dtype=np.float64), np.asarray(weight, dtype=np.float64)
        self.border = np.zeros((len(K), 0)) if border is None else border
        self.root = np.sqrt(self.weight)
        s = self.border.shape[1]
        Q = np.linalg.qr(self.root[:, None] * self.border, mode="complete")[0] if s else np.eye(len(K))
        self.outside = Q[:, s:]
        self.scaled = self.root[:, None] * K * self.root
        inner = self.outside.T @ self.scaled @ self.outside
        work = 9.0 * len(inner) ** 3
        self.values, vectors = in_background(np.linalg.eigh, 0.5 * (inner + inner.T), work=work)
        self.values = np.where(self.values > _NULL * self.values.max(initial=0.0), self.values, 0.0)
        self.vectors = self.outside @ vectors
        self.z = self.vectors.T @ (self.root[:, None] * self.y.reshape(len(K), -1))

    def at(self, penalty: float) -> RiskMinimum:
        """Return the minimum for a penalty that is not negative; for none the shortest function of least risk."""
        shifted = self.values + penalty
        b = self.z / np.where(shifted > 0.0, shifted, np.inf)[:, None]
        left = self.z - self.values[:, None] * b
        turned = self.vectors @ b
        coef = self.root[:, None] * turned
        rest = self.root[:, None] * self.y.reshape(coef.shape) - self.vectors @ left
        values = rest / self.root[:, None]
        m = np.zeros((0, coef.shape[1]))
        if self.border.shape[1]:
            m = np.linalg.lstsq(self.root[:, None] * self.border, rest - self.scaled @ turned, rcond=None)[0]
        if self.y.ndim == 1:
            coef, values, m = coef[:, 0], values[:, 0], m[:, 0]
        energy, risk = float(np.sum(self.values[:, None] * b * b)), 0.5 * float(np.sum(left * left))
        trace = Trace.of([(risk + 0.5 * penalty * energy, 0.0, 0.0)])
        state = Minimum(Squared(), values)
        solution = Solution(coef, Status.CONVERGED, 0.0, multipliers=m, trace=trace, gap=0.0, state=state)
        return RiskMinimum(penalty, solution, risk, energy)


# doors ---------------------------------------------------------------------------------------------------


def _path(
    kernel: Kernel, X: Any, y: Any, loss: Loss | None, constant: bool, weight: Any, tol: float, near: float = 1.0
) -> tuple[Any, Gram, float]:
    """The path of a problem given by raw data, its Gram, and the size of k(x, x)."""
    loss = Squared() if loss is None else loss.check()
    if kernel.check().order not in ((0, 1) if constant else (0,)):
        raise CapabilityError(
            f"{kernel!r} was given with constant={constant}, which is not positive definite; a positive definite "
            "kernel, or with constant=True one of order 1, is needed. Use KernelMachine, which adds polynomials."
        )
    S: Samples = kernel.pack(X)
    values = real_numbers(y, "y", TargetError)
    w = np.ones(len(S)) if weight is None else real_array(weight, "sample_weight", 1)
    if values.shape != (len(S),) or w.shape != (len(S),) or not (np.isfinite(values).all() and (w > 0.0).all()):
        raise ParameterError(
            f"y of shape {values.shape} and sample_weight of shape {w.shape} were given for {len(S)} samples; one "
            "finite number and one positive weight per sample are accepted. Leave out samples of weight zero."
        )
    require_squares(values, "y")
    gram = Dense().build(kernel.learn(S, values, w), S)
    unit = unit_of(gram)  # now: the path takes the matrix
    with np.errstate(over="ignore"):
        largest = float(w.sum()) * max(unit, float(np.max(values * values, initial=0.0)))
    if not largest < np.finfo(float).max / 4.0:
        raise ParameterError(
            f"sample_weight has values up to {w.max():.3g}, whose products with squares of y or with k(x, x) "
            "overflow. Divide the weights, and the penalty, by the same number."
        )
    border = np.ones((len(S), 1)) if constant else None
    if isinstance(loss, Squared) and len(S) <= SPECTRAL:
        Plan(f"the spectrum of {len(S)} samples", {"eigenvectors": 32 * len(S) ** 2}).require(None)
        return RidgePath(np.asarray(gram.array, dtype=np.float64), values, w, border), gram, unit
    problem = ConvexRisk(gram, loss, values, w, near, border)
    return RiskPath(problem, choose_solver(problem, tol)), gram, unit


def unit_of(gram: Gram) -> float:
    """Mean size of k(x, x); 1 where that is zero."""
    return float(np.mean(np.abs(gram.diag()))) or 1.0


def _solved(form: str, found: RiskMinimum, gram: Gram, constant: bool, multiplier: float | None = None) -> Regularized:
    intercept = float(found.solution.multipliers[0]) if constant else 0.0
    multiplier = found.penalty if multiplier is None else multiplier
    return Regularized(
        form=form,
        multiplier=multiplier,
        norm=math.sqrt(found.energy),
        risk=found.risk,
        active=0.0 < multiplier < math.inf,
        gap=found.solution.gap,
        function=gram.expand(found.solution, intercept),
    )

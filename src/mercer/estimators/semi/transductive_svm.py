"""Transductive support vector machines: labels of given samples that make the margin wide.

Symbols: u the samples without a label, p the share of them that is positive, h(t) = max(0, 1 - t) the hinge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from mercer.arrays import Array, Bools, Floats, Indices
from mercer.constraints import Boolean, Integer, Interval, Optional, Positive
from mercer.errors import ParameterError
from mercer.estimators.fits import Run, fitting
from mercer.estimators.semi.laplacian import known_rows, mark
from mercer.estimators.svm.svc import SVC
from mercer.gram import Gram, GramSpec
from mercer.problems import Solution
from mercer.targets import PartialClasses
from mercer.targets.target import Reduction, class_weights

__all__ = ["TransductiveSVC", "counts_of", "sides_of", "top"]
__public__ = ["TransductiveSVC"]

_LEVELS = np.geomspace(1e-3, 1.0, 7)  # of the cost of samples without a label, while it grows
_TURNS = 200  # solutions at one level
_SUM = 1e-6  # by how much shares may miss one: they are often given with few digits


class TransductiveSVC(SVC):
    r"""Transductive support vector classifier: finds the labels of given samples for which the margin is widest.

    .. math:: \min_{y_u = \pm 1} \min_{f, b} \; C \sum_{i \text{ labelled}} h(y_i (f(x_i) + b)) +
        \tau C \sum_u h(y_u (f(x_u) + b)) + \tfrac12 \|f\|^2 \quad \text{subject to} \quad
        |\{u : y_u = 1\}| = \text{round}(p \, |u|)

    Seed: [SS] Sections 2.2.2 and 2.3.5, transductive inference; after Vapnik and Joachims.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `SVC`.
    C : float, default 1.0
        Cost of an error of size one on a labelled sample.
    trust : float, default 1.0
        tau, the cost of a sample without a label over that of one with a label. Positive.
    balance : float or (c,) array, optional
        p, the share of the second class among samples without a label, or the shares of all c classes, which add up to
        one. None are those among the labelled ones; without this constraint one class would get all.
    gamma, degree, coef0 : optional
        As in `SVC`.
    unlabelled : int, str, float or None, default -1
        What stands in y for a label that is not known; None for texts, where NaN counts as None too.
    annealed : bool, default True
        Whether the cost of samples without a label grows slowly in the first start, from the labels that `SVC` finds.
    n_init : int, default 1
        Starts; all but the first have random labels. That with the least objective is kept.
    random_state : int or RandomState, optional
        For random starts.
    loss, class_weight : optional
        As in `SVC`.
    tol, max_iter : optional
        As in `SVC`.
    gram, memory, max_time, n_threads : optional
        As in `SVC`.

    Attributes
    ----------
    transduction_ : (n,) array
        The class of every training sample; labelled ones keep theirs.
    objectives_ : (n_init,) or (n_init, c) array
        What each start reached, of more than two classes for each of them against the others.
    classes_, expansion_, support_, n_support_, dual_coef_, intercept_, n_iter_, solution_
        As in `SVC`, on all samples.

    Notes
    -----
    The problem is not convex: pairs of labels are exchanged as long as that lowers the objective, so that every start
    ends in a labelling that no exchange of two labels at the function found improves. More than two classes are
    separated each from the others. The shares are held to exactly: with few labels those among them are off by several
    per cent, which are then wrong, so give `balance` if the shares are known. There are no sample weights: copies of a
    sample may get different labels.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import TransductiveSVC
    >>> from mercer.kernels import Linear
    >>> X = np.array([[0.0], [0.4], [0.8], [2.2], [2.6], [3.0]])
    >>> TransductiveSVC(Linear()).fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    constraints = {
        "trust": Positive(),
        "balance": Optional(Interval(0.0, 1.0, vector=True)),
        "unlabelled": mark,
        "annealed": Boolean(),
        "n_init": Integer(1),
    }
    multi_class = "ovr"
    probability = False
    decision_function_shape = "ovr"
    break_ties = False
    shrinking = True
    cache_size = 512

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        trust: float = 1.0,
        balance: Any = None,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        unlabelled: Any = -1,
        annealed: bool = True,
        n_init: int = 1,
        random_state: Any = None,
        loss: str = "hinge",
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.trust = trust
        self.balance = balance
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.unlabelled = unlabelled
        self.annealed = annealed
        self.n_init = n_init
        self.random_state = random_state
        self.loss = loss
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any) -> TransductiveSVC:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Find the labels of the samples that have none, and the classifier.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Class labels, and ``unlabelled`` where they are not known.

        Returns
        -------
        self
        """
        with fitting(self, X, y, None, PartialClasses(self.unlabelled)) as (run, kernel, _, S, codes, w, used):
            labelled = known_rows(codes >= 0)
            count = len(self.classes_)
            self.class_weight_ = class_weights(self.class_weight, self.classes_, codes[labelled], w[labelled])
            self.kernel_ = self._learned_kernel(kernel, S, None, w)
            K = self._represent(self.kernel_, S, run, until=0.2)
            self.reduction_ = Reduction.of("ovr", count)
            rng = check_random_state(self.random_state)
            free = np.flatnonzero(codes < 0)
            weight = np.where(codes < 0, self.trust, self.class_weight_[codes])
            found = []
            for side, wanted in zip(sides_of(codes, count), counts_of(self.balance, codes, count), strict=True):
                runs = [
                    self._from(K, side.copy(), weight, free, wanted, rng if start else None, run)
                    for start in range(self.n_init if len(free) else 1)
                ]
                found.append((min(runs, key=lambda one: one[0]), [one[0] for one in runs]))
            self._finish(K, codes, used, S, found)
        return self

    def _from(
        self, K: Gram, side: Floats, weight: Floats, free: Indices, wanted: int, rng: Any, run: Run
    ) -> tuple[float, Floats, float, Floats]:
        """Run one start, and return its objective, coefficients, bias and labels."""
        if len(free):
            known = np.flatnonzero(side)
            if rng is None:
                alone, bias, *_ = self._machine(K.take(known), side[known], weight[known], run)
                rest = np.zeros(len(side))
                rest[known] = alone
                scores = (K @ rest + bias)[free]
            else:
                scores = rng.standard_normal(len(free))
            side[free] = np.where(top(scores, wanted), 1.0, -1.0)
        levels = _LEVELS if rng is None and self.annealed and len(free) else np.ones(1)
        coef, bias, objective = None, 0.0, np.inf
        for level in levels:
            at = weight.copy()
            at[free] *= level
            for _ in range(_TURNS):
                coef, bias, objective, values = self._machine(K, side, at, run, coef)  # from the one before
                if not self._exchange(side, values, free):
                    break
        assert coef is not None
        return objective, coef, bias, side

    def _machine(
        self, K: Gram, side: Floats, weight: Floats, run: Run, start: Floats | None = None
    ) -> tuple[Floats, float, float, Floats]:
        """Return coefficients, bias, objective and values of the machine for given labels."""
        solution: Solution = self._solve(self._program(K, side, weight), run, start=start)
        bias = -float(solution.multipliers[0])
        product = K @ solution.coef
        cost = self._costs(side * (product + bias))
        return (
            solution.coef,
            bias,
            self.C * float(weight @ cost) + 0.5 * float(solution.coef @ product),
            product + bias,
        )

    def _costs(self, margins: Floats) -> Floats:
        slack = np.maximum(0.0, 1.0 - margins)
        return slack if self.loss == "hinge" else 0.5 * slack * slack

    def _exchange(self, side: Floats, values: Floats, free: Indices) -> bool:
        """Exchange labels, pair by pair, where that lowers the costs at these values; return whether any changed."""
        f = values[free]
        up, down = free[side[free] > 0], free[side[free] < 0]
        up = up[np.argsort(values[up], kind="stable")]
        down = down[np.argsort(-values[down], kind="stable")]
        count = min(len(up), len(down))
        a, b = values[up[:count]], values[down[:count]]
        gain = self._costs(a) + self._costs(-b) - self._costs(-a) - self._costs(b)
        wrong = np.flatnonzero(gain > 1e-9 * (1.0 + np.abs(f).max(initial=0.0)))
        side[up[wrong]], side[down[wrong]] = -1.0, 1.0
        return bool(len(wrong))

    def _finish(self, K: Gram, codes: Indices, used: Indices, S: Any, found: list[Any]) -> None:
        """Keep the function, and the classes of all samples."""
        coef = np.column_stack([best[1] for best, _ in found])
        bias = np.array([best[2] for best, _ in found])
        self.objectives_ = np.column_stack([objectives for _, objectives in found])
        labels = codes.copy()
        free = codes < 0
        if len(found) == 1:
            labels[free] = (found[0][0][3][free] > 0).astype(np.intp)
            coef, self.intercept_, self.objectives_ = coef[:, 0], bias[0], self.objectives_[:, 0]
        else:
            labels[free] = np.argmax(K @ coef + bias, axis=1)[free]
            self.intercept_ = bias
        self.transduction_ = self.classes_[labels]
        self.n_iter_ = np.array([len(self.solution_.trace)], dtype=np.int32)
        self._weights = None
        self._store(K, coef, labels, used, S)

    def _is_primal(self, K: Gram) -> bool:
        return False

    def predict(self, X: Any) -> Array:
        """Return the class of new data, shape (m,), by the function found with the transduction.

        Parameters
        ----------
        X : raw data or packed samples
        """
        return super().predict(X)


def sides_of(codes: Indices, count: int) -> list[Floats]:
    """Return for each problem the sides of all samples: 1, -1, and 0 for those without a label."""
    which = [1] if count == 2 else range(count)
    return [np.where(codes < 0, 0.0, np.where(codes == c, 1.0, -1.0)) for c in which]


def counts_of(balance: Any, codes: Indices, count: int) -> list[int]:
    """Return for each problem how many samples without a label are positive."""
    free, known = int(np.sum(codes < 0)), codes[codes >= 0]
    given = np.bincount(known, minlength=count) / len(known) if balance is None else np.asarray(balance, dtype=float)
    shares = np.array([1.0 - given, given]) if given.ndim == 0 and count == 2 else given
    if shares.shape != (count,) or abs(shares.sum() - 1.0) > _SUM:
        raise ParameterError(
            f"balance={balance!r} was given with {count} classes; the share of the second of two classes is accepted, "
            "or the shares of all, which add up to one. Leave it out, and they are those of the labelled samples."
        )
    return [round(float(share) * free) for share in (shares[1:] if count == 2 else shares)]


def top(scores: Floats, count: int) -> Bools:
    """Return which scores are among the largest, the first of equal ones first."""
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[np.argsort(-scores, kind="stable")[:count]] = True
    return chosen

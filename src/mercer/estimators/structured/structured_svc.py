"""Structured support vector machines: the true output must score higher than any other, by what that would cost."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats, Indices
from mercer.constraints import AnyOf, Integer, OneOf, Positive
from mercer.errors import CapabilityError, ParameterError, warn_caller
from mercer.estimators.estimator import unwatched
from mercer.estimators.fits import Run
from mercer.estimators.structured.output_space import Violations
from mercer.estimators.structured.structured_machine import Outputs, StructuredRisk
from mercer.gram import Gram, GramSpec, HasFactor
from mercer.problems import Status
from mercer.runtime.tiling import serial_blas
from mercer.solvers.columns.block_ascent import Ascent, Block, ascend, certified, values_of, wolfe
from mercer.solvers.structured.one_slack import bound_of_joint_cuts, cut_jointly

__all__ = ["StructuredSVC"]
__public__ = __all__


class StructuredSVC(StructuredRisk):
    r"""Support vector machine for outputs with structure: classes with costs, sets, rankings, sequences.

    .. math:: \min_{f,\, \xi} \; \tfrac12 \|f\|^2 + C \sum_i \xi_i \quad \text{s.t.} \quad
        f(x_i, y_i) - f(x_i, y) \ge \Delta(y_i, y) - \xi_i \;\; \text{for all } y

    The slack is at least the loss of the prediction. Constraints are generated greedily, the most violated of each
    sample in turn, and the dual is maximised over those found, until none is violated by more than `tol`.

    Seed: [HSS] Eqs. (88)-(89), (106)-(108) (whose min is a max), Proposition 16, Eqs. (110)-(112), Theorem 17 and
    Corollary 18.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        On samples, or on the positions of sequences. None is the Gaussian at the median distance.
    C : float, default 1.0
        What a slack costs; inf allows none (the hard margin), where the samples can be separated.
    outputs : OutputSpace, optional
        What is predicted; None is `ClassLabels()`.
    rescaling : {"margin", "slack"}, default "margin"
        Whether the loss is the required margin, or multiplies the slack:
        f(x, y_i) - f(x, y) >= 1 - xi / loss. The latter needs a space that can list its outputs, or search them loss
        by loss (`LabelSequences`).
    method : {"constraints", "frank_wolfe", "one_slack"}, default "constraints"
        "constraints" keeps the constraints that were found, and solves for their multipliers; "frank_wolfe" keeps
        their sum only, which takes less memory and many more passes; "one_slack" has one slack for all samples, and
        constraints that are sums over samples: few of them are needed, whatever the number of samples, but K must have
        a factor, as with ``gram=Features()`` for linear kernels or ``gram=Nystrom()`` for all.
    tol : float, default 1e-3
        Largest violation of a constraint, in the unit of the loss; for "frank_wolfe" and "one_slack" the duality gap
        for each unit of the costs.
    max_iter : int, default 1000
        Largest number of passes over the samples.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; None chooses by `Auto`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. When time runs out, the function so far is kept, with a warning.

    Attributes
    ----------
    target_ : OutputSpace
        With the labels of the training data.
    classes_ : array
        The labels, where the space has them.
    expansion_ : Expansion or FeatureExpansion
        The functions, one column each.
    weights_ : (G,) array
        Weights of the output's own features, such as pairs of labels.
    slack_ : array
        The slack of each sample (or part of one), at least the loss of its prediction.
    objective_, dual_objective_ : float
        The minimum of the objective lies between them.
    gap_, violation_ : float
        Their difference, and the largest violation of a constraint: the certificate.
    inexactness_ : float
        By how much a constraint that no search found may be violated beyond its slack: 0 where searches are exact.
        Where they are not, slacks, objective, gap and violation come from the bound of a relaxation, and hold whatever
        the searches missed; only that a slack is at least the loss of the prediction is then not guaranteed.
    support_pairs_ : list of (sample, key, alpha)
        Constraints with a multiplier, by the sample and the key of the other output; only of "constraints".
    n_constraints_ : int
        How many constraints were generated ("frank_wolfe": steps; "one_slack": joint ones).
    constraint_bound_ : float
        The largest number that may be needed, by Theorem 17; for joint ones by Joachims, Finley and Yu (2009).
    n_iter_ : int

    Notes
    -----
    There is no bias. A sample of weight w counts as w copies. Each pass asks the space once per sample for the most
    violated output, and costs O(N m D) for a change at m sites of N with D functions (O(m r D) with a factor of
    rank r).

    Examples
    --------
    >>> from mercer import LabelSequences, StructuredSVC
    >>> from mercer.kernels import Linear
    >>> X = [np.eye(3)[[0, 1, 2]], np.eye(3)[[0, 2]], np.eye(3)[[1, 2, 0]]]
    >>> y = [["det", "noun", "verb"], ["det", "verb"], ["noun", "verb", "det"]]
    >>> model = StructuredSVC(Linear(), C=10.0, outputs=LabelSequences()).fit(X, y)
    >>> model.predict([np.eye(3)[[1, 0]]])[0]
    array(['noun', 'det'], dtype='<U4')
    """

    synonyms = (
        "structured SVM",
        "HiddenMarkovSVM",
        "hidden Markov support vector machine",
        "max-margin Markov network",
        "F1SVC",
        "AUCSVC",
        "SVM-struct",
    )
    constraints = {
        "C": AnyOf(Positive(), OneOf(math.inf)),
        "rescaling": OneOf("margin", "slack"),
        "method": OneOf("constraints", "frank_wolfe", "one_slack"),
        "tol": Positive(),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        outputs: Any = None,
        rescaling: str = "margin",
        method: str = "constraints",
        tol: float = 1e-3,
        max_iter: int = 1000,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.outputs = outputs
        self.rescaling = rescaling
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if math.isinf(self.C) and self.method != "constraints":
            raise ParameterError(
                f"C=inf was given with method={self.method!r}, whose multipliers add up to C; a finite C is accepted "
                "there. Use method='constraints'."
            )

    def _find(self, K: Gram, data: Outputs, run: Run) -> None:
        self._require_rows(K)
        if math.isinf(self.C) and not self.target_.is_exact:
            raise ParameterError(
                f"C=inf was given with {self.target_!r}, whose searches are not exact; without slacks every violated "
                "constraint must be found. Give a finite C, or inference='exact'."
            )
        blocks, owners = self._blocks(data.codes, data.offsets, data.weight)
        unwatched(K)
        with run.stage("constraints", 1.0), serial_blas():
            monitor = run.solver_monitor(float(self.tol)) if run.watched else None
            if self.method == "one_slack":
                found = self._cut_jointly(K, data, blocks, monitor)
            else:
                found = self._ascended(K, data, blocks, monitor)
        if found.status is not Status.CONVERGED:
            hard = " With C=inf there is no solution unless the samples can be separated: give a finite C."
            warn_caller(
                f"StructuredSVC stopped at a violation of {found.rows[-1][1]:.3g} after {found.n_iter} passes; "
                f"tol={self.tol:g}. {found.status.value}{hard if math.isinf(self.C) else ''}",
                ConvergenceWarning,
            )
        self.inexactness_ = 0.0
        if not self.target_.is_exact:
            found = self._bounded(found, K, data, blocks)
        self.expansion_, self.weights_ = K.expand(found.values.solution()), found.values.w
        self._certify(found, blocks, data.used[owners])

    def _blocks(self, codes: Any, offsets: Indices, w: Floats) -> tuple[list[Block], Indices]:
        """Return one block for each slack, and the sample that it belongs to."""
        blocks, owners = [], []
        for i, code in enumerate(codes):
            sites = np.arange(offsets[i], offsets[i + 1])
            for truth, share in self.target_.truths(code) if len(sites) else ():
                blocks.append(Block(sites, (i, truth), float(self.C * w[i] * share)))
                owners.append(i)
        return blocks, np.array(owners, dtype=np.intp)

    def _ascended(self, K: Gram, data: Outputs, blocks: list[Block], monitor: Any) -> Ascent:
        values = values_of(K, self.target_.width, self.target_.extras)
        solve = wolfe if self.method == "frank_wolfe" else ascend
        return solve(blocks, values, data.spaces.oracle(self.rescaling), self.tol, self.max_iter, monitor)

    def _cut_jointly(self, K: Any, data: Outputs, blocks: list[Block], monitor: Any) -> Ascent:
        if not isinstance(K, HasFactor):
            raise CapabilityError(
                f"method='one_slack' was given with {type(K).__name__}, which has no factor; sums of constraints are "
                "weights of features. Use gram=Features() for a kernel with finitely many, gram=Nystrom() for any, or "
                "method='constraints'."
            )
        space, cost = self.target_, float(self.C) * data.weight

        def search(F: Floats, w: Floats) -> Violations:
            return data.spaces.violations(F, data.offsets, w, data.codes, cost, self.rescaling)

        costs = np.array([block.cost for block in blocks])
        return cut_jointly(K, search, space.width, space.extras, costs, float(self.tol), self.max_iter, monitor)

    def _bounded(self, found: Ascent, K: Any, data: Outputs, blocks: list[Block]) -> Ascent:
        """Return what was reached with slacks that hold for all outputs, also for those that no search found."""
        values: Any = found.values
        F = K.times(values.V) if self.method == "one_slack" else values.at(np.arange(K.shape[0]))
        bounds = [data.spaces.slack_bound(F[b.sites], values.w, b.truth, self.rescaling) for b in blocks]
        slacks, cost = np.maximum(found.slacks, bounds), np.array([block.cost for block in blocks])
        missed = slacks - found.slacks
        self.inexactness_ = float(missed.max(initial=0.0))
        return replace(
            found,
            slacks=slacks,
            primal=found.primal + float(cost @ missed),
            violation=found.violation + self.inexactness_,
        )

    def _certify(self, found: Ascent, blocks: list[Block], owners: Indices) -> None:
        """Keep how good the solution is, and what it is made of."""
        self.slack_ = found.slacks
        self.objective_, self.dual_objective_ = float(found.primal), float(found.dual)
        self.gap_, self.violation_ = float(found.primal - found.dual), float(found.violation)
        self.n_constraints_, self.n_iter_ = int(found.n_constraints), int(found.n_iter)
        bound = bound_of_joint_cuts if self.method == "one_slack" else certified
        self.constraint_bound_ = bound(found, np.array([b.cost for b in blocks]), float(self.tol))
        self.support_pairs_ = [
            (int(i), key, float(block.alpha[place]))
            for i, block in zip(owners, blocks, strict=True)
            for key, place in block.keys.items()
            if block.alpha[place] > 0.0
        ]

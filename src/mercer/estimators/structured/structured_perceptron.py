"""The structured perceptron: predict, and where the prediction is wrong, add the truth and subtract the prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.constraints import Boolean, Integer
from mercer.errors import warn_caller
from mercer.estimators.estimator import unwatched
from mercer.estimators.fits import fitting
from mercer.estimators.structured.output_space import OutputSpace
from mercer.estimators.structured.structured_machine import StructuredMachine
from mercer.gram import GramSpec
from mercer.problems import Status
from mercer.runtime.tiling import serial_blas
from mercer.solvers.columns.block_ascent import values_of

__all__ = ["StructuredPerceptron"]
__public__ = __all__


class StructuredPerceptron(StructuredMachine):
    r"""Perceptron for outputs with structure (Collins): learn from the mistakes of the best output.

    .. math:: \hat y = \arg\max_y f(x_i, y), \qquad \hat y \ne y_i \;\Rightarrow\;
        f \leftarrow f + k((x_i, y_i), \cdot) - k((x_i, \hat y), \cdot)

    Seed: [HSS] Section 4.1.4 (generalised perceptron).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        On samples, or on the positions of sequences. None is the Gaussian at the median distance.
    outputs : OutputSpace, optional
        What is predicted; None is `ClassLabels()`.
    averaged : bool, default True
        Whether predictions use the mean of the functions after each visit instead of the last one.
    max_iter : int, default 10
        Largest number of passes over the samples, in the order given; a pass without a mistake is the last.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; None chooses by `Auto`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. When time runs out, the function so far is kept, with a warning.

    Attributes
    ----------
    target_ : OutputSpace
    expansion_ : Expansion or FeatureExpansion
        The functions, one column each.
    weights_ : (G,) array
        Weights of the output's own features.
    n_iter_, n_mistakes_ : int

    Notes
    -----
    If some f of length 1 scores every truth above all other outputs by gamma, and differences of joint features are
    at most R long, there are at most (R / gamma)^2 mistakes.

    Examples
    --------
    >>> from mercer import LabelSequences, StructuredPerceptron
    >>> from mercer.kernels import Linear
    >>> X, y = [np.eye(2)[[0, 1, 0]], np.eye(2)[[1, 1]]], [["a", "b", "a"], ["b", "b"]]
    >>> StructuredPerceptron(Linear(), outputs=LabelSequences()).fit(X, y).predict([np.eye(2)[[1, 0]]])[0]
    array(['b', 'a'], dtype='<U1')
    """

    synonyms = ("Collins perceptron", "averaged perceptron")
    constraints = {"averaged": Boolean(), "max_iter": Integer(1)}

    def __init__(
        self,
        kernel: Any = None,
        *,
        outputs: Any = None,
        averaged: bool = True,
        max_iter: int = 10,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.outputs = outputs
        self.averaged = averaged
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any) -> StructuredPerceptron:
        """Visit the samples until there is no mistake.

        Parameters
        ----------
        X : raw data or packed samples
            For sequences of labels, a list of sequences.
        y : outputs
            Of the kind that `outputs` reads.

        Returns
        -------
        self
        """
        target: Any = self._space_of(y)
        with fitting(self, X, y, None, target, pack=self._read) as (run, kernel, _, S, codes, _, _):
            sites, offsets, spaces = self._sites(S)
            self._check_lengths(codes, offsets)
            self.kernel_ = kernel.learn(sites)
            K = self._represent(self.kernel_, sites, run, until=0.3)
            self._require_rows(K)
            unwatched(K)
            with run.stage("visits", 1.0), serial_blas():
                B, w = self._visit(K, codes, offsets, spaces, run)
            self._keep(K, B, w)
        return self

    def _visit(self, K: Any, codes: Any, offsets: Any, spaces: Any, run: Any) -> tuple[Any, Any]:
        """Go over all samples again and again; return the coefficients of the last function, or of the mean."""
        space, truths = self.target_, codes
        values = values_of(K, space.width, space.extras)
        late, late_w = np.zeros_like(values.B), np.zeros_like(values.w)
        visited = self.n_mistakes_ = 0
        for epoch in range(self.max_iter):
            self.n_iter_, before = epoch + 1, self.n_mistakes_
            for i, truth in enumerate(truths):
                sites = np.arange(offsets[i], offsets[i + 1])
                for psi, g in self._mistakes(spaces[i], values.at(sites), values.w, truth):
                    values.move(sites, psi, g)
                    late[sites] += visited * psi
                    late_w += visited * g
                    self.n_mistakes_ += 1
                visited += 1
                if run.watched and run.monitor((epoch + (i + 1) / len(truths)) / self.max_iter):
                    status = Status.STOPPED if run.asked_to_stop else Status.TIME
                    warn_caller(
                        f"StructuredPerceptron stopped in pass {epoch + 1} of {self.max_iter}. {status.value}",
                        ConvergenceWarning,
                    )
                    return self._mean(values, late, late_w, visited)
            values.refresh()
            if self.n_mistakes_ == before:
                break
        return self._mean(values, late, late_w, visited)

    def _mistakes(self, space: Any, F: Any, w: Any, truth: Any) -> Any:
        """Yield the updates that a visit asks for: the joint features of the truth minus those of the prediction."""
        if not len(F):
            return
        found = space.best(F, w)
        if type(space).truths is OutputSpace.truths:
            if space.loss(truth, found) > 0.0:
                yield space.constraint(truth, found, len(F))[1:3]
            return
        for part, _ in space.truths(truth):
            if space.loss(part, found) > 0.0:
                yield space.violated(F, w, part)[1:3]

    def _mean(self, values: Any, late: Any, late_w: Any, visited: int) -> tuple[Any, Any]:
        if not self.averaged or not visited:
            return values.B, values.w
        return values.B - late / visited, values.w - late_w / visited

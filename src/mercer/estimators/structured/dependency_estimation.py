r"""Kernel dependency estimation: outputs of any kind by regression in their feature space, and a pre-image.

Symbols: K, L (n, n) Gram matrices of inputs and outputs; L = V diag(lambda) V' after centring; z_j coordinates in the
principal components of the outputs; a prediction is the element sum_i c_i Phi(y_i) of the outputs' feature space.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array, Floats
from mercer.constraints import AnyOf, Boolean, Each, InstanceOf, Integer, OneOf, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.errors import TargetError
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import fitting
from mercer.estimators.structured.label_sets import read_indicators
from mercer.estimators.structured.output_preimages import beam_search, edits, flips
from mercer.gram import Expansion, GramSpec
from mercer.gram.gram import Cross
from mercer.kernels import Gaussian, Kernel
from mercer.preimages.methods import Preimage, preimage
from mercer.problems import Solution, Status
from mercer.targets.target import numbers

__all__ = ["KernelDependencyEstimation"]
__public__ = __all__

_GRID = 10.0 ** np.arange(-8.0, 4.0)  # ridges, in units of the mean of k(x, x)
_NOTHING = 1e-12  # share of the largest eigenvalue below which a component is rounding


class KernelDependencyEstimation(MultiOutputMixin, KernelEstimator):
    r"""Predict outputs of any kind (vectors, strings, sets, graphs) by regression in the feature space of a kernel.

    .. math:: \hat y(x) = \arg\min_y \Bigl\| \Phi(y) - \bar\Phi - \sum_j f_j(x)\, v_j \Bigr\|, \qquad
        f_j = \arg\min_f \sum_i \bigl(\langle v_j, \Phi(y_i) - \bar\Phi \rangle - f(x_i)\bigr)^2 + \alpha_j \|f\|^2

    The outputs are mapped to their kernel principal components v_j, each component is learned by ridge regression whose
    ridge the left-out samples choose, and the output nearest to the prediction is looked for.

    Seed: [HSS] Section 3.3.4 (Weston et al.). With all components, one ridge and no centring it is input-output kernel
    regression, sum_i c_i Phi(y_i) with c = (K + alpha I)^{-1} k(x).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Of inputs. None is the Gaussian at the median distance.
    output_kernel : Kernel, optional
        Of outputs; None is the Gaussian at the median distance, for outputs that are numbers.
    n_components : int, optional
        Principal components of the outputs; None is all.
    alphas : sequence of float, optional
        Ridges to choose from; None is 10^-8 to 10^3, in units of the mean of k(x, x).
    per_component : bool, default True
        Whether each component has a ridge of its own.
    centered : bool, default True
        Whether outputs are centred in feature space.
    preimage : {"candidates", "edits", "flips", "points"} or Preimage, default "candidates"
        Where outputs are looked for: among candidates, of any kind; among strings, by edits of the best candidates;
        among sets of labels (zeros and ones), by labels more or less; among all vectors, by a method of
        `mercer.preimages`.
    beam : int, default 10
        How many strings or sets are changed further in each round.
    max_changes : int, default 50
        Rounds at most.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; its products are decomposed.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    output_kernel_ : Kernel
    outputs_ : Samples
        The training outputs.
    candidates_ : list or array
        Different training outputs, as they were given.
    basis_ : (n, p) array
        Component j of the outputs is sum_i basis_ij Phi(y_i).
    flat_ : bool
        Whether outputs are one number each.
    explained_ : (p,) array
        Variance of each component of the outputs, lambda / n.
    alpha_ : (p,) array
        Ridges.
    loo_errors_ : (p,) array
        Mean squared errors of left-out samples, for each component.
    expansion_ : Expansion or FeatureExpansion
        f_1, ..., f_p.

    Notes
    -----
    Cost two eigendecompositions, O(n^3), and O(n p) for a ridge and a sample. There is no bias beyond the centring.

    Examples
    --------
    >>> from mercer import KernelDependencyEstimation
    >>> from mercer.kernels import Spectrum
    >>> model = KernelDependencyEstimation(Spectrum(1), Spectrum(1), preimage="edits")
    >>> model.fit(["ab", "aab", "abb", "aabb", "bb"], ["xy", "xxy", "xyy", "xxyy", "yy"])
    KernelDependencyEstimation(kernel=Spectrum(1), output_kernel=Spectrum(1),
                               preimage='edits')
    >>> sorted(model.predict(["aaab"])[0])
    ['x', 'x', 'x', 'y']
    """

    constraints = {
        "output_kernel": Optional(InstanceOf(Kernel)),
        "n_components": Optional(Integer(1)),
        "alphas": Optional(Each(Positive())),
        "per_component": Boolean(),
        "centered": Boolean(),
        "preimage": AnyOf(OneOf("candidates", "edits", "flips", "points"), InstanceOf(Preimage)),
        "beam": Integer(1),
        "max_changes": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        output_kernel: Any = None,
        *,
        n_components: int | None = None,
        alphas: Any = None,
        per_component: bool = True,
        centered: bool = True,
        preimage: Any = "candidates",
        beam: int = 10,
        max_changes: int = 50,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.n_components = n_components
        self.alphas = alphas
        self.per_component = per_component
        self.centered = centered
        self.preimage = preimage
        self.beam = beam
        self.max_changes = max_changes
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any) -> KernelDependencyEstimation:
        """Fit the components of the outputs.

        Parameters
        ----------
        X : raw data or packed samples
        y : outputs
            Of the kind that `output_kernel` compares.

        Returns
        -------
        self
        """
        with fitting(self, X, y) as (run, kernel, packed, S, _, _, _):
            raw = self._read(y, len(packed))
            self.flat_ = isinstance(raw, np.ndarray) and np.asarray(y).ndim == 1
            given = Gaussian("median") if self.output_kernel is None else self.output_kernel
            outputs = given.pack(raw)
            self.output_kernel_ = given.learn(outputs)
            self.outputs_ = self.output_kernel_.prepare(outputs)
            self.kernel_ = kernel.learn(S)
            K = self._represent(self.kernel_, S, run, until=0.5)
            with run.stage("decomposition", 1.0):
                n = len(S)
                L = np.asarray(Cross(self.output_kernel_, self.outputs_, self.outputs_, self._resources()) @ np.eye(n))
                T, self.basis_, self.explained_ = components(L, self.n_components, self.centered)
                grid = _GRID if self.alphas is None else np.asarray(self.alphas, dtype=float)
                matrix = np.asarray(K @ np.eye(n))
                unit = float(np.mean(np.diag(matrix))) if self.alphas is None else 1.0
                coef, self.alpha_, self.loo_errors_ = ridges(matrix, T, grid * (unit or 1.0), self.per_component)
            self.expansion_ = K.expand(Solution(coef, Status.CONVERGED, 0.0))
            self.candidates_ = _different(raw)
        return self

    def _read(self, y: Any, n: int) -> Any:
        """Return the outputs as the kernel packs them: numbers as rows, anything else as a list."""
        if self.output_kernel is None or self.output_kernel.domain is Vectors:
            values = read_indicators(y) if self.preimage == "flips" else numbers(y, several=True)
            rows: Any = np.asarray(values, dtype=float).reshape(len(values), -1)
        elif y is None:
            raise TargetError("This estimator requires y to be passed, but the target y is None. Call fit(X, y).")
        else:
            rows = list(y)
        if len(rows) != n:
            raise TargetError(
                f"Found input variables with inconsistent numbers of samples: X has {n}, y has {len(rows)}; there must "
                "be one output per sample. Give X and y of the same length."
            )
        return rows

    def coordinates(self, X: Any) -> Floats:
        """Return the predicted coordinates in the principal components of the outputs, (m, p).

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._evaluate(X)

    def coefficients(self, X: Any) -> Floats:
        """Return c, (m, n): the prediction is sum_i c_i Phi(y_i).

        Parameters
        ----------
        X : raw data or packed samples
        """
        mean = 1.0 / len(self.basis_) if self.centered else 0.0
        return mean + self.coordinates(X) @ self.basis_.T

    def predict(self, X: Any, candidates: Any = None) -> Any:
        """Return the outputs nearest to the predictions in feature space, in the form of y.

        Parameters
        ----------
        X : raw data or packed samples
        candidates : list or array, optional
            Outputs among which is looked, or from which edits begin; None is those of the training data.
        """
        check_is_fitted(self)
        C = self.coefficients(X)
        rows = self.candidates_ if candidates is None else candidates
        table = isinstance(self.candidates_, np.ndarray)
        rows = np.asarray(rows, dtype=float).reshape(len(rows), -1) if table else list(rows)
        order = np.argsort(self._costs(rows, C), axis=1, kind="stable")
        if self.preimage == "candidates":
            found: Any = [rows[i] for i in order[:, 0]]
        elif self.preimage in ("edits", "flips"):
            found = [self._searched([rows[i] for i in near[: self.beam]], c) for near, c in zip(order, C, strict=True)]
        else:
            method = None if self.preimage == "points" else self.preimage
            start = np.array([rows[i] for i in order[:, 0]], dtype=float)
            images = Expansion(self.output_kernel_, self.outputs_, C.T, np.zeros(len(C)))
            found = preimage(images, method, start) if len(C) else start
        if not table:
            return found
        values = np.array(found, dtype=float).reshape(len(C), -1)
        return values[:, 0] if self.flat_ else values.astype(np.intp) if self.preimage == "flips" else values

    def score(self, X: Any, y: Any) -> float:
        """Return the share of the outputs' variance in feature space that is predicted; 1 at best.

        Parameters
        ----------
        X : raw data or packed samples
        y : outputs
        """
        C = self.coefficients(X)
        T = self.output_kernel_.prepare(self.output_kernel_.pack(self._read(y, len(C))))
        n, own = len(self.basis_), np.asarray(self.output_kernel_.diag(T), dtype=float)
        L = np.asarray(Cross(self.output_kernel_, self.outputs_, self.outputs_, self._resources()) @ np.eye(n))
        across = np.asarray(Cross(self.output_kernel_, T, self.outputs_, self._resources()) @ np.eye(n))
        left = own - 2.0 * np.einsum("ij,ij->i", C, across) + np.einsum("ij,jk,ik->i", C, L, C)
        spread = own - 2.0 * across.mean(axis=1) + L.mean()
        return 1.0 - float(left.sum() / spread.sum()) if spread.sum() > 0.0 else float(left.sum() <= 0.0)

    def _costs(self, rows: Any, C: Floats) -> Floats:
        """Return |Phi(y) - P|^2 - |P|^2 of outputs y in columns and predictions P in rows, (m, candidates)."""
        T: Samples = self.output_kernel_.prepare(self.output_kernel_.pack(rows))
        values = np.asarray(Cross(self.output_kernel_, T, self.outputs_, self._resources()) @ C.T)
        return np.asarray(self.output_kernel_.diag(T), dtype=float) - 2.0 * values.T

    def _searched(self, near: list[Any], c: Floats) -> Any:
        """Return the best output that small changes of near ones lead to."""
        text = isinstance(near[0], str)

        def costs(items: list[Any]) -> Floats:
            if self.preimage == "flips":
                return self._costs(np.array(items, dtype=float), c[None])[0]
            return self._costs(["".join(item) if text else list(item) for item in items], c[None])[0]

        if self.preimage == "flips":
            neighbours, start = flips, [tuple(int(v) for v in row) for row in near]
        else:
            symbols = {symbol for row in self.candidates_ for symbol in row}
            neighbours, start = edits(sorted(symbols)), [tuple(row) for row in near]
        best, _ = beam_search(start, neighbours, costs, int(self.beam), int(self.max_changes))
        return best if self.preimage == "flips" else "".join(map(str, best)) if text else list(best)


def components(L: Floats, count: int | None, centered: bool) -> tuple[Floats, Floats, Floats]:
    """Return the coordinates of outputs in their components, (n, p), a basis, (n, p), and the variances, (p,).

    Component j is sum_i basis_ij Phi(y_i).
    """
    n = len(L)
    M = L - L.mean(axis=0) - L.mean(axis=1)[:, None] + L.mean() if centered else L
    values, vectors = np.linalg.eigh(M)
    values, vectors = values[::-1], vectors[:, ::-1]
    known = max(1, int(np.sum(values > _NOTHING * max(values[0], 0.0))))
    kept = min(known, count or n)
    values, vectors = np.maximum(values[:kept], 0.0), vectors[:, :kept]
    lengths = np.sqrt(values)
    basis = vectors / np.where(lengths > 0.0, lengths, np.inf)
    return vectors * lengths, basis - basis.mean(axis=0) if centered else basis, values / n


def ridges(K: Floats, T: Floats, grid: Floats, per_component: bool) -> tuple[Floats, Floats, Floats]:
    """Return ridge coefficients, (n, p), with the ridges, (p,), that have the least left-out errors, (p,).

    The residual of a left-out sample is that of the fit divided by 1 - h_i, with the diagonal h of K (K + alpha)^-1.
    """
    s, Q = np.linalg.eigh(K)
    s, inner = np.maximum(s, 0.0), Q.T @ T
    errors = np.empty((len(grid), T.shape[1]))
    for place, alpha in enumerate(grid):
        shrink = alpha / (s + alpha)
        left = Q @ (shrink[:, None] * inner)
        errors[place] = np.mean((left / ((Q**2) @ shrink)[:, None]) ** 2, axis=0)
    chosen = np.argmin(errors, axis=0) if per_component else np.full(T.shape[1], np.argmin(errors.sum(axis=1)))
    alphas = grid[chosen]
    return Q @ (inner / (s[:, None] + alphas)), alphas, errors[chosen, np.arange(T.shape[1])]


def _different(rows: Any) -> Array | list[Any]:
    """Return outputs without repetitions, where they can be compared, in their order."""
    if isinstance(rows, np.ndarray):
        return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]
    return list(dict.fromkeys(rows)) if all(isinstance(row, str) for row in rows) else rows

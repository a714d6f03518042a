"""Semiparametric latent factor models: several outputs made of a few Gaussian processes that they share.

Symbols: g_q the latent processes, A the mixing (J, Q), d_j the noise variances, n samples, N observed values.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence, Sized
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state

from mercer.arrays import Floats, Indices, real_numbers
from mercer.budget import Plan, Resources, budget
from mercer.constraints import Boolean, InstanceOf, Integer, Optional, Positive, Satisfies
from mercer.domains import Samples
from mercer.errors import ParameterError, TargetError, warn_caller
from mercer.estimators.estimator import KernelEstimator, weighted
from mercer.estimators.fits import NOISE, Run, Units, fitting, warn_of_search
from mercer.estimators.parameter_gradients import MovingKernel, WholeOrFactor, combined, low_rank, rank_of
from mercer.estimators.processes.factor_evidence import FactorData, OneFactor
from mercer.estimators.processes.latent_low_rank import LowRankFactors
from mercer.estimators.processes.latent_search import LowRankObjective, Objective, ScaledObjective
from mercer.gram import Expansion, FeatureExpansion, GramSpec, Nystrom
from mercer.gram.gram import is_stored, is_undecided
from mercer.kernels import Kernel, Sum
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import fill
from mercer.problems import Status
from mercer.runtime.tiling import serial_blas, spans
from mercer.selection.hyperparameters import Search, require_derivative, tune
from mercer.targets import Real

__all__ = ["FactorPosterior", "LowRankPosterior", "SemiparametricLatentFactor"]
__public__ = ["SemiparametricLatentFactor"]

_ROWS = 256  # new samples at a time
_BLOCK = 1024  # training samples at a time, where factors are summed
_MATRIX = Satisfies("a matrix of a row per output and a column per process", lambda given: isinstance(given, Sized))
_SERIAL = 600  # values, or columns of factors, up to which a second thread of LAPACK costs more than it saves


class SemiparametricLatentFactor(MultiOutputMixin, RegressorMixin, WholeOrFactor, KernelEstimator):
    r"""Several outputs that are mixtures of a few latent Gaussian processes.

    .. math:: y_j(x) = \sum_q A_{jq} \, g_q(x) + \epsilon_j, \qquad g_q \sim GP(0, k_q), \quad
        \epsilon_j \sim N(0, d_j)

    so that :math:`\mathrm{cov}(y_i(x), y_j(x')) = \sum_q A_{iq} A_{jq} k_q(x, x')`: what is seen of one output bears
    on the others, most of all where these were not observed. Kernels, mixing and noise maximise the evidence.

    Seed: [HSS] Section 4.1.7, which names the model (Teh, Seeger and Jordan: mixing multiple Gaussian processes).

    Parameters
    ----------
    kernel : Kernel, tuple of Kernel, str or None, default None
        Covariance of the latent processes: one for all, each with its own parameters, or one each. None is the
        Gaussian, starting at the median distance. The scale of a process is in the mixing.
    noise : float, optional
        Variance of the noise of every output, where the search starts. None is a tenth of the variance of each output.
    n_factors : int, default 2
        Q; a tuple of kernels has its own length.
    mixing : (J, Q) array, optional
        Where the search starts; None takes the leading directions of the second moments of y.
    fixed : tuple of str or "all", default ()
        Names that are held: "mixing", "noise", and parameters of kernels with the number of the process before them,
        as "0__length_scale".
    normalize_y : bool or None, default None
        Whether the outputs are about their means, with starts and bounds that follow their variances; False is about
        zero. None is False for ``fixed="all"`` and else True. Numbers that are given have the units of y in any case,
        and so have all results.
    bounds : mapping of name to (low, high), optional
        Bounds of raw values; where none are given, a noise is from 1e-8 to 10 times the variance of its output.
    restarts : int, default 0
        Further starts of the search.
    max_iter : int, default 200
        Steps of each search.
    tol : float, default 1e-5
        The search ends when the largest derivative of the log evidence is below tol, in the mixing in units of the
        standard deviations of the outputs, in the logarithms of all else.
    random_state : int, RandomState or None
        Seed of the restarts, and of columns of the mixing beyond the number of outputs.
    gram : GramSpec, optional
        How the K_q are held. None and `Dense` hold them whole. `Nystrom`, `IncompleteCholesky`, `SparseGreedy`,
        `RandomFeatures` and `Features` put F_q F_q^T in their place: no n x n array is formed. Landmarks are chosen
        once, where the search starts, and serve for all parameters of the kernels.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    kernels_ : tuple of Kernel
    mixing_ : (J, Q) array
        A; the sign of a column means nothing.
    noise_ : (J,) array
        Variances d.
    intercept_ : (J,) array
        The means of the outputs, or zeros.
    log_marginal_likelihood_ : float
    expansions_ : tuple of Expansion
        The means of the latent processes, each an element of the space of its own kernel.
    posterior_ : FactorPosterior or LowRankPosterior
        All that predictions need.
    gram_ : GramSpec
        What None was resolved to.
    residual_trace_ : float
        For a Gram of low rank: the largest tr(K_q - F_q F_q^T) / tr K_q.
    tuned_ : Tuned
        The path of the search.
    n_iter_ : int
        Its steps.

    Notes
    -----
    NaN in y says that an output was not observed. A sample of weight w counts as w copies. Cost O(N^3) per step and
    memory O(N^2) for N observed values; with one process and complete outputs O(n^3) and O(n^2), since the outputs
    then have one combination that is not noise alone. ``predict`` gives the spread of the functions, without noise.

    A Gram of rank r costs O(n R^2) per step, R = Q r, J times that for the gradient or where outputs are missing, and
    memory O(n R). The evidence is that of the covariances F_q F_q^T; the variance at a new x adds
    k_q(x, x) - |F_q(x)|^2, what the factor does not know there. Derivatives are exact for landmarks; those of
    `RandomFeatures` and `Features` in the parameters of kernels are differences.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SemiparametricLatentFactor
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> Y = np.hstack([np.sin(X), -2 * np.sin(X)])
    >>> Y[10:20, 1] = np.nan  # the second output was not observed here
    >>> model = SemiparametricLatentFactor(noise=0.01, n_factors=1).fit(X, Y)
    >>> bool(abs(model.predict([[3.0]])[0, 1] + 2 * np.sin(3.0)) < 0.1)
    True
    """

    policies = ()
    constraints = {
        "kernel": Optional(InstanceOf(Kernel, str, tuple)), "noise": Optional(Positive()), "n_factors": Integer(1),
        "normalize_y": Optional(Boolean()),
        "restarts": Integer(0), "max_iter": Integer(1), "tol": Positive(), "mixing": Optional(_MATRIX),
    }  # fmt: skip

    def __init__(
        self,
        kernel: Any = None,
        noise: float | None = None,
        *,
        n_factors: int = 2,
        mixing: Any = None,
        fixed: Sequence[str] | str = (),
        normalize_y: bool | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        restarts: int = 0,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Any = None,
        gram: GramSpec | None = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.n_factors = n_factors
        self.mixing = mixing
        self.fixed = fixed
        self.normalize_y = normalize_y
        self.bounds = bounds
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.gram = gram
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SemiparametricLatentFactor:
        """Find kernels, mixing and noise, and the posterior of the latent processes.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) or (n, J) array
            Real targets; NaN where an output was not observed.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, pack=self._pack_all) as (run, kernels, packed, *_):
            S, values, w, _ = weighted(packed, self._targets(y), sample_weight)
            S, values, w = _observed(S, values, w)
            observed, outputs = int(np.sum(~np.isnan(values))), values.shape[1]
            spec = self._gram_spec(kernels[0], S)
            if not is_undecided(spec):  # which asks for the plan of every way it looks at
                self._buffers(spec, (len(S), getattr(S, "width", 1)), observed, outputs).require(self.memory)
            kernels = [kernel.learn(S, values, w) for kernel in kernels]
            joint = kernels[0] if len(kernels) == 1 else Sum(tuple(kernels))  # a factor of which expresses each of them
            self.gram_ = self._chosen_spec(joint, S, run, outputs)
            units = Units.of(values, w, self.fixed != "all" if self.normalize_y is None else self.normalize_y)
            self.intercept_ = units.mean
            data = FactorData(S, values - units.mean, w, self.n_threads)
            order = values.size
            if not is_stored(self.gram_):
                order = len(kernels) * rank_of(self.gram_, len(S), getattr(S, "width", 1))
            with serial_blas() if order <= _SERIAL else nullcontext():
                self._search(data, kernels, units, run)
        return self

    def _pack_all(self, X: Any) -> tuple[Samples, list[Kernel]]:
        """Pack training data, and return one kernel for each latent process."""
        if not isinstance(self.kernel, tuple):
            packed, kernel = self._pack(X)
            return packed, [kernel] * self.n_factors
        stand_in = copy.copy(self)
        stand_in.kernel = Sum(self.kernel).check()  # one domain, one look at the columns
        packed, _ = stand_in._pack(X)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(stand_in, name):
                setattr(self, name, getattr(stand_in, name))
        return packed, list(self.kernel)

    def _targets(self, y: Any) -> Floats:
        """Numbers (n, J), NaN where an output was not observed."""
        missing = np.zeros(1, dtype=bool)
        if y is not None and not np.ma.is_masked(y):
            try:
                given = check_array(y, ensure_2d=False, dtype="numeric", ensure_all_finite="allow-nan", input_name="y")  # pyright: ignore
            except (ValueError, TypeError):
                given = np.empty(0)  # the check below says what is wrong
            missing = np.isnan(given) if given.dtype.kind == "f" else np.zeros(given.shape, dtype=bool)
            if missing.any():
                y = np.where(missing, 0.0, given)
        self.target_, values = Real().read(y)
        if missing.any():
            values = np.where(missing, np.nan, values)
        values = values.reshape(len(values), -1)
        empty = np.flatnonzero(np.isnan(values).all(axis=0))
        if len(empty):
            raise TargetError(
                f"Input y contains NaN alone in output {int(empty[0])}; each output must be observed at one sample at "
                "least. Leave this output out."
            )
        return values

    def _search(self, data: FactorData, kernels: list[Kernel], units: Units, run: Run) -> None:
        noise = np.array([NOISE * v if self.noise is None else self.noise for v in units.variances])
        start = {"mixing": self._start(data, len(kernels)), "noise": noise}
        joint = Sum(tuple(kernels))
        require_derivative(joint, self.fixed)
        objective: Objective | LowRankObjective = Objective(data)
        if low_rank(self.gram_, type(self).__name__):
            objective = LowRankObjective(data, [self._moving(kernel, data) for kernel in kernels])
        scaled = ScaledObjective(objective, np.sqrt(units.variances), data.white())
        with run.stage("hyper-parameters", 0.95):
            tuned = tune(
                scaled, joint, scaled.inward(start), real=("mixing",), fixed=self.fixed,
                bounds=scaled.bounds(self.bounds or {}, len(kernels)),
                limits=scaled.bounds(
                    {f"noise[{j}]": Units(units.mean[[j]], units.variances[[j]]).noise_limits(noise[j])
                     for j in range(len(noise))}, len(kernels),
                ),
                search=Search(self.restarts, self.random_state, self.max_iter, self.tol),
                monitor=run.solver_monitor(self.tol) if run.watched else None,
            )  # fmt: skip
        tuned = scaled.outward(tuned, start)
        if self.fixed != "all":
            warn_of_search(*tuned.moved(), -tuned.value - data.white(), tuned.kernel)
        if tuned.status is not Status.CONVERGED:
            warn_caller(
                f"The search for hyper-parameters stopped at slope {tuned.slope:.3g}. {tuned.status.value}",
                ConvergenceWarning,
            )
        assert isinstance(tuned.kernel, Sum)
        self.tuned_, self.kernel_, self.kernels_ = tuned, tuned.kernel, tuned.kernel.kernels
        self.n_iter_ = max(1, len(tuned.values) - 1)
        self.mixing_, self.noise_ = tuned.beside["mixing"], tuned.beside["noise"]
        vars(self).pop("residual_trace_", None)  # of a former fit
        found = objective.posterior(self.kernels_, self.mixing_, self.noise_)
        self.log_marginal_likelihood_ = found.value
        if isinstance(found, LowRankFactors):
            self.residual_trace_ = max(part.left for part in found.parts)
            self.posterior_ = LowRankPosterior(
                self.kernels_, self.mixing_, tuple(part.map() for part in found.parts),
                tuple(found.beta[section] for section in found.sections), np.triu(found.factor.array),
            )  # fmt: skip
            return
        one = isinstance(found, OneFactor)
        self.posterior_ = FactorPosterior(
            self.kernels_, self.mixing_, data.samples.landmarks(), found.coef, np.triu(found.factor.array),
            tuple(data.rows), float(found.scale) if one else None,
        )  # fmt: skip

    def _moving(self, kernel: Kernel, data: FactorData) -> MovingKernel:
        return MovingKernel(self.gram_, kernel, data.samples, self._resources())

    def _start(self, data: FactorData, factors: int) -> Floats:
        """Where the mixing starts."""
        outputs = data.y.shape[1]
        if self.mixing is not None:
            mixing = real_numbers(self.mixing, "mixing")
            if mixing.shape != (outputs, factors) or not np.isfinite(mixing).all():
                raise ParameterError(
                    f"mixing has shape {mixing.shape} for {outputs} outputs and {factors} latent processes; finite "
                    f"numbers, a row per output, are accepted. Give an array of shape ({outputs}, {factors})."
                )
            return mixing
        seen = ~np.isnan(data.y)
        filled = np.where(seen, data.y, 0.0)
        together = seen.T.astype(float) @ (data.weight[:, None] * seen)
        moments = (filled.T @ (data.weight[:, None] * filled)) / np.maximum(together, 1.0)
        values, vectors = np.linalg.eigh(moments)
        size = np.sqrt(np.maximum(values[::-1], 1e-3 * max(float(values[-1]), 1e-300)))
        mixing = (vectors[:, ::-1] * size)[:, :factors]
        mixing = mixing * np.where(np.sum(mixing, axis=0) < 0.0, -1.0, 1.0)
        more = check_random_state(self.random_state).normal(size=(outputs, max(factors - outputs, 0)))
        return np.hstack([mixing, 0.1 * (size[0] if values[-1] > 0 else 1.0) * more])

    # predictions --------------------------------------------------------------------------------------

    @property
    def expansions_(self) -> tuple[Expansion | FeatureExpansion, ...]:
        """The means of the latent processes; ``mixing_`` and ``intercept_`` make the outputs of them."""
        return self.posterior_.functions()

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the posterior means of the outputs at new data, and their spread if asked for.

        Parameters
        ----------
        X : raw data or packed samples
        return_std : bool, default False
            Whether the standard deviations of the functions, without noise, are returned too.

        Returns
        -------
        mean : (m,) or (m, J) array
        std : array of the same shape
        """
        T = self._pack_new(X)
        centre = getattr(self, "intercept_", 0.0)  # models that were saved without one have none
        mean = self.target_.decode(self.posterior_.factors(T, self.n_threads) @ self.mixing_.T + centre)
        if not return_std:
            return mean
        return mean, self.target_.decode(np.sqrt(self.posterior_.variance(T, self.n_threads)))

    def predict_factors(self, X: Any) -> Floats:
        """Return the posterior means of the latent processes at new data, (m, Q).

        Parameters
        ----------
        X : raw data or packed samples
        """
        T = self._pack_new(X)
        return self.posterior_.factors(T, self.n_threads)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        spec = self._planned_gram(n_samples)
        return self._buffers(spec, (n_samples, n_features), n_samples * n_targets, n_targets)

    def _buffers(self, spec: GramSpec, shape: tuple[int, int], observed: int, outputs: int) -> Plan:
        n, what = shape[0], f"{type(self).__name__} on {shape[0]} samples"
        factors = len(self.kernel) if isinstance(self.kernel, tuple) else self.n_factors
        if low_rank(spec, type(self).__name__):
            order = factors * rank_of(spec, *shape)
            own = {
                "packed samples": 8 * n * shape[1],
                "factors and their derivatives": 3 * 8 * n * order,
                "covariance of the coordinates": 6 * 8 * order**2,
                "targets and coefficients": 8 * n * (4 + 6 * outputs),
                "rows of the factors": 6 * 8 * min(_BLOCK, n) * order,
            }
            return Plan(what, own, ("a smaller rank", "fewer samples"))
        order = n if factors == 1 and observed == n * outputs else observed
        buffers = {"covariance and its inverse": 3 * 8 * order**2, "Gram matrices": 2 * factors * 8 * n**2}
        ranks = [r for r in (500, 100) if r < n]
        ways = [f"gram={Nystrom(r)!r}" for r in ranks if self._within(Nystrom(r), shape, observed, outputs)]
        options = (*ways, "fewer samples", "SparseGaussianProcessRegressor() per output")
        return Plan(what, buffers, options)

    def _within(self, spec: GramSpec, shape: tuple[int, int], observed: int, outputs: int) -> bool:
        return self._buffers(spec, shape, observed, outputs).total <= budget(self.memory)


@dataclass(frozen=True, eq=False)
class FactorPosterior:
    r"""The posterior of latent processes: means of the processes and variances of the outputs at new samples.

    .. math:: \mathrm{var} f_j(x) = \sum_q A_{jq}^2 k_q(x, x) - \| L^{-1} c_j(x) \|^2, \qquad
        c_j(x)_{(i, l)} = \sum_q A_{jq} A_{lq} k_q(x, x_i)

    Attributes
    ----------
    kernels : tuple of Kernel
    mixing : (J, Q) array
    samples : Samples
    coef : (n, Q) array
        The mean of g_q is k_q(x, samples) coef_q.
    root : (N, N) or (n, n) array
        Upper triangular factor of the covariance of the observed values, or of s^2 K + W^-1.
    rows : tuple of arrays of int
        For each output the samples at which it was observed.
    scale : float or None
        s, where one process serves complete outputs.
    """

    kernels: tuple[Kernel, ...]
    mixing: Floats
    samples: Samples
    coef: Floats
    root: Floats
    rows: tuple[Indices, ...]
    scale: float | None = None

    def functions(self) -> tuple[Expansion, ...]:
        """Return the means of the latent processes."""
        return tuple(
            Expansion(kernel, kernel.prepare(self.samples), np.ascontiguousarray(self.coef[:, q]), np.asarray(0.0))
            for q, kernel in enumerate(self.kernels)
        )

    def factors(self, T: Samples, n_threads: int | None = None) -> Floats:
        """Return the means of the latent processes at packed samples, (m, Q)."""
        out = np.empty((len(T), len(self.kernels)))
        for rows in spans(len(T), 8 * _ROWS):
            for q, kernel in enumerate(self.kernels):
                out[rows, q] = self._cross(kernel, T.take(rows), n_threads) @ self.coef[:, q]
        return out

    def variance(self, T: Samples, n_threads: int | None = None) -> Floats:
        """Return the variances of the outputs at packed samples, (m, J)."""
        A = self.mixing
        out = np.empty((len(T), len(A)))
        for rows in spans(len(T), _ROWS):
            part = T.take(rows)
            K = [self._cross(kernel, part, n_threads) for kernel in self.kernels]
            prior = np.stack([kernel.diag(kernel.prepare(part)) for kernel in self.kernels], axis=1)
            if self.scale is not None:
                v = linalg.solve_triangular(self.root, self.scale * K[0].T, trans=1)
                out[rows] = np.maximum(prior - np.einsum("ij,ij->j", v, v)[:, None], 0.0) @ (A**2).T
                continue
            for j, own in enumerate(A):
                c = [
                    sum((own[q] * A[k, q] * K[q][:, seen] for q in range(len(K))), np.zeros(1)).T
                    for k, seen in enumerate(self.rows)
                ]
                v = linalg.solve_triangular(self.root, np.concatenate(c), trans=1)
                out[rows, j] = np.maximum(prior @ own**2 - np.einsum("ij,ij->j", v, v), 0.0)
        return out

    def _cross(self, kernel: Kernel, T: Samples, n_threads: int | None) -> Floats:
        out = np.empty((len(T), len(self.samples)))
        fill(
            kernel, Comparison.across(kernel, kernel.prepare(T), kernel.prepare(self.samples), np.float64), out,
            n_threads=n_threads,
        )  # fmt: skip
        return out


@dataclass(frozen=True, eq=False)
class LowRankPosterior:
    r"""The posterior of latent processes in the coordinates of factors of low rank.

    .. math:: \mathrm{var} f_j(x) = \sum_q A_{jq}^2 \big(k_q(x, x) - |F_q(x)|^2\big)
        + \varphi_j(x)^\top B^{-1} \varphi_j(x), \qquad \varphi_j(x) = (A_{j1} F_1(x), \ldots, A_{jQ} F_Q(x))

    Attributes
    ----------
    kernels : tuple of Kernel
    mixing : (J, Q) array
    maps : tuple of Expansion or FeatureExpansion
        F_q, of r_q outputs.
    beta : tuple of (r_q,) arrays
        The mean of g_q is F_q(x) beta_q.
    root : (R, R) array
        Upper triangular factor of B.
    """

    kernels: tuple[Kernel, ...]
    mixing: Floats
    maps: tuple[Expansion | FeatureExpansion, ...]
    beta: tuple[Floats, ...]
    root: Floats

    def functions(self) -> tuple[Expansion | FeatureExpansion, ...]:
        """Return the means of the latent processes."""
        return tuple(combined(one, beta) for one, beta in zip(self.maps, self.beta, strict=True))

    def factors(self, T: Samples, n_threads: int | None = None) -> Floats:
        """Return the means of the latent processes at packed samples, (m, Q)."""
        out = np.empty((len(T), len(self.kernels)))
        for rows in spans(len(T), 8 * _ROWS):
            for q, F in enumerate(self._coordinates(T.take(rows), n_threads)):
                out[rows, q] = F @ self.beta[q]
        return out

    def variance(self, T: Samples, n_threads: int | None = None) -> Floats:
        """Return the variances of the outputs at packed samples, (m, J)."""
        out = np.empty((len(T), len(self.mixing)))
        for rows in spans(len(T), _ROWS):
            part = T.take(rows)
            F = self._coordinates(part, n_threads)
            known = np.stack([np.einsum("ij,ij->i", one, one) for one in F], axis=1)
            prior = np.stack([kernel.diag(kernel.prepare(part)) for kernel in self.kernels], axis=1)
            unknown = np.maximum(prior - known, 0.0) @ (self.mixing**2).T
            for j, own in enumerate(self.mixing):
                phi = np.hstack([a * one for a, one in zip(own, F, strict=True)])
                v = linalg.solve_triangular(self.root, phi.T, trans=1)
                out[rows, j] = unknown[:, j] + np.einsum("ij,ij->j", v, v)
        return out

    def _coordinates(self, T: Samples, n_threads: int | None) -> list[Floats]:
        return [one(T, Resources(n_threads=n_threads)) for one in self.maps]


def _observed(S: Samples, values: Floats, w: Floats) -> tuple[Samples, Floats, Floats]:
    """Samples at which at least one output was observed."""
    some = np.flatnonzero(~np.isnan(values).all(axis=1))
    return (S, values, w) if len(some) == len(values) else (S.take(some), values[some], w[some])

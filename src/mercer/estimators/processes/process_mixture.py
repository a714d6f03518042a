"""Mixtures of Gaussian processes: several functions at once, and which sample belongs to which is inferred.

Symbols: r_nt the responsibility of component t for sample n, v_t the sticks, f_t the functions, w_n sample weights,
omega_nt = w_n r_nt, T the truncation, J the number of outputs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import logsumexp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.constraints import Boolean, Integer, OneOf, Optional, Positive
from mercer.domains import Samples
from mercer.errors import warn_caller
from mercer.estimators.estimator import KernelEstimator, scattered
from mercer.estimators.fits import Run, Units, fitting
from mercer.estimators.parameter_gradients import WholeOrFactor, combined, low_rank, rank_of
from mercer.estimators.processes.mean_field import NormalWishart, stick_means
from mercer.estimators.processes.mixture_ascent import Ascent, Beliefs, padded
from mercer.estimators.processes.mixture_experts import LowRankExpert, block_of
from mercer.gram import Expansion, FeatureExpansion, GramSpec
from mercer.kernels import Kernel
from mercer.kernels.vectors.pointwise import dense
from mercer.problems import Status
from mercer.runtime.tiling import serial_blas, spans, thread_count, tile_side
from mercer.targets import Real

__all__ = ["Component", "ComponentPredictions", "GaussianProcessMixture", "LowRankComponent"]
__public__ = ["GaussianProcessMixture"]

_ROWS = 2048  # new samples at a time
_SERIAL = 600  # samples, or columns of a factor, up to which a second thread of LAPACK costs more than it saves


@dataclass(frozen=True, eq=False)
class Component:
    """One function of a mixture, and where its samples lie.

    Attributes
    ----------
    kernel : Kernel
    noise : float
        Variance.
    samples : Samples
        Those that it has a responsibility for, (a,).
    alpha : (a, J) array
        The mean is k(x, samples) alpha.
    half : (a,) array
        sqrt(omega / noise).
    root : (a, a) array
        Upper triangular factor of I + H K H.
    count : float
        Number of its samples, N_t.
    weight : float
        Its expected weight.
    where : tuple of arrays or None
        Mean, beta, scatter and degrees of freedom of the belief about its inputs.
    """

    kernel: Kernel
    noise: float
    samples: Samples
    alpha: Floats
    half: Floats
    root: Floats
    count: float
    weight: float
    where: tuple[Floats, float, Floats, float] | None = None

    def mean(self) -> Expansion:
        """Return the mean as a function of the kernel, with J outputs."""
        return Expansion(self.kernel, self.samples, self.alpha, np.zeros(self.alpha.shape[1]))

    def moments(self, T: Samples) -> tuple[Floats, Floats]:
        """Return means (m, J) and variances (m,) of the function at packed samples."""
        T = self.kernel.prepare(T)
        K = block_of(self.kernel, T, self.samples)
        v = np.linalg.solve(self.root.T, self.half[:, None] * K.T) if len(self.half) else np.zeros((0, len(T)))
        return K @ self.alpha, np.maximum(self.kernel.diag(T) - np.einsum("ij,ij->j", v, v), 0.0)


@dataclass(frozen=True, eq=False)
class LowRankComponent:
    r"""One function of a mixture in the coordinates of a factor of low rank, and where its samples lie.

    .. math:: \mathrm{var} f(x) = k(x, x) - |F(x)|^2 + F(x)^\top B^{-1} F(x)

    Attributes
    ----------
    kernel : Kernel
    noise : float
        Variance.
    map : Expansion or FeatureExpansion
        F, of r outputs.
    beta : (r, J) array
        The mean is F(x) beta.
    root : (r, r) array
        Upper triangular factor of B = I + F^T Omega F / noise.
    count : float
        Number of its samples, N_t.
    weight : float
        Its expected weight.
    where : tuple of arrays or None
        Mean, beta, scatter and degrees of freedom of the belief about its inputs.
    """

    kernel: Kernel
    noise: float
    map: Expansion | FeatureExpansion
    beta: Floats
    root: Floats
    count: float
    weight: float
    where: tuple[Floats, float, Floats, float] | None = None

    def mean(self) -> Expansion | FeatureExpansion:
        """Return the mean as a function of the kernel, with J outputs."""
        return combined(self.map, self.beta)

    def moments(self, T: Samples) -> tuple[Floats, Floats]:
        """Return means (m, J) and variances (m,) of the function at packed samples."""
        means, variances = [np.empty((0, self.beta.shape[1]))], [np.empty(0)]
        for rows in spans(len(T), _ROWS):
            part = T.take(rows)
            F = self.map(part)
            v = linalg.solve_triangular(self.root, F.T, trans=1)
            unknown = self.kernel.diag(self.kernel.prepare(part)) - np.einsum("ij,ij->i", F, F)
            means.append(F @ self.beta)
            variances.append(np.maximum(unknown, 0.0) + np.einsum("ij,ij->j", v, v))
        return np.concatenate(means), np.concatenate(variances)


@dataclass(frozen=True, eq=False)
class ComponentPredictions:
    """The predictions of each component for new samples.

    Attributes
    ----------
    weight : (m, c) array
        Probability that a new sample belongs to the component; rows add up to one.
    mean : (m, c) or (m, c, k) array
    std : (m, c) array
        Standard deviation of a new y, noise included.
    """

    weight: Floats
    mean: Floats
    std: Floats


class GaussianProcessMixture(MultiOutputMixin, RegressorMixin, WholeOrFactor, KernelEstimator):
    r"""Infinite mixture of Gaussian processes: several functions through one cloud of points.

    .. math:: v_t \sim \mathrm{Beta}(1, a), \quad \pi_t = v_t \prod_{s<t} (1 - v_s), \quad z_n \sim \pi, \quad
        f_t \sim GP(0, k_t), \quad y_n \mid z_n = t \sim N(f_t(x_n), \sigma_t^2)

    The posterior is approximated by independent factors q(v) q(f) q(z), the sticks being cut at ``n_components``.
    Coordinate ascent on the lower bound of the evidence: a component sees sample n with noise
    :math:`\sigma_t^2 / r_{nt}`, and

    .. math:: \log r_{nt} = E \log \pi_t - \tfrac12 \log 2 \pi \sigma_t^2
        - \frac{(y_n - m_t(x_n))^2 + s_t^2(x_n)}{2 \sigma_t^2} + \text{const}

    Seed: [STS] Section 7 (variational approximation for infinite mixtures of Gaussian processes: mean field, truncated
    stick-breaking).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Covariance of each function. None is a multiple of the Gaussian, starting at the median distance and the
        variance of y.
    noise : float, optional
        Variance of the noise, where the search starts, in the unit of y squared. None is a tenth of the variance of y.
    n_components : int, default 10
        Where the sticks are cut: no more components than these. Those that are not needed disappear.
    concentration : float, default 1.0
        a: larger values expect more components.
    gating : bool, default False
        Whether a component also models where its samples lie, by a normal distribution of the inputs with a
        normal-Wishart prior; its weight then depends on x. Vectors only.
    parameters : {"shared", "own"}, default "shared"
        Whether components share kernel parameters and noise, or each has its own.
    fixed : tuple of str or "all", default ()
        Names of kernel parameters, or "noise", that are held; "all" holds everything.
    normalize_y : bool or None, default None
        Whether the functions are about the mean of y, with starts and bounds that follow its variance; False is about
        zero. None is False for ``fixed="all"`` and else True. Numbers that are given have the unit of y in any case,
        and so have all results.
    bounds : mapping of name to (low, high), optional
        Bounds of raw values. The noise stays above 1e-4 times the variance of y where no bounds are given.
    restarts : int, default 0
        Further starts from other groupings of the samples; the highest bound wins.
    max_iter : int, default 200
        Sweeps of each start.
    tol : float, default 1e-6
        A start ends when a sweep raises the bound by less than tol times 1 + abs(bound), where the bound is measured
        from the log evidence of white noise.
    random_state : int, RandomState or None
        Seed of the restarts.
    gram : GramSpec, optional
        How K is held. None and `Dense` hold it whole. `Nystrom`, `IncompleteCholesky`, `SparseGreedy`,
        `RandomFeatures` and `Features` put F F^T in its place: no n x n array is formed. Landmarks are chosen once,
        where the search starts, and serve for all components and parameters of the kernel.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    components_ : tuple of Component or LowRankComponent
        Those that are left, the largest first.
    expansions_ : tuple of Expansion
        Their means, each an element of the space of its own kernel.
    n_components_ : int
        Their number.
    responsibilities_ : (n, c) array
        Rows add up to one; zero for samples of weight zero.
    weights_ : (c,) array
        Expected weights of the components.
    intercept_ : (J,) array
        The mean of y, or zeros; the functions of the components are added to it.
    lower_bound_ : float
        Lower bound of the log evidence.
    bounds_path_ : (t,) array
        The bound after every sweep of the best start; it never falls.
    status_ : Status
    n_iter_ : int
    gram_ : GramSpec
        What None was resolved to.
    residual_trace_ : float
        For a Gram of low rank: the largest tr(K - F F^T) / tr K of a component.

    Notes
    -----
    A sample of weight w counts as w copies. After the sweeps pairs of components are joined, and components dropped,
    as long as that raises the bound. Cost O(sum_t a_t^2 n) per sweep with a_t samples in component t, memory O(n^2).
    One component is plain Gaussian process regression and the bound its log evidence.

    A Gram of rank r costs O(n r^2) per component and sweep, memory O(n r). The bound is that of functions with the
    covariance F F^T; the variance at a new x adds k(x, x) - |F(x)|^2, what the factor does not know there. Derivatives
    are exact for landmarks; those of `RandomFeatures` and `Features` in the parameters of the kernel are differences.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianProcessMixture
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(0, 6, 60)
    >>> X, y = np.tile(x, 2)[:, None], np.concatenate([np.sin(x) + 2, np.cos(x) - 2])
    >>> model = GaussianProcessMixture(4.0 * Gaussian(1.0), noise=0.01, n_components=4, fixed="all").fit(X, y)
    >>> model.n_components_
    2
    >>> np.sort(model.predict_components([[0.0]]).mean[0]).round(1)
    array([-1.,  2.])
    """

    policies = ()
    constraints = {
        "noise": Optional(Positive()), "normalize_y": Optional(Boolean()),
        "n_components": Integer(1), "concentration": Positive(), "gating": Boolean(),
        "parameters": OneOf("shared", "own"), "restarts": Integer(0), "max_iter": Integer(1), "tol": Positive(),
    }  # fmt: skip

    def __init__(
        self,
        kernel: Any = None,
        noise: float | None = None,
        *,
        n_components: int = 10,
        concentration: float = 1.0,
        gating: bool = False,
        parameters: str = "shared",
        fixed: Sequence[str] | str = (),
        normalize_y: bool | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        restarts: int = 0,
        max_iter: int = 200,
        tol: float = 1e-6,
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
        self.n_components = n_components
        self.concentration = concentration
        self.gating = gating
        self.parameters = parameters
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GaussianProcessMixture:
        """Infer the functions, their weights and which samples belong to them.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) or (n, k) array
            Real targets; the outputs of one sample belong to one component.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real()) as (run, kernel, packed, S, values, w, used):
            values = values.reshape(len(S), -1)
            self._require_plan(kernel, S, values.shape[1])
            kernel = kernel.learn(S, values, w)
            units = Units.of(values, w, self.fixed != "all" if self.normalize_y is None else self.normalize_y)
            self.intercept_, values = units.mean, values - units.mean
            if self.kernel is None:
                kernel = units.variance * kernel
            self.gram_ = self._chosen_spec(kernel, S, run, values.shape[1])
            field = Ascent(self, S, values, w, kernel, self.gram_)
            with run.stage("sweeps", 0.98):
                best = self._best(field, run)
            self._keep(field, best, used, len(packed))
        return self

    def _best(self, field: Ascent, run: Run) -> Beliefs:
        chance = check_random_state(self.random_state)
        monitor = run.solver_monitor(self.tol) if run.watched else None
        best: Beliefs | None = None
        for start in range(self.restarts + 1):
            with serial_blas() if field.order <= _SERIAL else nullcontext():
                found = field.ascend(field.start(None if start == 0 else chance), monitor, run.answer)
            if best is None or found.bound > best.bound:
                best = found
            if found.status in (Status.TIME, Status.STOPPED):
                break
        assert best is not None
        best = field.pruned(best)
        if best.status is not Status.CONVERGED:
            warn_caller(
                f"The bound still rose by {best.gain:.3g} in the last sweep. {best.status.value}", ConvergenceWarning
            )
        field.warn(best)
        return best

    def _keep(self, field: Ascent, found: Beliefs, used: Any, n: int) -> None:
        counts = found.counts
        means = stick_means(padded(counts, self.n_components), self.concentration)[: len(counts)]
        means = means / means.sum()
        vars(self).pop("residual_trace_", None)  # of a former fit
        components: list[Component | LowRankComponent] = []
        for t, (kernel, one, gate) in enumerate(zip(found.kernels, found.experts, found.gates, strict=True)):
            where = None if gate is None else (gate.mean, gate.beta, gate.scatter, gate.dof)
            root, sizes = np.triu(one.factor.array), (float(counts[t]), float(means[t]))
            if isinstance(one, LowRankExpert):
                self.residual_trace_ = max(getattr(self, "residual_trace_", -np.inf), one.part.left)
                components.append(LowRankComponent(kernel, one.noise, one.part.map(), one.beta, root, *sizes, where))
            else:
                near = field.S.take(one.rows).landmarks()
                components.append(Component(kernel, one.noise, near, one.alpha, one.half, root, *sizes, where))
        self.components_ = tuple(components)
        self.kernel_ = found.kernels[0]
        self.n_components_ = len(self.components_)
        self.weights_ = means
        self.responsibilities_ = scattered(found.R, used, n)
        self.lower_bound_, self.bounds_path_, self.status_ = found.bound, np.array(found.path), found.status
        self.n_iter_ = len(found.path)

    # predictions --------------------------------------------------------------------------------------

    def _moments(self, X: Any) -> tuple[Floats, Floats, Floats]:
        """Log weights (m, c), means (m, c, J) and variances of y (m, c) at new data."""
        T = self._pack_new(X)
        log_weight = np.tile(np.log(self.weights_), (len(T), 1))
        found = [component.moments(T) for component in self.components_]
        for place, component in enumerate(self.components_):
            if component.where is not None:
                log_weight[:, place] += NormalWishart(*component.where).log_predictive(dense(T))
        log_weight -= logsumexp(log_weight, axis=1, keepdims=True)
        mean = np.stack([m for m, _ in found], axis=1) + self._centre()
        variance = np.stack([s + c.noise for (_, s), c in zip(found, self.components_, strict=True)], axis=1)
        return log_weight, mean, variance

    @property
    def expansions_(self) -> tuple[Expansion | FeatureExpansion, ...]:
        """The means of the components, each an element of the space of its own kernel; who is asked depends on x."""
        functions = [component.mean() for component in self.components_]
        return tuple(dataclasses.replace(one, intercept=one.intercept + self._centre()) for one in functions)

    def _centre(self) -> Floats:
        return np.asarray(getattr(self, "intercept_", 0.0))  # models that were saved without one have none

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the mean of the mixture at new data, and the standard deviation of a new y if asked for.

        Parameters
        ----------
        X : raw data or packed samples
        return_std : bool, default False
            Whether to return that of y, noise and the distance between components included.

        Returns
        -------
        mean : (m,) or (m, k) array
        std : array of the same shape
        """
        log_weight, mean, variance = self._moments(X)
        weight = np.exp(log_weight)[:, :, None]
        middle = np.sum(weight * mean, axis=1)
        if not return_std:
            return self.target_.decode(middle)
        total = np.sum(weight * (variance[:, :, None] + (mean - middle[:, None, :]) ** 2), axis=1)
        return self.target_.decode(middle), self.target_.decode(np.sqrt(total))

    def predict_components(self, X: Any) -> ComponentPredictions:
        """Return what each component says about new data.

        Parameters
        ----------
        X : raw data or packed samples

        Returns
        -------
        ComponentPredictions
        """
        log_weight, mean, variance = self._moments(X)
        if self.target_.columns is None:
            mean = mean[:, :, 0]
        return ComponentPredictions(np.exp(log_weight), mean, np.sqrt(variance))

    def log_density(self, X: Any, y: Any) -> Floats:
        """Return log p(y | x) of new samples under the mixture, (m,).

        Parameters
        ----------
        X : raw data or packed samples
        y : (m,) or (m, k) array
        """
        log_weight, mean, variance = self._moments(X)
        values = self.target_.encode(y).reshape(len(mean), 1, -1)
        squares = np.sum((values - mean) ** 2, axis=2) / variance
        outputs = mean.shape[2]
        logs = log_weight - 0.5 * (squares + outputs * np.log(2.0 * math.pi * variance))
        return np.asarray(logsumexp(logs, axis=1))

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Draw values of y at new data, each from a component drawn first; (m, n_samples) or (m, k, n_samples).

        Parameters
        ----------
        X : raw data or packed samples
        n_samples : int, default 1
        random_state : int, RandomState or None
        """
        log_weight, mean, variance = self._moments(X)
        chance = check_random_state(random_state)
        m, _count, outputs = mean.shape
        level = np.cumsum(np.exp(log_weight), axis=1)
        drawn = (chance.uniform(size=(m, n_samples, 1)) > level[:, None, :-1]).sum(axis=2)
        rows = np.arange(m)[:, None]
        noise = chance.normal(size=(m, n_samples, outputs)) * np.sqrt(variance[rows, drawn])[:, :, None]
        values = np.moveaxis(mean[rows, drawn] + noise, 1, 2)
        return values[:, 0] if self.target_.columns is None else values

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        n, kinds = n_samples, self.n_components if self.parameters == "own" else 1
        buffers = {
            "packed samples": 8 * n * n_features,
            "responsibilities": 8 * 6 * n * self.n_components,
        }
        what = f"{type(self).__name__} on {n} samples"
        spec = self._planned_gram(n)
        if low_rank(spec, type(self).__name__):
            r = rank_of(spec, n, n_features)
            buffers |= {
                "factors and their derivatives": (2 * kinds + 5) * 8 * n * r,
                "covariances of the coordinates": (4 + 2 * self.n_components) * 8 * r * r,
                "targets and moments": 8 * n * (4 + 4 * n_targets),
                "columns for the start": 16 * n * self.n_components * (n_features + n_targets),
                "tiles": thread_count(self.n_threads) * 16 * tile_side(8) ** 2,
            }
            return Plan(what, buffers, ("a smaller rank", "fewer samples"))
        buffers |= {"Gram matrices": kinds * 8 * n**2, "factors": 3 * 8 * n**2}
        return Plan(what, buffers, ("gram=Nystrom(500)", "fewer samples"))

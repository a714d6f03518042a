r"""Kernel dependency estimation: predictions of anything that has a kernel.

Symbols: L the Gram matrix of the outputs, Psi their feature map, mu the mean of Psi(y_i), u_j the first eigenvectors of
their covariance, z_ij = <Psi(y_i) - mu, u_j> their scores; K the Gram matrix of the inputs, f_j the function that ridge
regression fits to the scores of component j; P(x) = mu + sum_j f_j(x) u_j what is predicted in feature space.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.constraints import InstanceOf, Integer, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, TargetError, warn_caller
from mercer.estimators.directions import Directions, decomposed, is_whole, leading_directions, work_bytes
from mercer.estimators.estimator import KernelEstimator, scattered, unwatched
from mercer.estimators.fits import Run, fitting
from mercer.estimators.parameter_gradients import rank_of
from mercer.estimators.squares.component_ridges import ComponentRidges, ridge_buffers
from mercer.estimators.squares.outputs import Outputs
from mercer.gram import Auto, Dense, Expansion, Gram, GramSpec, HasFactor
from mercer.gram.gram import has_array, is_stored, is_undecided
from mercer.kernels import Gaussian, Kernel, Precomputed
from mercer.kernels.kernel import feature_count, overflow_error
from mercer.kernels.vectors.pointwise import dense
from mercer.preimages.methods import DistanceScaling, FixedPoint, Gradient, Images, Preimage, preimage_method
from mercer.preimages.searches import OutputSearch, nearest
from mercer.problems import LinearSystem, Solution, Status
from mercer.runtime.tiling import spans
from mercer.targets.target import sample_weights

__all__ = ["KernelDependencyEstimation"]
__public__ = __all__

_ENTRIES = 2**17  # coefficients of elements at a time


class KernelDependencyEstimation(MultiOutputMixin, RegressorMixin, KernelEstimator):
    r"""Kernel dependency estimation: outputs of any kind, predicted by way of their feature space.

    .. math:: P(x) = \mu + \sum_j f_j(x) \, u_j, \qquad \hat y(x) = \arg\min_y \| \Psi(y) - P(x) \|

    The outputs have a kernel of their own. Kernel principal components give each of them a few numbers; ridge
    regression predicts these from the inputs, each with the ridge that is best for samples left out; and what is
    predicted is an output whose image is near: strings from vectors, graphs from graphs, several numbers with a loss of
    one's choice.

    With all components and one ridge it is input-output kernel regression, whose closed form is

    .. math:: P(x) = \mu + \sum_i a_i(x) \, \Psi(y_i), \qquad a(x) = (P K P + \alpha I)^{-1} P \, (k_x - K 1 / n)

    with the centring P.

    Seed: [HSS] Section 3.3.4.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        On inputs. None is the Gaussian at the median distance.
    alpha : float or None, default None
        The ridge of all components. None chooses one for each component by leaving one sample out, in closed form; the
        components themselves are held.
    output_kernel : Kernel, optional
        On outputs. None is the Gaussian at their median distance.
    n_components : int or None, default 50
        Components of the outputs, at most as many as there are; None are all.
    preimage : optional
        How an output is found. None: for vectors what `preimage` does, for other outputs the nearest training output.
        For vectors `FixedPoint`, `DistanceScaling` or `Gradient`; `BeamSearch` for strings, `LabelFlips` for rows of
        zeros and ones.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held. None is `Dense` if the ridge is chosen, which needs the matrix or a factor such as that of
        ``Nystrom(500)``; otherwise `Auto` chooses. With a ridge that is given, products suffice.
    output_gram : GramSpec, optional
        How L is held. None: as K, if that is held by landmarks, as with `Nystrom`; otherwise `Auto` chooses. Products
        suffice if `n_components` is given.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    alphas_ : (q,) array
        The ridge of each component.
    n_components_ : int
        q.
    eigenvalues_ : (q,) array
        Variances of the outputs along the components, times the sum of the weights.
    left_out_errors_ : (q,) array
        Of each component, the mean squared error of left-out samples over its variance; only if ridges are chosen.
    expansion_ : Expansion or FeatureExpansion
        f, one column for each component.
    dual_coef_, intercept_ : arrays
        Of f.
    output_expansion_ : Expansion
        mu and the u_j, on the training outputs.
    kernel_, output_kernel_, gram_, output_gram_ : what None was resolved to

    Notes
    -----
    Outputs are returned in the form in which they were given: numbers, texts, or tuples of symbols. Outputs of other
    kinds, such as graphs, are returned packed; `nearest` returns places, in a list of candidates of one's own. A sample
    of weight w counts as w copies. A model keeps its outputs, in memory of its own.

    Examples
    --------
    >>> from mercer import KernelDependencyEstimation
    >>> from mercer.kernels import Gaussian, Spectrum
    >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), ["gattaca", "gattac", "tagtag", "tagta"]
    >>> model = KernelDependencyEstimation(Gaussian(0.3), output_kernel=Spectrum(2)).fit(X, y)
    >>> model.predict([[0.02], [1.2]])
    ['gattaca', 'tagta']
    >>> model.nearest([[0.0]], ["tagtaga", "gattacat"])
    array([[1]])
    """

    synonyms = ("KDE", "input-output kernel regression", "IOKR", "output kernel regression")
    highest_order = 1
    products_suffice = True
    target_: Outputs
    constraints = {
        "alpha": Optional(Positive()),
        "output_kernel": Optional(InstanceOf(Kernel)),
        "n_components": Optional(Integer(1)),
        "preimage": Optional(InstanceOf(FixedPoint, DistanceScaling, Gradient, OutputSearch)),
        "output_gram": Optional(InstanceOf(GramSpec)),
    }

    def __init__(
        self,
        kernel: Any = None,
        alpha: float | None = None,
        *,
        output_kernel: Kernel | None = None,
        n_components: int | None = 50,
        preimage: Preimage | OutputSearch | None = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        output_gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.output_kernel = output_kernel
        self.n_components = n_components
        self.preimage = preimage
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.output_gram = output_gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the components of the outputs, and fit a function to the scores of each.

        Parameters
        ----------
        X : raw data or packed samples
        y : outputs
            Of the kind that `output_kernel` compares: a vector or a table of numbers, a list of texts, graphs, ...
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        target = Outputs(Gaussian("median") if self.output_kernel is None else self.output_kernel)
        with fitting(self, X, y, sample_weight, target) as (run, kernel, packed, S, Y, w, used):
            scores = self._decompose(Y, w, run)
            self.kernel_ = kernel.learn(S, None, w)
            K = self._represent(self.kernel_, S, run, until=0.7)
            if self.alpha is None:
                found = self._chosen(K, scores, w, run)
                coef, self.intercept_ = found.coef, found.intercept
                self.alphas_, self.left_out_errors_ = found.alphas, found.errors
                solution = Solution(coef, Status.CONVERGED, 0.0, weights=found.weights)
            else:
                system = LinearSystem(K, float(self.alpha) / w, scores, np.ones((len(S), 1)))
                solution = self._solve(system, run, until=0.95)
                coef, self.intercept_ = solution.coef, solution.multipliers[0]
                self.alphas_ = np.full(scores.shape[1], float(self.alpha))
            self.expansion_ = K.expand(solution, self.intercept_)
            self.dual_coef_ = scattered(coef, used, len(packed))
        return self

    # predictions --------------------------------------------------------------------------------------

    def predict(self, X: Any, candidates: Any = None) -> Any:
        """Return outputs whose images are near to what is predicted in feature space.

        Parameters
        ----------
        X : raw data or packed samples
        candidates : outputs, optional
            To choose from. None: see `preimage`.

        Returns
        -------
        y : as `fit` was given
            An array of numbers, a list of texts or of tuples of symbols; other outputs packed.
        """
        images = self._images(X)
        if candidates is not None or not (isinstance(images.samples, Vectors) or self.preimage is not None):
            places, packed = self._nearest(images, candidates, 1)
            return self._decoded(packed.take(places[:, 0]))
        method: Any = self.preimage or preimage_method(self.output_kernel_)
        if isinstance(method, OutputSearch):
            return self._decoded(method.solve(images, self._resources()))
        if not isinstance(images.samples, Vectors):
            raise CapabilityError(
                f"preimage={method!r} was given with output_kernel={self.output_kernel_!r:.200}, whose outputs are no "
                "vectors; a point is moved in a space of numbers. Leave it out, or use BeamSearch() for strings."
            )
        return self.target_.decode(self._moved(method, images))

    def nearest(self, X: Any, candidates: Any = None, k: int = 1) -> Indices:
        """Return which candidates are nearest to what is predicted, (m, k), the nearest first.

        Parameters
        ----------
        X : raw data or packed samples
        candidates : outputs, optional
            None are the training outputs of positive weight.
        k : int, default 1
            At most as many as there are candidates.

        Returns
        -------
        places : (m, k) array
            In the list of candidates.
        """
        Integer(1).check("k", k, self)
        return self._nearest(self._images(X), candidates, k)[0]

    def predict_scores(self, X: Any) -> Floats:
        """Return the predicted scores of the components, (m, q).

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._evaluate(X)[:, : self.n_components_]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        r"""Return the coefficient of determination: of numbers as scikit-learn has it, of others in feature space.

        .. math:: 1 - \frac{\sum_i w_i \|\Psi(y_i) - P(x_i)\|^2}{\sum_i w_i \|\Psi(y_i) - \mu\|^2}

        Parameters
        ----------
        X : raw data or packed samples
        y : outputs
        sample_weight : (m,) array, optional
        """
        if getattr(self, "target_", None) is None or self.target_.numbers is not None:
            return super().score(X, y, sample_weight)
        images = self._images(X)
        T = self.target_.encode(y)
        if len(T) != len(images):
            raise TargetError(
                f"X has {len(images)} samples and y has {len(T)}; there must be one output per sample. Give X and y of "
                "the same length."
            )
        w = sample_weights(sample_weight, len(T))
        values, z = self.output_expansion_(T, self._resources()), images.weights[:, 1:]
        own = self.output_kernel_.diag(self.output_kernel_.prepare(T)) - 2.0 * values[:, 0] + self.mean_values_[0]
        along = np.einsum("ij,ij->i", values[:, 1:] - self.mean_values_[1:], z)
        left = own - 2.0 * along + np.einsum("ij,ij->i", z, z)
        return float(1.0 - (w @ left) / (w @ own))

    def _images(self, X: Any) -> Images:
        """Return what is predicted in feature space."""
        Z = self._evaluate(X)
        function = self.output_expansion_
        weights = np.column_stack([np.ones(len(Z)), Z])
        return Images(self.output_kernel_, function.samples, function.coef, weights, self.output_values_)

    def _nearest(self, images: Images, candidates: Any, k: int) -> tuple[Indices, Samples]:
        packed = images.samples if candidates is None else self.target_.encode(candidates)
        if k > len(packed):
            raise DomainError(
                f"the {k} nearest of {len(packed)} candidates were asked for; at most as many as there are can be "
                f"found. Give k={len(packed)} or less."
            )
        return nearest(images, packed, k, self._resources()), packed

    def _decoded(self, found: Samples) -> Any:
        return self.target_.decode(dense(found) if isinstance(found, Vectors) else found)

    def _moved(self, method: Preimage, images: Images) -> Floats:
        """Return points that were moved near to the elements, some at a time."""
        points, most, unfinished = [], 0, 0
        for rows in spans(len(images), max(1, _ENTRIES // len(images.samples))):
            with np.errstate(over="ignore", invalid="ignore"):
                found = method.solve(images.take(rows), None, self._resources())
            if not np.isfinite(found.points).all():
                raise overflow_error(self.output_kernel_)
            points.append(found.points)
            most, unfinished = max(most, found.iterations), unfinished + found.unfinished
        if unfinished:
            warn_caller(
                f"{unfinished} of {len(images)} pre-images had not settled after {most} steps of "
                f"{type(method).__name__}. Raise its max_iter, or its tol.",
                ConvergenceWarning,
            )
        return np.concatenate(points) if points else np.empty((0, images.samples.shape[0]))

    # outputs ------------------------------------------------------------------------------------------

    def _decompose(self, Y: Samples, w: Floats, run: Run) -> Floats:
        """Find the components of the outputs, keep them, and return the scores, (n, q)."""
        kernel = self.target_.kernel.learn(Y, None, w)
        spec = self._output_spec(kernel, Y)
        with run.stage("Gram matrix of the outputs", 0.2):
            L = spec.build(kernel, Y, run.resources())
        if not np.isfinite(L.diag()).all():
            raise overflow_error(kernel)
        with run.stage("components of the outputs", 0.4):
            found = self._leading(L, w, run)
        count = int(np.sum(found.values > found.floor))
        count = count if self.n_components is None else min(count, int(self.n_components))
        self.output_kernel_, self.output_gram_ = kernel, spec
        share, root = w / w.sum(), np.sqrt(w)[:, None]
        self.n_components_, self.eigenvalues_ = count, found.values[:count].copy()
        if count:
            found = found.first(count, root[:, 0])
            coef = found.vectors * (root / np.sqrt(found.values))
            coef -= np.outer(share, coef.sum(axis=0))  # they sum to zero, but for rounding
            scores = found.vectors * (np.sqrt(found.values) / root)
        else:
            warn_caller(
                f"The {len(w)} outputs do not vary in the feature space of {kernel!r:.200}: the same is predicted for "
                "every sample. Give outputs that differ.",
                DegenerateWarning,
            )
            coef = scores = np.zeros((len(w), 1))
        both = np.column_stack([share, coef])
        self.output_expansion_ = Expansion(kernel, L.samples.landmarks(), both, np.zeros(both.shape[1]))
        self.output_values_ = np.column_stack([found.means, scores + found.means @ coef])
        self.mean_values_ = share @ self.output_values_
        return scores

    def _output_spec(self, kernel: Kernel, Y: Samples) -> GramSpec:
        """Return how the Gram matrix of the outputs is held."""
        if isinstance(kernel, Precomputed):
            raise CapabilityError(
                "output_kernel=Precomputed() was given; an output is compared with those of training before it is "
                "predicted, for which the kernel itself is needed. Give one, for example Custom(function)."
            )
        if kernel.order != 0:
            raise CapabilityError(
                f"output_kernel={kernel!r:.200} was given, which is not positive definite; distances in its feature "
                "space are needed. Use a positive definite kernel, for example Gaussian()."
            )
        return self._settled_output_gram(kernel, len(Y), feature_count(kernel, Y))

    def _settled_output_gram(self, kernel: Kernel, n: int, features: int | None) -> GramSpec:
        """Return what was given; if there is nothing, the landmarks of the inputs, or what `Auto` chooses."""
        spec = self.output_gram or (self.gram if self.gram is not None and hasattr(self.gram, "rank") else Auto())
        return spec.choose(kernel, n, features, self.memory) if is_undecided(spec) else spec

    def _leading(self, L: Gram, w: Floats, run: Run) -> Directions:
        if self.n_components is None or self.n_components >= len(w):
            if not is_whole(L):
                raise CapabilityError(
                    f"n_components={self.n_components} of {len(w)} outputs were asked for with "
                    f"output_gram={self.output_gram!r}, which gives products; they find the first components. "
                    "Give n_components, or use output_gram=Nystrom(500) or Dense()."
                )
            return decomposed(L, w, True, run.deadline)
        monitor = run.solver_monitor(1e-10) if run.watched else None
        unwatched(L)
        found = leading_directions(L, w, int(self.n_components), monitor=monitor, deadline=run.deadline)
        if not found.converged:
            warn_caller(
                f"The components of the outputs stopped at residual {found.residual:.3g} of the largest eigenvalue "
                f"after {found.iterations} products. Use fewer n_components, output_gram=Nystrom(500) or Dense().",
                ConvergenceWarning,
            )
        return found

    # ridges -------------------------------------------------------------------------------------------

    def _chosen(self, K: Gram, scores: Floats, w: Floats, run: Run) -> ComponentRidges:
        """Fit each component with the ridge that is best for it."""
        if not (has_array(K) or isinstance(K, HasFactor)):
            raise CapabilityError(
                f"KernelDependencyEstimation was given gram={self.gram_!r} and alpha=None; to choose a ridge by "
                "leaving samples out a factor or a dense matrix is needed. Give alpha, or use gram=Nystrom(500)."
            )
        if not np.isfinite(K.diag()).all():
            raise overflow_error(self.kernel_)
        with run.stage("choice of the ridges", 0.95):
            return ComponentRidges.of(K, scores, w, self.memory, run.deadline)

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        return Dense() if self.alpha is None and self.gram is None else super()._gram_spec(kernel, S)

    def _planned_gram(self, n_samples: int) -> GramSpec:
        return Dense() if self.alpha is None and self.gram is None else super()._planned_gram(n_samples)

    def _can_use(self, spec: GramSpec) -> bool:
        return super()._can_use(spec) and not (self.alpha is None and (spec.streamed or spec.structured))

    # what it takes ------------------------------------------------------------------------------------

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        n = n_samples
        q = n if self.n_components is None else min(int(self.n_components), n)
        kernel = self.output_kernel if isinstance(self.output_kernel, Kernel) else Gaussian()
        spec = self._settled_output_gram(kernel, n, None)
        inputs = super().memory_plan(n, n_features, q)
        rank = rank_of(self._planned_gram(n), n, n_features)
        ridges = {**inputs.buffers, **(ridge_buffers(n, rank) if self.alpha is None else {})}
        kept = {"components": 32 * n * (q + 1)}
        outputs = {f"{name} of the outputs": size for name, size in spec.plan(kernel, n, n_targets).buffers.items()}
        outputs["work space of the outputs"] = _work(n, q, n_targets, spec)
        larger = max(ridges, outputs, key=lambda buffers: sum(buffers.values()))  # one after the other
        return Plan(inputs.what, {**kept, **larger}, inputs.options)


def _work(n: int, q: int, width: int, spec: GramSpec) -> int:
    """Return the memory in which the components of outputs are found."""
    rank = rank_of(spec, n, width)
    return 32 * rank * rank + 16 * n * rank if rank < n else work_bytes(n, q, is_stored(spec))

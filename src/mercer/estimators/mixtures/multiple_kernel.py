"""What learners with several kernels share: a family, a set of weights, one search, one ordinary kernel at the end.

Symbols: d_t the weight of kernel t, beta the coefficients of the samples, f_t = d_t K_t beta the part of kernel t.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.constraints import InstanceOf, Interval, OneOf, Optional
from mercer.domains import Samples, Similarities, Vectors
from mercer.errors import CapabilityError, ParameterError, warn_caller
from mercer.estimators.certificates.certified_sums import CertifiedSum, Summands
from mercer.estimators.certificates.fitted_balls import norm_of
from mercer.estimators.estimator import KernelEstimator, pack_vectors, remember_columns, unwatched
from mercer.estimators.fits import Run
from mercer.estimators.mixtures import kernel_family
from mercer.estimators.mixtures.kernel_family import NORMALIZATIONS, Built, Kernels, combined, family_of
from mercer.gram import FeatureExpansion, Gram, GramSpec
from mercer.gram.gram import is_transform, is_undecided
from mercer.kernels import Gaussian, Kernel, Scaled, Sum
from mercer.kernels.kernel import narrowed
from mercer.mixtures import Alignment, Given, HierarchicalBayes, Mixture, Simplex, WeightSet
from mercer.problems import Solution, Status
from mercer.solvers import MixtureNewton, MixtureTurns, Solver
from mercer.solvers.mixtures.stack import stack_of
from mercer.solvers.mixtures.variational import mixture_posterior
from mercer.targets import Target
from mercer.theory import Assumption

__all__ = ["MultipleKernelMachine"]


class MultipleKernelMachine(CertifiedSum, KernelEstimator):
    """Base of the learners with several kernels; a subclass states the programs of its machine.

    Parameters
    ----------
    kernels : list of Kernel, dict of str to Kernel, Kernel, or None
        k_1, ..., k_m, of any domains: kernels of columns of a table by ``.on(columns)``; of a sum its terms. None is
        five Gaussian kernels around the median distance between training samples.
    mixture : Mixture, optional
        What the weights may be; None is `Simplex()`.
    normalization : {None, "trace", "variance", "cosine"}
        What makes kernels comparable, learned from training samples: a mean of k(x, x) of one, a variance of one in
        feature space, or k(x, x) = 1 for each sample.
    tol : float
        Duality gap of the whole problem, relative to its minimum.
    """

    kernels: Any
    mixture: Any
    normalization: Any
    tol: float
    kernel: Any = None
    target: ClassVar[Target | None] = None  # what y is
    constraints = {
        "kernels": Kernels(),
        "mixture": Optional(InstanceOf(Mixture)),
        "normalization": Optional(OneOf(*NORMALIZATIONS)),
        "tol": Interval(0.0, 1.0, closed="neither"),
    }
    policies = ()
    in_parts = "gram=Tiles()"

    # entry points -------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        kernel_family.require_members(self.kernels)
        if self.mixture is not None:
            self.mixture.check()
        if self.gram is not None and is_transform(self.gram):
            raise CapabilityError(
                f"{type(self).__name__} was given gram={self.gram!r}, which offers products alone; rows are needed. "
                "Use gram=Dense(), gram=Tiles() or a Gram of low rank."
            )
        if self.solver is not None and self.tol != 1e-3:
            raise ParameterError(
                f"tol={self.tol} and solver={self.solver!r} were given; tol is an option of the default solver. Write "
                "it into the solver, for example MixtureNewton(tol=1e-5)."
            )

    def _given_kernel(self, width: int = 1) -> Any:
        family = family_of(self.kernels)
        return None if family is None else family.kernel

    def _pack(self, X: Any) -> tuple[Samples, Kernel]:
        family = family_of(self.kernels)
        if family is None:
            S, kernel = pack_vectors(X, None), Gaussian("median")
        else:
            kernel = family.kernel
            S = kernel.pack(X)
            for member in family.kernels:
                self._check_order(member)
        self.repair_ = None
        if isinstance(S, Similarities):
            self._check_definite(S)
        remember_columns(self, X, S, reset=True)
        if not is_undecided(self._spec(len(S))):
            self._require_with(self.gram, S)  # not what was chosen, which does not say in which precision
        return S, kernel

    def _spec(self, n: int) -> GramSpec:
        """Return how the Grams are held; undecided where an error is allowed."""
        if is_undecided(self.gram) and self.gram.tol is not None:
            return self.gram
        return kernel_family.chosen_spec(self.gram, kernel_family.default_size(self.kernels), n, self.memory)[0]

    def _pack_new(self, X: Any) -> Samples:
        check_is_fitted(self)
        return super()._pack_new(kernel_family.part_read(self.kernel_, X) if isinstance(X, Samples) else X)

    # steps --------------------------------------------------------------------------------------------

    def _build(self, S: Samples, y: Any, w: Floats, run: Run, until: float = 0.5) -> Built:
        """Learn and scale the kernels, and represent each of them."""
        family = family_of(self.kernels)
        if family is None:
            family = kernel_family.widths(S, y, w)
        else:
            if self.normalization == "cosine":
                family = family.normalized()
            family = family.learned(S, y, w)
        spec = self.gram
        vars(self).pop("gram_choice_", None)
        with run.stage("Gram matrices", until):
            if is_undecided(spec) and spec.tol is not None:
                self.gram_choice_ = self._decide(spec, family.kernel, S, run).record
                spec = self.gram_choice_["gram"]
            built = kernel_family.build(family, S, w, self.normalization, spec, run.resources())
        self.gram_ = built.spec
        for gram in built.grams:
            unwatched(gram)
        return built

    def _weight_set(self, built: Built, Y: Floats | None, w: Floats) -> WeightSet:
        """Return the set of weights, or the weights themselves where they do not depend on the machine."""
        mixture = Simplex() if self.mixture is None else self.mixture
        if isinstance(mixture, Alignment):
            return Given(tuple(mixture.of(built.grams, self._aligned(Y), w).tolist()))
        return mixture

    def _aligned(self, Y: Floats | None) -> Floats:
        """Return the columns that kernels are to be aligned with."""
        if Y is None:
            raise CapabilityError(
                f"{type(self).__name__} was given mixture={self.mixture!r}, which aligns kernels with targets; there "
                "are none here. Use mixture=Simplex() or another set of weights."
            )
        return Y

    def _default_solver(self, gram: Gram) -> Solver:
        newton = self.mixture is None or isinstance(self.mixture, (Simplex, Alignment)) or self.mixture.single
        return MixtureNewton(self.tol) if newton else MixtureTurns(self.tol)

    def _search(self, built: Built, values: Any, w: Floats, run: Run) -> Solution:
        """Solve for machine and weights; the state of the solution has the weights."""
        vars(self).pop("weights_std_", None)
        if isinstance(self.mixture, HierarchicalBayes):
            return self._posterior(built, self._observed(values), w, run)
        return self._solve(self._problem(built, values, w), run, 0.95)

    def _problem(self, built: Built, values: Any, w: Floats) -> Any:
        """Return the problem of machine and weights: what a subclass writes."""
        raise NotImplementedError

    def _observed(self, values: Any) -> tuple[Floats, bool]:
        """Return what a model of the data observes, and whether it is a class."""
        raise CapabilityError(
            f"{type(self).__name__} was given mixture={self.mixture!r}, a model of targets; "
            "there are none here, or several. Use mixture=Simplex() or another set of weights."
        )

    def _posterior(self, built: Built, observed: tuple[Floats, bool], w: Floats, run: Run) -> Solution:
        """Return the mean function and the weights of the posterior; there is no machine."""
        unread = [name for name, usual in self._of_the_machine().items() if getattr(self, name) != usual]
        if unread:
            raise ParameterError(
                f"{', '.join(unread)} and mixture={self.mixture!r} were given; the mixture is a model of its own, "
                "without a machine. Leave them at their defaults."
            )
        y, classes = observed
        with run.stage("posterior", 0.95):
            monitor = run.solver_monitor(self.mixture.tol) if run.watched else None
            found = mixture_posterior(built.grams, y, w, self.mixture, classes=classes, monitor=monitor)
        solution = found.solution
        if solution.status is not Status.CONVERGED:
            warn_caller(
                f"the weights of HierarchicalBayes still changed by {solution.residual:.3g}. {solution.status.value}",
                ConvergenceWarning,
            )
        self.solver_, self.weights_std_, self.noise_ = None, found.deviations, found.noise
        self.solution_ = dataclasses.replace(solution, state=None)
        return dataclasses.replace(solution, multipliers=np.array([-found.intercept]))

    def _of_the_machine(self) -> dict[str, Any]:
        """Return the parameters of the machine, with their defaults."""
        return {"solver": None, "tol": 1e-3}

    # what is kept -------------------------------------------------------------------------------------

    def _store(self, built: Built, S: Samples, solution: Solution, intercept: Any, w: Floats) -> None:
        """Keep weights, kernel, function, and each kernel's share of it."""
        found = solution.state
        self.kernel_names_, self.weights_ = built.family.names, found.weights
        self.scales_, self.squares_, self.objective_ = built.scales, found.squares, float(found.objective)
        self.support_kernels_ = tuple(n for n, d in zip(self.kernel_names_, self.weights_, strict=True) if d > 0.0)
        self.kernel_ = combined(built.family, found.weights)
        self.contributions_ = _shares(built, found.weights, solution.coef, w)
        self.expansion_ = self._expanded(built, S, solution, intercept)
        self.n_iter_ = int(solution.details.get("changes of the weights", len(solution.trace)))

    def _expanded(self, built: Built, S: Samples, solution: Solution, intercept: Any) -> Any:
        """Return the fitted function, under the approximation of the Grams if there is one."""
        if built.spec.low_rank:
            parts = [
                (float(d), gram.expand(Solution(solution.coef, Status.CONVERGED, 0.0)))
                for d, gram in zip(self.weights_, built.grams, strict=True)
                if d > 0.0
            ]
            if all(isinstance(part, FeatureExpansion) for _, part in parts):
                kernel = Sum(tuple(Scaled(d, part.kernel) for d, part in parts))
                weights = np.concatenate([np.sqrt(d) * part.weights for d, part in parts])
                keys = tuple(part.keys for _, part in parts)
                return FeatureExpansion(kernel, keys, weights, np.asarray(intercept, dtype=float))
        own = kernel_family.part_read(self.kernel_, S)  # columns that no kernel with a weight reads are left out
        gram = kernel_family.exact_gram(self.kernel_, own, self._resources())
        return gram.expand(Solution(solution.coef, Status.CONVERGED, 0.0), intercept)

    def _store_support(self, coef: Floats, used: Indices, S: Samples, order: Indices | None = None) -> Indices:
        """Keep which samples have a coefficient; return their places among those that count."""
        chosen = np.flatnonzero(coef if coef.ndim == 1 else coef.any(axis=1))
        if order is not None:
            chosen = chosen[np.argsort(order[chosen], kind="stable")]
        self.support_ = used[chosen].astype(np.int32)
        vectors = S.take(chosen)
        self.support_vectors_ = vectors.X if isinstance(vectors, Vectors) and not vectors.is_streamed else vectors
        return chosen

    # use ----------------------------------------------------------------------------------------------

    def contributions(self, X: Any) -> Floats:
        """Return what each kernel adds to the decision values of new data, shape (q, m) or (q, m, k).

        The sum over the kernels is the decision function without its intercept: it says which kernel, or which source
        of data, carried a decision.

        Parameters
        ----------
        X : raw data or packed samples
        """
        T = self._pack_new(X)
        f: Any = self.expansion_
        outputs = f.outputs
        values = np.zeros((len(T), len(self.kernel_names_), *outputs))
        places = [self.kernel_names_.index(name) for name in self.support_kernels_]
        for place, kernel in zip(places, self._terms(), strict=True):
            values[:, place] = self._part_of(f, kernel, T, place)(T, self._resources())
        return values

    def _terms(self) -> tuple[Kernel, ...]:
        kernel: Any = self.expansion_.kernel if isinstance(self.expansion_, FeatureExpansion) else self.kernel_
        return kernel.terms if len(self.support_kernels_) > 1 else (kernel,)

    def _part_of(self, f: Any, kernel: Kernel, T: Samples, place: int) -> Any:
        """Return the part of a function that is of one kernel, without its intercept."""
        if isinstance(f, FeatureExpansion):
            many = len(self.support_kernels_) > 1 or isinstance(f.kernel, Sum)
            keys = f.keys if many else (f.keys,)
            order = self.support_kernels_.index(self.kernel_names_[place])
            terms = f.kernel.terms if isinstance(f.kernel, Sum) else (f.kernel,)
            sizes = [term.features(T[:1], key)[0].shape[1] for term, key in zip(terms, keys, strict=True)]
            begin = int(np.sum(sizes[:order]))
            weights = f.weights[begin : begin + sizes[order]]
            return FeatureExpansion(terms[order], keys[order], weights, np.zeros(f.outputs))
        return dataclasses.replace(f, kernel=kernel, intercept=np.zeros(f.outputs))

    def _summands(self, T: Samples) -> Summands:
        f, own = self.expansion_, kernel_family.part_read(self.kernel_, T)
        values = np.asarray(f(own, self._resources()), dtype=float).reshape(len(T), -1)
        sizes = np.zeros((values.shape[1], len(self.kernel_names_)))
        places = [self.kernel_names_.index(name) for name in self.support_kernels_]
        for place, kernel in zip(places, self._terms(), strict=True):
            part = self._part_of(f, kernel, own, place)
            each = [part.column(c) for c in range(values.shape[1])] if f.outputs else [part]
            # of a part d_t K_t beta, the norm in the space of d_t k_t is smaller by the root of d_t
            sizes[:, place] = np.sqrt(self.weights_[place]) * np.array([norm_of(one, own) for one in each])
        family = self._family_on(T)
        diagonals = [k.diag(k.prepare(narrowed(k, T))) for k in family.kernels]
        offsets = np.broadcast_to(np.asarray(f.intercept, dtype=float).reshape(-1), (values.shape[1],))
        return Summands(values, sizes, offsets, self.scales_[:, None] * np.array(diagonals, dtype=float))

    def _family_on(self, T: Samples) -> kernel_family.Family:
        """Return the kernels as they are learned from the training sample, without their scales."""
        family, w = family_of(self.kernels), np.ones(len(T))
        if family is None:
            return kernel_family.widths(T, None, w)
        return (family.normalized() if self.normalization == "cosine" else family).learned(T, None, w)

    def _packed_sample(self, X: Any) -> Samples:
        family = family_of(self.kernels)
        return (self.kernel_ if family is None else family.kernel).pack(X)  # kernels without a weight read columns too

    def _class_assumption(self, candidates: int, T: Samples) -> Assumption:
        text = "the kernels were fixed before the sample was seen"
        family = family_of(self.kernels)
        if family is None:
            return Assumption(text, False, "fit has taken their widths from it; give kernels for the next sample")
        if self.normalization in ("trace", "variance"):
            return Assumption(text, False, f"normalization={self.normalization!r} has taken their scales from it")
        if self._family_on(T).kernels != (family.normalized() if self.normalization else family).kernels:
            return Assumption(text, False, "fit has learned parameters of them from it")
        return Assumption(text, None, "fit has learned their weights alone, which are paid for")

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        m = kernel_family.default_size(self.kernels)
        kernel = self._known_kernel()
        plan = kernel_family.plan_of(m, n_samples, n_features, self.gram, self.memory, kernel)
        own = {
            "packed samples": 8 * n_samples * n_features,
            "gradient and coefficients": 8 * n_samples * (12 + m + 2 * n_targets),
        }
        return Plan(f"{type(self).__name__} on {n_samples} samples", {**own, **plan.buffers}, plan.options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags


def _shares(built: Built, d: Floats, coef: Floats, w: Floats) -> Floats:
    """Return each kernel's share of the variance of the function over the training samples, (m,); they sum to one."""
    used = np.flatnonzero(d)
    parts = stack_of([built.grams[t] for t in used]).products(coef) * d[used].reshape(-1, *[1] * coef.ndim)
    parts = parts - np.expand_dims(np.tensordot(w / w.sum(), parts, axes=(0, 1)), 1)
    whole = parts.sum(axis=0)
    weighted = whole * (w if coef.ndim == 1 else w[:, None])
    each = np.array([float(np.sum(part * weighted)) for part in parts])
    total = float(each.sum())
    shares = np.zeros(len(d))
    shares[used] = each / total if total > 0.0 else d[used] / d.sum()
    return shares

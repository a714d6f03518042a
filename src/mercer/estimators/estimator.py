"""KernelEstimator: what every estimator does before and after its own few lines.

The five steps of a fit: pack the data, resolve the kernel, encode the target, represent K, solve. What was left open
is chosen here as well: which kernel was meant, how K is held, which solver is used, and what all that takes. A family
changes one of these methods where it can do less, or more: `_can_use` says which Grams will do, `_default_solver` which
solver is taken for one, `_planned_gram` what `Auto` will choose as far as that is known.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

import mercer.gram
from mercer import kernels, solvers  # whose names are imported when they are used
from mercer.arrays import Floats
from mercer.budget import Bytes, Plan, Resources, budget, format_bytes
from mercer.constraints import AnyOf, Constraint, InstanceOf, Integer, Interval, Optional, Positive
from mercer.domains import Frames, Samples, Similarities, Vectors
from mercer.domains.samples import require_kin, symbol_kinds
from mercer.errors import CapabilityError, DomainError, IndefiniteWarning, ParameterError, warn_caller
from mercer.estimators.fits import Run, protect, scattered, seal_computed, weighted
from mercer.gram import Auto, Expansion, FeatureExpansion, Gram, GramSpec, HasFactor, Tiles
from mercer.gram.auto import Chosen
from mercer.gram.exact import Dense, exact_choice, exact_spec
from mercer.gram.gram import (
    HasEigen,
    has_array,
    has_features,
    is_stored,
    is_streamed,
    is_transform,
    is_undecided,
    tile_bytes,
)
from mercer.gram.repair import POLICIES, Repair
from mercer.kernels import Constant, Gaussian, Kernel, Precomputed
from mercer.kernels.kernel import AnyKernel, feature_count, is_foreign, is_scikit_learn, overflow_error
from mercer.problems import Solution, Status
from mercer.runtime.tiling import in_background
from mercer.solvers import Solver
from mercer.spec import Spec, constraints_of
from mercer.targets.target import sample_weights

__all__ = [
    "KernelEstimator",
    "foreign",
    "require_fitted",
    "sample_weights",
    "scattered",
    "unwatched",
    "weighted",
]

_NAMES: dict[type, list[str]] = {}  # of the parameters of each class
_OF_THE_GRAM = ("residual_trace_", "gram_error_", "gram_method_", "gram_choice_")  # what is reported of it


class KernelEstimator(CallbackSupportMixin, BaseEstimator):
    """Base of all estimators: a kernel, how K is held, how the optimum is reached, and budgets.

    Parameters
    ----------
    kernel : Kernel, str, callable or None
        None is a Gaussian: of support vector machines, ridge and logistic regression ``Gaussian("columns")``, with a
        length scale for each column, otherwise ``Gaussian("median")``; a str is one of scikit-learn's names; a function
        of two collections is wrapped in `mercer.kernels.Custom`, which checks what it returns; a kernel object of
        scikit-learn is translated.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels; an error together with a Kernel.
    gram : GramSpec, optional
        How K is held; None is `Auto()`.
    solver : Solver, optional
        None chooses by what the Gram offers.
    memory : int or str, optional
        Budget in bytes, for example "2GB"; None is 70 % of what is free.
    max_time : float, optional
        Budget in seconds.
    n_threads : int, optional
        None uses every core.
    """

    kernel: Any
    gram: Any
    memory: int | str | None
    max_time: float | None
    n_threads: int | None
    products_suffice: ClassVar[bool] = False  # whether the default solver needs products with K alone
    takes_noise: ClassVar[bool] = False  # whether white noise beside a kernel of scikit-learn has a meaning here
    gram_: GramSpec
    repair_: Repair | None  # what the Gram's policy for indefinite kernels has changed
    gram_choice_: dict[str, Any]  # what `Auto` has chosen, its error, and the alternatives with bytes and seconds
    gamma: Any = None  # of an estimator that has no such parameter; so are the next
    degree: Any = None
    coef0: Any = None
    solver: Any = None
    kernel_: Kernel
    expansion_: Expansion | FeatureExpansion
    target_: Any  # what y is, of estimators that read it; kept by `fitting`
    classes_: Any  # of classifiers
    in_parts: ClassVar[str] = "gram=Tiles() with solver=ConjugateGradient()"  # what leaves a result when time is up
    _default_length: ClassVar[str] = "median"  # of the Gaussian that None stands for
    highest_order: int = 0  # of conditional definiteness that this estimator accepts
    policies: tuple[str, ...] = POLICIES  # for indefinite kernels, that this estimator can follow
    constraints: ClassVar[Mapping[str, Constraint]] = {  # what a class adds to those of its bases
        "kernel": AnyKernel(),
        "gamma": Optional(Interval(0.0, np.inf, closed="left")),
        "degree": Optional(Integer(1)),
        "coef0": Optional(Interval(-np.inf, np.inf)),
        "gram": Optional(InstanceOf(GramSpec)),
        "solver": Optional(InstanceOf(Solver)),
        "memory": Optional(Bytes()),
        "max_time": Optional(Positive()),
        "n_threads": Optional(Integer(1)),
        "random_state": Optional(AnyOf(Integer(0, 2**32 - 1), InstanceOf(np.random.RandomState))),
        "fixed": InstanceOf(tuple, list, str),
        "bounds": Optional(InstanceOf(Mapping)),
    }

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        protect(cls)

    def __init__(
        self,
        kernel: Any = None,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, looked up once for each class: every clone and search asks for them."""
        if cls not in _NAMES:
            _NAMES[cls] = super()._get_param_names()
        return _NAMES[cls]

    # entry points ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise ParameterError unless all parameters, those of nested specs included, are acceptable."""
        for name, constraint in constraints_of(type(self)).items():
            constraint.check(name, getattr(self, name), self)
        for value in (self._given_kernel(), getattr(self, "gram", None), getattr(self, "solver", None)):
            if isinstance(value, Spec):
                value.check()
        if hasattr(self, "fixed") and is_scikit_learn(self.kernel):
            foreign().check_searched(self)
        extra = [name for name in ("gamma", "degree", "coef0") if getattr(self, name, None) is not None]
        if extra and not isinstance(self.kernel, str):
            raise ParameterError(
                f"{', '.join(extra)} were given with kernel={self.kernel!r}; they belong to scikit-learn's names "
                "such as kernel='rbf'. Write them into the kernel, for example Gaussian.from_gamma(0.1)."
            )

    def _pack(self, X: Any) -> tuple[Samples, Kernel]:
        """Pack training data, and return the kernel with scikit-learn's names and the default resolved."""
        kernel = self._given_kernel()
        if is_scikit_learn(self.kernel) and self.kernel.requires_vector_input:
            S = pack_vectors(X, self.kernel)
            kernel = self._given_kernel(S.width)
        elif isinstance(kernel, Kernel):
            S = kernel.pack(X)
        elif kernel == "precomputed":
            kernel = Precomputed()
            S = kernel.pack(X)
        else:
            S = pack_vectors(X, self.kernel)
            if kernel is None:
                kernel = self._default_kernel()
            else:
                kernel = self._kernel_of_word(kernel, S)
        self._check_order(kernel)
        self._check_policy()
        if isinstance(S, Similarities) and S.shape[0] != S.shape[-1]:
            raise DomainError(
                f"a matrix of shape {S.shape} was given as precomputed similarities of training samples; it must "
                "be square. Give the matrix of all training samples against each other."
            )
        if isinstance(S, Similarities):
            self._check_definite(S)
        remember_columns(self, X, S, reset=True)
        spec = self._gram_spec(kernel, S)
        if not (has_features(spec) or is_undecided(spec)):  # whose size is known once the features, or the choice, are
            self._require_with(spec, S)
        return S, kernel

    def _kernel_of_word(self, word: str, S: Vectors, weight: Floats | None = None) -> Kernel:
        """Return what scikit-learn means by the name of a kernel."""
        return foreign().kernel_from_word(word, S.width, self.gamma, self.degree, self.coef0)

    def _default_kernel(self) -> Kernel:
        """Return a Gaussian: machines that predict take all columns alike, others keep the metric of the data."""
        return Gaussian(self._default_length)

    def _settled(self) -> dict[str, Any]:
        """Return the parameters whose defaults depend on whether a kernel is given, as they are without one."""
        return {}

    def _check_order(self, kernel: Kernel) -> None:
        name = type(self).__name__
        if kernel.order is None:
            if self._has_policy():
                return
            warn_caller(
                f"{kernel!r} is not positive definite, so the problem that {name} solves need not have a solution; "
                "look at solution_.residual and solution_.jitter, use a positive definite kernel, or say what is to be "
                "done about negative eigenvalues, for example gram=Dense(indefinite='clip').",
                IndefiniteWarning,
            )
        elif kernel.order > self.highest_order:
            raise CapabilityError(
                f"{name} was given {kernel!r}, which is conditionally positive definite of order {kernel.order}; it "
                f"accepts order {self.highest_order}"
                + (" (positive definite) only" if self.highest_order == 0 else " at most")
                + ". Use a positive definite kernel, for example Gaussian() or its exponential k.exp()"
                + (", or fit_intercept=True." if self._order_with_intercept() >= kernel.order else ".")
            )

    def _order_with_intercept(self) -> int:
        other = copy.copy(self)
        vars(other)["fit_intercept"] = True
        return other.highest_order

    def _has_policy(self) -> bool:
        """Return whether the user has said what is done about negative eigenvalues."""
        gram = getattr(self, "gram", None)
        return is_stored(gram) and gram.indefinite is not None

    def _check_policy(self) -> None:
        """Raise unless what is to be done about negative eigenvalues can be done here; nothing has been done yet."""
        self.repair_ = None
        policy = getattr(getattr(self, "gram", None), "indefinite", None)
        if policy is not None and policy not in self.policies:
            raise CapabilityError(
                f"{type(self).__name__} was given gram=Dense(indefinite={policy!r}); it needs K itself at new "
                "samples as well (as variances, distances and derivatives do), which a repair of the training samples' "
                f"matrix does not give. Use {' or '.join(map(repr, (None, *self.policies)))}, a positive definite "
                "kernel, or an estimator that works by coefficients, as KernelRidge, SVC and SVR do."
            )

    def _check_definite(self, S: Similarities) -> None:
        S.check_symmetric()
        if self._has_policy():
            return
        smallest, largest = S.extreme_eigenvalues(centred=self.highest_order > 0)
        if smallest < -1e-8 * abs(largest):
            warn_caller(
                f"The matrix of similarities is not positive definite: of some of the samples its eigenvalues go from "
                f"{smallest:.3g} to {largest:.3g}, so the problem that {type(self).__name__} solves need not have a "
                "solution. Correct the matrix, or say how: gram=Dense(indefinite='clip') sets negative eigenvalues to "
                "zero, 'flip' turns their sign, 'shift' adds to all of them.",
                IndefiniteWarning,
            )

    def _pack_new(self, X: Any) -> Samples:
        """Pack new data for prediction, and compare their columns with those of the training data."""
        require_fitted(self)
        T = self.kernel_.pack(X)
        remember_columns(self, X, T, reset=False)
        return T

    def _evaluate(self, X: Any) -> Floats:
        """Return the fitted function at new data."""
        T = self._pack_new(X)  # first: it says that nothing is fitted yet
        return self._finite(self.expansion_(T, self._resources()))

    def _finite(self, values: Floats) -> Floats:
        """Return values of fitted functions; DomainError if some of them are too large."""
        if not np.isfinite(values).all():
            raise overflow_error(self.kernel_)
        return values

    def _column_weights(self, name: str) -> Floats:
        """Return the weights of the columns, (d,) or (k, d); AttributeError unless the kernel is linear."""
        if not isinstance(getattr(self, "kernel_", None), kernels.Linear):
            raise AttributeError(f"{name} exists only after fit with kernel=Linear()")
        if isinstance(self.expansion_, FeatureExpansion):
            return self.expansion_.weights.T
        samples, coef = cast(Vectors, self.expansion_.samples), self.expansion_.coef
        samples.require_columns(3 * coef.size // len(coef), "weights of the columns", memory=self.memory)
        return np.asarray(samples.X.T @ coef).T

    # steps --------------------------------------------------------------------------------------------

    def _solve(self, problem: Any, run: Run, until: float = 1.0, start: Floats | None = None) -> Solution:
        """Solve within the budgets; warns if the tolerance was not reached and remembers the solver."""
        solver = self.solver
        if solver is None:
            spectral = isinstance(problem.gram, HasEigen) and solvers.Spectral.fits(problem)
            solver = solvers.Spectral() if spectral else self._default_solver(cast(Gram, problem.gram))
        with run.stage("solver", until):
            if hasattr(solver, "max_iter"):
                unwatched(problem.gram)
                monitor = run.solver_monitor(getattr(solver, "tol", 1e-8)) if run.watched else None
                solution = solver.solve(problem, start, monitor)
            elif run.deadline is None:
                solution = solver.solve(problem)
            else:  # a direct solver cannot be asked to stop: at the deadline it is left behind
                solution = in_background(solver.solve, problem, deadline=run.deadline)
        if solution.status is not Status.CONVERGED and not self._explains(solution):
            warn_caller(
                f"{type(solver).__name__} stopped at residual {solution.residual:.3g}. {solution.status.value}",
                ConvergenceWarning,
            )
        self.solver_ = solver
        self.solution_ = dataclasses.replace(solution, state=None)  # a model does not keep n x n numbers
        return solution

    def _explains(self, solution: Solution) -> bool:
        """Return whether the estimator itself will say why there is no better solution."""
        return False

    # the kernel -----------------------------------------------------------------------------------

    def _given_kernel(self, width: int = 1) -> Any:
        """Return the kernel that was given: functions are wrapped, scikit-learn's objects translated, names left."""
        if self.takes_noise and is_scikit_learn(self.kernel):
            return foreign().translated(self.kernel, width).kernel or Constant(0.0)
        return foreign().as_kernel(self.kernel, width) if is_foreign(self.kernel) else self.kernel

    def _known_kernel(self, otherwise: Callable[[], Kernel] = Gaussian) -> Kernel:
        """Return the kernel that was given, or a stand-in where it is not known before the data."""
        kernel = self._given_kernel()
        return kernel if isinstance(kernel, Kernel) else otherwise()

    # how K is held --------------------------------------------------------------------------------

    def _leaves_choice(self) -> bool:
        """Return whether the user leaves it to `Auto` how K is held."""
        spec = getattr(self, "gram", None)
        return spec is None or is_undecided(spec)

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        """Return how K is held: what the user says, or what `Auto` chooses."""
        spec = getattr(self, "gram", None)
        if spec is None:
            return exact_spec(kernel, len(S), feature_count(kernel, S), self.memory)
        if not is_undecided(spec) or spec.tol is not None:  # an error is allowed: `_decide` looks at the samples
            return spec
        return spec.choose(kernel, len(S), feature_count(kernel, S), self.memory)

    def _chosen_spec(self, kernel: Kernel, S: Samples, run: Run | None = None, n_targets: int = 1) -> GramSpec:
        """Return how K is held where no Gram is built here, and remember what `Auto` says of it."""
        spec = self._gram_spec(kernel, S)
        for name in _OF_THE_GRAM:
            vars(self).pop(name, None)
        if is_undecided(spec):
            count = feature_count(kernel, S)
            exact = spec.choose(kernel, len(S), count, self.memory)
            if is_streamed(exact) or not self._fits_with(exact, S, n_targets):
                self.gram_choice_ = self._decide(spec, kernel, S, run, n_targets).record
                return self.gram_choice_["gram"]
            spec = exact
        if self._leaves_choice():
            self.gram_choice_ = exact_choice(spec, kernel, S, self._resources())
        return spec

    def _represent(self, kernel: Kernel, S: Samples, run: Run, until: float = 0.5) -> Gram:
        """Build the Gram within the budgets; remembers the specification that was chosen."""
        spec = self._gram_spec(kernel, S)
        for name in _OF_THE_GRAM:
            vars(self).pop(name, None)
        with run.stage("Gram matrix", until):
            if is_undecided(spec):
                gram, self.gram_choice_ = self._decide(spec, kernel, S, run)
                spec = self.gram_choice_["gram"]
            else:
                gram = spec.build(kernel, S, run.resources())
                if self._leaves_choice():
                    self.gram_choice_ = exact_choice(spec, kernel, S, run.resources())
        self.gram_, self.repair_ = spec, getattr(gram, "repair", None)
        if (low := getattr(gram, "residual", None)) is not None:  # a Gram of low rank knows how far it is from K
            self.residual_trace_, self.gram_error_ = float(low.trace), float(low.entries)
        if is_transform(spec):  # so does a transform
            self.gram_method_, self.gram_error_ = str(gram.method), float(gram.bound)  # pyright: ignore
        return gram

    def _decide(self, spec: Auto, kernel: Kernel, S: Samples, run: Run | None, n_targets: int = 1) -> Chosen:
        """Let the rule choose a Gram within the budgets that are left, among those that this estimator can use."""
        left, resources = (self.max_time, self._resources()) if run is None else (run.left, run.resources())
        plan = functools.partial(self._plan_with, S=S, n_targets=n_targets)
        return spec.decide(kernel, S, resources, max_time=left, accepts=self._can_use, plan=plan)

    def _can_use(self, spec: GramSpec) -> bool:
        """Return whether this kind of Gram offers what the estimator needs; fast Gauss transforms are products only."""
        return not is_transform(spec) or self.products_suffice

    # the solver -----------------------------------------------------------------------------------

    def _default_solver(self, gram: Gram) -> Solver:
        if isinstance(gram, HasFactor):
            return solvers.Woodbury()
        return solvers.Cholesky() if has_array(gram) else solvers.ConjugateGradient()

    # what it takes --------------------------------------------------------------------------------

    def _resources(self) -> Resources:
        return Resources(self.memory, self.n_threads)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated.

        `Auto` is assumed to choose by the number of samples and the memory budget; what it chooses once it has seen the
        samples must fit too, and is reported in ``gram_choice_``.

        Parameters
        ----------
        n_samples, n_features, n_targets : int
            Size of the training data; of sparse samples `n_features` is how many numbers one stores. For sequences and
            networks `n_samples` counts their sites.

        Returns
        -------
        Plan
        """
        kernel = self._known_kernel()
        spec = self._planned_gram(n_samples)
        plan = spec.plan(kernel, n_samples, n_features, self.memory)
        factor = spec.low_rank  # whose plans have the rows that are computed at once
        own = {
            "packed samples": 8 * n_samples * n_features,
            "operands": 8 * n_samples * (1 if factor else n_features + 1),
            "targets and coefficients": 8 * n_samples * (6 + 4 * n_targets),
        }
        if not factor:
            own["tiles"] = tile_bytes(kernel, self.n_threads)
        return Plan(f"{type(self).__name__} on {n_samples} samples", {**own, **plan.buffers}, plan.options)

    def _planned_gram(self, n_samples: int) -> GramSpec:
        """Return how K will be held, as far as the number of samples and the budget determine it."""
        spec = getattr(self, "gram", None)
        if spec is not None and not is_undecided(spec):
            return spec
        spec = exact_spec(self._known_kernel(), n_samples, None, self.memory)
        return spec if self._can_use(spec) else Dense()

    def _plan_with(self, spec: GramSpec, S: Samples, n_targets: int = 1) -> Plan:
        """Return the plan of a fit with K held in a way that has been decided, without what stays in the cache."""
        decided = object.__new__(type(self))  # a shallow copy, in a fraction of the time of copy.copy
        vars(decided).update(vars(self), gram=spec)
        plan = decided.memory_plan(len(S), getattr(S, "width", 1), n_targets)
        apart = ("tiles", "packed samples", "operands") if S.is_streamed else ("tiles",)
        sizes = dict(plan.buffers)
        if getattr(S, "is_sparse", False):  # only what is stored takes memory, once packed and once as an operand
            stored = S.nbytes
            sizes.update({name: stored for name in ("packed samples", "operands") if name in sizes})
        return Plan(plan.what, {name: size for name, size in sizes.items() if name not in apart}, plan.options)

    def _fits_with(self, spec: GramSpec, S: Samples, n_targets: int = 1) -> bool:
        return has_features(spec) or self._plan_with(spec, S, n_targets).total <= budget(self.memory)

    def _require_plan(self, kernel: Kernel, S: Samples, n_targets: int = 1) -> None:
        """Raise MemoryBudgetError if the fit does not fit; `Auto(tol=)` asks that of every way it looks at."""
        spec = self._gram_spec(kernel, S)
        if not is_undecided(spec):
            self._require_with(spec, S, n_targets)

    def _require_with(self, spec: GramSpec, S: Samples, n_targets: int = 1) -> None:
        """Raise MemoryBudgetError if a fit with K held so does not fit, with the ways that do, by their plans."""
        plan, allowed = self._plan_with(spec, S, n_targets), budget(self.memory)
        if plan.total > allowed:
            words = [option for option in plan.options if "gram=" not in option and "solver=" not in option]
            dataclasses.replace(plan, options=(*self._ways_within(allowed, S, n_targets), *words)).require(allowed)

    def _ways(self) -> tuple[Mapping[str, Any], ...]:
        """Return what may take less memory; an error names those that do."""
        return {"gram": Tiles()}, {"gram": mercer.gram.Nystrom(500)}, {"gram": mercer.gram.Nystrom(100)}

    def _ways_within(self, allowed: int, S: Samples, n_targets: int) -> list[str]:
        """Return which of `_ways` this estimator can take with these samples and this memory."""
        found = []
        for way in self._ways():
            other, spec = copy.copy(self), way.get("gram")
            vars(other).update(way, **({"solver": None} if isinstance(getattr(self, "solver", None), Solver) else {}))
            if spec is not None and spec.low_rank and isinstance(self.kernel, Kernel) and self.kernel.order != 0:
                continue
            if spec is not None and not self._can_use(spec):
                continue
            total = other._plan_with(spec or Tiles(), S, n_targets).total
            if total <= allowed:
                changed = [name for name in vars(other) if vars(other)[name] is not vars(self).get(name)]
                text = " and ".join(f"{name}={_written(vars(other)[name])}" for name in changed)
                found.append(f"{text} (about {format_bytes(total)})")
        return found

    # scikit-learn -------------------------------------------------------------------------------------

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        seal_computed(self)  # a pickle does not know what was read-only

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        pairwise = isinstance(self.kernel, Precomputed) or (
            isinstance(self.kernel, str) and self.kernel == "precomputed"
        )
        tags.input_tags.pairwise = pairwise
        tags.input_tags.sparse = not pairwise
        return tags


def unwatched(gram: Any) -> None:
    """Let only the solver watch the time: a Gram that is stopped has nothing to return, a solver its best so far."""
    while gram is not None:
        gram.resources = dataclasses.replace(gram.resources, monitor=None)
        gram = getattr(gram, "gram", None)


def pack_vectors(X: Any, kernel: Any) -> Vectors:
    if isinstance(X, Samples) and not isinstance(X, Vectors):
        raise DomainError(_no_default(type(X).__name__, kernel))
    first = X[0] if isinstance(X, (list, tuple)) and X else None
    if isinstance(first, (str, bytes)):
        raise DomainError(_no_default("texts", kernel))
    return Vectors.pack(X)


def _no_default(what: str, kernel: Any) -> str:
    return (
        f"{what} were given with kernel={kernel!r}, which compares numbers; the kernel must be one for these data. "
        "Give a kernel for them, for example kernel=Spectrum(3) for strings, kernel=Precomputed() for similarities, "
        "or kernel.on(columns) for tables."
    )


def remember_columns(estimator: Any, X: Any, S: Samples, *, reset: bool) -> None:
    """Keep (or compare) the number and the names of the columns, as scikit-learn does, and the kinds of symbols."""
    if reset:
        vars(estimator).pop("symbols_in_", None)
        if not isinstance(S, Vectors) and (kinds := symbol_kinds(S)):  # numbers have none
            estimator.symbols_in_ = kinds
    elif not isinstance(S, Vectors):
        require_kin(getattr(estimator, "symbols_in_", {}), S)
    if isinstance(X, Samples):
        if isinstance(S, Vectors):
            expected = getattr(estimator, "n_features_in_", S.width)
            if reset:
                estimator.n_features_in_ = S.width
            elif S.width != expected:
                raise DomainError(
                    f"X has {S.width} features, but {type(estimator).__name__} is expecting {expected} features as "
                    "input. Give the columns that the estimator was fitted on."
                )
    elif isinstance(S, Vectors) and _keeps_width(estimator, X, S.width, reset):
        if reset:
            estimator.n_features_in_ = S.width
    elif isinstance(S, (Vectors, Similarities)) or (isinstance(S, Frames) and hasattr(X, "columns")):
        validate_data(estimator, X, reset=reset, skip_check_array=True)


def foreign() -> Any:
    """Return the module of scikit-learn's names and kernel objects, which is imported when one is given."""
    return importlib.import_module("mercer.kernels.foreign")


def _keeps_width(estimator: Any, X: Any, width: int, reset: bool) -> bool:
    """Return whether X is a plain array, whose columns have no names, of the width that is expected, without names."""
    if type(X) is not np.ndarray:
        return False
    named = hasattr(estimator, "feature_names_in_")
    return not named and (reset or getattr(estimator, "n_features_in_", None) == width)


def require_fitted(estimator: Any) -> None:
    """Raise NotFittedError as scikit-learn does, which is asked only if there is no function: its answer is slow."""
    if "expansion_" not in vars(estimator):
        check_is_fitted(estimator)


def _written(value: Any) -> str:
    """Return a value as a user would write it: what has its usual parameters, without them."""
    return "Tiles()" if value == Tiles() else repr(value)

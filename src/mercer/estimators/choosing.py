"""What an estimator chooses: which kernel was meant, how K is held, which solver is used, and what all that takes.

A family changes one of these methods where it can do less, or more: `_can_use` says which Grams will do,
`_default_solver` which solver is taken for one, `_planned_gram` what `Auto` will choose as far as that is known.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from mercer.budget import Plan, Resources, budget, format_bytes
from mercer.domains import Samples
from mercer.estimators.fits import Run
from mercer.gram import Auto, Gram, GramSpec, HasFactor, Nystrom, Tiles
from mercer.gram.auto import Chosen
from mercer.gram.exact import Dense, exact_choice
from mercer.gram.gram import has_array, has_features, is_streamed, is_transform, is_undecided, tile_bytes
from mercer.gram.repair import Repair
from mercer.kernels import Constant, Gaussian, Kernel
from mercer.kernels.foreign import as_kernel, translated
from mercer.kernels.kernel import feature_count, is_foreign, is_scikit_learn
from mercer.solvers import Cholesky, ConjugateGradient, Solver, Woodbury

__all__ = ["Choosing"]

_OF_THE_GRAM = ("residual_trace_", "gram_error_", "gram_method_", "gram_choice_")  # what is reported of it


class Choosing:
    """The choices of an estimator, within its budgets."""

    kernel: Any
    gram: Any
    memory: int | str | None
    max_time: float | None
    n_threads: int | None
    products_suffice: ClassVar[bool] = False  # whether the default solver needs products with K alone
    takes_noise: ClassVar[bool] = False  # whether white noise beside a kernel of scikit-learn has a meaning here
    ways: ClassVar[tuple[Mapping[str, Any], ...]] = (  # what may take less memory; an error names those that do
        {"gram": Tiles()},
        {"gram": Nystrom(500)},
        {"gram": Nystrom(100)},
    )
    gram_: GramSpec
    repair_: Repair | None  # what the Gram's policy for indefinite kernels has changed
    gram_choice_: dict[str, Any]  # what `Auto` has chosen, its error, and the alternatives with bytes and seconds

    # the kernel -----------------------------------------------------------------------------------

    def _given_kernel(self, width: int = 1) -> Any:
        """Return the kernel that was given: functions are wrapped, scikit-learn's objects translated, names left."""
        if self.takes_noise and is_scikit_learn(self.kernel):
            return translated(self.kernel, width).kernel or Constant(0.0)
        return as_kernel(self.kernel, width) if is_foreign(self.kernel) else self.kernel

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
        spec = getattr(self, "gram", None) or Auto()
        if not is_undecided(spec) or spec.tol is not None:  # an error is allowed: `_decide` looks at the samples
            return spec
        count = feature_count(kernel, S)
        return spec.choose(kernel, len(S), count, self.memory)

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
            return Woodbury()
        return Cholesky() if has_array(gram) else ConjugateGradient()

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
            Size of the training data.

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
        spec = getattr(self, "gram", None) or Auto()
        if not is_undecided(spec):
            return spec
        spec = spec.choose(self._known_kernel(), n_samples, None, self.memory)
        return spec if self._can_use(spec) else Dense()

    def _plan_with(self, spec: GramSpec, S: Samples, n_targets: int = 1) -> Plan:
        """Return the plan of a fit with K held in a way that has been decided, without what stays in the cache."""
        decided = copy.copy(self)
        decided.gram = spec
        plan = decided.memory_plan(len(S), getattr(S, "width", 1), n_targets)
        apart = ("tiles", "packed samples", "operands") if S.is_streamed else ("tiles",)
        return Plan(plan.what, {name: size for name, size in plan.buffers.items() if name not in apart}, plan.options)

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

    def _ways_within(self, allowed: int, S: Samples, n_targets: int) -> list[str]:
        """Return which of the `ways` this estimator can take with these samples and this memory."""
        found = []
        for way in self.ways:
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


def _written(value: Any) -> str:
    """Return a value as a user would write it: what has its usual parameters, without them."""
    return "Tiles()" if value == Tiles() else repr(value)

"""Auto: a documented choice of how to hold K, by the budgets and the error allowed.

Symbols: n samples, d columns, r the rank of a factor, e seconds for an entry of K.
"""

from __future__ import annotations

import importlib
import math
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import mercer.gram  # for rarely chosen ways: names are imported on use
from mercer.budget import UNLIMITED, Memory, Plan, Resources, budget, format_bytes
from mercer.constraints import Boolean, Fixed, Interval, Optional
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed
from mercer.errors import CapabilityError, MemoryBudgetError, NotPositiveDefinite, TimeBudgetError
from mercer.gram.exact import Dense, Option, Tiles, choice_record, exact_choice, exact_spec
from mercer.gram.gram import Gram, GramSpec, has_features, is_approximate_factor, is_transform
from mercer.kernels.kernel import Kernel, feature_count, offers
from mercer.kernels.protocols import HasFrequencies

__all__ = ["Auto", "Chosen", "choice_in_words"]
__public__ = ["Auto"]

_FLOPS = 1e10  # floating-point operations in a second, of a machine with few cores
_PRODUCTS = 100  # products with K that an iterative solver is taken to need
_PILOT = 1000  # samples on which the rank is estimated
_GROWTH = 1.5  # of the rank from some samples to all of them
_HOPELESS = 0.5  # rank over samples from which a factor saves nothing
_SPARE = (4, 2, 1)  # times the columns that a factor is estimated to need
_DIMENSIONS = 6  # up to which a fast Gauss transform is tried
_MOST_FEATURES = 20_000
_TRANSFORM = 1e-6  # largest error of a transform: its products are used over and over by iterative solvers


class Chosen(NamedTuple):
    """A Gram, and why it is the one.

    Attributes
    ----------
    gram : Gram
    record : dict
        ``gram`` the specification, ``reason`` a sentence, ``error`` and ``measure`` how far it is from K and in which
        measure, ``tol`` what was allowed, and ``alternatives``: a list of dicts with ``gram``, ``bytes``, ``seconds``
        (None if not estimated) and ``verdict``.
    """

    gram: Gram
    record: dict[str, Any]


class Auto(GramSpec):
    r"""Choose how the Gram matrix is held, by a documented rule.

    Parameters
    ----------
    features : bool, default True
        Whether the primal form may be chosen.
    tol : float, optional
        The error that is allowed where the exact matrix does not fit; None allows none.

    Notes
    -----
    The rule, in this order; without `tol` every choice is exact:

    1. `Features` if the kernel has a finite map of D features with D < n that fits the memory budget;
    2. `Dense` if 8 n^2 bytes fit the memory budget;
    3. `Kronecker` if the kernel compares pairs by products of kernels of their parts;
    4. `Tiles` otherwise.

    With `tol`, if the first two do not fit memory and time, the way estimated to be the quickest is built and its error
    is measured; if that is too large the next one is tried, and if none is left an error is raised. The measures: for
    `IncompleteCholesky` and `Nystrom` the trace that is left,
    :math:`\mathrm{tr}(K - \tilde K) \le \mathrm{tol} \cdot \mathrm{tr} K`; for `FastGauss` (products only, for Gaussian
    kernels in few dimensions) the bound on entries; for `RandomFeatures` the relative error of some entries;
    `Kronecker` and `Tiles` are exact. Times are estimates from the time that some entries take, the rank that some
    samples need, and 100 products for an iterative solver. The choice, its error and the alternatives with bytes and
    seconds are reported by `decide`, and by estimators as ``gram_choice_``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Auto().choose(Gaussian(1.0), 1000), Auto().choose(Gaussian(1.0), 10_000_000)
    (Dense(), Tiles('1GB'))
    >>> X = np.random.default_rng(0).normal(size=(3000, 5))
    >>> chosen = Auto(tol=0.01).decide(Gaussian(5.0), Vectors.pack(X), Resources(memory="8MB"))
    >>> chosen.record["error"] <= 0.01, chosen.record["measure"]
    (True, 'share of the trace left out')
    """

    exact = True
    undecided = True

    constraints = {"features": Boolean(), "tol": Optional(Fixed(Interval(0.0, 1.0, closed="neither")))}

    def __init__(self, features: bool = True, tol: float | None = None) -> None:
        self.features = features
        self.tol = tol

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the plan of what is chosen by the number of samples alone; `decide` uses the samples."""
        return self.choose(kernel, n, memory=memory).plan(kernel, n, width, memory)

    def choose(self, kernel: Kernel, n: int, features: int | None = None, memory: Memory = None) -> GramSpec:
        """Return the exact choice for n samples and, if there is a finite map, its number of features."""
        return exact_spec(kernel, n, features if self.features else None, memory)

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED) -> Gram:
        """Build what the rule chooses."""
        samples = packed(samples, kernel.pack)
        return self.decide(kernel, samples, resources).gram

    def decide(
        self,
        kernel: Kernel,
        samples: Samples,
        resources: Resources = UNLIMITED,
        *,
        max_time: float | None = None,
        accepts: Callable[[GramSpec], bool] | None = None,
        plan: Callable[[GramSpec], Plan] | None = None,
    ) -> Chosen:
        """Build what the rule chooses, and say why.

        Parameters
        ----------
        kernel : Kernel
        samples : Samples
        resources : Resources
        max_time : float, optional
            Seconds that a fit may take; ways that are estimated to take longer are left out.
        accepts : callable, optional
            Returns whether a specification suits the caller; None accepts all.
        plan : callable, optional
            Returns the total memory plan of the caller for a way to hold K, which must fit; None is the Gram's own
            plan.

        Raises
        ------
        MemoryBudgetError, TimeBudgetError
            Nothing fits the budgets and is exact enough; the message lists everything that was tried.
        """
        samples = packed(samples, kernel.pack)
        self.check()
        kernel.check()
        n = len(samples)
        count = feature_count(kernel, samples)
        exact = self.choose(kernel, n, count, resources.memory)
        if self.tol is None:
            record = exact_choice(exact, kernel, samples, resources)
            return Chosen(exact.build(kernel, samples, resources), record)
        search = _Search(self.tol, kernel, samples, resources, max_time)
        search.accepts, search.plan = accepts or search.accepts, plan or search.plan
        return search.run(exact)


def choice_in_words(record: dict[str, Any]) -> str:
    """Describe a choice, its error and the alternatives in one sentence.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> record = Auto().decide(Gaussian(1.0), Vectors.pack([[0.0], [1.0]]), Resources(memory="1GB")).record
    >>> choice_in_words(record)
    "Dense(), exact: the matrix fits 954 MiB; instead of Tiles('1GB') (96 B, exact)"
    """
    allowed = "" if record["tol"] is None else f" (allowed {record['tol']:.2g})"
    error = "exact" if record["measure"] == "exact" else f"{record['measure']} {record['error']:.2g}{allowed}"
    others = "; ".join(
        f"{one['gram']!r} ({format_bytes(one['bytes'])}"
        + ("" if one["seconds"] is None else f", about {_span(one['seconds'])}")
        + (f", {one['verdict']})" if one["verdict"] else ")")
        for one in record["alternatives"]
    )
    return f"{record['gram']!r}, {error}: {record['reason']}" + (f"; instead of {others}" if others else "")


class _Search:
    """The ways to hold one matrix, quickest first."""

    def __init__(
        self,
        tol: float,
        kernel: Kernel,
        samples: Samples,
        resources: Resources,
        max_time: float | None,
    ) -> None:
        self.tol, self.kernel, self.samples, self.resources = tol, kernel, samples, resources
        self.allowed, self.max_time = budget(resources.memory), max_time
        self.n, self.width = len(samples), int(getattr(samples, "width", 1))
        self.entry = _entry_seconds(kernel, samples, resources)
        self.rejected: list[Option] = []
        self.accepts: Callable[[GramSpec], bool] = lambda spec: True
        self.plan: Callable[[GramSpec], Plan] = lambda spec: spec.plan(kernel, self.n, self.width, resources.memory)

    def run(self, exact: GramSpec) -> Chosen:
        options = [*self._exact(exact), *self._others(exact)]
        quick = has_features(exact) or isinstance(exact, Dense)
        if quick and options and options[0].spec == exact and self._fits(options[0]):
            gram = exact.build(self.kernel, self.samples, self.resources)
            return self._chosen(options.pop(0), gram, 0.0, "exact", options)
        fitting = [option for option in options if self._fits(option)]
        fitting.sort(key=lambda option: option.seconds or 0.0)
        while fitting:
            option = fitting.pop(0)
            built = self._built(option)
            if built is not None:
                return self._chosen(option, *built, fitting)
        raise self._nothing()

    def _chosen(self, option: Option, gram: Gram, error: float, measure: str, rest: list[Option]) -> Chosen:
        many = "the quickest way that fits the budgets" if option.verdict != "exact" else "exact, and fits the budgets"
        others = [other._replace(verdict=other.verdict or "slower") for other in rest] + self.rejected
        reason = f"{many}; about {_span(option.seconds)}"
        return Chosen(gram, choice_record(option.spec, reason, error, measure, self.tol, others))

    def _fits(self, option: Option) -> bool:
        """Whether an option is within the budgets; one that is not is remembered with the reason."""
        if option.verdict not in ("", "exact"):
            self.rejected.append(option)
        elif option.bytes > self.allowed:
            self.rejected.append(option._replace(verdict=f"needs {format_bytes(option.bytes)}"))
        elif self.max_time is not None and (option.seconds or 0.0) > self.max_time:
            self.rejected.append(option._replace(verdict=f"needs about {_span(option.seconds)}"))
        else:
            return True
        return False

    def _built(self, option: Option) -> tuple[Gram, float, str] | None:
        """The Gram, its error and the measure, or None if it is not exact enough or cannot be."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a tolerance is not reached is a verdict here
                gram: Any = option.spec.build(self.kernel, self.samples, self.resources)
                error, measure = self._error(option.spec, gram)
        except (CapabilityError, MemoryBudgetError, NotPositiveDefinite) as failure:
            self.rejected.append(option._replace(verdict=str(failure)[:200]))
            return None
        if error > self.tol * (1.0 + 1e-9):
            self.rejected.append(option._replace(verdict=f"its error is {error:.2g} ({measure})"))
            return None
        return gram, error, measure

    def _error(self, spec: GramSpec, gram: Any) -> tuple[float, str]:
        if is_transform(spec):
            return float(gram.bound), "bound on the error of an entry"
        if isinstance(spec, mercer.gram.RandomFeatures):
            return float(gram.residual.entries), "relative error of entries"
        if is_approximate_factor(spec):
            return float(gram.residual.trace), "share of the trace left out"
        return 0.0, "exact"

    # what there is ------------------------------------------------------------------------------------------

    def _option(self, spec: GramSpec, seconds: float, verdict: str = "") -> list[Option]:
        """The option of a specification, if it suits the caller."""
        return [Option(spec, self.plan(spec).total, seconds, verdict)] if self.accepts(spec) else []

    def _exact(self, spec: GramSpec) -> list[Option]:
        n, products = self.n, _PRODUCTS * self.entry * self.n * self.n
        if has_features(spec):  # whose columns are those of the features
            D = int(feature_count(self.kernel, self.samples) or 0)
            size = spec.plan(self.kernel, n, D, self.resources.memory).total
            return [Option(spec, size, n * D * D / _FLOPS, "exact")] if self.accepts(spec) else []
        if isinstance(spec, Dense):
            return self._option(spec, 0.5 * self.entry * n * n + n**3 / (3.0 * _FLOPS), "exact")
        if isinstance(spec, mercer.gram.Kronecker):
            return self._option(spec, _PRODUCTS * n * math.sqrt(n) * 2.0 / _FLOPS, "exact")
        return self._option(spec, products, "exact")

    def _others(self, exact: GramSpec) -> list[Option]:
        found = [] if isinstance(exact, Tiles) else self._exact(Tiles())
        if not isinstance(exact, Dense):
            found += self._exact(Dense())
        return found + self._factors() + self._features() + self._transform()

    def _factors(self) -> list[Option]:
        """Factors of low rank, if some samples say that the rank is low."""
        n = self.n
        if self.kernel.order != 0:
            return []
        needed, hopeless = self._rank()
        seconds = self.entry * n * needed + 2.0 * n * needed**2 / _FLOPS
        verdict = "some samples need nearly as many columns as there are of them" if hopeless else ""
        held = self._roomiest(lambda rank: mercer.gram.IncompleteCholesky(rank, tol=self.tol), needed)
        streamed = self._roomiest(lambda rank: mercer.gram.Nystrom(rank, sampler="rpcholesky", tol=self.tol), needed)
        return self._option(held, seconds, verdict) + self._option(streamed, 3.0 * seconds, verdict)

    def _roomiest(self, make: Callable[[int], GramSpec], needed: int) -> GramSpec:
        """The factor with the most columns to spare that fits; that without any if none does."""
        ways = [make(min(self.n, times * needed)) for times in _SPARE]
        if not self.accepts(ways[0]):
            return ways[0]
        return next((spec for spec in ways if self.plan(spec).total <= self.allowed), ways[-1])

    def _rank(self) -> tuple[int, bool]:
        """About how many columns a factor needs, and whether a factor would save nothing."""
        m = min(self.n, _PILOT)
        some = np.sort(np.random.default_rng(0).choice(self.n, m, replace=False))
        samples = self.kernel.prepare(self.samples.take(some))
        pivots = importlib.import_module("mercer.gram.low_rank.samplers").pivots
        found = len(pivots(self.kernel, samples, m, self.tol, None, self.resources.quiet()).pivots)
        needed = found if m == self.n else math.ceil(_GROWTH * found) + 10
        return max(needed, 1), found > _HOPELESS * m

    def _features(self) -> list[Option]:
        if not offers(self.kernel, HasFrequencies) or self.tol**2 * _MOST_FEATURES < 1.0:
            return []
        count = math.ceil(1.0 / self.tol**2)
        spec = mercer.gram.RandomFeatures(2 * count)
        seconds = self.n * spec.count * (2.0 * self.width + 20.0 + spec.count) / _FLOPS
        return self._option(spec, seconds)

    def _transform(self) -> list[Option]:
        """The fast Gauss transform, if it is one for this kernel and quicker than all pairs."""
        spec = mercer.gram.FastGauss(min(self.tol, _TRANSFORM))
        if not isinstance(self.samples, Vectors) or self.width > _DIMENSIONS or self.tol < 1e-10:
            return []
        if not self.accepts(spec):  # sorting the samples has a cost
            return []
        try:
            gram = spec.build(self.kernel, self.samples, self.resources)
            method, cost = gram.method, gram.costs.get(gram.method, math.inf)
        except (CapabilityError, MemoryBudgetError):
            return []
        if method == "direct":
            return []
        return self._option(spec, _PRODUCTS * 1e-9 * cost)

    def _nothing(self) -> Exception:
        late = all(option.verdict.startswith("needs about ") for option in self.rejected)
        tried = "; ".join(f"{option.spec!r}: {option.verdict}" for option in self.rejected)
        limits = f"memory={format_bytes(self.allowed)}" + (
            "" if self.max_time is None else f" and max_time={self.max_time:.3g} s"
        )
        text = (
            f"No way to hold {self.kernel!r} on {self.n} samples meets Auto(tol={self.tol:g}) within {limits} "
            f"({tried}). Allow more memory or time, raise tol, or name a representation, as gram=Nystrom(1000)."
        )
        return TimeBudgetError(text) if late else MemoryBudgetError(text)


def _entry_seconds(kernel: Kernel, samples: Samples, resources: Resources) -> float:
    """Seconds that an entry of K takes within a product, measured on a few samples."""
    m, seconds = 16, 0.0
    while seconds < 2e-3 and m < len(samples) and m < 2048:
        m = min(4 * m, len(samples))
        some = samples.take(np.arange(m))
        gram = Tiles().build(kernel, some, Resources(None, resources.n_threads))
        gram @ np.ones(m)
        seconds = min(_timed(gram, m) for _ in range(3))  # another process may have run meanwhile
    return max(seconds, 1e-9) / (m * m)


def _timed(gram: Gram, m: int) -> float:
    began = time.perf_counter()
    gram @ np.ones(m)
    return time.perf_counter() - began


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "an unknown time"
    return f"{seconds:.2g} s" if seconds < 120 else f"{seconds / 60:.3g} min = {seconds:.0f} s"

r"""Kernels that are composed: sums and products of simple ones, grown step by step while the criterion improves.

Symbols: K = sum_t K_t the Gram matrix of a sum, a = (K + sigma^2 I)^-1 y, f_t = K_t a the contribution of a term, so
that f = sum_t f_t.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer.arguments import Callback, answer_of, checked
from mercer.arrays import Array, Floats, real_numbers
from mercer.budget import Clock
from mercer.constraints import Boolean, Integer, OneOf, Optional, Positive, Satisfies
from mercer.errors import MercerError, ParameterError, TargetError, warn_caller
from mercer.estimators import GaussianProcessClassifier, GaussianProcessRegressor
from mercer.gram.summands import function_parts, part_shares, summands
from mercer.kernels import Kernel
from mercer.spec import free_names, free_values
from mercer.targets import Multiclass

__all__ = ["ComposedKernel", "compose_kernel"]
__public__ = __all__

Expression = tuple[tuple[int, ...], ...]  # a sum of products of base kernels, by their numbers
_REACH = 10.0  # factor by which parameters of base kernels may move
_LEAST = 0.5  # by which a criterion must improve for a larger kernel to be worth it, beside what its parameters cost


@dataclass(frozen=True, eq=False)
class ComposedKernel:
    """A kernel that was grown, and the process that was fitted with it.

    Attributes
    ----------
    kernel : Kernel
        With the parameters that were found; it prints as an expression.
    process : GaussianProcessRegressor or GaussianProcessClassifier
        Fitted with it.
    value : float
        The criterion, the larger the better.
    steps : tuple of (str, float)
        The best expression of each size and its criterion.
    tried : tuple of (str, float)
        All expressions that were fitted.
    complete : bool
        Whether neither the budget nor Ctrl-C ended the search.
    """

    kernel: Kernel
    process: Any
    value: float
    steps: tuple[tuple[str, float], ...]
    tried: tuple[tuple[str, float], ...]
    complete: bool = True

    def terms(self) -> tuple[Kernel, ...]:
        """Return the terms of the sum of products that the kernel is."""
        return summands(self.kernel)

    def parts(self, X: Any) -> dict[str, Floats]:
        r"""Return what each term of the kernel contributes to the posterior mean at some samples.

        .. math:: f(x) = \sum_t f_t(x), \qquad f_t(x) = \sum_i a_i k_t(x, x_i)

        Parameters
        ----------
        X : raw data or packed samples

        Returns
        -------
        dict
            From expressions of terms to arrays (m,), or (m, c) for more than two classes; with ``"mean"``, the constant
            of the targets, they add up to the prediction, or to the latent function of classes.
        """
        T = self.process.kernel_.pack(X)
        parts = function_parts(self.process.expansion_, T)
        total = sum(parts.values(), np.zeros(()))
        whole = self.process.expansion_(T) if is_classifier(self.process) else self.process.predict(X)
        return {**parts, "mean": np.asarray(whole) - total}

    def shares(self, X: Any) -> dict[str, float]:
        r"""Return which share of the variation of the posterior mean each term explains at some samples.

        .. math:: \frac{\mathrm{cov}(f_t, f)}{\mathrm{var}(f)}, \qquad \sum_t \mathrm{cov}(f_t, f) = \mathrm{var}(f)

        Parameters
        ----------
        X : raw data or packed samples

        Returns
        -------
        dict
            From expressions of terms to shares, the largest first, which add up to 1; a term that works against the
            others has a negative one. All are zero where the function is constant.
        """
        parts = self.parts(X)
        del parts["mean"]
        return part_shares(parts)


def _are_kernels(bases: Any) -> bool:
    members = bases.values() if isinstance(bases, Mapping) else bases
    return isinstance(bases, (Mapping, list, tuple)) and bool(bases) and all(isinstance(one, Kernel) for one in members)


@checked(
    bases=Satisfies("a list of kernels or a dict of names to kernels", _are_kernels, "[Linear(), Gaussian(1.0)]"),
    criterion=OneOf("bic", "evidence", "loo"),
    classes=Optional(Boolean()),
    depth=Integer(1),
    max_fits=Integer(1),
    max_time=Optional(Positive()),
    random_state=Integer(0, 2**32 - 1),
    progress=Optional(Callback()),
)
def compose_kernel(
    X: Any,
    y: Any,
    bases: Mapping[str, Kernel] | Sequence[Kernel],
    *,
    criterion: str = "bic",
    classes: bool | None = None,
    depth: int = 3,
    max_fits: int = 200,
    max_time: float | None = None,
    random_state: int = 0,
    progress: Callable[[str, float], Any] | None = None,
) -> ComposedKernel:
    r"""Grow a kernel of sums and products that explains the targets, by the evidence of a Gaussian process.

    .. math:: k \to k + b, \qquad k \to k \cdot b, \qquad b \to b'

    Every step tries to add each base kernel, to multiply each term by it, and to replace a factor; the best new kernel
    is kept, as long as it is better than the one before. Parameters start at those of the base kernels and stay within
    a factor of ten of them (scales are free), so that a period does not become a trend.

    Parameters
    ----------
    X, y : raw data or packed samples, and (n,) targets
        Numbers; or classes, whose Gaussian process has the approximate evidence of Laplace's method: labels that are
        texts or truth values, or any with ``classes=True``.
    bases : sequence or mapping of Kernel
        What kernels are made of, with parameters to start from.
    criterion : {"bic", "evidence", "loo"}, default "bic"
        "bic" is the log evidence less half of log n for each parameter, "loo" the mean log density of samples left out
        times n, for numbers alone.
    classes : bool, optional
        Whether y has classes; None says so of texts and truth values.
    depth : int, default 3
        Steps at most: base kernels in the expression.
    max_fits : int, default 200
        Kernels to fit at most.
    max_time : float, optional
        Seconds; the best kernel until then is returned.
    random_state : int, default 0
    progress : callable, optional
        Called with each expression and its criterion.

    Returns
    -------
    ComposedKernel

    References
    ----------
    Duvenaud, Lloyd, Grosse, Tenenbaum and Ghahramani (2013), Structure discovery in nonparametric regression through
    compositional kernel search.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> x = np.linspace(0.0, 4.0, 20)[:, None]
    >>> found = compose_kernel(x, np.sin(2.0 * x[:, 0]), [Linear(), Gaussian(1.0)], depth=1)
    >>> [type(term.kernel).__name__ for term in found.terms()]
    ['Gaussian']
    """
    atoms = list(bases.values() if isinstance(bases, Mapping) else bases)
    for atom in atoms:
        atom.check()
    labels = np.asarray(y, dtype=object if isinstance(y, (list, tuple)) and len({np.shape(v) for v in y}) > 1 else None)
    if classes or (classes is None and labels.dtype.kind in "UOSb"):
        if criterion == "loo":
            raise ParameterError(
                "criterion='loo' was given with classes; it is the density of numbers that are left out. Use "
                "criterion='bic' or 'evidence'."
            )
        Multiclass().read(y)  # which says what is wrong with labels
        found = _GrowthOfClasses(X, labels, atoms, criterion, Clock.start(max_time), max_fits, random_state, progress)
        return _grown(found, depth)
    values = real_numbers(y, "y", TargetError)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise TargetError(
            f"y has shape {values.shape}, or values that are not finite; a finite number per sample is accepted. Give "
            "one column, without missing values."
        )
    return _grown(_Growth(X, values, atoms, criterion, Clock.start(max_time), max_fits, random_state, progress), depth)


def _grown(growth: _Growth, depth: int) -> ComposedKernel:
    """Take steps until none is better."""
    try:
        for _ in range(depth):
            if not growth.improve():
                break
    except KeyboardInterrupt:
        if growth.best is None:
            raise
        growth.complete = False
        warn_caller("The search was interrupted; the best kernel until then is kept.", UserWarning)
    return growth.result()


class _Growth:
    """The kernels tried so far, and the best of them."""

    def __init__(
        self,
        X: Any,
        y: Array,
        atoms: Sequence[Kernel],
        criterion: str,
        clock: Clock,
        most: int,
        seed: int,
        progress: Any,
    ) -> None:
        self.X, self.y, self.atoms, self.criterion, self.clock = X, y, atoms, criterion, clock
        self.most, self.seed, self.progress = most, seed, progress
        self.best: tuple[float, Expression, Any] | None = None
        self.steps: list[tuple[str, float]] = []
        self.tried: list[tuple[str, float]] = []
        self.seen: set[Expression] = set()
        self.complete = True

    def improve(self) -> bool:
        """Fit the kernels one step away, and keep the best if it is better than the best so far."""
        before = self.best
        leader = None
        for terms in _larger(() if before is None else before[1], len(self.atoms)):
            if len(self.tried) >= self.most or self.clock.expired:
                self.complete = False
                break
            if terms in self.seen:
                continue
            self.seen.add(terms)
            found = self._fitted(terms)
            if found is not None and (leader is None or found[0] > leader[0]):
                leader = found
                self.best = leader if before is None or leader[0] >= before[0] + _LEAST else before
        if leader is None or self.best is not leader:
            return False
        self.steps.append((repr(leader[2].kernel_), leader[0]))
        return self.complete

    def _fitted(self, terms: Expression) -> tuple[float, Expression, Any] | None:
        kernel = _kernel(terms, self.atoms)
        left = None if self.clock.max_time is None else max(self.clock.max_time - self.clock.seconds, 1e-2)
        shared = {"bounds": _near_start(kernel), "random_state": self.seed, "max_time": left}
        process = self._process(kernel, shared)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of many candidates most fit badly, and say so
            try:
                process.fit(self.X, self.y)
            except (MercerError, np.linalg.LinAlgError):
                return None
        value = self._value(process)
        if not np.isfinite(value):
            return None
        self.tried.append((repr(process.kernel_), value))
        if self.progress is not None:
            answer_of(
                self.progress, repr(process.kernel_), value, who="progress", takes="an expression and its criterion"
            )
        return value, terms, process

    def _process(self, kernel: Kernel, shared: Mapping[str, Any]) -> Any:
        return GaussianProcessRegressor(kernel, leave_one_out=self.criterion == "loo", **shared)

    def _value(self, process: Any) -> float:
        n = len(self.y)
        if self.criterion == "loo":
            variance = np.square(process.loo_std_)
            errors = np.square(self.y - process.loo_predictions_)
            return float(-0.5 * np.sum(np.log(2.0 * np.pi * variance) + errors / variance))
        count = len(process.tuned_.names) if getattr(process, "tuned_", None) is not None else 0
        penalty = 0.5 * count * np.log(n) if self.criterion == "bic" else 0.0
        return float(process.log_marginal_likelihood_) - penalty

    def result(self) -> ComposedKernel:
        if self.best is None:
            raise ParameterError(
                "No base kernel could be fitted to these data. Try one on its own, GaussianProcessRegressor(kernel), "
                "to see what fails."
            )
        value, _, process = self.best
        return ComposedKernel(process.kernel_, process, value, tuple(self.steps), tuple(self.tried), self.complete)


class _GrowthOfClasses(_Growth):
    """The same for classes."""

    def _process(self, kernel: Kernel, shared: Mapping[str, Any]) -> Any:
        return GaussianProcessClassifier(kernel, **shared)


# expressions ----------------------------------------------------------------------------------------------


def _larger(terms: Expression, count: int) -> list[Expression]:
    """Return the expressions one step away: a term more, a factor more, another factor."""
    if not terms:
        return [((atom,),) for atom in range(count)]
    out: list[Expression] = []
    for atom in range(count):
        out.append((*terms, (atom,)))
        for place, factors in enumerate(terms):
            rest = terms[:place] + terms[place + 1 :]
            out.append((*rest, (*factors, atom)))
            out += [(*rest, (*factors[:one], atom, *factors[one + 1 :])) for one in range(len(factors))]
    unique = dict.fromkeys(tuple(sorted(tuple(sorted(factors)) for factors in terms)) for terms in out)
    return list(unique)


def _kernel(terms: Expression, atoms: Sequence[Kernel]) -> Kernel:
    """Return the kernel of an expression: each term a product, with a scale of its own."""
    products = []
    for factors in terms:
        product = atoms[factors[0]]
        for atom in factors[1:]:
            product = product * atoms[atom]
        products.append(1.0 * product)
    total = products[0]
    for term in products[1:]:
        total = total + term
    return total


def _near_start(kernel: Kernel) -> dict[str, tuple[float, float]]:
    """Return bounds of the parameters besides scales: a period that grows without end is a trend in disguise."""
    named = zip(free_names(kernel), free_values(kernel), strict=True)
    return {
        name: (float(value) / _REACH, float(value) * _REACH)
        for name, value in named
        if name.rpartition("__")[2] != "scale" and value > 0.0
    }

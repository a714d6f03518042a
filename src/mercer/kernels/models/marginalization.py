"""Kernels that are probabilities: that a model, chosen at random, gives both objects.

Symbols: m a model, P(m) its prior probability, P(x | m) the probability (or density) of x under it. Probabilities
of long objects are too small for floating-point numbers, so that logarithms are computed.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Constraint, OneOf
from mercer.domains import Samples, Strings
from mercer.errors import DegenerateWarning, DomainError, ParameterError, warn_caller
from mercer.kernels.abilities import Featured
from mercer.kernels.comparison import View
from mercer.kernels.kernel import Kernel, Tiled, mirror, overflow_error
from mercer.numerics.operands import row_products
from mercer.spec import derived

__all__ = ["Marginalization"]
__public__ = __all__

FORM = OneOf("probability", "normalised")
_SMALLEST = float(np.log(np.finfo(float).tiny))


class JointProbability(Tiled):
    """A kernel that is a probability of two objects, held as a logarithm.

    A subclass has the parameter `form` and writes `_sides` and `_log_tile`.
    """

    form: str

    @derived
    def normalised(self) -> bool:
        """Whether k(x, x) = 1."""
        return self.form == "normalised"

    @derived
    def bounded(self) -> bool:
        """Whether values are at most one."""
        return self.form == "normalised" and self.order == 0

    def normalized(self) -> Any:
        """Return k(x, z) / sqrt(k(x, x) k(z, z)), found by logarithms: probabilities may be arbitrarily small."""
        return self.replace(form="normalised").check()

    @abstractmethod
    def _sides(self, A: Samples, B: Samples) -> tuple[Any, Any]:
        """Return what `_log_tile` reads of two collections; the same object twice if they are one."""

    @abstractmethod
    def _log_tile(self, left: Any, right: Any, rows: slice, columns: slice, out: Floats) -> None:
        """Write log k of some rows and columns; of equal slices of one side, at least on and above the diagonal."""

    @property
    def _key(self) -> str:
        """The name of derived data: a digest of all parameters but the form."""
        params = {name: value for name, value in self.get_params(deep=False).items() if name != "form"}
        digest = hashlib.sha256()
        _digest(params, digest)
        return f"{type(self).__name__}:{digest.hexdigest()[:32]}"

    def _prepare(self, A: Samples) -> Samples:
        """Compute log k(x, x), once per collection."""
        key = self._key
        if key in A.derived:
            return A
        own = self._own(A)
        if self.form == "probability":
            _warn_of_vanishing(own, self)
        return A.with_derived(key, own)

    def _own(self, A: Samples) -> Floats:
        """Return log k(x, x), (len A,)."""
        side, _ = self._sides(A, A)
        own = np.empty(len(A))
        for i in range(len(A)):
            self._log_tile(side, side, slice(i, i + 1), slice(i, i + 1), own[i : i + 1].reshape(1, 1))
        return own

    def tile(self, view: View) -> Floats:
        """Write logarithms, and turn them into what was asked for."""
        A, B = view.collections
        (left, right), own = view.comparison.keep((view.path, id(self)), lambda: self._both(A, B))
        rows, columns = view.rows, view.columns
        logs = np.zeros(view.shape)  # what is added below the diagonal, too, is added to numbers
        self._log_tile(left, right, rows, columns, logs)
        if right is left and rows == columns:
            mirror(logs)
        out = view.empty()
        if self.form == "normalised":
            np.copyto(out, normalised_values(logs, own[0][rows], own[1][columns]), casting="same_kind")
            if right is left and rows == columns:
                np.fill_diagonal(out, 1.0)
            return out
        with np.errstate(over="ignore", under="ignore"):  # values that are not finite are refused with advice
            np.copyto(out, np.exp(logs), casting="same_kind")
        return out

    def _both(self, A: Samples, B: Samples) -> tuple[tuple[Any, Any], tuple[Floats, Floats]]:
        key = self._key
        left, right = (self.prepare(S).derived[key] for S in (A, B))
        if self.form == "normalised" and not (np.isfinite(left).all() and np.isfinite(right).all()):
            count = int(np.isneginf(left).sum()) + (0 if B is A else int(np.isneginf(right).sum()))
            warn_caller(
                f"{count} samples have zero probability under {self!r}; their normalised value is 1 with each other "
                "and 0 with all others.",
                DegenerateWarning,
            )
        return self._sides(A, B), (left, right)

    def _diag(self, A: Samples) -> Floats:
        """Return k(x, x)."""
        if self.form == "normalised":
            return np.ones(len(A))
        with np.errstate(under="ignore"):
            return np.exp(self.prepare(A).derived[self._key])


def normalised_values(logs: Floats, left: Floats, right: Floats) -> Floats:
    """Return exp(log k(x, z) - (log k(x, x) + log k(z, z)) / 2), with 1 for two objects of probability zero."""
    a, b = np.isneginf(left), np.isneginf(right)
    with np.errstate(invalid="ignore", under="ignore"):
        values = np.exp(logs - 0.5 * left[:, None] - 0.5 * right)
    if a.any() or b.any():
        values[a, :] = 0.0
        values[:, b] = 0.0
        values[np.ix_(a, b)] = 1.0
    return values


def _warn_of_vanishing(own: Floats, kernel: Kernel) -> None:
    lost = np.isfinite(own) & (own < _SMALLEST)
    if lost.any():
        warn_caller(
            f"{int(lost.sum())} of {len(own)} samples have a self-similarity below 1e-307 under {kernel!r} (the "
            f"smallest is exp({own[lost].min():.0f})), which is lost in rounding. Call .normalized(), which is "
            "computed by logarithms.",
            DegenerateWarning,
        )


def _digest(value: Any, digest: Any) -> None:
    """Feed a value, whatever it is made of, to a digest."""
    if isinstance(value, dict):
        for name, held in value.items():
            digest.update(f"{name}=".encode())
            _digest(held, digest)
    elif isinstance(value, (tuple, list)):
        digest.update(f"({len(value)}".encode())
        for member in value:
            _digest(member, digest)
    elif isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return _digest(value.tolist(), digest)
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif hasattr(value, "get_params"):
        digest.update(type(value).__qualname__.encode())
        _digest(value.get_params(deep=False), digest)
        _digest({name: held for name, held in sorted(vars(value).items()) if name.endswith("_")}, digest)
    elif isinstance(value, (str, bytes, int, float, type(None), np.generic)):
        digest.update(repr(value).encode())
    else:
        digest.update(f"{type(value).__qualname__}".encode())
        _digest(vars(value) if hasattr(value, "__dict__") else repr(value), digest)


# ---------------------------------------------------------------------- a finite class of models


class _Models(Constraint):
    """A tuple of at least one model that gives log-likelihoods."""

    @property
    def accepted(self) -> str:
        return "a tuple of at least one model with the method log_likelihood(samples)"

    def accepts(self, value: Any) -> bool:
        many = isinstance(value, (tuple, list)) and len(value) > 0
        return many and all(callable(getattr(model, "log_likelihood", None)) for model in value)

    def advice(self, name: str, value: Any) -> str:
        if callable(getattr(value, "log_likelihood", None)):
            return f"Write {name}=(model,)."
        return "Give models of mercer.models, or objects of your own with that method."


class _Weights(Constraint):
    """None, or numbers that are not negative and not all zero."""

    @property
    def accepted(self) -> str:
        return "None or as many finite numbers >= 0 as there are models, not all of them 0"

    def accepts(self, value: Any) -> bool:
        if value is None:
            return True
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            return False
        good = numbers.ndim == 1 and len(numbers) > 0 and bool(np.isfinite(numbers).all())
        return good and bool((numbers >= 0).all() and numbers.sum() > 0)

    def advice(self, name: str, value: Any) -> str:
        return "Leave it out to give all models the same weight."


class Marginalization(JointProbability, Featured):
    r"""Marginalisation kernel: the probability that one model, chosen at random, gives both objects.

    .. math:: k(x, z) = \sum_{m \in M} P(x \mid m)\, P(z \mid m)\, P(m)

    Seed: [STS] Definition 4, Eqs. (23)-(25); [ST] "Probabilistic model kernels".

    Parameters
    ----------
    models : tuple of models
        Each has ``log_likelihood(samples)``, which returns log P(x | m) of packed samples, (n,): those of
        `mercer.models`, or of your own. All read the same kind of data.
    weights : tuple of float, optional
        The P(m), in any unit: they are divided by their sum. Not negative. By default all are the same.
    form : {"probability", "normalised"}, default "probability"
        k itself, or k(x, z) / sqrt(k(x, x) k(z, z)), which ``.normalized()`` asks for.

    Notes
    -----
    Domain that of the models. Explicit features sqrt(P(m)) P(x | m), one for each model, so that it is positive
    definite of order 0, with at most as many dimensions as models: not strict, not universal. Densities may be
    unbounded, and then so is k.

    Likelihoods of long objects are far below the smallest float. Each object is therefore held as the logarithm of its
    length c(x) = log sqrt(k(x, x)) and the direction of its feature vector u(x), found from logarithms by subtracting
    the largest, so that k(x, z) = exp(c(x) + c(z)) <u(x), u(z)>. The normalised kernel is <u(x), u(z)>, which never
    underflows; where k itself would, a DegenerateWarning is issued. What is missing in an object is up to the models:
    those of this package leave it out of the likelihood.

    Cost that of |M| likelihoods an object, once per collection, then O(|M|) a pair by a matrix product.

    Examples
    --------
    Two coins, one fair and one that shows heads nine times out of ten:

    >>> from mercer.models.markov import MarkovChain
    >>> fair, loaded = (MarkovChain(0, alphabet="ht", transitions=((p, 1 - p),)) for p in (0.5, 0.9))
    >>> k = Marginalization((fair, loaded))
    >>> k(["hh"], ["hh", "tt"]).round(4)  # (0.5^4 + 0.9^4) / 2 and (0.5^4 + 0.9^2 0.1^2) / 2
    array([[0.3593, 0.0353]])
    >>> k.normalized()(["h" * 5000], ["h" * 5000, "t" * 5000]).round(4)
    array([[1., 0.]])
    """

    formula = r"\sum_m P(x \mid m) P(z \mid m) P(m)"
    cost = "|M| likelihoods an object, then O(|M|) a pair"
    constraints = {"models": _Models(), "weights": _Weights(), "form": FORM}

    def __init__(self, models: tuple[Any, ...], weights: Any = None, form: str = "probability") -> None:
        self.models = models
        self.weights = weights
        self.form = form

    def check(self) -> Self:
        """Check the parameters, one by one and together."""
        super().check()
        if self.weights is not None and len(self.weights) != len(self.models):
            raise ParameterError(
                f"Marginalization was given {len(self.weights)} weights for {len(self.models)} models; one weight a "
                "model is accepted. Give as many weights as models, or none."
            )
        return self

    @derived
    def domain(self) -> type[Samples]:
        """That of the models; strings if they do not state it."""
        return next((model.domain for model in self.models if hasattr(model, "domain")), Strings)

    def pack(self, X: Any) -> Samples:
        """Turn raw data into the samples that the models read."""
        if isinstance(X, Samples):
            return X
        pack = next((model.pack for model in self.models if hasattr(model, "pack")), None)
        return self.domain.pack(X) if pack is None else pack(X)

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the kernel with models that have learned from training samples, if any have to learn."""
        learned = tuple(
            model.learn(S, weight) if getattr(model, "fitted", True) is False else model for model in self.models
        )
        same = all(new is old for new, old in zip(learned, self.models, strict=True))
        return self if same else self.replace(models=learned)

    def _prepare(self, A: Samples) -> Samples:
        """Ask the models for log-likelihoods, and keep lengths and directions of the feature vectors."""
        key = self._key
        if f"{key}:directions" in A.derived:
            return A
        logs = self._log_features(A)
        top = np.max(logs, axis=1, initial=-np.inf)
        known = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(under="ignore"):
            directions = np.exp(logs - known[:, None])
        lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))
        with np.errstate(divide="ignore"):
            own = 2.0 * (known + np.log(lengths))
        directions /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
        if self.form == "probability":
            _warn_of_vanishing(own, self)
        return A.with_derived(f"{key}:directions", directions).with_derived(key, own)

    def _log_features(self, A: Samples) -> Floats:
        """Return log(sqrt(P(m)) P(x | m)), (len A, |M|)."""
        weights = np.ones(len(self.models)) if self.weights is None else np.asarray(self.weights, dtype=float)
        with np.errstate(divide="ignore"):
            half = 0.5 * np.log(weights / weights.sum())
        logs = np.empty((len(A), len(self.models)))
        for place, model in enumerate(self.models):
            values = np.asarray(model.log_likelihood(A), dtype=float)
            if values.shape != (len(A),) or np.isnan(values).any() or np.isposinf(values).any():
                raise DomainError(
                    f"Model {place}, {model!r}, gave log-likelihoods of shape {values.shape} for {len(A)} samples, or "
                    "some that are NaN or +inf; one number a sample, or -inf, is accepted. Correct its log_likelihood."
                )
            logs[:, place] = values + half[place]
        return logs

    def _own(self, A: Samples) -> Floats:
        return self.prepare(A).derived[self._key]

    def _sides(self, A: Samples, B: Samples) -> tuple[Floats, Floats]:
        key = f"{self._key}:directions"
        left = self.prepare(A).derived[key]
        return left, left if B is A else self.prepare(B).derived[key]

    def _log_tile(self, left: Floats, right: Floats, rows: slice, columns: slice, out: Floats) -> None:
        raise NotImplementedError  # never called: its tiles are products

    def tile(self, view: View) -> Floats:
        """Multiply directions, and lengths where they are wanted."""
        A, B = view.collections
        (left, right), own = view.comparison.keep((view.path, id(self)), lambda: self._both(A, B))
        rows, columns = view.rows, view.columns
        out = view.empty()
        symmetric = right is left and rows == columns
        product = row_products(left[rows], right[columns], same=symmetric)
        a, b = own[0][rows], own[1][columns]
        if self.form == "normalised":
            zero = np.ix_(np.isneginf(a), np.isneginf(b))
            product[zero] = 1.0
            if symmetric:
                np.fill_diagonal(product, 1.0)
        else:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                # halves one after the other: their sum may be finite where one of them is not
                product *= np.where(product > 0.0, np.exp(0.5 * a[:, None] + 0.5 * b), 0.0)
        np.copyto(out, product, casting="same_kind")
        return mirror(out) if symmetric else out

    def _features(self, A: Samples, keys: Any = None) -> tuple[Floats, Any]:
        """Return sqrt(P(m)) P(x | m), (len A, |M|); normalised, their directions."""
        prepared, key = self.prepare(A), self._key
        directions, own = prepared.derived[f"{key}:directions"], prepared.derived[key]
        if self.form == "normalised":
            zero = np.isneginf(own).astype(float)[:, None]  # objects without a probability have a feature of their own
            return np.hstack([directions, zero]), keys
        with np.errstate(under="ignore", over="ignore"):
            matrix = directions * np.exp(0.5 * own)[:, None]
        if not np.isfinite(matrix).all():
            raise overflow_error(self)
        return matrix, keys

    def _feature_count(self, A: Samples) -> int:
        """Return the number of models, and one more where values are normalised."""
        return len(self.models) + (self.form == "normalised")

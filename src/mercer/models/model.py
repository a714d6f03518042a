"""What a generative model is: a density of objects with parameters, which may be given or learned."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from mercer.arrays import Floats, real_numbers
from mercer.domains import Samples
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.spec import Spec

__all__ = ["Model", "generalised_root"]
__public__ = ["Model"]

_RANK = 1e-10  # eigenvalues of an information that are smaller, relative to the largest, count as zero


class Model(Spec, ABC):
    r"""A density p(x | theta) of objects x, with parameters theta that are given or learned.

    .. math:: g(\theta, x) = \partial_\theta \log p(x \mid \theta), \qquad I = E[g(\theta, x) g(\theta, x)^\top]

    Seed: [STS] Definition 5, Eqs. (26)-(27); [HSS] Eqs. (45)-(46).

    Notes
    -----
    A model is a value: its parameters are arguments of its constructor. One without them is learned by `learn`, which
    returns a new model and leaves this one as it is. `learn`, `log_likelihood` and `scores` take raw data or packed
    samples of `domain`, see `pack`.

    A subclass sets `domain` and writes `fitted`, `learn` and `log_likelihood`. With `scores` it has a Fisher kernel;
    with `information` (a closed form) or `sample` (from which it is estimated) that kernel can be invariant. Any model
    with `log_likelihood` can be a member of a marginalisation kernel.
    """

    domain: type[Samples]

    def pack(self, X: Any) -> Samples:
        """Turn raw data into packed samples; packed samples are returned as they are."""
        return self.domain.pack(X)

    @property
    @abstractmethod
    def fitted(self) -> bool:
        """Whether the parameters are known."""

    @abstractmethod
    def learn(self, S: Samples, weight: Floats | None = None) -> Self:
        """Return the model with parameters of (penalised) maximum likelihood; itself if it has parameters.

        Parameters
        ----------
        S : Samples
        weight : (n,) array, optional
            A sample of weight w counts as w samples; one of weight 0 is left out.
        """

    @abstractmethod
    def log_likelihood(self, S: Samples) -> Floats:
        """Return log p(x | theta) of each sample, (n,); -inf where an object is impossible."""

    def scores(self, S: Samples) -> Floats:
        """Return the derivatives of the log-likelihood in the parameters, (n, p)."""
        raise self._lacks("no derivative in its parameters (scores)")

    @property
    def size(self) -> int:
        """The number p of parameters, as `scores` counts them."""
        raise self._lacks("no derivative in its parameters (scores)")

    def information(self, S: Samples | None = None, weight: Floats | None = None) -> Floats | None:
        """Return the Fisher information, (p, p), or None if no closed form is known.

        Models of objects of several lengths do not model the length: theirs is the mean over the lengths of S.
        """
        return None

    def whitening(self, S: Samples | None = None, weight: Floats | None = None) -> Floats | None:
        """Return W, (p, r) or a diagonal (p,), where W W' is an inverse of the information on the space of scores.

        None if no closed form is known, or none without samples.
        """
        information = self.information(S, weight)
        return None if information is None else generalised_root(information)

    def sample(self, rng: np.random.Generator, count: int, like: Samples | None = None) -> Samples:
        """Draw objects from the model; lengths are those of objects of `like`, drawn at random."""
        raise self._lacks("no sampler")

    @property
    def key(self) -> str | None:
        """A text that differs from model to model; None if its scores must not be kept."""
        return f"{type(self).__name__}:{digest(self.get_params(deep=False))}"

    def require_fitted(self) -> Self:
        """Return self; ParameterError if the parameters are not known."""
        if not self.fitted:
            raise ParameterError(
                f"{self!r} is not fitted: its parameters are learned from training samples. Use it in an estimator, "
                "call learn(samples), or give the parameters."
            )
        return self

    def _lacks(self, what: str) -> CapabilityError:
        return CapabilityError(
            f"{self!r} has {what}; models that have it write the method. Choose another model, or write it in "
            f"{type(self).__name__}."
        )


def digest(params: dict[str, Any]) -> str:
    """Return a few letters that differ if any of some named values do: arrays, numbers, texts and tuples of them."""
    found = hashlib.blake2b(digest_size=8)
    for name, value in params.items():
        found.update(name.encode())
        if value is not None and not isinstance(value, str) and _is_numbers(value):
            numbers = np.ascontiguousarray(value, dtype=float)
            found.update(f"{numbers.shape}".encode())
            found.update(numbers.tobytes())
        else:
            found.update(repr(value).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _is_numbers(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "fiu"
    except ValueError:  # a tuple of rows of different lengths
        return False


def generalised_root(information: Floats) -> Floats:
    """Return W, (p, r), where W W' is a generalised inverse of a positive semidefinite matrix of rank r.

    Directions in which nothing is learned, as that in which all logits of a distribution move together, are left out.
    For vectors in the range of the matrix, as scores are, all generalised inverses give the same products.

    Examples
    --------
    >>> W = generalised_root(np.array([[4.0, 0.0], [0.0, 0.0]]))
    >>> W @ W.T
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    scale = np.sqrt(np.maximum(np.diagonal(information), 0.0))
    scale = np.where(scale > 0.0, scale, 1.0)
    # the unit of one parameter must not decide about the rank of another
    values, vectors = np.linalg.eigh(information / np.multiply.outer(scale, scale))
    kept = values > _RANK * max(float(values[-1]), 0.0) if len(values) else np.zeros(0, bool)
    return vectors[:, kept] / scale[:, None] / np.sqrt(values[kept])


def stochastic(name: str, value: Any, shape: tuple[int, ...], owner: Any) -> Floats:
    """Return distributions along the last axis as an array; ParameterError unless they are distributions."""
    given = _array(name, value, shape, owner)
    if (given < 0.0).any() or (np.abs(given.sum(axis=-1) - 1.0) > 1e-6).any():
        raise ParameterError(
            f"{type(owner).__name__} was given {name} that are not distributions; numbers that are not negative and "
            f"sum to 1 along the last axis are accepted. Divide {name} by their sums."
        )
    return given


def numbers(name: str, value: Any, shape: tuple[int, ...], owner: Any) -> Floats:
    """Return finite numbers as an array of a shape (-1 is any length), or raise ParameterError."""
    return _array(name, value, shape, owner)


def _array(name: str, value: Any, shape: tuple[int, ...], owner: Any) -> Floats:
    try:
        given = np.ascontiguousarray(value, dtype=float).reshape(np.shape(value))
    except (TypeError, ValueError, OverflowError):
        given = np.full((1,) * len(shape), np.nan)
    fits = given.ndim == len(shape) and all(want in (-1, have) for want, have in zip(shape, given.shape, strict=True))
    if not fits or not given.size or not np.isfinite(given).all():
        wanted = " x ".join("any" if side < 0 else str(side) for side in shape) or "one"
        raise ParameterError(
            f"{type(owner).__name__} was given {name}= an array of shape {np.shape(given)}; {wanted} finite numbers "
            f"are needed. Correct {name}, or leave all parameters out to learn them."
        )
    return given


def weights_of(weight: Floats | None, n: int) -> Floats:
    """Return the weights of samples, all one if none are given; DomainError if nothing is left to learn from."""
    w = np.ones(n) if weight is None else real_numbers(weight, "weight", DomainError)
    if not w.sum() > 0.0:
        raise DomainError(
            f"{n} samples of total weight {w.sum():g} were given to learn a model from; some of positive weight are "
            "needed. Give training samples."
        )
    return w

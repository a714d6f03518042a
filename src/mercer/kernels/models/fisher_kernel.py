r"""Fisher kernels: objects are compared by how they would change the parameters of a generative model.

Symbols: p(x | theta) the model, g(x) = d log p(x | theta) / d theta its scores, (p,), I = E g g' the Fisher
information, W with W W' = I^{-1} its whitening, m training samples.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer import budget
from mercer.arrays import Floats
from mercer.constraints import Array, Integer, OneOf, Optional
from mercer.domains import Samples
from mercer.errors import DegenerateWarning, ParameterError, warn_caller
from mercer.kernels.abilities import Featured
from mercer.kernels.comparison import View
from mercer.kernels.kernel import Kernel, Tiled
from mercer.models.given import MODEL, as_model
from mercer.models.model import Model, digest, generalised_root
from mercer.numerics.operands import row_products
from mercer.spec import derived

__all__ = ["Fisher"]
__public__ = __all__

_DRAWS = 2000  # objects drawn from a model for its information, at least
_RANK = 1e-10  # squared singular values of scores that are smaller, relative to the largest, count as zero


class Fisher(Tiled, Featured):
    r"""Fisher kernel: objects are alike if they ask for the same change of a generative model's parameters.

    .. math:: k(x, z) = g(x)^\top I^{-1} g(z), \qquad g(x) = \partial_\theta \log p(x \mid \theta), \quad
              I = E[g(x) g(x)^\top]

    Seed: [STS] Definitions 5 and 6, Eqs. (26)-(32); [HSS] Eqs. (45)-(48), where the sign of the scores is immaterial;
    [ST] "Fisher kernels"; [SS] Section 6.4.

    Parameters
    ----------
    model : Model, or object
        A model of `mercer.models` (`Normal`, `GaussianMixture`, `MarkovChain`, `HiddenMarkovModel`,
        `GaussianHiddenMarkovModel`, `ExponentialFamily`), learned in `fit` unless it has parameters; a fitted model of
        hmmlearn or a mixture of scikit-learn; or any object with ``scores(X)`` or ``score(x)``, see
        `mercer.models.GivenModel`.
    kind : {"invariant", "practical", "empirical"}, default "invariant"
        "invariant" is the formula above, which does not depend on how the model is parametrised. "practical" omits I:
        g(x)' g(z). "empirical" takes the mean of g g' over the training samples for I: their scores are whitened.
    draws : int, optional
        How many objects are drawn to estimate the information of a model that has no closed form for it. By default 10
        times the number of parameters, at least 2000.
    random_state : int, default 0
        Seed of the draws.
    whitening : (p,) or (p, r) array, optional
        W, learned in `fit` if it is needed.

    Notes
    -----
    Domain that of the model: vectors, strings of unequal length, time series, with missing entries where the model
    has them. What is learned comes from the training samples alone: nothing leaks between folds. Features W' g(x),
    dense; ``gram=Features()`` then learns in linear time. No parameter to differentiate. Positive definite of order 0
    by its features; neither strict nor universal, as there are finitely many features; not bounded (``.normalized()``
    compares directions alone). Cost that of the scores once for each object, then O(r) a pair.

    "empirical" amplifies noise: every direction in which scores vary, however little it has to do with what is to be
    learned, is scaled to the same variance, and with as many parameters as samples all training samples are equally far
    apart. Use it with few parameters, and otherwise one of the other kinds; a warning is issued if there are fewer than
    two samples for each direction.

    For models of strings and series the information is that of objects with the lengths of the training samples.

    Examples
    --------
    >>> from mercer.models import Normal
    >>> Fisher(Normal(0.0, 1.0), kind="practical")([[-1.0], [0.0], [2.0]])  # scores (x, x^2 - 1)
    array([[ 1.,  0., -2.],
           [ 0.,  1., -3.],
           [-2., -3., 13.]])
    >>> Fisher(Normal(0.0, 1.0))([[2.0]])  # the information is diag(1, 2)
    array([[8.5]])
    """

    formula = r"g(x)^\top I^{-1} g(z), \quad g(x) = \partial_\theta \log p(x \mid \theta)"
    cost = "that of the scores, once for each object"
    constraints = {
        "model": MODEL,
        "kind": OneOf("invariant", "practical", "empirical"),
        "draws": Optional(Integer(1)),
        "random_state": Integer(0),
        "whitening": Optional(Array(1, 2)),
    }

    def __init__(
        self,
        model: Any,
        kind: str = "invariant",
        *,
        draws: int | None = None,
        random_state: int = 0,
        whitening: Any = None,
    ) -> None:
        self.model = model
        self.kind = kind
        self.draws = draws
        self.random_state = random_state
        self.whitening = whitening

    @derived
    def domain(self) -> type[Samples]:
        """That of the model."""
        return self._model.domain

    @property
    def _model(self) -> Model:
        return as_model(self.model)

    def check(self) -> Self:
        """Raise ParameterError unless the parameters are acceptable, and those of a model that was given."""
        super().check()
        self._model.check()
        return self

    def pack(self, X: Any) -> Samples:
        """Turn raw data into what the model reads."""
        return self._model.pack(X)

    # learning -----------------------------------------------------------------------------------------

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Learn the model, and the whitening of its scores."""
        given = self._model
        model = given.learn(S, weight)
        kernel = self if model is given else self.replace(model=model, whitening=None)
        if self.kind == "practical" or kernel.whitening is not None:
            return kernel
        if self.kind == "empirical":
            W = _whitening_of(model.scores(S), weight)
            count = len(S) if weight is None else float(np.sum(weight))
            if 2 * W.shape[1] > count:
                warn_caller(
                    f"Fisher(kind='empirical') scales {W.shape[1]} directions of scores to the same variance, learned "
                    f"from {count:g} samples: most of that is noise. Use fewer parameters, or another kind.",
                    DegenerateWarning,
                )
            return kernel.replace(whitening=W)
        W = model.whitening(S, weight)
        return kernel.replace(whitening=self._estimated(model, S, weight) if W is None else W)

    def _estimated(self, model: Model, S: Samples, weight: Floats | None) -> Floats:
        """Return W for the mean of g g' over objects drawn from the model."""
        count = max(_DRAWS, 10 * model.size) if self.draws is None else int(self.draws)
        if weight is not None:  # lengths of samples that count, as often as they count
            S = S.take(_repeated(np.asarray(weight, dtype=float)))
        rng = np.random.default_rng(self.random_state)
        information = np.zeros((model.size, model.size))
        budget.Plan(f"the information of {self!r}", {"information": 4 * information.nbytes}).require(None)
        left = count
        while left:
            G = model.scores(model.sample(rng, min(left, 1000), S))
            information += G.T @ G
            left -= len(G)
        return generalised_root(information / count)

    def _learned(self) -> Floats | None:
        """Return W; None for the identity."""
        if self.kind == "practical":
            return None
        if self.whitening is not None:
            return np.asarray(self.whitening, dtype=float)
        W = self._model.require_fitted().whitening() if self.kind == "invariant" else None
        if W is None:
            raise ParameterError(
                f"{self!r} is not fitted: the information of the scores is learned from training samples. Use it in "
                'an estimator, call learn(samples), or write kind="practical".'
            )
        return W

    # numbers ------------------------------------------------------------------------------------------

    def _key(self) -> str | None:
        """What features are kept under; None if they are not."""
        key = self._model.key
        return None if key is None else f"fisher:{key}:{digest({'kind': self.kind, 'whitening': self.whitening})}"

    def _prepare(self, A: Samples) -> Samples:
        """Compute the features, once per collection."""
        key = self._key()
        return A if key is None or key in A.derived else A.with_derived(key, self._score_features(A))

    def _score_features(self, A: Samples) -> Floats:
        G, W = self._model.require_fitted().scores(A), self._learned()
        if W is None:
            return G
        if len(W) != G.shape[1]:
            raise ParameterError(
                f"{self!r} was given a whitening of {len(W)} rows for {G.shape[1]} scores; one row for each is needed. "
                "Leave the whitening out to learn it."
            )
        return np.ascontiguousarray(G * W if W.ndim == 1 else G @ W)

    def _prepared(self, A: Samples) -> Floats:
        found = A.derived.get(self._key() or "")
        return self._score_features(A) if found is None else found

    def _both(self, A: Samples, B: Samples) -> tuple[Floats, Floats]:
        left = self._prepared(A)
        return left, left if B is A else self._prepared(B)

    def tile(self, view: View) -> Floats:
        """Multiply the features of both sides."""
        left, right = view.comparison.keep(("fisher", id(self), view.path), lambda: self._both(*view.collections))
        out = view.empty()
        with np.errstate(over="ignore"):  # in float32, where the driver finds and reports it
            np.copyto(out, row_products(left[view.rows], right[view.columns], same=view.on_diagonal))
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the squared lengths of the features."""
        F = self._prepared(A)
        return np.einsum("ij,ij->i", F, F)

    def _features(self, A: Samples, keys: Any = None) -> tuple[Floats, Any]:
        """Return the whitened scores, (len A, r)."""
        return self._prepared(A), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of whitened scores; None before the model is learned."""
        return self._prepared(A).shape[1] if self._model.fitted else None


def _whitening_of(G: Floats, weight: Floats | None) -> Floats:
    """Return W for the mean of g g' over samples: by the singular values of their scores."""
    w = np.ones(len(G)) if weight is None else np.asarray(weight, dtype=float)
    scale = np.sqrt((w / w.sum()) @ (G * G))
    scale = np.where(scale > 0.0, scale, 1.0)
    scaled = (G / scale) * np.sqrt(w / w.sum())[:, None]
    if G.shape[1] <= 2 * len(G):
        return generalised_root((scaled.T @ scaled) * np.multiply.outer(scale, scale))
    values, vectors = np.linalg.eigh(scaled @ scaled.T)
    kept = values > _RANK * max(float(values[-1]), 0.0)
    return (scaled.T @ vectors[:, kept]) / values[kept] / scale[:, None]


def _repeated(weight: Floats) -> Any:
    """Return positions of samples, each about as often as its weight says, at least once where that is positive."""
    kept = np.flatnonzero(weight > 0.0)
    share = weight[kept] / weight[kept].min()
    return np.repeat(kept, np.minimum(np.rint(share), 1000).astype(np.intp))

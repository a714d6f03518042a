r"""Factors of a kernel whose parameters move, and derivatives of functions of the Gram matrix in them.

Symbols: theta the parameters; K ~ F F^T, F (n, r); of landmarks z, C = k(x, z), W = k(z, z), F = C R with
R R^T = W^+; M the derivative of a function in K, symmetric and never formed; Gamma = 2 M F its derivative in F.

With landmarks held, dJ = <Gamma R^T, dC> - <R F^T Gamma R^T, dW> / 2. For other factors, as random features, F itself
is differentiated, by differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Plan, Resources
from mercer.domains import Samples
from mercer.errors import CapabilityError
from mercer.gram import Dense, Expansion, FeatureExpansion, GramSpec, Nystrom
from mercer.gram.gram import has_features, has_landmarks, is_factored, is_stored, is_undecided
from mercer.kernels import Kernel
from mercer.kernels.kernel import pullback
from mercer.spec import chain, constrained, free_names, unconstrain

__all__ = ["KernelFactor", "MovingKernel", "WholeOrFactor", "combined", "low_rank", "rank_of"]

_STEP = 1e-5  # of differences, in coordinates: a relative change of positive parameters


def low_rank(spec: GramSpec | None, name: str) -> bool:
    """Return whether a Gram is a factor (True) or K itself (False); raise CapabilityError if it is neither.

    Examples
    --------
    >>> low_rank(Nystrom(10), "A process"), low_rank(None, "A process")
    (True, False)
    """
    if spec is None or (is_stored(spec) or is_undecided(spec)):  # what is exact keeps within every tolerance of Auto
        return False
    if spec.low_rank:
        return True
    raise CapabilityError(
        f"{name} was given gram={spec!r}; its evidence needs the determinant of the covariance, for which K must be "
        "held whole or through a factor. Use gram=Dense(), or a Gram of low rank, for example gram=Nystrom(500)."
    )


class WholeOrFactor:
    """Base of estimators that hold K whole or through a factor: the default is exact, for `Auto` too."""

    gram: GramSpec | None

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        if is_undecided(self.gram) and self.gram.tol is not None:  # which has still to look at the samples
            return self.gram
        return self._planned_gram(len(S))

    def _planned_gram(self, n_samples: int) -> GramSpec:
        return self.gram if self.gram is not None and low_rank(self.gram, type(self).__name__) else Dense()

    def _can_use(self, spec: GramSpec) -> bool:
        return is_stored(spec) or is_factored(spec)


def rank_of(spec: GramSpec, n: int, width: int) -> int:
    """Return the most columns that a factor of n samples has, before it is built; of features their usual number."""
    if (count := getattr(spec, "count", None)) is not None:
        return int(count)
    return width if has_features(spec) else min(int(getattr(spec, "rank", n)), n)


class KernelFactor:
    """The factor of one kernel on the training samples.

    Parameters
    ----------
    kernel : Kernel
    gram : Gram
        With a factor.
    owner : MovingKernel
        What makes the factors of other parameters.

    Attributes
    ----------
    array : (n, r) array
        F.
    """

    def __init__(self, kernel: Kernel, gram: Any, owner: MovingKernel) -> None:
        self.kernel, self.gram, self.owner = kernel, gram, owner
        self.array: Floats = gram.factor()

    @property
    def left(self) -> float:
        """tr(K - F F^T) / tr K."""
        residual = getattr(self.gram, "residual", None)
        return 0.0 if residual is None else float(residual.trace)

    def map(self) -> Expansion | FeatureExpansion:
        """Return x -> F(x), a function with r outputs."""
        unit, nothing = np.eye(self.array.shape[1]), np.zeros(self.array.shape[1])
        if hasattr(self.gram, "function"):
            return self.gram.function(unit, nothing)
        return FeatureExpansion(self.kernel, self.gram.keys, unit, nothing)

    def pullback(self, slope: Floats) -> Floats:
        """Return the derivative in the free parameters, (p,), of a function of F F^T, from that in F, (n, r)."""
        kernel, gram = self.kernel, self.gram
        if not free_names(kernel):
            return np.zeros(0)
        if not has_landmarks(gram):
            return self._by_differences(slope)
        S, Z, R = gram.samples, gram.landmarks, gram.root
        inner = R @ (self.array.T @ slope) @ R.T
        found = pullback(kernel, S, Z, np.ascontiguousarray(slope @ R.T))
        return found - 0.5 * pullback(kernel, Z, Z, 0.5 * (inner + inner.T))

    def _by_differences(self, slope: Floats) -> Floats:
        theta = unconstrain(self.kernel)
        out = np.empty(len(theta))
        for place in range(len(theta)):
            ends = []
            for sign in (1.0, -1.0):
                moved = theta.copy()
                moved[place] += sign * _STEP
                ends.append(float(np.vdot(slope, self.owner.built(constrained(self.kernel, moved)))))
            out[place] = (ends[0] - ends[1]) / (2.0 * _STEP)
        return out / chain(self.kernel, np.ones(len(theta)))  # of raw values, as derivatives are given


class MovingKernel:
    """Factors of a kernel on the same samples for one value of its parameters after another.

    Landmarks are chosen once, at the parameters with which the search starts; random features are drawn from the same
    seed each time. So the function that is searched does not jump.

    Parameters
    ----------
    spec : GramSpec
        A Gram of low rank.
    kernel : Kernel
        Where the search starts.
    samples : Samples
    resources : Resources

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> moving = MovingKernel(Nystrom(2), Gaussian(1.0), Vectors.pack([[0.0], [1.0], [3.0]]), Resources())
    >>> moving.at(Gaussian(2.0)).array.shape, len(moving.spec.landmarks)
    ((3, 2), 2)
    """

    def __init__(self, spec: GramSpec, kernel: Kernel, samples: Samples, resources: Resources) -> None:
        self.samples, self.resources = samples, resources
        if getattr(spec, "random_state", 0) is None:
            spec = spec.replace(random_state=int(np.random.default_rng().integers(2**31)))
        gram: Any = spec.build(kernel, samples, resources)
        if has_landmarks(gram) and gram.index is not None:
            index = np.sort(gram.index) if len(gram.index) else np.zeros(1, dtype=int)
            precision = getattr(spec, "precision", "double")
            spec = Nystrom(len(index), landmarks=tuple(int(i) for i in index), precision=precision)
        else:
            self._require(gram)
        self.spec = spec
        self._known: list[KernelFactor] = []

    def at(self, kernel: Kernel, keep: int = 1) -> KernelFactor:
        """Return the factor of a kernel; the latest few are kept."""
        for known in self._known:
            if known.kernel is kernel:
                return known
        found = KernelFactor(kernel, self.spec.build(kernel, self.samples, self.resources), self)
        self._known = [found, *self._known[: max(keep - 1, 0)]]
        return found

    def built(self, kernel: Kernel) -> Floats:
        """Return F of a kernel, which is not kept."""
        gram: Any = self.spec.build(kernel, self.samples, self.resources)
        return gram.factor()

    def _require(self, gram: Any) -> None:
        """Raise unless the factor fits, whose number of columns is known now."""
        n, r = len(self.samples), gram.matrix.shape[1] if hasattr(gram, "matrix") else gram.rank
        plan = Plan(f"{r} features of {n} samples", {"factor": 16 * n * r, "matrix of the features": 32 * r * r})
        plan.require(self.resources.memory)


def combined(map: Expansion | FeatureExpansion, weights: Floats) -> Expansion | FeatureExpansion:
    """Return the function x -> F(x) weights from x -> F(x), for weights (r,) or (r, k)."""
    nothing = np.zeros(weights.shape[1:])
    if isinstance(map, Expansion):
        return Expansion(map.kernel, map.samples, map.coef @ weights, nothing)
    return FeatureExpansion(map.kernel, map.keys, map.weights @ weights, nothing)

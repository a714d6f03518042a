"""From several classes to problems of two, and back.

Legend: M (c, L) the code, an entry for each class and problem: +1 and -1 are the two sides, 0 takes no part; f_l the
decision value of problem l. One against one, one against the rest and output codes differ in M alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import is_real
from mercer.errors import ParameterError, TargetError
from mercer.targets.codes import decoding_losses, output_code

__all__ = ["Reduction", "class_weights"]
__saved__ = ["Reduction"]

_IMPOSSIBLE = -745.0  # logarithm of the smallest number there is: that of zero times zero is not a number


@dataclass(frozen=True, eq=False)
class Reduction:
    """The two-class problems that stand for a problem of c classes.

    Seed: [HSS] Section 3.1.4, after Allwein, Schapire and Singer.

    Parameters
    ----------
    code : (c, L) array
        M, of -1, 0 and 1.
    kind : {"two", "ovo", "ovr", "code"}
        How values become classes: the sign, votes, the largest value, or the row of the code that loses least.

    Examples
    --------
    >>> Reduction.of("ovo", 3).code
    array([[ 1.,  1.,  0.],
           [-1.,  0.,  1.],
           [ 0., -1., -1.]])
    """

    code: Floats
    kind: str

    @classmethod
    def of(cls, scheme: Any, count: int) -> Reduction:
        """Return the reduction of `count` classes by a scheme: "ovo", "ovr", a kind of output code, or a code."""
        if not isinstance(scheme, str):
            scheme = output_code(count, scheme)  # a code that is none is refused, also where it is not needed
        if count == 2:
            return cls(np.array([[-1.0], [1.0]]), "two")
        if isinstance(scheme, str):
            kind = scheme if scheme in ("ovo", "ovr") else "code"
            return cls(np.asarray(output_code(count, scheme), dtype=float), kind)
        return cls(np.asarray(output_code(count, scheme), dtype=float), "code")

    @property
    def votes(self) -> bool:
        """Whether the signs of the values decide."""
        return self.kind == "ovo"

    def problems(self, codes: Indices) -> list[tuple[Indices, Floats]]:
        """Return for each problem which samples take part, and on which side, +1 or -1."""
        sides = self.code[codes]
        found = []
        for column in sides.T:
            index = np.flatnonzero(column)
            found.append((index, column[index]))
        return found

    def decode(self, values: Floats) -> Indices:
        """Return the class numbers of decision values, (m, L); among equals the first class wins."""
        if self.kind == "ovo":
            return np.argmax(self._won(values), axis=1)
        return np.argmax(self.confidences(values), axis=1)

    def confidences(self, values: Floats) -> Floats:
        """Return a value per class, (m, c), whose largest is the class.

        For pairs it is the number of votes, and a third of a vote at most for how clear they were.
        """
        if self.kind == "ovr":
            return values
        if self.kind == "ovo":
            sums = values @ self.code.T
            return self._won(values) + sums / (3.0 * (np.abs(sums) + 1.0))
        return -decoding_losses(self.code, values)

    def _won(self, values: Floats) -> Floats:
        """Return the number of pairs that each class wins, (m, c): those won less those lost, and all, halved."""
        signs = np.where(values > 0, 1.0, -1.0)
        return 0.5 * (signs @ self.code.T + np.count_nonzero(self.code, axis=1))

    def likelihoods(self, P: Floats) -> Floats:
        """Return how likely each class is, (m, c), from the probability of the side +1 of each problem, (m, L).

        The geometric mean over the problems that a class takes part in, as if they were independent.
        """
        with np.errstate(divide="ignore"):
            yes, no = np.maximum(np.log(P), _IMPOSSIBLE), np.maximum(np.log1p(-P), _IMPOSSIBLE)
        sides = yes @ (self.code > 0).T + no @ (self.code < 0).T
        mean = sides / np.count_nonzero(self.code, axis=1)
        return np.exp(mean - mean.max(axis=1, keepdims=True))

    def dual_coef(self, coef: Floats, codes: Indices) -> Floats:
        """Return coefficients of support vectors, (q,) or (q, L), in scikit-learn's layout.

        One row for two classes; c - 1 rows for pairs, in which a vector has its coefficients against the other
        classes in order; one row per problem otherwise.
        """
        if coef.ndim == 1:
            return coef[None, :].copy()
        if self.kind != "ovo":
            return coef.T.copy()
        out = np.zeros((len(self.code) - 1, len(coef)))
        for own in range(len(self.code)):
            mine = np.flatnonzero(codes == own)
            out[:, mine] = coef[np.ix_(mine, np.flatnonzero(self.code[own]))].T
        return out


def class_weights(given: Any, classes: Array, codes: Indices, w: Floats) -> Floats:
    """Return the factor of the weights of each class, (c,).

    Parameters
    ----------
    given : None, "balanced" or dict
        "balanced" gives every class the same total weight; a dict maps labels to factors, 1 if left out.
    classes : (c,) array
    codes : (n,) array of int
    w : (n,) array
        Sample weights.
    """
    mass = np.bincount(codes, weights=w, minlength=len(classes))
    if not mass.all():
        lost = classes[np.flatnonzero(mass == 0)[0]]
        raise TargetError(
            f"class {lost!r} has no sample of positive weight; each class needs at least one. "
            "Leave its samples out of X and y, or give one of them a weight."
        )
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str):
        return mass.sum() / (len(classes) * mass)
    labels = classes.tolist()
    if given and not set(given) & set(labels):  # one of them may be missing: a fold of the data may lack a class
        raise ParameterError(
            f"class_weight has the labels {list(given)[:10]}, of which none is among the classes {labels[:10]}. "
            "Give weights for labels of y."
        )
    factors = np.array([given.get(label, 1.0) for label in labels], dtype=object)
    bad = [f for f in factors if not is_real(f) or not 0 < f < np.inf]
    if bad:
        raise ParameterError(
            f"class_weight has the value {bad[0]!r}; weights of classes must be finite numbers greater than zero. "
            "Give such numbers, or 'balanced'."
        )
    return factors.astype(float)

"""Samples that are linear dynamical systems: a state that moves by a matrix, and the outputs observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices, real_numbers
from mercer.domains.samples import Samples, kind_of
from mercer.errors import DomainError, ModelError

__all__ = ["Systems", "are_systems"]
__public__ = ["Systems"]

_ACCEPTED = (
    "Systems are a list of tuples (A, C, x): a transition matrix (s, s), an output matrix (d, s) and an initial state "
    '(s,) of finite real numbers; or of dicts of "A", "C" and "x".'
)


@dataclass(frozen=True, eq=False, repr=False)
class Systems(Samples):
    r"""Linear time-invariant systems in discrete time, without input.

    .. math:: x_{t+1} = A x_t, \qquad y_t = C x_t, \qquad t = 0, 1, 2, \dots

    Seed: [SS] Section 6.4, "Graph Kernels and Dynamical Systems"; [HSS] Section 2.2.5, "Kernels on Sets and Subspaces".

    Parameters
    ----------
    transitions : (n, s, s) float64 array
        A, with zeros for states that a system does not have.
    outputs : (n, d, s) float64 array
        C.
    states : (n, s) float64 array
        x_0.
    sizes : (n,) intp array
        Numbers of states.

    Examples
    --------
    >>> S = Systems.pack([([[0.5]], [[1.0]], [2.0]), ([[0.0, 1.0], [-0.5, 0.0]], [[1.0, 0.0]], [1.0, 0.0])])
    >>> S
    <Systems: 2 samples, 1 output, 1 to 2 states>
    >>> S.trajectory(0, 4)
    array([[2.  ],
           [1.  ],
           [0.5 ],
           [0.25]])
    """

    transitions: Floats
    outputs: Floats
    states: Floats
    sizes: Indices

    @classmethod
    def pack(cls, X: Any) -> Self:
        """Turn matrices into Systems.

        Parameters
        ----------
        X : list of (A, C, x) tuples, of dicts with these keys, or Systems

        Raises
        ------
        DomainError
            No system, matrices that do not fit together, different numbers of outputs; the message names the sample.
        """
        if cls._is_packed(X):
            return X
        if isinstance(X, str | bytes | Mapping | Set) or not (isinstance(X, Iterable) and hasattr(X, "__len__")):
            raise DomainError(f"{kind_of(X)} was given. {_ACCEPTED} Make a list of systems.")
        found = [_matrices(one, i) for i, one in enumerate(X)]
        if not found:
            raise DomainError(
                f"Found array with 0 sample(s) while a minimum of 1 is required. {_ACCEPTED} Give at least one."
            )
        return cls.assembled(found)

    @classmethod
    def assembled(cls, found: list[tuple[Floats, Floats, Floats]]) -> Self:
        """Make Systems of matrices and vectors that fit together."""
        d = found[0][1].shape[0]
        sizes = np.array([len(x) for _, _, x in found], dtype=np.intp)
        s = max(1, int(sizes.max()))
        packed = np.zeros((len(found), s, s)), np.zeros((len(found), d, s)), np.zeros((len(found), s))
        for i, (A, C, x) in enumerate(found):
            if C.shape[0] != d:
                raise DomainError(
                    f"System 0 has {d} outputs, system {i} has {C.shape[0]}. {_ACCEPTED} Give all the same outputs."
                )
            r = len(x)
            packed[0][i, :r, :r], packed[1][i, :, :r], packed[2][i, :r] = A, C, x
        return cls(*packed, sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def width(self) -> int:
        """Number of outputs."""
        return self.outputs.shape[1]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``(transitions, outputs, states, sizes)``."""
        return self.transitions, self.outputs, self.states, self.sizes

    def trajectory(self, i: int, steps: int) -> Floats:
        """Return the outputs of system i at times 0 to steps - 1, (steps, d)."""
        x, found = self.states[i], []
        for _ in range(steps):
            found.append(self.outputs[i] @ x)
            x = self.transitions[i] @ x
        return np.array(found).reshape(steps, self.width)

    def require_like(self, other: Systems) -> None:
        """Raise DomainError unless other has the same number of outputs."""
        if other.width != self.width:
            raise DomainError(
                f"Systems with {self.width} outputs are compared with systems that have {other.width}; outputs are "
                "compared one by one. Give both collections the same outputs."
            )

    def _rows(self, index: slice | Indices) -> Self:
        return type(self)(*(array[index] for array in self.arrays))

    def _joined(self, other: Any) -> Self:
        self.require_like(other)
        s = max(self.states.shape[1], other.states.shape[1])
        left, right = (S._widened(s) for S in (self, other))
        return type(self)(*(np.concatenate(pair) for pair in zip(left, right, strict=True)))

    def _widened(self, s: int) -> tuple[NDArray[Any], ...]:
        more = s - self.states.shape[1]
        A = np.pad(self.transitions, ((0, 0), (0, more), (0, more)))
        return (
            A,
            np.pad(self.outputs, ((0, 0), (0, 0), (0, more))),
            np.pad(self.states, ((0, 0), (0, more))),
            self.sizes,
        )

    def _summary(self) -> str:
        spread = f", {self.sizes.min()} to {self.sizes.max()} states" if len(self) else ""
        return f", {self.width} output{'' if self.width == 1 else 's'}{spread}"

    def check(self) -> None:
        """Raise ModelError unless the parts fit together; those of a model file did not come through `pack`."""
        n = len(self.sizes)
        good = all(a.dtype == np.float64 and np.isfinite(a).all() for a in self.arrays[:3])
        good = good and self.sizes.dtype == np.intp and self.sizes.ndim == 1 and self.states.ndim == 2
        s = self.states.shape[-1]
        good = good and self.states.shape == (n, s) and self.transitions.shape == (n, s, s)
        good = good and self.outputs.ndim == 3 and self.outputs.shape == (n, self.width, s)
        if not good or bool(((self.sizes < 0) | (self.sizes > s)).any()):
            raise ModelError("The model has dynamical systems whose parts do not fit together. Save the model again.")


def are_systems(X: Any) -> bool:
    """Return whether raw data look like systems rather than like series of outputs."""
    if isinstance(X, Systems):
        return True
    given = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1)
    one = X[0] if given and len(X) else None
    return isinstance(one, Mapping) or (isinstance(one, tuple) and len(one) == 3 and np.ndim(one[0]) == 2)


def _matrices(one: Any, i: int) -> tuple[Floats, Floats, Floats]:
    """Return A (s, s), C (d, s) and x (s,) of a raw system."""
    if isinstance(one, Mapping):
        if set(one) != {"A", "C", "x"}:
            raise DomainError(f"System {i} is a dict with {sorted(map(str, one))[:6]}. {_ACCEPTED} Give these three.")
        one = (one["A"], one["C"], one["x"])
    if not isinstance(one, tuple | list) or len(one) != 3:
        raise DomainError(f"System {i} is of type {kind_of(one)}, not a triple. {_ACCEPTED} Give a tuple of three.")
    try:
        A, C, x = (real_numbers(part, "parts") for part in one)
    except (TypeError, ValueError):
        raise DomainError(f"System {i} has parts that are not real numbers. {_ACCEPTED} Give arrays.") from None
    s = len(x) if x.ndim == 1 else -1
    if A.shape != (s, s) or C.ndim != 2 or C.shape[1] != s or not C.shape[0] or not s:
        raise DomainError(
            f"System {i} has the shapes {A.shape}, {C.shape} and {x.shape}. {_ACCEPTED} Make them fit together."
        )
    if not all(np.isfinite(part).all() for part in (A, C, x)):
        raise DomainError(f"System {i} has values that are not finite. {_ACCEPTED} Replace them, or leave it out.")
    return A, C, x

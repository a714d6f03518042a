"""The kernel of a hidden tree model: the probability that hidden states of one tree give both rows of symbols.

Symbols: A hidden states, T(b, a) the probability that a child of a node in the state b is in the state a, e(sigma | a)
that a leaf in the state a shows the symbol sigma, L leaves, N nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.constraints import Array, Constraint
from mercer.domains import Samples, Strings
from mercer.errors import DomainError, ParameterError
from mercer.kernels.comparison import Comparison
from mercer.kernels.models.hidden_markov_kernel import ALPHABET, MISSING, Symbols, require_chances
from mercer.kernels.models.marginalization import FORM, JointProbability
from mercer.runtime.compiled import compiled

__all__ = ["HiddenTree"]
__public__ = __all__

_LANES = 4  # rows of the right side that are compared at a time
_STEPS = 2e7  # products with a transition matrix, an entry each, that take some 20 milliseconds
_UNIT = 2.0**512
_LOG_UNIT = 512.0 * float(np.log(2.0))
_LOW = 1e-80  # below, numbers are multiplied by a unit


class _Parents(Constraint):
    """For every node its parent, -1 for the root; without circles."""

    @property
    def accepted(self) -> str:
        return "a tuple with the number of the parent of every node, -1 for the only root"

    def accepts(self, value: Any) -> bool:
        try:
            parents = np.asarray(value)
        except ValueError:
            return False
        if parents.ndim != 1 or parents.dtype.kind not in "iu" or not len(parents):
            return False
        inside = parents.min() >= -1 and parents.max() < len(parents) and (parents == -1).sum() == 1
        return bool(inside) and bool((_depths(parents) >= 0).all())

    def advice(self, name: str, value: Any) -> str:
        return f"Write a root with two leaves as {name}=(-1, 0, 0)."


def _depths(parents: Indices) -> Indices:
    """Return how far every node is from the root, -1 for those that do not reach it."""
    ahead, steps = np.where(parents < 0, np.arange(len(parents)), parents), (parents >= 0).astype(np.intp)
    for _ in range(int(np.ceil(np.log2(len(parents) + 1))) + 1):  # every step doubles the distance seen
        steps = steps + steps[ahead]
        ahead = ahead[ahead]
    return np.where(parents[ahead] < 0, steps, -1)


class Leaves(NamedTuple):
    """Rows of symbols as codes, (n, L), and the logarithms of the factors that were taken out of their emissions."""

    codes: Any
    factors: Floats


class HiddenTree(JointProbability):
    r"""Hidden tree model kernel: the probability that hidden states in a tree give the leaves of both objects.

    .. math:: k(x, z) = \sum_h P(h) \prod_{l} e(x_l \mid h_l)\, e(z_l \mid h_l), \qquad
              P(h) = \pi(h_{root}) \prod_{v \neq root} T(h_{parent(v)}, h_v)

    over all states h of the N nodes of a tree that is the same for all objects, such as that of species which have a
    gene or lack it. Only the leaves l are observed. It is the marginalisation kernel whose models are the hidden
    states.

    Seed: [ST] "Probabilistic model kernels", hidden tree models, "a recursion that works upwards from the leaves".

    Parameters
    ----------
    parents : tuple of int
        The parent of every node, by number; -1 for the root, of which there is one. Nodes that are no parents are the
        leaves: symbol l of an object belongs to the l-th of them.
    start : (A,) array-like
        pi, the probabilities of the states of the root.
    transition : (A, A) or (N, A, A) array-like
        T, with a row for each state of the parent; one for all nodes or one for each (that of the root is not read).
    emission : (A, symbols) or (L, A, symbols) array-like
        e, for all leaves or for each.
    alphabet : {"dna", "rna", "protein"}, str or tuple, optional
        The symbols, in the order of the columns of emissions. By default 0, 1, 2, ...
    missing : str or tuple, optional
        Symbols that mark one that was not observed; those of a named alphabet (such as "N") always do.
    form : {"probability", "normalised"}, default "probability"
        k itself, or k(x, z) / sqrt(k(x, x) k(z, z)), which ``.normalized()`` asks for.

    Notes
    -----
    Domain Strings of L symbols of the alphabet: texts, or rows of integers. Other lengths, and symbols that are not in
    the alphabet, are refused. A missing symbol is summed over: its factor is 1. If every leaf has the state of its
    parent (T = I there), only the nodes inside of the tree are hidden.

    Positive definite of order 0 by its features sqrt(P(h)) P(x | h), one for each of the |A|^N choices of states, which
    are never made. Not strict, hence not universal. Values are at most 1. Logarithms are computed, and the normalised
    kernel is found from them, so that nothing underflows however large the tree; states less likely than the best one
    of their node by a factor of 1e-200 count as impossible.

    Cost O(N |A|^2) a pair, by the recursion from the leaves upwards

    .. math:: K_v(a) = \prod_{c \in children(v)} \sum_b T_c(a, b)\, K_c(b), \qquad
              K_l(a) = e(x_l \mid a)\, e(z_l \mid a), \qquad k(x, z) = \sum_a \pi(a)\, K_{root}(a)

    Examples
    --------
    Four species: a gene is lost or gained on an edge with probability 0.1, and seen as it is with probability 0.95.

    >>> k = HiddenTree(
    ...     (-1, 0, 0, 1, 1, 2, 2), (0.5, 0.5), ((0.9, 0.1), (0.1, 0.9)), ((0.95, 0.05), (0.05, 0.95)), alphabet="01"
    ... ).normalized()
    >>> k(["1100"], ["1100", "1101", "1010", "0011"]).round(3)  # a difference within a family costs more
    array([[1.   , 0.109, 0.017, 0.   ]])
    """

    domain = Strings
    formula = r"\sum_h P(h) P(x \mid h) P(z \mid h)"
    cost = "O(N |A|^2) a pair"
    bounded = True
    constraints = {
        "parents": _Parents(),
        "start": Array(1, low=0.0),
        "transition": Array(2, 3, low=0.0),
        "emission": Array(2, 3, low=0.0),
        "alphabet": ALPHABET,
        "missing": MISSING,
        "form": FORM,
    }

    def __init__(
        self,
        parents: Any,
        start: Any,
        transition: Any,
        emission: Any,
        *,
        alphabet: Any = None,
        missing: Any = None,
        form: str = "probability",
    ) -> None:
        self.parents = parents
        self.start = start
        self.transition = transition
        self.emission = emission
        self.alphabet = alphabet
        self.missing = missing
        self.form = form

    def check(self) -> Self:
        """Check the parameters, one by one and together."""
        super().check()
        self._arrays()
        _ = self._symbols
        return self

    @property
    def _symbols(self) -> Symbols:
        return Symbols(self, None, np.shape(self.emission)[-1])

    @property
    def _leaves(self) -> Indices:
        """The nodes without children."""
        return np.setdiff1d(np.arange(len(self.parents)), self.parents)

    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        """Return pi, T of every node and e of every leaf; ParameterError if shapes or sums do not fit."""
        N, L = len(self.parents), len(self._leaves)
        start, transition, emission = (np.array(p, float) for p in (self.start, self.transition, self.emission))
        A = len(start)
        if transition.shape not in ((A, A), (N, A, A)) or emission.shape[:-1] not in ((A,), (L, A)):
            raise ParameterError(
                f"HiddenTree was given start, transition and emission of shapes {start.shape}, {transition.shape} and "
                f"{emission.shape} for {N} nodes and {L} leaves; (A,), (A, A) or ({N}, A, A), and (A, symbols) or "
                f"({L}, A, symbols) are accepted. Give every state a row of transitions and one of emissions."
            )
        for name, rows in (("start", start), ("transition", transition), ("emission", emission)):
            require_chances(rows, name, "HiddenTree")
        return start, np.broadcast_to(transition, (N, A, A)), np.broadcast_to(emission, (L, A, emission.shape[-1]))

    def pack(self, X: Any) -> Samples:
        """Turn texts, or rows of symbols, into Strings with a symbol for each leaf.

        Parameters
        ----------
        X : list or array of str, or of sequences of symbols; a pandas, polars or pyarrow column
        """
        S = Strings.pack(X)
        self._codes(S)
        return S

    def _codes(self, S: Strings) -> Any:
        """Return the codes of the symbols, (n, L); DomainError if there are too few, too many or strange ones."""
        wrong = np.flatnonzero(S.lengths != len(self._leaves))
        if len(wrong):
            i = int(wrong[0])
            raise DomainError(
                f"Sample {i} has {S.lengths[i]} symbols; as many as the tree has leaves, {len(self._leaves)}, are "
                f"accepted by HiddenTree. Give a symbol for each of {len(self._leaves)} leaves, one out of missing=... "
                "where nothing was observed."
            )
        return self._symbols.recode(S).reshape(len(S), len(self._leaves))

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where the tree is large."""
        side = int(np.sqrt(_STEPS / (len(self.parents) * (len(self.start) ** 2 + 4))))
        return max(_LANES, side - side % _LANES)

    def _sides(self, A: Samples, B: Samples) -> tuple[Any, Any]:
        start, transition, emission = self._arrays()
        L, states, _ = emission.shape
        table = np.concatenate([emission, np.ones((L, states, 1))], axis=2).transpose(0, 2, 1)
        largest = table.max(axis=2)
        table = np.ascontiguousarray(table / np.where(largest > 0.0, largest, 1.0)[:, :, None])
        with np.errstate(divide="ignore"):
            logs = np.log(largest)
        parents = np.asarray(self.parents, dtype=np.intp)
        order = np.argsort(-_depths(parents), kind="stable")  # children before their parents
        leaf = np.full(len(parents), -1, dtype=np.intp)
        leaf[self._leaves] = np.arange(L)
        arrays = table, start, transition.copy(), (order, parents, leaf)
        left = self._coded(A, logs), arrays
        return left, left if B is A else (self._coded(B, logs), arrays)

    def _coded(self, A: Samples, logs: Floats) -> Leaves:
        assert isinstance(A, Strings)
        codes = self._codes(A)
        return Leaves(codes, logs[np.arange(logs.shape[0]), codes].sum(axis=1))

    def _log_tile(self, left: Any, right: Any, rows: slice, columns: slice, out: Floats) -> None:
        (A, (table, start, transition, tree)), (B, _) = left, right
        L, _, states = table.shape
        room = np.empty((L, states, _LANES)), np.empty((len(tree[0]), states, _LANES))
        symmetric = right is left and rows == columns
        _compare_leaves(A.codes[rows], B.codes[columns], (table, start, transition), tree, symmetric, room, out)
        out += A.factors[rows, None]
        out += B.factors[columns]


@compiled(fastmath={"contract"})  # a product that is not rounded before it is added does no harm
def _climb(x, lanes, arrays, tree, inside, logs):
    """Write the logarithms of the probabilities of four pairs, without factors taken out; `inside` is K_v(a)."""
    table, start, transition = arrays
    order, parents, leaf = tree
    inside[:] = 1.0
    logs[:] = 0.0
    for v in order:
        if leaf[v] >= 0:
            for a in range(start.size):
                e = table[leaf[v], x[leaf[v]], a]
                for lane in range(_LANES):
                    inside[v, a, lane] = e * lanes[leaf[v], a, lane]
        if parents[v] < 0:
            break
        above = inside[parents[v]]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for a in range(start.size):
            x0, x1, x2, x3 = 0.0, 0.0, 0.0, 0.0
            for b in range(start.size):
                w = transition[v, a, b]
                x0 += w * inside[v, b, 0]
                x1 += w * inside[v, b, 1]
                x2 += w * inside[v, b, 2]
                x3 += w * inside[v, b, 3]
            x0 *= above[a, 0]
            x1 *= above[a, 1]
            x2 *= above[a, 2]
            x3 *= above[a, 3]
            above[a, 0], above[a, 1], above[a, 2], above[a, 3] = x0, x1, x2, x3
            t0 += x0
            t1 += x1
            t2 += x2
            t3 += x3
        if min(t0, t1, t2, t3) < _LOW:
            _raise(above[:, 0], t0, logs[0:])
            _raise(above[:, 1], t1, logs[1:])
            _raise(above[:, 2], t2, logs[2:])
            _raise(above[:, 3], t3, logs[3:])
    root = inside[order[order.size - 1]]
    for lane in range(_LANES):
        total = 0.0
        for a in range(start.size):
            total += start[a] * root[a, lane]
        logs[lane] += np.log(total)


@compiled
def _raise(values, total, logs):
    """Multiply small numbers by units until they are not small, and note it."""
    while 0.0 < total < _LOW:
        for a in range(values.size):
            values[a] *= _UNIT
        total *= _UNIT
        logs[0] -= _LOG_UNIT


@compiled
def _compare_leaves(left, right, arrays, tree, symmetric, room, out):
    lanes, inside = room
    table = arrays[0]
    logs = np.empty(_LANES)
    for first in range(0, right.shape[0], _LANES):
        stop = min(first + _LANES, right.shape[0])
        for lane in range(_LANES):
            z = right[min(first + lane, stop - 1)]
            for k in range(z.size):
                for a in range(table.shape[2]):
                    lanes[k, a, lane] = table[k, z[k], a]
        for i in range(min(left.shape[0], stop) if symmetric else left.shape[0]):
            _climb(left[i], lanes, arrays, tree, inside, logs)
            for j in range(first, stop):
                out[i, j] = logs[j - first]

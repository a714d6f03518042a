"""The string kernel of a hidden Markov model: the probability that one hidden path gives both strings.

Symbols: A hidden states, pi their probabilities at the start, T(b, a) that of going from b to a, e(sigma | a) that of
giving the symbol sigma in the state a, h = h_1 ... h_n a hidden path.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, Self

import numpy as np

from mercer.arrays import Codes, Floats, Indices
from mercer.constraints import Constraint, Data
from mercer.domains import Samples, Strings
from mercer.errors import DomainError, ParameterError
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel
from mercer.kernels.models.marginalization import FORM, JointProbability
from mercer.models.alphabet import ALPHABETS, letters_of
from mercer.runtime.compiled import compiled

__all__ = ["HiddenMarkov"]
__public__ = __all__

_LANES = 4  # strings of the right side that are compared at a time
_STEPS = 2e7  # products with the transition matrix, an entry each, that take some 20 milliseconds
_UNIT = 2.0**512
_LOG_UNIT = 512.0 * float(np.log(2.0))
_LOW = 1e-80  # below, numbers are multiplied by a unit


# ---------------------------------------------------------------------- models and symbols


class Chain(NamedTuple):
    """A hidden Markov model as arrays: (A,), (A, A) with a row for each state before, (A, q) or (A, q, q)."""

    start: Floats
    transition: Floats
    emission: Floats


_NAMES = (
    ("start", "startprob_"),
    ("transition", "transitions", "transmat_"),
    ("emission", "emissions", "emissionprob_"),
)
_ACCEPTED = (
    "a tuple (start, transition, emission) of arrays of shapes (A,), (A, A) and (A, symbols), or a model with "
    "such attributes (startprob_, transmat_ and emissionprob_ will do)"
)


def chain_of(model: Any, what: str, pairs: bool = False) -> Chain:
    """Read a hidden Markov model out of a tuple of arrays or of an object; ParameterError if it is neither.

    Parameters
    ----------
    model : tuple of three arrays, or object
    what : str
        The caller, for messages.
    pairs : bool, default False
        Whether emissions of pairs of symbols, (A, q, q), will do.
    """
    if isinstance(model, (tuple, list)) and len(model) == 3:
        given = list(model)
    else:
        given = [next(filter(_is_there, (getattr(model, n, None) for n in names)), None) for names in _NAMES]
    try:
        start, transition, emission = (np.array(part, dtype=float) for part in given)
        if any(part is None for part in given):
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"{what} was given model={str(model)[:80]}; {_ACCEPTED} is accepted. Give the arrays; a model that learns "
            "has them after fit, or learn(samples)."
        ) from None
    states = start.shape[0] if start.ndim == 1 else 0
    emits = emission.ndim == 2 or (pairs and emission.ndim == 3 and emission.shape[1] == emission.shape[2])
    if not states or transition.shape != (states, states) or not emits or emission.shape[0] != states:
        raise ParameterError(
            f"{what} was given arrays of shapes {start.shape}, {transition.shape} and {emission.shape}; {_ACCEPTED} is "
            "accepted. Give every state a row of transitions and one of emissions."
        )
    require_chances(start, "start", what)
    require_chances(transition, "transition", what)
    require_chances(emission.reshape(states, -1), "emission", what)
    return Chain(start, transition, emission)


def _is_there(value: Any) -> bool:
    return value is not None


def require_chances(rows: Floats, name: str, what: str) -> None:
    """Raise ParameterError unless the last axis of an array holds probabilities."""
    if rows.size and np.isfinite(rows).all() and (rows >= 0).all() and (np.abs(rows.sum(axis=-1) - 1.0) < 1e-6).all():
        return
    raise ParameterError(
        f"{what} was given {name} probabilities that are negative or do not sum to one (the sums are "
        f"{str(np.atleast_1d(rows.sum(axis=-1)).ravel()[:4])[:60]}); rows of probabilities are accepted. Divide every "
        "row by its sum."
    )


class _Symbols(Constraint):
    """None, the name of an alphabet, or distinct symbols."""

    def __init__(self, named: bool) -> None:
        self.named = named

    @property
    def accepted(self) -> str:
        names = f"{', '.join(map(repr, ALPHABETS))}, " if self.named else ""
        return f"None, {names}or a string or tuple of distinct symbols"

    def accepts(self, value: Any) -> bool:
        try:
            known = isinstance(value, (str, tuple)) and len(set(value)) == len(value)
        except TypeError:  # a symbol that cannot be hashed
            return False
        return value is None or known or (self.named and isinstance(value, str) and value in ALPHABETS)

    def advice(self, name: str, value: Any) -> str:
        return f"Name every symbol once, for example {name}='ACGT'."


ALPHABET, MISSING = _Symbols(named=True), _Symbols(named=False)


class Symbols:
    """The symbols that a model knows, as codes; one more code is that of a missing symbol."""

    def __init__(self, kernel: Any, model: Any, count: int) -> None:
        alphabet = kernel.alphabet if kernel.alphabet is not None else getattr(model, "alphabet", None)
        letters, missing = letters_of(range(count) if alphabet is None else alphabet)
        if (own := getattr(model, "missing", None)) is not None:
            missing = (*missing, own)
        if len(letters) != count:
            raise ParameterError(
                f"{type(kernel).__name__} was given an alphabet of {len(letters)} symbols for emissions of {count}; as "
                "many symbols as columns of emissions are accepted. Name a symbol for every column, in their order."
            )
        self.letters = letters
        place: dict[Hashable, int] = dict.fromkeys((*missing, *(kernel.missing or ())), count)
        self.place = place | {letter: code for code, letter in enumerate(letters)}

    def recode(self, S: Strings) -> Codes:
        """Return the codes of strings, (total,) int32; DomainError if a symbol is not known."""
        table = np.array([self.place.get(symbol, -1) for symbol in S.vocabulary], dtype=np.int32)
        codes = table[S.codes] if len(table) else np.asarray(S.codes, dtype=np.int32)
        if len(codes) and codes.min() < 0:
            at = int(np.flatnonzero(codes < 0)[0])
            i = int(np.searchsorted(S.offsets, at, side="right")) - 1
            shown = str(self.letters)[:60] if len(self.letters) < 40 else f"{str(self.letters[:8])[:-1]}, ...)"
            raise DomainError(
                f"Symbol {at - int(S.offsets[i])} of sample {i} is {S.vocabulary[S.codes[at]]!r}, which the model does "
                f"not know; the symbols {shown} are accepted. Give the alphabet of the model, change case with "
                "str.upper, or name the symbol in missing=... if it marks one that was not observed."
            )
        return codes


class Coded(NamedTuple):
    """Strings in the codes of a model, and the logarithms of the factors that were taken out of their emissions."""

    codes: Codes
    offsets: Indices
    factors: Floats


class ByChain(JointProbability):
    """What kernels by a hidden Markov model share: the model and its symbols."""

    domain = Strings
    constraints = {"model": Data(f"{_ACCEPTED}, or a model that learns", "HiddenMarkovModel(states=3)")}
    model: Any
    alphabet: Any
    missing: Any
    pairs = False

    def check(self) -> Self:
        """Check the parameters, one by one and together."""
        super().check()
        if not self._learns:
            _ = self._symbols
        return self

    @property
    def _learns(self) -> bool:
        """Whether the model is still to be learned."""
        return getattr(self.model, "fitted", True) is False

    @property
    def _chain(self) -> Chain:
        return chain_of(self.model, type(self).__name__, self.pairs)

    @property
    def _symbols(self) -> Symbols:
        return Symbols(self, self.model, self._chain.emission.shape[-1])

    def pack(self, X: Any) -> Samples:
        """Turn texts or sequences of symbols into Strings, all of whose symbols the model knows.

        Parameters
        ----------
        X : list or array of str, or of sequences of symbols; a pandas, polars or pyarrow column
        """
        S = Strings.pack(X)
        if not self._learns:
            self._symbols.recode(S)
        return S

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the kernel with a model that has learned from training samples, if it has to learn."""
        return self.replace(model=self.model.learn(S, weight)) if self._learns else self

    def _coded(self, A: Samples, logs: Floats) -> Coded:
        assert isinstance(A, Strings)
        codes = self._symbols.recode(A)
        each = logs[codes]
        factors = np.array([each[a:b].sum() for a, b in zip(A.offsets[:-1], A.offsets[1:], strict=True)])
        return Coded(codes, A.offsets, factors)


# ---------------------------------------------------------------------- one symbol a state


class HiddenMarkov(ByChain):
    r"""Hidden Markov model kernel: the probability that one hidden path gives both strings.

    .. math:: k(s, t) = \sum_{h \in A^n} P(s \mid h)\, P(t \mid h)\, P(h), \qquad
              P(s \mid h) = \prod_i e(s_i \mid h_i), \quad P(h) = \pi(h_1) \prod_{i > 1} T(h_{i-1}, h_i)

    for strings of n symbols each. It is the marginalisation kernel whose models are all hidden paths, of which there
    are |A|^n.

    Seed: [ST] "Probabilistic model kernels", where this is left to dynamic programming; [STS] Definition 4.

    Parameters
    ----------
    model : tuple (start, transition, emission) or model
        Arrays of shapes (A,), (A, A) and (A, symbols), whose rows are probabilities; or an object that has them, as
        hidden Markov models of this package and of hmmlearn do. A model that is to learn does so in ``fit``. Files
        and copies keep no objects of hmmlearn: there, use ``HiddenMarkovModel.from_hmmlearn``.
    alphabet : {"dna", "rna", "protein"}, str or tuple, optional
        The symbols, in the order of the columns of emissions. By default those of the model, or 0, 1, 2, ...
    missing : str or tuple, optional
        Symbols that mark one that was not observed; those of a named alphabet (such as "N") always do.
    form : {"probability", "normalised"}, default "probability"
        k itself, or k(s, t) / sqrt(k(s, s) k(t, t)), which ``.normalized()`` asks for.

    Notes
    -----
    Domain Strings over the alphabet. A path gives as many symbols as it has states, so that strings of different
    lengths have the value 0 (`PairHiddenMarkov` compares them) and two empty strings the value 1. A missing symbol is
    summed over: its factor is 1. Other symbols that are not in the alphabet are refused.

    Positive definite of order 0 by its features sqrt(P(h)) P(s | h), one for each path, which are never made; a sum
    over missing symbols is one of features. Not strict, since states may not distinguish symbols, and hence not
    universal. Values are at most 1. They fall exponentially with the length: logarithms are computed, and the
    normalised kernel is found from them without ever underflowing. States less likely than the best one of their place
    by a factor of 1e-200 count as impossible.

    Cost O(n |A|^2) a pair, by the recursion over pairs of a state and the one before

    .. math:: k_{i, a} = e(s_i \mid a)\, e(t_i \mid a) \sum_b T(b, a)\, k_{i-1, b}, \qquad k(s, t) = \sum_a k_{n, a}

    Examples
    --------
    Two states that never change, one of which prefers "a" and the other "b":

    >>> model = (0.5, 0.5), ((0.9, 0.1), (0.1, 0.9)), ((0.8, 0.2), (0.2, 0.8))
    >>> k = HiddenMarkov(model, alphabet="ab")
    >>> k(["a"], ["a", "b", "aa"]).round(4)  # (0.8^2 + 0.2^2) / 2, (0.8 0.2 + 0.2 0.8) / 2, and nothing
    array([[0.34, 0.16, 0.  ]])
    >>> k.normalized()(["aaaa"], ["aaab", "abab", "bbbb"]).round(3)
    array([[0.655, 0.449, 0.011]])
    """

    formula = r"\sum_h P(s \mid h) P(t \mid h) P(h)"
    cost = "O(n |A|^2) a pair"
    constraints = {"alphabet": ALPHABET, "missing": MISSING, "form": FORM}

    def __init__(self, model: Any, alphabet: Any = None, missing: Any = None, form: str = "probability") -> None:
        self.model = model
        self.alphabet = alphabet
        self.missing = missing
        self.form = form

    bounded = True

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where strings are long."""
        lengths = [float(S.lengths.mean()) for S in comparison.sides(()) if isinstance(S, Strings) and len(S)]
        states = 4 if self._learns else len(self._chain.start)
        side = int(np.sqrt(_STEPS / (max([1.0, *lengths]) * (states**2 + 4))))
        return max(_LANES, side - side % _LANES)

    def _sides(self, A: Samples, B: Samples) -> tuple[Any, Any]:
        chain = self._chain
        table, logs = scaled_emissions(chain.emission)
        arrays = table, chain.start, np.ascontiguousarray(chain.transition.T)
        left = self._coded(A, logs), arrays
        return left, left if B is A else (self._coded(B, logs), arrays)

    def _log_tile(self, left: Any, right: Any, rows: slice, columns: slice, out: Floats) -> None:
        (A, arrays), (B, _) = left, right
        places = A.offsets[rows.start : rows.stop + 1], B.offsets[columns.start : columns.stop + 1]
        orders = tuple(np.argsort(np.diff(offsets), kind="stable") for offsets in places)
        longest, states = int(np.diff(places[1]).max(initial=0)), len(arrays[1])
        room = np.empty((longest, states, _LANES)), np.empty((2, states, _LANES))
        symmetric = right is left and rows == columns
        out[:] = -np.inf
        _compare_paths((A.codes, places[0], orders[0]), (B.codes, places[1], orders[1]), arrays, symmetric, room, out)
        out += A.factors[rows, None]
        out += B.factors[columns]


def scaled_emissions(emission: Floats) -> tuple[Floats, Floats]:
    """Return emissions (q + 1, A) divided by the largest of every symbol, and its logarithm; the last is missing."""
    table = np.ascontiguousarray(np.hstack([emission, np.ones((len(emission), 1))]).T)
    largest = table.max(axis=1)
    with np.errstate(divide="ignore"):
        return table / np.where(largest > 0.0, largest, 1.0)[:, None], np.log(largest)


@compiled
def _load(codes, offsets, order, first, stop, table, lanes):
    """Write the emissions of some strings of one length side by side; lanes to spare repeat the last string."""
    for lane in range(_LANES):
        begin = offsets[order[min(first + lane, stop - 1)]]
        for i in range(lanes.shape[0]):
            for a in range(table.shape[1]):
                lanes[i, a, lane] = table[codes[begin + i], a]


@compiled(fastmath={"contract"})  # a product that is not rounded before it is added does no harm
def _walk(s, lanes, table, start, transition, state, logs):
    """Write the logarithms of the probabilities of four pairs of strings, without factors taken out."""
    before, after = state[0], state[1]
    logs[:] = 0.0
    t0, t1, t2, t3 = 1.0, 1.0, 1.0, 1.0
    for i in range(s.size):
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for a in range(start.size):
            x0, x1, x2, x3 = 0.0, 0.0, 0.0, 0.0
            if i == 0:
                x0, x1, x2, x3 = start[a], start[a], start[a], start[a]
            else:
                for b in range(start.size):
                    w = transition[a, b]
                    x0 += w * before[b, 0]
                    x1 += w * before[b, 1]
                    x2 += w * before[b, 2]
                    x3 += w * before[b, 3]
            e = table[s[i], a]
            x0 *= e * lanes[i, a, 0]
            x1 *= e * lanes[i, a, 1]
            x2 *= e * lanes[i, a, 2]
            x3 *= e * lanes[i, a, 3]
            after[a, 0], after[a, 1], after[a, 2], after[a, 3] = x0, x1, x2, x3
            t0 += x0
            t1 += x1
            t2 += x2
            t3 += x3
        if min(t0, t1, t2, t3) < _LOW:
            t0 = _raise(after[:, 0], t0, logs[0:])
            t1 = _raise(after[:, 1], t1, logs[1:])
            t2 = _raise(after[:, 2], t2, logs[2:])
            t3 = _raise(after[:, 3], t3, logs[3:])
        before, after = after, before
    logs[0] += np.log(t0)
    logs[1] += np.log(t1)
    logs[2] += np.log(t2)
    logs[3] += np.log(t3)


@compiled
def _raise(values, total, logs):
    """Multiply small numbers by units until they are not small, and note it; return their sum."""
    while 0.0 < total < _LOW:
        for a in range(values.size):
            values[a] *= _UNIT
        total *= _UNIT
        logs[0] -= _LOG_UNIT
    return total


@compiled
def _compare_paths(left, right, arrays, symmetric, room, out):
    """Compare the strings that are of one length: both sides are traversed in the order of lengths."""
    codes, offsets, order = left
    others, places, columns = right
    table, start, transition = arrays
    lanes, state = room
    logs = np.empty(_LANES)
    first, low = 0, 0
    while first < columns.size:
        length = places[columns[first] + 1] - places[columns[first]]
        stop, last = first, 0
        while stop < min(first + _LANES, columns.size):
            j = columns[stop]
            if places[j + 1] - places[j] != length:
                break
            last = max(last, j)
            stop += 1
        _load(others, places, columns, first, stop, table, lanes[:length])
        while low < order.size and offsets[order[low] + 1] - offsets[order[low]] < length:
            low += 1
        row = low
        while row < order.size and offsets[order[row] + 1] - offsets[order[row]] == length:
            i = order[row]
            row += 1
            if symmetric and i > last:
                break  # rows of one length are in their order
            _walk(codes[offsets[i] : offsets[i + 1]], lanes[:length], table, start, transition, state, logs)
            for place in range(first, stop):
                out[i, columns[place]] = logs[place - first]
        first = stop

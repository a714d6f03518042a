"""The string kernel of a pair hidden Markov model: the probability that two strings come from one hidden path.

Symbols: A hidden states, P(sigma, tau | a) the probability that the state a gives sigma to one string and tau to the
other, q(sigma) that sigma is inserted. Entries of a table have exponents of their own, which count units of 2^512.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Array, Fixed, Interval, Optional
from mercer.domains import Samples
from mercer.errors import ParameterError
from mercer.kernels.comparison import LANES, Comparison, side_of_tiles
from mercer.kernels.models.hidden_markov_kernel import ALPHABET, MISSING, ByChain, require_chances
from mercer.kernels.models.marginalization import FORM
from mercer.runtime.compiled import compiled
from mercer.spec import derived

__all__ = ["PairHiddenMarkov"]
__public__ = __all__

_LANES = 4  # strings of the right side that are compared at a time
_STEPS = 4e7  # products with the transition matrix, an entry each, that take some 20 milliseconds
_UNIT = 2.0**512  # what an exponent counts
_LOG_UNIT = 512.0 * float(np.log(2.0))
_HIGH, _LOW = 1e77, 1e-80  # beyond, numbers get another exponent
_NOTHING = -(2**40)  # the exponent of zero
_MIXED = 2**40  # marks exponents that differ


class PairHiddenMarkov(ByChain):
    r"""Pair hidden Markov model kernel: the probability that two strings come from one hidden path, with insertions.

    .. math:: k(s, t) = \sum_h P(h) \sum_{i, j} \prod_l P(s_{i_l}, t_{j_l} \mid h_l)\, \prod_l g_l(s)\, g_l(t), \qquad
              P(h) = \eta\, (1 - \eta)^n\, \pi(h_1) \prod_{l > 1} T(h_{l-1}, h_l)

    over all hidden paths h = h_1 ... h_n, n = 0, 1, ..., and all places i_1 < ... < i_n of s and j_1 < ... < j_n of t.
    Every state gives a pair of symbols, one to either string. Before, between and after them each string has,
    independently, symbols inserted: r of them with probability 1 - o for r = 0 and o (1 - c) c^(r-1) for more, each
    drawn from the background. g_l(s) is the probability of the symbols of s inserted after the l-th pair.

    Seed: [ST] "Probabilistic model kernels", pair HMMs, "under mild assumptions"; these are here that insertions of the
    two strings are independent and that pairs of symbols are given by positive definite matrices.

    Parameters
    ----------
    model : tuple (start, transition, emission) or model
        As in `HiddenMarkov`, with emissions of shape (A, symbols), so that the two symbols of a pair are independent in
        each state, P(sigma, tau | a) = e(sigma | a) e(tau | a); or (A, symbols, symbols), symmetric matrices
        P(sigma, tau | a) that sum to one.
    alphabet : {"dna", "rna", "protein"}, str or tuple, optional
    missing : str or tuple, optional
        As in `HiddenMarkov`.
    insertion : float, default 0.1
        The probability o that symbols are inserted into a string at some place, 0 <= o < 1.
    extension : float, default 0.5
        The probability c that an inserted symbol is followed by another, 0 <= c < 1.
    stop : float, default 0.05
        The probability eta that the path ends, asked before each state, 0 < eta < 1: it has (1 - eta) / eta states on
        average.
    background : tuple of float, optional
        The probabilities of inserted symbols; by default the mean of the emissions of all states.
    form : {"probability", "normalised"}, default "probability"
        k itself, or k(s, t) / sqrt(k(s, s) k(t, t)), which ``.normalized()`` asks for.

    Notes
    -----
    Domain Strings over the alphabet, of any lengths, empty ones included: two empty strings have the value
    eta (1 - o)^2. All values k(s, t) sum to one: they are the probabilities of pairs of strings. A missing symbol is
    summed over. Other symbols that are not in the alphabet are refused.

    Positive definite of order 0 if the matrices P(., . | a) are: given h and the pairs, it is a sum over pairs of
    places of products of kernels on symbols and of a function of s times that of t, which is a convolution of kernels;
    with independent symbols the features are sqrt(P(h)) P(s | h), one for each path. It is computed whether they are,
    and `order` is None otherwise. Not strict, hence not universal. Values are at most 1. Every entry of a table has an
    exponent of its own, so that nothing vanishes however long the strings, or however different their lengths;
    normalised values are found from logarithms.

    Cost O(|s| |t| |A|^2) a pair, by the recursion

    .. math:: M_{ij}(a) &= P(s_i, t_j \mid a)\, (1 - \eta) \sum_b T(b, a) F_{i-1, j-1}(b) \\
              X_{ij} &= q(s_i) (o M_{i-1, j} + c X_{i-1, j}), \quad U = (1 - o) M + (1 - c) X \\
              Y_{ij} &= q(t_j) (o U_{i, j-1} + c Y_{i, j-1}), \quad F = (1 - o) U + (1 - c) Y

    with a state before all others from which T is pi, and k = eta sum_a F_{|s| |t|}(a).

    Examples
    --------
    >>> model = (1.0,), ((1.0,),), (((0.45, 0.05), (0.05, 0.45)),)  # pairs of one state, as a rule of equal symbols
    >>> k = PairHiddenMarkov(model, alphabet="ab")
    >>> bool(np.isclose(k([""])[0, 0], 0.05 * 0.9**2))
    True
    >>> k.normalized()(["abba"], ["abba", "aba", "bbb", ""]).round(3)
    array([[1.   , 0.108, 0.013, 0.004]])
    """

    formula = r"\sum_h P(h) \sum_{i, j} \prod_l P(s_{i_l}, t_{j_l} \mid h_l) g_l(s) g_l(t)"
    cost = "O(|s| |t| |A|^2) a pair"
    pairs = True
    constraints = {
        "alphabet": ALPHABET,
        "missing": MISSING,
        "insertion": Fixed(Interval(0.0, 1.0, closed="left")),
        "extension": Fixed(Interval(0.0, 1.0, closed="left")),
        "stop": Fixed(Interval(0.0, 1.0, closed="neither")),
        "background": Optional(Array(1, low=0.0)),
        "form": FORM,
    }

    def __init__(
        self,
        model: Any,
        alphabet: Any = None,
        missing: Any = None,
        *,
        insertion: float = 0.1,
        extension: float = 0.5,
        stop: float = 0.05,
        background: Any = None,
        form: str = "probability",
    ) -> None:
        self.model = model
        self.alphabet = alphabet
        self.missing = missing
        self.insertion = insertion
        self.extension = extension
        self.stop = stop
        self.background = background
        self.form = form

    def check(self) -> Self:
        """Check the parameters, one by one and together."""
        super().check()
        if not self._learns:
            _ = self._pairs
        return self

    @derived
    def order(self) -> int | None:
        """0 if pairs of symbols are given by positive definite matrices, else None."""
        if self._learns:
            return 0
        emission = self._chain.emission
        if emission.ndim == 2:
            return 0
        least = np.linalg.eigvalsh(emission)[:, 0]
        return 0 if (least >= -1e-12 * emission.max(axis=(1, 2))).all() else None

    @property
    def _pairs(self) -> tuple[Floats, Floats]:
        """Return P(sigma, tau | a), (A, q + 1, q + 1), and q(sigma), (q + 1,); the last symbol is missing."""
        emission = self._chain.emission
        if emission.ndim == 2:
            emission = emission[:, :, None] * emission[:, None, :]
        count = emission.shape[1]
        if not np.allclose(emission, emission.transpose(0, 2, 1), rtol=1e-9, atol=0.0):
            raise ParameterError(
                "PairHiddenMarkov was given pairs of symbols whose probabilities change when they are swapped; "
                "symmetric matrices are accepted. Give (P + P.T) / 2."
            )
        background = emission.sum(axis=2).mean(axis=0)
        if self.background is not None:
            background = np.array(self.background, dtype=float)
            if background.shape != (count,):
                raise ParameterError(
                    f"PairHiddenMarkov was given a background of shape {background.shape} for {count} symbols; a "
                    "probability for each symbol is accepted. Leave it out for the mean of the emissions."
                )
            require_chances(background, "background", "PairHiddenMarkov")
        whole = np.ones((len(emission), count + 1, count + 1))
        whole[:, :count, :count] = emission
        whole[:, :count, count] = whole[:, count, :count] = emission.sum(axis=2)
        return whole, np.append(background, 1.0)

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where strings are long."""
        states = 4 if self._learns else len(self._chain.start)
        return side_of_tiles(comparison, _STEPS / (16.0 + states * (states + 4.0)), LANES)

    def _sides(self, A: Samples, B: Samples) -> tuple[Any, Any]:
        chain, (emission, background) = self._chain, self._pairs
        own = np.sqrt(np.diagonal(emission, axis1=1, axis2=2)).max(axis=0)
        # a factor for each symbol is taken out of insertions and emissions, so that the larger of both is about one
        largest = np.maximum(np.maximum(background, own), emission.max(axis=(0, 2)))
        unit = np.where(largest > 0.0, largest, 1.0)
        with np.errstate(divide="ignore"):
            logs = np.log(largest)
        table = np.ascontiguousarray((emission / (unit[:, None] * unit)).transpose(1, 2, 0))
        steps = (1.0 - float(self.stop)) * np.column_stack([chain.transition.T, chain.start])  # (A, A + 1), to and from
        arrays = table, background / unit, np.ascontiguousarray(steps)
        left = self._coded(A, logs), arrays
        return left, left if B is A else (self._coded(B, logs), arrays)

    def _log_tile(self, left: Any, right: Any, rows: slice, columns: slice, out: Floats) -> None:
        (A, arrays), (B, _) = left, right
        places = A.offsets[rows.start : rows.stop + 1], B.offsets[columns.start : columns.stop + 1]
        lengths = np.diff(places[1])
        width, states = int(lengths.max(initial=0)) + 1, arrays[2].shape[1]
        order = np.argsort(lengths, kind="stable")  # strings in one table are nearly of one length
        room = np.empty((width, 3, states, _LANES)), np.empty((4, states, _LANES)), np.empty((width + 2, 5), np.int64)
        chances = float(self.insertion), float(self.extension), right is left and rows == columns
        _compare_pairs((A.codes, places[0]), (B.codes, places[1]), order, arrays, chances, room, out)
        out += np.log(float(self.stop))
        out += A.factors[rows, None]
        out += B.factors[columns]


@compiled
def _scale(power, top):
    """Return the factor from one exponent to a higher one."""
    if power == top:
        return 0.0 if top == _NOTHING else 1.0
    return 1.0 / _UNIT if power == top - 1 else 0.0


@compiled
def _settle(cell, side, lane, power):
    """Give an entry of one string the exponent that suits it: F, M and X in `cell`, U and Y in `side`."""
    while True:
        largest = 0.0
        for a in range(cell.shape[1]):
            largest = max(largest, cell[0, a, lane])
        if largest == 0.0:
            return _NOTHING
        if _LOW <= largest <= _HIGH:
            return power
        factor = _UNIT if largest < _LOW else 1.0 / _UNIT
        power += -1 if largest < _LOW else 1
        for a in range(cell.shape[1]):
            for k in range(3):
                cell[k, a, lane] *= factor
            side[0, a, lane] *= factor
            side[1, a, lane] *= factor


@compiled
def _weigh(i, j, q, codes, background, powers, weights):
    """Write the factors of the entries across, above and to the left of an entry, which have several exponents.

    The exponent that the entry gets is written into the place of the one across.
    """
    across, left = powers.shape[0] - 2, powers.shape[0] - 1
    for lane in range(_LANES):
        before = powers[across, lane] if i > 0 and j > 0 else _NOTHING
        above = powers[j, lane] if i > 0 else _NOTHING
        beside = powers[left, lane] if j > 0 else _NOTHING
        top = max(before, above, beside)
        weights[0, lane] = _scale(before, top)
        weights[1, lane] = q * _scale(above, top)
        weights[2, lane] = background[codes[lane]] * _scale(beside, top) if j > 0 else 0.0
        powers[across, lane] = top


@compiled(fastmath={"contract"})  # a product that is not rounded before it is added does no harm
def _fill(pairs, codes, steps, chances, weights, cell, side, old):
    """Make an entry, for four strings, of the one above in `cell`, the one to the left in `side` and F across.

    pairs: P(s_i, . | a); codes: t_j; old, 2 or 3: where F across is; that of the next entry is put into the other.
    Return the smallest and the largest sum of F.
    """
    new = 5 - old
    insertion, extension = chances[0], chances[1]
    none, last = 1.0 - insertion, 1.0 - extension
    d0, d1, d2, d3 = weights[0, 0], weights[0, 1], weights[0, 2], weights[0, 3]
    f0, f1, f2, f3 = weights[1, 0], weights[1, 1], weights[1, 2], weights[1, 3]
    g0, g1, g2, g3 = weights[2, 0], weights[2, 1], weights[2, 2], weights[2, 3]
    c0, c1, c2, c3 = codes[0], codes[1], codes[2], codes[3]
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    states = steps.shape[0]
    for a in range(states + 1):
        m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0
        if a < states:
            for b in range(states + 1):
                w = steps[a, b]
                m0 += w * side[old, b, 0]
                m1 += w * side[old, b, 1]
                m2 += w * side[old, b, 2]
                m3 += w * side[old, b, 3]
            m0 *= d0 * pairs[c0, a]
            m1 *= d1 * pairs[c1, a]
            m2 *= d2 * pairs[c2, a]
            m3 *= d3 * pairs[c3, a]
        x0 = f0 * (insertion * cell[1, a, 0] + extension * cell[2, a, 0])
        x1 = f1 * (insertion * cell[1, a, 1] + extension * cell[2, a, 1])
        x2 = f2 * (insertion * cell[1, a, 2] + extension * cell[2, a, 2])
        x3 = f3 * (insertion * cell[1, a, 3] + extension * cell[2, a, 3])
        y0 = g0 * (insertion * side[0, a, 0] + extension * side[1, a, 0])
        y1 = g1 * (insertion * side[0, a, 1] + extension * side[1, a, 1])
        y2 = g2 * (insertion * side[0, a, 2] + extension * side[1, a, 2])
        y3 = g3 * (insertion * side[0, a, 3] + extension * side[1, a, 3])
        for lane in range(_LANES):
            side[new, a, lane] = cell[0, a, lane]
        cell[1, a, 0], cell[1, a, 1], cell[1, a, 2], cell[1, a, 3] = m0, m1, m2, m3
        cell[2, a, 0], cell[2, a, 1], cell[2, a, 2], cell[2, a, 3] = x0, x1, x2, x3
        side[1, a, 0], side[1, a, 1], side[1, a, 2], side[1, a, 3] = y0, y1, y2, y3
        m0, m1, m2, m3 = none * m0 + last * x0, none * m1 + last * x1, none * m2 + last * x2, none * m3 + last * x3
        side[0, a, 0], side[0, a, 1], side[0, a, 2], side[0, a, 3] = m0, m1, m2, m3
        m0, m1, m2, m3 = none * m0 + last * y0, none * m1 + last * y1, none * m2 + last * y2, none * m3 + last * y3
        cell[0, a, 0], cell[0, a, 1], cell[0, a, 2], cell[0, a, 3] = m0, m1, m2, m3
        t0 += m0
        t1 += m1
        t2 += m2
        t3 += m3
    return min(t0, t1, t2, t3), max(t0, t1, t2, t3)


@compiled
def _begin(insertion, cell, side):
    """Make the first entry: the state before all others."""
    cell[:] = 0.0
    side[:] = 0.0
    for lane in range(_LANES):
        cell[1, -1, lane] = 1.0
        side[0, -1, lane] = 1.0 - insertion
        cell[0, -1, lane] = (1.0 - insertion) ** 2


@compiled
def _pairs(s, lanes, arrays, chances, room, weights):
    """Fill the table of a string with four others; it has F, M and X of the row above.

    powers[j] are the exponents of four entries and, where they are all the same, that one (else _MIXED); its last rows
    are those of the entries across and to the left.
    """
    emission, background, steps = arrays
    table, side, powers = room
    across, left = powers.shape[0] - 2, powers.shape[0] - 1
    for i in range(s.size + 1):
        q = background[s[i - 1]] if i > 0 else 0.0
        pairs = emission[s[i - 1] if i > 0 else 0]
        for j in range(lanes.shape[0]):
            cell = table[j]
            if i == 0:
                cell[:] = 0.0
                powers[j] = _NOTHING
            codes = lanes[j]
            above = powers[j, 4]
            if i == 0 and j == 0:
                _begin(chances[0], cell, side)
                powers[across] = 0
                low, high = 1.0, 1.0
            else:
                if j == 0:
                    side[:] = 0.0
                if i > 0 and j > 0 and above != _MIXED and above == powers[across, 4] and above == powers[left, 4]:
                    for lane in range(_LANES):
                        weights[0, lane], weights[1, lane] = 1.0, q
                        weights[2, lane] = background[codes[lane]]
                else:
                    _weigh(i, j, q, codes, background, powers, weights)
                    powers[across, 4] = _MIXED
                old = 2 + j % 2
                low, high = _fill(pairs, codes, steps, chances, weights, cell, side, old)
            # the exponents of this entry are in the place of the one across; that of the next one is the one above
            if low < _LOW or high > _HIGH or powers[across, 4] == _MIXED:
                for lane in range(_LANES):
                    powers[across, lane] = _settle(cell, side, lane, powers[across, lane])
                powers[across, 4] = powers[across, 0]
                for lane in range(1, _LANES):
                    if powers[across, lane] != powers[across, 0]:
                        powers[across, 4] = _MIXED
            for k in range(5):
                here = powers[across, k]
                powers[across, k], powers[left, k], powers[j, k] = powers[j, k], here, here


@compiled
def _compare_pairs(left, right, order, arrays, chances, room, out):
    codes, offsets = left
    others, places = right
    table, _, powers = room
    lanes = np.full((table.shape[0], _LANES), arrays[1].size - 1, np.int64)  # a place before all others is first
    weights = np.empty((3, _LANES))
    missing = arrays[1].size - 1
    for first in range(0, order.size, _LANES):
        stop, longest, last = min(first + _LANES, order.size), 0, 0
        for place in range(first, stop):
            j = order[place]
            longest, last = max(longest, places[j + 1] - places[j]), max(last, j)
        for lane in range(_LANES):  # lanes to spare repeat the last string; what is beyond a string is never read
            j = order[min(first + lane, stop - 1)]
            for k in range(longest):
                lanes[k + 1, lane] = others[places[j] + k] if k < places[j + 1] - places[j] else missing
        for i in range(offsets.size - 1):
            if chances[2] and i > last:
                break
            _pairs(codes[offsets[i] : offsets[i + 1]], lanes[: longest + 1], arrays, chances, room, weights)
            for place in range(first, stop):
                j, lane = order[place], place - first
                end = places[j + 1] - places[j]
                out[i, j] = np.log(table[end, 0, :, lane].sum()) + _LOG_UNIT * powers[end, lane]

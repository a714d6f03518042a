r"""Pre-images among discrete things: candidates, strings over an alphabet, sets of labels.

Symbols: P = sum_i c_i Phi(x_i) an element, f its function; |Phi(z) - P|^2 = k(z, z) - 2 f(z) + |P|^2, of which the last
term is the same for all z and is left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import UNLIMITED, Resources
from mercer.constraints import Integer, Optional, Satisfies
from mercer.domains import Samples, Strings, Vectors
from mercer.domains.samples import is_hashable
from mercer.errors import CapabilityError, ParameterError
from mercer.gram.gram import Cross
from mercer.kernels.vectors.pointwise import dense
from mercer.preimages.methods import Images
from mercer.runtime.tiling import spans
from mercer.spec import Spec

__all__ = ["BeamSearch", "LabelFlips", "OutputSearch", "nearest"]
__public__ = ["BeamSearch", "LabelFlips"]

_ENTRIES = 2**17  # numbers at a time
_NEARER = 1e-12  # of k(z, z): a smaller step is rounding

String = tuple[Hashable, ...]


class OutputSearch(Spec, ABC):
    """How pre-images that cannot be moved, but only be tried, are found."""

    domain: ClassVar[type[Samples]]

    @abstractmethod
    def solve(self, images: Images, resources: Resources = UNLIMITED) -> Samples:
        """Return one packed sample near to each element."""

    def _require(self, images: Images) -> None:
        if not isinstance(images.samples, self.domain):
            raise CapabilityError(
                f"{type(self).__name__} was given {type(images.samples).__name__}; it looks for "
                f"{self.domain.__name__}. Leave preimage out, or give candidates to choose from."
            )


def nearest(images: Images, candidates: Samples, count: int, resources: Resources = UNLIMITED) -> Indices:
    """Return the places of the candidates that are nearest to each element, (m, count), the nearest first."""
    T = images.kernel.prepare(candidates)
    own = images.kernel.diag(T)
    values = images.at_samples(resources) if candidates is images.samples else _values(images, T, resources)
    places = np.empty((len(images), count), dtype=np.intp)
    for rows in spans(len(images), max(1, _ENTRIES // len(own))):
        distances = own - 2.0 * images.weights[rows] @ values.T
        places[rows] = np.argsort(distances, axis=1, kind="stable")[:, :count]
    return places


def _values(images: Images, T: Samples, resources: Resources) -> Floats:
    """Return what weights make the values of elements of, at prepared samples, (t, L)."""
    return np.asarray(Cross(images.kernel, T, images.samples, resources) @ images.coef)


def _distances(images: Images, T: Samples, owner: Indices, resources: Resources) -> Floats:
    """Return the distance of each sample to the element that it belongs to, but for |P|^2, (t,)."""
    T = images.kernel.prepare(T)
    return images.kernel.diag(T) - 2.0 * np.einsum("tl,tl->t", _values(images, T, resources), images.weights[owner])


class BeamSearch(OutputSearch):
    r"""Strings near to elements, built symbol by symbol; of each length the nearest few are extended.

    .. math:: \min_{s \in \Sigma^*, |s| \le L} \; k(s, s) - 2 \sum_i c_i \, k(s_i, s)

    Beside the extended strings, the beginnings of the nearest training strings take part at each length: a kernel of
    long substrings sees nothing in short ones, and the string found is never further away than these.

    Seed: [HSS] Section 3.3.4 (pre-images of outputs that are not vectors).

    Parameters
    ----------
    width : int, default 10
        Strings that are extended at each length.
    max_length : int, optional
        L; None is the length of the longest training string.
    alphabet : sequence of symbols, optional
        None are those of the training strings.

    Notes
    -----
    Exact if no string of a length has to be dropped. Cost width * |alphabet| * L strings for each element, each of them
    compared with all training strings.

    Examples
    --------
    >>> from mercer import KernelDependencyEstimation
    >>> from mercer.kernels import Linear, Spectrum
    >>> X, y = np.eye(3), ["ab", "bc", "ca"]
    >>> model = KernelDependencyEstimation(Linear(), 1e-6, output_kernel=Spectrum(1), preimage=BeamSearch(5, 2))
    >>> ["".join(sorted(s)) for s in model.fit(X, y).predict(X)]  # a kernel of letters knows no order
    ['ab', 'bc', 'ac']
    """

    domain = Strings
    constraints = {
        "width": Integer(1),
        "max_length": Optional(Integer(0)),
        "alphabet": Optional(
            Satisfies(
                "a sequence of symbols, not empty",
                lambda given: isinstance(given, Sequence) and len(given) > 0 and all(map(is_hashable, given)),
            )
        ),
    }

    def __init__(
        self, width: int = 10, max_length: int | None = None, alphabet: Sequence[Hashable] | None = None
    ) -> None:
        self.width = width
        self.max_length = max_length
        self.alphabet = alphabet

    def solve(self, images: Images, resources: Resources = UNLIMITED) -> Strings:
        """Extend the strings of all elements side by side."""
        self._require(images)
        known: Any = images.samples
        longest = int(known.lengths.max(initial=0)) if self.max_length is None else self.max_length
        symbols = known.vocabulary if self.alphabet is None else tuple(dict.fromkeys(self.alphabet))
        near = nearest(images, known, min(self.width, len(known)), resources)
        starts = [[known.symbols(int(i)) for i in row] for row in near]
        best = [_Best() for _ in starts]
        beams: list[list[String]] = [[] for _ in starts]
        for length in range(longest + 1):
            grown = [_grown(beam, symbols, given, length) for beam, given in zip(beams, starts, strict=True)]
            judged = self._judge(images, grown, resources)
            for p, (strings, distances) in enumerate(zip(grown, judged, strict=True)):
                order = np.argsort(distances, kind="stable")[: self.width]
                beams[p] = [strings[i] for i in order]
                if len(order):
                    best[p].see(strings[order[0]], float(distances[order[0]]))
        return Strings.pack([one.string for one in best])

    def _judge(self, images: Images, grown: list[list[String]], resources: Resources) -> list[Floats]:
        """Return the distances of the strings of each element."""
        counts = [len(strings) for strings in grown]
        owner, flat = np.repeat(np.arange(len(grown)), counts), [s for strings in grown for s in strings]
        out = np.empty(len(flat))
        for rows in spans(len(flat), max(1, _ENTRIES // images.coef.shape[1])):
            out[rows] = _distances(images, Strings.pack(flat[rows]), owner[rows], resources)
        return np.split(out, np.cumsum(counts)[:-1])


class _Best:
    """The nearest string so far; of those that are alike, the first."""

    def __init__(self) -> None:
        self.string: String = ()
        self.distance = np.inf

    def see(self, string: String, distance: float) -> None:
        if distance < self.distance:
            self.string, self.distance = string, distance


def _grown(beam: list[String], symbols: Sequence[Hashable], starts: list[String], length: int) -> list[String]:
    """Return the strings of a length that are tried, each once."""
    extended: Iterator[String] = ((*string, symbol) for string in beam for symbol in symbols)
    begun = (string[:length] for string in starts if len(string) >= length)
    return list(dict.fromkeys([*begun, *extended]))


class LabelFlips(OutputSearch):
    r"""Sets of labels near to elements: the nearest training set, changed label by label as long as it pays.

    .. math:: \min_{z \in \{0, 1\}^d} \; k(z, z) - 2 \sum_i c_i \, k(z_i, z)

    Sets are rows of zeros and ones, as scikit-learn has several labels.

    Seed: [HSS] Section 3.3.4 (pre-images of outputs that are not vectors).

    Parameters
    ----------
    max_flips : int, default 1000
        Labels that are changed at most.

    Notes
    -----
    No single label that is changed comes nearer, unless `max_flips` ends the search; with a linear kernel the set is
    the nearest of all. Cost d sets for each step and element.

    Examples
    --------
    >>> from mercer import KernelDependencyEstimation
    >>> from mercer.kernels import Linear
    >>> X, y = np.eye(3), np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]])
    >>> model = KernelDependencyEstimation(Linear(), 1e-6, output_kernel=Linear(), preimage=LabelFlips()).fit(X, y)
    >>> model.predict(X)
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 1., 0.]])
    """

    domain = Vectors
    constraints = {"max_flips": Integer(0)}

    def __init__(self, max_flips: int = 1000) -> None:
        self.max_flips = max_flips

    def solve(self, images: Images, resources: Resources = UNLIMITED) -> Vectors:
        """Change the sets of all elements side by side."""
        self._require(images)
        known = dense(images.samples)
        if not np.all((known == 0.0) | (known == 1.0)):
            strange = known[(known != 0.0) & (known != 1.0)][0]
            raise ParameterError(
                f"LabelFlips was given outputs that have the entry {strange:g}; sets of labels have zeros and ones. "
                "Leave preimage out for other numbers."
            )
        Z = known[nearest(images, images.samples, 1, resources)[:, 0]].copy()
        for rows in spans(len(Z), max(1, _ENTRIES // max(Z.shape[1] ** 2, images.coef.shape[1] * Z.shape[1]))):
            Z[rows] = self._flipped(images.take(rows), Z[rows], resources)
        return Vectors.pack(Z)

    def _flipped(self, images: Images, Z: Floats, resources: Resources) -> Floats:
        active, d = np.arange(len(Z)), Z.shape[1]
        now = _distances(images, Vectors.pack(Z), active, resources)
        for _ in range(self.max_flips):
            tried = np.repeat(Z[active], d, axis=0)
            place = np.arange(len(tried)), np.tile(np.arange(d), len(active))
            tried[place] = 1.0 - tried[place]
            found = _distances(images, Vectors.pack(tried), np.repeat(active, d), resources).reshape(-1, d)
            label = np.argmin(found, axis=1)
            value = found[np.arange(len(active)), label]
            nearer = value < now[active] - _NEARER * np.abs(now[active])
            active, label = active[nearer], label[nearer]
            if not len(active):
                break
            now[active] = value[nearer]
            Z[active, label] = 1.0 - Z[active, label]
        return Z

"""Rows of the kernels of exact matches: k-mers beside scikit-learn's, all substrings beside a tenth of them.

Everybody starts from Python strings. That the time of all substrings is linear is shown by the same kernel on a tenth
of the symbols, and that of a prediction by the same function of a tenth of the support.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.row import Peer, Row, Timing, Words, times_faster, times_the_cost
from mercer.domains import Strings
from mercer.kernels import Substrings
from mercer.kernels.strings.spectrum import Spectrum

AMINO = "ACDEFGHIKLMNPQRSTVWY"
ALL = Substrings(decay=0.5)


@dataclass(frozen=True, eq=False)
class Machine:
    """Functions of many strings and of a tenth of them, and new strings."""

    support: Any
    coef: np.ndarray
    function: Any
    smaller: Any
    new: list[str]


@dataclass(frozen=True)
class Support:
    """Random strings with coefficients, and a hundred new strings."""

    count: int
    length: int

    def make(self) -> Machine:
        words = Words(self.count + 100, self.length).make()
        support, new = Strings.pack(words[: self.count]), words[self.count :]
        coef = np.random.default_rng(1).standard_normal(self.count)
        tenth = self.count // 10
        function, smaller = (ALL.compile(support[:n], coef[:n]) for n in (self.count, tenth))
        return Machine(ALL.prepare(support), coef, function, smaller, new)

    def __str__(self) -> str:
        return f"{self.count} support strings and 100 new ones of {self.length} letters"


def counted(words: list[str]) -> Any:
    counts: Any = CountVectorizer(analyzer="char", ngram_range=(5, 5), lowercase=False).fit_transform(words)
    return (counts @ counts.T).toarray()


def tenth(words: list[str]) -> Any:
    return Substrings()([word[: len(word) // 10] for word in words])


def _spectrum(name: str, alphabet: str) -> Timing:
    return Timing(
        name,
        "Spectrum(5), all pairs, from str",
        Words(1000, 1000, alphabet),
        Words(200, 1000, alphabet),
        ours=lambda words: Spectrum(5)(words),
        peers=(
            Peer("sklearn CountVectorizer", counted, times_faster(20.0)),
            Peer("mercer by a trie", lambda words: Spectrum(5, method="trie")(words)),
        ),
        fewest=2,
    )


ROWS: tuple[Row, ...] = (
    _spectrum("spectrum-dna", "ACGT"),
    _spectrum("spectrum-protein", AMINO),
    Timing(
        "substrings-linear",
        "Substrings(), two strings, from str",
        Words(2, 500_000),
        Words(2, 50_000),
        ours=lambda words: Substrings()(words),
        peers=(Peer("mercer on a tenth", tenth, times_the_cost(15.0), same=False),),
    ),
    Timing(
        "substrings-linear-small",
        "Substrings(), two strings, from str",
        Words(2, 50_000),
        Words(2, 20_000),
        ours=lambda words: Substrings()(words),
        peers=(Peer("mercer on a tenth", tenth, times_the_cost(12.0), same=False),),
    ),
    Timing(
        "substrings",
        "Substrings(), all pairs, from str",
        Words(1000, 1000),
        Words(100, 1000),
        ours=lambda words: Substrings()(words),
        fewest=2,
    ),
    Timing(
        "substrings-prediction",
        "sum_i a_i k(s_i, x), compiled, Substrings(decay=0.5)",
        Support(1000, 1000),
        Support(100, 1000),
        ours=lambda machine: machine.function(ALL.pack(machine.new)),
        peers=(
            Peer("mercer pair by pair", lambda m: ALL(m.new, m.support) @ m.coef, times_faster(4.0)),
            Peer(
                "mercer, a tenth of the support", lambda m: m.smaller(ALL.pack(m.new)), times_the_cost(5.0), same=False
            ),
        ),
    ),
)

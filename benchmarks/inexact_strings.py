"""Rows of the kernels of inexact matches: mismatches, gaps, alignments.

Everybody starts from Python strings. For gap-weighted subsequences there is no package to compare with; the peer is the
textbook's table, filled pair by pair by compiled code on one core. An entry of a table is a pair of places and a
level: the row of 160 strings of 200 letters has 2.06e9 of them.
"""

from __future__ import annotations

import importlib
from typing import Any

import numba
import numpy as np

from benchmarks.row import Peer, Row, Timing, Words, times_faster, times_the_cost
from mercer.domains import Strings
from mercer.kernels.strings.alignment import LocalAlignment
from mercer.kernels.strings.mismatch import Mismatch, Wildcard
from mercer.kernels.strings.subsequence import GappySpectrum, Subsequence

AMINO = "ACDEFGHIKLMNPQRSTVWY"


def trie(words: list[str]) -> Any:
    """strkernel's mismatch kernel, on the numbers it wants."""
    letters = {letter: code for code, letter in enumerate("ACGT")}
    coded = np.array([[letters[letter] for letter in word] for word in words])
    kernel = importlib.import_module("strkernel.mismatch_kernel").MismatchKernel(l=4, k=5, m=1)
    return kernel.get_kernel(coded, normalize=False).kernel


@numba.njit(cache=True)
def _textbook(codes, offsets, p, decay, out):
    longest = np.max(np.diff(offsets)) + 1
    matched, table = np.zeros((longest, longest)), np.zeros((longest, longest))
    for a in range(out.shape[0]):
        for b in range(a, out.shape[0]):
            s, t = codes[offsets[a] : offsets[a + 1]], codes[offsets[b] : offsets[b + 1]]
            for i in range(s.size):
                for j in range(t.size):
                    matched[i + 1, j + 1] = decay * decay if s[i] == t[j] else 0.0
            for _ in range(1, p):
                total = 0.0
                for i in range(1, s.size + 1):
                    for j in range(1, t.size + 1):
                        table[i, j] = (
                            matched[i, j]
                            + decay * (table[i - 1, j] + table[i, j - 1])
                            - decay * decay * table[i - 1, j - 1]
                        )
                for i in range(s.size, 0, -1):
                    for j in range(t.size, 0, -1):
                        matched[i, j] = decay * decay * table[i - 1, j - 1] if s[i - 1] == t[j - 1] else 0.0
                        total += matched[i, j]
            out[a, b] = out[b, a] = total


def textbook(words: list[str]) -> Any:
    S = Strings.pack(words)
    out = np.empty((len(S), len(S)))
    _textbook(S.codes, S.offsets, 4, 0.5, out)
    return out


def tenth(words: list[str]) -> Any:
    return Mismatch(5, 1)([word[: len(word) // 10] for word in words])


def _subsequence(name: str, count: int, length: int, bar: float) -> Timing:
    return Timing(
        name,
        "Subsequence(4), all pairs, from str",
        Words(count, length),
        Words(16, length),
        ours=lambda words: Subsequence(4, decay=0.5)(words),
        peers=(Peer("table of the textbook, compiled", textbook, times_faster(bar)),),
        fewest=2,
    )


ROWS: tuple[Row, ...] = (
    Timing(
        "mismatch",
        "Mismatch(5, 1), all pairs, from str",
        Words(100, 200),
        Words(20, 200),
        ours=lambda words: Mismatch(5, 1)(words),
        peers=(Peer("strkernel", trie, times_faster(100.0), package="strkernel"),),
    ),
    Timing(
        "mismatch-linear",
        "Mismatch(5, 1), ten strings, from str",
        Words(10, 500_000),
        Words(10, 50_000),
        ours=lambda words: Mismatch(5, 1)(words),
        peers=(Peer("mercer on a tenth", tenth, times_the_cost(12.0), same=False),),
        fewest=2,
    ),
    Timing(
        "mismatch-protein",
        "Mismatch(5, 1, 'protein'), all pairs, from str",
        Words(100, 200, AMINO),
        Words(20, 200, AMINO),
        ours=lambda words: Mismatch(5, 1, "protein")(words),
    ),
    Timing(
        "wildcard",
        "Wildcard(5, 2), all pairs, from str",
        Words(1000, 200, AMINO),
        Words(100, 200, AMINO),
        ours=lambda words: Wildcard(5, 2)(words),
        fewest=2,
    ),
    Timing(
        "gappy-spectrum",
        "GappySpectrum(4, 2), all pairs, from str",
        Words(1000, 200),
        Words(100, 200),
        ours=lambda words: GappySpectrum(4, 2)(words),
        fewest=2,
    ),
    _subsequence("subsequence", 160, 200, 4.0),
    _subsequence("subsequence-long", 32, 1000, 4.0),
    Timing(
        "local-alignment",
        "LocalAlignment(), all pairs, from str",
        Words(60, 200, AMINO),
        Words(12, 200, AMINO),
        ours=lambda words: LocalAlignment("blosum62", 11.0, 1.0)(words),
        fewest=2,
    ),
)

"""Words of texts: where they begin and end, and a number for each distinct one, without a Python object per word.

Symbols: N characters of all texts one after another, n texts, T words, D distinct ones. A character is of one of the
kinds below; a word is a longest run of word characters, in which single joints may occur between two of them.
"""

from __future__ import annotations

import unicodedata

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Indices
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import in_background

__all__ = ["split"]

OTHER, WORD, JOINT, END = range(4)
_JOINTS = "'\N{RIGHT SINGLE QUOTATION MARK}"
_WORK = 40.0  # floating-point operations that take as long as a character


def split(text: str, bounds: Indices, ends: str = "") -> tuple[NDArray[np.int32], Indices, list[str]]:
    """Cut texts into words and number them.

    Parameters
    ----------
    text : str
        All texts, one after another.
    bounds : (n + 1,) array of intp
        Where the texts begin in it.
    ends : str, default ""
        Characters that are separate words, unless a word continues after them (as in 3.14).

    Returns
    -------
    codes : (T,) array of int32
        The numbers of the words, in the order in which they are first seen.
    offsets : (n + 1,) array of intp
        Where the texts begin among the words.
    words : list of str
        The D distinct words.

    Notes
    -----
    Word characters are letters, digits and marks of any script, and the underscore; an apostrophe joins. O(N).

    Examples
    --------
    >>> codes, offsets, words = split("it's it.so be it", np.array([0, 8, 16]), ".")
    >>> codes, offsets, words
    (array([0, 1, 2, 3, 4, 1], dtype=int32), array([0, 3, 6]), ["it's", 'it', '.', 'so', 'be'])
    """
    if text.isascii():
        points = np.frombuffer(text.encode("ascii"), np.uint8)
        present = range(128)
    else:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32, copy=False)
        seen = np.zeros(int(points.max()) + 1, bool)
        seen[points] = True
        present = np.flatnonzero(seen).tolist()
    kinds = np.zeros(max(present, default=0) + 1, np.uint8)
    for point in present:
        kinds[point] = _kind(chr(point), ends)
    bits = 8 if points.itemsize == 1 else 21  # of a character, so that several make a number of 64
    codes, offsets, starts, stops = in_background(_number, points, kinds, bounds, bits, work=_WORK * len(points))
    words = [text[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
    return codes, offsets, words


def _kind(character: str, ends: str) -> int:
    if character in ends:
        return END
    if character in _JOINTS:
        return JOINT
    # vowel signs of many scripts are marks, and do not break words
    is_word = character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"
    return WORD if is_word else OTHER


@compiled
def _number(points, kinds, bounds, bits):
    """Look every word up in a table with open addressing, which doubles when half full.

    The letters of a word are read as few numbers, each mixed into one of 64 bits in a way that can be undone: words
    that fit in one number are the same if they have the same mixture and length; for others the letters are compared.
    """
    n, bits, per = bounds.size - 1, np.uint64(bits), 64 // bits
    offsets = np.zeros(n + 1, np.intp)
    codes = np.empty(max(points.size // 4, 16), np.int32)
    slots = np.full(1024, -1, np.int32)
    known = np.empty((512, 3), np.int64)  # of each word: the mixture, where it is first, and its length
    count, total = 0, 0
    for i in range(n):
        place, stop = bounds[i], bounds[i + 1]
        while place < stop:
            kind = kinds[points[place]]
            begin = place
            place += 1
            if kind != WORD and (kind != END or (place < stop and kinds[points[place]] == WORD)):
                continue
            mixed, letters, filled = np.uint64(0), np.uint64(points[begin]), 1
            while kind == WORD and place < stop:
                following = kinds[points[place]]
                if following != WORD and not (
                    following == JOINT and place + 1 < stop and kinds[points[place + 1]] == WORD
                ):
                    break
                if filled == per:
                    mixed = (mixed ^ letters) * np.uint64(0x9E3779B97F4A7C15)
                    mixed ^= mixed >> np.uint64(32)
                    letters, filled = np.uint64(0), 0
                letters = (letters << bits) | np.uint64(points[place])
                filled += 1
                place += 1
            mixed = (mixed ^ letters) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
            length, mixture = place - begin, np.int64(mixed)
            last = slots.size - 1
            slot = np.int64(mixed & np.uint64(last))
            while slots[slot] >= 0:
                word = slots[slot]
                if known[word, 0] == mixture and known[word, 2] == length:
                    same = True
                    if length > per:
                        first = known[word, 1]
                        for t in range(length):
                            if points[first + t] != points[begin + t]:
                                same = False
                                break
                    if same:
                        break
                slot = (slot + 1) & last
            if slots[slot] < 0:
                slots[slot] = count
                known[count, 0] = mixture
                known[count, 1] = begin
                known[count, 2] = length
                count += 1
            if total == codes.size:
                codes = np.concatenate((codes, np.empty(total, np.int32)))
            codes[total] = slots[slot]
            total += 1
            if count == len(known):
                known = np.concatenate((known, np.empty((count, 3), np.int64)))
                slots = np.full(4 * count, -1, np.int32)
                for word in range(count):
                    slot = known[word, 0] & (slots.size - 1)
                    while slots[slot] >= 0:
                        slot = (slot + 1) & (slots.size - 1)
                    slots[slot] = word
        offsets[i + 1] = total
    return codes[:total].copy(), offsets, known[:count, 1].copy(), known[:count, 1] + known[:count, 2]

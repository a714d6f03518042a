"""What two samples have in common, in words: substrings, words, subtrees, labels of nodes, values of columns."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

__all__ = ["common", "common_substrings", "productions", "subtrees"]

LISTED = 12
LONGEST = 2000  # letters of a string that are compared


def common(kind: str, a: Any, b: Any) -> list[dict[str, Any]]:
    """Return what two samples share, the most telling first: each with a text and a number.

    Parameters
    ----------
    kind : "strings", "texts", "trees", "graphs", "numbers" or "rows"
    a, b : the samples
        Texts; trees as texts in brackets; lists of the labels of nodes; numbers; mappings of columns.

    Examples
    --------
    >>> common("texts", "a red house", "the red car")
    [{'what': 'red', 'count': 1}]
    """
    if kind == "strings":
        return [{"what": text, "count": len(text)} for text in common_substrings(str(a), str(b))]
    if kind == "texts":
        return _both(_words(a), _words(b))
    if kind == "trees":
        return _both(Counter(productions(a)), Counter(productions(b)), key=lambda text: text.count("("))
    if kind == "graphs":
        return _both(Counter(map(str, a)), Counter(map(str, b)))
    if kind == "rows":
        return [_row(name, a[name], b[name]) for name in a if name in b][:LISTED]
    return [_row(f"column {j}", u, v) for j, (u, v) in enumerate(zip(a, b, strict=True))][:LISTED]


def _words(text: Any) -> Counter[str]:
    return Counter(re.findall(r"\w+", str(text).lower()))


def _both(a: Counter[str], b: Counter[str], key: Any = len) -> list[dict[str, Any]]:
    """Return what is in both, the largest first."""
    shared = a & b
    order = sorted(shared, key=lambda text: (-key(text), text))
    return [{"what": text, "count": shared[text]} for text in order[:LISTED]]


def _row(name: str, u: Any, v: Any) -> dict[str, Any]:
    same = u == v
    if isinstance(u, str) or isinstance(v, str):
        return {"what": f"{name}: {u if same else f'{u} and {v}'}"[:120], "count": int(same)}
    return {"what": f"{name}: {u:.4g} and {v:.4g}", "count": round(abs(float(u) - float(v)), 6)}


def common_substrings(a: str, b: str) -> list[str]:
    """Return substrings of both that are part of no longer common one, the longest first.

    Examples
    --------
    >>> common_substrings("GATTACA", "TATTAGA")
    ['ATTA', 'GA', 'TA']
    """
    a, b = a[:LONGEST], b[:LONGEST]
    before, found = [0] * (len(b) + 1), set()
    for i in range(1, len(a) + 1):
        now = [0] * (len(b) + 1)
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                now[j] = before[j - 1] + 1
                if i == len(a) or j == len(b) or a[i] != b[j]:  # it cannot be longer here
                    found.add(a[i - now[j] : i])
        before = now
    longest = sorted(found, key=lambda text: (-len(text), text))
    kept: list[str] = []
    for text in longest:
        if len(text) > 1 or not kept:
            kept.append(text)
        if len(kept) == LISTED:
            break
    return kept


def productions(text: str) -> list[str]:
    """Return the whole subtrees of a tree, and for each of its nodes the labels of the children.

    Examples
    --------
    >>> productions("(S (NP dogs) (VP bark))")
    ['(NP dogs)', '(VP bark)', '(S (NP dogs) (VP bark))', 'S → NP VP']
    """
    whole = subtrees(text)
    rules = []
    for tree in whole:
        inner = tree[1:-1]
        while inner != (shorter := re.sub(r"\((\S+)[^()]*\)", r"\1", inner)):
            inner = shorter
        label, *children = inner.split()
        if "(" in tree[1:]:  # a node above leaves is a whole subtree already
            rules.append(f"{label} → {' '.join(children)}")
    return whole + rules


def subtrees(text: str) -> list[str]:
    """Return the whole subtrees of a tree in brackets, with more than a leaf.

    Examples
    --------
    >>> subtrees("(S (NP dogs) (VP bark))")
    ['(NP dogs)', '(VP bark)', '(S (NP dogs) (VP bark))']
    """
    found, open_at = [], []
    for place, letter in enumerate(text):
        if letter == "(":
            open_at.append(place)
        elif letter == ")" and open_at:
            found.append(" ".join(text[open_at.pop() : place + 1].split()))
    return found

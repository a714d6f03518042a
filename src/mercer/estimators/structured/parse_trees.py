r"""Outputs that are parse trees of a grammar: the chart of Cocke, Kasami and Younger, with maxima or sums.

Symbols: m words; span (i, j) the words from i to before j; chart[i, j, A] the best score of a tree with label A over
the span, or the logarithm of the sum over all; a rule A -> B C has one weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import InstanceOf, Optional, Positive
from mercer.errors import DomainError, TargetError
from mercer.estimators.structured.output_space import OutputSpace, Sums
from mercer.networks.log_tables import log_sum

__all__ = ["Parse", "ParseTrees"]
__public__ = ["ParseTrees"]

_MOST = 2**16  # outputs that are listed


@dataclass(frozen=True)
class Parse:
    """A binary tree over some words: its nodes (i, j, label, rule), sorted; the rule of a single word is -1."""

    nodes: tuple[tuple[int, int, int, int], ...]

    def __len__(self) -> int:
        return (len(self.nodes) + 1) // 2  # words

    @cached_property
    def spans(self) -> frozenset[tuple[int, int, int]]:
        """Labelled spans."""
        return frozenset(node[:3] for node in self.nodes)


class ParseTrees(OutputSpace):
    r"""A binary parse tree over the words of a sentence, of a grammar whose rules are those of the training trees.

    .. math:: f(x, y) = \sum_s f_{t_s(y)}(x_s) + \sum_{r} w_r \, n_r(y), \qquad
        \Delta(y, y') = |\{\text{labelled spans of } y' \text{ that } y \text{ has not}\}|

    with the tags t_s of the words and the numbers n_r of uses of each rule. The best tree, the one that violates most
    and the sums over all trees are exact, in O(m^3) for each rule.

    Seed: [HSS] Section 4.1.3: parsing with a weighted context-free grammar, whose statistics are the frequencies of
    productions.

    Parameters
    ----------
    rule_scale : float, default 1.0
        Of the kernel of rules.
    rules : (R, 3) array, optional
        Learned: labels A, B, C of the rules A -> B C, as places in `classes`.
    classes : array, optional
        Learned: the labels, sorted.
    tags : array, optional
        Learned: places of the labels that single words have.
    roots : array, optional
        Learned: places of the labels that whole sentences have.

    Notes
    -----
    X is a list of sentences, each a list of what the kernel compares, one for each word. A tree is a tuple (label,
    left, right); a single word is the text of its tag. Trees must be binarised first, and chains of single children
    joined.

    Examples
    --------
    >>> tree = ("S", ("NP", "D", "N"), "V")
    >>> space = ParseTrees().learn([tree])
    >>> space.decode([space.best(np.zeros((3, 3)), np.zeros(2))])[0]
    ('S', ('NP', 'D', 'N'), 'V')
    """

    has_sites = True
    constraints = {
        "rule_scale": Positive(),
        "rules": Optional(InstanceOf(np.ndarray, list, tuple)),
        "classes": Optional(InstanceOf(np.ndarray, list, tuple)),
        "tags": Optional(InstanceOf(np.ndarray, list, tuple)),
        "roots": Optional(InstanceOf(np.ndarray, list, tuple)),
    }

    def __init__(
        self, rule_scale: float = 1.0, rules: Any = None, classes: Any = None, tags: Any = None, roots: Any = None
    ) -> None:
        self.rule_scale = rule_scale
        self.rules = rules
        self.classes = classes
        self.tags = tags
        self.roots = roots

    @property
    def width(self) -> int:
        """Number of tags."""
        return len(self.tags)

    @property
    def extras(self) -> int:
        """Number of rules."""
        return len(self.rules)

    # reading ------------------------------------------------------------------------------------------

    def learn(self, y: Any) -> Self:
        trees = _trees(y)
        found: set[tuple[str, str, str]] = set()
        tags: set[str] = set()
        for tree in trees:
            _collect(tree, found, tags)
        classes = sorted(tags | {label for rule in found for label in rule})
        place = {label: at for at, label in enumerate(classes)}
        return self.replace(
            rules=np.array(sorted([place[a] for a in rule] for rule in found), dtype=np.intp).reshape(-1, 3),
            classes=np.array(classes),
            tags=np.array(sorted(place[tag] for tag in tags), dtype=np.intp),
            roots=np.unique([place[_label(tree)] for tree in trees]).astype(np.intp),
        )

    def encode(self, y: Any) -> Array:
        trees = _trees(y)
        place = {label: at for at, label in enumerate(np.asarray(self.classes).tolist())}
        rules = {tuple(rule): at for at, rule in enumerate(np.asarray(self.rules).tolist())}
        tags = set(np.asarray(self.tags).tolist())
        out = np.empty(len(trees), dtype=object)
        for i, tree in enumerate(trees):
            nodes: list[tuple[int, int, int, int]] = []
            if place.get(_label(tree), -1) not in self.roots or not _code(tree, 0, place, rules, tags, nodes):
                raise TargetError(
                    f"tree {i} of y is {tree!r:.80}, which is not in the grammar: a rule, a tag or a label at the top "
                    "was never seen. Give trees of the rules that were there in fit."
                )
            out[i] = Parse(tuple(sorted(nodes)))
        return out

    def decode(self, outputs: Sequence[Any]) -> Any:
        return [self._tree_of(output) for output in outputs]

    def _tree_of(self, parse: Parse) -> Any:
        classes, rules = np.asarray(self.classes), np.asarray(self.rules)
        at = {node[:3]: node for node in parse.nodes}

        def built(i: int, j: int, label: int) -> Any:
            rule = at[i, j, label][3]
            if rule < 0:
                return str(classes[label])
            _, left, right = rules[rule].tolist()
            k = next(k for k in range(i + 1, j) if (i, k, left) in at and (k, j, right) in at)
            return str(classes[label]), built(i, k, left), built(k, j, right)

        top = next(node for node in parse.nodes if node[:2] == (0, len(parse)))
        return built(*top[:3])

    # scores -------------------------------------------------------------------------------------------

    def features(self, output: Any, sites: int) -> tuple[Floats, Floats]:
        psi, g = np.zeros((sites, self.width)), np.zeros(self.extras)
        column = {tag: at for at, tag in enumerate(np.asarray(self.tags).tolist())}
        for i, _, label, rule in output.nodes:
            if rule < 0:
                psi[i, column[label]] = 1.0
            else:
                g[rule] += np.sqrt(self.rule_scale)
        return psi, g

    def loss(self, truth: Any, output: Any) -> float:
        return float(len(output.spans - truth.spans))

    def agreement(self, truth: Any, output: Any) -> tuple[float, float]:
        """Return how many labelled spans are right, and how many there are."""
        return float(len(output.spans & truth.spans)), float(len(output.spans))

    def _inside(self, F: Floats, w: Floats, reduce: Any, bonus: Floats | None = None) -> Floats:
        """Return the chart, (m, m + 1, labels), with maxima or sums over all trees of each span."""
        m, rules, weights = len(F), np.asarray(self.rules), np.sqrt(self.rule_scale) * w
        chart = np.full((m, m + 1, len(self.classes)), -np.inf)
        chart[np.arange(m)[:, None], np.arange(1, m + 1)[:, None], np.asarray(self.tags)] = F
        if bonus is not None:
            chart[np.arange(m), np.arange(1, m + 1)] += bonus[np.arange(m), np.arange(1, m + 1)]
        heads = [(a, np.flatnonzero(rules[:, 0] == a)) for a in np.unique(rules[:, 0])]
        for length in range(2, m + 1):
            for i in range(m - length + 1):
                j = i + length
                scores = reduce(_splits(chart, i, j, rules) + weights, 0)
                for a, own in heads:
                    chart[i, j, a] = reduce(scores[own], 0) + (0.0 if bonus is None else bonus[i, j, a])
        return chart

    def augmented(self, F: Floats, w: Floats, truth: Any) -> Any:
        bonus = None
        if truth is not None:
            bonus = np.ones((len(F), len(F) + 1, len(self.classes)))
            for i, j, label in truth.spans:
                bonus[i, j, label] = 0.0
        chart = self._inside(F, w, np.max, bonus)
        return Parse(tuple(sorted(self._traced(chart, np.sqrt(self.rule_scale) * w))))

    def _traced(self, chart: Floats, weights: Floats) -> Iterator[tuple[int, int, int, int]]:
        """Yield the nodes of the best tree of a chart."""
        m, rules, roots = len(chart), np.asarray(self.rules), np.asarray(self.roots)
        ends = chart[0, m, roots]
        if not np.isfinite(ends).any():
            raise DomainError(
                f"a sentence of {m} words was given, over which the grammar of the training trees has no tree; there "
                "must be one. Add training trees whose rules reach further."
            )
        stack = [(0, m, int(roots[np.argmax(ends)]))]
        while stack:
            i, j, label = stack.pop()
            if j == i + 1:
                yield i, j, label, -1
                continue
            own = np.flatnonzero(rules[:, 0] == label)
            scores = _splits(chart, i, j, rules[own]) + weights[own]
            k, r = np.unravel_index(int(np.argmax(scores)), scores.shape)
            yield i, j, label, int(own[r])
            stack += [(i, i + 1 + int(k), int(rules[own[r], 1])), (i + 1 + int(k), j, int(rules[own[r], 2]))]

    def sums(self, F: Floats, w: Floats) -> Sums:
        m, rules, roots = len(F), np.asarray(self.rules), np.asarray(self.roots)
        weights = np.sqrt(self.rule_scale) * w
        inside = self._inside(F, w, _log_total)
        total = float(_log_total(inside[0, m, roots], 0))
        if total == -np.inf:  # no tree at all
            return Sums(total, np.zeros_like(F), np.zeros_like(w))
        outside, counts = np.full_like(inside, -np.inf), np.zeros(len(rules))
        outside[0, m, roots] = 0.0
        for length in range(m, 1, -1):
            for i in range(m - length + 1):
                j, ks = i + length, np.arange(i + 1, i + length)
                above = outside[i, j, rules[:, 0]] + weights
                left, right = inside[i, ks][:, rules[:, 1]], inside[ks, j][:, rules[:, 2]]
                counts += np.exp(left + right + above - total).sum(axis=0)
                place = np.repeat(ks, len(rules)).reshape(len(ks), -1)
                below: tuple[Any, Any] = (i, place, rules[None, :, 1]), (place, j, rules[None, :, 2])
                np.logaddexp.at(outside, below[0], above + right)
                np.logaddexp.at(outside, below[1], above + left)
        words = np.arange(m)
        psi = np.exp(inside[words, words + 1] + outside[words, words + 1] - total)[:, np.asarray(self.tags)]
        return Sums(total, psi, np.sqrt(self.rule_scale) * counts)

    def outputs(self, sites: int) -> Iterator[Parse]:
        zero = np.zeros((sites, self.width)), np.zeros(self.extras)
        ends = self._inside(*zero, _log_total)[0, sites, np.asarray(self.roots)]
        if _log_total(ends, 0) > np.log(_MOST):
            return super().outputs(sites)
        return (
            Parse(tuple(sorted(nodes)))
            for root in np.asarray(self.roots).tolist()
            for nodes in self._all(0, sites, root)
        )

    def _all(self, i: int, j: int, label: int) -> Iterator[list[tuple[int, int, int, int]]]:
        """Yield the nodes of every tree over a span."""
        if j == i + 1:
            if label in np.asarray(self.tags):
                yield [(i, j, label, -1)]
            return
        for r, (a, b, c) in enumerate(np.asarray(self.rules).tolist()):
            if a == label:
                for k in range(i + 1, j):
                    for left in self._all(i, k, b):
                        for right in self._all(k, j, c):
                            yield [(i, j, label, r), *left, *right]


def _splits(chart: Floats, i: int, j: int, rules: Indices) -> Floats:
    """Return the scores of both children, for each place between them and each rule, (j - i - 1, R)."""
    ks = np.arange(i + 1, j)
    return chart[i, ks][:, rules[:, 1]] + chart[ks, j][:, rules[:, 2]]


def _log_total(values: Floats, axis: int) -> Any:
    return log_sum(values, (axis,)) if values.size else -np.inf


def _trees(y: Any) -> list[Any]:
    """Return trees as they were given; TargetError if one of them is not a tree."""
    if y is None:
        raise TargetError("This estimator requires y to be passed, but the target y is None. Call fit(X, y).")
    trees = [y] if isinstance(y, str) else list(y)
    for i, tree in enumerate(trees):
        if isinstance(y, str) or not _is_tree(tree):
            raise TargetError(
                f"entry {i} of y is {tree!r:.60}; a binary tree is accepted, (label, left, right) with the text of a "
                "tag for a word. Make other trees binary first."
            )
    if not trees:
        raise TargetError("y is empty; a list of trees is accepted. Give at least one.")
    return trees


def _is_tree(tree: Any) -> bool:
    if isinstance(tree, str):
        return True
    good = isinstance(tree, (tuple, list)) and len(tree) == 3 and isinstance(tree[0], str)
    return good and _is_tree(tree[1]) and _is_tree(tree[2])


def _label(tree: Any) -> str:
    return tree if isinstance(tree, str) else tree[0]


def _collect(tree: Any, rules: set[tuple[str, str, str]], tags: set[str]) -> None:
    """Add the rules and tags of a tree."""
    if isinstance(tree, str):
        tags.add(tree)
        return
    rules.add((tree[0], _label(tree[1]), _label(tree[2])))
    for child in tree[1:]:
        _collect(child, rules, tags)


def _code(tree: Any, i: int, place: Any, rules: Any, tags: Any, nodes: Any) -> int:
    """Add the nodes of a tree that begins at word i; return where it ends, or 0 if it is not in the grammar."""
    label = place.get(_label(tree), -1)
    if isinstance(tree, str):
        nodes.append((i, i + 1, label, -1))
        return i + 1 if label in tags else 0
    k = _code(tree[1], i, place, rules, tags, nodes)
    j = _code(tree[2], k, place, rules, tags, nodes) if k else 0
    rule = rules.get((label, place.get(_label(tree[1]), -1), place.get(_label(tree[2]), -1)), -1)
    nodes.append((i, j, label, rule))
    return j if rule >= 0 else 0

r"""The parts of texts, sequences, trees and graphs that weigh most in a decision.

Where a kernel counts parts, the fitted function is linear in the counts, f(x) = sum_j w_j phi_j(x) + b, and every part
has a weight. Where it does not, parts of trees are removed one at a time, and their weight is the change of f.

Symbols: phi_j(x) the number for part j in sample x, w_j its weight, f the decision function of a class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import domains  # whose names are imported when they are used
from mercer.arrays import Bools, Floats
from mercer.domains import Frames, Strings, Texts
from mercer.gram import Expansion, FeatureExpansion
from mercer.kernels import Scaled, Sum
from mercer.kernels.algebra.maps import Selected
from mercer.reports.marks import Marked, marked
from mercer.reports.subject import NotApplicable, Subject
from mercer.reports.wording import shown

__all__ = ["WeightyFacts", "feature_weights", "weighty"]

SHOWN = 10  # parts of each class
MOST_CLASSES = 6
MOST_SAMPLES = 1000  # over which shares are averaged
EXAMPLES = 4
PRUNED = 40  # trees of which parts are taken out
MOST_PRUNED = 12  # parts of each


@dataclass(frozen=True)
class WeightyFacts:
    """Parts by class, and examples in which they are marked.

    Attributes
    ----------
    what : str
        What the parts are, in the plural.
    how : str
        How their weights were found, in words.
    classes : tuple of (label, rows)
        For each class, or for both signs of a number, (part, mean contribution, samples that have it).
    examples : tuple of Marked
    """

    what: str
    how: str
    classes: tuple[tuple[str, tuple[tuple[str, float, int], ...]], ...]
    examples: tuple[Marked, ...]


def weighty(subject: Subject) -> WeightyFacts:
    """Return the parts of structured samples that weigh most in the decision; of a table, of its column of texts."""
    if np.ndim(subject.y) != 1 or subject.task not in ("classification", "regression"):
        raise NotApplicable("it needs one target for each sample")
    expansion = getattr(subject.model, "expansion_", None)
    if isinstance(subject.samples, Frames):
        subject, expansion = _of_texts(subject, expansion)
    S = subject.samples
    if S is None or subject.X is None or not isinstance(S, (Strings, domains.Trees, domains.Graphs)):
        raise NotApplicable("the samples are not texts, sequences, trees or graphs")
    rows = np.arange(min(len(S), MOST_SAMPLES))
    some = replace(subject, y=np.asarray(subject.y)[rows], samples=S.take(rows), X=S.take(rows))
    assert some.samples is not None and subject.kernel is not None
    if "features" not in subject.kernel.capabilities:
        if isinstance(S, domains.Trees):
            return _pruned(some)
        raise NotApplicable(f"{shown(repr(subject.kernel), 80)} counts no parts that could be named")
    weights, keys = feature_weights(expansion)
    F, _ = subject.kernel.features(some.samples, keys)
    if F.shape[1] != len(weights) or not hasattr(F, "tocsc"):
        raise NotApplicable("the features of the kernel are no counts of parts")
    columns = F.tocsc()
    labels, W = _by_class(some, weights, columns)
    frequent, name, f = np.diff(columns.indptr), _namer(keys, S), np.asarray(columns @ W)
    classes = []
    for k, (label, w) in enumerate(zip(labels, W.T, strict=True)):
        own = _members(some, label, f[:, k])
        share = w * np.asarray(F[own].mean(axis=0) - F.mean(axis=0)).ravel() if own.any() else np.zeros(len(w))
        speaking = np.where(w > 0.0, share, 0.0)  # what speaks against a class and is rare in it is listed elsewhere
        top = [j for j in np.argsort(-speaking, kind="stable")[:SHOWN] if speaking[j] > 0.0]
        classes.append((label, tuple((name(int(j)), float(share[j]), int(frequent[j])) for j in top)))
    examples = tuple(marked(some, keys, W, labels, _exemplary(f)))
    how = (
        "The function is a weighted sum of what the kernel counts; shown is what a part adds to it in the samples of a "
        "class, in the mean, beyond what it adds in all samples."
    )
    if hasattr(keys, "levels"):
        how += " A(B C) is a node labelled A with neighbours labelled B and C, and theirs are in brackets again."
    return WeightyFacts(_what(S), how, tuple(classes), examples)


def _members(subject: Subject, label: str, f: Floats) -> Bools:
    """Return which samples are of a class; for numbers, those whose function is in the upper half."""
    if subject.task == "regression":
        return f >= np.median(f)
    return np.array([shown(one, 24) == label for one in np.asarray(subject.y)], dtype=bool)


def _of_texts(subject: Subject, expansion: Any) -> tuple[Subject, Any]:
    """Return the subject as if its column of texts were all there is, and the part of the function that reads it."""
    for factor, kernel in _terms(subject.kernel, 1.0):
        inner = getattr(kernel, "kernel", None)
        if not isinstance(kernel, Selected) or inner is None or not issubclass(inner.domain, Strings):
            continue
        own = _column(subject.samples, kernel)
        if isinstance(expansion, Expansion):
            coef = factor * np.asarray(expansion.coef, dtype=float)
            expansion = Expansion(inner, _column(expansion.samples, kernel), coef, expansion.intercept)
        elif kernel is not subject.kernel:
            break
        return replace(subject, samples=own, kernel=inner, X=own), expansion
    raise NotApplicable("no term of the kernel reads a column of texts alone")


def _terms(kernel: Any, factor: float) -> Iterator[tuple[float, Any]]:
    """Yield the terms of a sum with their factors."""
    if isinstance(kernel, Sum):
        for term in kernel.terms:
            yield from _terms(term, factor)
    elif isinstance(kernel, Scaled):
        yield from _terms(kernel.kernel, factor * float(kernel.scale))
    else:
        yield factor, kernel


def _column(samples: Any, kernel: Selected) -> Any:
    return samples.part(kernel.part)


def feature_weights(expansion: Any) -> tuple[Floats, Any]:
    """Return the weights of the features, (D, k), and what identifies them."""
    if isinstance(expansion, FeatureExpansion):
        return np.asarray(expansion.weights, dtype=float).reshape(len(expansion.weights), -1), expansion.keys
    coef = np.asarray(expansion.coef, dtype=float)
    used = np.flatnonzero(np.any(coef.reshape(len(coef), -1) != 0.0, axis=1))
    F, keys = expansion.kernel.features(expansion.samples.take(used))
    return np.asarray(F.T @ coef[used].reshape(len(used), -1)), keys


def _by_class(subject: Subject, weights: Floats, columns: Any) -> tuple[list[str], Floats]:
    """Return labels and the weights of a function for each: of every class, or of both directions of a number."""
    if subject.task == "regression":
        return ["larger predictions", "smaller predictions"], np.column_stack([weights[:, 0], -weights[:, 0]])
    y, classes = np.asarray(subject.y), subject.model.classes_
    names = [shown(label, 24) for label in classes]
    if len(classes) == 2:
        return names, np.column_stack([-weights[:, 0], weights[:, 0]])
    pairs = [(a, b) for a in range(len(classes)) for b in range(a + 1, len(classes))]
    if getattr(subject.model, "multi_class", "") == "ovo" and weights.shape[1] == len(pairs):
        votes = np.zeros((len(pairs), len(classes)))
        for place, (a, b) in enumerate(pairs):
            votes[place, a], votes[place, b] = 1.0, -1.0
        weights = weights @ votes
        f = columns @ weights
        own = np.mean(
            [f[y == label, k].mean() - f[:, k].mean() for k, label in enumerate(classes) if np.any(y == label)]
        )
        weights = weights if own > 0 else -weights  # whichever class of a pair is the positive one
    if weights.shape[1] != len(classes):
        raise NotApplicable("the model has no function for each class")
    common = np.argsort([-np.sum(y == label) for label in classes], kind="stable")[:MOST_CLASSES]
    return [names[k] for k in common], weights[:, common]


def _exemplary(f: Floats) -> list[int]:
    """Return samples that are decided clearly, not the clearest, from each class in turn."""
    found: list[int] = []
    for k in range(min(f.shape[1], EXAMPLES)):
        order = np.argsort(-f[:, k], kind="stable")
        take = max(1, EXAMPLES // min(f.shape[1], EXAMPLES))
        found += [int(i) for i in order[len(order) // 20 :] if int(i) not in found][:take]
    return found


def _what(S: Any) -> str:
    if isinstance(S, Texts):
        return "words"
    return "substrings" if isinstance(S, Strings) else "subtrees" if isinstance(S, domains.Trees) else "neighbourhoods"


# names of parts -----------------------------------------------------------------------------------------


def _namer(keys: Any, S: Any) -> Callable[[int], str]:
    """Return the function that names the part of a column."""
    if hasattr(keys, "nested"):
        return lambda i: shown(_bracketed(keys.nested(i)), 80)
    if hasattr(keys, "levels"):
        return lambda i: shown(_neighbourhood(keys, i), 80)
    if hasattr(keys, "symbols"):
        return lambda i: shown(_joined(keys.symbols(i)), 60)
    if isinstance(keys, tuple) and keys and hasattr(keys[0], "symbols"):
        starts = np.cumsum([0, *(len(part) for part in keys)])

        def of_length(i: int) -> str:
            part = int(np.searchsorted(starts, i, side="right")) - 1
            return shown(_joined(keys[part].symbols(i - int(starts[part]))), 60)

        return of_length
    if isinstance(keys, tuple):
        return lambda i: shown(keys[i], 60) if not isinstance(keys[i], tuple) else shown(_joined(keys[i]), 60)
    raise NotApplicable("the parts that the kernel counts have no names")


def _joined(symbols: Any) -> str:
    texts = [str(symbol) for symbol in symbols]
    return ("" if all(len(text) == 1 for text in texts) else " ").join(texts)


def _bracketed(tree: Any) -> str:
    if not isinstance(tree, tuple):
        return str(tree)
    return str(tree[0]) if len(tree) == 1 else f"({' '.join([str(tree[0]), *map(_bracketed, tree[1:])])})"


def _neighbourhood(keys: Any, i: int) -> str:
    """Name a colour of a node: its label, in brackets those of its neighbours, theirs in brackets again."""
    level = int(np.searchsorted(keys.starts, i, side="right")) - 1
    if keys.kinds != ("node",):
        return f"pattern {keys.symbols(i)}"

    def named(code: int, depth: int) -> str:
        if depth == 0:
            return "·" if code < 0 else str(keys.vocabulary[code])
        members = keys.levels[depth - 1].row(code).tolist()
        around = sorted(named(member, depth - 1) for member in members[1:])
        own = members[0]
        for below in range(depth - 1, 0, -1):
            own = int(keys.levels[below - 1].row(own)[0])
        return f"{named(own, 0)}({' '.join(around)})"

    return named(int(keys.tables[level][i - keys.starts[level], 0]), level)


# trees without counts -----------------------------------------------------------------------------------


def _pruned(subject: Subject) -> WeightyFacts:
    """Remove subtrees from trees, and see how the decision changes."""
    S, model = subject.samples, subject.model
    assert S is not None
    rows = np.linspace(0, len(S) - 1, min(PRUNED, len(S))).astype(int)
    trees, owners, parts = [], [], []
    for i in np.unique(rows):
        whole = S.nested(int(i))  # pyright: ignore[reportAttributeAccessIssue]
        for path, part in _subtrees(whole)[:MOST_PRUNED]:
            trees.append(_without(whole, path))
            owners.append(int(i))
            parts.append(_bracketed(part))
    if not trees:
        raise NotApplicable("the trees have no parts that could be taken out")
    f, cut = _decisions(model, S.take(np.array(owners))), _decisions(model, trees)
    classes = []
    labels = ["larger predictions", "smaller predictions"] if subject.task == "regression" else list(model.classes_)
    change = f - cut
    if change.shape[1] == 1:
        change = np.column_stack([change, -change] if subject.task == "regression" else [-change, change])
    for k, label in enumerate(labels[:MOST_CLASSES]):
        sums: dict[str, list[float]] = {}
        for part, value in zip(parts, change[:, k], strict=True):
            sums.setdefault(part, []).append(float(value))
        ranked = sorted(sums.items(), key=lambda item: -sum(item[1]))[:SHOWN]
        rows_of = tuple((shown(p, 80), sum(v) / len(set(owners)), len(v)) for p, v in ranked if sum(v) > 0)
        classes.append((shown(label, 24), rows_of))
    how = f"Each part was taken out of {len(set(owners))} trees; shown is by how much the decision changes in the mean."
    return WeightyFacts("subtrees", how, tuple(classes), ())


def _decisions(model: Any, X: Any) -> Floats:
    function = getattr(model, "decision_function", model.predict)
    values = np.asarray(function(X), dtype=float)
    return values.reshape(len(values), -1)


def _subtrees(tree: Any, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    """Return the proper subtrees of nested tuples with the places that lead to them, those near the root first."""
    level, found = [(path, tree)], []
    while level:
        below = [((*p, j), part) for p, t in level if isinstance(t, tuple) for j, part in enumerate(t[1:], start=1)]
        found += below
        level = below
    return found


def _without(tree: Any, path: tuple[int, ...]) -> Any:
    """Return nested tuples without the part at a place."""
    first = path[0]
    kept = () if len(path) == 1 else (_without(tree[first], path[1:]),)
    return (*tree[:first], *kept, *tree[first + 1 :])

"""What every output space must be: its searches and sums are those over all its outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.errors import CapabilityError
from mercer.estimators.structured.output_space import OutputSpace

__all__ = ["check_output_space"]
__public__ = __all__


def check_output_space(space: OutputSpace, y: Any) -> None:
    """Check an output space against a list of all its outputs: losses, best outputs, constraints and sums.

    Parameters
    ----------
    space : OutputSpace
    y : outputs
        Some, as users give them; of sequences, short ones.

    Notes
    -----
    What needs the list is left out where the space has none (`outputs` raises CapabilityError), and so are sums where
    it has none. Of a space whose searches are not exact, the bound on slacks is checked. Scores are random numbers, so
    that ties have no place.

    Examples
    --------
    >>> from mercer import ClassLabels
    >>> check_output_space(ClassLabels(), ["a", "b", "c"])
    """
    space.check()
    learned, codes = space.read(y)
    again = learned.encode(learned.decode(list(codes)))
    assert all(np.array_equal(a, b) for a, b in zip(codes, again, strict=True)), f"{space!r}: decode loses something"
    rng = np.random.default_rng(0)
    sizes = [len(code) if learned.has_sites else 1 for code in codes]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    F, w = rng.normal(size=(offsets[-1], learned.width)), rng.normal(size=learned.extras)
    found = learned.best_of_all(F, offsets, w)
    for i, truth in enumerate(codes):
        part = F[offsets[i] : offsets[i + 1]]
        if sizes[i]:
            assert _same(found[i], learned.best(part, w)), f"{space!r}: best_of_all is not the best of each"
            _check_sample(learned, part, w, truth)
    _check_violations(learned, codes, F, offsets, w)
    _check_sums_of_all(learned, F, offsets, w)


def _same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def _listed(space: OutputSpace, sites: int) -> list[Any] | None:
    try:
        outputs: Iterable[Any] = space.outputs(sites)
    except CapabilityError:
        return None
    return list(outputs)


def _check_sample(space: OutputSpace, F: Any, w: Any, truth: Any) -> None:
    """Check all that is asked of one sample."""
    name, every = repr(space), _listed(space, len(F))
    psi, g = space.features(truth, len(F))
    assert psi.shape == F.shape, f"{name}: psi has shape {psi.shape}, the values {F.shape}"
    assert g.shape == w.shape, f"{name}: g has shape {g.shape}, the weights {w.shape}"
    assert space.loss(truth, truth) == 0.0, f"{name}: the truth has a loss"
    right, of = space.agreement(truth, truth)
    assert right == of > 0.0, f"{name}: the truth does not agree with itself"
    if every is None:
        return
    scores = np.array([space.score(F, w, y) for y in every])
    losses = np.array([space.loss(truth, y) for y in every])
    assert (losses >= 0.0).all(), f"{name}: a loss is negative"
    close = 1e-9 * (1.0 + np.abs(scores).max())
    if not space.is_exact:
        own, bound = space.score(F, w, truth), space.slack_bound(F, w, truth)
        assert bound >= (losses + scores - own).max() - close, f"{name}: slack_bound is below a slack"
        return
    best = space.score(F, w, space.best(F, w))
    assert abs(best - scores.max()) <= close, f"{name}: best has the score {best}, not {scores.max()}"
    worst = space.augmented(F, w, truth)
    value = space.score(F, w, worst) + space.loss(truth, worst)
    assert abs(value - (scores + losses).max()) <= close, f"{name}: augmented is not the best with its loss"
    ordered = np.sort(scores)[::-1]
    for y, wanted in zip(space.two_best(F, w), ordered, strict=False):
        assert abs(space.score(F, w, y) - wanted) <= close, f"{name}: two_best are not the two best"
    own = space.score(F, w, truth)
    for rescaling, margins in (("margin", losses + scores - own), ("slack", losses * (1.0 + scores - own))):
        for ask in (space.oracle(rescaling), lambda F, w, y, r=rescaling: space.violated(F, w, y, r)):
            seen = ask(F, w, truth)
            margin = seen.loss - float(np.vdot(seen.psi, F) + seen.g @ w)
            assert abs(margin - margins.max()) <= close, f"{name}: violated ({rescaling}) is not the most violated"
        bound = space.slack_bound(F, w, truth, rescaling)
        assert abs(bound - max(margins.max(), 0.0)) <= close, f"{name}: slack_bound ({rescaling}) is not the slack"
    _check_sums(space, F, w, every, scores)


def _check_violations(space: OutputSpace, codes: Any, F: Any, offsets: Any, w: Any) -> None:
    """Check that the constraints of all samples are those of each, added up."""
    cost = 1.0 + np.arange(len(codes))
    found, wanted = (
        space.violations(F, offsets, w, codes, cost),
        OutputSpace.violations(space, F, offsets, w, codes, cost),
    )
    for name, a, b in zip(wanted._fields, found, wanted, strict=True):
        assert np.allclose(a, b, atol=1e-9), f"{space!r}: {name} of violations is not the sum over samples"


def _check_sums(space: OutputSpace, F: Any, w: Any, every: list[Any], scores: Any) -> None:
    try:
        sums = space.sums(F, w)
    except CapabilityError:
        return
    top = scores.max()
    g = float(np.log(np.exp(scores - top).sum()) + top)
    assert abs(sums.log_partition - g) <= 1e-9 * (1.0 + abs(g)), f"{space!r}: log_partition is not the sum"
    p = np.exp(scores - g)
    psi, extra = np.zeros_like(F), np.zeros_like(w)
    for share, y in zip(p, every, strict=True):
        of_sites, of_output = space.features(y, len(F))
        psi, extra = psi + share * of_sites, extra + share * of_output
    assert np.allclose(sums.psi, psi, atol=1e-9), f"{space!r}: the expected psi is not the mean of psi"
    assert np.allclose(sums.g, extra, atol=1e-9), f"{space!r}: the expected g is not the mean of g"


def _check_sums_of_all(space: OutputSpace, F: Any, offsets: Any, w: Any) -> None:
    n = len(offsets) - 1
    weight = 1.0 + np.arange(n)
    try:
        logs, psi, g = space.sums_of_all(F, offsets, w, weight)
    except CapabilityError:
        return
    total = np.zeros_like(w)
    for i in range(n):
        at = slice(offsets[i], offsets[i + 1])
        if offsets[i + 1] > offsets[i]:
            one = space.sums(F[at], w)
            assert np.isclose(logs[i], one.log_partition), f"{space!r}: sums_of_all differ from the sums of each"
            assert np.allclose(psi[at], one.psi), f"{space!r}: sums_of_all differ from the sums of each"
            total += weight[i] * one.g
    assert np.allclose(g, total), f"{space!r}: sums_of_all do not weigh g"

"""Pre-images among outputs: a search by small changes, for strings and sets of labels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from mercer.arrays import Floats

__all__ = ["beam_search", "edits", "flips"]

Item = tuple[Hashable, ...]


def beam_search(
    start: Sequence[Item],
    neighbours: Callable[[Item], Iterable[Item]],
    costs: Callable[[list[Item]], Floats],
    beam: int,
    rounds: int,
) -> tuple[Item, float]:
    """Return what costs least of all that was looked at, and what it costs.

    Parameters
    ----------
    start : sequence of tuples
    neighbours : callable
        What is one change away.
    costs : callable
        Of many at once.
    beam : int
        How many are changed further, the cheapest of a round.
    rounds : int
        Changes at most; it ends before, when a round finds nothing better.
    """
    known = dict(zip(start, map(float, costs(list(start))), strict=True))
    front = sorted(known, key=lambda item: known[item])[:beam]
    best = front[0]
    for _ in range(rounds):
        fresh = list(dict.fromkeys(new for item in front for new in neighbours(item) if new not in known))
        if not fresh:
            break
        known.update(zip(fresh, map(float, costs(fresh)), strict=True))
        front = sorted({*front, *fresh}, key=lambda item: (known[item], len(item), item))[:beam]
        if known[front[0]] >= known[best]:
            break
        best = front[0]
    return best, known[best]


def edits(alphabet: Sequence[Hashable]) -> Callable[[Item], Iterable[Item]]:
    """Return the function that lists sequences one insertion, deletion or replacement away."""

    def neighbours(item: Item) -> Iterable[Item]:
        for i in range(len(item) + 1):
            if i < len(item) and len(item) > 1:  # nothing is left empty
                yield item[:i] + item[i + 1 :]
            for symbol in alphabet:
                yield (*item[:i], symbol, *item[i:])
                if i < len(item):
                    yield (*item[:i], symbol, *item[i + 1 :])

    return neighbours


def flips(item: Item) -> Iterable[Item]:
    """List sets of labels with one label more or less."""
    for i, value in enumerate(item):
        yield (*item[:i], 1 - int(value), *item[i + 1 :])  # pyright: ignore[reportArgumentType]

"""Markov networks: variables with finitely many states, and log-potentials of cliques.

Symbols: theta_c(x_c) the log-potential of a clique, p(x) = exp(sum_c theta_c(x_c) - g), g the log-partition function.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from mercer.arrays import Floats, Indices, real_numbers
from mercer.constraints import InstanceOf, Integer, Interval
from mercer.errors import ParameterError

__all__ = ["NETWORK", "STEPS", "TOLERANCE", "Factor", "MarkovNetwork"]
__public__ = ["MarkovNetwork"]

T = TypeVar("T")

_ACCEPTED = (
    "factors are pairs (variables, scores): a tuple of names, and an array with one axis per variable whose entries "
    "are log-potentials"
)


class Factor(NamedTuple):
    """A log-potential: the places of its variables, in ascending order, and its table."""

    scope: tuple[int, ...]
    scores: Floats


@dataclass(frozen=True, eq=False)
class MarkovNetwork:
    r"""A joint distribution of finitely many states, as a product of potentials of cliques.

    .. math:: p(x) = \exp\Bigl(\sum_{c} \theta_c(x_c) - g(\theta)\Bigr)

    Every positive distribution with the conditional independences of a graph has this form (Hammersley and Clifford).

    Seed: [HSS] Theorem 20, Eq. (116).

    Parameters
    ----------
    variables : tuple of hashables
        Names of the variables.
    sizes : tuple of int
        How many states each has; states are 0, 1, ...
    factors : tuple of Factor
        Made by `from_factors` and `from_graph`, which check what they are given.

    Examples
    --------
    >>> network = MarkovNetwork.from_factors([(("rain", "wet"), [[0.0, -2.0], [-1.0, 1.0]]), (("rain",), [0.5, 0.0])])
    >>> network
    <MarkovNetwork: 2 variables, 2 factors, 4 joint states>
    >>> network.score({"rain": 1, "wet": 1})
    1.0
    """

    variables: tuple[Hashable, ...]
    sizes: tuple[int, ...]
    factors: tuple[Factor, ...]

    @classmethod
    def from_factors(cls, factors: Iterable[Any], states: Mapping[Any, int] | None = None) -> Self:
        """Make a network from log-potentials.

        Parameters
        ----------
        factors : iterable of (variables, scores)
            `variables` is a tuple of names (or one name that is a text or a number), `scores` an array with an axis
            for each of them. -inf forbids a combination.
        states : mapping from names to int, optional
            Numbers of states of further variables, which no factor has, or of all; names keep this order. By default
            the variables come in the order in which factors name them.

        Raises
        ------
        ParameterError
            Tables of the wrong shape, NaN or +inf, a variable twice in one factor, no variable at all.
        """
        sizes: dict[Hashable, int] = {}
        for name, count in (states or {}).items():
            if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
                raise ParameterError(
                    f"states[{name!r}]={count!r} was given; a number of states is an integer of at least 1. Count the "
                    "states of this variable."
                )
            sizes[name] = int(count)
        given = []
        for place, item in enumerate(factors):
            names, scores = _read(place, item)
            for name, size in zip(names, scores.shape, strict=True):
                if sizes.setdefault(name, size) != size:
                    raise ParameterError(
                        f"factor {place} has {size} states of {name!r}, which has {sizes[name]} elsewhere; all factors "
                        "of a variable need the same number. Give -inf to states that are impossible."
                    )
            given.append((names, scores))
        if not sizes:
            raise ParameterError(f"no factor and no variable was given; {_ACCEPTED}. Give at least one variable.")
        places = {name: place for place, name in enumerate(sizes)}
        return cls(tuple(sizes), tuple(sizes.values()), tuple(_sorted(names, t, places) for names, t in given))

    @classmethod
    def from_graph(cls, graph: Any, states: int = 2) -> Self:
        """Make a network of pairs from a graph of networkx.

        Parameters
        ----------
        graph : networkx.Graph
            A node may have ``scores``, an array with its log-potentials. An edge may have ``scores``: a number, which
            is added where both ends are in the same state, or an array whose first axis is the end that comes first
            among the nodes of the graph.
        states : int, default 2
            Of nodes without scores and without an edge that has an array.
        """
        if not (hasattr(graph, "nodes") and hasattr(graph, "edges")):
            raise ParameterError(
                f"a {type(graph).__name__} was given as graph; a graph of networkx is accepted. "
                "Use MarkovNetwork.from_factors for a list of factors."
            )
        place = {node: i for i, node in enumerate(graph.nodes)}
        factors: list[Any] = [((node,), data["scores"]) for node, data in graph.nodes(data=True) if "scores" in data]
        edges = []
        for u, v, data in graph.edges(data=True):
            first, second = sorted((u, v), key=place.__getitem__)
            edges.append((first, second, data.get("scores", 0.0)))
        sizes: dict[Hashable, int] = {}
        for names, scores in [*factors, *(((u, v), s) for u, v, s in edges if np.ndim(s))]:
            sizes.update(zip(names, np.shape(scores), strict=False))
        sizes = {node: sizes.get(node, states) for node in graph.nodes}
        for u, v, scores in edges:
            if np.ndim(scores) == 0:
                scores = float(scores) * np.eye(sizes[u], sizes[v])
            factors.append(((u, v), scores))
        return cls.from_factors(factors, sizes)

    def __repr__(self) -> str:
        return (
            f"<MarkovNetwork: {len(self.variables)} variables, {len(self.factors)} factors, {self.joint_states} joint "
            "states>"
        )

    @property
    def joint_states(self) -> int:
        """Number of joint states, an exact integer."""
        count = 1
        for size in self.sizes:
            count *= size
        return count

    @cached_property
    def places(self) -> dict[Hashable, int]:
        """Place of each variable by name."""
        return {name: place for place, name in enumerate(self.variables)}

    @cached_property
    def neighbours(self) -> tuple[frozenset[int], ...]:
        """The graph: for each variable those that share a factor with it."""
        found: list[set[int]] = [set() for _ in self.variables]
        for scope, _ in self.factors:
            for v in scope:
                found[v].update(scope)
        return tuple(frozenset(others - {v}) for v, others in enumerate(found))

    def place_of(self, name: Hashable) -> int:
        """Return the place of a variable; ParameterError if there is none of this name."""
        if not _is_name(name) or name not in self.places:
            raise ParameterError(
                f"{name!r} is not a variable of this network; its variables are "
                f"{', '.join(map(repr, self.variables[:10]))}{', ...' if len(self.variables) > 10 else ''}. Use one of "
                "these names."
            )
        return self.places[name]

    def codes(self, states: Any) -> Indices:
        """Return joint states, a mapping by names or an array (n,) or (m, n), as integers in the order of variables."""
        if isinstance(states, Mapping):
            missing = [name for name in self.variables if name not in states]
            if missing:
                raise ParameterError(
                    f"no state of {missing[0]!r} was given; every variable needs one. Add it, or use given(...) to fix "
                    "some variables only."
                )
            for name in states:
                self.place_of(name)
            states = [states[name] for name in self.variables]
        found = real_numbers(states, "states")
        if found.ndim not in (1, 2) or found.shape[-1] != len(self.variables):
            raise ParameterError(
                f"states of shape {found.shape} were given; joint states have one entry for each of the "
                f"{len(self.variables)} variables. Give shape ({len(self.variables)},) or (m, {len(self.variables)})."
            )
        if not (np.all(found == np.floor(found)) and np.all(found >= 0) and np.all(found < self.sizes)):
            raise ParameterError(
                "states were given that no variable has; states are integers from 0 to the size of the variable minus "
                "1. Compare with network.sizes."
            )
        return found.astype(np.intp)

    def score(self, states: Any) -> Any:
        """Return sum_c theta_c(x_c) of joint states: a float, or an array (m,) for several."""
        codes = self.codes(states)
        total = np.zeros(codes.shape[:-1])
        for scope, scores in self.factors:
            total = total + scores[tuple(codes[..., v] for v in scope)]
        return float(total) if codes.ndim == 1 else total

    def replace_scores(self, tables: Sequence[Floats]) -> Self:
        """Return the network with other log-potentials, one table per factor, in their order."""
        if [np.shape(t) for t in tables] != [f.scores.shape for f in self.factors]:
            raise ParameterError(
                "replace_scores was given tables that do not fit the factors; one table of the same shape per factor "
                "is accepted. Compare with [f.scores.shape for f in network.factors]."
            )
        return replace(
            self,
            factors=tuple(Factor(f.scope, np.asarray(t, float)) for f, t in zip(self.factors, tables, strict=True)),
        )

    def add_scores(self, scores: Mapping[Any, Any]) -> Self:
        """Return the network with log-potentials of single variables added, given by name."""
        more = []
        for name, table in scores.items():
            _, values = _read(len(self.factors) + len(more), ((name,), table))
            if values.shape != (self.sizes[self.place_of(name)],):
                raise ParameterError(
                    f"scores of shape {values.shape} were given for {name!r}, which has "
                    f"{self.sizes[self.places[name]]} states; one score per state is accepted. Give one for each state."
                )
            more.append(Factor((self.places[name],), values))
        return replace(self, factors=(*self.factors, *more))

    def given(self, states: Mapping[Any, int]) -> Self:
        """Return the network of the other variables, where some are known to be in given states.

        Its partition function is that of the network with the known states: what these score stays in it.
        """
        fixed = {}
        for name, state in states.items():
            place = self.place_of(name)
            if isinstance(state, bool) or not 0 <= state < self.sizes[place] or state != int(state):
                raise ParameterError(
                    f"state {state!r} of {name!r} was given; its states are 0 to {self.sizes[place] - 1}. Give one of "
                    "them."
                )
            fixed[place] = int(state)
        kept = [v for v in range(len(self.variables)) if v not in fixed]
        if not kept:
            raise ParameterError(
                "all variables were given; at least one must be unknown. Use score(...) for a joint state."
            )
        new = {v: place for place, v in enumerate(kept)}
        constant, factors = 0.0, []
        for scope, scores in self.factors:
            table = scores[tuple(fixed.get(v, slice(None)) for v in scope)]
            if table.ndim:
                factors.append(Factor(tuple(new[v] for v in scope if v in new), table))
            else:
                constant += float(table)
        sizes = tuple(self.sizes[v] for v in kept)
        if constant:  # it belongs to the partition function, so it goes where it does not change the distribution
            factors.append(Factor((0,), np.full(sizes[0], constant)))
        return replace(self, variables=tuple(self.variables[v] for v in kept), sizes=sizes, factors=tuple(factors))

    def all_states(self) -> Indices:
        """Return every joint state, (joint_states, n): for small networks."""
        return np.stack(np.unravel_index(np.arange(self.joint_states), self.sizes), axis=1).astype(np.intp)

    def named(self, values: Sequence[T]) -> dict[Hashable, T]:
        """Return one thing per variable, by name."""
        return dict(zip(self.variables, values, strict=True))


def _read(place: int, item: Any) -> tuple[tuple[Hashable, ...], Floats]:
    """Return the names and the table of one factor as it was given."""
    try:
        names, scores = item
    except (TypeError, ValueError):
        raise ParameterError(f"factor {place} is a {type(item).__name__}; {_ACCEPTED}. Give such pairs.") from None
    names = tuple(names) if isinstance(names, (tuple, list)) else (names,)
    table = real_numbers(scores, f"factor {place}")
    if not names or table.ndim != len(names) or len(set(names)) < len(names) or 0 in table.shape:
        raise ParameterError(
            f"factor {place} has the variables {names!r} and scores of shape {table.shape}; {_ACCEPTED}. Give one axis "
            "for each variable, and each variable once."
        )
    if np.isnan(table).any() or np.isposinf(table).any():
        raise ParameterError(
            f"factor {place} has NaN or +inf among its scores; finite log-potentials and -inf are accepted. Correct "
            "them; log(0) is -inf."
        )
    return names, table


def _sorted(names: tuple[Hashable, ...], table: Floats, places: Mapping[Hashable, int]) -> Factor:
    scope = [places[name] for name in names]
    order = sorted(range(len(scope)), key=scope.__getitem__)
    return Factor(tuple(scope[i] for i in order), np.ascontiguousarray(table.transpose(order)))


def _is_name(name: Any) -> bool:
    try:
        hash(name)
    except TypeError:
        return False
    return True


NETWORK = InstanceOf(MarkovNetwork)
TOLERANCE = Interval(0.0, float("inf"), closed="left")
STEPS = Integer(1)

r"""What may be predicted: an output space, with the few methods that machines with structured outputs call.

Symbols: a sample has sites (one, or one per position of a sequence); F (m, D) the values of D functions at its m
sites, w (G,) weights of features of the output alone; the score of output y is <F, psi(y)> + <w, g(y)>.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.errors import CapabilityError, TargetError
from mercer.networks.log_tables import log_sum
from mercer.spec import Spec

__all__ = ["Constraint", "FiniteSpace", "OutputSpace", "Sums", "Violations"]
__public__ = ["FiniteSpace", "OutputSpace"]


class Constraint(NamedTuple):
    """A margin constraint: the score must rise along `psi` and `g` by `loss`, up to a slack.

    Attributes
    ----------
    key : hashable
        What it is: two constraints of a sample with the same key are the same.
    psi : (m, D) array
        psi(y) - psi(y') of the true output y and another one.
    g : (G,) array
        g(y) - g(y').
    loss : float
    """

    key: Any
    psi: Floats
    g: Floats
    loss: float


Oracle = Callable[[Floats, Floats, Any], Constraint]


class Violations(NamedTuple):
    """The most violated constraints of all samples at once, added up with the costs of their slacks.

    Attributes
    ----------
    slacks : (b,) array
        Of each slack, in the order of samples and of `OutputSpace.truths`; a sample without sites has none.
    psi : (N, D) array
        The sum of cost times psi(y) - psi(y'), at the sites.
    g : (G,) array
        That of cost times g(y) - g(y').
    loss : float
        That of cost times loss.
    """

    slacks: Floats
    psi: Floats
    g: Floats
    loss: float


class Sums(NamedTuple):
    """Sums over all outputs of a sample: log-partition function, and expectations of psi and g."""

    log_partition: float
    psi: Floats
    g: Floats


class OutputSpace(Spec):
    r"""What a machine may predict: how outputs are read, scored, compared and searched.

    .. math:: f(x, y) = \sum_{s,\, d} \psi_{sd}(y)\, f_d(x_s) + \langle w, g(y) \rangle

    A space of one's own is a subclass with `learn`, `encode`, `decode`, `features`, `loss` and `augmented`;
    `mercer.testing.check_output_space` checks it against all outputs. Where all outputs can be listed, `FiniteSpace`
    needs three tables and no search.

    Seed: [HSS] Section 3.1.4, Eq. (88), and Corollary 24: one coefficient for each site and function.
    """

    has_sites: bool = False  # whether a sample is a sequence of objects

    @property
    def is_exact(self) -> bool:
        """Whether searches find the best output; if not, `slack_bound` says how much they may have missed."""
        return True

    @property
    def own_networks(self) -> bool:
        """Whether a sample is a pair of such a sequence and its own network."""
        return False

    @property
    def width(self) -> int:
        """Number of functions; known after `learn`."""
        return 1

    @property
    def extras(self) -> int:
        """Number of weights that do not depend on the sample."""
        return 0

    # reading ------------------------------------------------------------------------------------------

    @abstractmethod
    def learn(self, y: Any) -> Self:
        """Return the space that knows the labels of these outputs; TargetError if they are not of its kind."""

    @abstractmethod
    def encode(self, y: Any) -> Array:
        """Return outputs as codes, one per sample: an array (n,), whose entries may be arrays."""

    @abstractmethod
    def decode(self, outputs: Sequence[Any]) -> Any:
        """Return outputs in the form in which users give them."""

    def read(self, y: Any) -> tuple[Self, Array]:
        """Return the space that knows these outputs, and their codes."""
        learned = self.learn(y)
        return learned, learned.encode(y)

    def on(self, network: Any, sites: int) -> Self:
        """Return the space of a sample with its own network on this many sites; of spaces with `own_networks`."""
        raise NotImplementedError(f"{type(self).__name__} has the same structure for all samples")

    # scores -------------------------------------------------------------------------------------------

    @abstractmethod
    def features(self, output: Any, sites: int) -> tuple[Floats, Floats]:
        """Return psi(y), (sites, width), and g(y), (extras,)."""

    @abstractmethod
    def loss(self, truth: Any, output: Any) -> float:
        """Return Delta(y, y'), what it costs to predict y' where y is true; 0 for y' = y."""

    @abstractmethod
    def augmented(self, F: Floats, w: Floats, truth: Any) -> Any:
        """Return the output with the highest sum of score and loss; of score alone if `truth` is None."""

    def best(self, F: Floats, w: Floats) -> Any:
        """Return the output with the highest score."""
        return self.augmented(F, w, None)

    def best_of_all(self, F: Floats, offsets: Indices, w: Floats) -> list[Any]:
        """Return the best output of each sample; its sites are ``F[offsets[i]:offsets[i + 1]]``."""
        return [self.best(F[a:b], w) for a, b in pairwise(offsets)]

    def two_best(self, F: Floats, w: Floats) -> list[Any]:
        """Return the best output and the next one; only the first if there is no other."""
        scored = [(self.score(F, w, y), place, y) for place, y in enumerate(self.outputs(len(F)))]
        scored.sort(key=lambda item: (-item[0], item[1]))
        return [y for _, _, y in scored[:2]]

    def score(self, F: Floats, w: Floats, output: Any) -> float:
        """Return the score of an output."""
        psi, g = self.features(output, len(F))
        return float(np.vdot(F, psi) + w @ g)

    def sums(self, F: Floats, w: Floats) -> Sums:
        """Return sums over all outputs, for probabilities; CapabilityError where they are not known."""
        raise CapabilityError(
            f"{type(self).__name__} has no sums over all outputs; probabilities need a space that has them. Use "
            "ClassLabels, LabelSets, OrderedClasses or LabelSequences, or StructuredSVC, which needs none."
        )

    def sums_of_all(self, F: Floats, offsets: Indices, w: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log-partition functions (n,), expected psi (N, D), and the weighted sum of expected g (G,)."""
        logs, psi, g = np.empty(len(offsets) - 1), np.empty_like(F), np.zeros(self.extras)
        for i, (a, b) in enumerate(pairwise(offsets)):
            logs[i], psi[a:b], one = self.sums(F[a:b], w)
            g += weight[i] * one
        return logs, psi, g

    def outputs(self, sites: int) -> Iterator[Any]:
        """Yield every output of a sample with this many sites; CapabilityError where there is no list."""
        raise CapabilityError(
            f"{type(self).__name__} cannot list its outputs; rescaled slacks and the two best need a list. Use margin "
            "rescaling, or a smaller space."
        )

    # learning with margins ----------------------------------------------------------------------------

    def truths(self, output: Any) -> list[tuple[Any, float]]:
        """Return the parts of a true output that have slacks of their own, with the weights of these slacks."""
        return [(output, 1.0)]

    def key(self, output: Any) -> Any:
        """Return a hashable name of an output."""
        return output.tobytes() if isinstance(output, np.ndarray) else output

    def violated(self, F: Floats, w: Floats, truth: Any, rescaling: str = "margin") -> Constraint:
        """Return the constraint that is violated most: of score plus loss, or of loss times one plus score."""
        if rescaling == "margin":
            return self.constraint(truth, self.augmented(F, w, truth), len(F))
        own = self.score(F, w, truth)
        worst = max(self.outputs(len(F)), key=lambda y: self.loss(truth, y) * (1.0 + self.score(F, w, y) - own))
        found = self.constraint(truth, worst, len(F))
        return found._replace(psi=found.loss * found.psi, g=found.loss * found.g)

    def slack_bound(self, F: Floats, w: Floats, truth: Any, rescaling: str = "margin") -> float:
        """Return an upper bound on the violation of any constraint of this truth; the slack, if searches are exact."""
        found = self.violated(F, w, truth, rescaling)
        return max(0.0, found.loss - float(np.vdot(found.psi, F)) - float(found.g @ w))

    def oracle(self, rescaling: str = "margin") -> Oracle:
        """Return `violated` as a function of F, w and truth, with what is the same for all samples prepared."""
        return functools.partial(self.violated, rescaling=rescaling)

    def violations(
        self, F: Floats, offsets: Indices, w: Floats, codes: Sequence[Any], cost: Floats, rescaling: str = "margin"
    ) -> Violations:
        """Return the most violated constraints of all samples; `cost` is what a slack of each sample costs."""
        search = self.oracle(rescaling)
        slacks, psi, g, loss = [], np.zeros_like(F), np.zeros(self.extras), 0.0
        for code, c, a, b in zip(codes, cost, offsets[:-1], offsets[1:], strict=True):
            for truth, share in self.truths(code) if b > a else ():
                found = search(F[a:b], w, truth)
                margin = found.loss - float(np.vdot(found.psi, F[a:b])) - float(found.g @ w)
                slacks.append(max(margin, 0.0))
                if margin > 0.0:
                    psi[a:b] += c * share * found.psi
                    g += c * share * found.g
                    loss += c * share * found.loss
        return Violations(np.array(slacks), psi, g, loss)

    def constraint(self, truth: Any, output: Any, sites: int) -> Constraint:
        """Return the constraint that compares a true output with another one."""
        psi, g = self.features(truth, sites)
        other, weights = self.features(output, sites)
        return Constraint(self.key(output), psi - other, g - weights, self.loss(truth, output))

    def agreement(self, truth: Any, output: Any) -> tuple[float, float]:
        """Return how much of an output is right, and how much there is of it; a score adds these up."""
        return float(self.loss(truth, output) == 0.0), 1.0


class FiniteSpace(OutputSpace):
    """A space with few outputs, all of one site: every search goes over all of them.

    A subclass gives `tables`: psi (c, D), g (c, G) and the losses (c, c), from the true output to the predicted one.
    """

    @abstractmethod
    def tables(self) -> tuple[Floats, Floats, Floats]:
        """Return psi, g and losses of all outputs, which are numbered from 0."""

    @property
    def width(self) -> int:
        """Number of functions."""
        return self.tables()[0].shape[1]

    @property
    def extras(self) -> int:
        """Number of weights that do not depend on the sample."""
        return self.tables()[1].shape[1]

    def features(self, output: Any, sites: int) -> tuple[Floats, Floats]:
        psi, g, _ = self.tables()
        return psi[output][None], g[output]

    def loss(self, truth: Any, output: Any) -> float:
        return float(self.tables()[2][truth, output])

    def _scores(self, F: Floats, w: Floats) -> Floats:
        psi, g, _ = self.tables()
        return F @ psi.T + g @ w

    def augmented(self, F: Floats, w: Floats, truth: Any) -> Any:
        scores = self._scores(F, w)[0]
        return int(np.argmax(scores if truth is None else scores + self.tables()[2][truth]))

    def best_of_all(self, F: Floats, offsets: Indices, w: Floats) -> list[Any]:
        return np.argmax(self._scores(F, w), axis=1).tolist()

    def sums(self, F: Floats, w: Floats) -> Sums:
        logs, psi, g = self.sums_of_all(F, np.array([0, 1]), w, np.ones(1))
        return Sums(float(logs[0]), psi, g)

    def sums_of_all(self, F: Floats, offsets: Indices, w: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
        psi, g, _ = self.tables()
        p, logs = self.probabilities(F, w)
        return logs, p @ psi, weight @ p @ g

    def oracle(self, rescaling: str = "margin") -> Oracle:
        psi, g, losses = self.tables()

        def violated(F: Floats, w: Floats, truth: Any) -> Constraint:
            scores, loss = psi @ F[0] + g @ w, losses[truth]
            worst = int(np.argmax(scores + loss if rescaling == "margin" else loss * (1.0 + scores - scores[truth])))
            scale = 1.0 if rescaling == "margin" else loss[worst]
            rise, turn = scale * (psi[truth] - psi[worst]), scale * (g[truth] - g[worst])
            return Constraint(worst, rise[None], turn, float(loss[worst]))

        return violated

    def violations(
        self, F: Floats, offsets: Indices, w: Floats, codes: Sequence[Any], cost: Floats, rescaling: str = "margin"
    ) -> Violations:
        psi, g, losses = self.tables()
        truth, rows = np.asarray(codes, dtype=np.intp), np.arange(len(F))
        scores, loss = self._scores(F, w), losses[truth]
        beyond = scores - scores[rows, truth][:, None]  # by how much an output scores above the truth
        beyond = beyond + loss if rescaling == "margin" else loss * (1.0 + beyond)
        worst = np.argmax(beyond, axis=1)
        scale = cost if rescaling == "margin" else cost * loss[rows, worst]
        rise, turn = scale[:, None] * (psi[truth] - psi[worst]), scale @ (g[truth] - g[worst])
        return Violations(beyond[rows, worst], rise, turn, float(cost @ loss[rows, worst]))

    def probabilities(self, F: Floats, w: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of the outputs, (n, c), and the log-partition functions, (n,)."""
        scores = self._scores(F, w)
        logs = log_sum(scores, (1,))
        with np.errstate(over="ignore"):  # what is that far below the largest is zero
            return np.exp(scores - logs[:, None]), logs

    def outputs(self, sites: int) -> Iterator[int]:
        return iter(range(len(self.tables()[2])))


def square_cost(cost: Any, count: int) -> Floats:
    """Return a matrix of costs with zeros on its diagonal; TargetError if it is not one, or of another size."""
    table = np.asarray(cost, dtype=float)
    if table.shape != (count, count) or not np.isfinite(table).all() or (table < 0.0).any() or np.diag(table).any():
        raise TargetError(
            f"cost of shape {table.shape} was given for {count} labels; a square matrix of non-negative numbers with "
            "zeros on its diagonal is accepted, rows for what is true. Give one row per label, in sorted order."
        )
    return table

r"""Lloyd's algorithm on the images of samples in feature space, known by their Gram alone.

Symbols: n samples, k clusters, R restarts; s_i how often a sample counts; d_i degrees (for normalised cuts, else 1);
images phi(x_i) / d_i of weight omega_i = s_i d_i; V (n, R, k) with s_i at the label of i; U = K V; W_t the weight of
cluster t, mu_t its centre, l_t = sum over its members of s_i U_it, so that |mu_t|^2 = l_t / W_t^2; sigma the shift.

All restarts share their products with K: a product costs its reading, or its computing, and hardly its columns. Once
few samples move, only their columns of K are read again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.estimators.clustering.assignments import assign, totals
from mercer.estimators.clustering.cuts import times
from mercer.gram import Gram, HasRows
from mercer.gram.gram import has_array
from mercer.problems import Status
from mercer.runtime.tiling import Kept, kept_by

__all__ = ["Cloud", "Partition", "lloyd", "random_labels", "seeded_labels"]

Monitor = Callable[[int, float], "bool | Status"]
_FEW = 1 / 3  # share of samples that have moved, up to which their columns alone are read
_ROWS = 2**20  # numbers of a dense K that are gathered at once
_COLUMNS = 2**23  # numbers in a product of all restarts
_EQUAL = 1e-10  # objectives that differ by less are of the same partition
_RISE = 1e-9  # of the objective over its size: more than rounding


@dataclass(frozen=True, eq=False)
class Partition:
    """The best result of the restarts.

    Attributes
    ----------
    labels : (n,) array of int
    products : (n, k) array
        U: sums of similarities with the members of each cluster.
    masses, links : (k,) arrays
        W_t and l_t.
    inertia : float
        Weighted sum of squared distances to the centres, without the shift.
    n_iter : int
        Assignments until this restart converged.
    status : Status
    """

    labels: Indices
    products: Floats
    masses: Floats
    links: Floats
    inertia: float
    n_iter: int
    status: Status


class Cloud:
    """Weighted images of samples in feature space.

    Parameters
    ----------
    gram : Gram
    copies : (n,) array
        s, positive.
    sums : (n,) array
        K s.
    cut : bool, default False
        Whether images are divided by their degrees K s and weighted by them.
    shift : float, default 0.0
        sigma.
    """

    def __init__(self, gram: Gram, copies: Floats, sums: Floats, cut: bool = False, shift: float = 0.0) -> None:
        self.gram, self.copies, self.shift = gram, copies, float(shift)
        self.mass = copies * sums if cut else copies
        self.ratio = 1.0 / sums if cut else np.ones(len(copies))
        self.squares = gram.diag() * self.ratio**2
        self.total = float(self.mass @ self.squares)
        # what differences of the objective are compared with: its largest terms, or its value for one cluster
        self.size = max(abs(self.total), abs(self.total - float(copies @ sums) / float(self.mass.sum())))
        # an order that is the same for samples in another order and for copies: by the distance from the overall mean
        self.order = np.argsort(self.squares - 2.0 * self.ratio * sums / self.mass.sum(), kind="stable")

    def __len__(self) -> int:
        return len(self.copies)

    def products(self, V: Floats) -> Floats:
        """Return K V for V (n, R, k)."""
        flat = np.ascontiguousarray(V).reshape(len(V), -1)
        return times(self.gram, flat, self.gram.resources.n_threads).reshape(V.shape)

    def update(self, index: Indices, V: Floats, U: Floats) -> None:
        """Add K[:, index] V to U for V (len index, R, k)."""
        flat, out = V.reshape(len(V), -1), U.reshape(len(U), -1)
        assert isinstance(self.gram, HasRows)
        step = max(1, _ROWS // len(U)) if has_array(self.gram) else len(index)
        for start in range(0, len(index), step):
            self.gram.update(index[start : start + step], flat[start : start + step], out)

    def squared_distances(self, index: Indices) -> Floats:
        """Return squared distances between some images and all, (q, n)."""
        index = np.asarray(index)
        if isinstance(self.gram, HasRows):
            rows = np.asarray(self.gram.rows(index), dtype=float)
        else:
            one = np.zeros((len(self), len(index)))
            one[index, np.arange(len(index))] = 1.0
            rows = (self.gram @ one).T
        found = self.squares + self.squares[index][:, None] - 2.0 * rows * self.ratio * self.ratio[index][:, None]
        np.maximum(found, 0.0, out=found)
        found[np.arange(len(index)), index] = 0.0
        return found


def seeded_labels(cloud: Cloud, k: int, chance: Any) -> tuple[Indices, Indices]:
    """Seeds far from each other by k-means++ in feature space, and the nearest of them for each sample.

    Each seed is drawn with a probability proportional to its weighted squared distance from those before; of a few
    that are drawn the one is taken which leaves the least.
    """
    n, order, mass = len(cloud), cloud.order, cloud.mass
    trials = 2 + int(math.log(k))
    seeds = np.empty(k, dtype=np.intp)
    labels, nearest = np.zeros(n, dtype=np.intp), np.full(n, np.inf)
    for t in range(k):
        chances = mass if t == 0 else mass * nearest
        sums = np.cumsum(chances[order])
        if not sums[-1] > 0.0:  # every sample is a seed or equal to one
            seeds[t:] = seeds[0]
            break
        drawn = np.searchsorted(sums, chance.uniform(size=1 if t == 0 else trials) * sums[-1], side="right")
        some = order[np.minimum(drawn, n - 1)]
        distances = cloud.squared_distances(some)
        left = np.minimum(distances, nearest) @ mass
        best = int(np.argmin(left))
        nearer = distances[best] < nearest
        labels[nearer], nearest[nearer], seeds[t] = t, distances[best][nearer], some[best]
    return seeds, labels


def random_labels(cloud: Cloud, k: int, chance: Any) -> Indices:
    """A random partition in which no cluster is empty."""
    n = len(cloud)
    labels = np.empty(n, dtype=np.intp)
    labels[cloud.order] = np.where(np.arange(n) < k, np.arange(n), chance.randint(k, size=n))[chance.permutation(n)]
    return labels


def restarts_at_once(n: int, k: int, count: int) -> int:
    """How many restarts share their products, so that their columns stay small."""
    return max(1, min(count, _COLUMNS // max(n * k, 1)))


def lloyd(
    cloud: Cloud, starts: list[Indices], k: int, max_iter: int, monitor: Monitor | None = None, threads: Any = None
) -> Partition:
    """Run all restarts until they converge, some at a time, and return the best."""
    size = restarts_at_once(len(cloud), k, len(starts))
    best: Partition | None = None
    for first in range(0, len(starts), size):
        done, share = first / len(starts), min(size, len(starts) - first) / len(starts)
        labels = np.stack(starts[first : first + size], axis=1)
        kept = kept_by(monitor, "lloyd", starts=labels, clusters=k, max_iter=max_iter, mass=cloud.mass)
        found = _Restarts(cloud, labels, k, threads, kept)
        status = found.run(max_iter, None if monitor is None else _part(monitor, done, share))
        kept.close(found.state)
        one = found.best()
        if best is None or one.inertia < best.inertia - _EQUAL * cloud.size:
            best = one
        if status in (Status.TIME, Status.STOPPED):  # reported even if the best has converged: others have not
            best = replace(best, status=status)
            break
    assert best is not None
    return best


def _fields(one: Partition) -> tuple[Any, ...]:
    return (one.labels, one.products, one.masses, one.links, one.inertia, one.n_iter, one.status)


def _part(monitor: Monitor, done: float, share: float) -> Monitor:
    return lambda iteration, left: monitor(iteration, 1.0 - done - share * (1.0 - left))


class _Restarts:
    """Some restarts in progress."""

    def __init__(self, cloud: Cloud, labels: Indices, k: int, threads: Any, kept: Kept) -> None:
        self.cloud, self.k, self.threads, self.kept = cloud, k, threads, kept
        self.iteration, self.ended = 0, Status.CONVERGED
        self.finished: list[Partition] = []
        if kept.state is not None:
            self._take_up(kept.state)
            return
        self.labels = np.ascontiguousarray(labels)  # (n, R)
        self.before = self.labels  # a move ago
        self.inertia = np.full(labels.shape[1], np.inf)
        self.U = cloud.products(self._indicators(np.arange(len(cloud)), self.labels))

    def state(self) -> dict[str, Any]:
        """All that the next assignments depend on."""
        done = [[*one[:-1], one[-1].name] for one in map(_fields, self.finished)]
        now = {name: getattr(self, name) for name in ("labels", "before", "inertia", "U", "iteration")}
        return {**now, "finished": done, "ended": self.ended.name}

    def _take_up(self, state: dict[str, Any]) -> None:
        """Continue where another run stopped."""
        self.finished = [Partition(*numbers, status=Status[name]) for *numbers, name in state["finished"]]
        self.ended = Status[state["ended"]]
        for name in ("labels", "before", "inertia", "U", "iteration"):
            setattr(self, name, state[name])

    def _indicators(self, index: Indices, labels: Indices) -> Floats:
        """V of some samples, (q, R, k)."""
        V = np.zeros((len(index), labels.shape[1], self.k))
        np.put_along_axis(V, labels[:, :, None], self.cloud.copies[index][:, None, None], axis=2)
        return V

    def run(self, max_iter: int, monitor: Monitor | None) -> Status:
        """Assign and average until nothing moves."""
        if self.labels.shape[1]:
            self.ended = self._run(max_iter, monitor)
        return self.ended

    def _run(self, max_iter: int, monitor: Monitor | None) -> Status:
        cloud, count = self.cloud, self.labels.shape[1] + len(self.finished)
        for iteration in range(self.iteration + 1, max_iter + 1):
            masses, links = totals(self.U, cloud.copies, cloud.mass, self.labels)
            factor = np.divide(1.0, masses, out=np.zeros_like(masses), where=masses > 0.0)
            inertia: Floats = cloud.total - (links * factor).sum(axis=1)
            # an indefinite Gram may lead uphill: what was there before is kept
            rising = inertia > self.inertia + _RISE * cloud.size
            if rising.any():
                self._step_back(rising, iteration)
                if not self.labels.shape[1]:
                    return Status.STALLED
                masses, links, factor, inertia = (a[~rising] for a in (masses, links, factor, inertia))
            self.inertia = inertia
            norms = np.where(masses > 0.0, links * factor**2 + cloud.shift * factor, np.inf)
            found, scores, _ = assign(self.U, cloud.ratio, factor, norms, cloud.shift, self.labels, self.threads)
            self._fill_empty(found, cloud.squares[:, None] - scores)
            resting = (found == self.labels).all(axis=0)
            if resting.any():
                self._finish(resting, masses, links, inertia, iteration, Status.CONVERGED)
                found = np.ascontiguousarray(found[:, ~resting])
                if not self.labels.shape[1]:
                    return Status.CONVERGED
            answer = False if monitor is None else monitor(iteration, self._left(iteration, max_iter, count))
            if answer or iteration == max_iter:
                status = answer if isinstance(answer, Status) else Status.STOPPED if answer else Status.MAX_ITER
                rest = ~resting
                self._finish(slice(None), masses[rest], links[rest], inertia[rest], iteration, status)
                return status
            self._move(found)
            self.iteration = iteration
            self.kept.offer(self.state)
        raise AssertionError("unreachable")

    def _left(self, iteration: int, max_iter: int, count: int) -> float:
        return min(1.0 - iteration / max_iter, self.labels.shape[1] / count)

    def _fill_empty(self, found: Indices, distances: Floats) -> None:
        """Give each empty cluster the sample that is farthest from its centre, if any is away from it."""
        count = found.shape[1]
        flat = found + self.k * np.arange(count)
        sizes = np.bincount(flat.ravel(), minlength=count * self.k).reshape(count, self.k)
        least = 1e-12 * float(np.abs(self.cloud.squares).max(initial=0.0))
        for r in np.flatnonzero((sizes == 0).any(axis=1)):
            worst = iter(np.lexsort((self.cloud.order.argsort(), -distances[:, r])))
            for t in np.flatnonzero(sizes[r] == 0):
                i = next((i for i in worst if sizes[r, found[i, r]] > 1), None)
                if i is None or distances[i, r] <= least:
                    break
                sizes[r, found[i, r]] -= 1
                found[i, r], sizes[r, t] = t, 1

    def _move(self, found: Indices) -> None:
        """Update U for new labels."""
        moved = np.flatnonzero((found != self.labels).any(axis=1))
        if len(moved) > _FEW * len(self.cloud) or not isinstance(self.cloud.gram, HasRows):
            self.U = self.cloud.products(self._indicators(np.arange(len(found)), found))
        else:
            change = self._indicators(moved, found[moved]) - self._indicators(moved, self.labels[moved])
            self.cloud.update(moved, change, self.U)
        self.labels, self.before = found, self.labels

    def _step_back(self, which: Any, iteration: int) -> None:
        """Put restarts aside as they were before their last move."""
        self.labels[:, which] = self.before[:, which]
        V = self._indicators(np.arange(len(self.cloud)), self.labels[:, which])
        self.U[:, which] = self.cloud.products(V)
        masses, links = totals(self.U, self.cloud.copies, self.cloud.mass, self.labels)
        self._finish(which, masses, links, self.inertia, iteration, Status.STALLED)

    def _finish(self, which: Any, masses: Floats, links: Floats, inertia: Floats, iteration: int, status: Any) -> None:
        """Put some restarts aside; the others stay."""
        chosen = np.arange(self.labels.shape[1])[which]
        for r in chosen:
            labels, U = self.labels[:, r].copy(), self.U[:, r].copy()
            self.finished.append(Partition(labels, U, masses[r], links[r], float(inertia[r]), iteration, status))
        rest = np.delete(np.arange(self.labels.shape[1]), chosen)
        self.labels = np.ascontiguousarray(self.labels[:, rest])
        self.before = np.ascontiguousarray(self.before[:, rest])
        self.inertia, self.U = self.inertia[rest], np.ascontiguousarray(self.U[:, rest])

    def best(self) -> Partition:
        """Return the first of the restarts with the least inertia."""
        least = min(one.inertia for one in self.finished) + _EQUAL * self.cloud.size
        return next(one for one in self.finished if one.inertia <= least)

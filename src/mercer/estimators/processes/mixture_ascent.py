"""Coordinate ascent for a mixture of Gaussian processes: responsibilities, functions, sticks, hyper-parameters.

Symbols: r_nt the responsibility of component t for sample n, w_n sample weights, omega_nt = w_n r_nt, T the truncation,
J the number of outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer.arrays import Floats, Indices
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError
from mercer.estimators.fits import Units, warn_of_search
from mercer.estimators.parameter_gradients import low_rank
from mercer.estimators.processes.mean_field import Expert, NormalWishart, entropy, stick_bound, stick_logs
from mercer.estimators.processes.mixture_experts import Experts, LowRankExpert, LowRankExperts, WholeExperts, block_of
from mercer.estimators.processes.process_evidence import Observations
from mercer.estimators.processes.process_search import limits_of
from mercer.estimators.processes.sparse_evidence import choose_inducing
from mercer.gram import GramSpec
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.vectors.pointwise import dense
from mercer.problems import Status
from mercer.selection.hyperparameters import Search, require_derivative, tune
from mercer.spec import free_names, free_values

__all__ = ["Ascent", "Beliefs", "padded"]

Late = Callable[[], bool | Status]  # returns whether time is up
_SMALLEST = 1e-8  # responsibilities below it are zero
_LOW = 1e-4  # smallest noise that is searched, relative to the mean square of y
_STEPS = 6  # of the search for hyper-parameters between two looks at the responsibilities
_EVERY = 3  # sweeps between two searches
_EARLY = 1e-4  # relative rise of the bound from which on components are joined
_HALF = 0.5  # components of fewer samples are left out of the result
_FEATURES = 10  # columns of the Gram matrix that stand for samples that are not vectors


@dataclass(frozen=True, eq=False)
class Beliefs:
    """All factors of the posterior at one moment.

    Attributes
    ----------
    R : (n, c) array
        Responsibilities.
    counts : (c,) array
        N_t.
    kernels, noises, experts, gates : tuples of length c
    bound : float
        Lower bound of the log evidence.
    path : tuple of float
        The bound after every sweep.
    status : Status
    gain : float
        Gain of the last sweep.
    """

    R: Floats
    counts: Floats
    kernels: tuple[Kernel, ...]
    noises: tuple[float, ...]
    experts: tuple[Expert | LowRankExpert, ...]
    gates: tuple[NormalWishart | None, ...]
    bound: float
    path: tuple[float, ...] = ()
    status: Status = Status.CONVERGED
    gain: float = 0.0


class Ascent:
    """Coordinate ascent on the bound, for one data set.

    Parameters
    ----------
    owner : GaussianProcessMixture
        Its parameters.
    S : Samples
        n packed samples.
    y : (n, J) array
    w : (n,) array
        Positive weights.
    kernel : Kernel
        Where the search starts.
    """

    def __init__(
        self, owner: Any, S: Samples, y: Floats, w: Floats, kernel: Kernel, gram: GramSpec | None = None
    ) -> None:
        self.owner, self.S, self.y, self.w, self.kernel = owner, S, y, w, kernel
        self.T = min(owner.n_components, len(S))
        self.prior: NormalWishart | None = None
        self.X: Floats = np.empty((len(S), 0))
        if owner.gating:
            if not isinstance(S, Vectors):
                raise CapabilityError(
                    f"gating=True was given with {type(S).__name__}; where samples lie is modelled for vectors only. "
                    "Use gating=False."
                )
            self.X = dense(S)
            self.prior = NormalWishart.prior(self.X, w, self.T ** (-1.0 / self.X.shape[1]))
        units = Units.of(y, w, centred=False)
        self.noise = units.noise(owner.noise)
        self.limits = limits_of(units, kernel)
        self.bounds = {"noise": (min(_LOW * units.variance, self.noise), max(100.0 * units.variance, self.noise))}
        self.bounds.update(owner.bounds or {})
        self.white = Observations.of(S, y, w).white()
        self.searched = owner.fixed != "all" and (
            "noise" not in owner.fixed or any(name not in owner.fixed for name in free_names(kernel))
        )
        require_derivative(kernel, owner.fixed)
        keep = self.T if owner.parameters == "own" else 1
        self.functions: Experts = WholeExperts(S, y, keep, owner.n_threads)
        self.order = len(S)  # of the matrices that are factored
        gram = owner.gram if gram is None else gram  # what `Auto` has decided, if it was asked
        if gram is not None and low_rank(gram, type(owner).__name__):
            self.functions = LowRankExperts(S, y, keep, gram, kernel, owner._resources())
            self.order = self.functions.moving.at(kernel, keep).array.shape[1]

    # one look -----------------------------------------------------------------------------------------

    def beliefs(self, R: Floats, kernels: Sequence[Kernel], noises: Sequence[float]) -> Beliefs:
        """All factors given the responsibilities, and the bound; components without samples are gone."""
        full = [bool(column.any()) for column in R.T]
        if not all(full):
            R = np.ascontiguousarray(R[:, np.array(full)])
            kernels = [kernel for kernel, some in zip(kernels, full, strict=True) if some]
            noises = [noise for noise, some in zip(noises, full, strict=True) if some]
        omega = self.w[:, None] * R
        counts = omega.sum(axis=0)
        experts = tuple(
            self.functions.expert(kernel, omega[:, t], noise)
            for t, (kernel, noise) in enumerate(zip(kernels, noises, strict=True))
        )
        gates: tuple[NormalWishart | None, ...] = (None,) * len(experts)
        located = 0.0
        if self.prior is not None:
            learned = [self.prior.learn(self.X, omega[:, t]) for t in range(len(experts))]
            located = sum(gate.bound(self.prior) for gate in learned)
            gates = tuple(learned)
        sticks = stick_bound(padded(counts, self.owner.n_components), self.owner.concentration)
        bound = sum(one.bound for one in experts) + located + sticks + entropy(R, self.w)
        return Beliefs(R, counts, tuple(kernels), tuple(noises), experts, gates, bound)

    def responsibilities(self, now: Beliefs) -> Floats:
        """The best responsibilities given all other factors."""
        logs = stick_logs(padded(now.counts, self.owner.n_components), self.owner.concentration)[: len(now.experts)]
        out = np.tile(logs, (len(self.y), 1))
        outputs = self.y.shape[1]
        for t, (kernel, one, gate) in enumerate(zip(now.kernels, now.experts, now.gates, strict=True)):
            mean, variance = self.functions.moments(kernel, one)
            squares = np.sum((self.y - mean) ** 2, axis=1) + outputs * variance
            out[:, t] -= 0.5 * (squares / one.noise + outputs * math.log(2.0 * math.pi * one.noise))
            if gate is not None:
                out[:, t] += gate.expected_log(self.X)
        R = np.exp(out - np.asarray(logsumexp(out, axis=1, keepdims=True)))
        R[R < _SMALLEST] = 0.0
        return R / R.sum(axis=1, keepdims=True)

    # the ascent ---------------------------------------------------------------------------------------

    def start(self, chance: Any) -> Beliefs:
        """Components from a grouping of the samples by x and y; chance changes how much each column counts."""
        columns = np.hstack([self._inputs(), self.y])
        mean = self.w @ columns / self.w.sum()
        scale = np.sqrt(self.w @ (columns - mean) ** 2 / self.w.sum())
        columns = (columns - mean) / np.where(scale > 0.0, scale, 1.0)
        if chance is not None:
            columns = columns * np.exp(chance.normal(size=columns.shape[1]))
        labels = _grouped(columns, self.w, self.T)
        R = np.eye(labels.max() + 1)[labels]
        return self.beliefs(R, [self.kernel] * R.shape[1], [self.noise] * R.shape[1])

    def _inputs(self) -> Floats:
        if isinstance(self.S, Vectors) and isinstance(self.S.X, np.ndarray):
            return np.asarray(self.S.X, dtype=float)
        prepared = self.kernel.prepare(self.S)
        chosen = prepared.take(choose_inducing(self.kernel, prepared, _FEATURES))
        return block_of(self.kernel, prepared, chosen, self.owner.n_threads)

    def ascend(self, now: Beliefs, monitor: Any, late: Late = lambda: False) -> Beliefs:
        """Sweep until nothing rises any more, neither by sweeps nor by a search nor by joining components.

        A true answer of `late` ends a search or the joining within a sweep, with what they have found.
        """
        path, status, gain = [now.bound], Status.MAX_ITER, math.inf
        rested = 0  # sweeps since the last search or change of components
        for sweep in range(self.owner.max_iter):
            then = self.sorted(self.beliefs(self.responsibilities(now), now.kernels, now.noises))
            rise = (then.bound - now.bound) / self.size(then.bound)
            rested += 1
            if rise < _EARLY or rested >= _EVERY:
                then, rested = self.changed(then, rise, late), 0
            gain = then.bound - now.bound
            now = then if gain >= 0.0 else now
            path.append(now.bound)
            if rested == 0 and gain < self.owner.tol * self.size(now.bound):
                status = Status.CONVERGED
                break
            if monitor is not None and (answer := monitor(sweep, gain / self.size(now.bound))):
                status = answer if isinstance(answer, Status) else Status.STOPPED
                break
        return replace(now, path=tuple(path), status=status, gain=float(gain))

    def size(self, bound: float) -> float:
        """The scale for changes of a bound, whatever the unit of y: its distance from white noise."""
        return 1.0 + abs(bound - self.white if math.isfinite(self.white) else bound)

    def changed(self, now: Beliefs, rise: float, late: Late = lambda: False) -> Beliefs:
        """Better hyper-parameters, and fewer components if the sweeps have found their places."""
        if self.searched:
            now = self.searched_from(now, late)
        return self.joined(now, late) if rise < _EARLY else now

    def sorted(self, now: Beliefs) -> Beliefs:
        """The largest component first: the sticks expect that."""
        order = np.argsort(-now.counts, kind="stable")
        if np.all(np.diff(order) > 0):
            return now
        concentration, T = self.owner.concentration, self.owner.n_components
        gain = stick_bound(padded(now.counts[order], T), concentration) - stick_bound(
            padded(now.counts, T), concentration
        )
        if gain < 0.0:
            return now
        pick = [int(t) for t in order]
        return Beliefs(
            now.R[:, order], now.counts[order], tuple(now.kernels[t] for t in pick),
            tuple(now.noises[t] for t in pick), tuple(now.experts[t] for t in pick),
            tuple(now.gates[t] for t in pick), now.bound + gain,
        )  # fmt: skip

    def searched_from(self, now: Beliefs, late: Late = lambda: False) -> Beliefs:
        """Better hyper-parameters for these responsibilities; at the end of time, those that were found so far."""
        omega = self.w[:, None] * now.R
        groups = [[t] for t in range(len(now.experts))]
        if self.owner.parameters == "shared":
            groups = [list(range(len(now.experts)))]
        kernels, noises = list(now.kernels), list(now.noises)
        for members in groups:
            if late() or not omega[:, members].any():
                continue
            found = tune(
                _Criterion(self, omega[:, members]), kernels[members[0]], {"noise": noises[members[0]]},
                fixed=self.owner.fixed, bounds=self.bounds, limits=self.limits,
                search=Search(max_iter=_STEPS, tol=1e-6), monitor=lambda step, slope: late(),
            )  # fmt: skip
            for t in members:
                kernels[t], noises[t] = found.kernel, float(found.beside["noise"])
        then = self.beliefs(now.R, kernels, noises)
        return then if then.bound > now.bound else now

    def warn(self, now: Beliefs) -> None:
        """Warn of hyper-parameters at their bounds, and of a bound that is that of white noise."""
        held, moved = {}, {}
        for kernel, noise in zip(now.kernels, now.noises, strict=True):
            values = dict(zip((*free_names(kernel), "noise"), (*free_values(kernel), noise), strict=True))
            moved = {name: value for name, value in values.items() if name not in self.owner.fixed}
            for name, (low, high) in {**self.limits, **self.bounds}.items():
                if name in moved and not low * (1.0 + 1e-6) < moved[name] < high * (1.0 - 1e-6):
                    held[name] = moved[name]
        moved.pop("noise", None)
        if self.searched:
            gain = math.inf if self.owner.gating else now.bound - self.white  # the bound is of inputs too
            warn_of_search(held, moved, gain, now.kernels[0])

    def joined(self, now: Beliefs, late: Late = lambda: False) -> Beliefs:
        """Drop a component, or join two, wherever that raises the bound; the best change first."""
        while len(now.experts) > 1:
            best = now
            count = len(now.experts)
            pairs = [(s, t) for s in range(count) for t in range(s + 1, count)]
            for s, t in pairs:
                if late():
                    return now
                trial = self._without(now, s, t)
                if trial.bound > best.bound:
                    best = trial
            for t in range(count):
                trial = self._dropped(now, t)
                if trial is not None and trial.bound > best.bound:
                    best = trial
            if best is now:
                return now
            now = self.sorted(best)
        return now

    def pruned(self, now: Beliefs) -> Beliefs:
        """The same without components that have less than half a sample."""
        keep = np.flatnonzero(now.counts >= min(_HALF, now.counts.max()))
        R = now.R[:, keep]
        if len(keep) == len(now.counts) or np.any(R.sum(axis=1) <= 0.0):
            return now
        R = R / R.sum(axis=1, keepdims=True)
        then = self.beliefs(R, [now.kernels[t] for t in keep], [now.noises[t] for t in keep])
        return replace(then, path=now.path, status=now.status, gain=now.gain)

    def _without(self, now: Beliefs, s: int, t: int) -> Beliefs:
        """Component t given to s, the larger one."""
        R = now.R.copy()
        R[:, s] += R[:, t]
        keep = [place for place in range(len(now.experts)) if place != t]
        return self._changed(now, R, keep, s)

    def _dropped(self, now: Beliefs, t: int) -> Beliefs | None:
        """Component t given to all others in proportion; None if some sample has no other."""
        if now.counts[t] > 1.0 and now.R[:, t].max() > 0.5:
            return None
        keep = [place for place in range(len(now.experts)) if place != t]
        total = now.R[:, keep].sum(axis=1, keepdims=True)
        if np.any(total <= 0.0):
            return None
        R = now.R.copy()
        R[:, keep] /= total
        return self._changed(now, R, keep, None)

    def _changed(self, now: Beliefs, R: Floats, keep: list[int], touched: int | None) -> Beliefs:
        """Beliefs with some components left; experts that did not change are taken over."""
        R = R[:, keep]
        omega = self.w[:, None] * R
        experts, gates, located = [], [], 0.0
        for place, t in enumerate(keep):
            same = touched is not None and t != touched
            one = now.experts[t] if same else self.functions.expert(now.kernels[t], omega[:, place], now.noises[t])
            experts.append(one)
            gate = now.gates[t]
            if self.prior is not None:
                gate = gate if same and gate is not None else self.prior.learn(self.X, omega[:, place])
                located += gate.bound(self.prior)
            gates.append(gate)
        counts = omega.sum(axis=0)
        sticks = stick_bound(padded(counts, self.owner.n_components), self.owner.concentration)
        bound = sum(one.bound for one in experts) + located + sticks + entropy(R, self.w)
        kernels, noises = tuple(now.kernels[t] for t in keep), tuple(now.noises[t] for t in keep)
        return Beliefs(R, counts, kernels, noises, tuple(experts), tuple(gates), bound)


class _Criterion:
    """Minus the part of some components in the bound, which share their hyper-parameters."""

    def __init__(self, field: Ascent, omega: Floats) -> None:
        self.field, self.omega = field, omega

    def __call__(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, dict[str, Floats]]:
        value, raw, slope = self.field.functions.slope(kernel, self.omega, float(beside["noise"]))
        base = self.field.white if math.isfinite(self.field.white) else 0.0  # small is small in every unit of y
        return base - value, -raw, {"noise": np.asarray(-slope)}


def _grouped(columns: Floats, weight: Floats, count: int) -> Indices:
    """Labels of at most this many groups: centres far from each other, then the means of their nearest samples."""
    points = Vectors(np.ascontiguousarray(columns))
    centres = columns[choose_inducing(Gaussian(1.0), points, count)]
    labels = np.zeros(len(columns), dtype=np.intp)
    for _ in range(30):
        gaps = np.sum((columns[:, None, :] - centres) ** 2, axis=2)
        labels = np.argmin(gaps, axis=1)
        full = [place for place in range(len(centres)) if np.any(labels == place)]
        moved = np.array([np.average(columns[labels == t], axis=0, weights=weight[labels == t]) for t in full])
        if moved.shape == centres.shape and np.allclose(moved, centres, rtol=0.0, atol=1e-9):
            break
        centres = moved
    return np.unique(labels, return_inverse=True)[1]


def padded(counts: Floats, length: int) -> Floats:
    """Return counts with zeros behind, up to a length."""
    return np.concatenate([counts, np.zeros(max(length - len(counts), 0))])

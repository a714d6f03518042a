r"""Sequential minimal optimisation in batches: one solver for the whole support vector family.

Symbols: beta the variables, ``g`` = K beta + r beta + p the gradient, a variable *can go up* below the upper end
of its box and *down* above the lower end; ``m`` the smallest gradient of those that can go up and ``M`` the
largest of those that can go down, in each group; M - m <= tol for all groups is optimality.

A round chooses a working set W, descends on it pair by pair (compiled, `mercer.solvers.box.two_variables`) with the
block K_WW alone, and brings the gradient of all variables up to date with the few columns that changed. Where pairs are
slow, as with large boxes, all free variables of W move at once in between (`mercer.solvers.box.face`).
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import Bytes, parse_bytes
from mercer.constraints import Boolean, Integer, Optional, Positive
from mercer.errors import ParameterError
from mercer.gram.gram import HasRows
from mercer.problems import BoxQP, Solution, Status, Trace
from mercer.runtime.tiling import Kept, kept_by, serial_blas
from mercer.solvers.box.face import Face
from mercer.solvers.box.optimality import duality_gap, feasible, is_cone, multipliers, polish, violation
from mercer.solvers.box.row_cache import RowCache
from mercer.solvers.box.two_variables import descend, find_ends
from mercer.solvers.solver import Monitor, Solver, largest_order, resources_of

__all__ = ["SMO"]
__public__ = __all__

_SMALL, _LARGE = 512, 3072  # variables in a working set, unless more than half as many are free
_WHOLE = 2048  # up to this many variables all of them are the working set, in float64
_CHEAP = 6e7  # operations for all entries together that make it so: computing them in float64 is what such a set costs
_DEAR = 400.0  # operations an entry from which keeping rows beats computing them again
_SLACK = 0.1  # of the violation, by which gradients may move before a variable set aside is missed
_FILLED = 0.9  # of a working set, that free variables may take
_INNER = 0.1  # of the violation, to which a working set is solved
_FEWER = 0.85  # share of variables that remain for it to be worthwhile
_ENDLESS = 1e10  # sum of variables without an end, times the largest k(x, x), that no separable problem has
_STIFFEST = 1e30  # ridge that is as good as infinite: the variable stays at zero
_LONGEST = 10_000_000  # pairs to move at most unless the caller says so, or 100 for every variable
_CHUNK = 5e7  # entries of the gradient that the compiled loop visits before Ctrl-C is looked at: some 50 ms
_STATE = (
    "beta", "g", "wander", "scale", "single", "refreshed", "stuck", "active", "last", "considered", "steps", "rounds",
    "largest", "faces", "sharpened", "stiff", "refreshes"
)  # fmt: skip  # of a run, as it is kept, with its trace, what was set aside, and the rows and the block held
_EPS = float(np.finfo(np.float64).eps)
_BLOCK = 1 << 20  # variables in a block of K, whatever the memory
_PATIENCE, _EAGER = 20, 4  # pairs for every variable of a working set, until all free ones are moved at once; later on
_FEWEST = 1000  # pairs that take as long as a step on few free variables
_DENSER = 40  # how many operations of a factorisation take as long as one of the descent by pairs
_REFRESHES = 20  # gradients recomputed that each showed what rounding had hidden: it will go on to
_SLOW = 8  # steps on the free variables in a row that hardly lower the violation, until they are made half as often
_AGAIN = 30  # steps on the free variables in a row, while some reach an end of their box: pairs would free them again
_POLISHES = 4  # of the exact optimum, in turn with gradients recomputed
_UNSEEN = 1e-6  # of the tolerance: what rounding may do to the gradient of an exact solution
_POLISHED = 2000  # free variables up to which the optimum is computed exactly


class SMO(Solver):
    r"""Sequential minimal optimisation: move pairs of variables along the line on which their sum is fixed.

    .. math:: t = \frac{g_j - g_i}{K_{ii} + K_{jj} - 2 K_{ij}}, \qquad \beta_i \leftarrow \beta_i + t, \quad
              \beta_j \leftarrow \beta_j - t

    Seed: [KIKS] Section 4.2.2; [SS] Section 3.3; [ST] "Alternative form of the SVM problem".

    Parameters
    ----------
    tol : float, default 1e-3
        Largest violation of the optimality conditions, in the unit of f.
    max_iter : int, optional
        The most pairs to move; None allows ten million, or 100 for every variable if that is more.
    cache : int or str, default "512MB"
        Memory for rows of K. Rows are kept only where computing them again costs more: vectors with more than
        some 200 columns, and kernels on everything else.
    shrinking : bool, default True
        Whether variables that stay at an end of their box are set aside and looked at again at the end.

    Notes
    -----
    Solves BoxQP with at least one sum. Needs rows. The working set holds the worst violators of both ends and all
    free variables, so it grows with their number. Where pairs are slow on it, as with large boxes, up to 3072 free
    variables move together in between, by a Cholesky factorisation in float64. The violation is computed again in
    float64 before it is trusted, so CONVERGED means that it is at most tol; a Gram in float32 is left where rounding
    would be more than is left of it. At the end, up to 2000 free variables are solved for exactly; their solution is
    taken if it violates less. The result is the same for any number of threads.
    Memory 4 q^2 bytes for a working set of q, at most 24 q^2 where pairs are slow, and the row cache; where a memory
    budget is given, blocks and cache are kept within it.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> K = Dense().build(Linear(), Vectors.pack([[-2.0], [-1.0], [1.0], [2.0]]))
    >>> y = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> solution = SMO().solve(BoxQP(K, -y, np.minimum(9 * y, 0.0), np.maximum(9 * y, 0.0)))
    >>> solution.coef.round(6), solution.status.name
    (array([ 0. , -0.5,  0.5,  0. ]), 'CONVERGED')
    """

    constraints = {"cache": Bytes(), "tol": Positive(), "max_iter": Optional(Integer(1)), "shrinking": Boolean()}
    solves = BoxQP
    needs = (HasRows,)
    remedy = "Use gram=Dense() or gram=Tiles()."

    def __init__(
        self, tol: float = 1e-3, max_iter: int | None = None, cache: int | str = "512MB", shrinking: bool = True
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.cache = cache
        self.shrinking = shrinking

    def _solve(self, problem: BoxQP, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        if not len(problem.total):
            raise ParameterError(
                "SMO was given a problem without a sum; it moves pairs of variables whose sum is fixed. "
                "Use solver=Adatron(), or add a bias."
            )
        order = largest_order(problem.gram, _BLOCK)
        kept = self._kept(problem, start, order, monitor)
        with serial_blas():  # what runs in threads are tiles; the same bits for any number of them
            run = _Run(problem, self, start, kept, order)
            status = run.iterate(monitor)
            kept.close(run.state)
            return run.solution(status)

    def _kept(self, problem: BoxQP, start: Floats | None, order: int, monitor: Monitor | None) -> Kept:
        """Return the place for the state of a run; what tells it from others is written down only if it has one."""
        if getattr(monitor, "keeping", None) is None:
            return kept_by(None, "SMO")
        return kept_by(
            monitor, "SMO", options=repr(self), order=order, gram=repr(problem.gram), linear=problem.linear,
            lower=problem.lower, upper=problem.upper, group=problem.group, total=problem.total,
            ridge=problem.ridge, start=start
        )  # fmt: skip


class _Run:
    """One run: the variables, their gradient, and which of them are looked at."""

    def __init__(self, problem: BoxQP, options: SMO, start: Floats | None, kept: Kept, order: int) -> None:
        self.problem, self.options, self.kept = problem, options, kept
        self.gram: Any = problem.gram
        n = len(problem.linear)
        self.order = order
        cheap = n <= _WHOLE and self.gram.entry_cost * n * n <= _CHEAP
        self.whole = n <= self.order and (n <= 512 or cheap)
        self.lower, self.upper = problem.lower, problem.upper
        self.group = np.zeros(n, np.intp) if problem.group is None else problem.group
        # variables of a group are adjacent
        self.grouped = problem.group is None or bool((self.group[1:] >= self.group[:-1]).all())
        ridge = np.minimum(np.asarray(problem.ridge, dtype=np.float64), _STIFFEST)
        self.ridge = ridge if ridge.ndim else np.full(n, ridge)
        self.beta = feasible(problem, start)
        self.g = problem.linear + self.ridge * self.beta
        dear = self.gram.entry_cost >= _DEAR and not self.whole
        self.memory = parse_bytes(options.cache)
        given = resources_of(self.gram).memory
        if given is not None:
            self.memory = min(self.memory, parse_bytes(given) // 4)
        self.cache = RowCache(self.gram, self.memory) if dear else None
        self.scale = float(np.abs(self.gram.diag()).max(initial=0.0))
        self.error = self.gram.entry_error
        self.wander = 0.0  # sum of squares of what was added to the variables: so does rounding in float32 add up
        self.cone = is_cone(problem) and not self.ridge.any()
        if self.whole:
            self.gram = self.gram.refined()
        self.single = self.gram.dtype == np.float32
        self.active: Indices | None = None  # None: all
        self.aside: list[tuple[Indices, Floats]] = []  # variables set aside, and beta at that moment
        self.block: tuple[Indices, Floats] | None = None
        self.last = np.zeros(0, np.intp)
        self.considered = np.inf  # violation at which shrinking was thought of last
        self.steps = self.rounds = self.stuck = self.recorded = 0
        self.limit = options.max_iter or max(_LONGEST, 100 * n)
        self.largest = self.faces = self.refreshes = 0
        self.began = time.monotonic() - kept.seconds
        self.monitor: Monitor | None = None
        self.rows: list[tuple[float, float, float]] = []
        self.refreshed = False  # whether the gradient was recomputed where rounding might hide a violation
        self.sharpened = self.stiff = False
        used = np.flatnonzero(self.beta)
        if kept.state is not None:
            self._take_up(kept.state)
        elif len(used):
            self._follow(used, self.beta[used], None)

    def state(self) -> dict[str, Any]:
        """All that the next rounds depend on."""
        state = {name: getattr(self, name) for name in _STATE}
        state |= {
            "rows": np.array(self.rows[: self.recorded]).reshape(-1, 3),
            "aside": [list(pair) for pair in self.aside],
        }
        if self.cache is not None:
            state["cache"] = self.cache.state()
        if self.block is not None and not self.whole:
            state["block"] = list(self.block)
        return state

    def _take_up(self, state: dict[str, Any]) -> None:
        """Continue where another run stopped."""
        if self.single and not state["single"]:
            self._double()
        for name in _STATE:
            setattr(self, name, state[name])
        self.rows = [tuple(row) for row in state["rows"].tolist()]
        self.aside = [(index, then) for index, then in state["aside"]]
        if self.cache is not None:
            self.cache.take_up(state["cache"])
        if "block" in state:
            self.block = state["block"][0], state["block"][1]

    # what is where -----------------------------------------------------------------------------------

    def _ends(self) -> tuple[Floats, Floats]:
        """Return m and M of each group among the variables looked at."""
        every = np.zeros(0, np.intp) if self.active is None else self.active
        return find_ends(self.g, self.beta, (self.lower, self.upper), self.group, every, len(self.problem.total))

    def objective(self) -> float:
        return 0.5 * float(self.beta @ (self.g + self.problem.linear))

    # the loop -----------------------------------------------------------------------------------------

    def iterate(self, monitor: Monitor | None) -> Status:
        self.monitor = monitor
        tol = self.options.tol
        while True:
            self.recorded = len(self.rows)
            self.kept.offer(self.state)
            m, M = self._ends()
            gap = _largest_gap(m, M)
            if self.active is None:
                self.rows.append((self.objective(), gap, time.monotonic() - self.began))
            if gap <= tol:
                if self.active is not None:
                    self._look_at_all()
                    self.refreshed = False
                elif not self.refreshed:
                    if self.refreshes >= _REFRESHES:
                        return Status.STALLED
                    self._refresh(m, M)
                    self.refreshed = True
                    self.refreshes += 1
                else:
                    return Status.CONVERGED
                continue
            if self.single and self._noise() > gap:
                self._sharpen()
                continue
            answer = monitor(self.rounds, gap) if monitor is not None else False
            if answer:
                return answer if isinstance(answer, Status) else Status.STOPPED
            if self.steps >= self.limit:
                return Status.MAX_ITER
            before = self.steps
            if self._round(m, M, gap, monitor) is None:
                return Status.UNBOUNDED
            self.refreshed = False
            self.stuck = self.stuck + 1 if self.steps == before else 0
            if self.stuck and self.active is not None:
                self._look_at_all()
            elif self.stuck > 1:
                if not self.single:
                    return Status.STALLED
                self._refine()

    def _round(self, m: Floats, M: Floats, gap: float, monitor: Monitor | None) -> bool | None:
        """Improve one working set; None if the problem turns out to have no minimum."""
        W, starts = self._working_set(m, M)
        K = self._block_of(W)
        if self.rounds < 3:  # of a conditionally definite kernel the diagonal says nothing
            self.scale = max(self.scale, float(K.max(initial=0.0)), -float(K.min(initial=0.0)))
        found = self._improve(W, starts, K, gap, monitor)
        if found is None:
            return None
        self.rounds += 1
        self.last = W
        self.largest = max(self.largest, len(W))
        (beta, g), old = found, self.beta[W]
        moved = np.flatnonzero(beta != old)
        self.beta[W] = beta
        if self.whole:
            self.g[W] = g
        elif len(moved):
            self._follow(W[moved], (beta - old)[moved], self.active)
            self.g[W[moved]] += self.ridge[W[moved]] * (beta - old)[moved]
        if self.options.shrinking and self.cache is None and gap < 0.7 * self.considered:
            self._set_aside(gap)
            self.considered = gap
        return True

    def _improve(
        self, W: Indices, starts: Indices, K: Floats, gap: float, monitor: Monitor | None
    ) -> tuple[Floats, Floats] | None:
        """Move the variables of a working set, by pairs, and all free ones at once where pairs are slow.

        Returns the variables and their gradient; None if there is no minimum.
        """
        g, beta = self.g[W].astype(K.dtype), self.beta[W]
        box = self.lower[W], self.upper[W]
        goal = 0.5 * self.options.tol if self.whole else max(_INNER * gap, 0.3 * self.options.tol)
        chunk = max(1, int(_CHUNK / len(W))) if not self.cone else 20 * len(W) + 1000
        limit, unreported, idle, least, face = self.limit - self.steps, chunk, 0, np.inf, None
        patience = (_EAGER if self.stiff else _PATIENCE) * len(W) + _FEWEST
        while limit > 0:
            if unreported <= 0:
                if monitor is not None and monitor(self.rounds, gap):
                    break
                unreported = chunk
            asked = int(min(unreported, limit, patience))
            taken, left = descend(K, g, beta, box, starts, goal, asked)
            self.steps += taken
            limit, patience, unreported = limit - taken, patience - taken, unreported - taken
            if not np.isfinite(beta).all() or (self.cone and self._runs_off(g, beta, W)):
                return None
            if left <= goal or taken < asked:
                break
            if patience <= 0 and limit > 0:
                if face is None:
                    if K.dtype == np.float32:  # a free block that pairs are slow on is not definite in float32
                        K, self.block = self._exact_block(W), None
                        g = self.g[W] + K @ (beta - self.beta[W])
                    face = Face(K, beta, g, box, self.group[W])
                patience, gained = self._step_on(face)
                if face.halted:
                    break
                idle = 0 if gained and left < 0.9 * least else idle + (1 if gained else _SLOW)
                least = min(least, left)
                patience, unreported = patience << min(idle // _SLOW, 20), unreported - patience
        self.stiff = face is not None
        return beta, g

    def _step_on(self, face: Face) -> tuple[int, bool]:
        """Move all free variables of a working set at once.

        Returns how many pairs to move until the next time, which take about as long, and whether anything was gained.
        """
        face.look()
        free, q = int(np.count_nonzero(face.free)), len(face.g)
        if free > min(_LARGE, self.order):
            return self.limit, False
        gained = False
        for _ in range(_AGAIN):
            moved, blocked = face.step(self._halted)
            gained = gained or moved
            if face.halted or not (moved and blocked):
                break
        self.faces += 1
        return 2 * q + free**3 // (_DENSER * q) + _FEWEST, gained

    def _exact_block(self, W: Indices) -> Floats:
        """K_WW in float64, with the ridge on its diagonal."""
        K = np.ascontiguousarray(self.gram.refined().rows(W, W), dtype=np.float64)
        if self.ridge.any():
            K[np.diag_indices_from(K)] += self.ridge[W]
        return K

    def _runs_off(self, g: Floats, beta: Floats, W: Indices) -> bool:
        """Scale variables without an upper end to the best multiple, and return whether they grow without end.

        A solution has beta' K beta = -p' beta. Where the classes cannot be separated the left side vanishes beside the
        right, and the best multiple of every iterate is larger than the last.
        """
        if len(W) < len(self.beta):
            return bool(np.abs(beta).sum() * max(self.scale, 1e-300) > _ENDLESS)
        p = self.problem.linear[W]
        linear, square = -float(p @ beta), float(beta @ (g - p))
        if linear > 4.0 * square > -np.inf and linear > 0:
            multiple = min(linear / square, _ENDLESS) if square > 0 else _ENDLESS
            beta *= multiple
            g[:] = p + multiple * (g - p)
        return bool(np.abs(beta).sum() * max(self.scale, 1e-300) > _ENDLESS)

    def _follow(self, index: Indices, change: Floats, rows: Indices | None) -> None:
        """Bring the gradient up to date with a change of some variables, everywhere or at some rows."""
        self.wander += float(change @ change)
        if self.cache is not None:
            self.cache.update(index, change, self.g)
        elif rows is None:
            self.gram.update(index, change, self.g)
        else:
            part = np.zeros(len(rows))
            self.gram.update(index, change, part, rows=rows)
            self.g[rows] += part

    # working sets -------------------------------------------------------------------------------------

    def _working_set(self, m: Floats, M: Floats) -> tuple[Indices, Indices]:
        """The worst violators of both ends and all free variables, in groups, and where each group starts."""
        n = len(self.beta)
        if self.whole:
            W = np.arange(n)
        else:
            every = np.arange(n) if self.active is None else self.active
            W = self._chosen(every, m, M)
        if len(m) > 1 or self.cache is not None:  # in a group, those whose rows are held come first
            late = np.zeros(len(W), bool) if self.cache is None else ~self.cache.held(W)
            W = W[np.argsort(2 * self.group[W] + late, kind="stable")]
        starts = np.searchsorted(self.group[W], np.arange(len(m) + 1))
        return W, starts

    def _chosen(self, every: Indices, m: Floats, M: Floats) -> Indices:
        g, beta, group = self.g[every], self.beta[every], self.group[every]
        up, down = beta < self.upper[every], beta > self.lower[every]
        free = up & down
        rise = np.where(up, M[group] - g, -np.inf)
        fall = np.where(down, g - m[group], -np.inf)
        violators = int(np.count_nonzero((rise > 0) | (fall > 0)))
        count = int(np.count_nonzero(free))
        size = max(_SMALL, 2 * count) if self.cache is None else max(_SMALL // 2, 3 * count // 2)
        if violators <= _LARGE and self.cache is None:
            size = max(size, violators)
        limit = min(max(_LARGE, int(np.sqrt(self.memory / self.gram.dtype.itemsize))), self.order)
        size = min(size, max(_LARGE, int(1.25 * count)), limit, len(every))
        taken = free.copy()
        if count > _FILLED * size:  # more are free than fit, or no room is left for others: the worst of all
            taken[:] = False
        for score, share in ((rise, 0.5), (fall, 1.0)):
            room = int((size - np.count_nonzero(taken)) * share)
            open_ = np.flatnonzero((score > 0) & ~taken)
            if room < len(open_):
                open_ = open_[np.argpartition(-score[open_], room)[:room]] if room else open_[:0]
            taken[open_] = True
        room = size - int(np.count_nonzero(taken))
        if room > 0 and len(self.last):
            recent = np.searchsorted(every, self.last)
            recent = recent[(recent < len(every)) & (every[np.minimum(recent, len(every) - 1)] == self.last)]
            taken[recent[~taken[recent]][:room]] = True
        return every[taken]

    def _block_of(self, W: Indices) -> Floats:
        """K_WW with the ridge on its diagonal; a working set that stays the same is computed once."""
        if self.block is not None and np.array_equal(self.block[0], W):
            return self.block[1]
        self.block = None  # its memory, before the next is made
        array = getattr(self.gram, "array", None)
        K = array if self.whole and array is not None and self.grouped else self._entries(W)
        if self.ridge.any():
            K = K.copy() if K is array else K
            K[np.diag_indices_from(K)] += self.ridge[W].astype(K.dtype)
        self.block = W, K
        return K

    def _entries(self, W: Indices) -> Floats:
        """K_WW, of rows in the cache as far as they are held."""
        if self.cache is None:
            return np.ascontiguousarray(self.gram.rows(W, W))
        order = np.argsort(~self.cache.held(W), kind="stable")
        known = int(np.count_nonzero(self.cache.held(W)))
        V = W[order]
        K = np.empty((len(V), len(V)), self.gram.dtype)
        K[:known] = self.cache.entries(V[:known], V)
        K[known:, :known] = K[:known, known:].T
        if known < len(V):
            K[known:, known:] = self.gram.rows(V[known:], V[known:])
        back = np.argsort(order)
        return K[np.ix_(back, back)] if (back != np.arange(len(back))).any() else K

    # shrinking ----------------------------------------------------------------------------------------

    def _set_aside(self, gap: float) -> None:
        """Stop looking at variables that would stay where they are if gradients moved by a tenth of the gap."""
        n = len(self.beta)
        if self.whole:
            return
        every = np.arange(n) if self.active is None else self.active
        m, M = self._ends()
        g, beta, group = self.g[every], self.beta[every], self.group[every]
        up, down = beta < self.upper[every], beta > self.lower[every]
        slack = _SLACK * gap
        keep = (up & down) | (up & (g < M[group] + slack)) | (down & (g > m[group] - slack))
        if np.count_nonzero(keep) < _FEWER * len(every):
            self.aside.append((every[~keep], self.beta.copy()))
            self.active = every[keep]

    def _look_at_all(self) -> None:
        """Bring the gradient of variables that were set aside up to date and look at them again."""
        self.active = None
        for index, then in self.aside:
            change = self.beta - then
            moved = np.flatnonzero(change)
            if len(moved):
                self._follow(moved, change[moved], index)
        self.aside = []

    def _polish(self) -> None:
        """Solve for the free variables exactly; of few large ones again, while a recomputed gradient shows more."""
        most, every = min(_POLISHED, self.order), np.arange(len(self.beta))
        rounding = _EPS * self.scale * float(np.abs(self.beta).sum())
        again = self.whole and rounding > _UNSEEN * self.options.tol
        left = violation(self.problem, self.beta, self.g) if again else np.nan
        for _ in range(_POLISHES if again else 1):
            beta, g = self.beta.copy(), self.g.copy()
            if not polish(self.problem, self.beta, self.g, most, self._halted) or not again:
                return
            self._recompute(every)
            before, left = left, violation(self.problem, self.beta, self.g)
            if not left < before:
                self.beta, self.g = beta, g
                return

    def _halted(self) -> bool:
        """Ask between the factorisations of a polish, which is longer than a round, whether the end is requested."""
        return self.monitor is not None and bool(self.monitor(self.rounds, self.rows[-1][1]))

    # precision ----------------------------------------------------------------------------------------

    def _refresh(self, m: Floats, M: Floats) -> None:
        """Compute the gradient in float64 wherever rounding might hide a violation."""
        every = np.arange(len(self.beta))
        if not self.single:
            if self.whole or _EPS * self.scale * np.sqrt(len(every) * self.wander) > 0.01 * self.options.tol:
                self._recompute(every)
            return
        up, down = self.beta < self.upper, self.beta > self.lower
        error = 8.0 * self._noise()
        reach = 2.0 * error + self.options.tol
        doubtful = (up & (self.g < M[self.group] + reach)) | (down & (self.g > m[self.group] - reach))
        seen = self._recompute(np.flatnonzero(doubtful))
        if seen > 0.5 * error:  # they do not: points in tight clusters have all the same rounding
            self._recompute(every)

    def _recompute(self, rows: Indices) -> float:
        """Compute some of the gradient in float64; return the largest change."""
        used = np.flatnonzero(self.beta)
        part = self.problem.linear[rows] + self.ridge[rows] * self.beta[rows]
        self.gram.refined().update(used, self.beta[used], part, rows=None if len(rows) == len(self.beta) else rows)
        seen = float(np.abs(part - self.g[rows]).max(initial=0.0))
        self.g[rows] = part
        return seen

    def _noise(self) -> float:
        """How large what rounding to float32 did to the gradient is likely to be: it adds up like a random walk."""
        return float(self.error * self.scale * np.sqrt(self.wander))

    def _sharpen(self) -> None:
        """Recompute a gradient whose violation may be partly due to rounding to float32; the second time, for good."""
        self.active, self.aside = None, []
        if self.sharpened:
            self._refine()
        else:
            self._recompute(np.arange(len(self.beta)))
        self.wander, self.sharpened = 0.0, True

    def _refine(self) -> None:
        """Go on in float64: float32 is not exact enough for this tolerance."""
        self._double()
        self._recompute(np.arange(len(self.beta)))

    def _double(self) -> None:
        """Take the Gram in float64, and hold its rows if rows were held."""
        self.gram = self.gram.refined()
        self.problem = dataclasses.replace(self.problem, gram=self.gram)
        self.cache = RowCache(self.gram, self.memory) if self.cache is not None else None
        self.single, self.block = False, None

    # the end ------------------------------------------------------------------------------------------

    def solution(self, status: Status) -> Solution:
        self._look_at_all()
        self.block = None
        if status is Status.CONVERGED:
            self._polish()
        else:
            self._recompute(np.arange(len(self.beta)))
        product = self.g - self.problem.linear - self.ridge * self.beta
        rho = multipliers(self.problem, self.beta, self.g)
        residual = _largest_gap(*self._ends())
        self.rows.append((self.objective(), residual, time.monotonic() - self.began))
        details: dict[str, Any] = {
            "pairs moved": self.steps, "steps on the free variables": self.faces, "rounds": self.rounds,
            "largest working set": self.largest, "support": int(np.count_nonzero(self.beta)),
        }  # fmt: skip
        if self.cache is not None:
            details |= {"row cache, bytes": self.cache.nbytes, "row cache, hit rate": self.cache.hit_rate}
        return Solution(
            coef=self.beta, status=status, residual=residual, multipliers=rho, trace=Trace.of(self.rows),
            gap=duality_gap(self.problem, self.beta, product, rho), details=details, state=product,
        )  # fmt: skip


def _largest_gap(m: Floats, M: Floats) -> float:
    """Return the largest M - m over the groups, not less than zero; NaN if one is."""
    if len(m) == 1:
        gap = float(M[0]) - float(m[0])
        return 0.0 if gap <= 0.0 else gap
    with np.errstate(invalid="ignore"):
        return float(np.max(M - m, initial=0.0))

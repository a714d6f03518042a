"""Exchange of roles: which samples react, and how, when one sample of a support vector machine is left out.

Symbols, as `mercer.selection.bounds.span_bound` derives them: u = T z + d c over the p samples that may react,
``free`` those inside their box in the trained machine (u is the change of beta, z the gradient), the others at an end
of it (u is the change of the gradient, z that of beta). ``table`` is the transpose of T; ``room`` (p, 4) how far beta
may fall and rise, the gradient, and what beta may be outside its box without harm; ``state`` the role of each: 0 inside
the box, 1 and -1 at its ends; ``locked`` the place of the sample left out, or -1.
"""

import numpy as np

from mercer.runtime.compiled import compiled

__all__ = ["leave_out"]

_SLACK = 1e-9  # of the margin: by less than this no gradient has the wrong sign
_SINGULAR = 1e-13  # pivot, after the diagonal was scaled to one
_ROUNDS = 10  # of exchanging all violated roles at once
_EVENTS = 1000  # of exchanging one after the other
_ACTIVE = 200  # samples in a new role at the same time


@compiled
def _eliminate(A, b, count):
    """Solve A x = b in place by elimination with pivots; False if A, its diagonal scaled to one, is singular."""
    scale = np.ones(count)
    for i in range(count):
        if A[i, i] > 0.0:
            scale[i] = 1.0 / np.sqrt(A[i, i])
    for i in range(count):
        b[i] *= scale[i]
        for j in range(count):
            A[i, j] *= scale[i] * scale[j]
    for i in range(count):
        best = i
        for row in range(i + 1, count):
            if abs(A[row, i]) > abs(A[best, i]):
                best = row
        if not abs(A[best, i]) > _SINGULAR:
            return False
        if best != i:
            for j in range(i, count):
                A[i, j], A[best, j] = A[best, j], A[i, j]
            b[i], b[best] = b[best], b[i]
        for row in range(i + 1, count):
            factor = A[row, i] / A[i, i]
            if factor != 0.0:
                for j in range(i + 1, count):
                    A[row, j] -= factor * A[i, j]
                b[row] -= factor * b[i]
    for i in range(count - 1, -1, -1):
        for j in range(i + 1, count):
            b[i] -= A[i, j] * b[j]
        b[i] /= A[i, i]
    for i in range(count):
        b[i] *= scale[i]
    return True


@compiled
def _respond(table, state, rhs, known, free, u, z):
    """Add to u what follows from z: ``known`` for those at the other end of their box, found for those in a new role.

    On entry u is what the sample left out does on its own; ``rhs`` is u of those in a new role. Returns their number,
    -1 if there is no answer, -2 if they are too many.
    """
    p = len(state)
    active = np.empty(p, np.intp)
    count = 0
    for j in range(p):
        z[j] = 0.0
        if (state[j] != 0) == free[j]:
            active[count] = j
            count += 1
        elif not free[j] and known[j] != 0.0:
            z[j] = known[j]
            for k in range(p):
                u[k] += z[j] * table[j, k]
    if count > _ACTIVE:
        return -2
    A, b = np.empty((count, count)), np.empty(count)
    for i in range(count):
        b[i] = rhs[active[i]] - u[active[i]]
        for j in range(count):
            A[i, j] = table[active[j], active[i]]
    if not _eliminate(A, b, count):
        return -1
    for i in range(count):
        a = active[i]
        z[a] = b[i]
        for j in range(p):
            u[j] += b[i] * table[a, j]
    return count


@compiled
def _begin(state, room, free):
    """Give every sample the role it has in the trained machine: 0 inside its box, 1 and -1 at the ends."""
    for j in range(len(state)):
        state[j] = 0 if free[j] else (1 if room[j, 1] <= -room[j, 0] else -1)


@compiled
def _review(state, target, u, z, room, free, locked):
    """Exchange the roles that are violated, and count them; ``locked`` is the one left out."""
    wrong = 0
    for j in range(len(state)):
        change = u[j] if free[j] else z[j]
        gradient = z[j] if free[j] else room[j, 2] + u[j]
        new = state[j]
        if state[j] == 0:
            if change > room[j, 1] + room[j, 3]:
                new = 1
            elif change < room[j, 0] - room[j, 3]:
                new = -1
        elif state[j] * gradient > _SLACK:
            new = 0
        if new != state[j] and j != locked:
            wrong += 1
            state[j] = new
            if new == 0:
                target[j] = -room[j, 2]
            else:
                target[j] = room[j, 1] if new > 0 else room[j, 0]
    return wrong


@compiled
def _jump(table, start, locked, room, free, state, target):
    """Go to the minimum at once, by exchanging all roles that are violated; z there, or nothing if that fails."""
    p = len(start)
    u, z = np.empty(p), np.empty(p)
    _begin(state, room, free)
    for j in range(p):
        target[j] = target[j] if j == locked else 0.0
    if locked >= 0 and free[locked]:
        state[locked] = 1
    fewest = p
    for _ in range(_ROUNDS):
        for j in range(p):
            u[j] = start[j]
        if _respond(table, state, target, target, free, u, z) < 0:
            break
        wrong = _review(state, target, u, z, room, free, locked)
        if wrong == 0:
            return z
        if wrong > 2 * fewest + 20:
            break  # it does not settle
        fewest = min(fewest, wrong)
    return np.empty(0)


@compiled
def _next_event(state, course, room, free, locked, last):
    """Which role is violated first on the way, and how far that is; ``course`` has the rows u, z and their speeds."""
    u, z, du, dz = course[0], course[1], course[2], course[3]
    first, step = -1, np.inf
    for j in range(len(state)):
        if j == locked:
            continue
        change, speed = (u[j], du[j]) if free[j] else (z[j], dz[j])
        gradient, slope = (z[j], dz[j]) if free[j] else (room[j, 2] + u[j], du[j])
        if state[j] == 0:
            way = room[j, 1] - change if speed > 0.0 else room[j, 0] - change
        else:
            way, speed = -gradient, slope
            if state[j] * slope <= 0.0:
                continue
        if speed == 0.0 or (j == last and abs(way) <= (room[j, 3] if state[j] == 0 else _SLACK)):
            continue  # it has just taken this role: rounding must not take it back
        here = max(way / speed, 0.0)
        if here < step:
            first, step = j, here
    return first, step


@compiled
def _walk(table, start, locked, removed, room, free):
    """Take the sample out little by little, and exchange one role at a time; z at the end, or nothing."""
    p = len(start)
    course = np.zeros((4, p))
    u, z, du, dz = course[0], course[1], course[2], course[3]
    state, rest, none = np.empty(p, np.int8), np.zeros(p), np.zeros(p)
    _begin(state, room, free)
    if locked >= 0 and free[locked]:
        state[locked], rest[locked] = 1, -removed
    done, last, sign = 0.0, -1, 1.0 if removed > 0.0 else -1.0
    for _ in range(_EVENTS):
        inside = 0
        for j in range(p):
            du[j] = start[j]
            inside += state[j] == 0
        count = _respond(table, state, rest, none, free, du, dz)
        stuck = count == -1 and inside == 0
        if count < 0 and not stuck:
            return np.empty(0)
        if stuck:
            # No sample is free to keep the sum: the bias alone moves, to where one is.
            for j in range(p):
                dz[j] = -sign if free[j] else 0.0
                du[j] = 0.0 if free[j] else -sign
        event, step = _next_event(state, course, room, free, locked, last)
        if stuck and event < 0:
            return np.empty(0)
        whole = not stuck and step >= 1.0 - done
        if whole:
            step = 1.0 - done
        for j in range(p):
            u[j] += step * du[j]
            z[j] += step * dz[j]
        if whole:
            return z
        done += 0.0 if stuck else step
        last = event
        if state[event] != 0:
            state[event] = 0
        else:
            state[event] = 1 if (du[event] if free[event] else dz[event]) > 0.0 else -1
    for j in range(p):
        z[j] += (1.0 - done) * dz[j]  # enough: the rest of the way straight on
    return z


@compiled
def leave_out(table, columns, removed, place, room, free, out):
    """What those that react add to f(x_i), for each of some samples, given d and c; NaN if none can make up for it."""
    p = len(table)
    state, target, start = np.empty(p, np.int8), np.empty(p), np.empty(p)
    for k in range(len(removed)):
        locked = place[k]
        for j in range(p):
            start[j] = removed[k] * columns[k, j]
        if locked >= 0:
            target[locked] = -removed[k] if free[locked] else 0.0
        z = _jump(table, start, locked, room, free, state, target)
        if len(z) == 0:
            z = _walk(table, start, locked, removed[k], room, free)
        if len(z) == 0:  # as if only the free ones reacted, and their boxes had no ends
            z = np.zeros(p)
            if locked >= 0 and free[locked]:
                z[locked] = -removed[k] / table[locked, locked] if table[locked, locked] > _SINGULAR else np.nan
        out[k] = z[locked] if locked >= 0 and free[locked] else 0.0
        for j in range(p):
            if z[j] != 0.0:
                out[k] += z[j] * columns[k, j] if free[j] else -z[j] * columns[k, j]

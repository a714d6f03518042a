r"""Where to look next, by a Gaussian process on what was seen: expected improvement.

Symbols: u points of the unit cube, v what was found there (smaller is better), mu and s mean and standard deviation of
the process, z = (v_best - mu) / s.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import norm, qmc

from mercer.arguments import checked, real_array, require_squares
from mercer.arrays import Floats
from mercer.constraints import Interval
from mercer.errors import DomainError
from mercer.estimators import GaussianProcessRegressor
from mercer.kernels import Matern

__all__ = ["expected_improvement", "first_points", "next_point"]
__public__ = ["expected_improvement"]

_LOOKED = 1024  # points at which the improvement is computed
_NEAR = 256  # more of them near the best
_FITTED = 100  # points, the best ones, that the process is fitted to
_ALIKE = 1e-3  # of the cube, nearer to a point than which nothing new is learned


@checked(best=Interval(-1e150, 1e150))
def expected_improvement(mean: Floats, std: Floats, best: float) -> Floats:
    r"""By how much less than the best a normal value is, on average.

    .. math:: \mathrm{E} \max(0, v_{best} - v) = s \, (z \, \Phi(z) + \varphi(z)), \qquad z = (v_{best} - \mu) / s

    Parameters
    ----------
    mean, std : (m,) arrays
    best : float

    References
    ----------
    Jones, Schonlau and Welch (1998), Efficient global optimization of expensive black-box functions.

    Examples
    --------
    >>> expected_improvement([0.0, 1.0], [1.0, 0.0], 0.0).round(6)  # 1 / sqrt(2 pi), and nothing
    array([0.398942, 0.      ])
    """
    mu, s = real_array(mean, "mean", (0, 1)), real_array(std, "std", (0, 1))
    if mu.shape != s.shape or (s < 0.0).any():
        raise DomainError(
            f"mean has shape {mu.shape} and std has shape {s.shape}, the smallest {s.min():g}; a standard deviation of "
            "zero or more is needed for each mean. Give as many as there are means."
        )
    require_squares(mu, "mean")
    require_squares(s, "std")
    gain = best - mu
    certain = s <= np.finfo(float).tiny  # beside which a gain over it might overflow
    z = np.divide(gain, s, out=np.zeros_like(gain), where=~certain)
    return np.where(certain, np.maximum(gain, 0.0), s * (z * norm.cdf(z) + norm.pdf(z)))


def first_points(count: int, width: int, seed: int) -> Floats:
    """Return points that fill the unit cube evenly, (count, width)."""
    return qmc.Halton(width, rng=seed).random(count)


def next_point(U: Floats, v: Floats, seed: int) -> Floats:
    """Return the point of the unit cube with the largest expected improvement, (d,).

    Parameters
    ----------
    U : (m, d) array
        Points seen.
    v : (m,) array
        What was found, the smaller the better; values that are not finite count as the worst.
    seed : int
        Of the points that are compared.
    """
    worst = np.max(v[np.isfinite(v)], initial=0.0)
    v = np.where(np.isfinite(v), v, worst)
    order = np.argsort(v, kind="stable")[:_FITTED]
    scale = float(np.std(v[order])) or 1.0
    w = (v[order] - v[order].mean()) / scale
    d = U.shape[1]
    kernel = 1.0 * Matern(2.5, length_scale=(0.5,) * d if d > 1 else 0.5)
    bounds = {"noise": (1e-8, 1.0)}
    process = GaussianProcessRegressor(kernel, 1e-3, bounds=bounds, normalize_y=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rough model of few points is all that is asked for
        process.fit(U[order], w)
        rng = np.random.default_rng(seed)
        near = np.clip(U[order[0]] + 0.1 * rng.normal(size=(_NEAR, d)), 0.0, 1.0)
        T = np.vstack([first_points(_LOOKED, d, seed), near])
        T = T[np.min(np.max(np.abs(T[:, None, :] - U), axis=2), axis=1) > _ALIKE]
        mean, std = process.predict(T, return_std=True)
    return T[int(np.argmax(expected_improvement(np.asarray(mean), np.asarray(std), float(w.min()))))]

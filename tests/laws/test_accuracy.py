"""Every kernel on vectors against 50 digits: 200 pairs of points each.

Benign pairs (120, distances about a length scale): at most 8 units in the last place. Harsh pairs (80: nearly
equal points, points far from the origin, distant points, scales from 1e-150 to 1e150): at most 1e-10 relative.
Errors are relative to the value; where a formula subtracts by its nature (a kernel that vanishes beyond a
distance, one that changes sign) they are relative to ``size``, the largest of its terms. Values below 1e-290 may
be zero; values that no float holds are an error, never infinite, never NaN.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import mercer.kernels as K
from mercer.domains import Vectors
from mercer.errors import DomainError
from mercer.testing.members import member
from tests.declared import declared, unit_test_of

DIGITS = 50
ULP, HARSH = 8, 1e-10
TINY = 1e-290


class Row(NamedTuple):
    """A kernel, its formula for two lists of exact numbers, and what is special about it."""

    kernel: Any
    formula: Callable
    size: Callable | None = None  # (x, z, value) -> what errors are compared with
    signed: bool = True  # whether coordinates may be negative
    scaled: Callable | None = None  # scale -> kernel with its lengths times the scale
    width: int = 3
    reach: float = 1e6  # how far from the origin points may be


def norm2(x, z, lengths=1):
    scales = lengths if isinstance(lengths, tuple) else [lengths] * len(x)
    return mpmath.fsum(((a - b) / mpf(l)) ** 2 for a, b, l in zip(x, z, scales, strict=True))


def norm(x, z, l=1):
    return mpmath.sqrt(norm2(x, z, l))


def dot(x, z):
    return mpmath.fsum(a * b for a, b in zip(x, z, strict=True))


def length(x):
    return mpmath.sqrt(dot(x, x))


def matern(nu):
    def formula(x, z, l=1):
        s = mpmath.sqrt(2 * mpf(nu)) * norm(x, z, l)
        if s == 0:
            return mpf(1)
        if s > 3000:
            return mpf(0)
        return 2 ** (1 - mpf(nu)) / mpmath.gamma(mpf(nu)) * s ** mpf(nu) * mpmath.besselk(mpf(nu), s)

    return formula


def wendland(smoothness, l):
    j = 3 // 2 + smoothness + 1
    polynomials = {
        0: lambda r: 1,
        1: lambda r: 1 + (j + 1) * r,
        2: lambda r: 1 + (j + 2) * r + mpf((j + 1) * (j + 3)) / 3 * r**2,
    }

    def formula(x, z):
        r = norm(x, z, l)
        return max(mpf(0), 1 - r) ** (j + smoothness) * polynomials[smoothness](r) if r < 1 else mpf(0)

    return formula


def spline(degree, l):
    def one(u):
        total = mpf(0)
        for i in range(degree + 2):
            edge = u + mpf(degree + 1) / 2 - i
            if edge > 0:
                total += (-1) ** i * mpmath.binomial(degree + 1, i) * edge**degree
        return total / mpmath.factorial(degree)

    return lambda x, z: mpmath.fprod(one((a - b) / mpf(l)) for a, b in zip(x, z, strict=True))


def arc_cosine(n):
    def formula(x, z):
        a, b = length(x), length(z)
        cosine = max(mpf(-1), min(mpf(1), dot(x, z) / (a * b)))
        t = mpmath.acos(cosine)
        J = {
            0: mpmath.pi - t,
            1: mpmath.sin(t) + (mpmath.pi - t) * cosine,
            2: 3 * mpmath.sin(t) * cosine + (mpmath.pi - t) * (1 + 2 * cosine**2),
        }[n]
        return (a * b) ** n * J / mpmath.pi

    return formula


def thin_plate(x, z):
    d = norm(x, z)
    return d**2 * mpmath.log(d) if d else mpf(0)


def linear_spline(x, z):
    terms = [(a, b, min(a, b)) for a, b in zip(x, z, strict=True)]
    return mpmath.fprod(1 + a * b + m**3 / 3 + m**2 * abs(a - b) / 2 for a, b, m in terms)


def pairs_of(x, z):
    return list(zip(x, z, strict=True))


def one(x, z, value):
    return mpf(1)


def unit_or_value(x, z, value):
    return max(abs(value), norm2(x, z))


L, P = 1.25, 1.5  # a length scale and another number, exact in binary
ROWS = {
    "Gaussian": Row(K.Gaussian(L), lambda x, z: mpmath.exp(-norm2(x, z, L) / 2), scaled=lambda s: K.Gaussian(L * s)),
    "Exponential": Row(
        K.Exponential(L), lambda x, z: mpmath.exp(-norm(x, z, L)), scaled=lambda s: K.Exponential(L * s)
    ),
    "Laplacian": Row(
        K.Laplacian(L),
        lambda x, z: mpmath.exp(-mpmath.fsum(abs(a - b) for a, b in pairs_of(x, z)) / mpf(L)),
        scaled=lambda s: K.Laplacian(L * s),
    ),
    "Cauchy": Row(K.Cauchy(L), lambda x, z: 1 / (1 + norm2(x, z, L)), scaled=lambda s: K.Cauchy(L * s)),
    "RationalQuadratic": Row(
        K.RationalQuadratic(0.75, length_scale=L),
        lambda x, z: (1 + norm2(x, z, L) / mpf(P)) ** mpf(-0.75),
        scaled=lambda s: K.RationalQuadratic(0.75, length_scale=L * s),
    ),
    "Matern": Row(
        K.Matern(1.5, length_scale=L),
        lambda x, z: matern(1.5)(x, z, L),
        scaled=lambda s: K.Matern(1.5, length_scale=L * s),
    ),
    "InverseMultiquadric": Row(
        K.InverseMultiquadric(L),
        lambda x, z: 1 / mpmath.sqrt(1 + norm2(x, z, L)),
        scaled=lambda s: K.InverseMultiquadric(L * s),
    ),
    "Multiquadric": Row(
        K.Multiquadric(L),
        lambda x, z: -mpmath.sqrt(1 + norm2(x, z, L)),
        scaled=lambda s: K.Multiquadric(L * s),
    ),
    "NegativeDistance": Row(K.NegativeDistance(P), lambda x, z: -(norm(x, z) ** mpf(P))),
    "Logarithmic": Row(
        K.Logarithmic(P, length_scale=L),
        lambda x, z: -mpmath.log1p(norm(x, z, L) ** mpf(P)),
        scaled=lambda s: K.Logarithmic(P, length_scale=L * s),
    ),
    "ThinPlate": Row(K.ThinPlate(), thin_plate, size=unit_or_value),
    "Epanechnikov": Row(
        K.Epanechnikov(4.0),
        lambda x, z: max(mpf(0), 1 - norm2(x, z, 4)),
        size=one,
        scaled=lambda s: K.Epanechnikov(4.0 * s),
    ),
    "Wendland": Row(
        K.Wendland(3, length_scale=4.0),
        wendland(1, 4.0),
        size=one,
        scaled=lambda s: K.Wendland(3, length_scale=4.0 * s),
    ),
    "RadialFunction": Row(
        K.RadialFunction(lambda r: np.exp(-r), length_scale=L), lambda x, z: mpmath.exp(-norm(x, z, L))
    ),
    "Periodic": Row(
        K.Periodic(8.0, length_scale=P),
        lambda x, z: mpmath.exp(
            -2 / mpf(P) ** 2 * mpmath.fsum(mpmath.sin(mpmath.pi * (a - b) / 8) ** 2 for a, b in pairs_of(x, z))
        ),
        scaled=lambda s: K.Periodic(8.0 * s, length_scale=P),
        reach=100.0,
    ),
    "SpectralMixture": Row(
        K.SpectralMixture((1.0, 0.5), (0.75, 2.0), (L, 0.5)),
        lambda x, z: mpmath.fsum(
            w * mpmath.exp(-((mpf(s) * (x[0] - z[0])) ** 2) / 2) * mpmath.cos(mpf(m) * (x[0] - z[0]))
            for w, m, s in ((1, 0.75, L), (mpf(0.5), 2.0, 0.5))
        ),
        size=one,
        scaled=lambda s: K.SpectralMixture((1.0, 0.5), (0.75 / s, 2.0 / s), (L / s, 0.5 / s)),
        width=1,
        reach=100.0,
    ),
    "SpectralSamples": Row(
        K.SpectralSamples(((0.75, 0.5), (0.25, 1.0)), (0.5, 0.5)),
        lambda x, z: mpmath.fsum(
            mpmath.cos(mpf(a) * (x[0] - z[0]) + mpf(b) * (x[1] - z[1])) / 2 for a, b in ((0.75, 0.5), (0.25, 1.0))
        ),
        size=one,
        scaled=lambda s: K.SpectralSamples(((0.75 / s, 0.5 / s), (0.25 / s, 1.0 / s)), (0.5, 0.5)),
        width=2,
        reach=100.0,
    ),
    "BSpline": Row(
        K.BSpline(3, length_scale=L), spline(3, L), size=one, scaled=lambda s: K.BSpline(3, length_scale=L * s)
    ),
    "Linear": Row(K.Linear(), dot, signed=False),
    "Polynomial": Row(
        K.Polynomial(3, offset=P, scale=0.75), lambda x, z: (mpf(0.75) * dot(x, z) + mpf(P)) ** 3, signed=False
    ),
    "PowerSeries": Row(
        K.PowerSeries((1.0, 0.5, 0.25)), lambda x, z: 1 + dot(x, z) / 2 + dot(x, z) ** 2 / 4, signed=False
    ),
    "ExponentialDot": Row(K.ExponentialDot(2.0), lambda x, z: mpmath.exp(dot(x, z) / 4), signed=False),
    "Sigmoid": Row(K.Sigmoid(0.25, offset=0.5), lambda x, z: mpmath.tanh(dot(x, z) / 4 + mpf(0.5)), signed=False),
    "ArcCosine": Row(K.ArcCosine(1), arc_cosine(1), signed=False),
    "Tanimoto": Row(K.Tanimoto(), lambda x, z: dot(x, z) / (dot(x, x) + dot(z, z) - dot(x, z)), signed=False),
    "ChiSquared": Row(
        K.ChiSquared(0.75),
        lambda x, z: mpmath.exp(-mpf(0.75) * mpmath.fsum((a - b) ** 2 / (a + b) for a, b in pairs_of(x, z))),
        signed=False,
    ),
    "AdditiveChiSquared": Row(
        K.AdditiveChiSquared(),
        lambda x, z: mpmath.fsum(2 * a * b / (a + b) for a, b in pairs_of(x, z)),
        signed=False,
    ),
    "Intersection": Row(K.Intersection(), lambda x, z: mpmath.fsum(min(a, b) for a, b in pairs_of(x, z)), signed=False),
    "Brownian": Row(K.Brownian(), lambda x, z: mpmath.fprod(min(a, b) for a, b in pairs_of(x, z)), signed=False),
    "LinearSpline": Row(K.LinearSpline(), linear_spline, signed=False),
    "Anova": Row(
        K.Anova(2),
        lambda x, z: mpmath.fsum(x[i] * z[i] * x[j] * z[j] for i, j in itertools.combinations(range(len(x)), 2)),
        signed=False,
    ),
    "AllSubsets": Row(K.AllSubsets(), lambda x, z: mpmath.fprod(1 + a * b for a, b in pairs_of(x, z)), signed=False),
    "Mahalanobis": Row(
        K.Mahalanobis(((2.0, 0.5), (0.5, 1.0))),
        lambda x, z: 2 * x[0] * z[0] + (x[0] * z[1] + x[1] * z[0]) / 2 + x[1] * z[1],
        signed=False,
        width=2,
    ),
    "LocalityImproved": Row(
        K.LocalityImproved(1, length_scale=L, degree=2, offset=0.5),
        lambda x, z: (
            (
                mpmath.fsum(
                    mpmath.exp(-(mpf(j - 1) ** 2) / (2 * mpf(L) ** 2)) * a * b
                    for j, (a, b) in enumerate(pairs_of(x, z))
                )
                + mpf(0.5)
            )
            ** 2
        ),
        signed=False,
    ),
    "Pyramidal": Row(
        K.Pyramidal((1, 3), patch=(1, 2)),
        lambda x, z: (x[0] * z[0] + x[1] * z[1]) ** 2 + (x[1] * z[1] + x[2] * z[2]) ** 2,
        signed=False,
    ),
}
ROWS |= {
    f"Matern {nu}": Row(
        K.Matern(nu, length_scale=L),
        lambda x, z, nu=nu: matern(nu)(x, z, L),
        scaled=lambda s, nu=nu: K.Matern(nu, length_scale=L * s),
    )
    for nu in (0.5, 2.5, 3.5)
}
ROWS |= {
    f"Wendland {k}": Row(K.Wendland(3, smoothness=k, length_scale=4.0), wendland(k, 4.0), size=one) for k in (0, 2)
}
ROWS |= {f"ArcCosine {n}": Row(K.ArcCosine(n), arc_cosine(n), signed=False) for n in (0, 2)}
ROWS["Gaussian per column"] = Row(
    K.Gaussian((0.5, 1.25, 3.0)), lambda x, z: mpmath.exp(-norm2(x, z, (0.5, 1.25, 3.0)) / 2)
)
NO_FORMULA_OF_THEIR_OWN = {
    "Basis",
    "Constant",
    "Custom",
    "Deep",
    "Gibbs",
    "SpectralDensity",
}  # functions of a user's, and no arithmetic at all
OF_COMPLEX_NUMBERS = {"Hermitian"}  # their unit tests compare them with complex arithmetic

ON_A_SPHERE = {"Haversine"}  # of angles within a turn: its unit test compares near and opposite places


def _vector_kernels() -> set[str]:
    found = set()
    for name in K.__all__:
        cls = getattr(K, name)
        if not inspect.isabstract(cls) and inspect.getattr_static(cls, "domain", None) is Vectors:
            found.add(name)
    return found - NO_FORMULA_OF_THEIR_OWN - OF_COMPLEX_NUMBERS - ON_A_SPHERE


def _from_unit_test(name: str) -> Row | None:
    """The row of a kernel whose unit test has its formula: ``TWINS = {"Name": {"formula": f, "signed": False}}``."""
    cls = getattr(K, name)
    fields = declared(cls, "TWINS")
    return None if fields is None else Row(**{"kernel": member(cls), **fields})


ROWS |= {name: row for name in sorted(_vector_kernels() - set(ROWS)) if (row := _from_unit_test(name))}


def _benign(row: Row, rng) -> list[tuple[Any, np.ndarray, np.ndarray]]:
    low = -1.0 if row.signed else 0.25
    X, Z = rng.uniform(low, 1.0, size=(12, row.width)), rng.uniform(low, 1.0, size=(10, row.width))
    return [(row.kernel, X, Z)]


def _harsh(row: Row, rng) -> list[tuple[Any, np.ndarray, np.ndarray]]:
    low = -1.0 if row.signed else 0.25
    X = rng.uniform(low, 1.0, size=(20, row.width))
    near = X[:4] + 10.0 ** -rng.uniform(2, 12, size=(4, 1)) * rng.uniform(0.5, 1.0, size=(4, row.width))
    shift = row.reach if row.signed else 0.0
    cases = [(row.kernel, X[:5], near)]  # 20 pairs, some nearly equal
    cases.append((row.kernel, X[5:10] + shift, X[10:14] + shift))  # far from the origin
    cases.append((row.kernel, X[5:10], X[10:14] * 10.0 ** rng.uniform(0, 3, size=(4, 1))))  # far from one another
    for scale, rows in zip((1e-150, 1e-100, 1e-20, 1e20, 1e150), X[14:19], strict=True):
        kernel = row.kernel if row.scaled is None else row.scaled(scale)
        cases.append((kernel, rows[None] * scale, X[:4] * scale))
    return cases


def _exact(row: Row, kernel: Any, x: np.ndarray, z: np.ndarray, scale: float):
    lift = (lambda v: mpf(float(v)) / mpf(scale)) if row.scaled is not None else (lambda v: mpf(float(v)))
    return row.formula([lift(v) for v in x], [lift(v) for v in z])


def _worst(row: Row, cases, allowed: Callable) -> list[str]:
    wrong = []
    with mpmath.workdps(DIGITS):
        for kernel, X, Z in cases:
            scale = 1.0 if kernel is row.kernel else _ratio(kernel, row.kernel)
            exact = [[_exact(row, kernel, x, z, scale) for z in Z] for x in X]
            try:
                got = kernel(X, Z)
            except DomainError:
                assert max(abs(v) for r in exact for v in r) > 1e300, f"{kernel!r} refuses {X} and {Z}"
                continue
            for i, j in itertools.product(range(len(X)), range(len(Z))):
                value = exact[i][j]
                size = abs(value) if row.size is None else row.size(list(map(mpf, X[i])), list(map(mpf, Z[j])), value)
                error = abs(mpf(float(got[i, j])) - value)
                if not (error <= allowed(size) or (abs(value) < TINY and abs(got[i, j]) <= TINY)):
                    wrong.append(f"{X[i]}, {Z[j]}: {got[i, j]!r}, exactly {mpmath.nstr(value, 20)}")
    return wrong


def _ratio(kernel: Any, usual: Any) -> float:
    """How much longer the lengths of one kernel are than those of another, as the floats they are."""
    if isinstance(kernel, K.SpectralMixture):
        return mpf(usual.means[0]) / mpf(kernel.means[0])
    if isinstance(kernel, K.SpectralSamples):
        return mpf(usual.omega[0][0]) / mpf(kernel.omega[0][0])
    name = "period" if isinstance(kernel, K.Periodic) else "length_scale"
    return mpf(getattr(kernel, name)) / mpf(getattr(usual, name))


@pytest.mark.parametrize("name", ROWS)
def test_benign_points_to_the_last_places(name):
    row = ROWS[name]
    wrong = _worst(row, _benign(row, np.random.default_rng(0)), lambda size: ULP * np.finfo(float).eps * size)
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("name", ROWS)
def test_harsh_points_to_ten_digits(name):
    row = ROWS[name]
    wrong = _worst(row, _harsh(row, np.random.default_rng(1)), lambda size: HARSH * size)
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("name", ROWS)
def test_there_are_two_hundred_points(name):
    rng = np.random.default_rng(0)
    assert sum(len(X) * len(Z) for _, X, Z in [*_benign(ROWS[name], rng), *_harsh(ROWS[name], rng)]) == 200


def test_every_kernel_on_vectors_has_a_formula():
    missing = [f"{unit_test_of(getattr(K, name))}.TWINS[{name!r}]" for name in sorted(_vector_kernels() - set(ROWS))]
    assert not missing, f"give the formula of each: {missing}"

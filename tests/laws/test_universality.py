"""Strictness and universality as laws: what is derived, what classes state, and what matrices show, all agree.

Every public kernel enters by its row in the table of the laws of kernels, and compositions of them by the list below.
A kernel said to be strict has regular Gram matrices; one said not to be has a vector found on which they vanish; the
functions of universal kernels come near a continuous function, those of others do not.
"""

from __future__ import annotations

import warnings

import mpmath
import numpy as np
import pytest

import mercer.kernels as K
from mercer.domains import Vectors
from mercer.errors import DomainError
from mercer.hilbert.universality import properties
from tests.laws.test_kernels import ENTRIES

G, L, E = K.Gaussian(1.0), K.Linear(), K.ExponentialDot(1.0)
COMPOSED = [
    (L**2).exp(),
    (L**3).exp(),
    L * E,
    (L**2).exp() * (L + 1.0),
    G * (L + 1.0),
    G * K.Periodic(1.0),
    K.Periodic(1.0) + 0.1 * G,
    K.Periodic(1.0) * K.Periodic(1.5),
    K.Tanimoto() * G,
    K.Tanimoto().exp(),
    K.Intersection().exp(),
    K.ArcCosine(1).exp(),
    (G * L).exp(),
    K.Logarithmic(1.0).exp(),
    E.normalized(),
    G.tensor(K.Laplacian(1.0)),
    G.direct_sum(G),
    G.tensor(L),
    G**3,
    (G + L).polynomial((0.0, 0.0, 1.0)),
    K.NegativeDistance() ** 2,
    K.NegativeDistance(2.0) + G,
    G.on([0]) * G.on([1]),
    0.0 * G,
]
EVERY = [kernel for entry in ENTRIES.values() for kernel in entry.kernels] + COMPOSED


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_what_is_derived_is_what_the_class_states(kernel):
    found = properties(kernel)
    assert (found.strict.holds is True) == kernel.strict
    assert (found.universal.holds is True) == kernel.universal
    assert (found.definite.holds is True) == (kernel.order == 0)
    assert found.strict.reason and found.universal.reason and found.characteristic.reason
    # [HSS] Section 2.2.3: a vector c with c' K c = 0 would make sum_i c_i f(x_i) = 0 for all f
    assert not found.universal.holds or found.strict.holds


# what the rules for products and exponentials ask for ---------------------------------------------------


def _objects(kernel):
    """Different vectors, zero and opposite ones among them where the domain allows it."""
    rows = [[0.0, 0.0], [0.5, 1.0], [1.0, 2.0], [1.0, 0.5], [0.0, 1.5], [-0.5, -1.0], [-1.0, 0.5]]
    try:
        kernel.prepare(kernel.pack(rows))
        return rows
    except DomainError:
        return rows[:5]


def _accepts(kernel, width):
    """Whether vectors of so many columns may be given; halves of complex vectors are more than columns."""
    if kernel.domain is not Vectors or isinstance(kernel, K.Hermitian) or "median" in repr(kernel):
        return False
    try:
        kernel([[0.5] * width, [0.75] * width])
    except DomainError:
        return False
    return True


PLAIN = [kernel for kernel in EVERY if _accepts(kernel, 2)]


@pytest.mark.parametrize("kernel", [k for k in PLAIN if k.nonzero or k.injective], ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_nonzero_and_injective_kernels_are(kernel):
    X = _objects(kernel)
    S = kernel.prepare(kernel.pack(X))
    if kernel.nonzero:
        assert kernel.diag(S).min() > 0
    if kernel.injective:
        assert kernel.distance(X)[np.triu_indices(len(X), 1)].min() > 0


@pytest.mark.parametrize("kernel", [k for k in PLAIN if k.continuous], ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_continuous_kernels_change_little_from_near_points(kernel):
    X = np.array([[0.0, 0.0], [0.5, 1.0], [1.0, 0.25]])
    here, there = kernel(X), kernel(X + 1e-13)
    assert np.abs(here - there).max() < 2e-2 * max(np.abs(here).max(), 1.0)


# strict: matrices are regular ---------------------------------------------------------------------------


def _distinct(kernel, rng, n=5):
    """Different vectors, of one, two or three columns."""
    widths = [width for width in (1, 2, 3) if _accepts(kernel, width)]
    return rng.permutation(np.linspace(0.15, 1.4, 3 * n)).reshape(n, 3)[:, : rng.choice(widths)]


STRICT = [kernel for kernel in EVERY if kernel.strict and any(_accepts(kernel, width) for width in (1, 2, 3))]


@pytest.mark.parametrize("kernel", STRICT, ids=repr)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_strict_kernels_have_regular_matrices(kernel, seed):
    X = _distinct(kernel, np.random.default_rng(seed))
    A = kernel(X)
    if kernel.order == 0:
        A /= np.sqrt(np.outer(np.diagonal(A), np.diagonal(A)))
    basis = np.linalg.qr(_polynomials(X, kernel.order), mode="complete")
    projected = basis[0][:, basis[1].shape[1] if kernel.order else 0 :]
    values = np.linalg.eigvalsh(projected.T @ A @ projected)
    assert values[0] > 1e-15 * np.abs(A).max(), f"smallest eigenvalue {values[0]:.3g}"


def _polynomials(X, order):
    columns = [np.ones(len(X))] * bool(order) + ([*X.T] if order == 2 else [])
    return np.column_stack(columns) if columns else np.zeros((len(X), 1))


@pytest.mark.parametrize(
    ("kernel", "function"),
    [
        (G, lambda x, z: mpmath.exp(-((x - z) ** 2) / 2)),
        (E, lambda x, z: mpmath.exp(x * z)),
        ((L**3).exp(), lambda x, z: mpmath.exp((x * z) ** 3)),
        ((L**2).exp() * (L + 1.0), lambda x, z: mpmath.exp((x * z) ** 2) * (x * z + 1)),
        (G * (L + 1.0), lambda x, z: mpmath.exp(-((x - z) ** 2) / 2) * (x * z + 1)),
    ],
    ids=lambda value: repr(value) if isinstance(value, K.Kernel) else "",
)
def test_matrices_of_many_points_are_regular_in_many_digits(kernel, function):
    """Twelve points, opposite ones and zero among them: in double precision the matrix is singular."""
    points = [mpmath.mpf(i) / 6 for i in range(-6, 6)]
    assert kernel.strict
    with mpmath.workdps(80):
        matrix = mpmath.matrix(len(points), len(points))
        for i, x in enumerate(points):
            for j, z in enumerate(points):
                matrix[i, j] = function(x, z)
        pivots = mpmath.cholesky(matrix)
        assert min(pivots[i, i] for i in range(len(points))) > 0
    X = np.array([[float(x)] for x in points])
    np.testing.assert_allclose(kernel(X), np.array(matrix.tolist(), dtype=float), rtol=1e-12)


# not strict: a vector is found --------------------------------------------------------------------------

PLUS_MINUS = [1.0, -1.0]
CUBE = np.array([[i, j, k] for i in (0.0, 1.0) for j in (0.5, 1.5) for k in (0.2, 2.0)])
SIGNS = np.prod(np.where(CUBE.min(axis=0) == CUBE, 1.0, -1.0), axis=1)
WITNESSES = [
    ((L**2).exp(), [[0.7, 0.2], [-0.7, -0.2]], PLUS_MINUS, 2),
    ((L**2).exp() * L, [[0.7, 0.2], [-0.7, -0.2]], [1.0, 1.0], 2),
    ((L**2).exp() + L, [[1.0], [-1.0], [2.0], [-2.0]], [2.0, -2.0, -1.0, 1.0], 2),
    (E * L, [[0.0, 0.0]], [1.0], 2),
    (G * L, [[0.0, 0.0]], [1.0], 2),
    (K.Periodic(1.25), [[0.3], [1.55]], PLUS_MINUS, 1),
    ((K.Periodic(1.25) + 1.0).exp(), [[0.3], [1.55]], PLUS_MINUS, 1),
    (K.Periodic(1.0) + K.Periodic(1.5), [[0.2], [1.2], [1.7], [2.7]], [1.0, -1.0, -1.0, 1.0], 1),
    (K.ArcCosine(0), [[0.3, 0.4], [0.6, 0.8]], PLUS_MINUS, 2),
    (K.ArcCosine(1), [[0.0, 0.0]], [1.0], 2),
    (K.ArcCosine(2), [[0.3, 0.4], [0.6, 0.8]], [4.0, -1.0], 2),
    (K.Brownian(), [[0.0, 1.0]], [1.0], 2),
    (K.Intersection(), [[0.0, 0.0]], [1.0], 2),
    (K.AdditiveChiSquared(), [[0.0]], [1.0], 1),
    (K.Spectrum(2), ["", "a"], [1.0, 3.0], None),
    (G.direct_sum(G), [([x], [z]) for x in (0.0, 1.0) for z in (0.5, 2.0)], [1.0, -1.0, -1.0, 1.0], None),
    (G.tensor(L), [([0.3], [1.0]), ([0.3], [2.0])], [2.0, -1.0], None),
    (G.on([0]), [[0.5, 1.0], [0.5, 2.0]], PLUS_MINUS, 2),
    (G.on([0]) + G.on([1]), [[x, z] for x in (0.0, 1.0) for z in (0.5, 2.0)], [1.0, -1.0, -1.0, 1.0], 2),
    (K.Anova(2, base=G), CUBE, SIGNS, 3),
    (K.Hyperkernel(G), [([0.5], [1.0]), ([1.0], [0.5])], PLUS_MINUS, None),
    (0.0 * G, [[1.0]], [1.0], 1),
]


@pytest.mark.parametrize(("kernel", "X", "c", "width"), WITNESSES, ids=lambda value: repr(value)[:40])
def test_what_is_not_strict_has_a_vector_that_shows_it(kernel, X, c, width):
    found = properties(kernel, width).strict
    assert found.holds is False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        A = kernel(X)
    c = np.asarray(c)
    assert np.abs(c @ A @ c) <= 1e-12 * max(np.abs(c) @ np.abs(A) @ np.abs(c), 1e-300)
    if found.points is not None:
        assert len(c) >= found.points


FINITE = [
    kernel for kernel in EVERY if kernel.domain is Vectors and "features" in kernel.capabilities and kernel.order == 0
]


@pytest.mark.parametrize("kernel", FINITE, ids=repr)
def test_more_points_than_features_have_a_singular_matrix(kernel):
    fixed = isinstance(kernel, (K.Mahalanobis, K.Pyramidal, K.Fisher)) or type(kernel).__name__ == "Subspace"
    width = {"Pyramidal": 6}.get(type(kernel).__name__, 2)
    found = properties(kernel, width).strict
    assert found.holds is False and (found.points or fixed)
    if found.points:
        X = np.random.default_rng(0).normal(size=(found.points, width))
        X = np.exp(X) if isinstance(kernel, K.Aitchison) else X  # parts of compositions are positive
        values = np.linalg.eigvalsh(kernel(X))
        assert values[0] <= 1e-10 * max(values[-1], 1e-300)


# universal: functions come near -------------------------------------------------------------------------


def _errors(kernel, grid, target, sizes):
    """Root mean square of what combinations of so many kernels k(., x_i) leave of a function, of best fit."""
    A = kernel(grid[:, None])
    found = []
    for size in sizes:
        places = np.unique(np.linspace(0, len(grid) - 1, size).round().astype(int))
        coefficients = np.linalg.lstsq(A[:, places], target, rcond=1e-14)[0]
        found.append(np.sqrt(np.mean((A[:, places] @ coefficients - target) ** 2)))
    return found


LINE = np.linspace(0.0, 1.0, 201)
UNIVERSAL = [kernel for kernel in STRICT if kernel.universal and _accepts(kernel, 1)]


@pytest.mark.parametrize("kernel", UNIVERSAL, ids=repr)
def test_functions_of_universal_kernels_come_near(kernel):
    target = np.abs(LINE - 0.4) + 0.3 * np.sin(7 * LINE)
    coarse, fine, finest = _errors(kernel, LINE, target, (3, 12, 101))
    assert finest < 0.13 * target.std() and fine < 0.7 * coarse and finest <= fine * 1.05  # rounding ends analytic ones


@pytest.mark.parametrize(
    ("kernel", "target"),
    [
        (L, np.ones_like),
        (K.Polynomial(3), np.abs),
        (K.PowerSeries((1.0, 0.0, 1.0)), lambda x: x),
        ((L**2).exp(), lambda x: x),
        ((L**2).exp() * L, lambda x: x**2),
        (K.Periodic(0.5), lambda x: x),
        (K.ArcCosine(1), np.ones_like),
        (K.ArcCosine(0), lambda x: x),
    ],
    ids=lambda value: repr(value) if isinstance(value, K.Kernel) else "",
)
def test_functions_of_others_do_not(kernel, target):
    grid = np.linspace(-1.0, 1.0, 201)
    y = target(grid)
    assert properties(kernel).universal.holds is False
    assert _errors(kernel, grid, y, [201])[0] > 0.05 * np.sqrt(np.mean(y**2))


def test_functions_without_a_constant_term_are_zero_at_the_origin():
    for kernel in (E * L, G * L, K.ArcCosine(2)):
        assert properties(kernel).universal.holds is False
        assert not kernel([[0.0]], np.linspace(-1.0, 1.0, 21)[:, None]).any()


# characteristic: means of distributions -----------------------------------------------------------------


@pytest.mark.parametrize("kernel", [k for k in STRICT if properties(k).characteristic.holds], ids=repr)
def test_characteristic_kernels_tell_distributions_apart(kernel):
    rng = np.random.default_rng(5)
    X = _distinct(kernel, rng, 6)
    A = kernel(X)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        assert (p - q) @ A @ (p - q) > 0


@pytest.mark.parametrize(
    ("kernel", "X", "p", "q"),
    [
        (L, [[0.0], [1.0], [2.0]], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]),
        (K.Polynomial(2), [[-1.0], [0.0], [1.0], [2.0]], [0.25, 0.0, 0.75, 0.0], [0.0, 0.75, 0.0, 0.25]),
        (K.Periodic(1.0), [[0.0], [1.0]], [1.0, 0.0], [0.0, 1.0]),
        (K.ArcCosine(1), [[0.0], [1.0], [2.0]], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]),
        (G.direct_sum(G), [([x], [z]) for x in (0.0, 1.0) for z in (0.0, 1.0)], [0.5, 0, 0, 0.5], [0, 0.5, 0.5, 0]),
    ],
    ids=repr,
)
def test_two_distributions_with_the_same_mean(kernel, X, p, q):
    assert properties(kernel).characteristic.holds is False
    c = np.subtract(p, q)
    assert np.sum(p) == np.sum(q) == 1.0 and np.abs(c).max() > 0
    assert abs(c @ kernel(X) @ c) < 1e-12

"""Values that somebody else can compute: closed forms, enumeration, SciPy, scikit-learn, networkx and mpmath.

Nothing of mercer is used on the other side but the kernel values, and those only where they have oracles of their own.
"""

import itertools
from collections import Counter

import mpmath
import networkx as nx
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.stats
from sklearn.gaussian_process import GaussianProcessRegressor as SklearnProcess
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Lasso as SklearnLasso
from sklearn.svm import SVR as SklearnSVR

from mercer import (
    LSSVR,
    GaussianProcessMixture,
    KernelLasso,
    KernelMachine,
    KernelPLS,
    KernelRidge,
    RelevanceVectorRegressor,
    SemiparametricLatentFactor,
)
from mercer.estimators.sparse.kernel_lasso import kernel_path
from mercer.gram import Expansion, FastGauss, Tiles
from mercer.hilbert import learned_kernel
from mercer.kernels import Diffusion, Gaussian, Hyperkernel, Polynomial, RegularizedLaplacian
from mercer.kernels.sets.tensor_subspaces import Cumulant
from mercer.kernels.trees.common_trees import PartialTree
from mercer.kernels.vectors.complex import Hermitian, halves, joined
from mercer.losses import Absolute, EpsilonInsensitive, Hinge, Huber, Logistic, Pinball, Poisson, Squared, SquaredHinge
from mercer.solvers import ConjugateGradient

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(-3.0, 3.0, 18))[:, None]
Y = np.sin(X[:, 0]) + 0.2 * RNG.normal(size=18)
T = np.linspace(-3.5, 3.5, 9)[:, None]


def gaussian(A, B, length):
    """The Gaussian kernel from its formula."""
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / (2.0 * length**2))


# foundations ------------------------------------------------------------------------------------------------


def test_no_function_is_larger_than_its_norm_allows_and_one_is_as_large():
    """The supremum of |f(x)| / sqrt(k(x, x)) over f of norm one, by Lagrange: it is one, at f = k(x, .) / norm."""
    coef, kernel = RNG.normal(size=6), Polynomial(2, offset=1.0)
    points = RNG.normal(size=(6, 2))
    f = Expansion(kernel, kernel.pack(points), coef, np.array(0.0))
    # the weights of (1 + <x, z>)^2 in the space of monomials, one by one
    monomials = lambda z: np.array([1, *(np.sqrt(2) * z), z[0] ** 2, z[1] ** 2, np.sqrt(2) * z[0] * z[1]])  # noqa: E731
    weights = sum(c * monomials(z) for c, z in zip(coef, points, strict=True))
    assert f.norm() == pytest.approx(np.linalg.norm(weights), rel=1e-12)

    def ratio(z):
        return abs(f(kernel.pack([z]))[0]) / np.sqrt((1.0 + z @ z) ** 2) / f.norm()

    found = [scipy.optimize.minimize(lambda z: -ratio(z), start, method="Nelder-Mead") for start in points]
    assert max(-best.fun for best in found) <= 1.0 + 1e-12
    alone = Expansion(kernel, kernel.pack(points[:1]), np.array([-2.5]), np.array(0.0))
    assert abs(alone(kernel.pack(points[:1]))[0]) == pytest.approx(
        alone.norm() * (1.0 + points[0] @ points[0]), rel=1e-12
    )


@pytest.mark.parametrize(
    ("loss", "y", "value"),
    [
        (Squared(), Y, lambda y, f: 0.5 * (y - f) ** 2),
        (Huber(0.3), Y, lambda y, f: np.where(abs(y - f) < 0.3, (y - f) ** 2 / 0.6, abs(y - f) - 0.15)),
        (Poisson(), np.round(np.exp(Y)), lambda y, f: np.exp(f) - y * f),
    ],
    ids=["squared", "huber", "poisson"],
)
def test_the_minimum_over_a_larger_space_is_that_of_the_representer_theorem(loss, y, value):
    """Functions at ten more points than the samples are allowed, and have no use."""
    model = KernelMachine(Gaussian(1.0), loss=loss, alpha=0.3).fit(X, y)
    more = np.vstack([X, RNG.uniform(-4.0, 4.0, size=(10, 1))])
    K, cross = gaussian(more, more, 1.0), gaussian(X, more, 1.0)
    root = np.linalg.cholesky(K + 1e-10 * np.eye(len(K)))

    def objective(v):  # f = sum c_j k(x_j, .) with v = root^T c, so that |f| = |v|
        c = scipy.linalg.solve_triangular(root.T, v)
        return float(np.sum(value(y, cross @ c)) + 0.15 * v @ v)

    best = scipy.optimize.minimize(
        objective, np.zeros(len(K)), method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-9}
    )
    c = scipy.linalg.solve_triangular(root.T, best.x)
    reached = np.sum(value(y, gaussian(X, X, 1.0) @ model.dual_coef_)) + 0.15 * model.norm_**2
    assert reached <= best.fun + 1e-8
    # strongly convex: what the search of SciPy has missed bounds its distance, and the norm bounds values
    missed = np.sqrt(2.0 * max(best.fun - reached, 0.0) / 0.3) + 1e-5
    assert np.abs(gaussian(T, more, 1.0) @ c - gaussian(T, X, 1.0) @ model.dual_coef_).max() <= missed


def test_the_machine_of_the_tube_is_that_of_scikit_learn():
    model = KernelMachine(Gaussian(1.0), loss=EpsilonInsensitive(0.1), alpha=0.5, unpenalized="constant", tol=1e-9).fit(
        X, Y
    )
    other = SklearnSVR(kernel="rbf", gamma=0.5, C=2.0, epsilon=0.1, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(model.predict(T), other.predict(T), atol=1e-5)


@pytest.mark.parametrize(
    ("loss", "y", "slopes"),
    [
        (Squared(), 0.7, [-2.0, 0.0, 1.5]),
        (Absolute(), 0.7, [-1.0, -0.4, 0.9]),
        (Huber(0.3), 0.7, [-1.0, 0.4]),
        (EpsilonInsensitive(0.2), 0.7, [-1.0, 0.0, 0.6]),
        (Pinball(0.8), 0.7, [-0.7, 0.0, 0.15]),
        (Hinge(), -1.0, [0.0, 0.4, 1.0]),
        (SquaredHinge(), 1.0, [-3.0, -0.2, 0.0]),
        (Logistic(), 1.0, [-0.9, -0.2]),
        (Poisson(), 3.0, [-2.5, 0.5, 4.0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_conjugates_are_suprema(loss, y, slopes):
    """sup_f u f - psi(y, f), by SciPy's search on the whole line."""
    y = np.array([y])
    for u in slopes:
        found = scipy.optimize.minimize_scalar(
            lambda f, u=u: float(loss.value(y, np.array([f]))[0]) - u * f, bounds=(-60.0, 60.0), method="bounded",
            options={"xatol": 1e-10},
        )  # fmt: skip
        assert float(loss.conjugate(y, np.array([u]))[0]) == pytest.approx(-found.fun, abs=1e-7)


def test_the_dual_of_the_kernel_lasso_has_the_same_value():
    """Fenchel's dual of a penalty that is no norm of a Hilbert space, solved by SciPy."""
    alpha, K = 0.4, gaussian(X, X, 1.0)
    model = KernelLasso(Gaussian(1.0), alpha, fit_intercept=False).fit(X, Y)
    primal = 0.5 * np.sum((Y - K @ model.dual_coef_) ** 2) + alpha * np.abs(model.dual_coef_).sum()
    both = np.vstack([K, -K])
    dual = scipy.optimize.minimize(
        lambda r: 0.5 * r @ r - Y @ r, np.zeros(18), jac=lambda r: r - Y, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda r: alpha - both @ r, "jac": lambda r: -both},
        options={"maxiter": 500, "ftol": 1e-14},
    )  # fmt: skip
    assert dual.success and primal == pytest.approx(-dual.fun, rel=1e-6)


def test_complex_ridge_regression_in_the_space_of_monomials():
    Z = RNG.normal(size=(15, 2)) + 1j * RNG.normal(size=(15, 2))
    values = Z[:, 0] ** 2 - 2j * Z[:, 1] + 0.1 * RNG.normal(size=15)
    new = RNG.normal(size=(5, 2)) + 1j * RNG.normal(size=(5, 2))
    model = KernelRidge(Hermitian(Polynomial(2, offset=1.0)), alpha=0.3).fit(halves(Z), halves(values))
    found = joined(model.predict(halves(new)))

    def features(V):  # (1 + <x, z>)^2 = sum_j phi_j(x) conj(phi_j(z))
        a, b = V.T
        return np.column_stack([np.ones(len(V)), np.sqrt(2) * V, a**2, b**2, np.sqrt(2) * a * b])

    F = features(Z)
    weights = np.linalg.solve(F.conj().T @ F + 0.3 * np.eye(6), F.conj().T @ values)
    np.testing.assert_allclose(found, features(new) @ weights, rtol=1e-9)


# kernels ----------------------------------------------------------------------------------------------------


def test_hyperkernels_are_their_series_in_exact_arithmetic():
    pairs = [([0.0], [0.3]), ([1.0], [-0.5]), ([2.0], [2.0])]
    found = Hyperkernel(Gaussian(0.8), decay=0.7)(pairs)
    with mpmath.workdps(40):
        inner = [
            mpmath.exp(-((mpmath.mpf(a[0]) - mpmath.mpf(b[0])) ** 2) / (2 * mpmath.mpf(0.8) ** 2)) for a, b in pairs
        ]
        decay = mpmath.mpf(0.7)
        series = [
            [(1 - decay) * mpmath.nsum(lambda n, s=s, t=t: (decay * s * t) ** n, [0, mpmath.inf]) for t in inner]
            for s in inner
        ]
    np.testing.assert_allclose(found, np.array(series, dtype=float), rtol=1e-14)


def test_a_kernel_is_learned_by_least_squares_within_bounds():
    """The coefficients by SciPy's projected quasi-Newton method, from the objective as it is printed."""
    points = RNG.normal(size=(14, 1))
    classes = (points[:, 0] > 0.0).astype(int)
    alpha, decay = 1e-2, 0.6
    found = learned_kernel(Hyperkernel(Gaussian(1.0), decay=decay), points, classes, alpha=alpha, anchors=6)
    S = gaussian(points, points, 1.0)
    i, j = np.triu_indices(14, 1)
    target = (classes[i] == classes[j]).astype(float)
    anchors = S[tuple(found.elements[0].samples.index.T)]
    design = (1 - decay) / (1 - decay * np.outer(S[i, j], anchors))
    H = (1 - decay) / (1 - decay * np.outer(anchors, anchors))

    def objective(c):
        left = target - design @ c
        return left @ left / len(left) + alpha * c @ H @ c, -2.0 * design.T @ left / len(left) + 2.0 * alpha * H @ c

    coef = np.asarray(found.elements[0].coef)
    best = scipy.optimize.minimize(
        objective, np.ones(len(anchors)), jac=True, bounds=[(0.0, None)] * len(anchors), method="L-BFGS-B",
        options={"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    assert (coef >= 0.0).all() and objective(coef)[0] <= best.fun * (1.0 + 1e-9)
    assert found.norm == pytest.approx(np.sqrt(coef @ H @ coef), rel=1e-9)
    values = (1 - decay) / (1 - decay * np.multiply.outer(S, anchors)) @ coef
    np.testing.assert_allclose(found.kernel(points), values, rtol=1e-9)


def test_cumulants_of_independent_sources_in_closed_form():
    """All combinations of the values of three sources: independent to the last digit."""
    two, three = np.array([-1.0, 1.0]), np.array([-2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0])  # kurtosis -2 and 8
    sources = np.array(list(itertools.product(two, three, two)))
    mixings = [RNG.normal(size=(3, 3)) for _ in range(2)]
    found = Cumulant(0.9, rank=3)([sources @ A.T for A in mixings])
    projectors = []
    for A in mixings:  # C = sum_r kurtosis_r a_r^4: the span of a_r x a_r
        Q, _ = np.linalg.qr(np.column_stack([np.kron(a, a) for a in A.T]))
        projectors.append(Q @ Q.T)
    distance = np.sum((projectors[0] - projectors[1]) ** 2)
    np.testing.assert_allclose(found, [[1.0, np.exp(-distance / 1.62)], [np.exp(-distance / 1.62), 1.0]], rtol=1e-9)


@pytest.mark.parametrize("laplacian", ["plain", "normalized"])
def test_directed_graphs_are_those_of_networkx(laplacian):
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 1), (3, 0), (0, 3)])
    names = sorted(graph)
    if laplacian == "plain":  # of a walk in the long run, times the number of nodes
        L = 4.0 * np.asarray(nx.directed_combinatorial_laplacian_matrix(graph, names, walk_type="random"))
    else:
        L = np.asarray(nx.directed_laplacian_matrix(graph, names, walk_type="random"))
    np.testing.assert_allclose(
        Diffusion(graph, 0.7, laplacian=laplacian)(names), scipy.linalg.expm(-0.7 * L), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        RegularizedLaplacian(graph, 0.5, laplacian=laplacian)(names), np.linalg.inv(L + 0.5 * np.eye(4)), atol=1e-11
    )


def test_labelled_ordered_trees_by_listing_their_parts():
    """With decay = mu = 1: the dot product of the numbers of times that each part occurs."""

    def parts(node):  # those with this node at the top: for every choice of children, in order, one part of each
        label, children = (node, ()) if isinstance(node, str) else (node[0], node[1:])
        below = [parts(child) for child in children]
        found = []
        for size in range(len(below) + 1):
            for chosen in itertools.combinations(below, size):
                found += [(label, *choice) for choice in itertools.product(*chosen)]
        return found

    def everywhere(node):
        found = Counter(parts(node))
        for child in () if isinstance(node, str) else node[1:]:
            found += everywhere(child)
        return found

    trees = [
        ("p", ("b", "i", "i"), "i", ("b", "i")),
        ("p", ("b", ("i", "b"), "i"), ("b", "i", "i")),
        ("d", ("p", ("b", "i"), "i"), "b", ("p", "i", ("b", "i"))),
    ]
    counts = [everywhere(tree) for tree in trees]
    expected = [[sum(a[part] * b[part] for part in a) for b in counts] for a in counts]
    assert np.array_equal(PartialTree(1.0, 1.0)(trees), expected)


# regression -------------------------------------------------------------------------------------------------


def sparse_pls(K, cross, y, directions, count):
    """Least squares on the span of some directions in feature space, each made of the residuals of those before."""
    n = len(y)
    J = np.eye(n) - 1.0 / n
    A, left = np.zeros((n, 0)), y - y.mean()
    for _ in range(count):
        a = directions(left)
        A = np.column_stack([A, a - a.mean()])
        scores = J @ K @ A
        weights = np.linalg.lstsq(scores, y - y.mean(), rcond=None)[0]
        left = y - y.mean() - scores @ weights
    coef = A @ weights
    return cross @ coef + y.mean() - (K @ coef).mean()


@pytest.mark.parametrize("sparsity", ["epsilon", "threshold"])
def test_sparse_partial_least_squares_by_its_definition(sparsity):
    def thin(left):
        size = np.abs(left)
        kept = (
            np.sign(left) * np.maximum(size - 0.2, 0.0)
            if sparsity == "epsilon"
            else np.where(size >= 0.4 * size.max(), left, 0.0)
        )
        used = kept != 0.0
        return np.where(used, kept - kept[used].mean(), 0.0)

    for count in (1, 2, 3):
        model = KernelPLS(Gaussian(1.0), count, sparsity=sparsity, epsilon=0.2, threshold=0.4).fit(X, Y)
        expected = sparse_pls(gaussian(X, X, 1.0), gaussian(T, X, 1.0), Y, thin, count)
        np.testing.assert_allclose(model.predict(T), expected, atol=1e-8)


def test_partial_least_squares_on_landmarks_is_that_of_the_projected_kernel():
    model = KernelPLS(Gaussian(1.0), 3, sparsity="landmarks", n_landmarks=6, random_state=0).fit(X, Y)
    L = X[model.support_]
    inverse = np.linalg.inv(gaussian(L, L, 1.0))
    K, cross = (gaussian(A, L, 1.0) @ inverse @ gaussian(L, X, 1.0) for A in (X, T))
    np.testing.assert_allclose(model.predict(T), sparse_pls(K, cross, Y, lambda left: left, 3), atol=1e-6)


def test_the_path_of_a_kernel_is_scikit_learns_lasso_at_each_of_its_values():
    values = [0.5, 0.9, 1.5]
    path = kernel_path(X, Y, Gaussian(1.0), "length_scale", values, alpha=0.3, locate_events=False)
    for coef, intercept, length in zip(path.coefs, path.intercepts, values, strict=True):
        K = gaussian(X, X, length)
        other = SklearnLasso(alpha=0.3 / 18, tol=1e-14, max_iter=10**6).fit(K, Y)
        np.testing.assert_allclose(K @ coef + intercept, other.predict(K), atol=1e-6)
        value = lambda b, c, K=K: 0.5 * np.sum((Y - K @ b - c) ** 2) + 0.3 * np.abs(b).sum()  # noqa: E731
        assert value(coef, intercept) <= value(other.coef_, other.intercept_) + 1e-9


# Bayes ------------------------------------------------------------------------------------------------------


def test_the_evidence_of_relevance_vectors_is_a_normal_density_and_nothing_raises_it():
    model = RelevanceVectorRegressor(Gaussian(1.0), fit_intercept=False, normalize_y=False, tol=1e-8).fit(X, Y)
    Phi = gaussian(X, X, 1.0)
    inverse = np.zeros(18)
    inverse[model.relevance_] = 1.0 / model.alpha_

    def evidence(inverse, noise):
        C = (Phi * inverse) @ Phi.T + noise * np.eye(18)
        return scipy.stats.multivariate_normal(np.zeros(18), C, allow_singular=False).logpdf(Y)

    best = evidence(inverse, model.noise_)
    assert model.log_marginal_likelihood_ == pytest.approx(best, abs=1e-6)
    used = Phi[:, model.relevance_]
    cover = np.linalg.inv(used.T @ used / model.noise_ + np.diag(model.alpha_))
    np.testing.assert_allclose(model.dual_coef_, cover @ used.T @ Y / model.noise_, rtol=1e-6)
    np.testing.assert_allclose(model.sigma_, cover, rtol=1e-6, atol=1e-12)
    for j, factor in itertools.product(range(18), (0.0, 0.3, 0.9, 1.1, 3.0)):
        moved = inverse.copy()
        moved[j] = factor * moved[j] if moved[j] else factor * float(np.mean(inverse[inverse > 0]))
        assert evidence(moved, model.noise_) <= best + 1e-5
    for factor in (0.8, 0.97, 1.03, 1.25):
        assert evidence(inverse, factor * model.noise_) <= best + 1e-5


def lssvm_evidence(K, y, C):
    """The bias integrated out by quadrature, the scale at its best."""
    G = K + np.eye(len(y)) / C
    normal = scipy.stats.multivariate_normal(np.zeros(len(y)), G)

    def minus(log_scale):  # a density of y / s, over s^n
        s = np.exp(0.5 * log_scale)
        centre = np.linalg.solve(G, y).sum() / np.linalg.inv(G).sum()
        biases = centre + s / np.sqrt(np.linalg.inv(G).sum()) * np.linspace(-12.0, 12.0, 401)
        logs = normal.logpdf((y - biases[:, None]) / s) - len(y) * np.log(s)
        return -(logs.max() + np.log(scipy.integrate.simpson(np.exp(logs - logs.max()), x=biases)))

    found = scipy.optimize.minimize_scalar(minus, bracket=(-2.0, 0.0), tol=1e-10)
    return -found.fun, float(np.exp(found.x))


def test_three_levels_of_inference_of_least_squares_machines():
    y = Y + 2.0
    K = gaussian(X, X, 1.0)
    model = LSSVR(Gaussian(1.0), C=20.0).fit(X, y)
    system = np.block([[K + np.eye(18) / 20.0, np.ones((18, 1))], [np.ones((1, 18)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.append(y, 0.0))  # level 1
    np.testing.assert_allclose(np.append(model.dual_coef_, model.intercept_), solved, rtol=1e-8)
    value, scale = lssvm_evidence(K, y, 20.0)  # level 2
    assert model.log_evidence_ == pytest.approx(value, abs=1e-6)
    assert np.ravel(model.scale_)[0] == pytest.approx(scale, rel=1e-4)
    chosen = LSSVR(Gaussian(1.0), C=20.0, selection="evidence").fit(X, y)  # level 3
    length = chosen.kernel_.length_scale
    best, _ = lssvm_evidence(gaussian(X, X, length), y, chosen.C_)
    assert chosen.log_evidence_ == pytest.approx(best, abs=1e-6) and best > value
    for cost, width in ((1.1, 1.0), (0.9, 1.0), (1.0, 1.05), (1.0, 0.95)):
        assert lssvm_evidence(gaussian(X, X, width * length), y, cost * chosen.C_)[0] < best


def test_the_bound_of_a_mixture_against_all_assignments():
    """Three samples of each of two branches, far apart: the posterior of assignments is nearly one pair of them."""
    x = np.tile(np.array([[0.0], [0.7], [1.4]]), (2, 1))
    y = np.array([4.0, 4.1, 4.0, -4.0, -4.1, -4.0])
    noise, concentration = 0.05, 1.0
    K, logs = 16.0 * gaussian(x, x, 2.0), []
    for code in range(64):
        z = np.array([(code >> i) & 1 for i in range(6)])
        a, b = np.sum(z == 0), np.sum(z == 1)
        value = scipy.special.betaln(1.0 + a, concentration + b) - scipy.special.betaln(1.0, concentration)
        for t in (0, 1):
            part = np.flatnonzero(z == t)
            if len(part):
                C = K[np.ix_(part, part)] + noise * np.eye(len(part))
                value += scipy.stats.multivariate_normal(np.zeros(len(part)), C).logpdf(y[part])
        logs.append(value)
    exact = scipy.special.logsumexp(logs)
    model = GaussianProcessMixture(
        16.0 * Gaussian(2.0), noise, n_components=2, concentration=concentration, fixed="all", random_state=0
    ).fit(x, y)
    # a mean field finds one of the two equal orders of the branches (log 2), and sees sticks and assignments apart;
    # of a posterior that is one assignment the latter costs no more than the entropy of a stick, below one
    assert exact - np.log(2.0) - 1.0 <= model.lower_bound_ <= exact


def test_a_mixture_of_one_process_is_that_of_scikit_learn():
    model = GaussianProcessMixture(Gaussian(1.0), 0.1, n_components=1, fixed="all", random_state=0).fit(X, Y)
    process = SklearnProcess(RBF(1.0, "fixed"), alpha=0.1, optimizer=None).fit(X, Y)
    np.testing.assert_allclose(model.predict(T), process.predict(T), atol=1e-10)
    assert model.lower_bound_ == pytest.approx(process.log_marginal_likelihood_value_, abs=1e-8)


def test_rotated_outputs_are_independent_processes_of_scikit_learn():
    angle = 0.6
    A = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])  # orthogonal: noise stays white
    outputs = np.column_stack([Y, np.cos(2.0 * X[:, 0])])
    model = SemiparametricLatentFactor(
        (Gaussian(0.8), Gaussian(1.7)), 0.1, mixing=A, fixed="all", normalize_y=False
    ).fit(X, outputs)
    turned, mean, value = outputs @ A, [], 0.0
    for q, length in enumerate((0.8, 1.7)):
        process = SklearnProcess(RBF(length, "fixed"), alpha=0.1, optimizer=None).fit(X, turned[:, q])
        mean.append(process.predict(T))
        value += process.log_marginal_likelihood_value_
    np.testing.assert_allclose(model.predict(T), np.column_stack(mean) @ A.T, atol=1e-8)
    assert model.log_marginal_likelihood_ == pytest.approx(value, abs=1e-8)


# many samples -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gram", "bound"), [(Tiles(), 1e-5), (FastGauss(1e-9), 1e-5)], ids=["conjugate gradients", "transform"]
)
def test_ridge_on_twenty_thousand_samples_solves_its_equations(gram, bound):
    """(K + alpha) a = y, by rows of K that are written out from the formula, five hundred of them at random."""
    rng = np.random.default_rng(1)
    points = rng.uniform(size=(20_000, 2))
    y = np.sin(6.0 * points[:, 0]) * points[:, 1] + 0.1 * rng.normal(size=20_000)
    model = KernelRidge(Gaussian(0.2), alpha=10.0, gram=gram, solver=ConjugateGradient(1e-6)).fit(points, y)
    rows = rng.choice(20_000, 500, replace=False)
    left = y[rows] - gaussian(points[rows], points, 0.2) @ model.dual_coef_ - 10.0 * model.dual_coef_[rows]
    assert np.linalg.norm(left) <= bound * np.linalg.norm(y[rows])

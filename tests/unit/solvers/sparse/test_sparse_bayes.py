"""The evidence of sparse linear models: values, derivatives, designs."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer.domains import Vectors
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, Sigmoid
from mercer.solvers.sparse.sparse_bayes import (
    Design,
    LaplaceModel,
    NormalMatrix,
    RegressionModel,
    SparseClassification,
    SparseRegression,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
W = rng.uniform(0.5, 2.0, 40)
Y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=40) + 0.5
T = (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(float)
ACTIVE = np.arange(4)
INDEX = np.array([3, 17, 25, 40])  # the last one is the constant
LOGS = np.array([0.3, -1.0, 2.0, 0.5])


def design(kernel=None, spec=None, constant=True):
    return Design((spec or Dense()).build(kernel or Gaussian(1.0), Vectors.pack(X)), constant)


def regression(w=W, noise=None):
    D = design()
    return SparseRegression(NormalMatrix(D, w), D.moments(w * Y), float(w @ Y**2), float(w.sum()), noise)


@pytest.mark.parametrize(
    ("kernel", "spec"),
    [
        (Gaussian(1.0), Dense()),
        (Gaussian(1.0), Tiles()),
        (Linear(), Features()),
        (Sigmoid(scale=0.3), Dense()),
        (Gaussian(1.0), Nystrom(7, random_state=0)),
    ],
    ids=str,
)
def test_a_design_is_the_gram_matrix_beside_a_constant(kernel, spec):
    Phi = np.column_stack([spec.build(kernel, kernel.pack(X)).to_dense(), np.ones(40)])
    D = design(kernel, spec)
    V = rng.normal(size=(40, 3))
    assert D.shape == (40, 41)
    assert np.allclose(D.columns(INDEX), Phi[:, INDEX].T)
    assert np.allclose(D.moments(V), Phi.T @ V) and np.allclose(D.moments(V[:, 0]), Phi.T @ V[:, 0])
    assert np.allclose(D.squares(W), W @ Phi**2)
    normal, stored = NormalMatrix(D, W), NormalMatrix(Phi.T @ (W[:, None] * Phi))
    for one in (normal, stored):
        assert np.allclose(one.rows(INDEX), (Phi.T @ (W[:, None] * Phi))[INDEX])
        assert np.allclose(one.corner(INDEX), (Phi.T @ (W[:, None] * Phi))[np.ix_(INDEX, INDEX)])
        assert np.allclose(one.diag(), W @ Phi**2)
        assert np.allclose(one.rows(INDEX, out=np.empty((4, 41))), one.rows(INDEX))
    assert design(kernel, spec, constant=False).moments(V).shape == (40, 3)


def test_the_evidence_is_the_density_of_the_targets():
    model = RegressionModel(regression(np.ones(40)))
    model.extend(INDEX)
    point = model.evaluate(ACTIVE, np.append(LOGS, 1.5))
    found = model.posterior(point)
    Phi = design().columns(INDEX).T
    alpha = dict(zip(found.index, found.alpha, strict=True))
    C = found.noise * np.eye(40) + sum(np.outer(Phi[:, j], Phi[:, j]) / alpha[i] for j, i in enumerate(INDEX))
    assert np.isclose(found.evidence, multivariate_normal(np.zeros(40), C).logpdf(Y), rtol=1e-12)
    A = np.diag([alpha[i] for i in INDEX]) + Phi.T @ Phi / found.noise
    assert np.allclose(found.root.T @ found.root, np.linalg.inv(A), rtol=1e-9)
    assert np.allclose(found.mean, np.linalg.solve(A, Phi.T @ Y / found.noise), rtol=1e-9)


def test_weights_are_repetitions_in_the_evidence():
    w = rng.integers(1, 4, 40).astype(float)
    one = RegressionModel(regression(w, noise=0.1))
    one.extend(INDEX)
    D = design()
    Phi, many = D.columns(INDEX).T.repeat(w.astype(int), axis=0), Y.repeat(w.astype(int))
    two = RegressionModel(SparseRegression(NormalMatrix(Phi.T @ Phi), Phi.T @ many, many @ many, w.sum(), 0.1))
    two.extend(ACTIVE)
    a, b = (m.posterior(m.evaluate(ACTIVE, LOGS)) for m in (one, two))
    assert np.isclose(a.evidence, b.evidence, rtol=1e-12) and np.allclose(a.mean, b.mean, rtol=1e-10)


@pytest.mark.parametrize("learns", [True, False])
def test_first_and_second_derivatives_of_the_evidence(learns):
    model = RegressionModel(regression(noise=None if learns else 0.05))
    model.extend(INDEX)
    x = np.append(LOGS, 1.5) if learns else LOGS
    slopes, bends = _differences(model, x)
    point = model.evaluate(ACTIVE, x)
    assert np.allclose(point.gradient, slopes, atol=1e-7)
    assert np.allclose(model.hessian(point), bends, atol=1e-7)
    assert np.allclose(model.evaluate(ACTIVE, x, whole=False).gradient, point.gradient, rtol=1e-10)


def test_derivatives_of_laplaces_evidence():
    model = LaplaceModel(SparseClassification(design(), T, W))
    model.extend(INDEX)
    slopes, _ = _differences(model, LOGS)
    assert np.allclose(model.evaluate(ACTIVE, LOGS).gradient, slopes, atol=1e-6)


def _differences(model, x, step=1e-5):
    ends = [[model.evaluate(ACTIVE, x + sign * step * e) for sign in (1, -1)] for e in np.eye(len(x))]
    slopes = np.array([(up.evidence - down.evidence) / (2 * step) for up, down in ends])
    return slopes, np.array([(up.gradient - down.gradient) / (2 * step) for up, down in ends])


def test_laplaces_evidence_and_mode_by_the_formula():
    model = LaplaceModel(SparseClassification(design(), T, W))
    model.extend(INDEX)
    point = model.evaluate(ACTIVE, LOGS)
    found = model.posterior(point)
    Phi, A = design().columns(INDEX).T, np.diag(found.alpha)
    p = 1.0 / (1.0 + np.exp(-Phi @ found.mean))
    assert np.allclose(Phi.T @ (W * (T - p)), found.alpha * found.mean, atol=1e-8)
    H = Phi.T @ ((W * p * (1 - p))[:, None] * Phi) + A
    value = W @ np.log(np.where(T > 0, p, 1 - p)) - 0.5 * found.mean @ A @ found.mean
    value += 0.5 * np.log(found.alpha).sum() - 0.5 * np.linalg.slogdet(H)[1]
    assert np.isclose(found.evidence, value, rtol=1e-10) and np.isnan(found.noise)
    assert np.allclose(found.root.T @ found.root, np.linalg.inv(H), rtol=1e-8)


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_the_slope_outside_is_that_of_the_evidence(kind):
    if kind == "regression":
        model, x = RegressionModel(regression()), np.append(LOGS, 1.5)
    else:
        model, x = LaplaceModel(SparseClassification(design(), T, W)), LOGS
    model.extend(INDEX)
    point = model.evaluate(ACTIVE, x)
    S, slope = model.everywhere(point)
    other = 9
    model.extend(np.array([other]))
    theta = 1e-6
    longer = model.evaluate(np.arange(5), np.concatenate([LOGS, [-np.log(theta)], x[4:]]))
    assert S[other] > 0.0
    assert np.isclose(0.5 * slope[other], (longer.evidence - point.evidence) / theta, rtol=1e-3)
    assert np.all(S[INDEX] >= 0.0)


def test_units_do_not_matter():
    D = design(Gaussian(1.0).__mul__(100.0))
    scaled = SparseRegression(NormalMatrix(D, W), D.moments(W * 7.0 * Y), 49.0 * float(W @ Y**2), float(W.sum()))
    a, b = RegressionModel(regression()), RegressionModel(scaled)
    for model in (a, b):
        model.extend(INDEX[:3])
    x = np.append(LOGS[:3], 1.0)
    one, two = a.evaluate(ACTIVE[:3], x), b.evaluate(ACTIVE[:3], x)
    assert np.isclose(one.evidence, two.evidence) and np.allclose(one.mean, two.mean)
    assert np.allclose(b.posterior(two).mean, 0.07 * a.posterior(one).mean)

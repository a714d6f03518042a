"""Kernel Fisher discriminants."""

import numpy as np
import pytest
from scipy import linalg
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import load, save
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError, TargetError
from mercer.estimators.squares.fisher_discriminant import KernelFisherDiscriminant
from mercer.estimators.squares.least_squares_classifier import LSSVC
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
TWO = (X[:, 0] ** 2 + 0.3 * rng.normal(size=40) > 1.0).astype(int)  # 2 : 1 or so
THREE = np.digitize(X[:, 0] + 0.4 * rng.normal(size=40), [-0.9, 0.4])
T = rng.normal(size=(9, 2))
W = rng.integers(1, 4, size=40).astype(float)
IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks(
    [
        KernelFisherDiscriminant(form="rayleigh"),
        KernelFisherDiscriminant(regulariser="coefficients"),
    ]
)
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


def scatters(K, y, w, mean=False):
    """N and M of the definition, sums over samples in loops over classes."""
    N, M, total = np.zeros_like(K), np.zeros_like(K), np.zeros(len(K))
    classes = np.unique(y)
    mass = np.array([w[y == c].sum() for c in classes])
    factor = len(classes) / np.sum(1 / mass) / mass if mean else np.ones(len(classes))
    for c, f in zip(classes, factor, strict=True):
        total += f * K[:, y == c] @ w[y == c]
    overall = total / (factor @ mass)
    for c, f, m in zip(classes, factor, mass, strict=True):
        own = K[:, y == c]
        average = own @ w[y == c] / m
        N += f * (w[y == c] * (own - average[:, None])) @ (own - average[:, None]).T
        M += f * m * np.outer(average - overall, average - overall)
    return N, M


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("regulariser", ["norm", "coefficients"])
@pytest.mark.parametrize("form", [None, "rayleigh"])
@pytest.mark.parametrize("scatter", ["sum", "mean"])
def test_directions_are_those_of_the_generalised_eigenproblem(y, regulariser, form, scatter):
    K = Gaussian(0.3)(X)  # well conditioned, so that the definition can be computed as it stands
    model = KernelFisherDiscriminant(Gaussian(0.3), alpha=0.7, regulariser=regulariser, form=form, scatter=scatter).fit(
        X, y, sample_weight=W
    )
    N, M = scatters(K, y, W, scatter == "mean")
    R = K if regulariser == "norm" else np.diag(1.0 / W)
    values, vectors = linalg.eigh(M, N + 0.7 * R)
    k = len(np.unique(y)) - 1
    assert np.allclose(model.eigenvalues_, values[::-1][:k])
    for j in range(k):
        a, b = model.dual_coef_[:, j], vectors[:, -1 - j]
        assert np.isclose(abs(a @ b), np.linalg.norm(a) * np.linalg.norm(b), rtol=1e-6)
    Z = model.transform(X)
    assert np.allclose(W @ Z, 0.0, atol=1e-8) and np.allclose(
        model.means_, [W[y == c] @ Z[y == c] / W[y == c].sum() for c in np.unique(y)]
    )
    if scatter == "sum":
        assert np.allclose(model.dual_coef_.T @ (N + 0.7 * R) @ model.dual_coef_, W.sum() * np.eye(k), atol=1e-7)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("scatter", ["sum", "mean"])
def test_the_two_forms_agree(y, scatter):
    options = {"kernel": Gaussian(2.0), "alpha": 1e-3, "scatter": scatter}
    a = KernelFisherDiscriminant(form="dual", **options).fit(X, y, sample_weight=W)
    b = KernelFisherDiscriminant(form="rayleigh", **options).fit(X, y, sample_weight=W)
    assert np.allclose(a.transform(T), b.transform(T), rtol=1e-6, atol=1e-7) and (a.means_[-1] > 0).all()
    assert np.allclose(a.decision_function(T), b.decision_function(T), rtol=1e-6, atol=1e-6)


def quotient(a, K, y, lam):
    """J of the slides: class means and variances of the projection, and the ridge."""
    f = K @ a
    plus, minus = f[y == 1], f[y == 0]
    return (plus.mean() - minus.mean()) ** 2 / (plus.var() + minus.var() + lam * a @ K @ a)


def slides(K, y, lam, targets):
    """a = (B K + lambda I)^-1 y, b = 0.5 a K t."""
    plus, minus = (y == 1).astype(float), (y == 0).astype(float)
    p, q, m = plus.sum(), minus.sum(), len(y)
    B = np.diag(2 * q / m * plus + 2 * p / m * minus)
    B -= 2 * q / (m * p) * np.outer(plus, plus) + 2 * p / (m * q) * np.outer(minus, minus)
    a = np.linalg.solve(B @ K + lam * np.eye(m), targets)
    return a, 0.5 * a @ K @ (plus / p + minus / q)


def test_the_closed_form_of_the_slides():
    K, lam, m = Gaussian(1.0)(X), 0.2, 40
    p, q = np.sum(TWO == 1), np.sum(TWO == 0)
    assert p != q
    model = KernelFisherDiscriminant(Gaussian(1.0), alpha=lam, scatter="mean").fit(X, TWO)
    a, b = slides(K, TWO, lam, np.where(TWO == 1, 2 * q / m, -2 * p / m))
    ours = model.dual_coef_[:, 0]
    ratio = (ours @ a) / (a @ a)
    assert np.allclose(ours, ratio * a, atol=1e-7 * abs(ratio))
    f = Gaussian(1.0)(T, X) @ a - b
    assert np.allclose(model.decision_function(T) / f, model.decision_function(T)[0] / f[0])
    assert np.array_equal(model.predict(T) == 1, f > 0)
    # lambda I in B K is lambda m / (2 m+ m-) in the quotient, which is at its maximum there
    inner = lam * m / (2 * p * q)
    best = quotient(a, K, TWO, inner)
    assert all(quotient(a + 1e-3 * rng.normal(size=40) * np.abs(a).max(), K, TWO, inner) < best for _ in range(20))
    # with targets -1 and 1, as printed, it is not, unless the classes have the same size
    printed, _ = slides(K, TWO, lam, 2.0 * TWO - 1.0)
    assert quotient(printed, K, TWO, inner) < best * (1 - 1e-3)
    even = np.concatenate([np.flatnonzero(TWO == 1)[:12], np.flatnonzero(TWO == 0)[:12]])
    K = Gaussian(1.0)(X[even])
    balanced = KernelFisherDiscriminant(Gaussian(1.0), alpha=lam).fit(X[even], TWO[even]).dual_coef_[:, 0]
    printed, _ = slides(K, TWO[even], lam, 2.0 * TWO[even] - 1.0)
    assert np.isclose(abs(balanced @ printed), np.linalg.norm(balanced) * np.linalg.norm(printed))


@pytest.mark.parametrize("form", ["dual", "rayleigh"])
@pytest.mark.parametrize("offset", [0.0, 10.0])
def test_a_linear_kernel_is_linear_discriminant_analysis(form, offset):
    data = IRIS + offset
    ours = KernelFisherDiscriminant(Linear(), alpha=1e-9, form=form, priors="shares").fit(data, SPECIES)
    theirs = LinearDiscriminantAnalysis().fit(data, SPECIES)
    a, b = ours.transform(data), theirs.transform(data)
    b *= np.sign((a * b).sum(axis=0))
    assert np.allclose(a, b, atol=1e-4)
    assert np.allclose(ours.predict_proba(data), theirs.predict_proba(data), atol=1e-4)
    assert np.array_equal(ours.predict(data), theirs.predict(data))
    assert np.allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-5)
    two = KernelFisherDiscriminant(Linear(), alpha=1e-9, form=form).fit(data[:100], SPECIES[:100])
    reference = LinearDiscriminantAnalysis().fit(data[:100], SPECIES[:100])
    assert np.allclose(two.decision_function(data), reference.decision_function(data), rtol=1e-4, atol=1e-2)


def test_it_is_a_least_squares_machine():
    """The direction is that of regression on the classes, [SS] Section 3.4.1."""
    fisher = KernelFisherDiscriminant(Gaussian(1.0), alpha=0.25).fit(X, TWO).dual_coef_[:, 0]
    machine = LSSVC(Gaussian(1.0), C=4.0).fit(X, TWO).dual_coef_
    assert np.isclose(fisher @ machine, np.linalg.norm(fisher) * np.linalg.norm(machine))


@pytest.mark.parametrize(
    "options", [{}, {"form": "rayleigh"}, {"regulariser": "coefficients"}, {"scatter": "mean"}], ids=str
)
def test_weights_are_copies(options):
    w = rng.integers(0, 4, size=40)
    again = np.repeat(np.arange(40), w)
    a = KernelFisherDiscriminant(Gaussian(1.0), alpha=0.3, **options).fit(X, THREE, sample_weight=w)
    b = KernelFisherDiscriminant(Gaussian(1.0), alpha=0.3, **options).fit(X[again], THREE[again])
    assert np.allclose(a.decision_function(T), b.decision_function(T))
    assert np.allclose(a.transform(T), b.transform(T), atol=1e-8)
    assert np.all(a.dual_coef_[w == 0] == 0.0)


@pytest.mark.parametrize("gram", [Nystrom(40), Tiles(), Features()], ids=repr)
def test_other_grams(gram):
    kernel = Linear() if isinstance(gram, Features) else Gaussian(1.0)
    a = KernelFisherDiscriminant(kernel, gram=gram).fit(X, THREE)
    b = KernelFisherDiscriminant(kernel, gram=Dense()).fit(X, THREE)
    assert np.allclose(a.transform(T), b.transform(T), atol=1e-5)
    c = KernelFisherDiscriminant(kernel, gram=gram, form="rayleigh").fit(X, THREE)
    assert np.allclose(a.transform(T), c.transform(T), atol=1e-5)


def test_a_conditionally_definite_kernel():
    model = KernelFisherDiscriminant(NegativeDistance(), alpha=0.1).fit(X, TWO)
    origin = NegativeDistance()(X, np.zeros((1, 2)))
    K = NegativeDistance()(X) - origin - origin.T  # the same distances, positive definite
    plain = KernelFisherDiscriminant("precomputed", alpha=0.1).fit(K, TWO)
    assert np.allclose(model.transform(X), plain.transform(K), atol=1e-7)
    with pytest.raises(CapabilityError, match="dual"):
        KernelFisherDiscriminant(NegativeDistance(), form="rayleigh").fit(X, TWO)


def test_fewer_components_and_priors():
    full = KernelFisherDiscriminant(Gaussian(1.0)).fit(X, THREE)
    one = KernelFisherDiscriminant(Gaussian(1.0), n_components=1).fit(X, THREE)
    assert np.allclose(one.transform(T), full.transform(T)[:, :1], rtol=1e-12)
    assert one.get_feature_names_out().tolist() == ["kernelfisherdiscriminant0"]
    shares = KernelFisherDiscriminant(Gaussian(1.0), priors="shares").fit(X, THREE)
    given = KernelFisherDiscriminant(Gaussian(1.0), priors=np.bincount(THREE)).fit(X, THREE)
    assert np.allclose(shares.predict_proba(T), given.predict_proba(T))
    odds = shares.decision_function(T) - full.decision_function(T)
    assert np.allclose(odds, odds[0])
    assert np.allclose(np.exp(full.predict_log_proba(T)), full.predict_proba(T))


def test_strings():
    texts = ["abab", "aab", "ab", "cdcd", "cdd", "ccd"]
    model = KernelFisherDiscriminant(Spectrum(2), alpha=0.1).fit(texts, [0, 0, 0, 1, 1, 1])
    assert model.predict(["abb", "ccdd"]).tolist() == [0, 1]


def test_classes_that_cannot_be_told_apart():
    same = np.zeros((6, 1))
    model = KernelFisherDiscriminant(Gaussian(1.0)).fit(same, [0, 0, 0, 1, 1, 1])
    assert np.isfinite(model.transform(same)).all() and np.allclose(model.predict_proba(same), 0.5)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"form": "dual", "regulariser": "coefficients"}, ParameterError, "rayleigh"),
        ({"n_components": 3}, ParameterError, "at most 2"),
        ({"priors": [1.0, 2.0]}, ParameterError, "one positive number per class"),
        ({"priors": "even"}, ParameterError, "priors"),
        ({"alpha": 0.0}, ParameterError, "alpha"),
        ({"scatter": "total"}, ParameterError, "scatter"),
        ({"form": "rayleigh", "memory": "20KB"}, MemoryBudgetError, "form='dual'"),
    ],
    ids=str,
)
def test_what_is_refused(options, error, text):
    with pytest.raises(error, match=text):
        KernelFisherDiscriminant(Gaussian(1.0), **options).fit(X, THREE)


def test_a_class_without_weight():
    with pytest.raises(TargetError, match="no sample of positive weight"):
        KernelFisherDiscriminant().fit(X, THREE, sample_weight=(THREE > 0).astype(float))


def test_memory_is_planned():
    plain, more = (KernelFisherDiscriminant(Gaussian(1.0), form=form).memory_plan(1000) for form in (None, "rayleigh"))
    assert more.total == plain.total + 24e6


def test_it_can_be_stored(tmp_path):
    model = KernelFisherDiscriminant(Gaussian(1.0)).fit(X, THREE)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert np.array_equal(again.predict_proba(T), model.predict_proba(T))
    assert np.array_equal(again.get_feature_names_out(), model.get_feature_names_out())

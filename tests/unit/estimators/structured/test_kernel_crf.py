"""Conditional random fields with kernels: against sums over all outputs, and other packages' optima."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from mercer import KernelCRF, LabelSequences, LabelSets, OrderedClasses, Rankings, StructuredSVC
from mercer.errors import CapabilityError, ConvergenceWarning, ParameterError
from mercer.gram import Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
CLASSES = np.argmax(X @ RNG.normal(size=(3, 3)) + 0.5 * RNG.normal(size=(20, 3)), axis=1)
SEQUENCES = [X[:3], X[3:4], X[4:8], X[8:8], X[8:12]]
LABELS = [CLASSES[:3], CLASSES[3:4], CLASSES[4:8], CLASSES[8:8], CLASSES[8:12]]


def negative_log_likelihood(space, given, codes, V, w):
    """By a list of all outputs."""
    total = 0.0
    for x, code in zip(given, codes, strict=True):
        F = np.atleast_2d(x) @ V
        scores = np.array([space.score(F, w, y) for y in space.outputs(len(F))])
        total += np.log(np.exp(scores - scores.max()).sum()) + scores.max() - space.score(F, w, code)
    return total


@pytest.mark.parametrize("method", ["lbfgs", "conjugate_gradient"])
@pytest.mark.parametrize("space", [LabelSequences(), LabelSequences(1)], ids=["chain", "window"])
def test_the_optimum_of_a_linear_chain(space, method):
    C = 0.5
    model = KernelCRF(Linear(), C, outputs=space, method=method, tol=1e-7).fit(SEQUENCES, LABELS)
    learned, codes = space.read(LABELS)
    full = [(x, c) for x, c in zip(SEQUENCES, codes, strict=True) if len(x)]
    given, codes = [x for x, _ in full], [c for _, c in full]
    D = learned.width

    def objective(v):
        V, w = v[: 3 * D].reshape(3, D), v[3 * D :]
        return 0.5 * v @ v + C * negative_log_likelihood(learned, given, codes, V, w)

    own = np.concatenate([model.expansion_(np.eye(3)).ravel(), model.weights_])
    value = objective(own)
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    assert model.gap_ < 1e-6
    for step in 1e-3 * RNG.normal(size=(10, len(own))):  # a minimum: no step leads below it
        assert objective(own + step) >= value - model.gap_


@pytest.mark.parametrize("space", [None, LabelSequences()], ids=["classes", "chain"])
def test_the_exponential_risk(space):
    given, y = (X, CLASSES) if space is None else (SEQUENCES[:3], LABELS[:3])
    model = KernelCRF(Linear(), 0.3, outputs=space, loss="exponential", tol=1e-7).fit(given, y)
    learned, codes = model.target_, model.target_.encode(y)
    D = learned.width

    def objective(v):
        V, w, total = v[: 3 * D].reshape(3, D), v[3 * D :], 0.5 * v @ v
        for x, code in zip(given, codes, strict=True):
            F = np.atleast_2d(x) @ V
            own = learned.score(F, w, code)
            total += 0.3 * (sum(np.exp(learned.score(F, w, z) - own) for z in learned.outputs(len(F))) - 1.0)
        return total

    own = np.concatenate([model.expansion_(np.eye(3)).ravel(), model.weights_])
    value = objective(own)
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    for step in 1e-3 * RNG.normal(size=(10, len(own))):
        assert objective(own + step) >= value - model.gap_


def test_one_site_is_logistic_regression():
    model = KernelCRF(Linear(), C=2.0).fit(X, CLASSES)
    other = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, CLASSES)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))


def test_the_coefficients_are_residuals():
    """At the optimum B = C (psi - E psi): the representer theorem of cliques."""
    C = 0.7
    model = KernelCRF(Gaussian(1.0), C, outputs=LabelSequences()).fit(SEQUENCES, LABELS)
    expected = np.concatenate(model.marginals(SEQUENCES))
    seen = np.eye(3)[np.concatenate(LABELS)]
    np.testing.assert_allclose(model.expansion_.coef, C * (seen - expected), atol=1e-6)


@pytest.mark.parametrize(
    ("space", "y"),
    [
        (OrderedClasses(), CLASSES),
        (LabelSets(), np.column_stack([CLASSES > 0, CLASSES == 1]).astype(int)),
    ],
    ids=["order", "sets"],
)
def test_other_spaces(space, y):
    model = KernelCRF(Gaussian(1.0), 3.0, outputs=space).fit(X, y)
    assert model.score(X, y) > 0.8
    every = np.array(
        [[model.log_probability(X[:1], space.read(y)[0].decode([z]))[0] for z in model.target_.outputs(1)]]
    )
    assert np.exp(every).sum() == pytest.approx(1.0)


def test_probabilities_of_sequences():
    model = KernelCRF(Gaussian(1.0), 3.0, outputs=LabelSequences()).fit(SEQUENCES, LABELS)
    one = [SEQUENCES[0]]
    (best,) = model.k_best(one, 30)
    assert len(best) == 27
    assert sum(np.exp(value) for _, value in best) == pytest.approx(1.0)
    np.testing.assert_array_equal(best[0][0], model.predict(one)[0])
    assert model.log_probability(one, [best[3][0]])[0] == pytest.approx(best[3][1])
    table = np.zeros((3, 3))
    for y, value in best:
        table[np.arange(3), y] += np.exp(value)
    np.testing.assert_allclose(model.marginals(one)[0], table, atol=1e-12)


def test_however_the_gram_is_held():
    whole = KernelCRF(Gaussian(1.0), outputs=LabelSequences()).fit(SEQUENCES, LABELS)
    for gram in (Tiles(), Nystrom(12, random_state=0)):
        model = KernelCRF(Gaussian(1.0), outputs=LabelSequences(), gram=gram).fit(SEQUENCES, LABELS)
        np.testing.assert_allclose(model.objective_, whole.objective_, rtol=1e-6)


@pytest.mark.parametrize("space", [None, LabelSequences(), LabelSequences(1)], ids=["classes", "chain", "window"])
def test_iterative_scaling_reaches_the_same_optimum(space):
    given = np.abs(X) if space is None else [np.abs(x) for x in SEQUENCES]
    y = CLASSES if space is None else LABELS
    usual = KernelCRF(Linear(), 0.3, outputs=space, gram=Features()).fit(given, y)
    model = KernelCRF(
        Linear(), 0.3, outputs=space, gram=Features(), method="iterative_scaling", tol=1e-4, max_iter=5000
    ).fit(given, y)
    assert usual.objective_ <= model.objective_ + 1e-9
    assert model.objective_ - model.gap_ <= usual.objective_
    assert model.gap_ < 1e-4 * usual.objective_
    assert np.all(np.diff(model.objectives_) <= 1e-9)
    with pytest.raises(CapabilityError, match="not negative"):
        model.fit(X if space is None else SEQUENCES, y)


def test_sparse_positions():
    rows = [sp.csr_array(x) for x in SEQUENCES]
    a = KernelCRF(Linear(), outputs=LabelSequences()).fit(SEQUENCES, LABELS)
    b = KernelCRF(Linear(), outputs=LabelSequences()).fit(rows, LABELS)
    np.testing.assert_allclose(np.concatenate(b.marginals(rows)), np.concatenate(a.marginals(SEQUENCES)), atol=1e-6)


def test_what_is_not_there_is_said():
    model = KernelCRF(Gaussian(1.0), outputs=LabelSequences()).fit(SEQUENCES, LABELS)
    with pytest.raises(AttributeError, match="marginals"):
        model.predict_proba(SEQUENCES)
    with pytest.raises(ParameterError, match="positive integer"):
        model.k_best(SEQUENCES, 0)
    with pytest.raises(CapabilityError, match="predict_proba"):
        KernelCRF().fit(X, CLASSES).marginals(X)
    with pytest.raises(CapabilityError, match="StructuredSVC"):
        KernelCRF(outputs=Rankings()).fit(X, X)
    assert not hasattr(StructuredSVC(), "predict_proba")
    with pytest.warns(ConvergenceWarning, match="above its minimum"):
        KernelCRF(Gaussian(1.0), C=100.0, max_iter=2).fit(X, CLASSES)

"""Structured support vector machines, against quadratic programs over all outputs."""

import numpy as np
import pytest

from mercer import SVC, ClassLabels, LabelSequences, LabelSets, LinearSVC, OrderedClasses, Rankings, StructuredSVC
from mercer.errors import CapabilityError, ConvergenceWarning, ParameterError
from mercer.gram import Features, Nystrom
from mercer.kernels import Gaussian, Linear
from tests.naive.structured import constraints, dual

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
CLASSES = np.argmax(X @ RNG.normal(size=(2, 3)) + 0.5 * RNG.normal(size=(12, 3)), axis=1)
SEQUENCES = [X[:3], X[3:4], X[4:8], X[8:12]]
LABELS = [CLASSES[:3], CLASSES[3:4], CLASSES[4:8], CLASSES[8:12]]
COST = [[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
CASES = {
    "classes": (ClassLabels(), X, CLASSES),
    "costs": (ClassLabels(COST), X, CLASSES),
    "order": (OrderedClasses(threshold_scale=2.0), X, CLASSES),
    "sets": (LabelSets(), X, np.column_stack([CLASSES > 0, CLASSES == 1]).astype(int)),
    "sequences": (LabelSequences(), SEQUENCES, LABELS),
    "windows": (LabelSequences(1, transition_scale=0.5), SEQUENCES, LABELS),
}


def offsets_of(space, given):
    lengths = [len(x) for x in given] if space.has_sites else [1] * len(given)
    return np.concatenate([[0], np.cumsum(lengths)])


@pytest.mark.parametrize("name", CASES)
def test_the_optimum_is_that_of_the_program_with_all_constraints(name):
    space, given, y = CASES[name]
    kernel, C = Gaussian(1.0), 1.5
    model = StructuredSVC(kernel, C, outputs=space, tol=1e-6).fit(given, y)
    learned, codes = space.read(y)
    rows, shares = constraints(learned, codes, offsets_of(space, given))
    value, B, w = dual(kernel(X), rows, C * shares)
    assert model.objective_ == pytest.approx(value, rel=1e-5)
    assert model.dual_objective_ <= value * (1.0 + 1e-8) <= model.objective_ * (1.0 + 2e-8)
    np.testing.assert_allclose(model._values(given)[0], kernel(X) @ B, atol=1e-3)
    np.testing.assert_allclose(model.weights_, w, atol=1e-3)


def test_rankings_are_programs_of_pairs():
    y = np.column_stack([X[:, 0], X[:, 1], -X[:, 0]])
    model = StructuredSVC(Gaussian(1.0), 1.5, outputs=Rankings(), tol=1e-6).fit(X, y)
    learned, codes = Rankings().read(y)
    rows, shares = [], []
    for i, code in enumerate(codes):
        for (edge,), share in ((truth, share) for truth, share in learned.truths(code)):
            psi = np.zeros((12, 3))
            psi[i, edge[0]], psi[i, edge[1]] = 1.0, -1.0
            rows.append((len(shares), psi, np.empty(0), 1.0))
            shares.append(share)
    value, *_ = dual(Gaussian(1.0)(X), rows, 1.5 * np.array(shares))
    assert model.objective_ == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("name", ["costs", "sequences"])
def test_rescaled_slacks(name):
    space, given, y = CASES[name]
    model = StructuredSVC(Gaussian(1.0), 0.7, outputs=space, rescaling="slack", tol=1e-6).fit(given, y)
    learned, codes = space.read(y)
    rows, shares = constraints(learned, codes, offsets_of(space, given), "slack")
    value, *_ = dual(Gaussian(1.0)(X), rows, 0.7 * shares)
    assert model.objective_ == pytest.approx(value, rel=1e-5)


def test_slacks_are_at_least_the_losses_of_the_predictions():
    for space, given, y in CASES.values():
        model = StructuredSVC(Gaussian(1.0), outputs=space).fit(given, y)
        truth, found = model.target_.encode(y), model.target_.encode(model.predict(given))
        losses = [model.target_.loss(a, b) for a, b in zip(truth, found, strict=True)]
        assert np.all(model.slack_ >= np.array(losses) - 1e-9)


def test_classes_are_those_of_crammer_and_singer():
    structured = StructuredSVC(Gaussian(1.0), 2.0, tol=1e-8).fit(X, CLASSES)
    together = SVC(Gaussian(1.0), 2.0, multi_class="crammer_singer", tol=1e-8).fit(X, CLASSES)
    np.testing.assert_allclose(structured.expansion_(X), together.expansion_(X), atol=1e-5)


def test_two_classes_are_a_support_vector_machine_without_a_bias():
    class Half(ClassLabels):  # Phi(x, y) = y phi(x) / 2
        def tables(self):
            return np.array([[-0.5], [0.5]]), np.empty((2, 0)), 1.0 - np.eye(2)

    y = (CLASSES > 0).astype(int)
    structured = StructuredSVC(Linear(), 2.0, outputs=Half(), tol=1e-7).fit(X, y)
    plain = LinearSVC(C=2.0, loss="hinge", fit_intercept=False, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(structured.expansion_(X).ravel(), plain.decision_function(X), atol=1e-5)


def test_features_that_are_shifted_change_nothing():
    class Shifted(ClassLabels):  # Lemma 13: psi + psi_0
        def tables(self):
            psi, g, losses = super().tables()
            return psi + np.array([0.3, -2.0, 1.0]), g, losses

    a = StructuredSVC(Gaussian(1.0), tol=1e-7).fit(X, CLASSES)
    b = StructuredSVC(Gaussian(1.0), outputs=Shifted(), tol=1e-7).fit(X, CLASSES)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-6)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


def test_the_certificate():
    model = StructuredSVC(Gaussian(1.0), 2.0, outputs=LabelSequences(), tol=1e-2).fit(SEQUENCES, LABELS)
    assert model.violation_ <= 1e-2
    assert 0.0 <= model.gap_ <= 2.0 * 4 * 2e-2  # each slack costs C, and is known within 2 tol
    assert model.n_constraints_ <= model.constraint_bound_
    alpha = np.zeros(4)
    for i, _, a in model.support_pairs_:
        alpha[i] += a
    assert np.all((alpha > 0.0) & (alpha <= 2.0 * (1.0 + 1e-12)))
    # the balancing equation: coefficients of the truth and of all others add up to zero, [HSS] after Proposition 16
    np.testing.assert_allclose(model.expansion_.coef.sum(axis=1), 0.0, atol=1e-12)


def test_the_hard_margin():
    y = (X[:, 0] > 0).astype(int) + (X[:, 0] > 1)
    hard = StructuredSVC(Gaussian(0.7), np.inf, tol=1e-7).fit(X, y)
    together = SVC(Gaussian(0.7), np.inf, multi_class="crammer_singer", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(hard.expansion_(X), together.expansion_(X), atol=1e-4)
    assert hard.score(X, y) == 1.0
    assert np.all(hard.slack_ <= 1e-6)
    assert hard.dual_objective_ <= hard.objective_ <= hard.dual_objective_ * (1.0 + 1e-5)
    chain = StructuredSVC(Gaussian(0.3), np.inf, outputs=LabelSequences(), tol=1e-5).fit(SEQUENCES, LABELS)
    assert chain.score(SEQUENCES, LABELS) == 1.0


def test_what_cannot_be_separated_has_no_hard_margin():
    with pytest.warns(ConvergenceWarning, match="unless the samples can be separated"):
        model = StructuredSVC(Gaussian(1.0), np.inf, max_iter=50).fit([[0.0], [0.0], [1.0]], [0, 1, 1])
    assert model.slack_.max() > 0.5
    with pytest.raises(ParameterError, match="finite C"):
        StructuredSVC(C=np.inf, method="frank_wolfe").fit(X, CLASSES)


def test_frank_and_wolfe_reach_the_same_optimum():
    for space, given, y in (CASES["classes"], CASES["sequences"]):
        exact = StructuredSVC(Linear(), outputs=space).fit(given, y)
        model = StructuredSVC(Linear(), outputs=space, method="frank_wolfe", tol=1e-2).fit(given, y)
        assert model.gap_ <= 2e-2 * len(given)
        assert model.dual_objective_ <= exact.objective_
        assert model.objective_ >= exact.dual_objective_
        assert model.support_pairs_ == []


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("name", CASES)
def test_one_slack_has_the_optimum_of_all_slacks(name, rescaling):
    space, given, y = CASES[name]
    weight, kernel = np.arange(len(y)) % 3 + 0.5, Linear() + Linear() ** 2
    model = StructuredSVC(
        kernel, 0.7, outputs=space, rescaling=rescaling, method="one_slack", tol=1e-6, gram=Features()
    ).fit(given, y, weight)
    learned, codes = space.read(y)
    rows, shares = constraints(learned, codes, offsets_of(space, given), rescaling)
    value, B, w = dual(kernel(X), rows, 0.7 * weight * shares)
    # the certificate brackets the optimum of the program with a slack for each sample, and is as small as was asked
    assert model.dual_objective_ <= value * (1.0 + 1e-8) <= model.objective_ * (1.0 + 2e-8)
    assert model.gap_ == model.objective_ - model.dual_objective_ <= 1e-6 * 0.7 * weight.sum()
    assert model.violation_ <= 1e-6 and model.n_constraints_ <= model.constraint_bound_
    # J has the curvature of its penalty: the function is within sqrt(2 gap) of the best one
    far = np.sqrt(2.0 * 1e-6 * 0.7 * weight.sum() * kernel.diag(kernel.pack(X)).max())
    np.testing.assert_allclose(model._values(given)[0], kernel(X) @ B, atol=far + 1e-5)
    np.testing.assert_allclose(model.weights_, w, atol=far + 1e-5)
    slacks = [
        max(c.loss - np.vdot(c.psi, F) - c.g @ model.weights_ for c in every)
        for F, every in of_each(model, given, y, rescaling)
    ]
    np.testing.assert_allclose(model.slack_, slacks, atol=1e-9)


def of_each(model, given, y, rescaling):
    """Values at the sites of each sample, and all its constraints."""
    space, (F, offsets, _) = model.target_, model._values(given)
    for code, a, b in zip(space.encode(y), offsets[:-1], offsets[1:], strict=True):
        for truth, _ in space.truths(code):
            every = [space.constraint(truth, other, b - a) for other in space.outputs(b - a)]
            if rescaling == "slack":
                every = [c._replace(psi=c.loss * c.psi, g=c.loss * c.g) for c in every]
            yield F[a:b], every


def test_one_slack_and_a_slack_for_each_agree_on_a_factor():
    for outputs, given, y in (CASES["sequences"], (Rankings(), X, np.column_stack([X, -X[:, :1]]))):
        kept = [
            StructuredSVC(
                Gaussian(1.0), 2.0, outputs=outputs, method=method, tol=1e-5, gram=Nystrom(6, random_state=0)
            ).fit(given, y)
            for method in ("constraints", "one_slack")
        ]
        top = max(model.dual_objective_ for model in kept)
        assert all(top <= model.objective_ * (1.0 + 1e-12) for model in kept)
        assert kept[1].objective_ - top <= 1e-5 * 2.0 * sum(
            len(kept[1].target_.truths(c)) for c in kept[1].target_.encode(y)
        )
        assert kept[1].support_pairs_ == []


def test_one_slack_needs_a_factor_and_a_cost():
    with pytest.raises(CapabilityError, match="no factor"):
        StructuredSVC(Gaussian(1.0), method="one_slack").fit(X, CLASSES)
    with pytest.raises(ParameterError, match="finite C"):
        StructuredSVC(Linear(), np.inf, method="one_slack", gram=Features()).fit(X, CLASSES)
    with pytest.warns(ConvergenceWarning, match="stopped at a violation"):
        early = StructuredSVC(Linear(), 10.0, method="one_slack", gram=Features(), max_iter=2).fit(X, CLASSES)
    assert early.dual_objective_ < early.objective_ < np.inf


def test_however_the_gram_is_held():
    whole = StructuredSVC(Linear(), tol=1e-6).fit(X, CLASSES)
    for gram in (Features(), Nystrom(2, random_state=0)):
        model = StructuredSVC(Linear(), gram=gram, tol=1e-6).fit(X, CLASSES)
        assert model.objective_ == pytest.approx(whole.objective_, rel=1e-5)


def test_an_early_end_is_reported_and_what_cannot_be_searched_is_refused():
    with pytest.warns(ConvergenceWarning, match="stopped at a violation"):
        StructuredSVC(Gaussian(1.0), C=100.0, max_iter=1).fit(X, CLASSES)
    long, y = [np.zeros((40, 1))], [np.arange(40) % 2]
    odd = LabelSequences(cost=[[0.0, 1.0], [np.pi, 0.0]])  # no cost is a multiple of the other
    with pytest.raises(CapabilityError, match="list"):
        StructuredSVC("linear", outputs=odd, rescaling="slack").fit(long, y)

"""Kernel canonical correlations: laws, limits that must coincide, other domains, weights, budgets."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cross_decomposition import CCA as TheirCCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import (
    CapabilityError,
    DegenerateWarning,
    DomainError,
    MemoryBudgetError,
    ParameterError,
    TargetError,
    TimeBudgetError,
)
from mercer.estimators.geometry.kernel_cca import KernelCCA
from mercer.estimators.geometry.retrieval import retrieval_ranks
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum

rng = np.random.default_rng(0)
n = 60
t = rng.normal(size=(n, 2))
X = np.c_[np.sin(t[:, :1]), t[:, 1:], rng.normal(size=(n, 1))] + 0.2 * rng.normal(size=(n, 3))
Y = np.c_[t[:, :1] ** 3, t[:, 1:], rng.normal(size=(n, 2))] + 0.2 * rng.normal(size=(n, 4))
Z = np.c_[t[:, :1] + t[:, 1:], rng.normal(size=(n, 1))] + 0.2 * rng.normal(size=(n, 2))
KERNEL = Gaussian(1.5)


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([KernelCCA(Linear(), tau="loo", taus=(0.1, 0.5))])
def test_scikit_learn(estimator, check):
    check(estimator)


# laws ------------------------------------------------------------------------------------------------------


def test_without_the_norm_independent_views_are_perfectly_correlated():
    """[STS] Section 5.2: tau = 0 overfits, and what it finds does not hold for new pairs."""
    A, B, A2, B2 = (rng.normal(size=(40, 2)) for _ in range(4))
    free = KernelCCA(Gaussian(0.5), 3, tau=0.0).fit(A, B)
    assert np.allclose(free.canonical_correlations_, 1.0, atol=1e-6)
    assert abs(free.score(A2, B2)) < 0.5
    bound = KernelCCA(Gaussian(0.5), 3, tau=0.5).fit(A, B)
    assert bound.eigenvalues_[0] < 0.5


@pytest.mark.parametrize("tau", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_eigenvalues_lie_between_minus_one_and_one(tau, scale):
    for views in ((X, Y), (X, Y, Z)):
        model = KernelCCA(scale * KERNEL, tau=tau).fit(list(views))
        assert np.all(np.abs(model.eigenvalues_) <= 1.0 + 1e-9)


@pytest.mark.parametrize("scale", ["variance", "covariance", "gram"])
def test_canonical_correlations_are_correlations_in_every_unit_of_the_norm(scale):
    """What is maximised is a covariance: 50 kernels of norm one have any variance, and no correlation is above 1."""
    for views in ((X, Y), (X, Y, Z)):
        model = KernelCCA(50.0 * KERNEL, 2, tau=0.2, norm_scale=scale).fit(list(views))
        for j in range(2):
            R = np.corrcoef([scores[:, j] for scores in model.scores_])
            want = R[np.triu_indices(len(views), 1)].mean()
            assert model.canonical_correlations_[j] == pytest.approx(want, rel=1e-9)
        assert (model.eigenvalues_[0] > 1.0) == (scale != "variance")


def test_tau_has_no_unit():
    one, other = (KernelCCA(scale * KERNEL, tau=0.2).fit(X, Y) for scale in (1.0, 50.0))
    assert np.allclose(one.eigenvalues_[:2], other.eigenvalues_[:2])
    assert np.allclose(one.transform(X), other.transform(X), atol=1e-8)


def test_linear_kernel_without_norm_is_cca():
    model = KernelCCA(Linear(), 3, tau=0.0, gram=Dense()).fit(X, Y)
    theirs = TheirCCA(3, max_iter=5000, tol=1e-12).fit(X, Y)
    a, b = theirs.transform(X, Y)
    want = [np.corrcoef(a[:, j], b[:, j])[0, 1] for j in range(3)]
    assert np.allclose(model.canonical_correlations_, want, atol=1e-5)
    ours, their = model.transform(X)[:, 0], a[:, 0]
    assert abs(np.corrcoef(ours, their)[0, 1]) == pytest.approx(1.0, abs=1e-5)


def test_scores_satisfy_the_constraint():
    model = KernelCCA(KERNEL, 2, tau=(0.3, 0.6), norm_scale="covariance").fit(X, Y)
    for f, coef, scores, tau in zip(model.expansions_, model.dual_coefs_, model.scores_, (0.3, 0.6), strict=True):
        K = KERNEL(f.samples)
        norm = np.einsum("im,ij,jm->m", coef, K, coef)
        assert np.allclose((1 - tau) * scores.var(axis=0) + tau * norm, 1.0)
        assert np.allclose(scores.mean(axis=0), 0.0, atol=1e-10)
    cov = np.mean(model.scores_[0] * model.scores_[1], axis=0)
    assert np.allclose(cov, model.eigenvalues_[:2])
    assert np.allclose(model.transform(X, Y)[1], model.scores_[1], atol=1e-8)


@pytest.mark.parametrize("options", [{"rank": n}, {"gram": Nystrom(n)}, {"gram": (Dense(), Nystrom(n))}])
def test_low_rank_of_full_rank_is_exact(options):
    exact = KernelCCA(KERNEL, 2, tau=0.05).fit(X, Y)
    low = KernelCCA(KERNEL, 2, tau=0.05, **options).fit(X, Y)
    assert np.allclose(low.eigenvalues_[:2], exact.eigenvalues_[:2], atol=1e-6)
    new = rng.normal(size=(7, 3))
    assert np.allclose(low.transform(new), exact.transform(new), atol=1e-4)


def test_low_rank_comes_near():
    t = rng.normal(size=(400, 1))
    A, B = np.c_[t, rng.normal(size=(400, 1))], np.c_[np.tanh(t), rng.normal(size=(400, 1))]
    exact, low = (KernelCCA(KERNEL, 1, tau=0.05, rank=rank).fit(A, B) for rank in (None, 40))
    assert np.allclose(low.canonical_correlations_, exact.canonical_correlations_, atol=5e-3)
    assert len(low.expansions_[0].samples) == 40


def test_norm_constrained_correlation():
    """tau = 1 is the largest covariance of functions of norm one: COCO is the root of |PKxP PKyP| over n."""
    model = KernelCCA(KERNEL, 1, tau=1.0, norm_scale="covariance").fit(X, Y)
    P = np.eye(n) - 1 / n
    product = P @ KERNEL(X) @ P @ KERNEL(Y) @ P
    want = np.sqrt(np.max(np.linalg.eigvals(product).real)) / n
    assert model.eigenvalues_[0] == pytest.approx(want, rel=1e-9)
    as_gram = KernelCCA(KERNEL, 1, tau=1.0, norm_scale="gram").fit(X, Y)
    assert as_gram.eigenvalues_[0] == pytest.approx(n * want, rel=1e-9)


def test_units_of_the_norm_differ_by_n():
    """Equations (48) and (49) of [STS] are one with tau/(1 - tau) multiplied by n."""
    tau = 0.01
    other = n * tau / (1 - tau) / (1 + n * tau / (1 - tau))
    one = KernelCCA(KERNEL, tau=tau, norm_scale="covariance").fit(X, Y)
    two = KernelCCA(KERNEL, tau=other, norm_scale="gram").fit(X, Y)
    scale = one.eigenvalues_[:2] / two.eigenvalues_[:2]
    assert np.allclose(scale, (1 - other) / (1 - tau))
    assert np.allclose(one.canonical_correlations_, two.canonical_correlations_)


# views ----------------------------------------------------------------------------------------------------


def test_a_list_of_two_views_is_the_pair():
    one, other = KernelCCA(KERNEL).fit(X, Y), KernelCCA(KERNEL).fit([X, Y])
    assert np.array_equal(one.transform(X), other.transform(X))
    _, b = KernelCCA(KERNEL).fit_transform([X, Y])
    assert np.allclose(b, one.project(Y, 1))


def test_three_views():
    model = KernelCCA((KERNEL, Linear(), "rbf"), 2, tau=(0.1, 0.2, 0.3)).fit([X, Y, Z])
    scores = model.transform([X, None, Z])
    assert scores[1] is None
    assert np.allclose(scores[2], model.scores_[2], atol=1e-8)
    total = sum(np.mean(model.scores_[a] * model.scores_[b], axis=0) for a in range(3) for b in range(a))
    assert np.allclose(total / 3, model.eigenvalues_[:2])  # each is a third of the pairs, twice
    assert model.correlations([X, Y, Z]).shape == (2,)
    assert model.score([X, Y, Z]) > 0.5


def test_twice_the_same_view_besides_is_as_correlated_as_can_be():
    model = KernelCCA(Linear(), 1, tau=0.0).fit([X, X, X])
    assert np.allclose(model.canonical_correlations_, 1.0)


def test_views_of_different_domains():
    words = ["ab" * (3 + int(5 * abs(v))) + "ba" * 2 if v > 0 else "cd" * (3 + int(5 * abs(v))) for v in t[:, 0]]
    model = KernelCCA((Spectrum(2).normalized(), KERNEL), 1, tau=0.1).fit(words, X)
    assert model.canonical_correlations_[0] > 0.7
    assert model.transform(words[:3]).shape == (3, 1)
    assert model.retrieval_score(words, X, top=n) == 1.0


def test_a_vector_of_numbers_beside_samples_of_another_domain():
    other = KernelCCA((KERNEL, None)).fit(X, Y[:, 0])
    model = KernelCCA("precomputed").fit(KERNEL(X), Y[:, 0])
    assert np.allclose(model.scores_[1], other.scores_[1], atol=1e-8)
    words = ["ab" if v > 0 else "ba" for v in t[:, 0]]
    assert KernelCCA(Spectrum(2), 1, gram=Features()).fit(words, t[:, 0]).canonical_correlations_[0] > 0.7


def test_precomputed_is_the_kernel_itself():
    model = KernelCCA("precomputed").fit(KERNEL(X), KERNEL(Y))
    other = KernelCCA(KERNEL).fit(X, Y)
    assert np.allclose(model.transform(KERNEL(X[:4], X)), other.transform(X[:4]), atol=1e-8)


def test_conditionally_definite_kernel_of_order_one():
    model = KernelCCA(NegativeDistance(1.0), 1).fit(X, Y)
    assert model.canonical_correlations_[0] > 0.5
    with pytest.raises(CapabilityError, match="rank=None"):
        KernelCCA(NegativeDistance(1.0), rank=5).fit(X, Y)


def test_fewer_components_than_asked_for():
    model = KernelCCA(Linear(), 5, tau=0.1).fit(X, Y[:, :2])
    assert model.n_components_ == 2
    assert list(model.get_feature_names_out()) == ["kernelcca0", "kernelcca1"]
    with pytest.warns(DegenerateWarning, match="view 1 does not vary"):
        constant = KernelCCA(KERNEL).fit(X, np.ones(n))
    assert constant.n_components_ == 0
    assert constant.transform(X).shape == (n, 0)
    assert constant.score(X, np.ones(n)) == 0.0


# weights ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"tau": "loo"}, {"gram": Nystrom(n)}, {"norm_scale": "gram"}])
def test_weight_is_copies(options):
    w = rng.integers(0, 3, size=n)
    kernel = Linear() if "gram" in options else KERNEL
    model = KernelCCA(kernel, 2, **{"tau": 0.2, **options}).fit(X, Y, sample_weight=w)
    copies = KernelCCA(kernel, 2, **{"tau": 0.2, **options}).fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    assert np.allclose(model.canonical_correlations_, copies.canonical_correlations_, atol=1e-7)
    assert np.array_equal(model.tau_, copies.tau_)
    assert np.allclose(model.transform(X), copies.transform(X), atol=1e-5)
    assert np.isnan(model.scores_[0][w == 0]).all()
    assert not model.dual_coefs_[0][w == 0].any()


# choice of tau ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["loo", "permutation"])
def test_tau_is_chosen_from_the_list(how):
    model = KernelCCA(KERNEL, 1, tau=how, random_state=3).fit(X, Y)
    assert model.criterion_values_.shape == (7,)
    best = model.taus[int(np.argmax(model.criterion_values_))]
    assert np.array_equal(model.tau_, [best, best])
    fixed = KernelCCA(KERNEL, 1, tau=best).fit(X, Y)
    assert np.array_equal(model.transform(X), fixed.transform(X))
    assert model.tau_[0] > 0.001  # hardly any penalty is not what tells true pairs from others


def test_chosen_tau_finds_what_holds_for_new_pairs():
    A, B = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    B[:, 0] = np.sin(2 * A[:, 0]) + 0.3 * rng.normal(size=80)
    new = rng.normal(size=(300, 2))
    partner = np.c_[np.sin(2 * new[:, 0]) + 0.3 * rng.normal(size=300), rng.normal(size=300)]
    free = KernelCCA(Gaussian(0.7), 1, tau=0.0).fit(A, B).score(new, partner)
    assert KernelCCA(Gaussian(0.7), 1, tau="loo").fit(A, B).score(new, partner) > max(free, 0.6)


def test_grid_search_and_pipeline():
    search = GridSearchCV(KernelCCA(KERNEL, 1), {"tau": [0.0, 0.1]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"tau": 0.1}
    labels = (t[:, 0] > 0).astype(int)
    assert make_pipeline(KernelCCA(KERNEL, 1), LogisticRegression()).fit(X, labels).score(X, labels) > 0.8


# retrieval --------------------------------------------------------------------------------------------------


def test_retrieval_finds_partners():
    model = KernelCCA(KERNEL, 2, tau=0.05).fit(X, Y)
    assert model.retrieval_score(X, Y, top=5) > 5 * 5 / n
    with pytest.raises(ParameterError, match="top=0"):
        model.retrieval_score(X, Y, top=0)
    assert model.retrieval_score([X, Y], top=5) == model.retrieval_score(X, Y, top=5)
    three = KernelCCA(KERNEL, 2, tau=0.05).fit([X, Y, Z])
    A, B, C = three.transform([X, Y, Z])
    pairs = [np.mean(retrieval_ranks(*pair) <= 5) for pair in ((A, B), (A, C), (B, C))]
    assert three.retrieval_score([X, Y, Z], top=5) == pytest.approx(np.mean(pairs))
    with pytest.raises(DomainError, match="fitted on 3"):
        three.retrieval_score(X, Y)


# doors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tau": 1.5}, "tau"),
        ({"tau": (0.1, 0.2, 0.3)}, "2 views"),
        ({"tau": "best"}, "tau"),
        ({"tau": "loo", "taus": ()}, r"taus=\(\)"),
        ({"taus": "nonsense"}, "taus"),
        ({"taus": (0.1, 2.0)}, "taus"),
        ({"norm_scale": "n"}, "norm_scale"),
        ({"rank": 5, "gram": Features()}, "Leave one out"),
        ({"kernel": (KERNEL,)}, "2 views"),
        ({"n_components": 0}, "n_components"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        KernelCCA(**options).fit(X, Y)


def test_views_are_checked():
    with pytest.raises(TargetError, match="inconsistent"):
        KernelCCA(KERNEL).fit(X, Y[:-1])
    with pytest.raises(TargetError, match="requires y"):
        KernelCCA(KERNEL).fit(X)
    model = KernelCCA(KERNEL).fit([X, Y, Z])
    with pytest.raises(DomainError, match="3 views"):
        model.transform(X)
    with pytest.raises(DomainError, match="fitted on 3"):
        model.score(X, Y)
    model = KernelCCA(Linear()).fit(X, Y)
    with pytest.raises(DomainError, match="view 1 has 1 columns"):
        model.project(Y[:, :1], 1)
    for view in (-1, 2, 0.5):
        with pytest.raises(ParameterError, match="view"):
            model.project(X, view)


def test_budgets():
    with pytest.raises(MemoryBudgetError, match=r"gram=Nystrom\(500\)"):
        KernelCCA(KERNEL, memory="500MB").fit(np.zeros((20_000, 2)), np.zeros((20_000, 2)))
    with pytest.raises(CapabilityError, match="rank=500"):
        KernelCCA(KERNEL, gram=Tiles()).fit(X, Y)
    model = KernelCCA(KERNEL, tau="loo", max_time=1e-9)
    with pytest.raises(TimeBudgetError):
        model.fit(X, Y)
    assert not hasattr(model, "expansions_")
    large = KernelCCA().memory_plan(10**5).total / 100
    for few in (KernelCCA(rank=10), KernelCCA(gram=(Nystrom(10), Nystrom(20))), KernelCCA(Linear())):
        assert few.memory_plan(10**5, 10).total < large


def test_same_bits_and_clone():
    model = KernelCCA((KERNEL, Linear()), tau="permutation", random_state=5)
    one, other = clone(model).fit(X, Y), clone(model).fit(X, Y)
    assert np.array_equal(one.transform(X), other.transform(X))
    assert np.array_equal(one.criterion_values_, other.criterion_values_)

"""Fisher kernels: the definition, invariance to parameters, no leak between folds, linear learning, model files."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture as Reference
from sklearn.model_selection import cross_val_score

import mercer.domains
import mercer.kernels
from mercer import SVC, KernelRidge, load, save
from mercer.domains import Strings
from mercer.domains.sequences import Sequences
from mercer.errors import DegenerateWarning, ParameterError
from mercer.gram import Dense, Features
from mercer.kernels import Linear
from mercer.kernels.models.fisher_kernel import Fisher, _repeated, _whitening_of
from mercer.models import (
    ExponentialFamily,
    GaussianHiddenMarkovModel,
    GaussianMixture,
    HiddenMarkovModel,
    MarkovChain,
    Normal,
)
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(12, 2)) + np.repeat([[0.0, 0.0], [3.0, 1.0]], 6, axis=0)
TEXTS = ["abab", "", "aab", "c", "bbac", "abcabc", "ccb", "babab", "ca", "acacab", "bcb", "aaab"]
SERIES = [RNG.normal(size=(length, 2)) for length in (3, 5, 1, 4, 6, 2, 3, 5)]
SERIES[2][0, 1] = np.nan

EXAMPLES = [
    (Fisher(Normal(0.0, 1.0)), POINTS[:, :1]),
    (Fisher(Normal(), kind="practical"), POINTS),
    (Fisher(Normal(covariance="diagonal"), kind="empirical"), POINTS),
    (Fisher(GaussianMixture(2), draws=500), POINTS),
    (Fisher(MarkovChain()), TEXTS),
    (Fisher(MarkovChain(2, missing="c"), kind="practical"), TEXTS),
    (Fisher(HiddenMarkovModel(2), draws=300), TEXTS),
    (Fisher(HiddenMarkovModel(2, parameters="probability"), kind="empirical"), TEXTS),
    (Fisher(ExponentialFamily("exponential")), np.abs(POINTS)),
    (Fisher(ExponentialFamily(), kind="practical"), POINTS),
]


def learned(kernel, X, weight=None):
    return kernel.learn(kernel.pack(X), None, weight)


@pytest.mark.parametrize(("kernel", "X"), EXAMPLES)
def test_laws(kernel, X):
    laws = [law for law in mercer.testing.KERNEL_LAWS if law != "definiteness"]  # it has features; the search is slow
    check_kernel(kernel, X, laws=laws)


def test_laws_on_series_with_missing_values():
    kernel = Fisher(GaussianHiddenMarkovModel(2), draws=300)
    # purity is asked of arrays, in which NaN is not equal to itself
    laws = [law for law in mercer.testing.KERNEL_LAWS if law not in ("definiteness", "purity")]
    check_kernel(kernel, SERIES, laws=laws)
    check_kernel(kernel, [x for x in SERIES if not np.isnan(x).any()], laws=["purity"])


# the definitions ------------------------------------------------------------------------------------


def test_the_one_dimensional_example():
    # scores x and x^2 - 1 at mu = 0, sigma = 1: the slide has x^2 - 1/2, from a misprint
    x = np.linspace(-2.0, 2.0, 9)[:, None]
    kernel = Fisher(Normal(0.0, 1.0), kind="practical")
    F, _ = kernel.features(kernel.pack(x))
    np.testing.assert_allclose(F, np.hstack([x, x**2 - 1.0]), atol=1e-15)
    np.testing.assert_allclose(kernel(x), x @ x.T + (x**2 - 1.0) @ (x**2 - 1.0).T, atol=1e-12)
    invariant = Fisher(Normal(0.0, 1.0))
    np.testing.assert_allclose(invariant(x), x @ x.T + 0.5 * (x**2 - 1.0) @ (x**2 - 1.0).T, atol=1e-12)


@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateWarning")
@pytest.mark.parametrize(("kernel", "X"), EXAMPLES)
def test_kinds_are_products_of_scores_and_an_inverse_information(kernel, X):
    k = learned(kernel, X)
    S = k.pack(X)
    G = k.model.scores(S)
    if kernel.kind == "practical":
        expected = G @ G.T
    elif kernel.kind == "empirical":
        expected = G @ np.linalg.pinv(G.T @ G / len(G), rcond=1e-9) @ G.T
    else:
        W = np.asarray(k.whitening)
        expected = (G * W) @ (G * W).T if W.ndim == 1 else G @ W @ W.T @ G.T
    np.testing.assert_allclose(k(X), expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


def test_exponential_families_give_centred_statistics():
    # [HSS] Eq. (48): the unnormalised Fisher kernel is the kernel of centred sufficient statistics
    k = learned(Fisher(ExponentialFamily(lambda S: np.asarray(S.X)), kind="practical"), POINTS)
    centred = POINTS - POINTS.mean(axis=0)
    np.testing.assert_allclose(k(POINTS), Linear()(centred), atol=1e-12)
    bits = (POINTS > 0.0).astype(float)
    k = learned(Fisher(ExponentialFamily("bernoulli")), bits)
    p = np.clip(bits.mean(axis=0), 0.5 / 13, 1.0 - 0.5 / 13)
    scaled = (bits - p) / np.sqrt(p * (1.0 - p))
    np.testing.assert_allclose(k(bits), scaled @ scaled.T, atol=1e-12)


def test_the_information_is_that_of_draws():
    model = GaussianMixture(
        2, weights=(0.4, 0.6), means=[[0.0], [2.0]], deviations=[[1.0], [0.5]], covariance="diagonal"
    )
    k = learned(Fisher(model, draws=20_000), POINTS[:, :1])
    # by a sum over a fine grid
    x = np.linspace(-8.0, 8.0, 20_001)[:, None]
    S = model.pack(x)
    G, p = model.scores(S), np.exp(model.log_likelihood(S)) * (x[1, 0] - x[0, 0])
    information = (G * p[:, None]).T @ G
    F = model.scores(model.pack(POINTS[:, :1]))
    expected = F @ np.linalg.pinv(information, rcond=1e-9) @ F.T
    np.testing.assert_allclose(k(POINTS[:, :1]), expected, rtol=0.1, atol=0.03 * np.abs(expected).max())


# invariance -----------------------------------------------------------------------------------------


class Reparametrised:
    """Normal densities with other parameters: psi = (mu + log sigma, 1 / sigma^3)."""

    def __init__(self, mean, sigma):
        self.normal = Normal(mean, sigma)
        # d(mu, sigma) / d psi
        self.jacobian = np.linalg.inv(np.array([[1.0, 1.0 / sigma], [0.0, -3.0 / sigma**4]]))

    def scores(self, X):
        return self.normal.scores(self.normal.pack(X)) @ self.jacobian

    def information(self):
        return self.jacobian.T @ self.normal.information() @ self.jacobian


def test_the_invariant_kernel_does_not_depend_on_the_parameters():
    x = POINTS[:, :1]
    one, two = Normal(0.5, 1.5), Reparametrised(0.5, 1.5)
    np.testing.assert_allclose(Fisher(one)(x), Fisher(two)(x), rtol=1e-9)
    assert not np.allclose(Fisher(one, kind="practical")(x), Fisher(two, kind="practical")(x), rtol=1e-2)
    k = learned(Fisher(one, kind="empirical"), x)
    np.testing.assert_allclose(k(x), learned(Fisher(two, kind="empirical"), x)(x), rtol=1e-7)


@pytest.mark.parametrize("model", [MarkovChain(), HiddenMarkovModel(2, max_iter=500)])
def test_logits_and_probabilities_give_one_invariant_kernel(model):
    one = learned(Fisher(model, draws=400), TEXTS)
    two = learned(Fisher(model.replace(parameters="probability"), draws=400), TEXTS)
    np.testing.assert_allclose(one(TEXTS), two(TEXTS), rtol=1e-6, atol=1e-8)
    other = [k.replace(kind="practical") for k in (one, two)]
    assert not np.allclose(other[0](TEXTS), other[1](TEXTS), rtol=1e-2)


# learning -------------------------------------------------------------------------------------------


def test_learning_is_pure_and_sees_training_samples_only():
    kernel = Fisher(HiddenMarkovModel(2), kind="practical")
    before = repr(kernel)
    k = learned(kernel, TEXTS[:6])
    assert repr(kernel) == before and not kernel.model.fitted and k.model.fitted
    again = k.learn(k.pack(TEXTS))
    assert again == k  # what has been learned stays
    np.testing.assert_array_equal(learned(kernel, TEXTS[:6])(TEXTS), k(TEXTS))
    # fitted on folds of one packed collection, as on the raw strings of the fold
    S = Strings.pack(TEXTS)
    fold = kernel.learn(S[:6])
    np.testing.assert_allclose(fold(S[6:]), k(TEXTS[6:]), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateWarning")
@pytest.mark.parametrize("kind", ["invariant", "practical", "empirical"])
def test_weights_are_copies(kind):
    weight = np.array([2.0, 1.0, 0.0, 3.0] * 3)
    copies = [text for text, w in zip(TEXTS, weight, strict=True) for _ in range(int(w))]
    kernel = Fisher(MarkovChain(), kind=kind)
    one, two = learned(kernel, TEXTS, weight), learned(kernel, copies)
    np.testing.assert_allclose(one(TEXTS), two(TEXTS), rtol=1e-8, atol=1e-10)
    assert sorted(_repeated(np.array([0.5, 0.0, 1.5]))) == [0, 2, 2, 2]


def test_features_learn_the_same_in_linear_time():
    y = np.array([len(text) for text in TEXTS], dtype=float)
    kernel = Fisher(MarkovChain())
    one = KernelRidge(kernel, alpha=0.5, gram=Features()).fit(TEXTS, y)
    two = KernelRidge(kernel, alpha=0.5, gram=Dense()).fit(TEXTS, y)
    np.testing.assert_allclose(one.predict(TEXTS), two.predict(TEXTS), rtol=1e-7)
    assert one.kernel_.model.fitted and not kernel.model.fitted


def test_classes_that_differ_in_their_transitions_are_told_apart():
    rng = np.random.default_rng(1)
    rough = MarkovChain(alphabet="ab", transitions=[[0.2, 0.8], [0.8, 0.2], [0.5, 0.5]])
    smooth = MarkovChain(alphabet="ab", transitions=[[0.8, 0.2], [0.2, 0.8], [0.5, 0.5]])
    drawn = [m.sample(rng, 30, Strings.pack(["a" * 30, "a" * 50])) for m in (rough, smooth)]
    X = ["".join(map(str, S.symbols(i))) for S in drawn for i in range(30)]
    y = np.repeat([0, 1], 30)
    for model in (MarkovChain(), HiddenMarkovModel(3)):
        for kind in ("invariant", "practical"):
            machine = SVC(Fisher(model, kind=kind, draws=500).normalized())
            assert cross_val_score(machine, X, y, cv=3).mean() > 0.9, (model, kind)
    # words, and a grid over the parameters of the model
    machine = SVC(Fisher(MarkovChain())).set_params(kernel__model__order=2, kernel__kind="practical")
    assert machine.fit(X, y).kernel_.model.order == 2


# doors ----------------------------------------------------------------------------------------------


def test_models_of_others_are_taken():
    mixture = Reference(2, random_state=0).fit(POINTS)
    k = Fisher(mixture, kind="practical")
    G = GaussianMixture.from_sklearn(mixture).scores(k.pack(POINTS))
    np.testing.assert_allclose(k(POINTS), G @ G.T, rtol=1e-10)

    class Chain:
        startprob_, transmat_ = np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]])
        emissionprob_ = np.array([[0.8, 0.2], [0.3, 0.7]])

    X = [[0, 1, 1], [1], [0, 0, 0, 1]]
    k = learned(Fisher(Chain(), draws=300), X)
    assert isinstance(k.model, Chain) or k.model.fitted
    G = HiddenMarkovModel.from_hmmlearn(Chain()).scores(Strings.pack(X))
    np.testing.assert_allclose(k.replace(kind="practical")(X), G @ G.T, rtol=1e-10)
    assert k.domain is Strings and Fisher(GaussianHiddenMarkovModel()).domain is Sequences


def test_what_is_not_learned_says_so():
    for kernel, X in (
        (Fisher(Normal()), POINTS),
        (Fisher(Normal(0.0, 1.0), kind="empirical"), POINTS[:, :1]),
        (Fisher(MarkovChain(alphabet="ab", transitions=np.full((3, 2), 0.5))), ["ab"]),
    ):
        with pytest.raises(ParameterError, match="not fitted"):
            kernel(X)
    assert Fisher(Normal()).feature_count(Normal().pack(POINTS)) is None


@pytest.mark.parametrize(
    "kernel",
    [
        Fisher(None),
        Fisher(Normal),
        Fisher(Reference(2)),
        Fisher(Normal(0.0, -1.0)),
        Fisher(Normal(), kind="other"),
        Fisher(Normal(), draws=0),
        Fisher(Normal(0.0, 1.0), whitening="text"),
    ],
)
def test_bad_parameters_are_refused(kernel):
    with pytest.raises(ParameterError):
        kernel.check()


def test_a_whitening_of_another_size_is_refused():
    with pytest.raises(ParameterError, match="3 rows for 2 scores"):
        Fisher(Normal(0.0, 1.0), whitening=np.ones(3))(POINTS[:, :1])


def test_noise_that_is_amplified_is_told():
    kernel = Fisher(MarkovChain(), kind="empirical")
    with pytest.warns(DegenerateWarning, match=r"from 12 samples: most of that is noise"):
        k = learned(kernel, TEXTS)
    F, _ = k.features(k.pack(TEXTS))
    np.testing.assert_allclose(F.T @ F / 12.0, np.eye(F.shape[1]), atol=1e-7)  # all directions have variance one
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned(Fisher(Normal(), kind="empirical"), POINTS[:, :1])


def test_whitening_with_more_scores_than_samples():
    G = RNG.normal(size=(5, 40)) * np.logspace(-3, 3, 40)
    W = _whitening_of(G, None)
    np.testing.assert_allclose((G @ W) @ (G @ W).T, 5.0 * np.eye(5), atol=1e-8)  # all samples are equally far
    weight = np.array([1.0, 2.0, 1.0, 0.0, 1.0])
    one = _whitening_of(G, weight)
    two = _whitening_of(np.repeat(G, weight.astype(int), axis=0), None)
    np.testing.assert_allclose((G @ one) @ (G @ one).T, (G @ two) @ (G @ two).T, rtol=1e-6, atol=1e-8)


def test_kernels_are_cloned_compared_and_kept_apart():
    one = learned(Fisher(HiddenMarkovModel(2), kind="practical"), TEXTS)
    two = learned(Fisher(HiddenMarkovModel(2, random_state=1), kind="practical"), TEXTS)
    assert clone(one) == one and one != two
    both = one + two
    S = both.prepare(both.pack(TEXTS))
    np.testing.assert_allclose(both.block(S, S), one(TEXTS) + two(TEXTS), rtol=1e-12)
    assert len(S.derived) == 2


@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateWarning")
@pytest.mark.parametrize("gram", [Dense(), Features()])
@pytest.mark.parametrize(("kernel", "X"), [*EXAMPLES[1:], (Fisher(GaussianHiddenMarkovModel(2), draws=300), SERIES)])
def test_models_are_saved_with_what_was_learned(kernel, X, gram, tmp_path):
    y = np.arange(len(X), dtype=float)
    model = KernelRidge(kernel, alpha=0.5, gram=gram).fit(X, y)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert again.kernel_ == model.kernel_
    assert np.array_equal(again.predict(X[:5]), model.predict(X[:5]))

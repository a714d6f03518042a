"""The kernel perceptron: against its naive twin, update for update."""

import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError, TargetError
from mercer.estimators import online
from mercer.estimators.online import KernelPerceptron
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Gaussian, Linear, Polynomial, Spectrum

X, Y = load_iris(return_X_y=True)
TWO = np.arange(150) < 100


def twin(K, y, classes, passes, weight=None):
    """The perceptron one visit at a time: last and averaged coefficients, mistakes, passes."""
    n = len(K)
    weight = np.ones(n, dtype=int) if weight is None else weight
    B, total, visits, mistakes, done = np.zeros((n, classes)), np.zeros((n, classes)), 0, 0, 0
    for _ in range(passes):
        before, done = mistakes, done + 1
        for i in range(n):
            for _ in range(weight[i]):
                f = K[i] @ B
                rivals = [c for c in range(classes) if c != y[i]]
                r = rivals[int(np.argmax(f[rivals]))]
                if f[r] >= f[y[i]]:
                    B[i, y[i]] += 1.0
                    B[i, r] -= 1.0
                    mistakes += 1
                total += B
                visits += 1
        if mistakes == before:
            break
    return B, total / visits, mistakes, done


@pytest.mark.parametrize("chunk", [1, 7, 256])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Polynomial(degree=2, offset=1.0)], ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_equals_its_naive_twin(kernel, classes, chunk, monkeypatch):
    monkeypatch.setattr(online, "_CHUNK", chunk)
    rng = np.random.default_rng(0)
    A, y = rng.integers(-3, 4, size=(60, 3)).astype(float), rng.integers(0, classes, size=60)  # ties are exact
    weight = rng.integers(1, 4, size=60)
    last, averaged, mistakes, passes = twin(kernel(A), y, classes, 4, weight)
    for average, coef in ((False, last), (True, averaged)):
        model = KernelPerceptron(kernel, averaged=average, max_iter=4, shuffle=False)
        model.fit(A, y, sample_weight=weight)
        expected = coef if classes > 2 else coef[:, 1]
        found = np.zeros_like(expected)
        found[model.support_] = model.dual_coef_
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert (model.n_mistakes_, model.n_iter_, model.visited_) == (mistakes, passes, passes * weight.sum())
        np.testing.assert_allclose(model.decision_function(A), kernel(A) @ expected, atol=1e-8)


def test_binary_is_rosenblatts_rule():
    y, K = np.where(TWO, 1.0, -1.0), Gaussian(1.0)(X)
    alpha = np.zeros(150)
    for _ in range(3):
        for i in range(150):
            if y[i] * (K[i] @ alpha) <= 0.0:
                alpha[i] += y[i]
    model = KernelPerceptron(Gaussian(1.0), shuffle=False, max_iter=3).fit(X, TWO)
    np.testing.assert_allclose(model.decision_function(X), K @ alpha)
    assert np.array_equal(model.predict(X), K @ alpha > 0)


def test_the_mistake_bound():
    rng = np.random.default_rng(0)
    for margin in (0.5, 0.1, 0.02):
        A = rng.normal(size=(2000, 3))
        w = np.array([0.6, 0.0, 0.8])
        A = A[np.abs(A @ w) >= margin]
        radius = np.sqrt((A**2).sum(axis=1).max())
        model = KernelPerceptron(Linear(), max_iter=10_000).fit(A, A @ w > 0)
        assert model.n_mistakes_ <= (radius / margin) ** 2
        assert np.array_equal(model.predict(A), A @ w > 0) and model.n_iter_ < 10_000


def test_averaging_is_better_where_classes_overlap():
    rng = np.random.default_rng(1)
    y = rng.random(1200) < 0.5
    A = rng.normal(size=(1200, 5)) + 0.5 * np.where(y, 1.0, -1.0)[:, None]
    scores = [
        KernelPerceptron(Linear(), averaged=a).fit(A[:400], y[:400]).score(A[400:], y[400:]) for a in (0 > 1, True)
    ]
    assert scores[1] > scores[0] and scores[1] > 0.84


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_partial_fit_in_pieces_is_one_pass(averaged, classes):
    few = np.isin(Y, range(classes))
    A, y = X[few], Y[few]
    order = np.random.default_rng(0).permutation(len(A))
    A, y = A[order], y[order]
    whole = KernelPerceptron(Gaussian(1.0), averaged=averaged, shuffle=False, max_iter=1).fit(A, y)
    parts = KernelPerceptron(Gaussian(1.0), averaged=averaged)
    for start in range(0, len(A), 23):
        parts.partial_fit(A[start : start + 23], y[start : start + 23], classes=np.arange(classes))
    assert np.array_equal(parts.support_, whole.support_)
    np.testing.assert_allclose(parts.dual_coef_, whole.dual_coef_)
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X))
    assert parts.n_mistakes_ == whole.n_mistakes_ and parts.n_seen_ == whole.n_seen_ and parts.visited_ == len(A)


def test_partial_fit_goes_on_after_fit():
    model = KernelPerceptron(Gaussian(1.0)).fit(X[::2], Y[::2])
    seen, mistakes = model.n_seen_, model.n_mistakes_
    model.partial_fit(X[1::2], Y[1::2], sample_weight=np.arange(75) % 3)
    assert model.n_seen_ == seen + 75 and model.n_mistakes_ >= mistakes
    assert np.all(np.arange(75)[model.support_[model.support_ >= seen] - seen] % 3 > 0)
    assert pickle.loads(pickle.dumps(model)).partial_fit(X, Y).score(X, Y) > 0.9


def test_partial_fit_says_what_it_needs():
    with pytest.raises(TargetError, match="first call"):
        KernelPerceptron().partial_fit(X, Y)
    model = KernelPerceptron().partial_fit(X[:100], Y[:100], classes=[0, 1, 2])
    with pytest.raises(TargetError, match="not the same as on last call"):
        model.partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(TargetError, match="label"):
        model.partial_fit(X[:2], [0, 7])
    before = dict(vars(model))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], Y)
    assert dict(vars(model)) == before
    with pytest.raises(CapabilityError, match="precomputed"):
        KernelPerceptron("precomputed").partial_fit(Gaussian(1.0)(X), Y, classes=[0, 1, 2])
    with pytest.raises(CapabilityError, match="no samples"):
        KernelPerceptron(Linear(), gram=Features()).fit(X, Y).partial_fit(X, Y)


def test_weights_are_repetitions_in_any_order():
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, size=150)
    repeated = rng.permutation(np.repeat(np.arange(150), weight))
    for averaged in (False, True):
        model = KernelPerceptron(Gaussian(1.0), averaged=averaged, max_iter=3)
        once = model.fit(X, Y, sample_weight=weight).decision_function(X)
        np.testing.assert_allclose(clone(model).fit(X[repeated], Y[repeated]).decision_function(X), once, atol=1e-9)
        sparse = clone(model).fit(sp.csr_array(X[repeated]), Y[repeated]).decision_function(X)
        assert sparse.shape == once.shape


def test_the_rest_of_a_weight_is_a_shorter_step():
    model = KernelPerceptron(Linear(), shuffle=False, max_iter=1)
    model.fit([[1.0], [-0.1]], [1, 0], sample_weight=[0.25, 2.5])
    np.testing.assert_allclose(model.dual_coef_, [0.25])
    model.fit([[0.0], [1.0]], [1, 0], sample_weight=[3.5, 1.0])  # at the origin each visit is a mistake
    np.testing.assert_allclose(model.dual_coef_, [3.5, -1.0])
    assert model.n_mistakes_ == 5
    # the updates at the origin were made after 0, 1, 2 and 3 visits, the last of them half a one
    np.testing.assert_allclose(model.late_coef_[:, 1], [0.0 + 1.0 + 2.0 + 0.5 * 3.0, -3.5])


def test_shuffling():
    fits = [
        KernelPerceptron(Gaussian(1.0), random_state=s, max_iter=1).fit(X, Y).decision_function(X) for s in (0, 0, 1)
    ]
    assert np.array_equal(fits[0], fits[1]) and not np.array_equal(fits[0], fits[2])
    order = np.random.default_rng(0).permutation(150)
    turned = KernelPerceptron(Gaussian(1.0), max_iter=1).fit(X[order], Y[order]).decision_function(X)
    np.testing.assert_allclose(turned, fits[0], atol=1e-10)
    state = np.random.RandomState(3)
    assert KernelPerceptron(Gaussian(1.0), random_state=state).fit(X, Y).score(X, Y) > 0.9


@pytest.mark.parametrize("gram", [Dense(), Tiles(), None, Features()], ids=repr)
def test_every_gram_gives_the_same(gram):
    expected = KernelPerceptron(Polynomial(degree=2, offset=1.0), gram=Dense()).fit(X, Y).decision_function(X)
    found = KernelPerceptron(Polynomial(degree=2, offset=1.0), gram=gram).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_precomputed_and_packed_and_threads():
    K = Gaussian(1.0)(X)
    given = KernelPerceptron("precomputed", shuffle=False).fit(K, Y).decision_function(K)
    model = KernelPerceptron(Gaussian(1.0), shuffle=False)
    np.testing.assert_allclose(model.fit(Vectors.pack(X), Y).decision_function(X), given)
    assert KernelPerceptron("precomputed").fit(K, Y).score(K, Y) > 0.9
    one, both = (clone(model).set_params(n_threads=n, gram=Tiles()).fit(X, Y).dual_coef_ for n in (1, 2))
    assert np.array_equal(one, both)


def test_strings():
    words = ["abcabc", "bcabca", "xyzxyz", "zxyzxy", "aabbcc", "xxyyzz"] * 3
    labels = ["left", "left", "right", "right", "left", "right"] * 3
    model = KernelPerceptron(Spectrum(1).normalized()).fit(words, labels)
    assert list(model.predict(["cab", "zyx", "abq"])) == ["left", "right", "left"]
    model.partial_fit(["qqq", "www"], ["left", "right"])
    assert list(model.predict(["qq", "ww"])) == ["left", "right"]
    turned = KernelPerceptron(Spectrum(1).normalized()).fit(words[::-1], labels[::-1])
    np.testing.assert_allclose(
        turned.decision_function(words[:6]), clone(turned).fit(words, labels).decision_function(words[:6])
    )


def test_out_of_time_keeps_what_there_is(monkeypatch):
    monkeypatch.setattr(online, "_CHUNK", 1)
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(1000, 3)), rng.random(1000) < 0.5
    with pytest.warns(ConvergenceWarning, match="pass 1 of 1000"):
        model = KernelPerceptron(Gaussian(1.0), max_time=0.01, max_iter=1000, gram=Tiles()).fit(A, y)
    assert model.n_mistakes_ > 0 and model.decision_function(A).shape == (1000,)


def test_bad_parameters():
    for params in ({"max_iter": 0}, {"averaged": "yes"}, {"shuffle": 2}, {"random_state": -1}, {"random_state": "a"}):
        with pytest.raises(ParameterError, match=next(iter(params))):
            KernelPerceptron(**params).fit(X, Y)
    with pytest.raises(NotFittedError):
        KernelPerceptron().predict(X)


def test_needs_rows():
    class Products:
        shape = (2, 2)

    with pytest.raises(CapabilityError, match=r"Gram\.rows"):
        online._Visits(Products(), np.zeros(2, dtype=int), np.ones(2), np.zeros((2, 2)))


def test_scikit_learns_checks():
    check_estimator(KernelPerceptron())


def test_the_loop_in_python_is_the_same():
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(30, 2)), rng.integers(0, 3, size=30)
    A[:2] = 0.0
    weight = rng.random(30) * 3
    weight[0] = 2.5
    results = []
    for call in (online._visit, online._visit.py_func):
        F, B, late = np.zeros((30, 3)), np.zeros((30, 3)), np.zeros((30, 3))
        mistakes = call(A @ A.T, F, B, late, y, weight, 1.5)
        results.append(np.concatenate([F.ravel(), B.ravel(), late.ravel(), [mistakes]]))
    np.testing.assert_allclose(*results, atol=1e-12)
    assert math.isfinite(results[0].sum())

import numpy as np
import pytest
from sklearn.svm import SVC

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Polynomial
from mercer.selection import leave_one_out
from mercer.selection.bounds import span_bound as span
from mercer.selection.bounds.span_bound import leave_one_out_decisions
from tests.unit.solvers.matrices import Products

N = 50


def problem(seed=0, n=N, width=3, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 1.0 + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return X, y


def train(K, y, C, weight=None):
    """Signed coefficients, box and decision values, by LIBSVM."""
    weight = np.ones(len(y)) if weight is None else weight
    machine = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, y, sample_weight=weight)
    beta = np.zeros(len(y))
    beta[machine.support_] = machine.dual_coef_[0]
    upper = np.where(y > 0.0, C * weight, 0.0)
    return beta, upper - C * weight, upper, machine.decision_function(K)


def refit(K, y, C, weight=None, taken=None):
    """Train n times without one sample each, or with a part of its weight taken away."""
    weight = np.ones(len(y)) if weight is None else weight
    out = np.empty(len(y))
    for i in range(len(y)):
        w = weight.copy()
        w[i] -= w[i] if taken is None else min(taken[i], w[i])
        rest = np.flatnonzero(w)
        machine = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K[np.ix_(rest, rest)], y[rest], sample_weight=w[rest])
        out[i] = machine.decision_function(K[i : i + 1, rest])[0]
    return out


def bounds(K, y, C):
    """Smallest and largest decision value of each sample without it: the bias may not be unique."""
    ends = np.empty((2, len(y)))
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        beta, lower, upper, _ = train(K[np.ix_(rest, rest)], y[rest], C)
        bias = y[rest] - K[np.ix_(rest, rest)] @ beta  # with which each sample is on the margin
        can_fall, can_rise = beta > lower + 1e-9 * C, beta < upper - 1e-9 * C
        ends[:, i] = K[i, rest] @ beta + [bias[can_rise].max(), bias[can_fall].min()]
    return ends.min(axis=0), ends.max(axis=0)


def bordered(K, ridge=0.0):
    n = len(K)
    M = np.ones((n + 1, n + 1))
    M[:n, :n] = K + ridge * np.eye(n)
    M[n, n] = 0.0
    return M


def plain(K, beta, lower, upper, values):
    """The formula for a set of free vectors that stays as it is."""
    free = np.flatnonzero((beta > lower) & (beta < upper))
    inverse = np.linalg.inv(bordered(K[np.ix_(free, free)]))
    out = values.copy()
    for i in np.flatnonzero(beta):
        if i in free:
            out[i] -= beta[i] / inverse[list(free).index(i), list(free).index(i)]
        else:
            v = np.append(K[free, i], 1.0)
            out[i] -= beta[i] * (K[i, i] - v @ inverse @ v)
    return out


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Gaussian(5.0), Linear(), Polynomial(2), NegativeDistance()], ids=lambda k: repr(k)
)
def test_equals_n_fits(kernel, C):
    X, y = problem(0)
    if isinstance(kernel, Linear | Polynomial) and C > 10.0:
        C = 10.0  # LIBSVM does not arrive at this tolerance
    gram = Dense().build(kernel, Vectors.pack(X))
    K = gram.to_dense()
    solved = train(K, y, C)
    if not np.any((solved[0] > solved[1]) & (solved[0] < solved[2])):  # what then holds has a test below
        pytest.skip("no free support vector: the bias is not determined")
    found = leave_one_out_decisions(gram, *solved)
    low, high = bounds(K, y, C)
    others = solved[0] != 0.0  # without a sample that is no support vector the bias may stay
    slack = 1e-4 + 1e-6 * C
    assert np.all((low - slack < found)[others] & (found < high + slack)[others])
    assert np.array_equal(found[solved[0] == 0.0], solved[3][solved[0] == 0.0])


def test_the_formula_where_no_set_changes():
    count, worst = 0, 0.0
    for seed in range(4):  # in one of them few samples may leave the sets as they are
        X, y = problem(seed, noise=0.3)
        gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
        K = gram.to_dense()
        solved = train(K, y, 1.0)
        expected, formula = refit(K, y, 1.0), plain(K, *solved)
        found = leave_one_out_decisions(gram, *solved)
        same = (np.abs(expected - formula) < 1e-6) & (solved[0] != 0.0)
        np.testing.assert_allclose(found[same], formula[same], atol=1e-6)
        assert np.abs(found - expected).max() < 1e-5
        count, worst = count + same.sum(), max(worst, np.abs(formula - expected).max())
    assert count >= 4
    assert worst > 1e-2  # where sets change the formula alone is pessimistic or worse by far


@pytest.mark.parametrize("bias", [True, False])
def test_a_ridge_with_all_free_is_the_linear_system(bias):
    X, y = problem(0, n=30)
    K = Gaussian(0.3)(X)
    ridge = 0.5
    M = bordered(K, ridge) if bias else K + ridge * np.eye(30)
    solution = np.linalg.solve(M, np.append(y, 0.0) if bias else y)
    beta, b = solution[:30], solution[30] if bias else 0.0
    assert np.all(beta * y > 0.0)
    upper = np.where(y > 0.0, np.inf, 0.0)
    lower = np.where(y > 0.0, 0.0, -np.inf)
    gram = Dense().build(Gaussian(0.3), Vectors.pack(X))
    found = leave_one_out_decisions(gram, beta, lower, upper, K @ beta + b, ridge, bias)
    expected = leave_one_out(y, beta, np.diagonal(np.linalg.inv(M))[:30])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_weights():
    X, y = problem(2)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=N)
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
    K = gram.to_dense()
    found = leave_one_out_decisions(gram, *train(K, y, 2.0, weight))
    np.testing.assert_allclose(found, refit(K, y, 2.0, weight), atol=1e-5)


def test_one_copy_of_a_weight():
    X, y = problem(3, n=40)
    weight = np.tile([1.0, 3.0], 20)
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
    K = gram.to_dense()
    C = 2.0
    found = leave_one_out_decisions(gram, *train(K, y, C, weight), left_out=np.full(40, C))
    np.testing.assert_allclose(found, refit(K, y, C, weight, np.ones(40)), atol=1e-5)
    copies = np.repeat(np.arange(40), weight.astype(int))
    repeated = leave_one_out_decisions(gram.take(copies), *train(K[np.ix_(copies, copies)], y[copies], C))
    np.testing.assert_allclose(repeated, found[copies], atol=1e-5)


def test_repeated_samples():
    X, y = problem(4, n=30)
    X, y = np.vstack([X, X, X[:10]]), np.concatenate([y, y, -y[:10]])
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
    K = gram.to_dense()
    found = leave_one_out_decisions(gram, *train(K, y, 5.0))  # a JitterWarning would be an error here
    np.testing.assert_allclose(found, refit(K, y, 5.0), atol=1e-5)


def test_hard_margin():
    X, y = problem(5, noise=0.0)
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
    K = gram.to_dense()
    beta, lower, upper, values = train(K, y, 1e6)
    lower, upper = np.where(lower < 0.0, -np.inf, 0.0), np.where(upper > 0.0, np.inf, 0.0)
    found = leave_one_out_decisions(gram, beta, lower, upper, values)
    np.testing.assert_allclose(found, refit(K, y, 1e6), rtol=1e-4, atol=1e-4)


def test_without_a_free_vector_the_mean_of_all_stands_in():
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    X = np.linalg.cholesky(K)
    gram = Dense().build(Linear(), Vectors.pack(X))
    beta, upper = np.array([0.1, -0.1]), np.array([0.1, 0.0])
    values = K @ beta
    found = leave_one_out_decisions(gram, beta, upper - 0.1, upper, values)
    np.testing.assert_allclose(found, values - beta * 1.0)  # |x1 - x2|^2 = 1
    # without a bias nothing has to be made up for
    np.testing.assert_allclose(
        leave_one_out_decisions(gram, beta, upper - 0.1, upper, values, bias=False), [-0.05, 0.05]
    )


def test_the_only_free_vector():
    # classes of one and three: all of the second share what the first has, one of them free
    X = np.array([[1.0], [-1.0], [-1.5], [-4.0]])
    gram = Dense().build(Linear(), Vectors.pack(X))
    solved = train(X @ X.T, np.array([1.0, -1.0, -1.0, -1.0]), 0.05)
    found = leave_one_out_decisions(gram, *solved)
    assert np.isfinite(found).all()


def test_nothing_learned():
    gram = Dense().build(Linear(), Vectors.pack([[1.0], [2.0]]))
    f = np.array([0.5, 0.5])
    assert np.array_equal(leave_one_out_decisions(gram, np.zeros(2), np.zeros(2), np.ones(2), f), f)


@pytest.mark.parametrize("free, near", [(40, 20), (15, 30), (1, 1)])
def test_more_than_may_react(monkeypatch, free, near):
    X, y = problem(6, n=150)
    gram = Tiles().build(Gaussian(1.0), Vectors.pack(X))
    K = gram.to_dense()
    solved = train(K, y, 3.0)
    exact = leave_one_out_decisions(gram, *solved)
    monkeypatch.setattr(span, "MOST", free)
    monkeypatch.setattr(span, "LEAST", near)
    monkeypatch.setattr(span, "_BLOCK", 16)
    found = leave_one_out_decisions(gram, *solved)
    support = solved[0] != 0.0
    assert np.corrcoef(found[support], exact[support])[0, 1] > (0.85 if free > 1 else 0.3)
    assert np.mean((found - exact)[support] * y[support]) < 1e-3  # too pessimistic rather than too optimistic


def test_outside_of_those_that_react_nothing_is_lost(monkeypatch):
    # bounded vectors far from the margin need not react, and are left out through their rows alone
    X, y = problem(7, n=120, noise=2.0)
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
    K = gram.to_dense()
    solved = train(K, y, 0.5)
    exact = leave_one_out_decisions(gram, *solved)
    monkeypatch.setattr(span, "MOST", 100)
    np.testing.assert_allclose(leave_one_out_decisions(gram, *solved), exact, atol=0.05)


def test_mixed_precision():
    X, y = problem(8)
    solved = train(Gaussian(1.0)(X), y, 1.0)
    S = Vectors.pack(X)
    exact = leave_one_out_decisions(Dense().build(Gaussian(1.0), S), *solved)
    found = leave_one_out_decisions(Tiles(precision="mixed").build(Gaussian(1.0), S), *solved)
    np.testing.assert_allclose(found, exact, atol=1e-3)


def test_the_same_bits_on_two_threads(monkeypatch):
    monkeypatch.setattr(span, "_SMALL", 0)
    X, y = problem(9, n=120)
    solved = train(Gaussian(1.0)(X), y, 3.0)
    one, two = (
        leave_one_out_decisions(Dense().build(Gaussian(1.0), Vectors.pack(X), Resources(n_threads=k)), *solved)
        for k in (1, 2)
    )
    assert np.array_equal(one, two)


def test_order_of_the_samples_does_not_matter():
    X, y = problem(10)
    beta, lower, upper, values = train(Gaussian(1.0)(X), y, 3.0)
    order = np.random.default_rng(0).permutation(N)
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
    found = leave_one_out_decisions(gram, beta, lower, upper, values)
    other = leave_one_out_decisions(gram.take(order), beta[order], lower[order], upper[order], values[order])
    np.testing.assert_allclose(other, found[order], atol=1e-8)


def test_refusals():
    box = np.zeros(2), np.ones(2)
    with pytest.raises(CapabilityError, match="need rows of K; Products offers only products"):
        leave_one_out_decisions(Products(np.eye(2)), np.ones(2), *box, np.ones(2))
    gram = Dense().build(Linear(), Vectors.pack([[1.0], [2.0]]))
    with pytest.raises(ParameterError, match="zero inside"):
        leave_one_out_decisions(gram, np.ones(2), -np.ones(2), np.ones(2), np.ones(2))
    X, y = problem(0)
    solved = train(Gaussian(1.0)(X), y, 1.0)
    tight = Tiles().build(Gaussian(1.0), Vectors.pack(X), Resources(memory=1000))
    with pytest.raises(MemoryBudgetError, match="tables of those that react"):
        leave_one_out_decisions(tight, *solved)

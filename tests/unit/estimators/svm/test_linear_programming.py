"""Linear programming machines."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import check_estimator

from mercer.errors import CapabilityError, DomainError, MemoryBudgetError, ParameterError, TargetError, TimeBudgetError
from mercer.estimators.svm.linear_programming import LinearProgrammingMachine, _middle_bias
from mercer.gram import Dense, Features, IncompleteCholesky, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Polynomial, Sigmoid, Spectrum, ThinPlate

IRIS, SPECIES = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=60) > 0.2, 1, 0)
SIGNS = 2.0 * Y - 1.0
NORMS = pytest.mark.parametrize("norm", [1, math.inf])
FORMS = pytest.mark.parametrize("form", ["dual", "primal"])


def naive(M, y, c, norm):
    """Least of |w|_p + sum c_i xi_i, written out with dense matrices and other variables than the machine's."""
    n, D = M.shape
    blocks = [-y[:, None] * M, np.zeros((n, D if norm == 1 else 1)), -y[:, None], -np.eye(n)]
    rows, rhs = [np.hstack(blocks)], [-np.ones(n)]
    size = np.eye(D) if norm == 1 else np.ones((D, 1))  # |w_j| <= u_j, or <= t
    for sign in (1.0, -1.0):
        rows.append(np.hstack([sign * np.eye(D), -size, np.zeros((D, 1 + n))]))
        rhs.append(np.zeros(D))
    cost = np.concatenate([np.zeros(D), np.ones(size.shape[1]), [0.0], c])
    bounds = [(None, None)] * D + [(0, None)] * size.shape[1] + [(None, None)] + [(0, None)] * n
    return linprog(cost, A_ub=np.vstack(rows), b_ub=np.concatenate(rhs), bounds=bounds).fun


def risk(model, M, y, c):
    w = model.dual_coef_[0] if model.form == "dual" else model.coef_[0]
    f = M @ w + model.intercept_[0]
    return np.linalg.norm(w, model.norm) + c @ np.maximum(1.0 - y * f, 0.0)


@NORMS
@FORMS
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_the_naive_program_has_the_same_optimum(norm, form, C):
    kernel = Linear() if form == "primal" else Gaussian(1.0)
    M = X if form == "primal" else kernel(X)
    model = LinearProgrammingMachine(kernel, C, norm=norm, form=form).fit(X, Y)
    c = np.full(len(Y), C)
    assert risk(model, M, SIGNS, c) == pytest.approx(naive(M, SIGNS, c, norm), rel=1e-7)
    w = model.dual_coef_[0] if form == "dual" else model.coef_[0]
    np.testing.assert_allclose(model.decision_function(X), M @ w + model.intercept_[0], atol=1e-9)
    assert model.solution_.gap <= 1e-6
    assert model.solution_.residual <= 1e-6
    assert model.solution_.trace.objective[0] == pytest.approx(naive(M, SIGNS, c, norm), rel=1e-7)


def test_the_one_norm_leaves_few_samples():
    model = LinearProgrammingMachine(Gaussian(1.0)).fit(X, Y)
    # At a vertex every nonzero coefficient takes the place of the slack of one sample, which is then on the margin.
    on_the_margin = np.isclose(SIGNS * model.decision_function(X), 1.0, atol=1e-6)
    assert 0 < len(model.support_) <= on_the_margin.sum() < 60
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.dual_coef_[0]))
    assert len(model.expansion_.samples) == len(model.support_)
    assert model.score(X, Y) > 0.8


def test_the_one_norm_leaves_few_features_and_the_largest_norm_all():
    noisy = np.hstack([X[:, :1], 0.05 * np.random.default_rng(1).normal(size=(60, 30))])
    y = X[:, 0] > 0.0
    model = LinearProgrammingMachine("linear", form="primal").fit(noisy, y)
    assert model.support_.tolist() == [0]
    other = LinearProgrammingMachine("linear", form="primal", norm=math.inf).fit(noisy, y)
    size = np.abs(other.coef_[0])
    assert np.sum(size > 0.999 * size.max()) >= 10


@NORMS
def test_the_margin_is_the_distance_in_the_dual_norm(norm):
    """The q-distance of a point to the plane is |f(x)| / |w|_p, and no plane keeps the nearest point farther."""
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    apart = X + 0.4 * y[:, None] * np.array([1.0, 1.0, 0.0, 0.0])
    model = LinearProgrammingMachine("linear", C=math.inf, norm=norm, form="primal").fit(apart, y)
    w, b = model.coef_[0], model.intercept_[0]
    assert np.min(y * (apart @ w + b)) == pytest.approx(1.0, abs=1e-7)
    assert model.margin_[0] == pytest.approx(1.0 / np.linalg.norm(w, norm))
    q = math.inf if norm == 1 else 1
    for i in np.argsort(y * (apart @ w + b))[:5]:  # distance of a point to the plane as a program of its own
        d = len(w)
        size = np.ones((d, 1)) if q == math.inf else np.eye(d)
        rows = [np.hstack([sign * np.eye(d), -size]) for sign in (1.0, -1.0)]
        distance = linprog(
            np.concatenate([np.zeros(d), np.ones(size.shape[1])]),
            A_ub=np.vstack(rows),
            b_ub=np.zeros(2 * d),
            A_eq=np.concatenate([w, np.zeros(size.shape[1])])[None],
            b_eq=[-(apart[i] @ w + b)],
            bounds=(None, None),
        ).fun
        assert distance == pytest.approx(abs(apart[i] @ w + b) * model.margin_[0], rel=1e-6)
    random = np.random.default_rng(1)
    for _ in range(200):
        v = w + 0.3 * np.abs(w).max() * random.normal(size=w.shape)
        f = apart @ v
        gap = f[y > 0].min() - f[y < 0].max()
        assert 0.5 * gap / np.linalg.norm(v, norm) <= model.margin_[0] * (1 + 1e-9)


def test_no_margin_error_is_an_error_where_it_cannot_be():
    with pytest.raises(TargetError, match="separates"):
        LinearProgrammingMachine("linear", C=math.inf, form="primal").fit(X, Y)
    model = LinearProgrammingMachine(Gaussian(0.3), C=math.inf).fit(X, Y)
    assert np.min(SIGNS * model.decision_function(X)) == pytest.approx(1.0, abs=1e-6)


@NORMS
@FORMS
def test_a_weight_is_a_repetition(norm, form):
    kernel = Linear() if form == "primal" else Gaussian(1.0)
    w = np.random.default_rng(2).integers(0, 4, size=60)
    model = LinearProgrammingMachine(kernel, norm=norm, form=form)
    one = clone(model).fit(X, Y, sample_weight=w)
    other = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(one.margin_, other.margin_, rtol=1e-6)
    if form == "dual":
        assert one.dual_coef_.shape == (1, 60)
        assert not one.dual_coef_[0, w == 0].any()


def test_class_weights():
    heavy = LinearProgrammingMachine(Gaussian(1.0), class_weight={0: 5.0}).fit(X, Y)
    same = LinearProgrammingMachine(Gaussian(1.0)).fit(X, Y, sample_weight=np.where(Y == 0, 5.0, 1.0))
    np.testing.assert_allclose(heavy.decision_function(X), same.decision_function(X), atol=1e-8)
    w = np.random.default_rng(3).integers(1, 4, size=60)
    one = LinearProgrammingMachine(Gaussian(1.0), class_weight="balanced").fit(X, Y, sample_weight=w)
    other = LinearProgrammingMachine(Gaussian(1.0), class_weight="balanced").fit(
        np.repeat(X, w, axis=0), np.repeat(Y, w)
    )
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-6)
    for bad in ({0: -1.0}, {0: math.nan}, "heavy", 3):
        with pytest.raises(ParameterError, match="class_weight"):
            LinearProgrammingMachine(class_weight=bad).fit(X, Y)


def test_several_classes_are_one_against_the_rest():
    model = LinearProgrammingMachine(Gaussian(1.0)).fit(IRIS, SPECIES)
    assert model.dual_coef_.shape == (3, 150)
    assert model.intercept_.shape == model.margin_.shape == (3,)
    f = model.decision_function(IRIS)
    for c in range(3):
        single = LinearProgrammingMachine(Gaussian(1.0)).fit(IRIS, c == SPECIES)
        np.testing.assert_allclose(f[:, c], single.decision_function(IRIS), atol=1e-8)
    np.testing.assert_array_equal(model.predict(IRIS), np.argmax(f, axis=1))
    assert model.score(IRIS, SPECIES) > 0.9


@pytest.mark.parametrize("kernel", [Sigmoid(scale=0.5, offset=-1.0), NegativeDistance(), ThinPlate()], ids=repr)
def test_kernels_need_not_be_definite(kernel):
    model = LinearProgrammingMachine(kernel).fit(X, Y)  # and nobody warns
    assert model.score(X, Y) > 0.7


def test_similarities_need_not_be_definite():
    S = np.random.default_rng(4).normal(size=(60, 60))
    S = S + S.T + 3.0 * np.outer(SIGNS, SIGNS)
    model = LinearProgrammingMachine("precomputed").fit(S, Y)
    assert model.score(S, Y) > 0.9
    assert model.predict(S[:5]).shape == (5,)


def test_strings():
    words = ["banana", "bandana", "ananas", "kiwi", "kiwis", "kiki"]
    labels = ["a", "a", "a", "k", "k", "k"]
    for form in ("dual", "primal"):
        model = LinearProgrammingMachine(Spectrum(2), C=10.0, form=form).fit(words, labels)
        assert model.predict(["anna", "wiki"]).tolist() == ["a", "k"]
    assert len(model.support_) <= 2  # bigrams


def test_primal_with_sparse_samples_and_other_features():
    dense = LinearProgrammingMachine("linear", form="primal").fit(X, Y)
    sparse = LinearProgrammingMachine("linear", form="primal").fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=1e-8)
    model = LinearProgrammingMachine(Polynomial(2), form="primal").fit(X, Y)
    assert model.coef_.shape[1] > X.shape[1]
    assert isinstance(model.gram_, Features)


def test_every_gram_gives_the_same():
    expected = LinearProgrammingMachine(Gaussian(1.0), gram=Dense()).fit(X, Y).decision_function(X)
    for gram in (Tiles(), None):
        found = LinearProgrammingMachine(Gaussian(1.0), gram=gram).fit(X, Y).decision_function(X)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    linear = LinearProgrammingMachine(Linear(), gram=Features()).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(linear, LinearProgrammingMachine(Linear()).fit(X, Y).decision_function(X), atol=1e-6)


@NORMS
def test_a_gram_of_low_rank_is_the_program_of_its_matrix(norm):
    for gram in (Nystrom(10, random_state=0), IncompleteCholesky(60, tol=0.0)):
        model = LinearProgrammingMachine(Gaussian(1.0), norm=norm, gram=gram).fit(X, Y)
        M = model.gram_.build(Gaussian(1.0), Gaussian(1.0).pack(X)).to_dense()
        assert math.isclose(model.solution_.trace.objective[-1], naive(M, SIGNS, np.ones(60), norm), rel_tol=1e-7)
        assert model.solution_.gap < 1e-8 and model.solution_.residual < 1e-7
        values = model.decision_function(X)
        assert np.allclose(values, M @ model.dual_coef_[0] + model.intercept_, atol=1e-7)
        length = np.linalg.norm(model.dual_coef_[0], ord=norm)
        slack = np.maximum(1.0 - SIGNS * values, 0.0).sum()
        assert math.isclose(length + slack, model.solution_.trace.objective[-1], rel_tol=1e-6)


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1e6, 1e12])
def test_the_unit_of_the_samples_does_not_matter(size):
    model = LinearProgrammingMachine("linear", C=2.0, form="primal").fit(X, Y)
    other = LinearProgrammingMachine("linear", C=2.0 / size, form="primal").fit(size * X, Y)
    np.testing.assert_allclose(other.decision_function(size * X), model.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(other.coef_ * size, model.coef_, atol=1e-6)
    assert other.solution_.residual <= 1e-6
    assert other.solution_.gap * size <= 1e-6


def test_samples_whose_similarities_nearly_vanish_are_refused():
    X = 1e-160 * np.random.default_rng(0).normal(size=(10, 2))
    with pytest.raises(DomainError, match="so small that coefficients overflow"):
        LinearProgrammingMachine(Linear()).fit(X, np.arange(10) % 2)


def test_samples_that_cannot_be_told_apart():
    model = LinearProgrammingMachine(Gaussian(1.0)).fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])
    assert not model.dual_coef_.any()
    assert model.expansion_(model.kernel_.pack(np.ones((2, 2)))).tolist() == [0.0, 0.0]
    uneven = LinearProgrammingMachine(Gaussian(1.0)).fit(np.ones((5, 2)), [0, 1, 0, 1, 0])
    assert uneven.predict([[1.0, 1.0]]).tolist() == [0]


def test_the_bias_is_in_the_middle_of_what_is_optimal():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    flat = LinearProgrammingMachine("linear", C=1e-3, form="primal").fit(X, y)
    assert not flat.coef_.any()
    assert flat.intercept_[0] == 0.0
    assert math.isinf(flat.margin_[0])
    breaks, y, c = np.array([0.0, 1.0, 3.0, 7.0]), np.array([-1.0, 1.0, -1.0, 1.0]), np.ones(4)
    assert _middle_bias(breaks, y, c, 9.0) == 2.0
    assert _middle_bias(breaks, y, np.array([1.0, 1.0, 2.0, 1.5]), 9.0) == 9.0  # unique: as it was found


def test_what_is_wrong_is_told():
    for options, told in [
        (dict(norm=2), "SVC"),
        (dict(norm=3), "norm"),
        (dict(C=0.0), "C"),
        (dict(form="both"), "form"),
        (dict(form="primal", kernel="linear", gram=Dense()), "form='primal'"),
    ]:
        with pytest.raises(ParameterError, match=told):
            LinearProgrammingMachine(**options).fit(X, Y)
    with pytest.raises(CapabilityError, match="feature map"):
        LinearProgrammingMachine(Gaussian(1.0), form="primal").fit(X, Y)
    with pytest.raises(MemoryBudgetError):
        LinearProgrammingMachine(memory="100kB").fit(X, Y)
    with pytest.raises(TargetError, match="no sample of positive weight"):
        LinearProgrammingMachine().fit(X, Y, sample_weight=Y.astype(float))
    with pytest.raises(TargetError, match="one class"):
        LinearProgrammingMachine().fit(X, np.zeros(60))


def test_out_of_time_leaves_the_machine_as_it_was():
    big = np.random.default_rng(0).normal(size=(500, 3))
    model = LinearProgrammingMachine(Gaussian(0.5), C=100.0).fit(X, Y)
    before = dict(vars(model))
    model.max_time = 0.05
    with pytest.raises(TimeBudgetError, match="max_time"):
        model.fit(big, np.random.default_rng(1).integers(2, size=500))
    model.max_time = None
    assert vars(model).keys() == before.keys()
    assert model.solution_ is before["solution_"]


@pytest.mark.slow  # the default is looked at in tests/contract
@pytest.mark.parametrize(
    "model", [LinearProgrammingMachine(), LinearProgrammingMachine("linear", norm=math.inf, form="primal")], ids=repr
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it(model):
    check_estimator(model)

"""Linear support vector machines."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import CapabilityError, ConvergenceWarning, ParameterError, TargetError
from mercer.estimators.svm.linear import LinearSVC, LinearSVR
from mercer.solvers import BlockDescent, BundleMethod, ColumnDescent, CuttingPlane, DualDescent

X, Y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
D, Z = load_diabetes(return_X_y=True)
D, Z = 20.0 * D, (Z - Z.mean()) / Z.std()
TIGHT = {"tol": 1e-10, "max_iter": 2_000_000, "random_state": 0}


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks(
    [
        LinearSVC(multi_class="crammer_singer"),
        LinearSVR(solver=BundleMethod(1e-9)),
    ]
)
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"intercept_scaling": 5.0}], ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_classifier_equals_scikit_learn(loss, options, classes):
    A, b = (X, Y) if classes == 3 else (X[50:], Y[50:])
    ours = LinearSVC(0.5, loss=loss, **options).fit(A, b)
    theirs = svm.LinearSVC(C=0.5, loss=loss, dual=True, **options, **TIGHT).fit(A, b)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, np.broadcast_to(theirs.intercept_, ours.intercept_.shape), atol=1e-4)
    np.testing.assert_allclose(ours.decision_function(A), theirs.decision_function(A), atol=1e-3)
    assert ours.coef_.shape == theirs.coef_.shape and np.array_equal(ours.predict(A), theirs.predict(A))
    assert ours.solution_.gap <= 1e-8 and isinstance(ours.n_iter_, int)


@pytest.mark.parametrize("classes", [2, 3])
def test_all_classes_together_equal_scikit_learn(classes):
    A, b = (X, Y) if classes == 3 else (X[50:], Y[50:])
    ours = LinearSVC(0.1, multi_class="crammer_singer").fit(A, b)
    theirs = svm.LinearSVC(C=0.1, multi_class="crammer_singer", **TIGHT).fit(A, b)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert ours.coef_.shape == theirs.coef_.shape and isinstance(ours.solver_, BlockDescent)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_regression_equals_scikit_learn(loss, epsilon, fit_intercept):
    ours = LinearSVR(0.3, epsilon, loss=loss, fit_intercept=fit_intercept).fit(D, Z)
    theirs = svm.LinearSVR(C=0.3, epsilon=epsilon, loss=loss, fit_intercept=fit_intercept, **TIGHT).fit(D, Z)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict(D), theirs.predict(D), atol=1e-3)
    assert ours.coef_.shape == (10,) and ours.intercept_.shape == (1,)


@pytest.mark.parametrize("weight", ["balanced", {0: 2.0, 2: 0.5}], ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_class_weights_are_those_of_scikit_learn(weight, classes):
    A, b = (X[:130], Y[:130]) if classes == 3 else (X[:80], Y[:80])
    if classes == 2 and weight != "balanced":
        weight = {0: 2.0}
    for extra in ({"loss": "squared_hinge"}, {"multi_class": "crammer_singer"}):
        ours = LinearSVC(0.2, class_weight=weight, **extra).fit(A, b)
        theirs = svm.LinearSVC(C=0.2, class_weight=weight, **extra, **TIGHT).fit(A, b)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def objective(model, A, b, w):
    """Regularised risk of a classifier, summed over its problems."""
    targets = [np.where(b == c, 1.0, -1.0) for c in (model.classes_ if len(model.coef_) > 1 else model.classes_[1:])]
    total = 0.5 * np.sum(model.coef_**2) + 0.5 * np.sum((model.intercept_ / model.intercept_scaling) ** 2)
    for coef, bias, y in zip(model.coef_, model.intercept_, targets, strict=True):
        slack = np.maximum(0.0, 1.0 - y * (A @ coef + bias))
        total += model.C * (w @ (slack if model.loss == "hinge" else slack**2))
    return total


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_three_solvers_solve_one_problem(loss):
    w = np.random.default_rng(0).uniform(0.5, 2.0, size=150)
    found = []
    for solver in (None, BundleMethod(1e-6, 5000), CuttingPlane(1e-6, 5000)):
        model = LinearSVC(0.5, loss=loss, solver=solver).fit(X, Y, sample_weight=w)
        found.append(objective(model, X, Y, w))
        assert model.solver_ is solver or isinstance(model.solver_, DualDescent)
    assert max(found) <= (1 + 1e-5) * min(found)


MODELS = {
    "squared hinge": lambda: LinearSVC(),
    "hinge": lambda: LinearSVC(loss="hinge"),
    "balanced": lambda: LinearSVC(class_weight="balanced", fit_intercept=False),
    "together": lambda: LinearSVC(multi_class="crammer_singer", max_iter=20_000),
    "tube": lambda: LinearSVR(epsilon=0.1),
    "absolute": lambda: LinearSVR(),
    "squared tube": lambda: LinearSVR(epsilon=0.1, loss="squared_epsilon_insensitive"),
}
models = pytest.mark.parametrize("name", MODELS)


@models
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("seed", range(3))
def test_weight_is_repetition(name, sparse, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(40, 4)) * (rng.random((40, 4)) < 0.7)
    b, w = rng.integers(0, 3, size=40), rng.integers(0, 5, size=40)
    repeated = rng.permutation(np.repeat(np.arange(40), w))
    convert = sp.csr_array if sparse else np.asarray
    one = MODELS[name]().fit(convert(A), b, sample_weight=w)
    two = MODELS[name]().fit(convert(A[repeated]), b[repeated])
    method = "decision_function" if hasattr(one, "classes_") else "predict"
    f, g = getattr(one, method)(convert(A)), getattr(two, method)(convert(A))
    assert np.max(np.abs(f - g)) <= 1e-6 * np.max(np.abs(g))
    assert one.solution_.coef.shape[0] == 40 and not one.solution_.coef[w == 0].any()


@models
def test_sparse_float32_and_order(name):
    b = Y if name != "tube" else Y.astype(float)
    expected = MODELS[name]().fit(X, b).coef_
    scale = np.abs(expected).max()
    assert np.allclose(MODELS[name]().fit(sp.csr_array(X), b).coef_, expected, atol=1e-7 * scale)
    order = np.random.default_rng(0).permutation(150)
    assert np.allclose(MODELS[name]().fit(X[order], b[order]).coef_, expected, atol=1e-6 * scale)
    narrow = X.astype(np.float32)
    wide = MODELS[name]().fit(narrow.astype(np.float64), b).coef_
    assert np.allclose(MODELS[name]().fit(narrow, b).coef_, wide, atol=1e-6 * scale)
    assert np.allclose(MODELS[name]().fit(sp.csr_array(narrow), b).coef_, wide, atol=1e-6 * scale)


@models
def test_threads_give_the_same_bits(name):
    targets = np.column_stack([Y, Y == 1, X[:, 0]]) if name in ("tube", "absolute", "squared tube") else Y
    fits = [MODELS[name]().set_params(n_threads=n).fit(X, targets) for n in (1, 2, 2)]
    for model in fits[1:]:
        assert np.array_equal(model.coef_, fits[0].coef_) and np.array_equal(model.intercept_, fits[0].intercept_)


def test_several_outputs():
    targets = np.column_stack([Z, -2.0 * Z, np.sin(Z)])
    model = LinearSVR(0.5, 0.1).fit(D, targets)
    assert model.coef_.shape == (3, 10) and model.intercept_.shape == (3,) and model.predict(D).shape == (442, 3)
    for k in range(3):
        alone = LinearSVR(0.5, 0.1).fit(D, targets[:, k])
        np.testing.assert_allclose(model.coef_[k], alone.coef_, atol=1e-9)
        np.testing.assert_allclose(model.predict(D)[:, k], alone.predict(D), atol=1e-9)


@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_extreme_C(C):
    A, b = X[50:], Y[50:]
    for model in (
        LinearSVC(C),
        LinearSVC(C, loss="hinge"),
        LinearSVR(C),
        LinearSVR(C, loss="squared_epsilon_insensitive"),
    ):
        model.fit(A, b)
        assert model.solution_.status.converged and np.all(np.isfinite(model.coef_))
        values = model.decision_function(A) if hasattr(model, "classes_") else model.predict(A)
        assert np.all(np.isfinite(values))


def test_duplicates_with_opposite_labels():
    A, b = np.repeat(X[:20], 2, axis=0), np.tile([0, 1], 20)
    for loss in ("hinge", "squared_hinge"):
        np.testing.assert_allclose(LinearSVC(loss=loss).fit(A, b).decision_function(A), 0.0, atol=1e-9)


def test_a_large_scale_of_targets():
    one, two = LinearSVR(1.0, 0.1), LinearSVR(1e6, 1e5)
    np.testing.assert_allclose(1e6 * one.fit(D, Z).predict(D), two.fit(D, 1e6 * Z).predict(D), rtol=1e-5, atol=1.0)


def test_errors():
    with pytest.raises(TargetError, match="one class"):
        LinearSVC().fit(X, np.zeros(150))
    with pytest.raises(TargetError, match="no sample of positive weight"):
        LinearSVC().fit(X, Y, sample_weight=(Y > 0).astype(float))
    with pytest.raises(ParameterError, match="C="):
        LinearSVC(-1.0).fit(X, Y)
    with pytest.raises(ParameterError, match="loss"):
        LinearSVC(loss="squared").fit(X, Y)
    with pytest.raises(ParameterError, match=r"tol.*solver"):
        LinearSVC(tol=1e-2, solver=DualDescent()).fit(X, Y)
    with pytest.raises(ParameterError, match="class_weight"):
        LinearSVC(class_weight={0: -1.0}).fit(X, Y)
    with pytest.raises(ParameterError, match="epsilon"):
        LinearSVR(epsilon=-1.0).fit(D, Z)
    with pytest.raises(CapabilityError, match="MulticlassQP"):
        LinearSVC(solver=DualDescent(), multi_class="crammer_singer").fit(X, Y)
    with pytest.raises(ValueError, match="too large"):
        LinearSVC().fit(1e200 * X, Y)


def test_max_iter_warns_with_the_residual():
    for model in (LinearSVC(1e3, loss="hinge", max_iter=1), LinearSVC(1e3, multi_class="crammer_singer", max_iter=1)):
        with pytest.warns(ConvergenceWarning, match=r"stopped at residual \d.*max_iter"):
            model.fit(X, Y)
        assert model.n_iter_ == 1 and np.all(np.isfinite(model.coef_))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("classes", [2, 4])
def test_time_runs_out(threads, classes):
    A, b = make_classification(30_000, 60, n_informative=20, n_classes=classes, flip_y=0.2, random_state=0)
    model = LinearSVC(10.0, loss="hinge", solver=DualDescent(polish=False), max_time=0.2, n_threads=threads)
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        model.fit(A, b)
    assert model.score(A, b) > 1.1 / classes and np.all(np.isfinite(model.coef_))


def test_fitted_attributes_and_parameters():
    model = LinearSVC(random_state=np.random.RandomState(0)).fit(X, Y)
    again = LinearSVC(random_state=np.random.RandomState(0)).fit(X, Y)
    assert np.array_equal(model.coef_, again.coef_)
    assert list(model.classes_) == [0, 1, 2] and model.n_features_in_ == 4
    assert model.solution_.coef.shape == (150, 3) and model.solution_.weights.shape == (5, 3)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_)
    assert not hasattr(LinearSVC(), "coef_") and "kernel" not in LinearSVC().get_params()


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"intercept_scaling": 5.0}], ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_the_l1_penalty_equals_scikit_learn(options, classes, storage):
    A, b = (X, Y) if classes == 3 else (X[50:], Y[50:])
    ours = LinearSVC(0.1, penalty="l1", tol=1e-8, **options).fit(storage(A), b)
    theirs = svm.LinearSVC(C=0.1, penalty="l1", dual=False, **options, **TIGHT).fit(A, b)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, np.broadcast_to(theirs.intercept_, ours.intercept_.shape), atol=1e-5)
    np.testing.assert_array_equal(ours.coef_ == 0.0, theirs.coef_ == 0.0)
    assert isinstance(ours.solver_, ColumnDescent)


def test_the_l1_penalty_with_weights():
    weight = np.random.default_rng(1).integers(0, 3, size=100)
    ours = LinearSVC(0.1, penalty="l1", tol=1e-8, class_weight={1: 2.0, 2: 0.5}).fit(X[50:], Y[50:], weight)
    again = LinearSVC(0.1, penalty="l1", tol=1e-8, class_weight={1: 2.0, 2: 0.5}).fit(
        np.repeat(X[50:], weight, axis=0), np.repeat(Y[50:], weight)
    )
    np.testing.assert_allclose(ours.coef_, again.coef_, atol=1e-7)


@pytest.mark.parametrize("options", [{"loss": "hinge"}, {"multi_class": "crammer_singer"}])
def test_what_the_l1_penalty_does_not_go_with(options):
    with pytest.raises(ParameterError, match=r"penalty='l1'.*squared_hinge"):
        LinearSVC(penalty="l1", **options).fit(X, Y)
    with pytest.raises(CapabilityError):
        LinearSVC(penalty="l1", solver=DualDescent()).fit(X, Y)


def test_sparse_and_dense_coefficients():
    model = LinearSVC(0.05, penalty="l1").fit(X, Y)
    coef, values = model.coef_.copy(), model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_) and model.coef_.nnz == np.count_nonzero(coef)
    np.testing.assert_array_equal(model.decision_function(X), values)
    np.testing.assert_array_equal(model.densify().densify().coef_, coef)
    with pytest.raises(NotFittedError):
        LinearSVC().sparsify()

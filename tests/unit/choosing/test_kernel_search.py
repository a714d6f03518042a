"""The search with shared matrices against scikit-learn's, which fits every candidate to every fold."""

import json
import warnings

import numpy as np
import pytest
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import LSSVR, SVC, SVR, KernelLogisticRegression, KernelMeanClassifier, KernelRidge, NuSVC
from mercer.choosing import KernelSearchCV
from mercer.errors import ParameterError, TimeBudgetError
from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian, Linear, Matern, Polynomial, Precomputed, Spectrum, TfIdf


def classes(n=60, count=2, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=n)
    return X, np.array(["a", "b", "c", "d"])[np.digitize(score, np.quantile(score, np.arange(1, count) / count))]


def numbers(n=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def both(estimator, grid, X, y, fit=None, **options):
    """Both searches, fitted."""
    fit = fit or {}
    return KernelSearchCV(estimator, grid, **options).fit(X, y, **fit), GridSearchCV(estimator, grid, **options).fit(
        X, y, **fit
    )


def assert_alike(ours, theirs, atol=0.0):
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for name, values in theirs.cv_results_.items():
        if name.startswith(("split", "mean_test", "mean_train", "std_test")):
            np.testing.assert_allclose(ours.cv_results_[name], values, atol=max(atol, 1e-12), err_msg=name)
    if atol == 0.0:
        assert ours.best_params_ == theirs.best_params_


GRID = {"C": [0.1, 1.0, 10.0, 100.0], "kernel__length_scale": [0.4, 1.0, 3.0]}


@pytest.mark.parametrize("count", [2, 3])
def test_support_vector_classifiers(count):
    X, y = classes(count=count)
    assert_alike(*both(SVC(Gaussian(1.0)), GRID, X, y, cv=4, return_train_score=True))


@pytest.mark.parametrize("options", [{"multi_class": "ovr"}, {"class_weight": "balanced"}, {"break_ties": True}])
def test_schemes_and_weights_of_classes(options):
    X, y = classes(count=3, seed=2)
    assert_alike(*both(SVC(Gaussian(1.0), **options), {"C": [0.5, 5.0]}, X, y, cv=3))


def test_fifty_random_problems_have_the_same_choice():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(20, 32)), int(rng.integers(1, 5))
        X = rng.normal(size=(n, d))
        y = (X[:, 0] ** 2 + rng.normal(size=n) > 0.7).astype(int)
        y[:4] = [0, 1, 0, 1]
        grid = {
            "C": np.exp(rng.normal(size=2) * 2.0),
            "kernel__length_scale": np.exp(rng.normal(size=2)),
        }
        cv = StratifiedKFold(2, shuffle=True, random_state=seed)
        ours, theirs = both(SVC(Gaussian(1.0)), grid, X, y, cv=cv, refit=False)
        assert ours.best_params_ == theirs.best_params_, seed
        np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("count", [3, 12])  # by factorisations, and by one decomposition
def test_ridge_regression(intercept, count):
    X, y = numbers()
    grid = {"alpha": np.logspace(-3, 1, count), "kernel": [Gaussian(1.0), Matern(1.5, 2.0)]}
    ours, theirs = both(KernelRidge(fit_intercept=intercept), grid, X, y, cv=4)
    assert_alike(ours, theirs, atol=1e-7)
    assert ours.best_params_ == theirs.best_params_


def test_least_squares_machines_and_several_outputs():
    X, y = numbers()
    assert_alike(*both(LSSVR(Gaussian(1.0)), {"C": [0.1, 1.0, 10.0]}, X, y, cv=3), atol=1e-7)
    Y = np.column_stack([y, y**2])
    assert_alike(*both(KernelRidge(Gaussian(1.0)), {"alpha": [0.1, 1.0]}, X, Y, cv=3), atol=1e-7)


@pytest.mark.parametrize(
    "estimator, grid",
    [
        (NuSVC(Gaussian(1.0)), {"nu": [0.2, 0.5]}),
        (SVC(Gaussian(1.0), loss="squared_hinge"), {"C": [0.1, 10.0]}),
        (SVC(Gaussian(1.0), probability=True), {"C": [0.1, 10.0]}),
        (SVC(), {"C": [1.0], "kernel": ["rbf", "linear", Polynomial(2)]}),
        (SVC("rbf"), {"gamma": ["scale", 0.3, 2.0], "C": [1.0, 10.0]}),
        (SVC(Gaussian("median")), {"C": [1.0, 10.0]}),
        (KernelMeanClassifier(Gaussian(1.0)), {"kernel__length_scale": [0.5, 2.0]}),
        (KernelLogisticRegression(Gaussian(1.0)), {"C": [0.1, 1.0]}),
        (SVC(Gaussian(1.0), gram=Nystrom(20, random_state=0)), {"C": [1.0]}),
    ],
)
def test_any_estimator(estimator, grid):
    X, y = classes(40)
    assert_alike(*both(estimator, grid, X, y, cv=3), atol=1e-12)


def test_regression_machines():
    X, y = numbers(40)
    assert_alike(*both(SVR(Gaussian(1.0)), {"C": [0.1, 10.0], "epsilon": [0.01, 0.1]}, X, y, cv=3), atol=1e-6)


@pytest.mark.parametrize(
    "scoring", ["accuracy", "balanced_accuracy", "f1_macro", "roc_auc", {"one": "accuracy", "two": "roc_auc"}]
)
def test_scores_of_all_kinds(scoring):
    X, y = classes()
    refit = "two" if isinstance(scoring, dict) else True
    ours, theirs = both(SVC(Gaussian(1.0)), {"C": [0.1, 10.0]}, X, y, cv=3, scoring=scoring, refit=refit)
    assert_alike(ours, theirs)
    assert ours.multimetric_ == theirs.multimetric_


def test_a_function_of_the_users_sees_the_samples():
    X, y = classes()

    def first_column(model, T, labels):
        assert T.shape[1] == 3
        return float(np.mean(model.predict(T) == labels) + 1e-3 * T[:, 0].mean())

    assert_alike(*both(SVC(Gaussian(1.0)), {"C": [0.1, 10.0]}, X, y, cv=3, scoring=first_column))


def test_regression_scores():
    X, y = numbers()
    for scoring in ("neg_mean_squared_error", make_scorer(mean_absolute_error, greater_is_better=False)):
        assert_alike(*both(KernelRidge(Gaussian(1.0)), {"alpha": [0.1, 1.0]}, X, y, cv=3, scoring=scoring), atol=1e-9)


def test_groups_and_weights():
    X, y = classes()
    groups = np.arange(60) % 5
    weight = np.random.default_rng(0).uniform(0.1, 3.0, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pair = both(SVC(Gaussian(1.0)), GRID, X, y, fit={"groups": groups, "sample_weight": weight}, cv=GroupKFold(5))
    assert_alike(*pair)
    zero = np.where(np.arange(60) < 5, 0.0, weight)
    assert_alike(*both(SVC(Gaussian(1.0)), {"C": [1.0]}, X, y, fit={"sample_weight": zero}, cv=3))


@pytest.mark.parametrize("error_score", [np.nan, -1.0])
def test_fits_that_fail(error_score):
    X, y = classes(30)
    y = np.array(["a"] * 27 + ["b"] * 3)  # folds of neighbours: the last has all of one class
    with pytest.warns(Warning):
        pair = both(SVC(Gaussian(1.0)), {"C": [1.0, 10.0]}, X, y, cv=KFold(3), error_score=error_score)
    assert_alike(*pair)
    with pytest.raises(ValueError, match="one class"):
        KernelSearchCV(SVC(Gaussian(1.0)), {"C": [1.0]}, cv=KFold(3), error_score="raise").fit(X, y)


def test_pipelines_learn_from_training_parts():
    X, y = classes(seed=4)
    X = X * [1.0, 50.0, 0.01] + 7.0
    pipe = make_pipeline(StandardScaler(), SVC(Gaussian(1.0)))
    grid = {"svc__C": [1.0, 10.0], "svc__kernel__length_scale": [0.5, 2.0], "standardscaler__with_mean": [True, False]}
    assert_alike(*both(pipe, grid, X, y, cv=3))


def test_texts_and_strings_and_matrices():
    rng = np.random.default_rng(0)
    words = ["red", "green", "blue", "sun", "moon"]
    texts = [" ".join(rng.choice(words, 6)) for _ in range(40)]
    y = np.array([int("red" in text) for text in texts])
    assert_alike(*both(SVC(TfIdf()), {"C": [1.0, 10.0]}, texts, y, cv=3))
    assert_alike(*both(SVC(Spectrum(2)), {"C": [0.1, 1.0], "kernel__length": [1, 2]}, texts, y, cv=3))
    K = Spectrum(2)(texts)
    assert_alike(*both(SVC(Precomputed()), {"C": [0.1, 1.0]}, K, y, cv=3))


def test_wide_data_share_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 80))
    y = (X[:, 0] > 0).astype(int)
    grid = {"kernel": [Gaussian(5.0), Gaussian(10.0), Matern(1.5, 8.0), Linear()], "C": [1.0, 10.0]}
    assert_alike(*both(SVC(), grid, X, y, cv=3))


@pytest.mark.parametrize("kernels", [[Gaussian(1.0), Gaussian(2.0)], [Gaussian(1.0).normalized() + Linear()]])
def test_each_matrix_is_computed_once(monkeypatch, kernels):
    X, y = classes(40)
    built = []
    build = Dense.build

    def counted(self, kernel, *arguments):
        built.append(kernel)
        return build(self, kernel, *arguments)

    monkeypatch.setattr(Dense, "build", counted)
    KernelSearchCV(SVC(), {"kernel": kernels, "C": [0.1, 1.0, 10.0]}, cv=4, refit=False).fit(X, y)
    assert len(built) == len(kernels)
    built.clear()
    pairs = Precomputed()
    KernelSearchCV(SVC(pairs), {"C": [0.1, 1.0, 10.0]}, cv=4, refit=False).fit(Gaussian(1.0)(X), y)
    assert len(built) == 1


# nothing of a fold that is left out is learned ---------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator, X",
    [
        (SVC(Gaussian("median")), None),
        (SVC(None), None),
        (SVC("rbf"), None),
        (make_pipeline(StandardScaler(), SVC(Gaussian(1.0))), None),
        (SVC(TfIdf()), "texts"),
    ],
)
def test_a_poisoned_fold_changes_no_other_score(estimator, X):
    """What is left out is absurd: models of its training part, and scores of other samples, must not notice."""
    clean, y = classes(30)
    if X == "texts":
        rng = np.random.default_rng(1)
        clean = np.array([" ".join(rng.choice(["red", "green", "blue", "sun"], 5)) for _ in range(30)], dtype=object)
    poisoned = clean.copy()
    poisoned[:10] = "poison " * 50 if X == "texts" else 1e6
    split = [(np.arange(10, 30), np.arange(0, 10))]
    name = "svc__C" if hasattr(estimator, "steps") else "C"
    found = []
    for data in (clean, poisoned):
        options = dict(cv=split, return_train_score=True, refit=False)
        search = KernelSearchCV(estimator, {name: [1.0, 10.0]}, **options).fit(list(data) if X else data, y)
        found.append(search.cv_results_["split0_train_score"])
    assert np.array_equal(*found)


# time, interrupts, files ---------------------------------------------------------------------------------------


def test_strategies_find_a_good_candidate_with_fewer_scores():
    X, y = classes(100)
    whole = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=6).fit(X, y)
    for strategy in ("halving", "racing"):
        search = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=6, strategy=strategy).fit(X, y)
        scores = np.array([search.cv_results_[f"split{j}_test_score"] for j in range(6)])
        assert np.isnan(scores).any() and not search.complete_
        every = [whole.cv_results_[f"split{j}_test_score"] for j in range(6)]
        known = np.isfinite(scores)
        assert np.array_equal(scores[known], np.array(every)[known])
        assert np.isfinite(search.best_score_)
    with pytest.raises(ParameterError, match="strategy"):
        KernelSearchCV(SVC(), GRID, strategy="luck").fit(X, y)


def test_time_that_is_over_at_once():
    X, y = classes()
    with pytest.raises(TimeBudgetError, match="max_time"):
        KernelSearchCV(SVC(Gaussian(1.0)), GRID, max_time=1e-9).fit(X, y)


def test_an_interrupt_keeps_the_best_so_far():
    X, y = classes()
    seen = []

    def stop(share):
        seen.append(share)
        if share >= 0.5:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        search = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=3, progress=stop, n_threads=1).fit(X, y)
    assert not search.complete_ and hasattr(search.best_estimator_, "support_")
    whole = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=3).fit(X, y)
    known = [whole.cv_results_["params"].index(p) for p in search.cv_results_["params"]]
    means = whole.cv_results_["mean_test_score"][known]
    found = search.cv_results_["mean_test_score"]
    assert np.array_equal(found[np.isfinite(found)], means[np.isfinite(found)])


def test_a_checkpoint_is_taken_up(tmp_path):
    X, y = classes()
    file = tmp_path / "scores.json"
    whole = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=3, checkpoint=file).fit(X, y)
    kept = json.loads(file.read_text())
    kept["results"] = kept["results"][:15]
    file.write_text(json.dumps(kept))
    told = []
    again = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=3, checkpoint=file, progress=told.append).fit(X, y)
    assert told and told[0] > 15 / 36
    for j in range(3):
        name = f"split{j}_test_score"
        assert np.array_equal(again.cv_results_[name], whole.cv_results_[name])
    other = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=3, checkpoint=file).fit(X + 1.0, y)  # other data: begins anew
    assert other.complete_


def test_a_random_splitter_is_asked_once():
    X, y = classes()
    cv = ShuffleSplit(4, random_state=np.random.RandomState(0))
    search = KernelSearchCV(SVC(Gaussian(1.0)), {"C": [1.0, 1.0]}, cv=cv).fit(X, y)
    assert search.cv_results_["split0_test_score"][0] == search.cv_results_["split0_test_score"][1]

"""The search with shared matrices against scikit-learn's, which fits every candidate to every fold."""

import contextlib
import functools
import json
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import LSSVR, SVC, SVR, KernelLogisticRegression, KernelMeanClassifier, KernelRidge, NuSVC
from mercer.choosing import Effort, KernelSearchCV
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


def fewest_costs(results):
    """The cheapest candidate within a standard deviation of the best: a choice of one's own."""
    means, spread = results["mean_test_score"], results["std_test_score"]
    fine = np.flatnonzero(means >= means.max() - spread[means.argmax()])
    return int(fine[0])


def random_problem(seed):
    """An estimator, a grid, data, options and arguments of fit; each fifth problem is of another kind.

    Machines are solved to a small tolerance, so that the sign of every decision is certain on both sides.
    """
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 32)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    y = (X[:, 0] ** 2 + rng.normal(size=n) > 0.7).astype(int)
    y[:6] = [0, 1, 0, 1, 0, 1]
    y[-3:] = [0, 1, 1]
    values = {"C": np.exp(rng.normal(size=2) * 2.0), "kernel__length_scale": np.exp(rng.normal(size=2))}
    options = {"cv": StratifiedKFold(2, shuffle=True, random_state=seed)}
    kind, fit = seed % 5, {}
    if kind == 0:
        return SVC(Gaussian(1.0), tol=1e-8), values, X, y, options, fit
    if kind == 1:  # several scores, a pipeline
        options |= {"scoring": ["accuracy", "f1", "roc_auc"], "refit": "f1", "return_train_score": True}
        grid = {f"svc__{name}": some for name, some in values.items()}
        return make_pipeline(StandardScaler(), SVC(Gaussian(1.0), tol=1e-8)), grid, X, y, options, fit
    if kind == 2:  # groups, weights
        options = {"cv": GroupKFold(2), "scoring": "neg_mean_squared_error"}
        fit = {"groups": np.arange(n) % 5, "sample_weight": rng.uniform(0.5, 2.0, n)}
        grid = {"alpha": values["C"], "kernel__length_scale": values["kernel__length_scale"]}
        return KernelRidge(Gaussian(1.0)), grid, X, X[:, 0] + 0.1 * rng.normal(size=n), options, fit
    if kind == 3:  # fits that fail
        options |= {"error_score": float(rng.choice([-1.0, 0.0])), "refit": fewest_costs}
        return SVC(Gaussian(1.0), tol=1e-8), {"C": [*values["C"], -1.0]}, X, y, options, fit
    grid = [{"kernel": [Linear(), Polynomial(2)], "C": [1.0]}, values]  # several grids, no refit
    return SVC(Gaussian(1.0), tol=1e-8), grid, X, y, options | {"refit": False, "scoring": "balanced_accuracy"}, fit


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:Scoring failed")
@pytest.mark.parametrize("kind", range(5))
def test_fifty_random_problems_have_the_same_choice_and_attributes(kind):
    for seed in range(kind, 50, 5):
        estimator, grid, X, y, options, fit = random_problem(seed)
        ours, theirs = both(estimator, grid, X, y, fit, **options)
        assert ours.cv_results_.keys() == theirs.cv_results_.keys(), seed
        for name, values in theirs.cv_results_.items():
            if name.startswith("rank"):
                assert np.array_equal(ours.cv_results_[name], values), (seed, name)
            elif "score" in name and "time" not in name:
                np.testing.assert_allclose(
                    ours.cv_results_[name], values, rtol=1e-9, atol=1e-9, err_msg=f"{seed} {name}"
                )
        for name in ("best_index_", "best_params_", "n_splits_", "multimetric_"):
            assert getattr(ours, name, None) == getattr(theirs, name, None), (seed, name)
        for name in (one for one in vars(theirs) if one.endswith("_")):
            assert name in vars(ours), (seed, name)
        assert ours.best_score_ == pytest.approx(theirs.best_score_) if hasattr(theirs, "best_score_") else True
        if hasattr(theirs, "best_estimator_"):
            assert ours.n_features_in_ == theirs.n_features_in_ and ours.refit_time_ >= 0.0
            assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-9)
            assert ours.score(X, y) == pytest.approx(theirs.score(X, y))
        if hasattr(theirs, "classes_"):
            assert np.array_equal(ours.classes_, theirs.classes_)


def test_metadata_are_routed():
    X, y = classes()
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = SVC(Gaussian(1.0)).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        options = {"cv": GroupKFold(3)}
        fit = {"sample_weight": w, "groups": np.arange(len(y)) % 4}
        ours, theirs = both(model, GRID, X, y, fit, **options)
        assert_alike(ours, theirs)
        refused = SVC(Gaussian(1.0)).set_fit_request(sample_weight=False).set_score_request(sample_weight=False)
        for search in (KernelSearchCV, GridSearchCV):
            with pytest.raises((TypeError, ValueError)):
                search(refused, GRID).fit(X, y, sample_weight=w)


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
    assert_alike(*both(SVR(), {"tol": [1e-6], "C": [None, 10.0]}, X, y, cv=3), atol=1e-6)  # a tube in the unit of y


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


def test_a_dict_of_columns():
    X, y = numbers()
    kernel, grid = Gaussian(1.0).on([0, 1]) + Gaussian(0.5).on(2), {"alpha": [0.1, 1.0]}
    named = Gaussian(1.0).on(["a", "b"]) + Gaussian(0.5).on("c")
    own = KernelSearchCV(KernelRidge(named), grid, cv=3).fit(dict(zip("abc", X.T, strict=True)), y)
    wanted = KernelSearchCV(KernelRidge(kernel), grid, cv=3).fit(X, y)
    np.testing.assert_allclose(own.cv_results_["mean_test_score"], wanted.cv_results_["mean_test_score"], rtol=1e-9)
    np.testing.assert_allclose(own.predict({"a": [0.1], "b": [0.2], "c": [0.3]}), wanted.predict([[0.1, 0.2, 0.3]]))


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


# time, interrupts, files ---------------------------------------------------------------------------------------


def test_strategies_find_a_good_candidate_with_fewer_scores():
    X, y = classes(100)
    whole = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=6).fit(X, y)
    for strategy in ("halving", "racing"):
        search = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=6, effort=Effort(strategy)).fit(X, y)
        scores = np.array([search.cv_results_[f"split{j}_test_score"] for j in range(6)])
        assert np.isnan(scores).any() and not search.complete_
        every = [whole.cv_results_[f"split{j}_test_score"] for j in range(6)]
        known = np.isfinite(scores)
        assert np.array_equal(scores[known], np.array(every)[known])
        assert np.isfinite(search.best_score_)
    with pytest.raises(ParameterError, match="strategy"):
        KernelSearchCV(SVC(), GRID, effort=Effort("luck")).fit(X, y)


def test_time_that_is_over_at_once():
    X, y = classes()
    with pytest.raises(TimeBudgetError, match="max_time"):
        KernelSearchCV(SVC(Gaussian(1.0)), GRID, effort=Effort(max_time=1e-9)).fit(X, y)


def test_an_interrupt_keeps_the_best_so_far():
    X, y = classes()
    seen = []

    def stop(share):
        seen.append(share)
        if share >= 0.5:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        search = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=3, progress=stop, effort=Effort(n_threads=1)).fit(X, y)
    assert not search.complete_ and hasattr(search.best_estimator_, "support_")
    whole = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=3).fit(X, y)
    known = [whole.cv_results_["params"].index(p) for p in search.cv_results_["params"]]
    means = whole.cv_results_["mean_test_score"][known]
    found = search.cv_results_["mean_test_score"]
    assert np.array_equal(found[np.isfinite(found)], means[np.isfinite(found)])


def test_a_checkpoint_is_taken_up(tmp_path):
    X, y = classes()
    file = tmp_path / "scores.json"
    whole = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=3, effort=Effort(checkpoint=file)).fit(X, y)
    kept = json.loads(file.read_text())
    kept["seen"] = kept["seen"][:15]
    file.write_text(json.dumps(kept))
    told, effort = [], Effort(checkpoint=file)
    again = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=3, effort=effort, progress=told.append).fit(X, y)
    assert told and told[0] > 15 / 36
    for j in range(3):
        name = f"split{j}_test_score"
        assert np.array_equal(again.cv_results_[name], whole.cv_results_[name])
    other = KernelSearchCV(SVC(Gaussian(1.0)), GRID, cv=3, effort=effort).fit(X + 1.0, y)  # other data: begins anew
    assert other.complete_


@pytest.mark.parametrize("strategy", ["all", "halving", "racing"])
@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_an_interrupted_search_goes_on_to_the_same_bits(tmp_path, strategy, scoring):
    X, y = classes()
    ask = functools.partial(KernelSearchCV, SVC(Gaussian(1.0)), GRID, cv=5, scoring=scoring, refit=False)
    whole = ask(effort=Effort(strategy, n_threads=1)).fit(X, y)
    effort = Effort(strategy, n_threads=1, checkpoint=tmp_path / "scores.json")

    def stop(share):
        if share > 0.4:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ask(effort=effort, progress=stop).fit(X, y)
    began = len(json.loads((tmp_path / "scores.json").read_text())["seen"])
    assert 0 < began < 5 * len(whole.cv_results_["params"])
    again = ask(effort=effort).fit(X, y)
    for j in range(5):
        name = f"split{j}_test_score"
        assert np.array_equal(again.cv_results_[name], whole.cv_results_[name], equal_nan=True)


def test_a_random_splitter_is_asked_once():
    X, y = classes()
    cv = ShuffleSplit(4, random_state=np.random.RandomState(0))
    search = KernelSearchCV(SVC(Gaussian(1.0)), {"C": [1.0, 1.0]}, cv=cv).fit(X, y)
    assert search.cv_results_["split0_test_score"][0] == search.cv_results_["split0_test_score"][1]

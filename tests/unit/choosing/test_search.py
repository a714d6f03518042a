"""Every criterion against brute force, and the search over grids and intervals."""

import functools

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import LSSVC, LSSVR, SVC, GaussianProcessRegressor, KernelMeanClassifier, KernelRidge, KernelRidgeCV
from mercer.choosing import (
    GACV,
    Alignment,
    CrossValidation,
    Effort,
    Evidence,
    GeneralizedCV,
    LeaveOneOut,
    RadiusMarginBound,
    SpanRule,
    UnbiasedRisk,
    left_out_predictions,
)
from mercer.domains import Pairs, Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError, TargetError, TimeBudgetError
from mercer.gram import Kronecker, Nystrom
from mercer.kernels import Gaussian
from mercer.selection import radius_margin, target_alignment

WIDTHS = [0.5, 1.5]


def classes(n=36, count=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + X[:, 1] ** 2 + 0.4 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, count) / count))


def numbers(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n)


def brute(model, X, y):
    """Predictions of each sample by the model fitted to the others."""
    out = []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        out.append(model.fit(X[rest], y[rest]).predict(X[i : i + 1])[0])
    return np.array(out)


@pytest.mark.parametrize("count", [2, 3])
def test_leave_one_out_of_support_vector_classifiers(count):
    X, y = classes(24, count)
    grid = {"C": [5.0, 20.0], "kernel__length_scale": [1.5]}  # with free support vectors, so that the bias is one
    found = mercer.search(SVC(Gaussian(1.0)), X, y, grid, criterion=LeaveOneOut(), refit=False)
    for params, value in zip(found.params, found.values, strict=True):
        model = SVC(Gaussian(1.0), tol=1e-8).set_params(**params)
        assert value == np.mean(brute(model, X, y) != y)


@pytest.mark.parametrize(
    "model, name",
    [
        (KernelRidge(Gaussian(1.0)), "alpha"),
        (KernelRidge(Gaussian(1.0), fit_intercept=True), "alpha"),
        (LSSVR(Gaussian(1.0)), "C"),
        (GaussianProcessRegressor(Gaussian(1.0), fixed="all", normalize_y=False), "noise"),
    ],
)
def test_leave_one_out_of_squares(model, name):
    X, y = numbers(12)
    grid = {name: [0.1, 2.0], "kernel__length_scale": WIDTHS}
    found = mercer.search(model, X, y, grid, criterion=LeaveOneOut(), refit=False)
    for params, value in zip(found.params, found.values, strict=True):
        other = mercer.search(model, X, y, {k: [v] for k, v in params.items()}, criterion=LeaveOneOut()).best_estimator
        np.testing.assert_allclose(value, np.mean((brute(other, X, y) - y) ** 2), rtol=1e-6)


def test_leave_one_out_of_means_and_of_others():
    for model in (KernelMeanClassifier(Gaussian(1.0)), LSSVC(Gaussian(1.0), C=1.0)):
        X, y = classes(16, 3)
        found = mercer.search(model, X, y, {"kernel__length_scale": [1.0]}, criterion=LeaveOneOut())
        assert found.best_value == np.mean(brute(model, X, y) != y)


@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_of_a_gram_of_low_rank(intercept):
    X, y = numbers()
    model = KernelRidge(Gaussian(0.7), gram=Nystrom(8), fit_intercept=intercept)
    grid = {"alpha": [0.01, 0.5]}
    for criterion, cv in ((LeaveOneOut(), None), (GeneralizedCV(), "gcv")):
        found = mercer.search(model, X, y, grid, criterion=criterion, refit=False)
        for params, value in zip(found.params, found.values, strict=True):
            other = KernelRidgeCV(
                Gaussian(0.7), [params["alpha"]], gram=Nystrom(8), cv=cv, fit_intercept=intercept
            ).fit(X, y)  # fmt: skip
            assert value == pytest.approx(-other.best_score_, rel=1e-9)


def test_leave_one_out_of_all_pairs():
    S = Vectors.pack(np.random.default_rng(0).normal(size=(4, 1)))
    pairs, kernel = Pairs.grid(S), Gaussian(1.0).tensor(Gaussian(1.0))
    y = np.random.default_rng(1).normal(size=16)
    grid = {"alpha": [0.1, 1.0]}
    found = mercer.search(KernelRidge(kernel, gram=Kronecker()), pairs, y, grid, criterion=LeaveOneOut(), refit=False)
    dense = mercer.search(KernelRidge(kernel), pairs, y, grid, criterion=LeaveOneOut(), refit=False)
    np.testing.assert_allclose(found.values, dense.values, rtol=1e-9)
    with pytest.raises(CapabilityError, match="LeaveOneOut"):
        mercer.search(KernelRidge(kernel, gram=Kronecker()), pairs, y, grid, criterion=GeneralizedCV())


@pytest.mark.parametrize("intercept", [False, True])
def test_an_estimator_that_chooses_by_itself_chooses_the_same(intercept):
    X, y = numbers(40)
    alphas = np.logspace(-4, 1, 12)
    own = KernelRidgeCV(Gaussian(0.7), alphas, fit_intercept=intercept).fit(X, y)
    model = KernelRidge(Gaussian(0.7), fit_intercept=intercept)
    found = mercer.search(model, X, y, {"alpha": alphas}, criterion=LeaveOneOut())
    assert found.best_params["alpha"] == own.alpha_ and found.best_value == pytest.approx(-own.best_score_, rel=1e-9)
    bounds = {"alpha": (1e-4, 10.0), "kernel__length_scale": (0.05, 10.0)}
    moved = mercer.search(model, X, y, bounds, criterion=LeaveOneOut())
    free = KernelRidgeCV(
        Gaussian(0.7), fit_intercept=intercept, bounds={"alpha": (1e-4, 10.0), "length_scale": (0.05, 10.0)}
    ).fit(X, y)  # fmt: skip
    assert moved.best_value == pytest.approx(-free.best_score_, rel=1e-4)  # both end at slopes below 1e-5


def test_several_grids_are_one_search():
    X, y = numbers()
    grids = [{"alpha": [0.1], "kernel": [Gaussian(0.5)]}, {"alpha": [0.2, 0.3], "kernel": [Gaussian(1.0)]}]
    for criterion in (LeaveOneOut(), CrossValidation(3)):
        found = mercer.search(KernelRidge(Gaussian(1.0)), X, y, grids, criterion=criterion, refit=False)
        assert [p["alpha"] for p in found.params] == [0.1, 0.2, 0.3] and np.isfinite(found.values).all()
    with pytest.raises(ParameterError, match="space="):
        mercer.search(KernelRidge(Gaussian(1.0)), X, y, [1.0])


@pytest.mark.parametrize(
    "model", [KernelRidge(Gaussian(1.0), alpha=0.1), SVC(Gaussian(1.0), C=5.0), KernelMeanClassifier(Gaussian(1.0))]
)
def test_predictions_of_samples_left_out(model):
    X, y = numbers(20) if isinstance(model, KernelRidge) else classes(24)
    said = left_out_predictions(model, X, y)
    if isinstance(model, KernelRidge):
        np.testing.assert_allclose(said, brute(model, X, y), rtol=1e-8)
    else:
        assert np.mean(said == brute(model, X, y)) >= 23 / 24  # a value of zero goes either way


def test_generalised_cross_validation_and_unbiased_risk():
    X, y = numbers()
    K = Gaussian(0.7)(X)
    alphas = [0.01, 0.5]
    grid = {"alpha": alphas, "kernel__length_scale": [0.7]}
    gcv = mercer.search(KernelRidge(Gaussian(1.0)), X, y, grid, criterion=GeneralizedCV(), refit=False).values
    risk = mercer.search(KernelRidge(Gaussian(1.0)), X, y, grid, criterion=UnbiasedRisk(0.01), refit=False).values
    for place, alpha in enumerate(alphas):
        H = K @ np.linalg.inv(K + alpha * np.eye(len(y)))
        rss, dof = np.sum((y - H @ y) ** 2), np.trace(H)
        np.testing.assert_allclose(gcv[place], len(y) * rss / (len(y) - dof) ** 2, rtol=1e-8)
        np.testing.assert_allclose(risk[place], rss / len(y) + 0.02 * dof / len(y) - 0.01, rtol=1e-8)


def test_unbiased_risk_estimates_the_noise():
    X, y = numbers(200)
    grid = {"alpha": np.logspace(-4, 2, 7), "kernel__length_scale": [0.7]}
    found = mercer.search(KernelRidge(Gaussian(1.0)), X, y, grid, criterion=UnbiasedRisk())
    assert 1e-3 <= found.best_params["alpha"] <= 1.0


def test_evidence():
    X, y = numbers(20)
    grid = {"noise": [0.05, 0.5], "kernel__length_scale": [0.7]}
    model = GaussianProcessRegressor(Gaussian(1.0), fixed="all", normalize_y=False)
    found = mercer.search(model, X, y, grid, criterion=Evidence(), refit=False)
    for params, value in zip(found.params, found.values, strict=True):
        G = Gaussian(0.7)(X) + params["noise"] * np.eye(20)
        expected = -0.5 * y @ np.linalg.solve(G, y) - 0.5 * np.linalg.slogdet(2.0 * np.pi * G)[1]
        np.testing.assert_allclose(value, expected, rtol=1e-8)


def test_criteria_of_the_matrix_and_of_machines():
    X, y = classes()
    sign = np.where(y == 1, 1.0, -1.0)
    grid = {"C": [0.5, 5.0], "kernel__length_scale": WIDTHS}
    model = SVC(Gaussian(1.0))
    for centred in (False, True):
        found = mercer.search(model, X, y, grid, criterion=Alignment(centred=centred), refit=False)
        for params, value in zip(found.params, found.values, strict=True):
            K = Gaussian(params["kernel__length_scale"])(X)
            np.testing.assert_allclose(value, target_alignment(K, sign, centred=centred))
    found = mercer.search(model, X, y, grid, criterion=RadiusMarginBound(), refit=False)
    for params, value in zip(found.params, found.values, strict=True):
        K = Gaussian(params["kernel__length_scale"])(X)
        np.testing.assert_allclose(value, radius_margin(K, sign, params["C"], loss="hinge").value / 36, rtol=1e-6)
    exact = mercer.search(model, X, y, grid, criterion=LeaveOneOut(), refit=False).values
    span = mercer.search(model, X, y, grid, criterion=SpanRule(), refit=False).values
    gacv = mercer.search(model, X, y, grid, criterion=GACV(), refit=False).values
    assert np.abs(span - exact).max() <= 0.15  # an approximation; of 36 samples some five may change others' roles
    assert (gacv > 0).all() and np.isfinite(gacv).all()
    three = mercer.search(model, *classes(40, 3), grid, criterion=GACV(), refit=False).values
    assert np.isfinite(three).all()


def test_cross_validation_is_the_grid_search():
    X, y = classes()
    grid = {"C": [0.5, 5.0], "kernel__length_scale": WIDTHS}
    theirs = GridSearchCV(SVC(Gaussian(1.0)), grid, cv=3).fit(X, y)
    ours = mercer.search(SVC(Gaussian(1.0)), X, y, grid, criterion=CrossValidation(3))
    np.testing.assert_allclose(ours.values, theirs.cv_results_["mean_test_score"])
    assert ours.best_params == theirs.best_params_ and ours.best_estimator.score(X, y) > 0.5
    X, y = numbers()
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    theirs = GridSearchCV(KernelRidge(Gaussian(1.0)), {"alpha": [0.1, 1.0]}, cv=cv).fit(X, y)
    ours = mercer.search(KernelRidge(Gaussian(1.0)), X, y, {"alpha": [0.1, 1.0]}, criterion=CrossValidation(3, 2))
    np.testing.assert_allclose(ours.values, theirs.cv_results_["mean_test_score"])


@pytest.mark.parametrize(
    "model, criterion, bounds",
    [
        (KernelRidge(Gaussian(1.0)), LeaveOneOut(), {"alpha": (1e-4, 10.0), "kernel__length_scale": (0.05, 5.0)}),
        (KernelRidge(Gaussian(1.0)), GeneralizedCV(), {"alpha": (1e-4, 10.0), "kernel__length_scale": (0.05, 5.0)}),
        (KernelRidge(Gaussian(1.0)), Evidence(), {"alpha": (1e-4, 10.0), "kernel__length_scale": (0.05, 5.0)}),
    ],
)
def test_derivatives_find_what_a_fine_grid_finds(model, criterion, bounds):
    X, y = numbers()
    grid = {name: np.geomspace(*ends, 15) for name, ends in bounds.items()}
    coarse = mercer.search(model, X, y, grid, criterion=criterion, refit=False)
    fine = mercer.search(model, X, y, bounds, criterion=criterion)
    sign = 1.0 if criterion.greater else -1.0
    assert sign * fine.best_value >= sign * coarse.best_value - 1e-6 * abs(coarse.best_value)
    assert len(fine.params) == 1  # by its slope, not by trying


@pytest.mark.parametrize("criterion", [Alignment(), RadiusMarginBound("squared_hinge")])
def test_derivatives_for_classifiers(criterion):
    X, y = classes()
    bounds = {"kernel__length_scale": (0.1, 10.0)}
    coarse = mercer.search(
        SVC(Gaussian(1.0)),
        X,
        y,
        {"kernel__length_scale": np.geomspace(0.1, 10.0, 12)},
        criterion=criterion,
        refit=False,
    )
    fine = mercer.search(SVC(Gaussian(1.0)), X, y, bounds, criterion=criterion)
    sign = 1.0 if criterion.greater else -1.0
    assert sign * fine.best_value >= sign * coarse.best_value - 1e-4 * abs(coarse.best_value)


def test_expected_improvement_between_bounds():
    X, y = classes(60)
    bounds = {"C": (0.01, 1000.0), "kernel__length_scale": (0.01, 100.0)}
    told = []
    found = mercer.search(
        SVC(Gaussian(1.0)), X, y, bounds, criterion=CrossValidation(3), effort=Effort(calls=12), progress=told.append
    )
    assert len(found.params) == 12 and told[-1] == 1.0
    grid = {"C": [0.1, 10.0], "kernel__length_scale": [0.1, 1.0, 10.0]}
    assert found.best_value >= mercer.search(SVC(Gaussian(1.0)), X, y, grid, criterion=CrossValidation(3)).values.mean()
    again = mercer.search(
        SVC(Gaussian(1.0)), X, y, bounds, criterion=CrossValidation(3), effort=Effort(calls=12), refit=False
    )
    assert again.params == found.params


def test_interrupts_and_time():
    X, y = classes()

    def stop(share):
        if share > 0.4:
            raise KeyboardInterrupt

    grid = {"C": [1.0], "kernel__length_scale": [0.5, 1.0, 2.0]}
    with pytest.warns(UserWarning, match="interrupted"):
        found = mercer.search(SVC(Gaussian(1.0)), X, y, grid, criterion=GACV(), progress=stop)
    assert not found.complete and np.isfinite(found.values).sum() == 2
    with pytest.raises(TimeBudgetError):
        mercer.search(SVC(Gaussian(1.0)), X, y, grid, criterion=GACV(), effort=Effort(max_time=1e-9))


def test_what_does_not_fit_is_refused():
    X, y = classes()
    with pytest.raises(CapabilityError, match="KernelRidge"):
        mercer.search(SVC(Gaussian(1.0)), X, y, {"C": [1.0]}, criterion=GeneralizedCV())
    with pytest.raises(CapabilityError, match="Pipeline"):
        mercer.search(make_pipeline(StandardScaler(), SVC()), X, y, {"svc__C": [1.0]}, criterion=GACV())
    with pytest.raises(ParameterError, match="bounds"):
        mercer.search(SVC(Gaussian(1.0)), X, y, {"C": (1.0, 2.0), "kernel__length_scale": [1.0]})


def test_targets_and_models_that_do_not_fit_are_refused():
    X, y = numbers(12)
    with pytest.raises(TargetError, match="same length"):
        mercer.search(KernelRidge(Gaussian(1.0)), X, y[:5], {"alpha": [1.0]}, criterion=LeaveOneOut())
    with pytest.raises(TargetError, match="same length"):
        left_out_predictions(LSSVR(Gaussian(1.0), C=1.0), X, y[:5])
    with pytest.raises(CapabilityError, match="cross_val_predict"):
        left_out_predictions(StandardScaler(), X, y)


def test_bad_data_are_told_as_a_fit_tells_them():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    grid = {"alpha": [0.1, 1.0]}
    for criterion, space in ((None, grid), (GeneralizedCV(), grid), (GeneralizedCV(), {"alpha": (0.1, 1.0)})):
        for bad in (np.where(X > 1.0, np.nan, X), np.full(X.shape, "a"), None):
            with pytest.raises(DomainError):
                mercer.search(KernelRidge("rbf"), bad, y, space, criterion=criterion)
        for wrong in (None, y[:-1], np.full(20, np.nan)):
            with pytest.raises(TargetError):
                mercer.search(KernelRidge("rbf"), X, wrong, space, criterion=criterion)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"space": {}}, {"space": {"alpha": 3.0}}, {"refit": 1j}, {"progress": 3}),
        *({"criterion": "cv"}, {"estimator": KernelRidge}, {"effort": "much"}),
    ],
)
def test_arguments_are_checked_first(wrong):
    given = {"estimator": KernelRidge("rbf"), "X": None, "y": None, "space": {"alpha": [1.0]}, **wrong}
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        mercer.search(**given)


@pytest.mark.parametrize(
    ("criterion", "space"),
    [
        (GACV(), {"C": [0.1, 1.0, 10.0], "kernel__length_scale": [0.5, 1.0, 2.0]}),
        (CrossValidation(3), {"C": (0.1, 10.0), "kernel__length_scale": (0.3, 3.0)}),
        (SpanRule(), {"C": (0.1, 10.0), "kernel__length_scale": (0.3, 3.0)}),
    ],
    ids=["grid", "folds", "span"],
)
def test_a_search_goes_on_from_its_file_to_the_same_bits(tmp_path, criterion, space):
    X, y = classes()
    ask = functools.partial(mercer.search, SVC(Gaussian(1.0)), X, y, space, criterion=criterion, refit=False)
    whole = ask(effort=Effort(calls=12))
    effort = Effort(calls=12, checkpoint=tmp_path / "values.json")

    def stop(share):
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        part = ask(effort=effort, progress=stop)
    assert not part.complete and len(part.params) <= len(whole.params)
    told = []
    again = ask(effort=effort, progress=told.append)
    assert np.array_equal(again.values, whole.values) and again.params == whole.params and again.complete
    other = mercer.search(SVC(Gaussian(1.0)), X + 1.0, y, space, criterion=criterion, effort=effort, refit=False)
    assert other.complete  # other data begin anew


def test_four_parameters_are_searched_by_a_model_of_what_was_seen():
    """A length for each of three columns and a cost; only the first column matters."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = np.sin(3.0 * X[:, 0]) > 0
    kernel = Gaussian(1.0).on(0) * Gaussian(1.0).on(1) * Gaussian(1.0).on(2)
    names = [name for name in SVC(kernel).get_params() if name.endswith("length_scale")]
    bounds = {"C": (0.1, 100.0), **dict.fromkeys(names, (0.1, 30.0))}
    assert len(bounds) == 4
    found = mercer.search(SVC(kernel), X, y, bounds, criterion=LeaveOneOut(), effort=Effort(calls=40), refit=False)
    first = found.values[:18]  # 4 d + 2 points that fill the cube
    assert found.best_value < first.min() and np.argmin(found.values) >= 18
    assert found.best_params[names[0]] < min(found.best_params[name] for name in names[1:])


def test_strategies_are_for_folds():
    X, y = classes()
    with pytest.raises(CapabilityError, match="CrossValidation alone"):
        mercer.search(SVC(Gaussian(1.0)), X, y, {"C": [1.0]}, criterion=GACV(), effort=Effort("racing"))
    raced = mercer.search(SVC(Gaussian(1.0)), X, y, {"C": [1e-3, 1.0, 10.0]}, effort=Effort("racing"), refit=False)
    assert np.isfinite(raced.best_value)

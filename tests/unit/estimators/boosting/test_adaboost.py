import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.ensemble import AdaBoostClassifier as Reference
from sklearn.tree import DecisionTreeClassifier

from mercer import AdaBoostClassifier, KernelBalls, KernelStumps, load, save
from mercer.estimators.boosting.adaboost import _best_step
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
N = 80
X = rng.normal(size=(N, 3))
Y = (X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * rng.normal(size=N) > 0.0).astype(int)


def test_stumps_as_in_scikit_learn():
    """Trees of depth one chosen by Gini's index are not always those of least error: the first rounds agree."""
    ours = AdaBoostClassifier(n_estimators=1).fit(X, Y)
    theirs = Reference(DecisionTreeClassifier(max_depth=1), n_estimators=1).fit(X, Y)
    assert ours.score(X, Y) >= theirs.score(X, Y)
    error = 1.0 - ours.score(X, Y)
    assert ours.ensembles_[0].weights[0] == pytest.approx(0.5 * np.log((1.0 - error) / error))


def test_the_training_error_is_below_its_bound():
    model = AdaBoostClassifier(n_estimators=30).fit(X, Y)
    bounds = np.cumprod(np.sqrt(1.0 - model.edges_[0] ** 2))
    errors = [np.mean(guess != Y) for guess in model.staged_predict(X)]
    assert len(errors) == len(bounds) == model.n_iter_ and np.all(errors <= bounds + 1e-12)
    loss = np.exp(-(2 * Y - 1) * model.decision_function(X)).sum()
    assert model.solution_.trace.objective[-1] == pytest.approx(loss, rel=1e-9)
    assert loss == pytest.approx(N * bounds[-1], rel=1e-9)


def test_the_step_of_functions_that_are_not_signs():
    g, u = rng.uniform(-1.0, 1.0, size=40), rng.uniform(size=40)
    u /= u.sum()
    g = g + 0.4
    g /= np.abs(g).max()
    best = minimize_scalar(lambda a: u @ np.exp(-a * g), bounds=(0.0, 20.0), options={"xatol": 1e-10}, method="bounded")
    assert _best_step(u, g, float(u @ g)) == pytest.approx(best.x, abs=1e-5)


@pytest.mark.parametrize("learner", [KernelStumps(Gaussian(1.0)), KernelBalls((Gaussian(1.0), Linear()))], ids=repr)
def test_other_weak_learners(learner, tmp_path):
    model = AdaBoostClassifier(learner, n_estimators=20).fit(X, Y)
    losses = model.solution_.trace.objective
    assert np.all(np.diff(losses) <= 1e-9) and model.score(X, Y) > 0.85
    save(model, tmp_path / "m.mercer")
    assert np.array_equal(load(tmp_path / "m.mercer").predict(X), model.predict(X))


def test_weight_is_repetition():
    w = rng.integers(0, 4, size=N)
    repeated = np.repeat(np.arange(N), w)
    a = AdaBoostClassifier().fit(X, Y, sample_weight=w)
    b = AdaBoostClassifier().fit(X[repeated], Y[repeated])
    assert np.allclose(a.decision_function(X), b.decision_function(X), atol=1e-8)


def test_a_learner_without_errors_ends_it():
    model = AdaBoostClassifier().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert model.n_iter_ == 1 and np.array_equal(model.predict([[0.0], [2.0]]), [0, 1])


def test_labels_that_no_learner_can_tell():
    model = AdaBoostClassifier().fit([[0.0], [0.0]], [0, 1])
    assert model.n_iter_ == 1 and model.predict([[0.0]]) in (0, 1)

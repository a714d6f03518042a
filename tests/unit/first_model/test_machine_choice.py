"""The choice of a machine and its parameters, by the engine."""

import numpy as np
import pytest

import mercer
from mercer import SVC, KernelMeanClassifier, KernelRidge
from mercer.first_model import machine_choice as choice
from mercer.kernels import Gaussian, Linear, NegativeDistance, Precomputed
from mercer.selection.automatic import RIDGES

rng = np.random.default_rng(0)
SOME = rng.normal(size=(40, 2))
TWO = np.where(SOME[:, 0] ** 2 + SOME[:, 1] ** 2 + 0.3 * rng.normal(size=40) > 1.2, "out", "in")
THREE = np.array(["a", "b", "c"])[np.digitize(SOME[:, 0] + 0.3 * rng.normal(size=40), [-0.5, 0.5])]
KERNELS = (Gaussian(0.05), Gaussian(0.7), Gaussian(2.0), Gaussian(50.0))


def nothing(share):
    return None


def left_out(model, y):
    said = []
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        said.append(model.fit(SOME[kept], y[kept]).predict(SOME[i : i + 1])[0])
    return np.array(said)


def test_ridge_is_the_best_by_brute_force():
    X, kernels, told = SOME[:30], (Gaussian(0.1), Gaussian(1.0), Gaussian(30.0)), []
    y = 100.0 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=30)
    chosen = choice.choose(kernels, X, y, 30, "regression", told.append)
    assert told[-1] == 1.0 and len(told) == 3
    again = KernelRidge(chosen.model.kernel, chosen.model.alpha, fit_intercept=True, leave_one_out=True).fit(X, y)
    np.testing.assert_allclose(chosen.predictions, again.loo_predictions_, rtol=1e-6)
    error = np.sum((chosen.predictions - y) ** 2)
    assert chosen.score == pytest.approx(1.0 - error / np.sum((y - y.mean()) ** 2))
    for kernel in kernels:
        for alpha in (1e-3, 0.1, 1.0, 30.0):
            other = KernelRidge(kernel, alpha, fit_intercept=True, leave_one_out=True).fit(X, y)
            assert np.sum((other.loo_predictions_ - y) ** 2) >= 0.98 * error


def test_many_rows_decide_in_two_steps(monkeypatch):
    monkeypatch.setattr(choice, "COARSE", 20)
    told = []
    chosen = choice.choose(
        (Gaussian(0.01), Gaussian(1.0)), SOME, np.sin(SOME[:, 0]), 40, "regression", told.append
    )  # fmt: skip
    assert chosen.model.kernel == Gaussian(1.0) and len(chosen.predictions) == 40
    assert told == sorted(told) and told[-1] == 1.0


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_targets_of_any_size(size):
    chosen = choice.choose((Gaussian(1.0),), SOME, size * np.sin(SOME[:, 0]), 40, "regression", nothing)
    assert chosen.score > 0.9 and np.all(np.isfinite(chosen.predictions))


def test_a_constant_target_takes_the_largest_ridge():
    chosen = choice.choose((Gaussian(1.0),), SOME[:9], np.full(9, 3.0), 9, "regression", nothing)
    np.testing.assert_allclose(chosen.predictions, 3.0)
    assert chosen.model.alpha == RIDGES[-1]


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_machines_are_what_as_many_fits_say(y):
    kernel, C, score = choice._margin(KERNELS, KERNELS[0].pack(SOME), y, nothing)
    assert C in choice.COSTS
    said = mercer.choosing.left_out_predictions(SVC(kernel, C=C), SOME, y)
    assert score == np.mean(said == y)
    assert np.mean(said == left_out(SVC(kernel, C=C), y)) >= 39 / 40  # a value of zero goes either way


def test_of_equals_the_smallest_cost_and_the_smoothest_kernel_is_taken():
    far = np.vstack([SOME[:20] * 0.1 - 5.0, SOME[20:40] * 0.1 + 5.0])
    kernels = (Gaussian(1.0), Gaussian(2.0), Gaussian(4.0))
    S, y = kernels[0].pack(far), np.repeat([0, 1], 20)
    assert choice._margin(kernels, S, y, nothing) == (Gaussian(4.0), 1.0, 1.0)
    assert choice._means(kernels, S, y) == (Gaussian(4.0), 1.0)


def test_only_the_best_kernels_meet_the_other_costs(monkeypatch):
    seen, real, shares = [], choice.search, []

    def counted(model, S, y, grid, **more):
        seen.append((len(grid["kernel"]), grid["C"]))
        return real(model, S, y, grid, **more)

    monkeypatch.setattr(choice, "search", counted)
    choice._margin(KERNELS, KERNELS[0].pack(SOME), TWO, shares.append)
    assert seen == [(4, [10.0]), (3, [1.0, 3.0, 30.0, 100.0])]
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) == 7


def test_a_monitor_may_stop_it():
    def stop(share):
        raise TimeoutError

    with pytest.raises(TimeoutError):
        choice.choose(KERNELS, SOME, TWO, 40, "classification", stop)


def test_other_kernels_and_precomputed_ones():
    y = SOME[:, 0] > 0
    S = Linear().pack(SOME)
    assert choice._margin((Linear(),), S, y, nothing)[2] > 0.9
    assert choice._margin((NegativeDistance(),), S, y, nothing)[2] > 0.8  # conditionally positive definite
    K = Precomputed().pack(Gaussian(1.0)(SOME))
    assert choice._margin((Precomputed(),), K, y, nothing)[1:] == choice._margin((Gaussian(1.0),), S, y, nothing)[1:]


def test_a_class_of_one():
    y = np.where(np.arange(40) == 3, "lonely", TWO)
    assert choice.choose((Gaussian(1.0),), SOME, y, 40, "classification", nothing).score > 0.6


def test_means_are_the_best_by_brute_force():
    kernels = (Gaussian(0.05), Gaussian(1.0), Gaussian(4.0))
    kernel, score = choice._means(kernels, kernels[0].pack(SOME), THREE)
    hits = [np.mean(left_out(KernelMeanClassifier(k), THREE) == THREE) for k in kernels]
    assert score == pytest.approx(max(hits)) and hits[kernels.index(kernel)] == max(hits)


def test_a_table_is_scored_by_rows_that_took_no_part():
    columns = {"x": rng.normal(size=60), "group": ["a", "b", "c"] * 20, "noise": rng.normal(size=60)}
    y = np.sin(columns["x"]) + (np.arange(60) % 3 == 0)
    kinds, shares = {"x": "number", "group": "category", "noise": "number"}, []
    chosen = choice.choose_for_table(columns, kinds, y, "regression", shares.append)
    assert sorted(chosen.rows) == list(range(60)) and "4 folds" in chosen.method
    error, total = np.sum((y[chosen.rows] - chosen.predictions) ** 2), np.sum((y - y.mean()) ** 2)
    assert chosen.score == pytest.approx(1.0 - error / total) and chosen.score > 0.7
    assert [error for _, error in chosen.tried] == sorted(error for _, error in chosen.tried)
    assert shares == sorted(shares) and shares[-1] == 1.0
    classes = np.where(y > y.mean(), "high", "low")
    named = choice.choose_for_table(columns, kinds, classes, "classification", shares.append)
    assert isinstance(named.model, SVC) and named.score == np.mean(named.predictions == classes[named.rows])


def test_a_target_of_noise_has_no_flattering_score():
    columns, y = {str(j): rng.normal(size=80) for j in range(12)}, rng.normal(size=80)
    chosen = choice.choose_for_table(columns, dict.fromkeys(columns, "number"), y, "regression", nothing)
    assert chosen.score < 0.25  # nothing can be predicted; the scatter of 80 squares is about a sixth of their mean

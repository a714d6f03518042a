"""The choice of a machine and its parameters, by the engine."""

import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import mercer
from mercer import SVC, KernelRidge
from mercer.budget import Clock
from mercer.first_model import given_rows, held_rows
from mercer.first_model import machine_choice as choice
from mercer.first_model import machine_families as machines
from mercer.first_model.given_rows import Given, folds, held_pairs
from mercer.first_model.machine_families import Aim
from mercer.first_model.row_sources import Found, SampleRows, TableRows
from mercer.first_model.verdicts import comparing
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, NegativeDistance, Precomputed

rng = np.random.default_rng(0)
SOME = rng.normal(size=(60, 2))
TWO = np.where(SOME[:, 0] ** 2 + SOME[:, 1] ** 2 + 0.3 * rng.normal(size=60) > 1.2, "out", "in")
KNOWN = Found((Gaussian(1.0),), ("",))
CLASSES = Aim("classification", 60)
CURVE = np.sin(SOME[:, 0]) + 0.1 * rng.normal(size=60)


@pytest.fixture
def once(monkeypatch):
    """The choice is made once, not in four folds."""
    monkeypatch.setattr(given_rows, "FOLDED", 20)


def nothing(share):
    return None


def rows(*kernels, X=SOME):
    return SampleRows.of(kernels, X)


def test_scores_are_those_of_scikit_learn():
    board = choice._compared(rows(Gaussian(1.0)), KNOWN, TWO, CLASSES, Given(scoring="accuracy"), nothing, choice.UNHURRIED)  # fmt: skip  # noqa: E501
    pairs = folds(TWO, "classification", Given(), choice.FOLDS)
    sizes = [len(out) for _, out in pairs]
    assert {one.family.name for one in board} == {"SVC", "KernelLogisticRegression", "LSSVC"}
    for one in board[::4]:
        values = cross_val_score(one.model(Gaussian(1.0), CLASSES), SOME, TWO, cv=pairs)
        assert one.tried.score == pytest.approx(np.average(values, weights=sizes), abs=1.0 / 60)  # a value of zero
    rest = [one.merit for one in board[1:]]
    assert rest == sorted(rest, reverse=True)
    one = next(one for one in board if one.family.name == "LSSVC")
    values = cross_val_score(one.model(Gaussian(1.0), CLASSES), SOME, TWO, cv=pairs, scoring=comparing("accuracy", TWO, "classification", pairs))  # fmt: skip  # noqa: E501
    np.testing.assert_allclose(one.merits, values, rtol=1e-6)


def test_the_usual_machine_unless_another_is_better_by_more_than_its_error():
    def one(family, scores, place=0):
        tried = choice.Tried("", np.mean(scores), 0.0, 0.0, 60)
        return choice._Candidate(family, place, {}, tried, np.mean(scores), np.array(scores))

    usual = one(machines.MARGIN, [0.8, 0.9, 0.7])
    noisy = one(machines.SQUARES, [0.7, 1.0, 0.73])  # by one per cent, and its error is nine
    better = one(machines.LOGISTIC, [0.82, 0.92, 0.73])
    assert choice._preferred([noisy, usual], machines.MARGIN)[0] is usual
    assert choice._preferred([better, noisy, usual], machines.MARGIN)[0] is better
    other = one(machines.MARGIN, [0.85, 0.92, 0.7], place=1)  # by 2.3 per cent, and its error is 1.5
    assert choice._preferred([other, usual], machines.MARGIN)[0] is other  # of kernels that are all alike, the best
    assert choice._preferred([other, usual], machines.MARGIN, 0)[0] is usual
    assert choice._preferred([other, usual], machines.MARGIN, 1)[0] is other
    assert choice._preferred([one(machines.MARGIN, [0.85, 0.95, 0.74], 1), usual], machines.MARGIN, 0)[0] is not usual
    assert choice._preferred([other, usual], machines.LOGISTIC)[0] is other  # the usual machine was not compared


def test_what_is_late_is_left_out():
    given = Given(scoring="accuracy")
    board = choice._compared(rows(Gaussian(1.0)), KNOWN, TWO, CLASSES, given, nothing, choice.Pace(until=-1.0))
    assert {one.family.name for one in board} == {"LSSVC"}  # what was begun is ended


def test_few_rows_are_not_judged():
    chosen = choice.choose(rows(Gaussian(1.0), X=SOME[:3]), CURVE[:3], "regression", Given(scoring="r2"), nothing)
    assert isinstance(chosen.model, KernelRidge) and np.isnan(chosen.leaderboard[0].score)


def test_predictions_are_of_models_that_were_chosen_without_the_rows(monkeypatch):
    seen, real = [], choice._pick

    def spied(source, y, *rest):
        seen.append(len(y))
        return real(source, y, *rest)

    monkeypatch.setattr(choice, "_pick", spied)
    chosen = choice.choose(rows(Gaussian(1.0)), CURVE, "regression", Given(scoring="r2"), nothing)
    assert seen == [45, 45, 45, 45, 60] and sorted(chosen.held.rows) == list(range(60))
    pairs = held_pairs(CURVE, "regression", Given())
    y = CURVE.copy()
    y[pairs[0][1]] = 1e6  # targets of rows held out: predictions of these rows do not see them
    again = choice.choose(rows(Gaussian(1.0)), y, "regression", Given(scoring="r2"), nothing)
    np.testing.assert_array_equal(again.held.predictions[:15], chosen.held.predictions[:15])
    error = np.sum((CURVE[chosen.held.rows] - chosen.held.predictions) ** 2)
    assert chosen.judgement.score == pytest.approx(1.0 - error / np.sum((CURVE - CURVE.mean()) ** 2))
    assert "4 folds" in chosen.method


def test_of_many_rows_the_choice_is_made_once(monkeypatch):
    X = rng.uniform(-3.0, 3.0, size=(400, 1))
    y, shares = np.sin(X[:, 0]), []
    monkeypatch.setattr(choice, "COARSE", 100)
    chosen = choice.choose(rows(Gaussian(1.0), X=X), y, "regression", Given(scoring="r2"), shares.append)
    assert len(chosen.held.rows) == 100 and chosen.method.startswith("100 rows held out")
    kept = np.setdiff1d(np.arange(400), chosen.held.rows)
    alone = chosen.model.fit(X[kept], y[kept]).predict(X[chosen.held.rows])
    np.testing.assert_allclose(chosen.held.predictions, alone, rtol=1e-6, atol=1e-8)
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert {one.size for one in chosen.leaderboard} == {100, 300}  # the best were compared on more rows


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_targets_of_any_size(size, once):
    chosen = choice.choose(rows(Gaussian(1.0)), size * CURVE, "regression", Given(scoring="r2"), nothing)
    assert chosen.judgement.score > 0.7 and np.all(np.isfinite(chosen.held.predictions))


def test_weights_count_as_copies():
    w = rng.integers(0, 3, size=60).astype(float)
    chosen = choice.choose(rows(Gaussian(1.0)), CURVE, "regression", Given(weight=w, scoring="r2"), nothing)
    assert np.all(w[chosen.held.rows] > 0.0) and len(chosen.held.rows) == np.sum(w > 0.0)
    true = CURVE[chosen.held.rows]
    total = np.sum(w[chosen.held.rows] * (true - np.average(true, weights=w[chosen.held.rows])) ** 2)
    error = np.sum(w[chosen.held.rows] * (true - chosen.held.predictions) ** 2)
    assert chosen.judgement.score == pytest.approx(1.0 - error / total)


def test_candidates_are_compared_by_the_score_asked_for():
    given = Given(scoring="neg_log_loss")
    board = choice._compared(rows(Gaussian(1.0)), KNOWN, TWO, CLASSES, given, nothing, choice.UNHURRIED)
    assert board[0].tried.score < 0.0
    one = next(one for one in board if one.family.name == "KernelLogisticRegression")
    pairs = folds(TWO, "classification", Given(), choice.FOLDS)
    values = cross_val_score(one.model(Gaussian(1.0), CLASSES), SOME, TWO, cv=pairs, scoring="neg_log_loss")
    assert one.tried.score == pytest.approx(np.average(values, weights=[len(out) for _, out in pairs]), rel=1e-4)


def test_a_monitor_may_stop_it():
    def stop(share):
        raise TimeoutError

    with pytest.raises(TimeoutError):
        choice.choose(rows(Gaussian(1.0)), TWO, "classification", Given(scoring="accuracy"), stop)


class Ending(choice.Pace):
    """Enough time for the first machine, hardly any for the others."""

    def left(self, *, first=True):
        return None if first else 1e-9


def test_a_comparison_ends_in_the_midst_of_a_machine():
    told = []
    board = choice._compared(
        rows(Gaussian(1.0)), KNOWN, TWO, CLASSES, Given(scoring="accuracy"), nothing, Ending(), told.append
    )
    assert {one.family.name for one in board} == {"LSSVC"}
    assert {one.name.partition("(")[0] for one in told} == {"LSSVC"}


def test_what_is_fitted_on_the_way_has_the_time_that_is_left(monkeypatch):
    seen = []
    monkeypatch.setattr(held_rows, "clone", lambda model: seen.append(clone(model)) or seen[-1])
    pace = choice.Pace.of(Clock.start(3600.0))
    choice.choose(rows(Gaussian(1.0)), CURVE, "regression", Given(scoring="r2"), nothing, pace)
    assert len(seen) == 8  # in each of four folds one for the score and one for the learning curve, which may not last
    assert all(3000.0 < model.max_time <= 3600.0 for model in seen[::2])
    assert all(0.0 < model.max_time <= 1800.0 for model in seen[1::2])


def test_time_that_is_up_is_told_by_the_one_who_watches():
    def watch(share):
        if share == 1.0:
            raise TimeoutError("all of it")

    over = choice.Pace.of(Clock(time.monotonic() - 10.0, 10.0))
    with pytest.raises(TimeoutError, match="all of it"):
        choice.choose(rows(Gaussian(1.0)), TWO, "classification", Given(scoring="accuracy"), watch, over)


def test_other_kernels_and_precomputed_ones():
    given = Given(scoring="accuracy")
    distance = choice._compared(rows(NegativeDistance()), Found((NegativeDistance(),), ("",)), TWO, CLASSES, given, nothing, choice.UNHURRIED)  # fmt: skip  # noqa: E501
    assert distance[0].tried.score > 0.7  # conditionally positive definite
    K = Gaussian(1.0)(SOME)
    own = choice._compared(
        rows(Precomputed(), X=K), Found((Precomputed(),), ("",)), TWO, CLASSES, given, nothing, choice.UNHURRIED
    )
    plain = choice._compared(rows(Gaussian(1.0)), KNOWN, TWO, CLASSES, given, nothing, choice.UNHURRIED)
    assert own[0].tried.score == pytest.approx(plain[0].tried.score, abs=1.0 / 60)


def test_a_class_of_one(once):
    y = np.where(np.arange(60) == 3, "lonely", TWO)
    chosen = choice.choose(rows(Gaussian(1.0)), y, "classification", Given(scoring="accuracy"), nothing)
    assert chosen.judgement.score > 0.5


def test_a_table(once):
    columns = {"x": rng.normal(size=60), "group": ["a", "b", "c"] * 20, "noise": rng.normal(size=60)}
    y = np.sin(columns["x"]) + (np.arange(60) % 3 == 0)
    source = TableRows(columns, {"x": "number", "group": "category", "noise": "number"})
    chosen = choice.choose(source, y, "regression", Given(scoring="r2"), nothing)
    assert chosen.judgement.score > 0.7 and chosen.steps[0].startswith("lengths of the columns")


def test_a_target_of_noise_has_no_flattering_score():
    columns, y = {str(j): rng.normal(size=80) for j in range(12)}, rng.normal(size=80)
    source = TableRows(columns, dict.fromkeys(columns, "number"))
    chosen = choice.choose(source, y, "regression", Given(scoring="r2"), nothing)
    assert chosen.judgement.score < 0.25  # nothing can be predicted; the scatter of 80 squares is a sixth of their mean
    assert "no better than guessing" in chosen.judgement.verdict


def test_what_was_found_is_told_and_kept(tmp_path, once):
    chosen = choice.choose(rows(Gaussian(1.0)), TWO, "classification", Given(scoring="accuracy"), nothing)
    model = chosen.model.fit(SOME, TWO)
    chosen.tell(model, ["as asked"])
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert again.leaderboard_ == model.leaderboard_ and again.leaderboard_[0].score >= again.leaderboard_[-1].score
    np.testing.assert_array_equal(again.held_.probabilities, model.held_.probabilities)
    np.testing.assert_array_equal(again.held_.predictions, model.held_.predictions)
    assert [point.rows for point in model.learning_curve_] == [22, 45]
    assert model.learning_curve_[-1].score == model.score_
    for name in ("score_", "score_error_", "baseline_", "verdict_", "story_", "learning_curve_"):
        assert getattr(again, name) == getattr(model, name)
    assert isinstance(model, (SVC, KernelRidge)) or hasattr(model, "classes_")


def test_many_rows_are_approximated_and_it_is_said(monkeypatch, once):
    monkeypatch.setattr(machines, "MOST_EXACT", 40)
    monkeypatch.setattr(machines, "MOST_MARGIN", 40)
    monkeypatch.setattr(machines, "RANKS", (10, 20))
    for y, task, scoring in ((CURVE, "regression", "r2"), (TWO, "classification", "accuracy")):
        chosen = choice.choose(rows(Gaussian(1.0)), y, task, Given(scoring=scoring), nothing)
        assert chosen.model.gram == Nystrom(20) and chosen.judgement.score > chosen.judgement.baseline
        model = chosen.model.fit(SOME, y)
        chosen.tell(model, [])
        assert f"{model.residual_trace_:.2g} of its trace" in model.story_[-1]
    assert [family.name for family in machines.families(CLASSES, np.arange(30))] == ["LSSVC"]  # of many classes


def test_candidates_are_reported_when_they_are_scored():
    seen, given = [], Given(scoring="r2")
    chosen = choice.choose(rows(Gaussian(1.0)), CURVE, "regression", given, nothing, on_scored=seen.append)
    assert set(chosen.leaderboard) <= set(seen)

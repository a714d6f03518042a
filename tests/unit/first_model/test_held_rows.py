import numpy as np
import pytest

from mercer import KernelLogisticRegression, KernelRidge
from mercer.first_model.given_rows import Given, held_pairs
from mercer.first_model.held_rows import curve_of, growth_said, joined, predicted, predicted_from_fewer
from mercer.first_model.row_sources import SampleRows
from mercer.first_model.verdicts import Grown, judged
from mercer.kernels import Gaussian
from mercer.selection.automatic import some_rows

rng = np.random.default_rng(5)
X = rng.uniform(-3.0, 3.0, size=(200, 1))
CURVE = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
THREE = np.digitize(X[:, 0], [-1.0, 1.0])
MACHINE = KernelRidge(Gaussian(1.0), alpha=0.1)


def rows(index=slice(None)):
    return SampleRows.of((Gaussian(1.0),), X[index])


def test_each_point_is_a_fit_to_some_of_the_rows():
    new = rng.uniform(-3.0, 3.0, size=(7, 1))
    found = predicted_from_fewer(
        MACHINE, rows(), CURVE, Given(), "regression", SampleRows.of((Gaussian(1.0),), new), CURVE, None
    )
    assert list(found) == [0, 1, 2]
    for halving, size in enumerate((100, 50, 25)):
        some = some_rows(200, size)
        alone = KernelRidge(Gaussian(1.0), alpha=0.1).fit(X[some], CURVE[some]).predict(new)
        np.testing.assert_allclose(found[halving][0], alone, rtol=1e-9, atol=1e-12)


def test_weights_go_with_their_rows():
    w = rng.uniform(0.5, 2.0, size=200)
    found = predicted_from_fewer(MACHINE, rows(), CURVE, Given(weight=w), "regression", rows(), CURVE, None)
    some = some_rows(200, 100)
    alone = KernelRidge(Gaussian(1.0), alpha=0.1).fit(X[some], CURVE[some], sample_weight=w[some]).predict(X)
    np.testing.assert_allclose(found[0][0], alone, rtol=1e-9, atol=1e-12)


def test_few_rows_and_one_class_are_left_out():
    few = predicted_from_fewer(MACHINE, rows(slice(30)), CURVE[:30], Given(), "regression", rows(), CURVE, None)
    assert few == {}
    alike = np.zeros(200)
    alike[np.setdiff1d(np.arange(200), some_rows(200, 50))[0]] = 1.0
    machine = KernelLogisticRegression(Gaussian(1.0))
    found = predicted_from_fewer(machine, rows(), alike, Given(), "classification", rows(), alike, None)
    assert set(found) <= {0}  # a quarter of the rows has one class


def test_classes_that_were_not_seen_have_no_probability():
    seen = np.flatnonzero(THREE < 2)
    said, P = predicted(
        KernelLogisticRegression(Gaussian(1.0)), rows(seen), THREE[seen], None, rows(), np.arange(3), None
    )
    assert set(said) <= {0, 1} and np.all(P[:, 2] == 0.0)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("n", [200, 400])
def test_the_curve_ends_at_the_score_of_the_whole(n):
    y, S = np.resize(CURVE, n), np.resize(X, (n, 1))
    given = Given(scoring="r2")
    pairs = held_pairs(y, "regression", given)
    sources = [[SampleRows.of((Gaussian(1.0),), S[part]) for part in pair] for pair in pairs]
    said, fewer = [], []
    for (kept, _), (some, new) in zip(pairs, sources, strict=True):
        said.append(predicted(MACHINE, some, y[kept], None, new, y, None))
        fewer.append(predicted_from_fewer(MACHINE, some, y[kept], given, "regression", new, y, None))
    held = joined(pairs, said, y)
    whole = judged(held, np.ones(n, dtype=bool), y, "regression", "r2", None)
    curve = curve_of(pairs, fewer, whole, y, "regression", given)
    kept = len(pairs[0][0])
    assert [point.rows for point in curve] == [n for n in (kept >> 3, kept >> 2, kept >> 1) if n >= 20] + [kept]
    assert (curve[-1].score, curve[-1].standard_error) == (whole.score, whole.error)
    half = joined(pairs, [one[0] for one in fewer], y)
    error = np.sum((half.targets - half.predictions) ** 2)
    assert curve[-2].score == pytest.approx(1.0 - error / np.sum((half.targets - half.targets.mean()) ** 2))


def test_without_time_there_is_no_curve():
    pairs = held_pairs(CURVE, "regression", Given())
    assert curve_of(pairs, [], None, CURVE, "regression", Given()) == []
    assert curve_of([], [], None, CURVE, "regression", Given()) == []
    assert growth_said([Grown(10, 0.5, 0.1)], "r2") == []

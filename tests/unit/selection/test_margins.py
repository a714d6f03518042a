"""Kernel and cost of a support vector classifier by leaving one out."""

import numpy as np
import pytest

from mercer import SVC
from mercer.domains import Vectors
from mercer.errors import DomainError, ParameterError
from mercer.gram import Dense
from mercer.kernels import Gaussian, Linear, NegativeDistance, Precomputed
from mercer.selection import margins
from mercer.selection.margins import COSTS, best_margin, margin_leave_one_out

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
TWO = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 + 0.3 * rng.normal(size=60) > 1.2, "out", "in")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])]
KERNELS = [Gaussian(0.05), Gaussian(0.7), Gaussian(2.0), Gaussian(50.0)]


def left_out(kernel, C, y):
    """The classes that 60 machines say of the one sample that each has not seen."""
    said = []
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        said.append(SVC(kernel, C=C).fit(X[kept], y[kept]).predict(X[i : i + 1])[0])
    return np.array(said)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_it_is_what_sixty_fits_say(y):
    choice = best_margin(KERNELS, X, y)
    said = np.unique(y)[choice.predictions]
    assert choice.C in COSTS and choice.alpha is None
    assert choice.score == np.mean(said == y)
    assert np.mean(said == left_out(choice.kernel, choice.C, y)) >= 59 / 60  # a value of zero goes either way
    assert len(choice.tried) == 4
    assert max(score for _, score in choice.tried) == choice.score


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_decision_values_of_pairs(y):
    codes = np.unique(y, return_inverse=True)[1]
    count = codes.max() + 1
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
    (values,) = margin_leave_one_out(gram, codes, count, [3.0])
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    assert values.shape == (60, len(pairs))
    for column, (a, b) in enumerate(pairs):
        for i in (0, 7, 23, 51):
            kept = ((codes == a) | (codes == b)) & (np.arange(60) != i)
            machine = SVC(Gaussian(1.0), C=3.0).fit(X[kept], codes[kept] == a)
            assert values[i, column] == pytest.approx(machine.decision_function(X[i : i + 1])[0], abs=2e-3)


def test_several_costs_at_once_are_the_same():
    codes = (TWO == "in").astype(int)
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
    together = margin_leave_one_out(gram, codes, 2, [10.0, 1.0])
    for C, values in zip([10.0, 1.0], together, strict=True):
        np.testing.assert_allclose(values, margin_leave_one_out(gram, codes, 2, [C])[0], atol=1e-6)


def test_of_equals_the_smallest_cost_and_the_smoothest_kernel_is_taken():
    far = np.vstack([X[:20] * 0.1 - 5.0, X[20:40] * 0.1 + 5.0])
    choice = best_margin([Gaussian(1.0), Gaussian(2.0), Gaussian(4.0)], far, np.repeat([0, 1], 20))
    assert (choice.score, choice.C, choice.kernel) == (1.0, 1.0, Gaussian(4.0))


def test_only_the_best_kernels_meet_the_other_costs(monkeypatch):
    seen = []
    real = margins._guesses

    def counted(kernel, S, codes, count, costs):
        seen.append((kernel, tuple(costs)))
        return real(kernel, S, codes, count, costs)

    monkeypatch.setattr(margins, "_guesses", counted)
    fractions = []
    best_margin(KERNELS, X, TWO, fractions.append)
    assert [costs for _, costs in seen] == [(10.0,)] * 4 + [(1.0, 100.0)] * 3
    assert fractions == sorted(fractions) and fractions[-1] == 1.0 and len(fractions) == 7


def test_a_monitor_may_stop_it():
    def stop(fraction):
        raise TimeoutError

    with pytest.raises(TimeoutError):
        best_margin(KERNELS, X, TWO, stop)


def test_at_most_six_hundred_rows_decide():
    many = np.random.default_rng(1).normal(size=(1000, 2))
    choice = best_margin([Gaussian(1.0)], many, many[:, 0] > 0)
    assert len(choice.predictions) == 600 and choice.score > 0.95


def test_other_kernels_and_precomputed_ones():
    y = X[:, 0] > 0
    assert best_margin([Linear()], X, y).score > 0.9
    assert best_margin([NegativeDistance()], X, y).score > 0.8  # conditionally positive definite
    K = Gaussian(1.0)(X)
    assert best_margin([Precomputed()], K, y).score == best_margin([Gaussian(1.0)], X, y).score


def test_a_class_of_one():
    choice = best_margin([Gaussian(1.0)], X, np.where(np.arange(60) == 3, "lonely", TWO))
    assert choice.score > 0.7


@pytest.mark.parametrize("y", [["a"] * 3, ["a", "b", "c"]], ids=["one class", "classes of one"])
def test_too_little_to_choose_from(y):
    with pytest.raises(DomainError, match="classes"):
        best_margin(KERNELS, X[:3], y)


def test_no_kernels_and_other_lengths():
    with pytest.raises(ParameterError, match="No kernel"):
        best_margin([], X, TWO)
    with pytest.raises(DomainError, match="targets"):
        best_margin(KERNELS, X, TWO[:5])

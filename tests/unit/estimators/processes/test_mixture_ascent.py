"""The ascent of a mixture of Gaussian processes, step by step: each raises the bound."""

import numpy as np
import pytest

from mercer import GaussianProcessMixture
from mercer.domains import Vectors
from mercer.estimators.processes.mixture_ascent import Ascent, padded
from mercer.gram import Nystrom
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.uniform(0, 4, size=(30, 1))
Y = np.where(np.arange(30) < 15, np.sin(X[:, 0]) + 1, -1.0)[:, None] + 0.1 * rng.normal(size=(30, 1))
W = rng.integers(1, 3, 30).astype(float)


def ascent(**options):
    owner = GaussianProcessMixture(**{"n_components": 4, "noise": 0.1, **options})
    return Ascent(owner, Vectors.pack(X), Y, W, 2.0 * Gaussian(1.0))


@pytest.mark.parametrize(
    "options",
    [{}, {"gating": True}, {"parameters": "own"}, {"gram": Nystrom(6)}, {"gram": Nystrom(6), "parameters": "own"}],
    ids=str,
)
def test_every_step_raises_the_bound(options):
    field = ascent(**options)
    now = field.start(None)
    for step in ("sweep", "search", "join", "sweep", "sort"):
        then = {
            "sweep": lambda b: field.beliefs(field.responsibilities(b), b.kernels, b.noises),
            "search": field.searched_from,
            "join": field.joined,
            "sort": field.sorted,
        }[step](now)
        assert then.bound >= now.bound - 1e-9, step
        now = then
    again = field.beliefs(now.R, now.kernels, now.noises)
    assert np.isclose(again.bound, now.bound)  # what was taken over is what would be computed anew


def test_responsibilities_are_the_best_given_the_rest():
    """Any other responsibilities, with the old factors held, have a lower bound: moved towards, the bound rises."""
    field = ascent()
    now = field.start(None)
    best = field.responsibilities(now)
    assert np.allclose(best.sum(axis=1), 1.0) and np.all(best >= 0)
    half = field.beliefs(0.5 * now.R + 0.5 * best, now.kernels, now.noises)
    assert half.bound > now.bound


def test_components_without_samples_are_gone():
    field = ascent()
    R = np.zeros((30, 3))
    R[:, 1] = 1.0
    found = field.beliefs(R, [field.kernel] * 3, [0.1] * 3)
    assert len(found.experts) == 1 and found.counts[0] == W.sum()
    assert np.array_equal(padded(found.counts, 3), [W.sum(), 0.0, 0.0])


def test_starts_differ_by_chance_alone():
    field = ascent()
    assert np.array_equal(field.start(None).R, field.start(None).R)
    drawn = [field.start(np.random.RandomState(seed)).R for seed in (1, 1, 2, 3, 4)]
    assert np.array_equal(drawn[0], drawn[1])
    assert any(R.shape != drawn[0].shape or not np.array_equal(R, drawn[0]) for R in drawn[2:])


def test_a_factor_of_full_rank_takes_the_same_steps():
    whole, low = ascent(), ascent(gram=Nystrom(30))
    assert whole.order == 30 and 10 < low.order <= 30  # directions below rounding are left out
    first, second = whole.start(None), low.start(None)
    for _ in range(3):
        assert np.isclose(first.bound, second.bound)
        first, second = (
            f.searched_from(f.beliefs(f.responsibilities(b), b.kernels, b.noises))
            for f, b in ((whole, first), (low, second))
        )
    np.testing.assert_allclose(first.R, second.R, atol=1e-5)

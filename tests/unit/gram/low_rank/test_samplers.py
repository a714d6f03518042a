"""How landmarks are found."""

import warnings

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import ConvergenceWarning
from mercer.gram import Nystrom
from mercer.gram.low_rank import samplers
from mercer.gram.low_rank.samplers import SAMPLERS, enough, exchanged, landmarks
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.runtime.tiling import Stopped

rng = np.random.default_rng(1)
CLUSTERED = np.concatenate([0.05 * rng.normal(size=(500, 2)), rng.uniform(-3, 3, size=(100, 2))])
WORDS = ["".join(word) for word in rng.choice(list("abc"), size=(60, 6))]


def left(X, index, kernel):
    """Share of the trace that the definition leaves."""
    K = kernel(X)
    C = K[:, index]
    values, U = np.linalg.eigh(K[np.ix_(index, index)])
    kept = values > len(index) * np.finfo(float).eps * values[-1]
    return 1.0 - np.square(C @ U[:, kept] / np.sqrt(values[kept])).sum() / np.trace(K)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_sampler_finds_different_landmarks_on_every_domain(sampler):
    for kernel, raw, rank in ((Gaussian(0.5), CLUSTERED, 30), (Spectrum(2), WORDS, 7)):
        S = kernel.prepare(kernel.pack(raw))
        index = landmarks(kernel, S, rank, sampler, np.random.default_rng(0))
        assert len(set(index.tolist())) == len(index) == rank
        again = landmarks(kernel, S, rank, sampler, np.random.default_rng(0))
        assert np.array_equal(index, again)
        assert np.array_equal(np.sort(landmarks(kernel, S, 10**6, sampler, rng)), np.arange(len(S)))
        gram = Nystrom(rank, sampler).build(kernel, kernel.pack(raw))
        assert np.isclose(gram.residual_trace, left(raw if kernel.domain is Vectors else S, gram.index, kernel))


@pytest.mark.parametrize("sampler", ["k-means++", "leverage", "rpcholesky"])
def test_samplers_leave_less_than_a_uniform_draw(sampler):
    kernel = Gaussian(0.5)
    traces = [Nystrom(30, s).build(kernel, Vectors.pack(CLUSTERED)).residual_trace for s in ("uniform", sampler)]
    assert traces[1] < 0.75 * traces[0]


def test_seeds_of_k_means_are_drawn_by_their_distance():
    X = np.array([[0.0], [0.0], [1.0], [3.0]])
    S, counts = Vectors.pack(X), np.zeros((4, 4))
    generator = np.random.default_rng(0)
    for _ in range(400):
        a, b = SAMPLERS["k-means++"](Linear(), S, 2, generator, Resources())
        counts[a, b] += 1
    for first in range(4):
        squares = np.square(X[:, 0] - X[first, 0])
        assert np.allclose(counts[first] / counts[first].sum(), squares / squares.sum(), atol=0.12)


def test_leverage_finds_the_odd_ones():
    X = np.concatenate([np.zeros((300, 2)), 5.0 * np.eye(2), -7.0 * np.eye(2)])
    draws = [landmarks(Gaussian(1.0), Vectors.pack(X), 12, "leverage", np.random.default_rng(s)) for s in range(40)]
    found = sum(np.isin([300, 301, 302, 303], index).sum() for index in draws)
    assert found > 60  # of 160; about 120 are expected, and 6 where all samples are alike


def test_nothing_is_left_to_express():
    X = np.zeros((50, 2))
    for sampler in SAMPLERS:
        gram = Nystrom(5, sampler).build(Gaussian(1.0), Vectors.pack(X))
        assert gram.rank == 1 and np.allclose(gram.to_dense(), 1.0)


def test_as_many_as_are_enough():
    kernel, S = Gaussian(0.3), Vectors.pack(CLUSTERED[400:])
    order = np.random.default_rng(0).permutation(200)[:150]
    for tol in (0.3, 0.2, 0.15):
        index, stated, spread = enough(kernel, S, order, tol)
        assert spread == 0.0
        assert stated <= tol and np.isclose(left(CLUSTERED[400:], index, kernel), stated, atol=1e-9)
        assert left(CLUSTERED[400:], index[:-1], kernel) > tol
    index, stated, _ = enough(kernel, S, order[:3], 1e-9)
    assert len(index) == 3 and np.isclose(stated, left(CLUSTERED[400:], index, kernel))
    gram = Nystrom(150, tol=0.2).build(kernel, S)
    assert gram.residual_trace <= 0.2 + 1e-9 and len(gram.landmarks) < 150
    with pytest.warns(ConvergenceWarning, match="larger rank"):
        Nystrom(3, tol=1e-3).build(kernel, S)


def test_the_trace_is_estimated_on_some(monkeypatch):
    monkeypatch.setattr("mercer.gram.low_rank.samplers.PROBES", 200)
    kernel, S = Gaussian(1.0), Vectors.pack(CLUSTERED)
    gram = Nystrom(300, "rpcholesky", tol=1e-2).build(kernel, S)
    assert gram.residual_trace < 2e-2


def test_landmarks_are_doubled_until_they_are_enough(monkeypatch):
    monkeypatch.setattr("mercer.gram.low_rank.samplers._STEP", 8)
    real, drawn = samplers.landmarks, []
    monkeypatch.setattr("mercer.gram.low_rank.samplers.landmarks", lambda *args: drawn.append(args[2]) or real(*args))
    kernel, S = Gaussian(1.0), Vectors.pack(CLUSTERED)
    for sampler in SAMPLERS:
        drawn.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gram = Nystrom(500, sampler, tol=1e-2).build(kernel, S)
        assert drawn == [8 * 2**i for i in range(len(drawn))] and drawn[-1] < 500
        assert len(gram.index) <= drawn[-1] and gram.residual_trace <= 1e-2 + 1e-9
    drawn.clear()
    Nystrom(20, tol=0.0).build(kernel, S)
    assert drawn == [20]


def test_the_error_of_an_estimate_is_that_of_many_draws(monkeypatch):
    kernel, S = Gaussian(0.5), Vectors.pack(CLUSTERED)
    order = np.random.default_rng(0).permutation(600)[:30]
    exact = left(CLUSTERED, order, Gaussian(0.5))
    monkeypatch.setattr("mercer.gram.low_rank.samplers.PROBES", 150)
    found = []
    for seed in range(100):
        monkeypatch.setattr("mercer.gram.low_rank.samplers._PROBED", seed)
        found.append(enough(kernel, S, order, 0.0)[1:])
    shares, spreads = np.array(found).T
    assert abs(np.mean(shares) - exact) < 4.0 * np.std(shares) / np.sqrt(100)
    assert np.isclose(np.mean(spreads), np.std(shares), rtol=0.3)


def test_a_measure_that_is_worse_than_the_estimate_warns(monkeypatch):
    """Those who judge see one cluster of two: the finished matrix tells."""
    X = np.concatenate([np.zeros((400, 2)), rng.normal(size=(100, 2))])
    monkeypatch.setattr("mercer.gram.low_rank.samplers.PROBES", 5)
    monkeypatch.setattr("mercer.gram.low_rank.samplers._PROBED", 8)  # five of the four hundred
    with pytest.warns(ConvergenceWarning, match="leaves 0.1"):
        Nystrom(50, tol=1e-3, random_state=3).build(Gaussian(0.1), Vectors.pack(X))


@pytest.mark.parametrize("sampler", sorted(set(SAMPLERS) - {"uniform"}))
def test_samplers_can_be_stopped(sampler):
    asked = []
    resources = Resources(n_threads=1, monitor=lambda fraction: asked.append(fraction) or True)
    many = Vectors.pack(np.random.default_rng(0).normal(size=(9000, 2)))
    with pytest.raises(Stopped):
        landmarks(Gaussian(0.1), many, 400, sampler, np.random.default_rng(0), resources)
    assert 1 <= len(asked) <= 4  # a run of one task is not asked in its midst


def test_an_exchange_is_made_only_if_the_entropy_grows():
    K = Gaussian(1.0)(np.array([[0.0], [0.1], [5.0], [0.05]]))
    assert np.array_equal(exchanged(lambda a, b: K[np.ix_(a, b)], np.array([0, 2]), np.array([1, 3])), [0, 2])

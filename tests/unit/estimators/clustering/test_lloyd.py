"""Lloyd's algorithm in feature space: its steps, its seeds, its corners."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.estimators.clustering import lloyd as module
from mercer.estimators.clustering.lloyd import Cloud, lloyd, random_labels, restarts_at_once, seeded_labels
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.gram.algebra import Shifted
from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.problems import Status

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(40, 2)) + c for c in ([0, 0], [6, 0], [0, 6])])
S = rng.integers(1, 4, size=120).astype(float)


def cloud_of(spec=None, kernel=None, s=S, **options):
    gram = (spec or Dense()).build(kernel or Gaussian(2.0), Vectors.pack(X))
    return Cloud(gram, s, gram @ s, **options)


def starts_of(cloud, k, count, seed=0):
    chance = np.random.RandomState(seed)
    return [random_labels(cloud, k, chance) for _ in range(count)]


def inertia_of(cloud, labels, k):
    K = cloud.gram.to_dense() * cloud.ratio * cloud.ratio[:, None]
    total = 0.0
    for t in range(k):
        m = cloud.mass * (labels == t)
        if m.sum():
            total += m @ np.diagonal(K) - m @ K @ m / m.sum()
    return total


@pytest.mark.parametrize("cut", [False, True])
def test_the_objective_falls_with_every_step_to_a_partition_at_rest(cut):
    cloud = cloud_of(cut=cut)
    values = []
    for steps in range(1, 12):
        found = lloyd(cloud, starts_of(cloud, 5, 1), 5, steps)
        assert found.inertia == pytest.approx(inertia_of(cloud, found.labels, 5), rel=1e-10)
        values.append(found.inertia)
    assert np.all(np.diff(values) <= 1e-12) and values[-1] < values[0]
    again = lloyd(cloud, [lloyd(cloud, starts_of(cloud, 5, 1), 5, 100).labels], 5, 100)
    assert again.n_iter == 1 and again.status is Status.CONVERGED


@pytest.mark.parametrize("spec", [Tiles(), Nystrom(120), Dense()])
def test_restarts_together_are_restarts_one_by_one(spec, monkeypatch):
    cloud = cloud_of(spec)
    starts = starts_of(cloud, 4, 6)
    alone = [lloyd(cloud, [start], 4, 100) for start in starts]
    together = lloyd(cloud, starts, 4, 100)
    assert together.inertia == pytest.approx(min(one.inertia for one in alone), rel=1e-10)
    monkeypatch.setattr(module, "_COLUMNS", 2 * 120 * 4)
    assert restarts_at_once(120, 4, 6) == 2
    grouped = lloyd(cloud, starts, 4, 100)
    assert grouped.inertia == pytest.approx(together.inertia, rel=1e-10)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_columns_of_the_samples_that_moved_are_enough(share, monkeypatch):
    cloud = cloud_of(kernel=Linear(), spec=Dense())
    expected = lloyd(cloud, starts_of(cloud, 4, 3), 4, 100)
    monkeypatch.setattr(module, "_FEW", share)
    monkeypatch.setattr(module, "_ROWS", 500)
    found = lloyd(cloud, starts_of(cloud, 4, 3), 4, 100)
    assert np.array_equal(found.labels, expected.labels)
    np.testing.assert_allclose(found.products, expected.products, rtol=1e-9, atol=1e-9)


def test_a_gram_without_rows_has_products():
    class Bare:
        def __init__(self, gram):
            self.gram, self.shape, self.resources = gram, gram.shape, gram.resources

        def __matmul__(self, V):
            return self.gram @ V

        def diag(self):
            return self.gram.diag()

    whole = cloud_of()
    bare = Cloud(Bare(whole.gram), S, whole.gram @ S)
    np.testing.assert_allclose(bare.squared_distances([3, 7]), whole.squared_distances([3, 7]), atol=1e-12)
    assert np.array_equal(lloyd(bare, starts_of(bare, 3, 2), 3, 50).labels,
                          lloyd(whole, starts_of(whole, 3, 2), 3, 50).labels)  # fmt: skip


def test_seeds_are_far_from_each_other():
    cloud = cloud_of(Features(), Linear(), s=np.ones(120))
    apart = 0
    for seed in range(20):
        seeds, labels = seeded_labels(cloud, 3, np.random.RandomState(seed))
        distances = ((X[:, None] - X[seeds]) ** 2).sum(axis=2)
        assert np.array_equal(labels, distances.argmin(axis=1))
        apart += len(set(seeds // 40)) == 3
    assert apart >= 19  # drawn evenly it would be some 4 of 20


def test_seeds_do_not_depend_on_the_order_of_the_samples_nor_on_copies():
    turn = rng.permutation(120)
    again = np.repeat(turn, S[turn].astype(int))
    a = cloud_of(kernel=Gaussian(2.0))
    gram = Dense().build(Gaussian(2.0), Vectors.pack(X[again]))
    b = Cloud(gram, np.ones(len(again)), gram @ np.ones(len(again)))
    for seed in range(5):
        seeds, _ = seeded_labels(a, 4, np.random.RandomState(seed))
        others, _ = seeded_labels(b, 4, np.random.RandomState(seed))
        assert np.array_equal(X[seeds], X[again][others])


def test_equal_samples_give_fewer_seeds_and_empty_clusters():
    gram = Dense().build(Linear(), Vectors.pack([[0.0], [0.0], [1.0], [1.0]]))
    cloud = Cloud(gram, np.ones(4), gram @ np.ones(4))
    _, labels = seeded_labels(cloud, 3, np.random.RandomState(0))
    assert len(set(labels)) == 2
    found = lloyd(cloud, [labels], 3, 10)
    assert found.inertia == pytest.approx(0.0, abs=1e-12) and np.sum(found.masses == 0.0) == 1


def test_an_empty_cluster_gets_the_farthest_sample():
    gram = Dense().build(Linear(), Vectors.pack([[0.0], [0.1], [0.2], [9.0]]))
    cloud = Cloud(gram, np.ones(4), gram @ np.ones(4))
    found = lloyd(cloud, [np.zeros(4, dtype=np.intp)], 2, 10)
    assert np.array_equal(found.labels, [0, 0, 0, 1]) and np.all(found.masses > 0)


def test_a_step_uphill_is_taken_back():
    K = np.kron(np.eye(3), np.array([[0.0, 1.0], [1.0, 0.0]])) - 0.5 * np.eye(6)
    K[0, 3] = K[3, 0] = K[1, 4] = K[4, 1] = 0.9
    gram = Dense().build(Precomputed(), Precomputed().pack(K))
    ends = set()
    for seed in range(30):
        cloud = Cloud(gram, np.ones(6), gram @ np.ones(6))
        start = np.random.RandomState(seed).randint(2, size=6)
        first = inertia_of(cloud, start, 2)
        found = lloyd(cloud, [start], 2, 50)
        assert found.inertia == pytest.approx(inertia_of(cloud, found.labels, 2), abs=1e-10)
        assert found.inertia <= first + 1e-10
        ends.add(found.status)
        shifted = Cloud(gram, np.ones(6), gram @ np.ones(6), shift=3.0)
        assert lloyd(shifted, [start], 2, 50).status is Status.CONVERGED
    assert Status.STALLED in ends


def test_a_shift_is_that_of_the_diagonal():
    gram = Dense().build(Gaussian(2.0), Vectors.pack(X))
    ours = Cloud(gram, np.ones(120), gram @ np.ones(120), shift=0.4)
    shifted = Shifted(gram, 0.4)
    theirs = Cloud(shifted, np.ones(120), shifted @ np.ones(120))
    for start in starts_of(ours, 4, 4):
        a, b = lloyd(ours, [start], 4, 100), lloyd(theirs, [start], 4, 100)
        assert np.array_equal(a.labels, b.labels)
        assert b.inertia == pytest.approx(a.inertia + 0.4 * (120 - 4), rel=1e-10)


def test_a_monitor_ends_it_with_the_best_so_far():
    cloud, seen = cloud_of(), []

    def monitor(iteration, left):
        seen.append((iteration, left))
        return Status.TIME if iteration == 2 else False

    found = lloyd(cloud, starts_of(cloud, 6, 3), 6, 100, monitor)
    assert found.status is Status.TIME and found.n_iter == 2 and seen[-1][0] == 2
    assert found.inertia == pytest.approx(inertia_of(cloud, found.labels, 6), rel=1e-10)
    assert all(0.0 <= left <= 1.0 for _, left in seen)


def test_random_partitions_have_no_empty_cluster():
    cloud = cloud_of()
    assert all(len(set(random_labels(cloud, 100, np.random.RandomState(seed)))) == 100 for seed in range(3))

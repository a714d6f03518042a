import numpy as np
import pytest

from mercer.kernels.trees.tree_pairs import DIAGONAL, PLAIN, SYMMETRIC, corooted_tile, partial_tile, subset_tile

# (r (a x) (a x)) and (a x): post-order, with numbers 0 for (a x), 1 for (r a a), -1 for leaves
TREES = (
    np.array([[-1, 1], [0, 2], [-1, 1], [0, 2], [1, 5], [-1, 1], [0, 2]], dtype=np.int32),
    np.array([0, 5, 7]),
)
LABELS = (np.array([[0, 1], [1, 2], [0, 1], [1, 2], [2, 5], [0, 1], [1, 2]], dtype=np.int32), TREES[1])
NONE = np.empty((0, 0, 0))


def computed(tile, trees, mode, factors, room=None, rows=(0, 2), columns=(0, 2)):
    shape = (rows[1] - rows[0], 1 if mode == DIAGONAL else columns[1] - columns[0])
    values, slopes = np.full(shape, np.nan), np.full((2, *shape), np.nan)
    extra = () if tile is corooted_tile else (10_000 if room is None else room,)
    for out in ((values, NONE), (values, slopes)):
        needed = tile(trees, trees, (rows, columns), (mode, 3), factors, *extra, out)
        if needed:
            return needed
    return values, slopes


def test_subset_trees():
    lam = 0.5
    # C(a, a) = lam, C(r, r) = lam (1 + lam)^2
    expected = [[4 * lam + lam * (1 + lam) ** 2, 2 * lam], [2 * lam, lam]]
    slopes = [[4 + (1 + lam) ** 2 + 2 * lam * (1 + lam), 2], [2, 1]]
    for mode in (PLAIN, SYMMETRIC):
        got, derived = computed(subset_tile, TREES, mode, lam)
        np.testing.assert_allclose(got, expected)
        np.testing.assert_allclose(derived[0], slopes)
    np.testing.assert_allclose(computed(subset_tile, TREES, DIAGONAL, lam)[0][:, 0], np.diag(expected))
    part = computed(subset_tile, TREES, PLAIN, lam, rows=(1, 2), columns=(0, 1))[0]
    np.testing.assert_allclose(part, [[2 * lam]])


def test_corooted_subtrees():
    lam = 0.5
    for mode in (PLAIN, SYMMETRIC):
        got, derived = computed(corooted_tile, TREES, mode, lam)
        np.testing.assert_allclose(got, [[lam * (1 + lam) ** 2, 0], [0, lam]])
        np.testing.assert_allclose(derived[0], [[(1 + lam) ** 2 + 2 * lam * (1 + lam), 0], [0, 1]])


def test_partial_trees():
    lam, mu = 0.5, 0.7
    x = mu * lam**2
    a = mu * (lam**2 + x)
    r = mu * (lam**2 + 4 * a + a * a)  # one child of two, or both in order
    got, _ = computed(partial_tile, LABELS, SYMMETRIC, (lam, mu))
    np.testing.assert_allclose(got, [[4 * x + 4 * a + r, 2 * x + 2 * a], [2 * x + 2 * a, x + a]])


@pytest.mark.parametrize(("tile", "trees", "factors"), [(subset_tile, TREES, 0.5), (partial_tile, LABELS, (0.5, 0.5))])
def test_room(tile, trees, factors):
    leaf = [[trees[0][0, 0], 1], [trees[0][1, 0], 2]]
    many = np.array([*(leaf * 200), [trees[0][4, 0], 401]], dtype=np.int32), np.array([0, 401])
    shape, out = (PLAIN, 3), (np.empty((1, 1)), NONE)
    assert tile(many, many, ((0, 1), (0, 1)), shape, factors, 5_000, out) > 5_000
    assert tile(many, many, ((0, 1), (0, 1)), shape, factors, 100_000, out) == 0

"""Links between nodes."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import LinkPropagation, load, save
from mercer.errors import DomainError, TargetError
from mercer.kernels import Linear

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(8, 2)), RNG.normal(size=(8, 2)) + 8.0])
LINKS = np.equal.outer(np.arange(16) < 8, np.arange(16) < 8).astype(float)
SEEN = np.triu(RNG.random((16, 16)) < 0.25, 1)
SEEN |= SEEN.T
Y = np.where(SEEN, LINKS, np.nan)


def test_links_of_one_graph():
    model = LinkPropagation(Linear(), columns="rows", n_neighbors=3, tol=1e-10).fit(X, Y)
    hidden = ~SEEN
    assert np.mean((model.transduction_[hidden] > 0.5) == (LINKS[hidden] > 0.5)) > 0.95
    assert np.allclose(model.transduction_, model.transduction_.T, atol=1e-8)
    near = np.argsort(((X[:, None] - X) ** 2).sum(-1), axis=1)[:, 1:4]
    A = np.zeros((16, 16))
    A[np.arange(16)[:, None], near] = 1.0
    A = np.maximum(A, A.T)
    L = np.diag(A.sum(1)) - A
    system = np.diag(SEEN.ravel() + 0.01) + 0.1 * (np.kron(L, np.eye(16)) + np.kron(np.eye(16), L))
    expected = np.linalg.solve(system, np.where(SEEN, LINKS, 0.0).ravel()).reshape(16, 16)
    assert np.allclose(model.transduction_, expected, atol=1e-7)


def test_two_graphs_sparse_links_and_a_given_graph(tmp_path):
    G = sp.csr_array(np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)))
    table = np.full((16, 6), np.nan)
    table[0, 0], table[8, 3], table[0, 3], table[8, 0] = 1.0, 1.0, 0.0, 0.0
    dense = LinkPropagation(Linear(), columns=G, n_neighbors=3).fit(X, table)
    stored = sp.coo_array((np.array([1.0, 1.0, 0.0, 0.0]), ([0, 8, 0, 8], [0, 3, 3, 0])), shape=(16, 6))
    again = LinkPropagation(Linear(), columns=G, n_neighbors=3).fit(X, stored)
    assert np.allclose(dense.transduction_, again.transduction_)
    places = (np.repeat(stored.row, 2), np.repeat(stored.col, 2))
    halves = sp.coo_array((np.repeat(stored.data / 2.0, 2), places), shape=(16, 6))
    added = LinkPropagation(Linear(), columns=G, n_neighbors=3).fit(X, halves)
    assert np.array_equal(added.transduction_, again.transduction_)
    assert np.all(dense.transduction_[:8, :3] > dense.transduction_[:8, 3:])
    new = dense.predict(X[:2] + 0.1)
    assert new.shape == (2, 6) and np.all(new[:, :3] > new[:, 3:])
    save(dense, tmp_path / "m.mercer")
    assert np.array_equal(load(tmp_path / "m.mercer").predict(X), dense.predict(X))
    A = sp.csr_array(np.kron(np.eye(2), np.ones((8, 8)) - np.eye(8)))
    given = LinkPropagation(graph=A, columns=G).fit(X, table)
    assert np.all(given.transduction_[:8, :3] > given.transduction_[:8, 3:])
    with pytest.raises(DomainError, match="no place for new nodes"):
        given.predict(X)


def test_refusals():
    with pytest.raises(TargetError, match="5 nodes"):
        LinkPropagation(columns=sp.eye_array(5)).fit(X, Y)

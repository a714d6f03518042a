import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from mercer.errors import DomainError, ParameterError
from mercer.estimators.semi.networks import Laplacian, Mixture, RobustWeights, as_networks, energies
from mercer.numerics.laplacians import laplacian

rng = np.random.default_rng(0)
A = sp.random_array((20, 20), density=0.2, rng=rng)
A = sp.csr_array(A + A.T)
B = sp.csr_array(abs(A - 0.5 * sp.eye_array(20)))


@pytest.mark.parametrize("W", [A, B])
def test_laplacians_in_two_parts(W):
    bare = sp.csr_array(W - sp.diags_array(W.diagonal()))
    F = rng.normal(size=(20, 2))
    assert np.allclose(Laplacian.of(W, plain=False) @ F, laplacian(bare, normalized=True) @ F)
    assert np.allclose(Laplacian.of(W, plain=False, alone=True) @ F, laplacian(bare, normalized=True) @ F)
    mean = bare.sum() / 20
    assert np.allclose(Laplacian.of(W, plain=True) @ F, laplacian(bare, normalized=False) @ F / mean)


def test_sums_and_energies():
    both = [Laplacian.of(A, plain=False), Laplacian.of(B, plain=True)]
    F = rng.normal(size=(20, 3))
    total = Mixture(both)(np.array([0.3, 2.0]))
    assert np.allclose(total @ F, 0.3 * (both[0] @ F) + 2.0 * (both[1] @ F))
    assert np.allclose(Mixture(both[:1])(np.array([3.0])) @ F, 3.0 * (both[0] @ F))
    assert np.allclose(energies(both, F), [np.trace(F.T @ (L @ F)) for L in both])


def test_robust_weights_are_the_slopes_of_their_objective():
    first = np.array([1.0, 4.0, 9.0])
    weigh = RobustWeights.of(first, 0.1)
    assert weigh(first).sum() == pytest.approx(1.0) and np.all(np.diff(weigh(first)) < 0.0)
    E, step = np.array([2.0, 3.0, 5.0]), 1e-6
    for k in range(3):
        up, down = E + step * np.eye(3)[k], E - step * np.eye(3)[k]
        assert (weigh.value(up) - weigh.value(down)) / (2 * step) == pytest.approx(weigh(E)[k], rel=1e-6)
    assert np.allclose(RobustWeights.of(first, 1e9)(first), 1.0 / 3.0)  # no graph is an outlier


def test_forms_of_graphs():
    assert len(as_networks([(0, 1), (1, 2)]).graphs) == 1
    assert as_networks(A).names == ("0",)
    assert as_networks((A, B)).names == ("0", "1") == as_networks([nx.path_graph(20), A]).names
    named = as_networks({"citations": A, "authors": B})
    assert named.names == ("citations", "authors")
    assert len(np.unique(as_networks([(0, 1), (2, 3)]).parts())) == 2
    with pytest.raises(DomainError, match="same nodes"):
        as_networks({"a": A, "b": [(0, 1)]})
    with pytest.raises(DomainError, match="directions"):
        as_networks(np.array([[0.0, 1.0], [0.0, 0.0]]))
    with pytest.raises(ParameterError, match="at least one graph"):
        as_networks({})

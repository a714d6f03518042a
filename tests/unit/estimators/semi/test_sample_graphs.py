"""The Laplacian of the graph of training samples."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.budget import UNLIMITED
from mercer.domains import Vectors
from mercer.errors import DomainError
from mercer.estimators.semi.sample_graphs import sample_laplacian
from mercer.kernels import Linear

LINE = np.array([[0.0], [1.0], [3.0]])


def found(X, weight=None, used=None, **options):
    options = {"graph": None, "n_neighbors": 1, "weights": "one", "normalized": False, **options}
    weight = np.ones(len(X)) if weight is None else weight
    used = np.arange(len(X)) if used is None else used
    return sample_laplacian(SimpleNamespace(**options), Linear(), Vectors.pack(X), weight, used, UNLIMITED).toarray()


def test_a_path():
    assert np.array_equal(found(LINE), [[1, -1, 0], [-1, 2, -1], [0, -1, 1]])


def test_a_weight_is_as_many_copies():
    weight = np.array([2.0, 1.0, 3.0])
    copies = np.repeat(LINE, weight.astype(int), axis=0)
    f = np.array([0.3, -1.0, 2.0])
    many = np.repeat(f, weight.astype(int))
    assert np.isclose(f @ found(LINE, weight) @ f, many @ found(copies) @ many, rtol=1e-14)
    assert not found(np.zeros((3, 1))).any()


def test_a_graph_that_is_given():
    A = sp.csr_array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    assert np.array_equal(found(LINE, graph=A), [[2, -2, 0], [-2, 3, -1], [0, -1, 1]])
    assert np.array_equal(found(LINE[1:], graph=A, used=np.array([1, 2])), [[1, -1], [-1, 1]])
    with pytest.raises(DomainError, match="square"):
        found(LINE, graph=sp.csr_array([[0.0, 1.0, 0.0]]))
    with pytest.raises(DomainError, match="2 nodes"):
        found(LINE, graph=sp.eye_array(2))

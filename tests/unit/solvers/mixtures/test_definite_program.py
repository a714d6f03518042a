"""The semidefinite program: packing, and an optimum with a negative weight that can be computed by hand."""

import numpy as np
import pytest

from mercer.solvers.mixtures.definite_program import _packed, definite_program
from mercer.solvers.mixtures.mixture_problem import Program


def test_packing_keeps_inner_products():
    A, B = (M + M.T for M in np.random.default_rng(0).normal(size=(2, 4, 4)))
    assert np.isclose(_packed(A) @ _packed(B), np.sum(A * B))


def test_what_disturbs_is_subtracted():
    """K_1 = y y^T + v v^T, K_2 = v v^T with y, v orthogonal: K_1 - K_2 = y y^T has all of the trace on y."""
    pytest.importorskip("clarabel")
    y, v = np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 1.0, -1.0, -1.0])
    K = [np.outer(y, y) + np.outer(v, v), np.outer(v, v)]
    box = 10.0 * y
    program = Program(-y, np.minimum(box, 0.0), np.maximum(box, 0.0))
    found = definite_program(K, program, 1.0, 1e-8)
    # f = c y' with the smallest norm: J = 1 / (2 * largest trace on y y^T), which is 1/2 at weights (1, -1)
    assert np.allclose(found.weights, [1.0, -1.0], atol=1e-3)
    assert np.isclose(found.objective, 0.5, rtol=1e-3) and found.gap <= 1e-3

"""The kernel of many tasks."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.kernels import Gaussian, task_kernel

X = np.random.default_rng(0).normal(size=(6, 2))
TASKS = ["a", "b", "a", "c", "b", "a"]
TABLE = {"u": X[:, 0], "v": X[:, 1], "task": TASKS}


@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_formula(rho):
    same = np.array(TASKS)[:, None] == np.array(TASKS)
    expected = (rho + (1.0 - rho) * same) * Gaussian(1.0)(X)
    assert np.allclose(task_kernel(Gaussian(1.0).on(["u", "v"]), "task", rho)(TABLE), expected, atol=1e-15)


def test_a_share_is_a_share():
    with pytest.raises(ParameterError, match=">= 0 and <= 1"):
        task_kernel(Gaussian(1.0), "task", 1.5)

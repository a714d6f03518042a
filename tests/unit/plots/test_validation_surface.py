import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.model_selection import GridSearchCV

from mercer import KernelRidge
from mercer.errors import ParameterError
from mercer.kernels import Gaussian
from mercer.plots import ValidationSurfaceDisplay

X = np.linspace(0, 5, 24)[:, None]
GRID = {"alpha": [1.0, 0.01], "kernel__length_scale": [3.0, 0.3, 1.0]}


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_cells_are_scores_in_the_order_of_values():
    search = GridSearchCV(KernelRidge(Gaussian(1.0)), GRID, cv=3).fit(X, np.sin(X[:, 0]))
    display = ValidationSurfaceDisplay.from_search(search)
    assert display.values == ([0.01, 1.0], [0.3, 1.0, 3.0])
    for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        row = display.values[0].index(params["alpha"])
        assert display.scores[row, display.values[1].index(params["kernel__length_scale"])] == score
    alone = ValidationSurfaceDisplay.from_search(search, "alpha")
    assert np.array_equal(alone.scores, display.scores.max(axis=1))


def test_names_must_vary():
    search = GridSearchCV(KernelRidge(Gaussian(1.0)), {"alpha": [0.1, 1.0]}, cv=3).fit(X, X[:, 0])
    assert ValidationSurfaceDisplay.from_search(search).names == ("alpha",)
    with pytest.raises(ParameterError, match="a map shows one or two"):
        ValidationSurfaceDisplay.from_search(search, ("alpha", "kernel"))

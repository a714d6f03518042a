"""One search: what it tells, and what a user's function of scores may answer."""

import numpy as np
import pytest

import mercer
from mercer import KernelRidge
from mercer.choosing import CrossValidation, Effort, LeaveOneOut
from mercer.choosing.task import Task, on_kernel
from mercer.errors import ParameterError
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
GRID = {"alpha": [0.1, 1.0]}


def test_candidates_of_one_kernel_are_judged_together():
    model = KernelRidge(Gaussian(1.0))
    found = on_kernel(LeaveOneOut(), model, X, y, [{"alpha": 0.1}, {"alpha": 1.0}])
    for value, alpha in zip(found, (0.1, 1.0), strict=True):
        errors = [
            model.set_params(alpha=alpha).fit(X[kept], y[kept]).predict(X[~kept])[0] - y[~kept][0]
            for kept in np.arange(20) != np.arange(20)[:, None]
        ]
        assert value == pytest.approx(np.mean(np.square(errors)), rel=1e-7)


def test_the_share_that_is_done_ends_at_one():
    shares = []
    task = Task(KernelRidge(Gaussian(1.0)), X, y, LeaveOneOut(), Effort(), shares.append, None)
    params, values = task.grid(GRID)
    assert shares[-1] == 1.0 and task.complete and len(params) == len(values) == 2


@pytest.mark.parametrize(("answer", "message"), [("good", "one real number"), (np.nan, "finite number")])
def test_scores_are_numbers(answer, message):
    with pytest.raises(ParameterError, match=message):
        mercer.search(
            KernelRidge(Gaussian(1.0)), X, y, GRID, criterion=CrossValidation(3, scoring=lambda model, X, y: answer)
        )

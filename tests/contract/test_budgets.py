"""Every estimator takes the same budgets, and refuses those that are none."""

import inspect

import numpy as np
import pytest

import mercer
from mercer.errors import ParameterError

ESTIMATORS = [
    value for name in mercer.__all__ if isinstance(value := getattr(mercer, name), type) and hasattr(value, "fit")
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_budgets_are_uniform(estimator):
    known = inspect.signature(estimator.__init__).parameters
    for name in ("memory", "max_time", "n_threads"):
        assert known[name].default is None and known[name].kind is inspect.Parameter.KEYWORD_ONLY
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    for name, value in (("memory", "much"), ("max_time", -1.0), ("n_threads", 0)):
        with pytest.raises(ParameterError, match=name):
            estimator(**{name: value}).fit(X, y)
    assert hasattr(estimator(), "set_callbacks")  # so that a Checkpoint can be given

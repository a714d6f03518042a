"""What machines of smooth risks keep of their descent."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
y = np.digitize(X[:, 0], [-0.5, 0.5])


def test_what_was_reached_is_kept():
    model = mercer.OrdinalSVC(Gaussian(1.0), tol=1e-6).fit(X, y)
    rough = mercer.OrdinalSVC(Gaussian(1.0), tol=1e-2).fit(X, y)
    assert 0.0 <= model.gap_ <= rough.gap_
    assert 1 <= rough.n_iter_ <= model.n_iter_
    # the gap is a bound: the rough objective is no further above the better one than it says
    assert model.objective_ - 1e-9 <= rough.objective_ <= model.objective_ + rough.gap_ + 1e-9


def test_it_says_so_if_it_is_stopped_early():
    with pytest.warns(ConvergenceWarning, match="above its minimum"):
        mercer.OrdinalSVC(Gaussian(1.0), tol=1e-9, max_iter=1).fit(X, y)

import numpy as np
import pytest

from mercer import NuSVC, OneClassSVM
from mercer.errors import ParameterError
from mercer.kernels import Gaussian
from mercer.theory import nu_property

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 2))


def whole(model, n):
    coef = np.zeros(n)
    coef[model.support_] = model.dual_coef_[0]
    return coef


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_novelty_detectors_have_it(nu):
    model = OneClassSVM(Gaussian(1.0), nu=nu).fit(X)
    found = nu_property(nu, model.decision_function(X), whole(model, 90))
    assert found.holds
    assert found.errors <= nu <= found.support


@pytest.mark.parametrize("nu", [0.4, 0.6])
def test_classifiers_have_it(nu):
    y = np.where(X[:, 0] + 0.3 * RNG.normal(size=90) > 0, 1, -1)
    model = NuSVC(Gaussian(1.0), nu=nu).fit(X, y)
    assert nu_property(nu, y * model.decision_function(X) - 1.0, whole(model, 90), tol=1e-2).holds


def test_what_does_not_have_it_is_told():
    found = nu_property(0.25, [-1.0, -1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0])
    assert found == (0.5, 0.25, 0.5, False)
    weighted = nu_property(0.25, [-1.0, 1.0], [1.0, 0.0], [1.0, 3.0])
    assert weighted == (0.25, 0.25, 0.25, True)
    with pytest.raises(ParameterError, match="one of each per sample"):
        nu_property(0.5, [1.0], [1.0, 2.0])

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from mercer import SVC, LPBoostClassifier, NuSVC
from mercer.errors import CapabilityError, MercerError
from mercer.kernels import Gaussian
from mercer.plots import MarginDistributionDisplay
from mercer.plots.margin_distribution import margins_of

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
TWO = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0.0, "yes", "no")
THREE = np.digitize(X[:, 0], [-0.5, 0.5])


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


@pytest.mark.parametrize("model", [SVC(Gaussian(1.0)), LPBoostClassifier(nu=0.2), LinearSVC(), KNeighborsClassifier(3)])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_margins_of_any_classifier(model, y):
    model.fit(X, y)
    margins = margins_of(model, X, y)
    wrong = model.predict(X) != y
    assert np.all(margins[wrong] <= 0.0) and np.all(margins[~wrong] >= 0.0)
    display = MarginDistributionDisplay.from_estimator(model, X, y)
    assert np.abs(display.margins).max() == pytest.approx(1.0) and display.ax_.get_xlabel() == "margin"
    assert display.share_below(-1e-12) <= wrong.mean() <= display.share_below(0.0)


def test_the_tail_is_what_lp_boosting_maximises():
    model = LPBoostClassifier(nu=0.3).fit(X, TWO)
    display = MarginDistributionDisplay.from_estimator(model, X, TWO, normalized=False)
    assert display.nu == 0.3 and display.tail_mean(0.3) == pytest.approx(model.objective_[0], abs=1e-9)


def test_nu_svm_has_the_largest_tail_of_functions_of_its_norm():
    """rho - sum xi / (nu n) is the mean of the worst share: no other function of the norm and any bias has a larger."""
    model = NuSVC(Gaussian(1.0), nu=0.4, tol=1e-8).fit(X, TWO)
    f, size = model.decision_function(X), float(model.expansion_.norm())
    best = MarginDistributionDisplay(np.where(TWO == "yes", f, -f), np.ones(60)).tail_mean(0.4) / size
    for C in (0.1, 1.0, 10.0, 100.0):
        other = SVC(Gaussian(1.0), C=C).fit(X, TWO)
        g = other.decision_function(X) - other.intercept_[0]
        norm = float(other.expansion_.norm())
        for bias in np.linspace(-2.0, 2.0, 41):
            m = np.where(TWO == "yes", g + bias, -g - bias) / norm
            assert MarginDistributionDisplay(m, np.ones(60)).tail_mean(0.4) <= best + 1e-6


def test_weights_are_repetition():
    m, w = rng.normal(size=10), rng.integers(1, 4, size=10)
    a = MarginDistributionDisplay.from_margins(m, w, nu=0.37)
    b = MarginDistributionDisplay.from_margins(np.repeat(m, w))
    assert a.tail_mean(0.37) == pytest.approx(b.tail_mean(0.37)) and a.share_below(0.1) == b.share_below(0.1)
    assert a.tail_mean(1.0) == pytest.approx(np.average(m, weights=w))


def test_what_has_no_margin():
    class Silent:
        classes_ = np.array([0, 1])

    with pytest.raises(CapabilityError, match="decision_function nor predict_proba"):
        margins_of(Silent(), X, np.zeros(60, dtype=int))
    pairs = SVC(Gaussian(1.0), decision_function_shape="ovo").fit(X, np.arange(60) % 4)
    with pytest.raises(CapabilityError, match="ovr"):
        margins_of(pairs, X, np.arange(60) % 4)
    with pytest.raises(MercerError):
        MarginDistributionDisplay.from_margins([1.0], nu=2.0)

"""What kernel machines share: which functions are not penalised, and how the Gram is held."""

import numpy as np
import pytest

from mercer.errors import CapabilityError
from mercer.estimators.squares.kernel_machine import KernelMachine
from mercer.estimators.squares.representer import RepresenterMachine
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, NegativeDistance, ThinPlate
from mercer.solvers import ProximalPoint

random = np.random.default_rng(0)
X = random.normal(size=(40, 2))
Y = X[:, 0] + 0.1 * random.normal(size=40)


def test_machines_are_such():
    assert issubclass(KernelMachine, RepresenterMachine)


@pytest.mark.parametrize(
    ("kernel", "unpenalized", "count"),
    [
        (Gaussian(), None, 0),
        (Gaussian(), "constant", 1),
        (Gaussian(), "linear", 3),
        (Gaussian(), [0], 2),
        (Gaussian(), np.sin, 2),
        (NegativeDistance(), None, 1),
        (NegativeDistance(), "linear", 3),
        (ThinPlate(), None, 3),
        (ThinPlate(), "constant", 3),
    ],
)
def test_how_many_functions_are_not_penalised(kernel, unpenalized, count):
    model = KernelMachine(kernel, unpenalized=unpenalized).fit(X, Y)
    free = len(model.basis_coef_) if hasattr(model, "basis_coef_") else int(model.intercept_ != 0.0)
    assert free == count
    basis = {0: np.zeros((40, 0)), 1: np.ones((40, 1)), 2: np.zeros((40, 0)), 3: np.column_stack([np.ones(40), X])}
    assert np.abs(basis[count].T @ model.dual_coef_).max(initial=0.0) < 1e-6  # coefficients do not see them


def test_a_null_space_that_is_missing():
    with pytest.raises(CapabilityError, match="order 1"):
        KernelMachine(NegativeDistance(), unpenalized=lambda X: X).fit(X, Y)


def test_rows_are_enough_for_a_box_dual():
    big = random.normal(size=(2100, 1))
    y = np.sin(big[:, 0])
    model = KernelMachine(Gaussian(1.0), loss="epsilon_insensitive", unpenalized="constant", tol=1e-5)
    assert model.fit(big, y).gram_ == Tiles()
    assert model.fit(big[:50], y[:50]).gram_ == Dense()
    other = KernelMachine(Gaussian(1.0), loss="absolute", unpenalized="constant", solver=ProximalPoint(1e-6))
    assert other.fit(big[:50], y[:50]).gram_ == Dense()


def test_what_is_minimised_is_told():
    model = KernelMachine(Gaussian(1.0), alpha=0.3).fit(X, Y)
    energy = model.dual_coef_ @ Gaussian(1.0)(X) @ model.dual_coef_
    assert model.norm_**2 == pytest.approx(energy)
    assert model.risk_ == pytest.approx(0.5 * np.sum((Y - model.predict(X)) ** 2))
    assert model.objective_ == pytest.approx(model.risk_ + 0.15 * energy) and model.penalty_ == 0.3

"""Output spaces of one's own: three tables, or six verbs."""

import numpy as np
import pytest

from mercer import FiniteSpace, KernelCRF, OutputSpace, StructuredSVC
from mercer.errors import CapabilityError, TargetError
from mercer.estimators.structured.output_space import square_cost
from mercer.kernels import Gaussian
from mercer.testing import check_output_space


class Compass(FiniteSpace):
    """Four directions on a circle: two functions, their cosine and sine parts; opposite ones cost twice."""

    def learn(self, y):
        return self

    def encode(self, y):
        return np.array(["ENWS".index(one) for one in y])

    def decode(self, outputs):
        return np.array(list("ENWS"))[np.asarray(outputs)]

    def tables(self):
        angle = 0.5 * np.pi * np.arange(4)
        psi = np.column_stack([np.cos(angle), np.sin(angle)])
        return psi, np.zeros((4, 0)), np.round(1.0 - psi @ psi.T, 12)


def test_a_space_of_three_tables():
    check_output_space(Compass(), list("NEWSSE"))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(np.abs(X[:, 0]) > np.abs(X[:, 1]), np.where(X[:, 0] > 0, "E", "W"), np.where(X[:, 1] > 0, "N", "S"))
    for machine in (StructuredSVC, KernelCRF):
        assert machine(Gaussian(1.0), C=10.0, outputs=Compass()).fit(X, y).score(X, y) > 0.9


class Nothing(OutputSpace):
    """A space without sums and without a list."""

    def learn(self, y):
        return self

    def encode(self, y):
        return np.asarray(y)

    def decode(self, outputs):
        return np.asarray(outputs)

    def features(self, output, sites):
        return np.full((1, 1), float(output)), np.empty(0)

    def loss(self, truth, output):
        return float(truth != output)

    def augmented(self, F, w, truth):
        return int(F[0, 0] + (0.0 if truth is None else 1.0 - 2.0 * truth) > 0.0)


def test_what_a_space_lacks_is_said():
    F, w = np.ones((1, 1)), np.empty(0)
    for ask, message in [
        (lambda: Nothing().sums(F, w), "no sums"),
        (lambda: Nothing().outputs(1), "cannot list"),
        (lambda: Nothing().violated(F, w, 1, "slack"), "cannot list"),
    ]:
        with pytest.raises(CapabilityError, match=message):
            ask()
    X, y = np.array([[-1.0], [-0.5], [0.5], [1.0]]), [0, 0, 1, 1]
    assert StructuredSVC("linear", C=10.0, outputs=Nothing()).fit(X, y).score(X, y) == 1.0
    with pytest.raises(CapabilityError, match="no sums"):
        KernelCRF("linear", outputs=Nothing()).fit(X, y)


def test_a_space_whose_search_is_wrong_is_found_out():
    class Wrong(Compass):
        def augmented(self, F, w, truth):
            return 0

    with pytest.raises(AssertionError, match="best"):
        check_output_space(Wrong(), list("NEWS"))


def test_costs_are_square_and_not_negative():
    for cost in ([[0.0, 1.0]], [[0.0, -1.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 0.0]]):
        with pytest.raises(TargetError, match="square matrix"):
            square_cost(cost, 2)

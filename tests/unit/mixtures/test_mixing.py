"""Mixtures are specifications: they print, compare and check themselves."""

import pytest

import mercer
from mercer.errors import ParameterError
from mercer.mixtures import Alignment, Average, ElasticNet, Given, LpBall, Mixture, Simplex

EVERY = [Average(), Simplex(), LpBall(1.5), ElasticNet(0.3), Alignment(), Given((0.5, 1.0))]


@pytest.mark.parametrize("mixture", EVERY, ids=repr)
def test_they_are_written_as_they_are_read(mixture):
    assert isinstance(mixture, Mixture)
    assert mercer.parse(repr(mixture)) == mixture


@pytest.mark.parametrize("mixture", [LpBall(0.5), ElasticNet(1.5), Given((-1.0, 1.0))], ids=repr)
def test_parameters_are_checked(mixture):
    with pytest.raises(ParameterError):
        mixture.check()

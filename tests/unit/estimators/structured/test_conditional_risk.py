"""Conditional likelihoods: values by all outputs, derivatives by differences."""

from itertools import pairwise

import numpy as np
import pytest

from mercer import LabelSequences
from mercer.estimators.structured.conditional_risk import conditional_risk, observed
from mercer.estimators.structured.sample_spaces import SampleSpaces
from mercer.estimators.structured.structured_machine import Outputs

RNG = np.random.default_rng(0)
OFFSETS = np.array([0, 3, 5])
SPACE, CODES = LabelSequences(1).read([[0, 1, 1], [2, 0]])
DATA = Outputs(CODES, OFFSETS, np.array([1.0, 2.0]), np.arange(2), SampleSpaces(SPACE))


@pytest.mark.parametrize("exponential", [False, True])
def test_the_value_is_that_of_all_outputs_and_its_derivatives_are_differences(exponential):
    F, w = RNG.normal(size=(5, SPACE.width)), RNG.normal(size=9)
    risk, wanted = conditional_risk(DATA, 0.7, exponential=exponential), 0.0
    for i, (a, b) in enumerate(pairwise(OFFSETS)):
        scores = [SPACE.score(F[a:b], w, y) for y in SPACE.outputs(b - a)]
        p = np.exp(SPACE.score(F[a:b], w, CODES[i])) / np.exp(scores).sum()
        wanted += 0.7 * DATA.weight[i] * (1.0 / p - 1.0 if exponential else -np.log(p))
    value, by_values, by_weights = risk(F, w)
    assert value == pytest.approx(wanted)
    for table, slope in ((F, by_values), (w, by_weights)):
        for place in np.ndindex(table.shape):
            ends, kept = [], table[place]
            for h in (1e-5, -1e-5):
                table[place] = kept + h
                ends.append(risk(F, w)[0])
            table[place] = kept
            assert slope[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-7 * max(1.0, wanted))


def test_what_is_observed():
    psi, g, owner = observed(DATA)
    assert owner.tolist() == [0, 0, 0, 1, 1]
    for i, (a, b) in enumerate(pairwise(OFFSETS)):
        wanted, pairs = SPACE.features(CODES[i], b - a)
        np.testing.assert_array_equal(psi[a:b], wanted)
        np.testing.assert_array_equal(g[i], pairs)

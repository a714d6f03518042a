"""The check of output spaces finds what is wrong."""

import pytest

from mercer import ClassLabels, LabelSequences
from mercer.testing import check_output_space


class Forgetful(ClassLabels):
    def decode(self, outputs):
        return super().decode([0 for _ in outputs])


class Lossy(ClassLabels):
    def loss(self, truth, output):
        return 1.0


class Careless(LabelSequences):
    def sums_of_all(self, F, offsets, w, weight):
        logs, psi, g = super().sums_of_all(F, offsets, w, weight)
        return logs + 1.0, psi, g


@pytest.mark.parametrize(
    ("space", "y", "message"),
    [
        (Forgetful(), ["a", "b"], "decode loses"),
        (Lossy(), ["a", "b"], "has a loss"),
        (Careless(), [["a", "b"]], "log_partition"),
    ],
)
def test_faults_are_named(space, y, message):
    with pytest.raises(AssertionError, match=message):
        check_output_space(space, y)

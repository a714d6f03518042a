"""Support vector classifiers at several costs, by leaving one out."""

import numpy as np
import pytest

from mercer import SVC
from mercer.domains import Vectors
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.selection.margins import margin_leave_one_out

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
TWO = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 + 0.3 * rng.normal(size=60) > 1.2, "out", "in")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])]


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_decision_values_of_pairs(y):
    codes = np.unique(y, return_inverse=True)[1]
    count = codes.max() + 1
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
    (values,) = margin_leave_one_out(gram, codes, count, [3.0])
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    assert values.shape == (60, len(pairs))
    for column, (a, b) in enumerate(pairs):
        for i in (0, 7, 23, 51):
            kept = ((codes == a) | (codes == b)) & (np.arange(60) != i)
            machine = SVC(Gaussian(1.0), C=3.0).fit(X[kept], codes[kept] == a)
            assert values[i, column] == pytest.approx(machine.decision_function(X[i : i + 1])[0], abs=2e-3)


def test_several_costs_at_once_are_the_same():
    codes = (TWO == "in").astype(int)
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
    together = margin_leave_one_out(gram, codes, 2, [10.0, 1.0])
    for C, values in zip([10.0, 1.0], together, strict=True):
        np.testing.assert_allclose(values, margin_leave_one_out(gram, codes, 2, [C])[0], atol=1e-6)

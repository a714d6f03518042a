import numpy as np
import scipy.sparse as sp

from mercer.domains import Strings, Vectors
from mercer.estimators.boosting.ensemble import Merged


def test_equal_samples_are_one_with_the_sum_of_their_weights():
    X = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [1.0, 2.0]])
    y, w = np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0, 4.0])
    for S in (Vectors.pack(X), Vectors.pack(sp.csr_array(X))):
        merged = Merged.of(S, y, w)
        assert np.array_equal(merged.weight, [2.0, 4.0, 4.0]) and np.array_equal(merged.group, [1, 0, 1, 2])
        assert np.array_equal(merged.samples.X[merged.group], X) and np.array_equal(merged.values[merged.group], y)
        r = np.array([3.0, 8.0, 1.0])
        assert np.array_equal(merged.spread(r, w), [2.0, 3.0, 6.0, 1.0])


def test_other_domains_are_left_alone():
    S = Strings.pack(["a", "a"])
    merged = Merged.of(S, np.zeros(2), np.ones(2))
    assert merged.samples is S and np.array_equal(merged.group, [0, 1])

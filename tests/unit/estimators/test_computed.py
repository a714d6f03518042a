"""Arrays that are computed on demand are read-only; see tests/contract/test_computed.py for every estimator."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.estimators.computed import Computed, frozen


class Model:
    """Computes what it is asked for."""

    @Computed
    def coef_(self):
        return np.ones((1, 2))


def test_a_computed_array_refuses_to_be_written():
    with pytest.raises(ValueError, match="read-only"):
        Model().coef_[0, 0] = 99.0
    assert isinstance(Model.coef_, Computed)


def test_sparse_arrays_and_tuples_too_and_the_original_stays_writeable():
    own = np.zeros(2)
    frozen((own, 3.0))
    own[0] = 1.0
    M = frozen(sp.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match="read-only"):
        M.data[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        frozen((own, 3.0))[0][0] = 2.0
    assert frozen("text") == "text"

"""Arrays that are computed on demand are read-only; see tests/contract/test_computed.py for every estimator."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, KernelRidge, LinearSVC, load, save
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


@pytest.mark.parametrize("make", [SVC, KernelRidge, LinearSVC])
@pytest.mark.parametrize("again", ["pickle", "copy", "file"])
def test_what_a_model_tells_of_its_function_stays_read_only_when_it_comes_back(make, again, tmp_path):
    model = make().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    if again == "file":
        save(model, tmp_path / "model.mercer")
        model = load(tmp_path / "model.mercer")
    else:
        model = pickle.loads(pickle.dumps(model)) if again == "pickle" else copy.deepcopy(model)
    told = model.coef_ if make is LinearSVC else model.dual_coef_
    with pytest.raises(ValueError, match="read-only"):
        told[...] = 0.0

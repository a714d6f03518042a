import copy
import gc
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, OneClassSVM
from mercer.errors import ParameterError
from mercer.estimators.certificates.training_data import recall, remember
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = (X[:, 0] > 0).astype(int)


def test_a_model_is_certified_on_the_data_it_was_fitted_to():
    model = SVC(Gaussian(1.0)).fit(X, Y)
    assert model.certificate(delta=0.1, cv=None).best == model.certificate(X, Y, delta=0.1, cv=None).best
    detector = OneClassSVM(Gaussian(1.0), nu=0.2).fit(X)
    assert detector.certificate(cv=None).best == detector.certificate(X, cv=None).best


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_and_saved_models_ask_for_the_data(again):
    with pytest.raises(ParameterError, match="Give them"):
        again(SVC(Gaussian(1.0)).fit(X, Y)).certificate()


def test_data_that_are_gone_changed_or_lists_are_asked_for():
    model = SVC(Gaussian(1.0)).fit(X.copy(), Y)
    gc.collect()
    assert recall(model) is None
    changed = X.copy()
    model = SVC(Gaussian(1.0)).fit(changed, Y)
    changed *= 2.0
    assert recall(model) is None
    assert recall(SVC(Gaussian(1.0)).fit(X.tolist(), Y)) is None


def test_nothing_is_kept_alive_and_nothing_of_it_is_state():
    data = X.copy()
    model = SVC(Gaussian(1.0)).fit(data, Y)
    assert not any(value is data for value in vars(model).values())
    assert recall(model)[0] is data


def test_sparse_data_are_recognised():
    data = sp.csr_matrix(X)
    model = SVC(Gaussian(1.0))
    remember(model, data, Y)
    assert recall(model)[0] is data
    data.data *= 3.0
    assert recall(model) is None

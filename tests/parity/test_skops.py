"""Fitted models consist of what skops can write and read: its files, like mercer's, run no code."""

import pickle

import numpy as np
import pandas as pd
import pytest

from mercer import SVC, GaussianProcessRegressor, KernelRidge, LinearSVC
from mercer.domains import Frames, Vectors
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.problems import Status

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = (X[:, 0] > 0).astype(int)
TABLE = pd.DataFrame(X, columns=["a", "b", "c"])
WORDS = ["".join(RNG.choice(list("ab"), size=6)) for _ in range(30)]

MODELS = {
    "SVC": (SVC(), X),
    "word": (SVC("rbf", probability=True), X),
    "strings": (SVC(Spectrum(2)), WORDS),
    "table": (SVC(Gaussian(1.0).on(["a", "b"]) + Linear().on("c")), TABLE),
    "LinearSVC": (LinearSVC(), X),
    "KernelRidge": (KernelRidge(gram=Nystrom(10)), X),
    "process": (GaussianProcessRegressor(fixed="all"), X),
}


@pytest.mark.parametrize("name", MODELS)
def test_there_and_back(name):
    skops = pytest.importorskip("skops.io")
    model, data = MODELS[name]
    written = skops.dumps(model.fit(data, Y))
    unknown = skops.get_untrusted_types(data=written)
    assert all(kind.startswith(("mercer.", "scipy.sparse.")) for kind in unknown)
    again = skops.loads(written, trusted=unknown)
    np.testing.assert_array_equal(again.predict(data), model.predict(data))


@pytest.mark.parametrize("status", Status)
def test_a_status_is_made_again_by_its_class(status):
    make, arguments = status.__reduce__()
    assert make is Status and make(*arguments) is status
    assert pickle.loads(pickle.dumps(status)) is status


def test_the_parts_of_a_table_are_pairs_in_its_state():
    S = Frames.pack(X, {(0, 1): Vectors.pack, 2: lambda column: Vectors.pack(np.reshape(column, (-1, 1)))})
    assert all(isinstance(key, str) for key in S.__getstate__())
    assert isinstance(S.__getstate__()["parts"], list)
    again = pickle.loads(pickle.dumps(S))
    assert list(again.parts) == [(0, 1), 2] and len(again) == 30

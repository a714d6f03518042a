"""Samples as the folds see them."""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge
from mercer.choosing.sheets import fresh, last_of, learned, prefix_of, sheets
from mercer.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(12, 2)) * [1.0, 50.0]
Y = np.arange(12) % 2
SPLITS = [(np.arange(4, 12), np.arange(4)), (np.arange(8), np.arange(8, 12))]


def test_one_sheet_without_transformers():
    (sheet,) = sheets(None, X, Y, np.ones(12), SPLITS)
    assert sheet.parts[0] is X and [fold.number for fold in sheet.folds] == [0, 1]
    S, kernel = sheet.pack(SVC(Gaussian(1.0)))
    assert len(S) == 12 and kernel == Gaussian(1.0)


def test_transformers_are_fitted_to_training_parts():
    model = make_pipeline(StandardScaler(), SVC(Gaussian(1.0)))
    found = list(sheets(prefix_of(model), X, Y, np.arange(12.0), SPLITS))
    for sheet, (train, test) in zip(found, SPLITS, strict=True):
        scaler = StandardScaler().fit(X[train])
        np.testing.assert_allclose(sheet.parts[0], scaler.transform(X[train]))
        np.testing.assert_allclose(sheet.parts[1], scaler.transform(X[test]))
        (fold,) = sheet.folds
        np.testing.assert_array_equal(sheet.y[fold.test], Y[test])
        np.testing.assert_array_equal(sheet.weight[fold.train], train)
    assert prefix_of(SVC()) is None and isinstance(last_of(model), SVC)


def test_a_kernel_learns_from_the_training_part_alone():
    S, kernel = next(sheets(None, X, Y, np.ones(12), SPLITS)).pack(KernelRidge(Gaussian("median")))
    own = learned(KernelRidge(), kernel, S, Y.astype(float), np.ones(12), SPLITS[0][0])
    assert own == Gaussian("median").learn(S.take(SPLITS[0][0]))


def test_parameters_are_copied():
    model = SVC(Gaussian(1.0), C=2.0)
    other = fresh(model, {"C": 3.0, "kernel__length_scale": 4.0})
    assert model.C == 2.0 and other.C == 3.0 and other.kernel == Gaussian(4.0) and model.kernel == Gaussian(1.0)

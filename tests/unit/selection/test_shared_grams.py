"""Grids of parameters: the scores of scikit-learn's search, one matrix a kernel, the same with workers."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from mercer import SVC, KernelRidge
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Distributed
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.selection import shared_grams
from mercer.selection.shared_grams import grid_scores
from tests.trust.judge import unclear

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(60)
CLASSES = np.where(Y > 0.0, "up", "down")
GRID = {"kernel__length_scale": [0.3, 1.0], "alpha": [0.01, 1.0, 10.0]}


def theirs(estimator, y, grid, **options):
    search = GridSearchCV(estimator, grid, refit=False, **options).fit(X, y)
    folds = [name for name in search.cv_results_ if name.startswith("split")]
    table = {repr(sorted(p.items())): i for i, p in enumerate(search.cv_results_["params"])}
    scores = np.column_stack([search.cv_results_[name] for name in folds])
    return table, scores


def test_scores_are_those_of_scikit_learn():
    cv = KFold(4, shuffle=True, random_state=1)
    found = grid_scores(KernelRidge(Gaussian(1.0)), X, Y, GRID, cv=cv, scoring="neg_mean_squared_error")
    table, scores = theirs(KernelRidge(Gaussian(1.0)), Y, GRID, cv=cv, scoring="neg_mean_squared_error")
    order = [table[repr(sorted(p.items()))] for p in found.params]
    assert np.allclose(found.scores, scores[order], rtol=0, atol=1e-9)
    assert found.grams == 2
    assert found.best == found.params[int(np.argmax(scores[order].mean(axis=1)))]


def test_classifiers_have_folds_with_all_classes():
    grid = {"C": [0.1, 10.0]}
    found = grid_scores(SVC(Gaussian(1.0)), X, CLASSES, grid, cv=3)
    table, scores = theirs(SVC(Gaussian(1.0)), CLASSES, grid, cv=3)
    assert np.allclose(found.scores, scores[[table[repr(sorted(p.items()))] for p in found.params]])
    assert found.grams == 1


def test_each_matrix_is_computed_once(monkeypatch):
    calls, real = [], shared_grams._matrix
    monkeypatch.setattr(shared_grams, "_matrix", lambda task, kernel: calls.append(kernel) or real(task, kernel))
    grid = {"kernel": [Gaussian(1.0), Linear(), Gaussian(1.0)], "alpha": [0.1, 1.0]}
    found = grid_scores(KernelRidge(Linear()), X, Y, grid, cv=2)
    assert calls == [Gaussian(1.0), Linear()]
    assert found.grams == 2
    assert np.array_equal(found.scores[0], found.scores[2])


def test_kernels_that_learn_are_fitted_to_each_fold():
    found = grid_scores(KernelRidge(Gaussian("median")), X, Y, {"alpha": [0.1, 1.0]}, cv=3)
    table, scores = theirs(KernelRidge(Gaussian("median")), Y, {"alpha": [0.1, 1.0]}, cv=3)
    assert found.grams == 0
    assert np.allclose(found.scores, scores[[table[repr(sorted(p.items()))] for p in found.params]])


def test_strings_have_shared_matrices_too():
    words = ["".join(RNG.choice(list("ab"), 9)) for _ in range(30)]
    found = grid_scores(SVC(Spectrum(2)), words, CLASSES[:30], {"C": [1.0, 5.0], "kernel__length": [1, 2]}, cv=2)
    assert found.grams == 2
    assert found.scores.shape == (4, 2)


def test_workers_give_the_same_scores(tmp_path):
    distributed = pytest.importorskip("distributed")
    here = grid_scores(KernelRidge(Gaussian(1.0)), X, Y, GRID, cv=3)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, local_directory=tmp_path,
        silence_logs=50,
    ) as cluster:  # fmt: skip
        there = grid_scores(KernelRidge(Gaussian(1.0)), X, Y, GRID, cv=3, at=Distributed(cluster.scheduler_address))
    assert np.array_equal(here.scores, there.scores)
    assert here.params == there.params


@pytest.mark.parametrize("grid", [{}, {"alpha": []}])
def test_grids_without_values_are_refused(grid):
    with pytest.raises(ParameterError) as raised:
        grid_scores(KernelRidge(Gaussian(1.0)), X, Y, grid)
    assert not unclear(raised.value)


def test_kernels_have_to_be_written_out():
    with pytest.raises(CapabilityError) as raised:
        grid_scores(KernelRidge("rbf"), X, Y, {"alpha": [1.0]})
    assert not unclear(raised.value)

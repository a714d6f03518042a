"""Searches on workers: the same scores to the bit, and what cannot be spread is refused."""

import numpy as np
import pytest

import mercer
from mercer import SVC, KernelRidge
from mercer.choosing import Alignment, CrossValidation, Effort, KernelSearchCV, LeaveOneOut
from mercer.choosing.dispatch import by_kernel
from mercer.choosing.effort import require_workers
from mercer.errors import CapabilityError, TimeBudgetError
from mercer.gram import Distributed, Nystrom
from mercer.kernels import Gaussian, Spectrum
from mercer.runtime import workers
from tests.trust.judge import unclear

RNG = np.random.default_rng(0)
X = RNG.standard_normal((48, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(48)
CLASSES = np.where(Y > 0.0, "up", "down")
GRID = {"kernel__length_scale": [0.3, 1.0], "alpha": [0.01, 1.0, 10.0]}


def scores(at, estimator=None, X=X, y=Y, grid=GRID, **more):
    search = KernelSearchCV(estimator or KernelRidge(Gaussian(1.0)), grid, cv=3, at=at, **more).fit(X, y)
    return np.column_stack([search.cv_results_[f"split{j}_test_score"] for j in range(3)]), search


@pytest.mark.parametrize("widths", [[0.3, 1.0], [0.3, 0.5, 1.0, 2.0]], ids=["one fold a task", "one kernel a task"])
def test_tasks_give_the_scores_of_one_process(widths):
    grid = {**GRID, "kernel__length_scale": widths}
    here, one = scores(None, grid=grid)
    there, other = scores(Distributed("here"), grid=grid)
    assert np.array_equal(here, there) and one.best_params_ == other.best_params_ and other.complete_


def test_machines_and_strings_too():
    words = ["".join(RNG.choice(list("ab"), 9)) for _ in range(48)]
    grid = {"C": [1.0, 5.0], "kernel__length": [1, 2]}
    given = {"estimator": SVC(Spectrum(2)), "X": words, "y": CLASSES, "grid": grid}
    assert np.array_equal(scores(None, **given)[0], scores(Distributed("here"), **given)[0])


def test_workers_of_a_cluster_give_the_same_scores(tmp_path):
    distributed = pytest.importorskip("distributed")
    here = scores(None)[0]
    left_out = mercer.search(KernelRidge(Gaussian(1.0)), X, Y, GRID, criterion=LeaveOneOut(), refit=False)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, local_directory=tmp_path,
        silence_logs=50,
    ) as cluster:  # fmt: skip
        at = Distributed(cluster.scheduler_address)
        with at.open():
            there = scores(at)[0]
            other = mercer.search(KernelRidge(Gaussian(1.0)), X, Y, GRID, criterion=LeaveOneOut(), refit=False, at=at)
    assert np.array_equal(here, there)
    assert np.array_equal(left_out.values, other.values) and other.complete


def test_the_end_of_the_time_keeps_what_is_there():
    seen = []

    def late(share):
        seen.append(share)

    search = scores(Distributed("here"), effort=Effort(max_time=1e9), progress=late)[1]
    assert seen[-1] == 1.0 and search.complete_


@pytest.mark.parametrize("criterion", [CrossValidation(3), LeaveOneOut()], ids=["folds", "left out"])
def test_no_worker_is_waited_for_beyond_the_end_of_the_time(criterion, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "_PATIENCE", 3.0)
    with distributed.LocalCluster(
        n_workers=0, processes=False, dashboard_address=None, local_directory=tmp_path, silence_logs=50
    ) as cluster, pytest.raises(TimeBudgetError, match="no worker"):  # fmt: skip
        given = {"criterion": criterion, "at": Distributed(cluster), "effort": Effort(max_time=0.3)}
        mercer.search(KernelRidge(Gaussian(1.0)), X, Y, GRID, **given)


def test_candidates_that_share_a_matrix_stay_together():
    candidates = [{"svc__C": 1, "svc__kernel__alpha": a} for a in (1, 2)] + [{"svc__C": 2, "svc__kernel__alpha": 1}]
    assert by_kernel(candidates) == [[0, 2], [1]]
    kernels = [Gaussian((1.0, 1.0 + 1e-12)), Gaussian((1.0, 1.0))]  # which may print alike
    assert by_kernel([{"kernel": kernel, "C": C} for C in (1, 2) for kernel in kernels]) == [[0, 2], [1, 3]]


@pytest.mark.parametrize("at", ["tcp://here", Distributed("here", gram=Nystrom(5))], ids=["a text", "a factor"])
def test_other_places_are_refused(at):
    with pytest.raises(CapabilityError) as raised:
        require_workers(at)
    assert not unclear(raised.value)


def test_steps_that_follow_from_one_another_are_refused():
    bounds = {"kernel__length_scale": (0.1, 10.0)}
    with pytest.raises(CapabilityError) as raised:
        mercer.search(
            KernelRidge(Gaussian(1.0)), X, Y, bounds, criterion=Alignment(), at=Distributed("here"), refit=False
        )
    assert not unclear(raised.value)

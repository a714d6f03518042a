"""One run of fit: progress, time, and an estimator left whole."""

import copy
import gc
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, KernelRidge, LinearSVC, OneClassSVM, estimators, load, save
from mercer.errors import IndefiniteWarning, ParameterError, TargetError, TimeBudgetError
from mercer.estimators.fits import (
    _CALLBACK_STATE,
    STEPS,
    Computed,
    Run,
    _share,
    fitting,
    frozen,
    recall,
    remember,
    whole,
)
from mercer.kernels import Gaussian, Sigmoid
from mercer.problems import Status
from mercer.runtime.tiling import Stopped
from mercer.targets import Multiclass


class Context:
    def __init__(self, answers=()):
        self.told, self.answers = 0, list(answers)

    def subcontext(self, task_name):
        return self

    def call_on_fit_task_begin(self, estimator, **data):
        pass

    def call_on_fit_task_end(self, estimator, **data):
        self.told += 1
        return self.told in self.answers


class Estimator:
    memory = n_threads = None

    def __init__(self, max_time=None, answers=(), listened=True):
        self.max_time, self.context = max_time, Context(answers)
        if listened:
            self._skl_callbacks = [object()]

    def _init_callback_context(self, max_subtasks):
        assert max_subtasks == STEPS
        return self.context


def test_stages_fill_the_hundred_steps_once():
    estimator = Estimator()
    run = Run(estimator)
    with run.stage("first", 0.5):
        assert not run.monitor(0.5)
        assert run.done == 25
        assert not run.monitor(0.4)  # progress never goes back
        assert run.done == 25
    assert run.done == 50
    run.end(None)
    assert run.done == STEPS and estimator.context.told == STEPS + 1


def test_a_callback_stops_a_stage():
    run = Run(Estimator(answers=[3]))
    assert not run.monitor(0.02) and run.monitor(0.05)
    with pytest.raises(TimeBudgetError, match="stopped by a callback"), run.stage("Gram matrix", 1.0):
        raise Stopped


def test_time_runs_out():
    run = Run(Estimator(max_time=1e-9, listened=False))
    assert run.monitor(0.1) and run.solver_monitor(1e-6)(1, 0.5) is Status.TIME
    with pytest.raises(TimeBudgetError, match="max_time"), run.stage("Gram matrix", 1.0):
        raise TimeoutError


def test_nobody_watching_costs_nothing():
    assert Run(Estimator(listened=False)).resources().monitor is None
    assert Run(Estimator()).resources().monitor is not None


def test_share_is_logarithmic():
    assert _share(1.0, 1.0, 1e-8) == 0.0 and _share(1.0, 2.0, 1e-8) == 0.0
    assert _share(1.0, 1e-4, 1e-8) == pytest.approx(0.5) and _share(1.0, 1e-9, 1e-8) == 1.0
    assert _share(1.0, 0.0, 1e-8) == 1.0


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failed_fit_leaves_no_trace(error):
    estimator = Estimator()
    estimator.kept_ = before = object()
    with pytest.raises(error), whole(estimator):
        estimator.kept_, estimator.new_ = None, 1
        estimator._callback_fit_ctx = "needed by scikit-learn's teardown"
        raise error
    assert estimator.kept_ is before and not hasattr(estimator, "new_")
    assert estimator._callback_fit_ctx == "needed by scikit-learn's teardown"


X, LABELS = np.arange(12.0).reshape(6, 2), ["a", "b"] * 3


def test_one_way_in_gives_what_counts():
    model = SVC()
    with fitting(model, X, LABELS, [1, 1, 0, 2, 1, 1], Multiclass()) as data:
        assert len(data.packed) == 6 and len(data.samples) == 5
        np.testing.assert_array_equal(data.values, [0, 1, 1, 0, 1])
        np.testing.assert_array_equal(data.weight, [1, 1, 2, 1, 1])
        np.testing.assert_array_equal(data.used, [0, 1, 3, 4, 5])
        assert model.classes_.tolist() == model.target_.classes.tolist() == ["a", "b"]
        assert data.run.done == 0
    assert data.run.done == STEPS


def test_without_a_target_y_is_not_looked_at():
    with fitting(KernelRidge(), X, "anything") as data:
        assert not data.values.any() and len(data.values) == 6


def test_doors_are_passed_in_order():
    bad = SVC(C=-1.0)
    with pytest.raises(ParameterError), fitting(bad, "no samples", None, None, Multiclass()):
        pass
    with pytest.raises(TargetError), fitting(SVC(), X, LABELS[:5], [-1] * 6, Multiclass()):
        pass


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_fails_inside_leaves_the_estimator_as_it_was(error):
    model = SVC().fit(X, LABELS)
    before = dict(vars(model))
    with pytest.raises(error), fitting(model, X, ["c", "d"] * 3, None, Multiclass()):
        raise error
    kept = {name: value for name, value in vars(model).items() if name not in _CALLBACK_STATE}
    assert kept.keys() == before.keys() and all(kept[name] is before[name] for name in before)


def test_warnings_point_to_the_line_of_the_user():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        SVC(Sigmoid()).fit(X, LABELS)
    assert [one.filename for one in told if one.category is IndefiniteWarning] == [__file__]


def test_every_fit_goes_this_way():
    sources = Path(estimators.__file__).parent.rglob("*.py")
    own = [path.name for path in sources if "run.begin(" in path.read_text() and path.name != "fits.py"]
    assert own == []


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


RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(40, 2))
SIDES = (DATA[:, 0] > 0).astype(int)


def test_a_model_is_certified_on_the_data_it_was_fitted_to():
    model = SVC(Gaussian(1.0)).fit(DATA, SIDES)
    assert model.certificate(delta=0.1, cv=None).best == model.certificate(DATA, SIDES, delta=0.1, cv=None).best
    detector = OneClassSVM(Gaussian(1.0), nu=0.2).fit(DATA)
    assert detector.certificate(cv=None).best == detector.certificate(DATA, cv=None).best


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_and_saved_models_ask_for_the_data(again):
    with pytest.raises(ParameterError, match="Give them"):
        again(SVC(Gaussian(1.0)).fit(DATA, SIDES)).certificate()


def test_data_that_are_gone_changed_or_lists_are_asked_for():
    model = SVC(Gaussian(1.0)).fit(DATA.copy(), SIDES)
    gc.collect()
    assert recall(model) is None
    changed = DATA.copy()
    model = SVC(Gaussian(1.0)).fit(changed, SIDES)
    changed *= 2.0
    assert recall(model) is None
    assert recall(SVC(Gaussian(1.0)).fit(DATA.tolist(), SIDES)) is None


def test_nothing_is_kept_alive_and_nothing_of_it_is_state():
    data = DATA.copy()
    model = SVC(Gaussian(1.0)).fit(data, SIDES)
    assert not any(value is data for value in vars(model).values())
    assert recall(model)[0] is data


def test_sparse_data_are_recognised():
    data = sp.csr_matrix(DATA)
    model = SVC(Gaussian(1.0))
    remember(model, data, SIDES)
    assert recall(model)[0] is data
    data.data *= 3.0
    assert recall(model) is None

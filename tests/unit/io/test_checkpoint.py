"""Files of checkpoints: whole at every moment, of one fit only, and damage is found out."""

import os

import numpy as np
import pytest

from mercer.errors import CheckpointError, ParameterError
from mercer.estimators import SVC, KernelRidge
from mercer.gram import Tiles
from mercer.io import checkpoint as module
from mercer.io.checkpoint import Checkpoint
from mercer.kernels import Gaussian
from mercer.solvers import ConjugateGradient

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.sin(X[:, 0])


def ridge(alpha=0.01, **options):
    return KernelRidge(Gaussian(1.0), alpha=alpha, gram=Tiles(), **options)


@pytest.fixture
def begun(tmp_path):
    """The path of a checkpoint of an interrupted fit, with the one before it."""
    path = tmp_path / "fit.checkpoint"

    class Late(Checkpoint):
        writes = 0

        def _write(self, entries):
            super()._write(entries)
            self.writes += 1
            if self.writes == 4:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ridge().set_callbacks(Late(path, every=0)).fit(X, Y)
    assert {p.name for p in tmp_path.iterdir()} == {"fit.checkpoint", "fit.checkpoint.previous"}
    return path


def test_resumed_and_removed(begun):
    saved = Checkpoint(begun)
    assert saved.found and repr(saved).startswith("Checkpoint(") and saved.previous.endswith(".previous")
    model = ridge(n_threads=1, memory="1GB", max_time=60.0).set_callbacks(saved).fit(X, Y)  # budgets may differ
    assert saved.resumed and np.array_equal(model.dual_coef_, ridge().fit(X, Y).dual_coef_)
    assert not saved.found


@pytest.mark.parametrize(
    "model, data, word",
    [
        (ridge(alpha=0.1), (X, Y), "alpha=0.01, this fit has alpha=0.1"),
        (ridge(solver=ConjugateGradient(tol=1e-3)), (X, Y), "solver=None"),
        (ridge(), (X + 1.0, Y), "another X"),
        (ridge(), (X, Y + 1.0), "another y"),
        (SVC(), (X, np.sign(Y)), "KernelRidge, this is SVC"),
    ],
)
def test_another_fit_is_refused(begun, model, data, word):
    with pytest.raises(CheckpointError, match=word):
        model.set_callbacks(Checkpoint(begun)).fit(*data)
    assert begun.exists()


def test_weights_and_versions_are_compared(begun, monkeypatch):
    with pytest.raises(CheckpointError, match="another shift"):
        ridge().set_callbacks(Checkpoint(begun)).fit(X, Y, sample_weight=np.linspace(1, 2, 60))
    monkeypatch.setattr(module, "versions", lambda: {"mercer": "0.0"})
    with pytest.raises(CheckpointError, match=r"this is mercer 0\.0"):
        ridge().set_callbacks(Checkpoint(begun)).fit(X, Y)


def test_damage_is_found_and_the_one_before_is_taken(begun):
    data = bytearray(begun.read_bytes())
    data[-5] ^= 1
    begun.write_bytes(data)
    with pytest.warns(UserWarning, match="damaged"):
        model = ridge().set_callbacks(Checkpoint(begun, keep=True)).fit(X, Y)
    assert np.array_equal(model.dual_coef_, ridge().fit(X, Y).dual_coef_)
    saved = Checkpoint(begun)
    for path in (begun, saved.previous):
        with open(path, "wb") as stream:
            stream.write(b"\x80\x04 a pickle, perhaps")
    with pytest.raises(CheckpointError, match="Remove it"):
        ridge().set_callbacks(saved).fit(X, Y)
    saved.remove()
    saved.remove()
    os.replace(_model_file(begun), begun)
    with pytest.raises(CheckpointError, match="another kind"):
        ridge().set_callbacks(saved).fit(X, Y)


def _model_file(path):
    from mercer.io.model_file import save

    save(ridge().fit(X, Y), path.with_suffix(".mercer"))
    return path.with_suffix(".mercer")


def test_lost_newest_file(begun):
    begun.unlink()
    saved = Checkpoint(begun)
    ridge().set_callbacks(saved).fit(X, Y)
    assert saved.resumed


def test_out_of_time_the_state_stays(tmp_path):
    saved = Checkpoint(tmp_path / "c")
    with pytest.warns(UserWarning, match="stopped at residual"):
        ridge(max_time=1e-9).set_callbacks(saved).fit(X, Y)
    assert saved.found
    model = ridge().set_callbacks(saved).fit(X, Y)
    assert saved.resumed and np.array_equal(model.dual_coef_, ridge().fit(X, Y).dual_coef_)


def test_a_disk_that_is_full_does_not_end_the_fit(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_atomically", full)
    with pytest.warns(UserWarning, match="could not be written"):
        ridge().set_callbacks(Checkpoint(tmp_path / "c", every=0)).fit(X, Y)


def test_one_fit_at_a_time(tmp_path):
    saved = Checkpoint(tmp_path / "c")
    saved.setup(None, None)
    saved.store = module.Store()
    with pytest.raises(CheckpointError, match="in use"):
        saved.setup(None, None)
    with pytest.raises(ParameterError, match="span of time"):
        Checkpoint(tmp_path / "c", every="soon")


def test_states_of_all_kinds_come_back():
    encoder = module._Encoder()
    state = {"a": np.arange(6).reshape(2, 3), "b": [np.array(True), None, 1.5, float("inf")], "c": {"array": "text"}}
    state |= {"rng": np.random.default_rng(0).bit_generator.state, "f": np.asfortranarray(np.ones((2, 3), np.float32))}
    again = module._decoded(encoder.value(state), encoder.numbers())
    assert np.array_equal(again["a"], state["a"]) and again["b"][0].shape == () and again["b"][3] == float("inf")
    assert again["c"] == {"array": "text"} and again["rng"] == state["rng"] and again["f"].dtype == np.float32


def test_a_folder_that_is_not_there_is_told_before_the_work(tmp_path):
    model = KernelRidge().set_callbacks(Checkpoint(tmp_path / "nowhere" / "state"))
    with pytest.raises(CheckpointError, match="not a folder"):
        model.fit(np.eye(3), np.ones(3))
    assert not hasattr(model, "expansion_")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_a_pipe_is_no_place_for_a_state(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="ordinary files"):
        ridge().set_callbacks(Checkpoint(tmp_path / "pipe")).fit(X, Y)


def test_what_a_killed_process_left_is_removed(tmp_path):
    left, other = tmp_path / ".fit.checkpoint.123.tmp", tmp_path / ".another.123.tmp"
    left.write_text("torn")
    other.write_text("not ours")
    ridge().set_callbacks(Checkpoint(tmp_path / "fit.checkpoint")).fit(X, Y)
    assert not left.exists() and other.exists()


def test_a_state_of_another_schema_is_refused(begun, monkeypatch):
    monkeypatch.setattr(module, "SCHEMA", module.SCHEMA + 1)
    with pytest.raises(CheckpointError, match=f"it has schema {module.SCHEMA - 1}; this version reads"):
        ridge().set_callbacks(Checkpoint(begun)).fit(X, Y)

"""Crews: the same tasks here and on workers, hiring and dismissing."""

import importlib.util
import multiprocessing
import threading
import time
import warnings

import numpy as np
import pytest

import mercer
from mercer.errors import CapabilityError, ParameterError, TimeBudgetError
from mercer.gram.tree_sums import tree_sum
from mercer.runtime import workers as cluster
from mercer.runtime.workers import ClusterError, Here, dismiss, hire, require_safe, share
from tests.trust.judge import unclear


def test_workers_give_the_same_bits_as_this_process(threads):
    rng = np.random.default_rng(0)
    blocks = [rng.standard_normal((50, 7)) for _ in range(9)]

    def squares(crew):
        held = [crew.hold(block) for block in blocks]
        return crew.gather([tree_sum(crew, 9, lambda i: crew.submit(_square, held[i]))])[0]

    crew = hire(threads)
    try:
        assert np.array_equal(squares(crew)[0], squares(Here())[0])
    finally:
        dismiss(crew)


def _square(block):
    return (block.T @ block,)


def test_a_crew_is_shared_and_goes_home_with_the_last(threads):
    one, other = hire(threads), hire(threads)
    assert one is other
    assert share(one) is one
    dismiss(one)
    dismiss(one)
    assert one.gather([one.submit(max, 1, 2)]) == [2]
    dismiss(one)
    assert one.closed
    with pytest.raises(ClusterError) as raised:
        one.submit(abs, 1)
    assert not unclear(raised.value)


def test_what_a_task_raises_is_raised_here(threads):
    crew = hire(threads)
    with pytest.raises(ZeroDivisionError):
        crew.gather([crew.submit(divmod, 1, 0)])
    dismiss(crew)


def test_workers_of_another_version_are_refused(threads, monkeypatch):
    monkeypatch.setattr(cluster, "_version", iter([mercer.__version__, "0.0.0", "0.0.0"]).__next__)
    with pytest.raises(ClusterError, match=r"mercer 0\.0\.0") as raised:
        hire(threads)
    assert not unclear(raised.value)
    assert not cluster._hired


def test_a_scheduler_that_is_not_there():
    pytest.importorskip("distributed")
    with pytest.raises(ClusterError, match="no scheduler") as raised:
        hire("inproc://nobody/1/2")
    assert not unclear(raised.value)


@pytest.mark.parametrize(
    "address", ["127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:5", "inproc://x", "tls://far:1"]
)
def test_addresses_of_this_machine_or_with_encryption_are_safe(address):
    require_safe(address, trusted=False)


@pytest.mark.parametrize("address", ["tcp://far:8786", "far:8786", "ws://far:80", "far"])
def test_other_addresses_need_trust(address):
    with pytest.raises(ParameterError, match="encryption") as raised:
        require_safe(address, trusted=False)
    assert not unclear(raised.value)
    require_safe(address, trusted=True)


def test_without_dask_there_is_an_error_that_says_what_to_do(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "dask" else real(name))
    with pytest.raises(CapabilityError, match="pip install") as raised:
        hire(None)
    assert not unclear(raised.value)
    assert isinstance(hire("here"), Here)


def test_a_program_without_a_main_guard_is_told_so(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(ClusterError, match="__main__"):
        hire(None)
    assert not cluster._hired


def test_signals_are_left_to_the_process_the_user_sees(monkeypatch):
    seen = []
    monkeypatch.setattr(cluster.signal, "signal", lambda *given: seen.append(given))
    cluster.dask_setup(None)
    assert seen == [(cluster.signal.SIGINT, cluster.signal.SIG_IGN)]


# waiting ----------------------------------------------------------------------------------------------------


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A cluster in this process without workers, and a crew that soon loses patience."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "_SILENT", 0.1)
    monkeypatch.setattr(cluster, "_PATIENCE", 1.0)
    monkeypatch.setattr(cluster, "_LOOK", 0.05)
    options = {
        "n_workers": 0,
        "silence_logs": 50,
        "processes": False,
        "threads_per_worker": 1,
        "dashboard_address": None,
    }
    with distributed.LocalCluster(**options, local_directory=str(tmp_path)) as made:
        yield made


def test_a_scheduler_without_workers_is_told_of_and_given_up(empty):
    with pytest.warns(UserWarning, match="no worker"), pytest.raises(ClusterError, match="dask worker") as raised:
        hire(empty)
    assert not unclear(raised.value) and not cluster._hired


def test_no_worker_is_waited_for_beyond_the_end_of_the_time(empty, monkeypatch):
    monkeypatch.setattr(cluster, "_PATIENCE", 1e9)
    with warnings.catch_warnings(), pytest.raises(TimeBudgetError, match="no worker"):
        warnings.simplefilter("ignore")
        hire(empty, deadline=time.monotonic() + 0.3)


@pytest.mark.parametrize("limited", [False, True])
def test_a_crew_that_is_gone_is_not_waited_for(empty, limited, monkeypatch):
    empty.scale(1)
    with empty.get_client() as client:
        crew = hire(client)  # a client that is there, which stays so
        assert crew.gather([crew.submit(abs, -1)]) == [1]
        empty.scale(0)
        monkeypatch.setattr(cluster, "_PATIENCE", 1e9 if limited else 1.0)
        with warnings.catch_warnings(), pytest.raises(TimeBudgetError if limited else ClusterError, match="no worker"):
            warnings.simplefilter("ignore")
            crew.gather([crew.submit(abs, -2)], time.monotonic() + 0.3 if limited else None)
        dismiss(crew)
        empty.scale(1)
        assert client.submit(abs, -3).result() == 3


OVER = threading.Event()


def _wait_for_it():
    OVER.wait(60.0)


def test_workers_that_hang_are_not_waited_for_beyond_the_end_of_the_time(empty, monkeypatch):
    monkeypatch.setattr(cluster, "_GRACE", 0.2)
    empty.scale(1)
    crew = hire(empty)
    with pytest.raises(TimeBudgetError, match=r"no worker at .* has ended a task"):
        crew.gather([crew.submit(_wait_for_it)], time.monotonic())
    OVER.set()
    dismiss(crew)

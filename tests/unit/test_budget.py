"""Budgets: sizes in words, plans and refusals, clocks."""

import time

import numpy as np
import pytest

from mercer import budget
from mercer.budget import Clock, Plan, Resources, format_bytes, parse_bytes, parse_seconds
from mercer.errors import MemoryBudgetError, ParameterError
from tests.clock import allowed


@pytest.mark.parametrize(
    ("size", "number"),
    [
        ("2GB", 2 * 10**9),
        ("512 MiB", 512 * 2**20),
        ("1.5KiB", 1536),
        ("1e3", 1000),
        (" .5 tb ", 5 * 10**11),
        ("7b", 7),
        (100, 100),
        (1e9, 10**9),
        (np.int64(7), 7),
        (np.float64(7.9), 7),
    ],
)
def test_sizes(size, number):
    assert parse_bytes(size) == number


@pytest.mark.parametrize(
    "size", ["", "GB", "2 gigabytes", "-1GB", "1e400GB", 0, -5, float("nan"), float("inf"), True, None, [1]]
)
def test_what_is_no_size(size):
    with pytest.raises(ParameterError, match="memory="):
        parse_bytes(size)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1536, "1.5 KiB"),
        (99.6 * 1024, "100 KiB"),
        (12.4 * 2**20, "12 MiB"),
        (720e9, "671 GiB"),
        (9.99 * 2**30, "10 GiB"),
        (5000 * 2**40, "5000 TiB"),
    ],
)
def test_sizes_in_words(size, text):
    assert format_bytes(size) == text


def test_free_memory_is_a_number_of_this_machine():
    assert 2**20 < budget.free_memory() < 2**60


def test_what_is_used_is_read_only_beside_a_limit(monkeypatch):
    asked = []
    monkeypatch.setattr(budget, "_read_number", lambda path: asked.append(path))
    assert budget.free_memory() > 2**20
    assert asked == ["/sys/fs/cgroup/memory.max"]


def test_free_memory_without_the_files_of_linux(monkeypatch):
    def missing(path, flags):
        raise OSError

    monkeypatch.setattr(budget.os, "open", missing)
    assert budget._read("/proc/meminfo") == b""
    assert budget.free_memory() > 2**20


def test_the_control_group_is_respected(monkeypatch):
    numbers = {"/sys/fs/cgroup/memory.max": 5000, "/sys/fs/cgroup/memory.current": 2000}
    monkeypatch.setattr(budget, "_read_number", numbers.get)
    assert budget.free_memory() == 3000
    monkeypatch.setattr(budget, "_read_number", {**numbers, "/sys/fs/cgroup/memory.current": 9000}.get)
    assert budget.free_memory() == 0
    monkeypatch.setattr(budget, "_read_number", lambda path: None)  # no limit
    assert budget.free_memory() > 3000


def test_a_budget_is_a_share_of_what_is_free(monkeypatch):
    monkeypatch.setattr(budget, "free_memory", lambda: 1000)
    assert budget.budget(None) == 700
    assert budget.budget("1KB") == 1000


def test_a_plan_that_fits_is_returned():
    plan = Plan("ridge", {"Gram matrix": 800, "copy": 200})
    assert plan.total == 1000
    assert plan.require(1000) is plan
    assert str(plan).splitlines() == ["ridge: 1000 B", "  Gram matrix: 800 B", "  copy: 200 B"]


def test_a_refusal_names_the_buffer_the_budget_and_the_ways_out():
    plan = Plan("KernelRidge on 300000 rows", {"Gram matrix": 720 * 10**9, "copy": 8}, ("gram=Tiles()",))
    with pytest.raises(MemoryBudgetError) as refused:
        plan.require("14GiB")
    text = str(refused.value)
    for part in ("KernelRidge on 300000 rows", "671 GiB for the Gram matrix", "in all", "budget 14 GiB"):
        assert part in text
    assert "gram=Tiles()" in text and "memory= of at least" in text


@pytest.mark.timing
def test_refusals_are_quick():
    began = time.perf_counter()
    for _ in range(20):
        with pytest.raises(MemoryBudgetError):
            Plan("x", {"Gram matrix": 10**18}).require(None)
    assert time.perf_counter() - began < allowed(1.0)


def test_clocks():
    assert not Clock.start(None).expired and Clock.start(0.0).seconds >= 0.0
    clock = Clock.start(0.01)
    time.sleep(0.02)
    assert clock.expired and clock.seconds >= 0.02
    assert not Clock.start(60.0).expired


def test_resources_ask_for_nothing():
    assert Resources() == Resources(None, None, None)


def test_spans_of_time():
    assert [parse_seconds(span) for span in ("60s", "1.5 min", 10, 0)] == [60.0, 90.0, 10.0, 0.0]
    for span in ("soon", "", "-1 s", -1, float("nan"), float("inf"), None, True):
        with pytest.raises(ParameterError, match="is not a span of time"):
            parse_seconds(span)


def test_files_of_the_system_that_are_not_numbers(tmp_path):
    path = tmp_path / "memory.max"
    assert budget._read_number(str(path)) is None
    for text, number in (("123\n", 123), ("max\n", None), ("", None)):
        path.write_text(text)
        assert budget._read_number(str(path)) == number


def test_a_machine_that_tells_nothing_has_a_little_memory(monkeypatch):
    def nothing(*arguments):
        raise OSError

    monkeypatch.setattr(budget, "_read", lambda path: b"")
    monkeypatch.setattr(budget.os, "sysconf", nothing)
    assert budget.free_memory() == 4 * 2**30


def test_a_plan_as_text_and_as_a_table():
    plan = Plan("a fit", {"matrix": 2048, "vector": 8})
    assert str(plan) == "a fit: 2 KiB\n  matrix: 2 KiB\n  vector: 8 B"
    assert "<td" in plan._repr_html_() and "matrix" in plan._repr_html_()


def test_a_step_of_a_stage_may_be_stopped_but_tells_no_progress():
    seen = []
    assert Resources().quiet() == Resources()
    monitor = Resources(monitor=lambda share: seen.append(share) or True).quiet().monitor
    assert monitor(0.7) is True and seen == [0.0]


def test_blocks_are_as_large_as_the_budget_allows():
    assert Resources().largest_order(3000) == 3000
    assert Resources(memory=48_000_000).largest_order(3000) == 1000
    assert Resources(memory=48_000_000).largest_order(30) == 30 and Resources(memory=1).largest_order(30) == 2


def test_one_reading_inside_another_is_the_same(monkeypatch):
    free = iter([100, 200, 300])
    monkeypatch.setattr(budget, "free_memory", lambda: next(free))
    with budget.one_reading():
        first = budget.budget(None)
        with budget.one_reading():
            assert budget.budget(None) == first == 70
    assert budget.budget(None) == 140

"""What is known about the machine."""

import numpy as np

from mercer.cli import hardware as machine


def test_peak_memory_grows():
    before = machine.peak_memory()
    block = np.ones(20_000_000)
    after = machine.peak_memory()
    assert before > 1_000_000 and after >= before and block[0] == 1.0


def test_peak_memory_where_it_is_not_known(monkeypatch):
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: None)
    assert machine.peak_memory() is None


def test_units_of_other_systems(monkeypatch):
    linux = machine.peak_memory()
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    assert machine.peak_memory() < linux

"""What a fit has done, in words and as JSON."""

import numpy as np

from mercer.cli import fit_outcome as machine
from tests.unit.cli.commandline import run, run_json, write_table


def test_both_say_the_same(tmp_path):
    table = write_table(tmp_path / "t.csv")
    model = "KernelRidge(Gaussian(2.0).on(['age', 'dose']), alpha=0.5, gram=Nystrom(10, random_state=0))"
    options = ["fit", table, "-t", "y", "-e", model, "--folds", "0", "--no-report", "--force"]
    told, said = run_json(*options), run(*options).stdout
    assert told["target"] == "y" and told["data"]["samples"] == 90 and told["validation"] == "not validated"
    assert told["kernel"] == "Gaussian(2.0).on(['age', 'dose'])" and told["kernel"] in said
    assert "Nystrom" in told["gram"] and "alpha=0.5" in said and "not validated" in said
    assert str(table.with_suffix(".mercer").name) in said


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

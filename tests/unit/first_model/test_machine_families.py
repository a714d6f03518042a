"""Which machines a model of so many rows may be."""

import numpy as np

from mercer.first_model.machine_families import Aim, families, usual


def test_many_rows_or_classes_leave_least_squares():
    y = np.arange(100) % 3
    assert families(Aim("classification", 100), y)[0].name == "LSSVC"
    assert [one.name for one in families(Aim("classification", 30_000), y)] == ["LSSVC"]
    assert [one.name for one in families(Aim("regression", 30_000), y)] == ["KernelRidge"]
    assert usual(Aim("regression", 9)).name == "KernelRidge" and Aim("regression", 9).gram is None

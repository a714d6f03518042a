"""What is chosen from: the task, the kernels of a table, the rows that decide."""

import numpy as np
import pytest

from mercer.errors import DomainError, ParameterError
from mercer.kernels import Gaussian, Match, PartialTree, Spectrum, TfIdf
from mercer.selection import automatic
from mercer.selection.automatic import (
    base_kernels,
    column_kernels,
    find_task,
    packed_for,
    some_rows,
    standard_deviation,
    table_kernels,
)

rng = np.random.default_rng(0)
COLUMNS = {
    "size": rng.normal(size=60) * 7.0 + 3.0,
    "age": rng.uniform(20.0, 70.0, size=60),
    "city": [["Oslo", "Rome", "Lima"][i % 3] for i in range(60)],
    "note": ["abcd"[i % 4 :] + "xyz" for i in range(60)],
    "same": np.full(60, 2.5),
}
KINDS = {"size": "number", "age": "number", "city": "category", "note": "text", "same": "number", "id": "identifier"}


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b", "a"], "classification"),
        ([True, False, True], "classification"),
        ([0, 1, 1], "classification"),
        ([0.0, 1.0, 1.0], "classification"),
        ([1, 2, 3] * 5, "classification"),
        ([1, 2, 3, 3], "regression"),  # too few rows for three classes
        (list(range(11)) * 9, "regression"),  # too many values
        ([0.5, 1.5] * 9, "regression"),
        ([4.0, 4.0, 4.0], "regression"),
    ],
)
def test_the_task_follows_the_rule(y, task):
    assert find_task(y) == task


def test_the_rows_that_decide_are_always_the_same():
    np.testing.assert_array_equal(some_rows(5, 10), np.arange(5))
    rows = some_rows(10_000, 100)
    np.testing.assert_array_equal(rows, some_rows(10_000, 100))
    assert len(np.unique(rows)) == 100 and np.all(np.diff(rows) > 0)


def test_kernels_of_a_table():
    kernels = table_kernels(COLUMNS, KINDS)
    assert len(kernels) == 2 * len(automatic.FACTORS)
    text = repr(kernels[0])
    assert text.endswith(".on(['size', 'age']) + Match().on('city') + Spectrum(3).normalized().on('note')")
    assert " * (0.5 * Match().on('city') + Constant(0.5)) * " in repr(kernels[1])
    scale = np.array(kernels[0].terms[0].kernel.length_scale)
    expected = automatic.FACTORS[0] * np.sqrt(2) * np.array([COLUMNS["size"].std(), COLUMNS["age"].std()])
    np.testing.assert_allclose(scale, expected, rtol=1e-3)
    for kernel in kernels:
        K = kernel(COLUMNS)
        assert np.linalg.eigvalsh(K).min() > -1e-10


def test_kernels_of_one_kind_only():
    assert table_kernels({"city": ["a", "b"]}, {"city": "category"}) == (Match().on("city"),)
    assert table_kernels({"t": ["ab", "b"]}, {"t": "text"}) == (Spectrum(1).normalized().on("t"),)
    assert table_kernels({"t": ["a cat", "the dog", "b"]}, {"t": "text"}) == (TfIdf().normalized().on("t"),)
    assert table_kernels({"t": ["a cat", "dog", "b"]}, {"t": "text"}) == (Spectrum(1).normalized().on("t"),)
    trees = ["(S (NP we))", "(S (NP (N you)) go)"]
    assert table_kernels({"t": trees}, {"t": "text"}) == (PartialTree().normalized().on("t"),)
    assert table_kernels({"t": [*trees, "(well) (so) what"]}, {"t": "text"}) == (TfIdf().normalized().on("t"),)
    assert all(isinstance(k.kernel, Gaussian) for k in table_kernels({"x": [1.0, 2.0]}, {"x": "number"}))
    with pytest.raises(DomainError, match="do not differ"):
        table_kernels({"x": [1.0, 1.0]}, {"x": "number"})


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200, 1e308])
def test_spreads_of_any_size(size):
    assert standard_deviation(np.array([0.25, 0.75]) * size) == pytest.approx(0.25 * size)
    assert standard_deviation(np.full(7, 0.1 * size)) == 0.0
    assert standard_deviation([]) == 0.0


def test_what_cannot_be_chosen():
    with pytest.raises(ParameterError, match="No kernel"):
        packed_for([], [[1.0]], np.ones(1))
    with pytest.raises(DomainError, match="two samples"):
        packed_for([Gaussian(1.0)], [[1.0]], np.ones(1))
    with pytest.raises(DomainError, match="same length"):
        packed_for([Gaussian(1.0)], [[1.0], [2.0]], np.array(["a"]))


def test_one_kernel_for_each_column():
    columns = {
        "age": [20.0, 30.0, 40.0],
        "city": ["Oslo", "Rome", "Oslo"],
        "flat": [1.0, 1.0, 1.0],
        "id": ["a", "b", "c"],
    }
    kinds = {"age": "number", "city": "category", "flat": "number", "id": "identifier"}
    found = column_kernels(columns, kinds)
    assert list(found) == ["age", "city"] and found["city"] == Match().on("city")
    with pytest.raises(DomainError, match="at least one must"):
        column_kernels({"flat": [1.0, 1.0]}, {"flat": "number"})


def test_kernels_to_be_composed():
    t = np.arange(36.0)
    bases = base_kernels({"t": t, "city": ["a", "b"] * 18}, {"t": "number", "city": "category"}, np.sin(t * np.pi / 4))
    assert [type(kernel.kernel).__name__ for kernel in bases] == ["Sum", "Gaussian", "Periodic", "Match"]
    assert bases[2].kernel.period == pytest.approx(8.0, rel=0.05)
    many = {name: np.arange(20.0) % 7 * (1 + place) for place, name in enumerate("abcde")}
    bases = base_kernels(many, dict.fromkeys(many, "number"), np.ones(20))
    assert [type(kernel.kernel).__name__ for kernel in bases] == ["Linear", "Gaussian"]
    repeated = base_kernels({"t": t % 5}, {"t": "number"}, t)
    assert len(repeated) == 2  # what occurs twice is no time
    assert base_kernels({"t": t}, {"t": "number"}, 2.0 * t)[2].kernel.period > 0.0  # nothing is left of a line
    with pytest.raises(DomainError, match="at least one must"):
        base_kernels({"flat": [1.0, 1.0]}, {"flat": "number"}, [1.0, 2.0])

"""What parameters may be, what is said when they are not, and the free vector to and fro."""

import math
from fractions import Fraction

import numpy as np
import pytest

from mercer.budget import Bytes
from mercer.constraints import (
    AnyOf,
    Array,
    Boolean,
    Each,
    Fixed,
    InstanceOf,
    Integer,
    Interval,
    OneOf,
    Optional,
    Positive,
    Satisfies,
    Several,
    is_real,
)
from mercer.errors import ParameterError
from mercer.spec import Spec

NAN, INF = math.nan, math.inf

ACCEPTED = [
    (Positive(), [1, 1.0, 1e-300, np.float32(2), np.int64(3)]),
    (Positive(vector=True), [1.0, (1.0, 2), [0.5], np.array([1.0, 2.0]), np.array([1, 2])]),
    (Positive(words=("median",)), ["median", 2.0]),
    (Interval(0, 1), [0, 1, 0.5]),
    (Interval(0, 1, closed="left"), [0, 0.999]),
    (Interval(0, 1, closed="right"), [1, 0.001]),
    (Interval(0, 1, closed="neither"), [5e-324, 0.5]),
    (Interval(-INF, INF), [-1e308, 0, 1e308]),
    (Interval(0, INF), [0.0, 1e308]),
    (Fixed(Positive()), [1.0]),
    (Integer(), [0, -3, np.int32(4)]),
    (Integer(1, 3), [1, 2, 3]),
    (OneOf("a", None, 2), ["a", None, 2, 2.0, np.str_("a")]),
    (Boolean(), [True, False, np.bool_(True)]),
    (InstanceOf(Spec, str), ["a", Spec()]),
    (AnyOf(Positive(), OneOf(INF)), [1.0, INF]),
    (Optional(Integer(1)), [None, 4]),
    (Each(Positive()), [0.5, (1.0, 2), [0.5], np.array([1.0, 2.0])]),
    (Each(Positive(), alone=False), [(1.0,), np.array([0.5])]),
    (Satisfies("a function", callable), [print]),
    (Bytes(), [1, 2.5e9, "2GB", "512 MiB"]),
]
REFUSED = [
    (
        Positive(),
        [0, -1.0, NAN, INF, True, np.bool_(True), "1.0", None, 1j, (1.0,), np.array([1.0]), 10**400],
    ),
    (Positive(), [np.array(1.0), [], {}]),
    (
        Positive(vector=True),
        [(), (1.0, 0.0), (1.0, True), np.ones((2, 2)), np.array([True]), np.empty(0), (1, "a")],
    ),
    (Positive(vector=True), [np.array(1.0), np.array([1.0, NAN]), ((1.0,),)]),
    (Positive(words=("median",)), ["mean", "1.0"]),
    (Interval(0, 1), [-1e-300, 1.0000001, NAN, -INF]),
    (Interval(0, 1, closed="left"), [1]),
    (Interval(0, 1, closed="right"), [0]),
    (Interval(0, 1, closed="neither"), [0, 1]),
    (Interval(-INF, INF), [INF, -INF, NAN]),
    (Interval(0, INF), [INF]),
    (Fixed(Positive()), [0.0]),
    (Integer(), [1.0, 1.5, "1", True, None]),
    (Integer(1, 3), [0, 4]),
    (OneOf("a", None, 2), ["b", True, np.array(["a", "a"]), ("a",)]),
    (OneOf(1), [True]),
    (Boolean(), [0, 1, "True", None]),
    (InstanceOf(Spec), [Spec, "a", None]),
    (AnyOf(Positive(), OneOf(INF)), [0.0, -INF]),
    (Optional(Integer(1)), [0, "None"]),
    (Each(Positive()), [0.0, (), (1.0, 0.0), "nonsense", None, np.ones((2, 2)), np.array(-1.0)]),
    (Each(Positive(), alone=False), [1.0, (), "nonsense", None, np.array(1.0)]),
    (Satisfies("a function", callable), ["print", None]),
    (Satisfies("a function", callable, "len"), [1]),
    (Bytes(), ["much", 0, -1, None, True, np.inf]),
]


@pytest.mark.parametrize(("constraint", "values"), ACCEPTED, ids=repr)
def test_accepts(constraint, values):
    for value in values:
        constraint.check("size", value, "Box")


@pytest.mark.parametrize(("constraint", "values"), REFUSED, ids=repr)
def test_refuses_with_three_parts(constraint, values):
    for value in values:
        with pytest.raises(ParameterError, match=r"^Box was given size=.+; size must be .+\. .+[.?]$"):
            constraint.check("size", value, "Box")


@pytest.mark.parametrize("owner", ["Spec", Spec, Spec()], ids=["str", "class", "object"])
def test_owner_may_be_a_name_a_class_or_an_object(owner):
    with pytest.raises(ParameterError, match=r"^Spec was given size=0;"):
        Positive().check("size", 0, owner)


@pytest.mark.parametrize(
    ("constraint", "value", "advice"),
    [
        (Positive(), -1.0, "Try size=1.0."),
        (Positive(), True, "A truth value is not a number; write size=1 if that is meant."),
        (Positive(), "1.5", "Write size=1.5, without quotes."),
        (Positive(), NAN, "Look at how size was computed."),
        (Positive(), (1.0,), "Give a single number."),
        (Positive(words=("median",)), "medain", "Did you mean 'median'?"),
        (Interval(2, 4), 7, "Try size=3.0."),
        (Integer(2), 3.0, "Write size=3, without a decimal point."),
        (Integer(2), 1, "Try size=2."),
        (Integer(high=5), 6, "Try size=5."),
        (OneOf("linear", "log"), "liner", "Did you mean 'linear'?"),
        (OneOf("linear", "log"), 3, "Give size one of these values."),
        (InstanceOf(Spec), Spec, "Write size=Spec(...): an object, not its class."),
        (InstanceOf(Spec), 3, "Give size such an object; this is of type int."),
        (Optional(Integer(2)), 1, "Try size=2."),
        (Fixed(Integer(2)), 1, "Try size=2."),
    ],
)
def test_advice(constraint, value, advice):
    assert constraint.advice("size", value) == advice


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (Positive(), "a finite number > 0"),
        (Positive(vector=True), "a finite number > 0 or a tuple of finite numbers > 0"),
        (Interval(0, 1, closed="left", words=("auto",)), "a finite number >= 0 and < 1 or 'auto'"),
        (Interval(-INF, 2), "a finite number <= 2"),
        (Interval(-INF, INF), "a finite number"),
        (Integer(), "an integer"),
        (Integer(1, 9), "an integer >= 1 and <= 9"),
        (OneOf("a", "b", None), "'a', 'b' or None"),
        (Boolean(), "True or False"),
        (InstanceOf(Spec), "a Spec"),
        (Optional(Positive()), "a finite number > 0 or None"),
    ],
)
def test_accepted_in_words(constraint, words):
    assert constraint.accepted == words
    assert words in repr(constraint)


def test_long_values_are_shortened_in_messages():
    with pytest.raises(ParameterError) as error:
        Positive().check("size", tuple(range(1000)), "Box")
    assert len(str(error.value)) < 200


def test_only_reals_are_free():
    assert Positive().free and Interval(0, 1).free and Optional(Positive()).free
    assert not any(c.free for c in (Integer(), OneOf(1.0), Boolean(), InstanceOf(int), Fixed(Positive())))


@pytest.mark.parametrize("arguments", [(1, 0), (0, 0), (NAN, 1), (0, 1, "open")])
def test_an_interval_must_be_one(arguments):
    with pytest.raises(ValueError, match="low < high"):
        Interval(*arguments)


def test_a_duration_is_no_real_number():
    values = [1, 1.5, np.float32(1), np.int8(1), Fraction(1, 2)]
    assert all(map(is_real, values))
    assert not any(map(is_real, [True, np.True_, np.timedelta64(1, "s"), "1", 1j, None]))


@pytest.mark.parametrize("low", [-1.0, -INF])
@pytest.mark.parametrize("high", [3.0, INF])
def test_theta_and_back(low, high):
    interval = Interval(low, high)
    x = np.array([-0.5, 0.25, 2.0])
    theta = interval.unconstrain(x)
    np.testing.assert_allclose(interval.constrain(theta), x, rtol=1e-14)
    assert (np.diff(theta) > 0.0).all()
    step = 1e-5  # differences are exact to its square
    numeric = (interval.constrain(theta + step) - interval.constrain(theta - step)) / (2.0 * step)
    np.testing.assert_allclose(interval.slope(x), numeric, rtol=1e-8)
    first, last = interval.constrain(np.array([-1e9, 1e9]))
    assert np.isfinite([first, last]).all() and (first == low or low == -INF) and (last == high or high == INF)


def test_arrays():
    both = Array(1, 2, low=0.0)
    for value in ([1, 2.5], ((0.0, 1.0), (2.0, 3.0)), np.ones((2, 2), np.float32), np.array([1, 2], dtype=object)):
        assert both.accepts(value)
    for value in (
        1.0,
        [],
        [-1.0],
        [NAN],
        [INF],
        [[1.0], [1.0, 2.0]],
        np.ones((1, 1, 1)),
        ["a"],
        [True],
        [10**400],
        [1j],
    ):
        assert not both.accepts(value)
    assert "as an array" in both.advice("w", "a")
    assert "shape (1, 1, 1)" in both.advice("w", np.ones((1, 1, 1)))
    assert "shape (0,)" in both.advice("w", np.ones(0))
    assert both.advice("w", np.array([NAN])) == "Look at how w was computed."


def test_whole_numbers_end_where_machines_do():
    assert Integer().accepts(2**62) and not Integer().accepts(2**62 + 1) and not Integer().accepts(-(2**62) - 1)
    assert Integer().advice("n", 2**62 + 1) == "Give a number below 2**62."


def test_several_is_at_least_one():
    lists = Several(list, tuple)
    assert lists.accepted == "a list or a tuple that is not empty"
    assert lists.accepts([0]) and lists.accepts((0,)) and not lists.accepts([]) and not lists.accepts({0})


def test_tables_of_numbers():
    table = Positive(vector=True, table=True)
    assert table.accepts(((1.0, 2.0), (3.0, 4.0))) and table.accepts(np.ones((2, 2))) and table.accepts([1.0, 2.0])
    assert not table.accepts(((1.0, 2.0), (3.0,))) and not table.accepts(((1.0, -2.0), (3.0, 4.0)))
    assert not table.accepts(np.ones((2, 2, 2))) and not Positive(vector=True).accepts(((1.0, 2.0), (3.0, 4.0)))

"""A Spec is its constructor arguments: params, repr, equality, copies."""

import copy
import pickle
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from mercer.constraints import Integer, Interval, Positive
from mercer.errors import ParameterError
from mercer.spec import Spec, constraints_of


class Leaf(Spec):
    constraints = {"width": Positive(vector=True, words=("median",))}

    def __init__(self, width=1.0):
        self.width = width


class Bare(Spec):
    pass


class Several(Spec):
    def __init__(self, terms):
        self.terms = terms


class Wrapped(Spec):
    constraints = {"count": Integer(1)}

    def __init__(self, inner, count, *, flag, label=None, on=True):
        self.inner = inner
        self.count = count
        self.flag = flag
        self.label = label
        self.on = on


class Two(Spec):
    def __init__(self, first, number=0.0, second=()):
        self.first = first
        self.number = number
        self.second = second


class Named(Spec):
    def __init__(self, *, flag, label=None):
        self.flag = flag
        self.label = label


class Model(BaseEstimator):
    """The smallest estimator with a Spec for a parameter: the score is a width."""

    def __init__(self, kernel=None, alpha=1.0):
        self.kernel = kernel
        self.alpha = alpha

    def fit(self, X, y=None):
        self.width_ = self.kernel.get_params()["0__width"]
        return self

    def score(self, X, y=None):
        return self.width_


# params -----------------------------------------------------------------------------------------------


def test_shallow_params_are_the_arguments_themselves():
    terms = (Leaf(), Leaf(2.0))
    params = Several(terms).get_params(deep=False)
    assert list(params) == ["terms"]
    assert params["terms"] is terms


def test_deep_params_name_members_of_tuples_by_their_place():
    spec = Several((Leaf(), Wrapped(Leaf(3.0), 2, flag=True)))
    params = spec.get_params()
    assert params["0"] is spec.terms[0]
    assert params["0__width"] == 1.0
    assert params["1__inner__width"] == 3.0
    assert params["1__count"] == 2
    assert "terms__0" not in params


def test_places_run_on_from_tuple_to_tuple():
    spec = Two((Leaf(1.0), Leaf(2.0)), second=(Leaf(3.0),))
    assert spec.get_params()["2__width"] == 3.0
    spec.set_params(**{"2__width": 4.0, "0": Bare()})
    assert spec == Two((Bare(), Leaf(2.0)), second=(Leaf(4.0),))


def test_only_specs_of_a_mixed_tuple_are_members():
    spec = Several(("age", Leaf(), 3))
    assert set(spec.get_params()) == {"terms", "1", "1__width"}
    assert spec.set_params(**{"1__width": 5.0}).terms == ("age", Leaf(5.0), 3)


def test_lists_stay_lists():
    assert Several([Leaf()]).set_params(**{"0__width": 2.0}).terms == [Leaf(2.0)]


def test_set_params_changes_self_and_returns_it():
    leaf = Leaf()
    assert leaf.set_params(width=2.0) is leaf
    assert leaf.width == 2.0


def test_set_params_does_not_reach_into_shared_children():
    shared = Leaf(1.0)
    twice = Several((shared, shared))
    twice.set_params(**{"0__width": 9.0})
    assert shared == Leaf(1.0)
    assert twice == Several((Leaf(9.0), Leaf(1.0)))


def test_a_new_child_and_its_parameter_at_once():
    spec = Wrapped(Leaf(), 1, flag=False).set_params(inner=Leaf(2.0), inner__width=3.0)
    assert spec.inner == Leaf(3.0)
    spec = Several((Leaf(),)).set_params(terms=(Leaf(), Leaf()), **{"1__width": 3.0})
    assert spec.terms == (Leaf(), Leaf(3.0))


def test_nothing_changes_if_one_name_is_wrong():
    spec = Wrapped(Leaf(), 1, flag=False)
    with pytest.raises(ParameterError):
        spec.set_params(count=5, nonsense=1)
    assert spec.count == 1


@pytest.mark.parametrize("name", ["widht", "widht__x", "width__x", "0__width", "__"])
def test_an_unknown_name_is_told_with_the_known_ones(name):
    with pytest.raises(ParameterError, match=r"Leaf was given .*its parameters are: width\. "):
        Leaf().set_params(**{name: 1.0})


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(ParameterError, match="Did you mean 'width'"):
        Several((Leaf(),)).set_params(**{"0__widht": 1.0})
    with pytest.raises(ParameterError, match="its parameters are: none"):
        Bare().set_params(width=1.0)


def test_a_transformer_of_scikit_learn_is_a_child_of_its_own_kind():
    scaler = StandardScaler()
    spec = Wrapped(scaler, 1, flag=True)
    assert spec.get_params()["inner__with_mean"] is True
    spec.set_params(inner__with_mean=False)
    assert spec.inner.with_mean is False
    assert scaler.with_mean is True


def test_replace_returns_a_changed_copy_and_shares_the_rest():
    leaf = Leaf()
    spec = Wrapped(leaf, 1, flag=True)
    other = spec.replace(count=2)
    assert (spec.count, other.count) == (1, 2)
    assert other.inner is leaf
    assert spec.replace(inner__width=4.0).inner == Leaf(4.0)
    assert leaf == Leaf(1.0)


def test_children_come_in_the_order_of_the_constructor():
    spec = Two((Leaf(1.0), Leaf(2.0)), second=Leaf(3.0))
    assert [(name, child.width) for name, child in spec._children()] == [
        ("0", 1.0),
        ("1", 2.0),
        ("second", 3.0),
    ]


def test_variable_arguments_are_refused_to_authors():
    class Loose(Spec):
        def __init__(self, *terms):
            self.terms = terms

    with pytest.raises(TypeError, match="Take a tuple"):
        Loose(1).get_params()


def test_a_protocol_leaves_the_constructor_alone():
    class Able(Protocol):
        def act(self): ...

    class Base(Spec, ABC):
        @abstractmethod
        def act(self): ...

    class Doer(Base, Able):
        def act(self):
            return 1

    assert repr(Doer()) == "Doer()"
    assert Doer() == Doer()


# check ------------------------------------------------------------------------------------------------


def test_constructors_look_at_nothing_and_check_at_everything():
    spec = Wrapped(Several((Leaf(-1.0),)), 1, flag=True)
    with pytest.raises(ParameterError, match=r"Leaf was given width=-1\.0"):
        spec.check()
    with pytest.raises(ParameterError, match="Wrapped was given count=0"):
        Wrapped(Leaf(), 0, flag=True).check()


def test_check_returns_self_and_looks_into_nested_tuples():
    leaf = Leaf("median")
    assert leaf.check() is leaf
    with pytest.raises(ParameterError):
        Several((("age", Leaf(0.0)),)).check()


# repr -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (Bare(), "Bare()"),
        (Leaf(), "Leaf(1.0)"),
        (Leaf(2), "Leaf(2)"),
        (Leaf("median"), "Leaf('median')"),
        (Leaf(np.float64(2.5)), "Leaf(2.5)"),
        (Leaf(np.int64(3)), "Leaf(3)"),
        (Leaf(np.float32(0.5)), "Leaf(0.5)"),
        (Leaf(np.longdouble(0.5)), "Leaf(0.5)"),
        (Leaf(np.bool_(True)), "Leaf(True)"),
        (Leaf(np.str_("a")), "Leaf('a')"),
        (Leaf(np.array([1.0, 0.1])), "Leaf((1.0, 0.1))"),
        (Leaf(np.array([1.0])), "Leaf((1.0,))"),
        (Leaf(np.zeros((2, 3))), "Leaf(<array of shape (2, 3), float64>)"),
        (Leaf(np.zeros(101)), "Leaf(<array of shape (101,), float64>)"),
        (Leaf((np.float64(1.0), 2)), "Leaf((1.0, 2))"),
        (Leaf([1.0, None]), "Leaf([1.0, None])"),
        (Leaf(True), "Leaf(True)"),
        (Leaf(float), "Leaf(<float>)"),
        (Leaf(len), "Leaf(<len>)"),
        (Two(1.0), "Two(1.0)"),
        (Two(1.0, second=2), "Two(1.0, second=2)"),
        (Named(flag=1), "Named(flag=1)"),
        (Several((Leaf(), Leaf(2.0))), "Several((Leaf(1.0), Leaf(2.0)))"),
        (Wrapped(Leaf(), 3, flag=False, label="x"), "Wrapped(Leaf(1.0), 3, flag=False, label='x')"),
        (Wrapped(Leaf(), -3, flag=None, on=False), "Wrapped(Leaf(1.0), -3, flag=None, on=False)"),
    ],
)
def test_repr(spec, text):
    assert repr(spec) == text


# equality ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Leaf(1.0), Leaf(1)),
        (Leaf(np.float64(2.0)), Leaf(2.0)),
        (Leaf(np.array([1.0, 2.0])), Leaf((1.0, 2.0))),
        (Leaf(np.zeros((2, 2))), Leaf(np.zeros((2, 2)))),
        (Leaf(sp.csr_array(np.eye(2))), Leaf(sp.csr_array(np.eye(2)))),
        (Leaf(pd.DataFrame({"a": [1.0, 2.0]})), Leaf(pd.DataFrame({"a": [1.0, 2.0]}))),
        (Several((Leaf(), "a")), Several((Leaf(), "a"))),
        (Leaf((np.array([1.0]), None)), Leaf((np.array([1.0]), None))),
    ],
)
def test_equal(a, b):
    assert a == b
    assert b == a
    assert (a != b) is False


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Leaf(1.0), Leaf(2.0)),
        (Leaf(1), Leaf(True)),
        (Leaf(np.array([1.0, 2.0])), Leaf((1.0, 3.0))),
        (Leaf(np.array([1.0, 1.0])), Leaf(1.0)),
        (Leaf(np.array([1.0])), Leaf("a")),
        (Leaf([1.0]), Leaf((1.0,))),
        (Leaf((1.0,)), Leaf((1.0, 2.0))),
        (Leaf(sp.csr_array(np.eye(2))), Leaf(sp.csr_array(np.eye(3)))),
        (Leaf(sp.csr_array(np.eye(2))), Leaf(sp.csr_array(2 * np.eye(2)))),
        (Leaf(sp.csr_array(np.eye(2))), Leaf("median")),
        (Leaf(pd.DataFrame({"a": [1.0, 2.0]})), Leaf(pd.DataFrame({"a": [1.0, 3.0]}))),
        (Leaf(pd.DataFrame({"a": [1.0, 2.0]})), Leaf("median")),
        (Leaf(), Bare()),
        (Leaf(), "Leaf()"),
        (Leaf(), None),
    ],
)
def test_different(a, b):
    assert a != b
    assert b != a


def test_a_subclass_is_another_thing():
    class Other(Leaf):
        pass

    assert Other() != Leaf()


def test_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Leaf())


# copies -----------------------------------------------------------------------------------------------


def nested():
    return Several((Leaf((1.0, 2.0)), Wrapped(Several((Leaf(), Bare())), 2, flag=True, label="x")))


def test_clone_copies_nested_specs_in_tuples():
    spec = nested()
    other = clone(spec)
    assert other == spec
    assert other.terms[0] is not spec.terms[0]
    assert other.terms[1].inner.terms[1] is not spec.terms[1].inner.terms[1]


def test_clone_of_an_estimator_does_not_share_its_kernel():
    model = Model(nested())
    other = clone(model).set_params(kernel__0__width=7.0)
    assert other.kernel.terms[0] == Leaf(7.0)
    assert model.kernel == nested()


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda spec: pickle.loads(pickle.dumps(spec))],
    ids=["copy", "deep", "pickle"],
)
def test_copies_are_equal(again):
    assert again(nested()) == nested()
    assert repr(again(nested())) == repr(nested())


def test_grid_search_over_a_member_of_a_tuple():
    grid = {"kernel__0__width": [1.0, 3.0, 2.0], "kernel__1": [Leaf(1.0), Bare()], "alpha": [1.0]}
    model = Model(Several((Leaf(), Leaf())))
    search = GridSearchCV(model, grid, cv=2).fit(np.zeros((4, 1)))
    assert search.best_params_["kernel__0__width"] == 3.0
    assert search.best_estimator_.kernel.terms[0] == Leaf(3.0)
    assert model.kernel == Several((Leaf(), Leaf()))


class Base(Spec):
    constraints = {"width": Positive(), "height": Positive()}

    def __init__(self, width, height):
        self.width, self.height = width, height


class Grown(Base):
    constraints = {"depth": Integer(1), "height": Interval(0.0, 1.0)}

    def __init__(self, depth, height):
        self.depth, self.height = depth, height


def test_constraints_are_merged_along_the_bases_for_what_the_constructor_takes():
    found = constraints_of(Grown)
    assert list(found) == ["depth", "height"]  # the width of the base is no argument here
    assert found["height"] is Grown.constraints["height"]  # the nearest class has the word
    assert constraints_of(Base) == Base.constraints
    with pytest.raises(ParameterError, match="Grown was given height=2"):
        Grown(1, 2.0).check()

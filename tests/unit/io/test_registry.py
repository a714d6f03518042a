"""A closed list of classes: complete by itself, and no way around it."""

import importlib
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

import mercer.domains
import mercer.estimators
import mercer.kernels
import mercer.solvers
from mercer import SVC, GaussianProcessRegressor, KernelRidge
from mercer.domains import Vectors
from mercer.errors import ModelError, ParameterError
from mercer.estimators.classifier import Part
from mercer.gram import Dense, Features, RandomFeatures
from mercer.gram.exact import DenseGram
from mercer.io.model_file import load, save
from mercer.io.registry import find_class, id_of, kind_of, registry, user_classes
from mercer.kernels import Gaussian, Kernel, Spectrum
from mercer.problems import LinearSystem, Status
from mercer.spec import Spec


class Own(Kernel):
    domain = Vectors

    def block(self, A, B):
        return A.dot(B)


@dataclass(frozen=True)
class Record:
    number: int


class Choice(Enum):
    ONE = 1


def test_every_public_class_is_in_it():
    known = set(registry().values())
    for package in (mercer.kernels, mercer.estimators, mercer.solvers, mercer.domains):
        members = [getattr(package, name) for name in package.__all__]
        missing = [m for m in members if isinstance(m, type) and kind_of(m) is not None and m not in known]
        assert not missing


def test_ids_are_short_and_go_both_ways():
    for name, member in registry().items():
        kind, _, own = name.partition(":")
        assert own == member.__name__
        assert kind == kind_of(member)
        assert "." not in name
        assert find_class(name, {}, "1.0") is member
        assert id_of(member) == name
    assert id_of(Gaussian) == "kernel:Gaussian"
    assert id_of(Dense) == "gram:Dense"
    assert id_of(Status) == "choice:Status"


def test_only_classes_of_mercer_are_in_it():
    assert all(member.__module__.startswith("mercer.") for member in registry().values())
    with pytest.raises(TypeError):
        registry()["kernel:Own"] = Own


@pytest.mark.parametrize(
    "member", [Kernel, Spec, BaseEstimator, DenseGram, LinearSystem, Part, int, object, Status.__base__]
)
def test_what_is_not_described_by_its_parameters_is_not(member):
    assert kind_of(member) is None
    assert member not in registry().values()


@pytest.mark.parametrize(
    "name",
    [
        "kernel:Unknown",
        "os.system",
        "builtins:eval",
        "estimator:Gaussian",
        "mercer.kernels:Gaussian",
        "",
        None,
        3,
        ["x"],
    ],
)
def test_unknown_ids_are_refused_and_the_writer_is_named(name):
    with pytest.raises(ModelError, match=r"9\.9"):
        find_class(name, {}, "9.9")


def test_classes_of_a_user():
    own = user_classes([Own, Record])
    assert own == {"user:Own": Own, "user:Record": Record}
    assert (id_of(Own), id_of(Record)) == ("user:Own", "user:Record")
    assert find_class("user:Own", own, "1.0") is Own
    with pytest.raises(ModelError, match=r"classes=\[Own\]"):
        find_class("user:Own", {}, "1.0")


@pytest.mark.parametrize("member", [Gaussian, StandardScaler, Choice, int, "Own", None, Own(), len])
def test_other_things_are_no_classes_of_a_user(member):
    with pytest.raises(ParameterError, match="classes"):
        user_classes([member])


def test_two_classes_of_one_name_are_refused():
    other = type("Own", (Own,), {"__module__": __name__})
    assert user_classes([Own, Own]) == {"user:Own": Own}
    with pytest.raises(ParameterError, match="two members"):
        user_classes([Own, other])


def test_classes_of_other_libraries_have_no_id():
    assert id_of(StandardScaler) is None
    assert id_of(int) is None
    assert id_of(Choice) is None


# Models whose parts are not public: their classes are found beside public names, or named by ``__saved__``.
PARTS = {
    "k-mers": lambda X, y: KernelRidge(Spectrum(2), gram=Features()).fit(["ab", "ba", "abab"] * 5, y[:15]),
    "random features": lambda X, y: KernelRidge(Gaussian(1.0), gram=RandomFeatures(8)).fit(X, y),
    "structured features": lambda X, y: KernelRidge(Gaussian(1.0), gram=RandomFeatures(8, method="hadamard")).fit(X, y),
    "a posterior": lambda X, y: GaussianProcessRegressor(Gaussian(1.0)).fit(X, y),
    "codes of classes": lambda X, y: SVC(Gaussian(1.0)).fit(X, np.arange(len(y)) % 3),
}


@pytest.mark.parametrize("make", PARTS.values(), ids=PARTS)
def test_models_with_parts_that_are_not_public_are_saved(make, tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    save(make(X, X[:, 0]), tmp_path / "model.mercer")
    load(tmp_path / "model.mercer")


def test_an_id_imports_the_module_of_its_class_alone(monkeypatch):
    imported, usual = [], importlib.import_module
    monkeypatch.setattr(importlib, "import_module", lambda name: imported.append(name) or usual(name))
    find_class("kernel:Gaussian", {}, "1.0")
    assert imported == ["mercer.kernels.vectors.pointwise"]

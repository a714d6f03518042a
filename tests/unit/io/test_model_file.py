"""The model file: every estimator comes back to the bit; nothing else comes in."""

import errno
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import mercer
from mercer import (
    SVC,
    SVDD,
    SVR,
    HuberSVR,
    KernelAdatron,
    KernelMeanClassifier,
    KernelPerceptron,
    KernelRidge,
    LinearProgrammingMachine,
    LinearSVC,
    LinearSVR,
    MarginBoundSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
    RelativeMarginMachine,
)
from mercer.domains import Vectors
from mercer.errors import ModelError, ParameterError
from mercer.estimators.estimator import KernelEstimator
from mercer.gram import Dense, Expansion
from mercer.io import model_file as module
from mercer.io.atomic import OverwriteError
from mercer.io.model_file import describe, load, save
from mercer.io.named_arrays import pieces, read_header, read_tensors
from mercer.kernels import Gaussian, Kernel, Linear, Spectrum
from tests.golden.cases import M, N, estimators, fitted, outputs, rows

ROOT = Path(__file__).resolve().parents[3]
X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.sin(X[:, 0])


@pytest.fixture(scope="module")
def ridge():
    return KernelRidge(Gaussian((1.0, 2.0, 3.0)), alpha=0.5, leave_one_out=True).fit(X, Y)


@pytest.fixture
def path(tmp_path, ridge):
    save(ridge, tmp_path / "ridge.mercer")
    return tmp_path / "ridge.mercer"


# ---------------------------------------------------------------------- to the bit


@pytest.mark.filterwarnings(
    "ignore:.*takes negative values", "ignore:the margin rho", "ignore:.*are similar to nothing"
)
def test_a_new_process_predicts_the_same_bits(tmp_path):
    """Every estimator on every domain: one test, since the files are made and read in one new process."""
    said = {}
    for name, model, domain in fitted():
        save(model, tmp_path / f"{name}.mercer")
        said[name] = outputs(model, rows(domain, slice(N, N + M)))
        require_equal(model, load(tmp_path / f"{name}.mercer"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    command = [sys.executable, "-W", "ignore", "-m", "tests.golden.cases", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=300)
    for name, values in said.items():
        with np.load(tmp_path / f"{name}.npz", allow_pickle=False) as found:
            assert set(found) == set(values) != set(), name
            for method, array in values.items():
                assert found[method].dtype == array.dtype, (name, method)
                assert found[method].tobytes() == array.tobytes(), (name, method)
    assert {name.split("-")[0] for name in said} == {member.__name__ for member in estimators()}
    for known in ("KernelRidge", "KernelMeanClassifier"):
        assert len({name.split("-")[1] for name in said if name.startswith(known)}) >= 16, known


def require_equal(model, found):
    """Parameters and fitted attributes have come back."""
    assert type(found) is type(model)
    assert repr(found) == repr(model)
    public = {key for key in vars(model) if key[0] != "_"}
    assert {key for key in vars(found) if key[0] != "_"} == public
    for key in public:
        if isinstance(getattr(model, key), np.ndarray):
            one, other = getattr(model, key), getattr(found, key)
            assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
            assert getattr(model, key).dtype == getattr(found, key).dtype


def test_the_same_model_gives_the_same_bytes_and_a_loaded_one_too(tmp_path, ridge, path):
    save(ridge, tmp_path / "second.mercer")
    save(load(path), tmp_path / "third.mercer")
    assert path.read_bytes() == (tmp_path / "second.mercer").read_bytes() == (tmp_path / "third.mercer").read_bytes()


def test_a_loaded_estimator_is_an_ordinary_one(path, ridge):
    found = load(path)
    assert found.get_params() == ridge.get_params()
    assert np.array_equal(found.loo_predictions_, ridge.loo_predictions_)
    again = clone(found).fit(X, Y)
    assert np.array_equal(again.predict(X), ridge.predict(X))
    assert pickle.loads(pickle.dumps(found)).predict(X).tobytes() == ridge.predict(X).tobytes()


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["no", "yes"], np.array(["no", "yes"], dtype=object),
                                    np.float32([1.0, 2.0]), np.array(["a", "b"], dtype="<U9")])  # fmt: skip
def test_labels_of_every_type(tmp_path, labels):
    y = np.asarray(labels)[np.arange(20) % 2]
    model = KernelMeanClassifier().fit(X, y)
    save(model, tmp_path / "m")
    found = load(tmp_path / "m")
    assert found.classes_.dtype == model.classes_.dtype
    assert np.array_equal(found.predict(X), model.predict(X))


# ---------------------------------------------------------------------- support vector machines

THREE = np.array(["red", "green", "blue"])[np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.4, 0.5])]
TWO = np.where(X[:, 0] > 0, 5, 7)
MACHINES = {
    "SVC": (SVC(C=10.0), TWO),
    "SVC of three": (SVC(C=10.0, probability=True), THREE),
    "SVC of two": (SVC("rbf", class_weight={5: 2.0, 7: 1.5}, probability=True), TWO),
    "SVC by votes": (SVC(decision_function_shape="ovo", break_ties=False, probability=True), THREE),
    "SVC of the rest": (SVC(multi_class="ovr", loss="squared_hinge", probability=True), THREE),
    "SVC by a code": (SVC(multi_class=[[1, 1, -1], [-1, 1, 1], [1, -1, 0]], probability=True), THREE),
    "SVC together": (SVC(multi_class="crammer_singer"), THREE),
    "SVC hard": (SVC(Gaussian(0.5), C=float("inf")), TWO),
    "NuSVC": (NuSVC(nu=0.3, probability=True), TWO),
    "MarginBoundSVC": (MarginBoundSVC(probability=True), THREE),
    "RelativeMarginMachine": (RelativeMarginMachine(), THREE),
    "LinearSVC": (LinearSVC(), THREE),
    "LinearProgrammingMachine": (LinearProgrammingMachine(), TWO),
    "KernelPerceptron": (KernelPerceptron(averaged=True), THREE),
    "KernelAdatron": (KernelAdatron(), TWO),
    "SVR": (SVR(epsilon=0.2), Y),
    "SVR of two": (SVR(epsilon=0.2), np.column_stack([Y, X[:, 1]])),
    "NuSVR": (NuSVR(), Y),
    "HuberSVR": (HuberSVR(threshold=0.3), Y),
    "QuantileSVR": (QuantileSVR(quantiles=(0.1, 0.5, 0.9)), Y),
    "LinearSVR": (LinearSVR(), Y),
    "OneClassSVM": (OneClassSVM(nu=0.2), None),
    "SVDD": (SVDD(nu=0.2), None),
}


@pytest.mark.parametrize("name", MACHINES)
def test_support_vector_machines_come_back_to_the_bit(tmp_path, name):
    unfitted, y = MACHINES[name]
    model = clone(unfitted).fit(X, y)
    save(model, tmp_path / "m")
    found = load(tmp_path / "m")
    require_equal(model, found)
    new = np.random.default_rng(1).normal(size=(50, 3))
    said, again = outputs(model, new), outputs(found, new)
    assert set(said) == set(again)
    assert "predict" in said
    assert ("predict_proba" in said) == getattr(model, "probability", False)
    for method, values in said.items():
        assert again[method].tobytes() == values.tobytes(), method
    if hasattr(model, "solution_"):
        assert found.solution_.status is model.solution_.status
        assert found.solution_.gap == model.solution_.gap or np.isnan(model.solution_.gap)
        assert dict(found.solution_.details) == dict(model.solution_.details)
    save(found, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_support_vectors_stay_objects_of_their_domain(tmp_path):
    texts = np.array(["gattaca", "tagtag", "catcat", "attac", "gagaga", "tatata"], dtype=object)
    model = SVC(Spectrum(2)).fit(texts, [0, 1, 0, 1, 0, 1])
    save(model, tmp_path / "m")
    vectors = load(tmp_path / "m").support_vectors_
    assert len(vectors) == len(model.support_)
    assert repr(vectors) == repr(model.support_vectors_)


def test_an_online_machine_learns_on_after_it_was_saved(tmp_path):
    model = KernelPerceptron(Gaussian(1.0)).partial_fit(X[:10], TWO[:10], classes=[5, 7])
    save(model, tmp_path / "m")
    found = load(tmp_path / "m").partial_fit(X[10:], TWO[10:])
    assert found.decision_function(X).tobytes() == model.partial_fit(X[10:], TWO[10:]).decision_function(X).tobytes()


# ---------------------------------------------------------------------- what it says of itself


def test_the_header_tells_who_wrote_it_and_of_what(path):
    told = describe(path)
    assert told["schema"] == 1
    assert told["class"] == "estimator:KernelRidge"
    assert told["written_by"]["mercer"] == mercer.__version__
    assert {"python", "numpy", "scipy", "scikit-learn"} <= set(told["written_by"])
    assert told["features"] == {"count": 3, "names": None}
    assert told["training"]["samples"] == told["training"]["kept"] == 20
    assert len(told["training"]["sha256"]) == 64


def test_names_of_columns_and_primal_models(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    save(KernelRidge(Linear()).fit(table, Y), tmp_path / "m")
    told = describe(tmp_path / "m")
    assert told["features"] == {"count": 3, "names": ["a", "b", "c"]}
    assert told["training"] == {"samples": 20, "kept": None, "sha256": None}
    assert list(load(tmp_path / "m").feature_names_in_) == ["a", "b", "c"]


def test_very_many_names_are_left_out_of_the_header(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(module, "_LONGEST_NAMES", 2)
    save(KernelRidge(Linear()).fit(pandas.DataFrame(X, columns=["a", "b", "c"]), Y), tmp_path / "m")
    assert describe(tmp_path / "m")["features"] == {"count": 3, "names": None}


# ---------------------------------------------------------------------- what may be saved


def test_an_unfitted_estimator_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save(KernelRidge(), tmp_path / "m")


@pytest.mark.parametrize("thing", [3, Gaussian(1.0), "model", KernelRidge])
def test_other_things_are_refused(tmp_path, thing):
    with pytest.raises(ParameterError, match="estimators"):
        save(thing, tmp_path / "m")


def test_searches_and_pipelines_are_refused_with_a_remedy(tmp_path):
    search = GridSearchCV(KernelRidge(Gaussian(1.0)), {"alpha": [0.1, 1.0]}, cv=2).fit(X, Y)
    with pytest.raises(ParameterError, match="best_estimator_"):
        save(search, tmp_path / "m")
    save(search.best_estimator_, tmp_path / "m")
    with pytest.raises(ParameterError, match="Pipeline"):
        save(make_pipeline(KernelRidge()).fit(X, Y), tmp_path / "p")
    assert not (tmp_path / "p").exists()


def test_functions_are_refused_and_nothing_is_written(tmp_path):
    model = KernelRidge(Linear().of(np.tanh)).fit(X, Y)
    with pytest.raises(ParameterError, match=r"model\.kernel\.transform.*function.*load\(path, classes"):
        save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_an_existing_file_is_kept(path):
    before = path.read_bytes()
    other = KernelRidge(Linear()).fit(X, Y)
    with pytest.raises(OverwriteError, match="force=True"):
        save(other, path)
    assert path.read_bytes() == before
    save(other, path, force=True)
    assert load(path).kernel == Linear()


class Cosine(Kernel):
    """A kernel of a user."""

    domain = Vectors

    def __init__(self, scale=1.0):
        self.scale = scale

    def block(self, A, B):
        norms = np.sqrt(np.outer(A.squared_norms, B.squared_norms))
        return self.scale * A.dot(B) / norms


class Mean(BaseEstimator):
    """An estimator of a user."""

    def __init__(self, kernel=None):
        self.kernel = kernel

    def fit(self, X, y=None):
        S = self.kernel.pack(X).landmarks()
        self.function_ = Expansion(self.kernel, S, np.full(len(S), 1 / len(S)), np.asarray(0.0))
        self.table_ = {"a": [1, 2.5], 3: ("x", None)}
        return self

    def predict(self, X):
        return self.function_(self.kernel.pack(X))


def test_classes_of_a_user(tmp_path):
    model = KernelRidge(Cosine(2.0) + Gaussian(1.0)).fit(X, Y)
    save(model, tmp_path / "m")
    with pytest.raises(ModelError, match=r"classes=\[Cosine\]"):
        load(tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m", classes=[Cosine]).predict(X), model.predict(X))
    own = Mean(Cosine()).fit(X)
    save(own, tmp_path / "own")
    found = load(tmp_path / "own", classes=[Mean, Cosine])
    assert np.array_equal(found.predict(X), own.predict(X))
    assert found.table_ == own.table_
    with pytest.raises(ParameterError, match="classes"):
        load(tmp_path / "m", classes=["Cosine"])


# ---------------------------------------------------------------------- what may be loaded


def rewritten(path, change, name="changed.mercer"):
    """The file with its document changed, and signed again: as a forger would do it."""
    with open(path, "rb") as stream:
        texts, table = read_header(stream, path)
        tensors = read_tensors(stream, path, texts, table, "sha256")
    document = json.loads(texts["mercer"])
    document = change(document) or document
    target = path.parent / name
    text = document if isinstance(document, str) else json.dumps(document)
    target.write_bytes(b"".join(pieces(tensors, {"mercer": text}, "sha256")))
    return target


def test_a_newer_schema_names_the_version_that_wrote_it(path):
    def change(document):
        document["schema"] = 7
        document["written_by"]["mercer"] = "9.9"

    with pytest.raises(ModelError, match=r"schema 7, written by mercer 9\.9.*newer"):
        load(rewritten(path, change))


def test_an_unknown_class_names_the_version_that_wrote_it(path):
    def change(document):
        document["written_by"]["mercer"] = "9.9"
        document["model"]["params"]["kernel"] = {"class": "kernel:Quantum", "params": {}}

    with pytest.raises(ModelError, match=r"kernel:Quantum.*mercer 9\.9"):
        load(rewritten(path, change))


def test_older_schemas_are_brought_up(path, monkeypatch):
    def upgrade(document):
        document["model"]["params"]["alpha"] = document["model"]["params"].pop("ridge")
        return document

    def change(document):
        document["model"]["params"]["ridge"] = document["model"]["params"].pop("alpha")

    monkeypatch.setattr(module, "SCHEMA", 2)
    monkeypatch.setitem(module.UPGRADES, 1, upgrade)
    assert load(rewritten(path, change)).alpha == 0.5
    with pytest.raises(ModelError, match=r"schema 1 .* schema 2 \(KeyError"):
        load(path)  # which has no ridge to rename


@pytest.mark.parametrize(
    "change",
    [
        lambda d: "nonsense",
        lambda d: "[" * 10_000,
        lambda d: "[]",
        lambda d: {"schema": 1},
        lambda d: {**d, "schema": 0},
        lambda d: {**d, "schema": "1"},
        lambda d: {**d, "schema": True},
        lambda d: {**d, "model": 3},
        lambda d: {**d, "model": {"class": "kernel:Gaussian", "params": {}}},
        lambda d: {**d, "model": {**d["model"], "state": {}}},
        lambda d: {**d, "model": {**d["model"], "params": {"alpha": -3.0}}},
        lambda d: {**d, "model": {**d["model"], "class": "os:system"}},
        lambda d: {**d, "model": {**d["model"], "state": {**d["model"]["state"], "predict": 1}}},
        lambda d: {**d, "written_by": None, "model": None},
    ],
)
def test_forged_documents_are_refused(path, change):
    with pytest.raises(ModelError):
        load(rewritten(path, change))


def test_forged_trees_never_raise_anything_else(path):
    """Every place of the tree is replaced by every kind of wrong value."""
    wrong = [None, 0, -1, 1e300, "x", [], {}, {"tuple": []}, {"array": "model.dual_coef_"}, {"array": "none"},
             {"float": "nan"}, {"class": "kernel:Linear", "params": {}},
             {"class": "samples:Vectors", "fields": {}}]  # fmt: skip

    def places(node, trail=()):
        children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, child in children:
            yield (*trail, key)
            yield from places(child, (*trail, key))

    def put(document, trail, value):
        node = document
        for key in trail[:-1]:
            node = node[key]
        node[trail[-1]] = value

    with open(path, "rb") as stream:
        texts, _ = read_header(stream, path)
    trails = list(places(json.loads(texts["mercer"])))
    assert len(trails) > 60
    rng = np.random.default_rng(0)
    for trail in trails:
        for value in (wrong[i] for i in rng.choice(len(wrong), 4, replace=False)):
            forged = rewritten(path, lambda d, t=trail, v=value: put(d, t, v))
            try:
                found = load(forged)
            except ModelError:
                continue
            assert isinstance(found, KernelEstimator)


def test_other_safetensors_files_are_refused(tmp_path):
    for texts in ({}, {"format": "pt"}, {"mercer": "{}", "more": "x"}):
        (tmp_path / "other").write_bytes(b"".join(pieces({"x": np.ones(3)}, texts, "sha256")))
        with pytest.raises(ModelError, match="not one of mercer"):
            load(tmp_path / "other")
        with pytest.raises(ModelError):
            describe(tmp_path / "other")


class Evil:
    def __reduce__(self):
        return os.system, ("exit 1",)


def test_pickles_are_never_loaded(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(pickle.dumps(Evil()))
    monkeypatch.setattr(os, "system", lambda command: pytest.fail("code was run"))
    joblib.dump({"a": np.ones(3)}, tmp_path / "b")
    joblib.dump({"a": np.ones(3)}, tmp_path / "c", compress=3)
    np.savez(tmp_path / "d.npz", a=np.ones(3))
    np.save(tmp_path / "e.npy", np.array([{}], dtype=object), allow_pickle=True)
    for name in ("a", "b", "c", "d.npz", "e.npy"):
        with pytest.raises(ModelError, match=r"pickle|zlib|zip|NumPy"):
            load(tmp_path / name)


def test_a_missing_file_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


def test_strings_with_any_symbols(tmp_path):
    data = [["to", 1, b"x", ("a", 2)], ["to", "be\ud800"], [True, "☃"]]
    model = KernelMeanClassifier(Spectrum(1), gram=Dense()).fit(data, ["a", "b", "a"])
    save(model, tmp_path / "m")
    found = load(tmp_path / "m")
    assert found.expansion_.samples.vocabulary == model.expansion_.samples.vocabulary
    assert np.array_equal(found.decision_function(data), model.decision_function(data))


# ---------------------------------------------------------------------- faults of the disk


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_fault_leaves_the_old_model(tmp_path, ridge, path, monkeypatch, code, call):
    def fail(*arguments):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError):
        save(KernelRidge(Linear()).fit(X, Y), path, force=True)
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["ridge.mercer"]
    assert np.array_equal(load(path).predict(X), ridge.predict(X))


def test_no_torn_file_loads(tmp_path, path):
    whole = path.read_bytes()
    torn = tmp_path / "torn"
    for length in [*range(0, len(whole), 41), len(whole) - 1]:
        torn.write_bytes(whole[:length])
        with pytest.raises(ModelError):
            load(torn)
        torn.write_bytes(whole[:length] + b"\0" * (len(whole) - length))
        with pytest.raises(ModelError):
            load(torn)


def test_a_file_of_too_many_parts_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    save(KernelRidge(Gaussian(1.0)).fit(np.eye(3), np.arange(3.0)), tmp_path / "m")
    monkeypatch.setattr(module, "_MOST_PARTS", 3)
    with pytest.raises(ModelError, match="parts, more than 3"):
        load(tmp_path / "m")

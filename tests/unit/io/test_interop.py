"""Machines of scikit-learn and LIBSVM: the same decision values, the same predictions."""

import re
import shutil
import subprocess
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

from mercer.domains import Vectors
from mercer.errors import MemoryBudgetError, ParameterError
from mercer.io.interop import from_libsvm, from_sklearn
from mercer.io.limits import FileError
from mercer.io.model_file import load, save
from mercer.kernels import Constant

pytestmark = pytest.mark.parity

X, LABEL = make_blobs(90, n_features=3, centers=4, cluster_std=3.0, random_state=1)
X = X / 4.0
NEW = np.random.default_rng(2).normal(scale=2.0, size=(120, 3))
WORDS = np.array(["delta", "alpha", "charlie", "bravo"])[LABEL]
BINARY = np.where(LABEL % 2, "yes", "no")
REAL = X @ [1.0, -2.0, 0.5] + np.sin(X[:, 0])
KERNELS = {
    "rbf": dict(kernel="rbf", gamma="scale"),
    "rbf auto": dict(kernel="rbf", gamma="auto"),
    "linear": dict(kernel="linear"),
    "poly": dict(kernel="poly", degree=3, coef0=1.0, gamma=0.3),
    "homogeneous": dict(kernel="poly", degree=2, gamma=0.5),
    "sigmoid": dict(kernel="sigmoid", gamma=0.05, coef0=-0.2),
}


def close(ours, theirs):
    scale = max(1.0, float(np.abs(theirs).max()))
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= 1e-8 * scale


def same_predictions(ours, svm, X):
    theirs = svm.predict(X)
    found = ours.predict(X)
    assert found.dtype == theirs.dtype
    assert np.array_equal(found, theirs)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
class TestEveryKernel:
    def data(self, sparse):
        return (sp.csr_array(X), sp.csr_array(NEW)) if sparse else (X, NEW)

    @pytest.mark.parametrize("shape", ["ovr", "ovo"])
    @pytest.mark.parametrize("y", [WORDS, BINARY, LABEL], ids=["four", "two", "integers"])
    def test_classifiers(self, name, sparse, shape, y):
        X, new = self.data(sparse)
        svm = SVC(C=2.0, decision_function_shape=shape, **KERNELS[name]).fit(X, y)
        ours = from_sklearn(svm)
        close(ours.decision_function(new), svm.decision_function(new))
        same_predictions(ours, svm, new)
        assert np.array_equal(ours.classes_, svm.classes_)

    def test_nu_classifier(self, name, sparse):
        X, new = self.data(sparse)
        svm = NuSVC(nu=0.3, **KERNELS[name]).fit(X, WORDS)
        ours = from_sklearn(svm)
        close(ours.decision_function(new), svm.decision_function(new))
        same_predictions(ours, svm, new)

    @pytest.mark.parametrize("machine", [SVR, NuSVR])
    def test_regressors(self, name, sparse, machine):
        X, new = self.data(sparse)
        svm = machine(C=1.0, max_iter=2000, **KERNELS[name])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            svm.fit(X, REAL)
        close(from_sklearn(svm).predict(new), svm.predict(new))

    def test_one_class(self, name, sparse):
        X, new = self.data(sparse)
        svm = OneClassSVM(nu=0.2, **KERNELS[name]).fit(X)
        ours = from_sklearn(svm)
        close(ours.decision_function(new), svm.decision_function(new))
        close(ours.score_samples(new), svm.score_samples(new))
        same_predictions(ours, svm, new)


def test_break_ties_and_float32_and_mixed_storage():
    svm = SVC(break_ties=True).fit(X.astype(np.float32), WORDS)
    same_predictions(from_sklearn(svm), svm, NEW)
    ours = from_sklearn(SVC().fit(X, LABEL))
    assert np.allclose(ours.decision_function(sp.csr_array(NEW)), ours.decision_function(NEW), rtol=1e-10)
    sparse = from_sklearn(SVC().fit(sp.csr_array(X), LABEL))
    assert np.allclose(sparse.decision_function(NEW), ours.decision_function(NEW), rtol=1e-5)


@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.3), SVR(), OneClassSVM(nu=0.3)], ids=lambda m: type(m).__name__)
def test_precomputed(machine):
    svm = clone(machine).set_params(kernel="precomputed")
    K, new = rbf_kernel(X, gamma=0.4), rbf_kernel(NEW, X, gamma=0.4)
    svm.fit(K, REAL if isinstance(svm, SVR) else WORDS)
    ours = from_sklearn(svm)
    same_predictions(ours, svm, new) if not isinstance(svm, SVR) else close(ours.predict(new), svm.predict(new))
    assert ours.n_features_in_ == len(X)
    assert ours.__sklearn_tags__().input_tags.pairwise
    with pytest.raises(ValueError, match="90"):
        ours.predict(new[:, :-1])


@pytest.mark.parametrize("y", [WORDS, BINARY], ids=["four", "two"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_linear_classifier(y, fit_intercept, multi_class):
    svm = LinearSVC(fit_intercept=fit_intercept, multi_class=multi_class, max_iter=20000).fit(X, y)
    ours = from_sklearn(svm)
    close(ours.decision_function(NEW), svm.decision_function(NEW))
    same_predictions(ours, svm, NEW)
    close(ours.decision_function(sp.csr_array(NEW)), svm.decision_function(NEW))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_linear_regressor(fit_intercept):
    A, y = make_regression(60, 5, random_state=0)
    svm = LinearSVR(fit_intercept=fit_intercept, max_iter=10000).fit(A, y)
    close(from_sklearn(svm).predict(A), svm.predict(A))


def test_names_of_columns_are_kept_and_compared():
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    ours = from_sklearn(SVC().fit(table, WORDS))
    assert list(ours.feature_names_in_) == ["a", "b", "c"]
    ours.predict(table)
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(table[["b", "a", "c"]])
    with pytest.raises(ValueError, match="2 features"):
        from_sklearn(SVC().fit(X, WORDS)).predict(X[:, :2])


def test_limiting_cases_become_constants():
    for params in (dict(kernel="rbf", gamma=0.0), dict(kernel="poly", degree=0), dict(kernel="poly", gamma=0.0)):
        svm = SVC(**params).fit(X, LABEL)
        ours = from_sklearn(svm)
        assert isinstance(ours.kernel_, Constant)
        close(ours.decision_function(NEW), svm.decision_function(NEW))


def test_what_cannot_be_turned_is_refused_with_a_reason():
    with pytest.raises(ParameterError, match="LinearSVR"):
        from_sklearn(make_pipeline(SVC()).fit(X, LABEL))
    with pytest.raises(NotFittedError):
        from_sklearn(SVC())
    with pytest.raises(ParameterError, match="precomputed"):
        from_sklearn(SVC(kernel=rbf_kernel).fit(X, LABEL))
    with pytest.raises(ParameterError, match="coef0=-1"):
        from_sklearn(SVC(kernel="poly", coef0=-1.0).fit(X, LABEL))


# ---------------------------------------------------------------------- LIBSVM's text


def libsvm_text(svm, order=None):
    """Write a fitted machine of scikit-learn as LIBSVM does, classes in the given order."""
    impl, words = svm._impl, {"poly": "polynomial"}
    lines = [f"svm_type {impl}", f"kernel_type {words.get(svm.kernel, svm.kernel)}"]
    if svm.kernel == "poly":
        lines.append(f"degree {svm.degree}")
    if svm.kernel in ("poly", "rbf", "sigmoid"):
        lines.append(f"gamma {float(svm._gamma)!r}")
    if svm.kernel in ("poly", "sigmoid"):
        lines.append(f"coef0 {svm.coef0!r}")
    coef, rho = np.array(svm._dual_coef_), -np.array(svm._intercept_)
    rows, labels = np.arange(coef.shape[1]), None
    if hasattr(svm, "classes_"):
        labels, counts = svm.classes_, svm.n_support_
        if order is not None:
            coef, rho, rows, labels, counts = permuted(coef, rho, labels, counts, order)
    nr_class = 2 if labels is None else len(labels)
    lines += [f"nr_class {nr_class}", f"total_sv {len(rows)}", "rho " + " ".join(f"{v!r}" for v in rho.tolist())]
    if labels is not None:
        lines += ["label " + " ".join(map(str, labels)), "nr_sv " + " ".join(map(str, counts))]
    lines.append("SV")
    for column, row in enumerate(rows):
        numbers = " ".join(f"{v!r}" for v in coef[:, column].tolist())
        if svm.kernel == "precomputed":
            entries = f"0:{svm.support_[row] + 1}"
        else:
            vector = svm.support_vectors_[row]
            entries = " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(vector.tolist()) if v)
        lines.append(f"{numbers} {entries} ")
    return "\n".join(lines) + "\n"


def permuted(coef, rho, labels, counts, order):
    """The same machine with its classes in another order: pairs may turn their sign."""
    c, ends = len(labels), np.cumsum(counts)
    groups = [np.arange(end - n, end) for end, n in zip(ends, counts, strict=True)]
    pair = {}
    for k, (i, j) in enumerate(combinations(range(c), 2)):
        pair[i, j], pair[j, i] = (k, 1.0), (k, -1.0)
    rows = np.concatenate([groups[i] for i in order])
    new_coef, new_rho = np.zeros_like(coef), []
    position = np.empty(len(rows), dtype=int)
    position[rows] = np.arange(len(rows))
    for a in range(c):
        for b in range(a + 1, c):
            i, j = order[a], order[b]
            k, sign = pair[i, j]
            first, second = min(i, j), max(i, j)
            part = {first: coef[second - 1, groups[first]], second: coef[first, groups[second]]}
            new_coef[b - 1, position[groups[i]]] = sign * part[i]
            new_coef[a, position[groups[j]]] = sign * part[j]
            new_rho.append(sign * rho[k])
    return new_coef, np.array(new_rho), rows, labels[order], counts[order]


def written(tmp_path, text):
    path = tmp_path / "machine.model"
    path.write_text(text, newline="\n")
    return path


@pytest.mark.parametrize("name", KERNELS)
def test_libsvm_machines(tmp_path, name):
    params = KERNELS[name]
    cases = [
        (SVC(**params), LABEL),
        (NuSVC(nu=0.3, **params), LABEL),
        (SVC(**params), LABEL % 2),
        (OneClassSVM(nu=0.3, **params), None),
        (SVR(max_iter=2000, **params), REAL),
        (NuSVR(max_iter=2000, **params), REAL),
    ]
    for svm, y in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            svm.fit(X, y)
        ours = from_libsvm(written(tmp_path, libsvm_text(svm)))
        if hasattr(svm, "decision_function"):
            if hasattr(svm, "decision_function_shape"):
                svm.set_params(decision_function_shape="ovo")
            close(ours.decision_function(NEW), svm.decision_function(NEW))
            same_predictions(ours, svm, NEW)
        else:
            close(ours.predict(NEW), svm.predict(NEW))


@pytest.mark.parametrize("order", [[3, 1, 0, 2], [3, 2, 1, 0], [1, 0, 2, 3]])
def test_labels_in_the_order_of_the_file(tmp_path, order):
    svm = SVC(decision_function_shape="ovo").fit(X, LABEL)
    ours = from_libsvm(written(tmp_path, libsvm_text(svm, np.array(order))))
    assert np.array_equal(ours.classes_, [0, 1, 2, 3])
    close(ours.decision_function(NEW), svm.decision_function(NEW))
    agree = ours.predict(NEW) == svm.predict(NEW)
    votes = np.sort(np.floor(SVC(decision_function_shape="ovr").fit(X, LABEL).decision_function(NEW) + 1 / 3), axis=1)
    tied = votes[:, -1] == votes[:, -2]
    assert np.all(agree | tied)  # the order decides ties, and nothing else


def test_two_labels_in_either_order(tmp_path):
    svm = SVC().fit(X, np.where(LABEL % 2, 1, -1))
    plain = from_libsvm(written(tmp_path, libsvm_text(svm)))
    turned = from_libsvm(written(tmp_path, libsvm_text(svm, np.array([1, 0]))))
    for ours in (plain, turned):
        close(ours.decision_function(NEW), svm.decision_function(NEW))
        same_predictions(ours, svm, NEW)
    assert turned.classes_.tolist() == [-1, 1]


def test_ties_go_to_the_first_label_of_the_file(tmp_path):
    # three classes that beat each other in a circle, at every point: each has one vote
    text = (
        "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho -1 1 -1\nlabel 7 3 5\nnr_sv 1 1 1\nSV\n"
        "0 0 1:1\n0 0 1:1\n0 0 1:1\n"
    )
    assert from_libsvm(written(tmp_path, text)).predict([[0.0]]).tolist() == [7]


def test_precomputed_file_and_its_width(tmp_path):
    svm = SVC(kernel="precomputed", decision_function_shape="ovo").fit(rbf_kernel(X), LABEL)
    path = written(tmp_path, libsvm_text(svm))
    ours = from_libsvm(path, width=len(X))
    new = rbf_kernel(NEW, X)
    close(ours.decision_function(new), svm.decision_function(new))
    largest = int(svm.support_.max()) + 1
    assert from_libsvm(path).n_features_in_ == largest
    with pytest.raises(ParameterError, match="width=2"):
        from_libsvm(path, width=2)


def test_sparse_vectors_stay_sparse_and_probabilities_are_kept(tmp_path):
    text = (
        "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.25\nlabel 1 -1\nprobA -1.5\n"
        "probB 0.5\nnr_sv 1 1\nSV\n1 3:1 900:2 \n-1 7:0.5 \n"
    )
    ours = from_libsvm(written(tmp_path, text))
    samples = ours.expansion_.samples
    assert isinstance(samples, Vectors)
    assert samples.is_sparse
    assert ours.n_features_in_ == 900
    assert (ours.probA_.tolist(), ours.probB_.tolist()) == ([-1.5], [0.5])
    with pytest.raises(AttributeError):
        from_sklearn(SVC().fit(X, LABEL)).probA_  # noqa: B018


@pytest.mark.parametrize("machine", [SVC(probability=True), NuSVC(nu=0.3, probability=True)], ids=["C", "nu"])
@pytest.mark.parametrize("y", [WORDS, BINARY, LABEL], ids=["four", "two", "integers"])
def test_probabilities_are_those_of_scikit_learn(tmp_path, machine, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # scikit-learn means to give up its own probabilities
        svm = clone(machine).set_params(random_state=0).fit(X, y)
        theirs = svm.predict_proba(NEW)
    ours = from_sklearn(svm)
    assert np.abs(ours.predict_proba(NEW) - theirs).max() < 1e-10
    assert np.allclose(ours.predict_log_proba(NEW), np.log(theirs))
    save(ours, tmp_path / "m")
    assert load(tmp_path / "m").predict_proba(NEW).tobytes() == ours.predict_proba(NEW).tobytes()


def test_probabilities_of_a_file_follow_its_labels(tmp_path):
    text = (
        "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel {}\nprobA -2\nprobB 0.5\n"
        "nr_sv 1 1\nSV\n1 1:1 \n-1 1:-1 \n"
    )
    first, second = (from_libsvm(written(tmp_path, text.format(labels))) for labels in ("1 3", "3 1"))
    P = first.predict_proba([[0.5]])
    assert P.sum() == pytest.approx(1.0)
    assert P[0, 0] == pytest.approx(1.0 / (1.0 + np.exp(-2.0 + 0.5)), rel=1e-14)  # f = 1 is for the first label
    assert np.allclose(second.predict_proba([[0.5]]), P[:, ::-1])


def test_machines_without_probabilities_have_none():
    ours = from_sklearn(SVC().fit(X, LABEL))
    assert not hasattr(ours, "predict_proba")
    with pytest.raises(AttributeError):
        ours.predict_log_proba(NEW)


def test_indefinite_polynomials_are_refused(tmp_path):
    head = "svm_type epsilon_svr\nkernel_type polynomial\ndegree 2\ngamma 1\ncoef0 -3\n"
    text = head + "nr_class 2\ntotal_sv 1\nrho 0\nSV\n1 1:1\n"
    with pytest.raises(FileError, match="coef0=-3"):
        from_libsvm(written(tmp_path, text))


def test_many_classes_ask_for_memory_before_they_take_it(tmp_path, monkeypatch):
    c = 60
    pairs = c * (c - 1) // 2
    lines = ["svm_type c_svc", "kernel_type linear", f"nr_class {c}", f"total_sv {c}", "rho " + "0 " * pairs]
    lines += ["label " + " ".join(map(str, range(c))), "nr_sv " + "1 " * c, "SV"]
    lines += [("0 " * (c - 1)) + "1:1"] * c
    path = written(tmp_path, "\n".join(lines) + "\n")
    assert len(from_libsvm(path).classes_) == c
    monkeypatch.setattr("mercer.budget.free_memory", lambda: 700_000)
    with pytest.raises(MemoryBudgetError, match="60 classes"):
        from_libsvm(path)


@pytest.mark.parametrize("make", [lambda: SVC().fit(X, WORDS), lambda: LinearSVC().fit(X, WORDS),
                                  lambda: SVR().fit(sp.csr_array(X), REAL), lambda: OneClassSVM().fit(X),
                                  lambda: SVC(kernel="precomputed").fit(rbf_kernel(X), WORDS)])  # fmt: skip
def test_they_can_be_saved(tmp_path, make):
    svm = make()
    ours = from_sklearn(svm)
    save(ours, tmp_path / "svm.mercer")
    again = load(tmp_path / "svm.mercer")
    new = rbf_kernel(NEW, X) if getattr(svm, "kernel", "") == "precomputed" else NEW
    assert np.array_equal(again.predict(new), ours.predict(new))
    if hasattr(ours, "decision_function"):
        assert np.array_equal(again.decision_function(new), ours.decision_function(new))


def test_probabilities_of_one_class_are_tenths_between_marks(tmp_path):
    text = (
        "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\nprob_density_marks "
        "-1 -0.5 -0.25 0 0.25 0.5 1 1.5 2 3\nSV\n1 1:1 \n"
    )
    ours = from_libsvm(written(tmp_path, text))
    P = ours.predict_proba([[-2.0], [-1.0], [-0.3], [0.0], [2.5], [3.5]])
    np.testing.assert_allclose(P[:, 0], [0.001, 0.1, 0.2, 0.4, 0.9, 0.999])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    save(ours, tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").predict_proba([[0.3]]), ours.predict_proba([[0.3]]))
    assert not hasattr(from_libsvm(written(tmp_path, re.sub("prob_density.*\n", "", text))), "predict_proba")
    with pytest.raises(FileError, match="prob_density_marks has 3 values"):
        from_libsvm(written(tmp_path, re.sub("marks .*", "marks 1 2 3", text)))


def _lines(X, y, precomputed):
    for i, (row, target) in enumerate(zip(X, y, strict=True)):
        begin = f"0:{i + 1} " if precomputed else ""
        entries = " ".join(f"{j + 1}:{value:.17g}" for j, value in enumerate(row) if value or precomputed)
        yield f"{target:.17g} {begin}{entries}\n"


@pytest.mark.skipif(shutil.which("svm-train") is None, reason="LIBSVM's tools are not installed")
@pytest.mark.parametrize("probability", [0, 1])
@pytest.mark.parametrize("kernel", range(5))
@pytest.mark.parametrize(("machine", "classes"), [(0, 2), (0, 3), (1, 2), (1, 3), (2, 2), (3, 2), (4, 2)])
def test_files_of_libsvm_say_what_its_tools_say(machine, classes, kernel, probability, tmp_path):
    rng = np.random.default_rng(0)
    A, B = (rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.5) for n in (60, 40))
    noise = A[:, 0] + 0.5 * rng.normal(size=60)
    y = noise if machine >= 3 else np.digitize(noise, [0.0] if classes == 2 else [-0.4, 0.4]) * 2 - 1
    train, test = (A @ A.T, B @ A.T) if kernel == 4 else (A, B)
    (tmp_path / "train").write_text("".join(_lines(train, y, kernel == 4)))
    (tmp_path / "test").write_text("".join(_lines(test, np.zeros(40), kernel == 4)))
    options = ["-q", "-s", machine, "-t", kernel, "-b", probability, "-g", 0.5, "-r", 0.1, "-n", 0.3]
    done = subprocess.run(
        ["svm-train", *map(str, options), "train", "model"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if "not supported" in done.stderr:
        pytest.skip(done.stderr.strip())
    subprocess.run(
        ["svm-predict", "-b", str(probability), "test", "model", "out"], cwd=tmp_path, capture_output=True, check=True
    )
    ours, said = from_libsvm(tmp_path / "model", width=train.shape[1]), (tmp_path / "out").read_text().splitlines()
    for data in (test,) if kernel == 4 else (test, sp.csr_array(test)):
        if probability and machine < 3:
            labels = said[0].split()[1:]
            P = np.array([line.split()[1:] for line in said[1:]], dtype=float)
            order = [0, 1] if machine == 2 else [ours.classes_.tolist().index(int(label)) for label in labels]
            assert np.abs(ours.predict_proba(data)[:, order] - P).max() < 1e-6  # of which six digits are printed
        else:
            expected = np.array([line.split()[0] for line in said], dtype=float)
            assert np.abs(ours.predict(data) - expected).max() <= 1e-6 * max(1.0, np.abs(expected).max())

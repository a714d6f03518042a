"""What classifiers with a margin share: several classes, probabilities, objects, budgets, predictions in float32."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from mercer.domains import Strings
from mercer.errors import CapabilityError, ParameterError
from mercer.estimators.svm import svc as module
from mercer.estimators.svm.svc import SVC, MarginBoundSVC, NuSVC
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, Laplacian, Linear, NegativeDistance, Sigmoid, Spectrum
from mercer.selection.sigmoid import fit_sigmoid
from mercer.solvers import SMO, InteriorPoint
from mercer.targets.codes import output_code

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
CANCER = StandardScaler().fit_transform(CANCER[0])[:300], CANCER[1][:300]
DIGITS = tuple(part[:400] for part in load_digits(return_X_y=True))
SETS = {"iris": IRIS, "cancer": CANCER, "digits": DIGITS}

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, 0)
Y3 = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])
NEW = rng.normal(size=(40, 3))

MACHINES = {
    "SVC": lambda **o: SVC(Gaussian(1.0), **o),
    "squared hinge": lambda **o: SVC(Gaussian(1.0), loss="squared_hinge", **o),
    "NuSVC": lambda **o: NuSVC(Gaussian(1.0), nu=0.3, **o),
    "MarginBoundSVC": lambda **o: MarginBoundSVC(Gaussian(1.0), C=0.2, **o),
}
machines = pytest.mark.parametrize("machine", MACHINES)


# several classes ----------------------------------------------------------------------------------------


@machines
def test_one_against_the_rest_by_hand(machine):
    make = MACHINES[machine]
    model = make(multi_class="ovr").fit(X, Y3)
    by_hand = np.column_stack([make().fit(X, c == Y3).decision_function(NEW) for c in range(3)])
    np.testing.assert_allclose(model.decision_function(NEW), by_hand, atol=1e-7)
    assert np.array_equal(model.predict(NEW), np.argmax(by_hand, axis=1))
    theirs = OneVsRestClassifier(make()).fit(X, Y3)
    assert np.array_equal(model.predict(NEW), theirs.predict(NEW))
    assert model.dual_coef_.shape == (3, len(model.support_))


@machines
def test_pairs_by_hand(machine):
    make = MACHINES[machine]
    model = make(decision_function_shape="ovo").fit(X, Y3)
    for column, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        pair = np.isin(Y3, [a, b])
        alone = make().fit(X[pair], Y3[pair] == a)
        np.testing.assert_allclose(model.decision_function(NEW)[:, column], alone.decision_function(NEW), atol=1e-7)


def test_ties_are_broken_as_there():
    A, y = DIGITS
    options = {"kernel": "rbf", "gamma": 1e-4, "C": 0.05}
    for ties in (True, False):
        ours = SVC(**options, break_ties=ties).fit(A, y)
        theirs = sklearn.svm.SVC(**options, break_ties=ties, tol=1e-9).fit(A, y)
        assert np.mean(ours.predict(A) == theirs.predict(A)) >= 0.995
        if ties:
            assert np.array_equal(ours.predict(A), np.argmax(ours.decision_function(A), axis=1))


def test_all_classes_together_is_crammer_and_singer():
    """Against LIBLINEAR, which has it for the linear kernel without a bias, and against a general solver."""
    A = np.hstack([X, np.ones((60, 1))])
    ours = SVC(Linear(), C=0.7, multi_class="crammer_singer", tol=1e-8).fit(A, Y3)
    theirs = sklearn.svm.LinearSVC(
        C=0.7, multi_class="crammer_singer", fit_intercept=False, tol=1e-12, max_iter=10**6, random_state=0
    ).fit(A, Y3)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert np.array_equal(ours.predict(A), theirs.predict(A))
    assert np.all(ours.intercept_ == 0.0) and ours.decision_function(A).shape == (60, 3)
    with pytest.raises(CapabilityError, match="must be"):
        SVC(NegativeDistance(1.0), multi_class="crammer_singer").fit(X, Y3)
    for bad in ({"loss": "squared_hinge"}, {"probability": True}):
        with pytest.raises(ParameterError, match="crammer_singer"):
            SVC(Gaussian(1.0), multi_class="crammer_singer", **bad).fit(X, Y3)
    with pytest.raises(ParameterError, match="crammer_singer"):
        NuSVC(Gaussian(1.0), nu=0.1, multi_class="crammer_singer").fit(X, Y3)
    two = SVC(Gaussian(1.0), multi_class="crammer_singer").fit(X, Y)  # two classes: the ordinary machine
    np.testing.assert_allclose(two.decision_function(NEW), SVC(Gaussian(1.0)).fit(X, Y).decision_function(NEW))


@pytest.mark.parametrize("scheme", ["dense", "sparse", "exhaustive"])
def test_output_codes(scheme):
    A, y = IRIS
    model = SVC("rbf", multi_class=scheme).fit(A, y)
    assert model.score(A, y) > 0.94
    assert model.decision_function(A).shape == (150, 3)
    given = SVC("rbf", multi_class=output_code(3, scheme)).fit(A, y)
    np.testing.assert_allclose(given.decision_function(A), model.decision_function(A), atol=1e-9)
    assert np.array_equal(np.argmax(model.decision_function(A), axis=1), model.predict(A))


def test_a_code_of_pairs_is_voting_with_losses():
    code = np.array([[1, 1, 0], [-1, 0, 1], [0, -1, -1]])
    model, pairs = SVC(Gaussian(1.0), multi_class=code).fit(X, Y3), SVC(Gaussian(1.0)).fit(X, Y3)
    np.testing.assert_allclose(model.intercept_, pairs.intercept_, atol=1e-9)
    assert np.mean(model.predict(NEW) == pairs.predict(NEW)) > 0.8
    for bad in (np.ones((3, 2)), np.zeros((3, 2)), [[1, -1], [1, -1]], [[2, 1], [1, -1], [-1, 1]]):
        with pytest.raises(ParameterError):
            SVC(Gaussian(1.0), multi_class=bad).fit(X, Y3)


# probabilities ------------------------------------------------------------------------------------------


@machines
def test_probabilities_rank_as_decision_values(machine, monkeypatch):
    fits, real = [], module.SupportVectorClassifier._solve_all

    def counted(self, problems, *rest):
        fits.append(len(problems))
        return real(self, problems, *rest)

    monkeypatch.setattr(module.SupportVectorClassifier, "_solve_all", counted)
    A, y = CANCER
    model = MACHINES[machine](probability=True).set_params(kernel=Gaussian(5.0)).fit(A[:200], y[:200])
    assert fits == [1]  # one program: no hidden refit
    P = model.predict_proba(A[200:])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.shape == (100, 2) and (P >= 0).all()
    f = model.decision_function(A[200:])
    assert roc_auc_score(y[200:], P[:, 1]) == roc_auc_score(y[200:], f)
    assert np.all(np.diff(P[np.argsort(f), 1]) >= 0)
    np.testing.assert_allclose(model.predict_log_proba(A[200:]), np.log(P))
    plain = MACHINES[machine]().set_params(kernel=Gaussian(5.0)).fit(A[:200], y[:200])
    np.testing.assert_array_equal(plain.decision_function(A[200:]), f)


@pytest.mark.parametrize("scheme", ["ovo", "ovr", "exhaustive"])
def test_probabilities_of_several_classes(scheme):
    A, y = IRIS
    model = SVC("rbf", multi_class=scheme, probability=True).fit(A, y)
    P = model.predict_proba(A)
    assert P.shape == (150, 3) and (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert np.mean(np.argmax(P, axis=1) == y) > 0.94
    assert -np.mean(np.log(P[np.arange(150), y])) < 0.2


def test_probabilities_must_be_asked_for():
    model = SVC(Gaussian(1.0)).fit(X, Y)
    assert not hasattr(model, "predict_proba") and not hasattr(SVC(), "predict_proba")
    assert hasattr(SVC(probability=True), "predict_proba")
    with pytest.raises(NotFittedError):
        SVC(probability=True).predict_proba(X)


# objects, life ------------------------------------------------------------------------------------------


def test_strings():
    letters = np.random.default_rng(1).integers(0, 3, size=(80, 20))
    texts = ["".join("abc"[c] for c in row) for row in letters]
    y = np.array(["more" if text.count("ab") > text.count("ba") else "less" for text in texts])
    model = SVC(Spectrum(2).normalized(), C=10.0, probability=True).fit(texts, y)
    assert model.score(texts, y) > 0.9
    assert isinstance(model.support_vectors_, Strings) and len(model.support_vectors_) == len(model.support_)
    np.testing.assert_allclose(
        Spectrum(2).normalized()(texts, model.support_vectors_) @ model.dual_coef_[0] + model.intercept_[0],
        model.decision_function(texts), atol=1e-10,
    )  # fmt: skip
    assert set(model.predict(["abab", "bcbc"])) <= {"more", "less"}


@machines
def test_pickle_clone_and_parameters(machine):
    model = MACHINES[machine](probability=True).fit(X, Y3)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(NEW), model.decision_function(NEW))
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    fresh = clone(model).fit(X, Y3)
    assert np.array_equal(fresh.decision_function(NEW), model.decision_function(NEW))
    assert len(pickle.dumps(model)) < 60_000  # no Gram inside
    model.set_params(kernel__length_scale=0.5)
    assert model.kernel.length_scale == 0.5 and fresh.kernel.length_scale == 1.0


@machines
def test_other_solvers_and_grams(machine):
    expected = MACHINES[machine]().fit(X, Y3).decision_function(NEW)
    for options in ({"solver": InteriorPoint()}, {"solver": SMO(tol=1e-8)}, {"gram": Tiles()}, {"gram": Dense()}):
        model = MACHINES[machine](**options).fit(X, Y3)
        np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-6)
    for threads in (1, 2):
        model = MACHINES[machine](n_threads=threads).fit(X, Y3)
        assert np.array_equal(model.decision_function(NEW), expected)


def test_few_iterations_warn_and_leave_a_model():
    for target in (Y, Y3):
        with pytest.warns(ConvergenceWarning, match="iterations ran out"):
            model = SVC(Gaussian(1.0), C=100.0, max_iter=3).fit(X, target)
        assert model.fit_status_ == 1 and model.solution_.residual > 1e-3
        assert np.isfinite(model.decision_function(NEW)).all() and np.all(model.n_iter_ <= 3)
    assert SVC(Gaussian(1.0), max_iter=-1).fit(X, Y).fit_status_ == 0


def test_float32_predictions_have_the_sign_of_decision_values():
    """Points placed on the boundary by halving, to the last bits; clusters far out, where float32 is at its worst."""
    own = np.random.default_rng(4)
    for far in (0.0, 5.6, 50.0, 1e4):
        A = own.normal(size=(80, 4))
        A[:, 0] += np.where(np.arange(80) % 2, far, -far)
        y = np.where(A[:, 1] + 0.3 * own.normal(size=80) > 0, 1, 0)
        model = SVC(Gaussian(1.0), C=100.0).fit(A, y)
        low, high = A[model.predict(A) == 0][:30].copy(), A[model.predict(A) == 1][:30].copy()
        low, high = low[: len(high)], high[: len(low)]
        for _ in range(45):
            middle = 0.5 * (low + high)
            up = model.decision_function(middle) > 0
            low, high = np.where(up[:, None], low, middle), np.where(up[:, None], middle, high)
        near = np.vstack([low, high, *(low + s * (high - low + 1e-7 * own.normal(size=low.shape)) for s in (-9, 5))])
        assert np.abs(model.decision_function(near)).max() < 1e-3
        assert np.array_equal(model.predict(near) == 1, model.decision_function(near) > 0)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0)], ids=repr)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_predictions_far_from_the_origin(kernel, offset):
    for target in (Y, Y3):
        model = SVC(kernel, C=10.0).fit(X + offset, target)
        values = model.set_params(decision_function_shape="ovr").decision_function(NEW + offset)
        expected = values > 0 if values.ndim == 1 else np.argmax(values, axis=1)
        assert np.array_equal(model.predict(NEW + offset), expected.astype(int))


@pytest.mark.parametrize("train", ["double", "single", "sparse"])
@pytest.mark.parametrize("new", ["double", "single", "sparse"])
def test_data_of_one_kind_may_be_followed_by_data_of_another(train, new):
    kinds = {"double": np.asarray, "single": lambda A: np.asarray(A, np.float32), "sparse": sp.csr_array}
    A, B = X.astype(np.float32).astype(float) + 2.0, NEW.astype(np.float32).astype(float) + 2.0  # the same in both
    model = SVC(Gaussian(1.0), C=10.0).fit(kinds[train](A), Y)
    exact = SVC(Gaussian(1.0), C=10.0).fit(A, Y).decision_function(B)
    np.testing.assert_allclose(model.decision_function(kinds[new](B)), exact, atol=1e-5)
    assert np.array_equal(model.predict(kinds[new](B)) == 1, exact > 0)


@machines
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_stopped_at_once_predicts(machine):
    """Out of time before the first step: no support vectors yet, and still a function."""
    model = MACHINES[machine](gram=Tiles(), max_time=1e-9).fit(X, Y)
    assert model.fit_status_ == 1
    assert model.predict(NEW).shape == (40,) and np.isfinite(model.decision_function(NEW)).all()


INDEFINITE = Sigmoid(0.2, offset=-0.5)


def _three_classes(seed):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(90, 4)) * (rng.random((90, 4)) < 0.7)
    return data, np.digitize(data[:, 0] + 0.5 * rng.normal(size=90), [-0.4, 0.4])


@pytest.mark.filterwarnings("ignore::mercer.errors.IndefiniteWarning")
def test_probabilities_of_an_indefinite_kernel_are_cross_validated():
    data, labels = _three_classes(0)
    some = labels < 2
    X, y = data[some], labels[some]
    model = SVC(INDEFINITE, probability=True).fit(X, y)
    fold = np.empty(len(y), dtype=int)
    for label in (0, 1):
        fold[y == label] = np.arange(np.sum(y == label)) % 5
    values = np.empty(len(y))
    for one in range(5):
        values[fold == one] = SVC(INDEFINITE).fit(X[fold != one], y[fold != one]).decision_function(X[fold == one])
    expected = fit_sigmoid(values, 2.0 * y - 1.0)
    assert model.sigmoids_[0].slope == pytest.approx(expected.slope, rel=1e-3)
    assert model.sigmoids_[0].offset == pytest.approx(expected.offset, rel=1e-3, abs=1e-3)


@pytest.mark.filterwarnings("ignore::mercer.errors.IndefiniteWarning", "ignore::mercer.errors.DegenerateWarning")
def test_probabilities_of_an_indefinite_kernel_do_not_depend_on_the_storage():
    data, labels = _three_classes(1)
    dense, sparse = (SVC(INDEFINITE, probability=True).fit(form(data), labels) for form in (np.asarray, sp.csr_array))
    np.testing.assert_allclose(dense.predict_proba(data), sparse.predict_proba(sp.csr_array(data)), atol=1e-3)  # tol
    clipped = [
        NuSVC("sigmoid", probability=True, gram=Dense(indefinite="clip")).fit(form(data), labels).predict_proba(data)
        for form in (np.asarray, sp.csr_array)
    ]
    np.testing.assert_allclose(*clipped, atol=1e-3)


@pytest.mark.filterwarnings("ignore::mercer.errors.IndefiniteWarning", "ignore::mercer.errors.DegenerateWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kernel", ["sigmoid", Sigmoid(1.0)], ids=str)
def test_machines_with_nu_have_probabilities_of_an_indefinite_kernel(seed, kernel):
    data, labels = _three_classes(seed)
    P = NuSVC(kernel, probability=True).fit(data, labels).predict_proba(data)
    assert np.isfinite(P).all() and np.allclose(P.sum(axis=1), 1.0)

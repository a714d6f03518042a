"""Policies for indefinite matrices: the arithmetic, what is recorded, and functions beyond the training samples."""

import functools
import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier

import mercer.estimators
from mercer import SVC, SVR, KernelRidge, load, save
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, IndefiniteWarning, MemoryBudgetError, NotPositiveDefinite, ParameterError
from mercer.gram import Dense
from mercer.gram.repair import POLICIES, Repair, mended, negative_part, rounding
from mercer.kernels import Gaussian, NegativeDistance, Precomputed, RadialFunction, Sigmoid, ThinPlate
from mercer.problems import Solution, Status

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
NEW = rng.normal(size=(7, 2))
SIGMOID = Sigmoid(1.0, offset=-1.0)
WRONG = RadialFunction(np.tanh, order=1)  # grows with the distance: not even conditionally definite


def naive(K, policy, order=0):
    """The mended matrix by its definition, on P K P for order 1."""
    n = len(K)
    P = np.eye(n) - order / n
    values, U = np.linalg.eigh(P @ K @ P)
    if policy == "shift":
        return K - min(values.min(), 0.0) * np.eye(n)
    negative = values < 0
    times = {"clip": 1.0, "flip": 2.0}[policy]
    return K - (U[:, negative] * (times * values[negative])) @ U[:, negative].T


@pytest.mark.parametrize("policy", ["clip", "flip", "shift"])
@pytest.mark.parametrize(("kernel", "order"), [(SIGMOID, 0), (WRONG, 1)], ids=["order 0", "order 1"])
def test_the_arithmetic(policy, kernel, order):
    K = kernel(X)
    gram = Dense(indefinite=policy).build(kernel, Vectors.pack(X))
    np.testing.assert_allclose(gram.array, naive(K, policy, order), atol=1e-10)
    np.testing.assert_array_equal(gram.array, gram.array.T)
    P = np.eye(30) - order / 30
    assert np.linalg.eigvalsh(P @ gram.array @ P).min() > -1e-10
    values = np.linalg.eigvalsh(P @ K @ P)
    repair = gram.repair
    assert repair.policy == policy and repair.order == order and repair.n_samples == 30
    assert repair.n_negative == np.sum(values < -1e-9)
    assert repair.most_negative == pytest.approx(values[0]) and repair.largest == pytest.approx(values[-1], abs=1e-9)
    assert repair.change == pytest.approx(np.linalg.norm(gram.array - K) / np.linalg.norm(K))
    assert f"{repair.n_negative} of 30" in str(repair) and policy in str(repair)


@pytest.mark.parametrize("policy", ["clip", "flip"])
@pytest.mark.parametrize("kernel", [SIGMOID, WRONG], ids=["order 0", "order 1"])
def test_the_function_has_the_mended_values_at_the_samples(policy, kernel):
    gram = Dense(indefinite=policy).build(kernel, Vectors.pack(X))
    c = rng.normal(size=(30, 2))
    f = gram.expand(Solution(c, Status.CONVERGED, 0.0), np.array([1.0, -2.0]))
    np.testing.assert_allclose(f(Vectors.pack(X)), gram.array @ c + [1.0, -2.0], atol=1e-10)
    one = gram.expand(Solution(c[:, 0], Status.CONVERGED, 0.0))
    np.testing.assert_allclose(one(Vectors.pack(X)), gram.array @ c[:, 0], atol=1e-10)
    # beyond them it is continuous, made of the kernel as it is, and what `cross` says
    near = f(Vectors.pack(X + 1e-9))
    np.testing.assert_allclose(near, f(Vectors.pack(X)), atol=1e-5)
    T = Vectors.pack(NEW)
    np.testing.assert_allclose(gram.cross(T) @ c + [1.0, -2.0], f(T), atol=1e-10)
    np.testing.assert_allclose(gram.cross(T).to_dense() @ c, gram.cross(T) @ c, atol=1e-10)
    np.testing.assert_allclose(gram.cross(Vectors.pack(X)).to_dense(), gram.array, atol=1e-10)


def test_a_shift_leaves_the_coefficients():
    gram = Dense(indefinite="shift").build(SIGMOID, Vectors.pack(X))
    c = rng.normal(size=30)
    f = gram.expand(Solution(c, Status.CONVERGED, 0.0))
    np.testing.assert_allclose(f(Vectors.pack(NEW)), SIGMOID(NEW, X) @ c)
    np.testing.assert_allclose(gram.cross(Vectors.pack(NEW)).to_dense(), SIGMOID(NEW, X))
    np.testing.assert_allclose(gram.take(np.arange(5)).array, gram.array[:5, :5])


@pytest.mark.parametrize("policy", ["clip", "flip"])
def test_a_part_is_a_part_of_the_mended_matrix(policy):
    gram = Dense(indefinite=policy).build(SIGMOID, Vectors.pack(X))
    index = np.array([9, 2, 17, 4])
    part = gram.take(index)
    np.testing.assert_array_equal(part.array, gram.array[np.ix_(index, index)])
    c, whole = rng.normal(size=4), np.zeros(30)
    whole[index] = c
    T = Vectors.pack(NEW)
    same = part.expand(Solution(c, Status.CONVERGED, 0.0))(T), gram.expand(Solution(whole, Status.CONVERGED, 0.0))(T)
    np.testing.assert_allclose(*same, atol=1e-12)
    np.testing.assert_allclose(part.cross(T) @ c, same[0], atol=1e-12)
    np.testing.assert_allclose(part.cross(T).to_dense(), gram.cross(T).to_dense()[:, index], atol=1e-12)
    again = part.take(np.array([1, 3]))
    np.testing.assert_array_equal(again.index, index[[1, 3]])
    assert again.repair is gram.repair


def test_rows_products_and_release():
    gram = Dense(indefinite="clip").build(SIGMOID, Vectors.pack(X))
    A = gram.array.copy()
    v, index = rng.normal(size=30), np.array([3, 8])
    np.testing.assert_allclose(gram @ v, A @ v)
    np.testing.assert_array_equal(gram.diag(), np.diagonal(A))
    np.testing.assert_array_equal(gram.rows(index), A[index])
    out = np.zeros(30)
    gram.update(index, v[:2], out)
    np.testing.assert_allclose(out, A[:, index] @ v[:2])
    np.testing.assert_array_equal(gram.to_dense(), A)
    gram.release()[:] = 0.0
    f = gram.expand(Solution(v, Status.CONVERGED, 0.0))  # a solver that has taken the array leaves the function
    np.testing.assert_allclose(f(Vectors.pack(X)), A @ v, atol=1e-10)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(30.0), NegativeDistance()], ids=repr)
def test_definite_matrices_are_left_to_the_bit(policy, kernel):
    gram = Dense(indefinite=policy).build(kernel, Vectors.pack(X))
    np.testing.assert_array_equal(gram.array, kernel(X))
    assert gram.repair is None


def test_reject():
    with pytest.raises(NotPositiveDefinite, match=r"c\^T K c = -.*at sample \d+.*Use indefinite='clip'"):
        Dense(indefinite="reject").build(SIGMOID, Vectors.pack(X))
    with pytest.raises(NotPositiveDefinite, match="sum zero"):
        Dense(indefinite="reject").build(WRONG, Vectors.pack(X))
    with pytest.raises(CapabilityError, match="order 2"):
        Dense(indefinite="clip").build(ThinPlate(), Vectors.pack(X))
    with pytest.raises(ParameterError, match="indefinite"):
        Dense(indefinite="mend").build(SIGMOID, Vectors.pack(X))


def test_negative_part_and_rounding():
    values, vectors, smallest, largest = negative_part(np.diag([-2.0, 1.0, -1.0]))
    np.testing.assert_allclose(values, [-2.0, -1.0])
    assert vectors.shape == (3, 2) and (smallest, largest) == (-2.0, 1.0)
    assert len(negative_part(np.zeros((0, 0)))[0]) == 0
    assert rounding(10, 1.0) > rounding(5, 1.0) > 0.0
    K = np.eye(3)
    K[0, 0] = -1e-13  # rounding
    assert mended(K, "clip") is None and K[0, 0] == -1e-13


def test_memory_is_planned():
    assert Dense(indefinite="clip").plan(SIGMOID, 100).total == 4 * Dense().plan(SIGMOID, 100).total
    with pytest.raises(MemoryBudgetError, match="eigenvectors"):
        Dense(indefinite="clip").build(SIGMOID, Vectors.pack(X), Resources(memory=2 * 8 * 30 * 30))


# ---------------------------------------------------------------------------------- estimators


NOT_THIS = (  # affinities have no need to be definite, and must not be negative; a second view has a kernel of its own
    *(mercer.DiffusionMap, mercer.SpectralClustering, mercer.LaplacianEigenmap, mercer.ReferencePointMap),
    *(mercer.KernelCCA, mercer.LeastSquaresCCA),
    *(mercer.CoRegularizedRidge, mercer.MultiViewLaplacianSVC, mercer.SVM2K),
    *(mercer.LaplacianRidge, mercer.LaplacianSVC, mercer.SparseLaplacianRegressor),  # as the next
    mercer.MultiInstanceSVC,  # of two classes
    mercer.KernelLPP,  # whose graph of neighbours is that of the kernel as it is
    mercer.KernelFeatures,  # which takes factors alone
    mercer.KernelProjectionPursuit,  # a search that ends elsewhere for other rounding
)


def estimators():
    for name in mercer.estimators.__all__:
        cls = getattr(mercer.estimators, name)
        if isinstance(cls, type) and issubclass(cls, BaseEstimator) and cls not in NOT_THIS:
            parameters = inspect.signature(cls.__init__).parameters
            if {"gram", "kernel"} <= set(parameters):
                yield cls


Y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])


@pytest.mark.parametrize("policy", ["clip", "flip"])
@pytest.mark.parametrize("cls", list(estimators()), ids=lambda cls: cls.__name__)
def test_every_estimator_is_that_of_the_mended_matrix_or_refuses(cls, policy):
    model = cls(kernel=SIGMOID, gram=Dense(indefinite=policy))
    if "tol" in model.get_params():
        model.set_params(tol=1e-6)
    if "fixed" in model.get_params():
        model.set_params(fixed="all")  # a repaired matrix has no derivatives
    y = Y if is_classifier(model) else Y + (0 if cls.__name__ == "KernelGLM" else 0.1 * np.abs(X[:, 1]))
    if policy not in model.policies:
        with pytest.raises(CapabilityError, match="KernelRidge"):
            model.fit(X, y)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", IndefiniteWarning)
        model.fit(X, y)
        K = naive(SIGMOID(X), policy)
        other = clone(model).set_params(kernel="precomputed", gram=None).fit(0.5 * (K + K.T), y)
    name = next(m for m in ("decision_function", "predict", "transform") if hasattr(model, m))
    expected = getattr(other, name)(K)
    error = np.abs(getattr(model, name)(X) - expected).max() / np.abs(expected).max()
    assert error < (1e-2 if cls.__name__ == "OneClassSVM" else 1e-5)  # whose bias is any of an interval here
    assert isinstance(model.repair_, Repair) and model.repair_.policy == policy and other.repair_ is None


@pytest.mark.parametrize("cls", [SVC, SVR, KernelRidge])
def test_precomputed_matrices(cls):
    K = SIGMOID(X)
    cls = functools.partial(cls, **({"alpha": 100.0} if cls is KernelRidge else {}))
    with pytest.warns(IndefiniteWarning, match=r"Dense\(indefinite='clip'\)"):
        cls(kernel="precomputed").fit(K, Y)
    with pytest.raises(NotPositiveDefinite):
        cls(kernel="precomputed", gram=Dense(indefinite="reject")).fit(K, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndefiniteWarning)
        mine = cls(kernel=Precomputed(), gram=Dense(indefinite="clip")).fit(K, Y)
        same = cls(kernel=SIGMOID, gram=Dense(indefinite="clip")).fit(X, Y)
    np.testing.assert_allclose(mine.predict(SIGMOID(NEW, X)), same.predict(NEW), atol=1e-8)


def test_advice_names_the_policy():
    with pytest.warns(IndefiniteWarning, match=r"gram=Dense\(indefinite='clip'\)"):
        KernelRidge(SIGMOID, alpha=100.0).fit(X, X[:, 0])


def test_weights_are_copies():
    w = rng.integers(0, 3, size=30)
    mine = KernelRidge(SIGMOID, alpha=0.5, gram=Dense(indefinite="shift")).fit(
        X, X[:, 0], sample_weight=np.where(w > 0, 1, 0)
    )
    left = KernelRidge(SIGMOID, alpha=0.5, gram=Dense(indefinite="shift")).fit(X[w > 0], X[w > 0, 0])
    np.testing.assert_allclose(mine.predict(NEW), left.predict(NEW), atol=1e-9)
    assert mine.repair_ == left.repair_


def test_models_are_saved_with_their_repair(tmp_path):
    model = SVC(SIGMOID, gram=Dense(indefinite="flip")).fit(X, Y)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert again.repair_ == model.repair_ and again.gram == Dense(indefinite="flip")
    np.testing.assert_array_equal(again.decision_function(NEW), model.decision_function(NEW))

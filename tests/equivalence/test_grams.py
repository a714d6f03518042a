"""Every estimator gives the same answer however K is held: whole, in tiles, or as a factor of full rank."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier

import mercer
import mercer.estimators
from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.gram import Dense, IncompleteCholesky, Nystrom, Tiles
from mercer.kernels import Gaussian
from mercer.problems import LinearSystem
from mercer.solvers import Cholesky, ConjugateGradient, Woodbury

N = 36
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
X[:12, 0] += 4.0
X[12:24, 1] += 4.0
T = X[::4] + 0.05
CLASSES = np.repeat([0, 1, 2], 12)
NUMBERS = np.sin(X[:, 0]) + 0.3 * X[:, 1]
FULL = [Tiles(), Nystrom(N), IncompleteCholesky(N, tol=0.0)]

WITHOUT_NUMBERS = {"MultiInstanceSVC", "OrdinalSVC", "StructuredPerceptron", "StructuredSVC"}  # they say classes only
ESTIMATORS = [
    value
    for name in mercer.estimators.__all__
    if isinstance(value := getattr(mercer.estimators, name), type)
    and hasattr(value, "fit")
    and "gram" in inspect.signature(value.__init__).parameters
    and value is not mercer.KernelFeatures  # which takes factors alone
    and value.__name__ not in WITHOUT_NUMBERS
]
OPTIONS = {
    "GaussianProcessRegressor": {"fixed": "all"},
    "KernelDependencyEstimation": {"alpha": 0.1},  # to choose it, samples are left out by a factor
    "KernelGLM": {"family": "gaussian"},
    "KernelGramSchmidt": {"n_components": None},  # of equal pivots, rounding chooses the first
    "RelevanceVectorClassifier": {"tol": 1e-3},
}
UNIFORM = {"tol": 1e-8, "random_state": 0, "n_components": 2, "n_clusters": 3}
REFUSALS = {  # what an estimator says it cannot use, in words, rather than answer differently
    ("GaussianProcessRegressor", Nystrom): "changes the kernel",
    ("GaussianProcessRegressor", IncompleteCholesky): "changes the kernel",
    ("KernelRidgeCV", Tiles): "stores nothing that can be decomposed",
    ("GaussianProcessMixture", Tiles): "the determinant",
    ("SemiparametricLatentFactor", Tiles): "the determinant",
    ("KernelCCA", Tiles): "eigenvectors need",
    ("LeastSquaresCCA", Tiles): "eigenvectors need",
    ("NuclearNormClassifier", Tiles): "needs a factor",
    ("NuclearNormRegressor", Tiles): "needs a factor",
    ("SVM2K", Tiles): "needs a factor",
    ("SparseLaplacianRegressor", Tiles): "needs a factor",
    ("TransductiveLSSVC", Tiles): "needs a factor",
}


def fitted(estimator, gram):
    known = inspect.signature(estimator.__init__).parameters
    options = {name: value for name, value in UNIFORM.items() if name in known}
    options |= OPTIONS.get(estimator.__name__, {})
    model = estimator(Gaussian(1.0), gram=gram, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tolerances that are beyond rounding
        return model.fit(X, CLASSES if is_classifier(model) else NUMBERS)


def answers(model):
    """What a model says of new samples, without what is arbitrary: the signs of axes, the digits of a class."""
    found = {}
    for name in ("decision_function", "predict", "score_samples", "transform", "predict_proba"):
        if hasattr(model, name) and not (name == "predict" and is_classifier(model)):
            found[name] = np.asarray(getattr(model, name)(T), dtype=float)
    for name in ("labels_", "embedding_"):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name), dtype=float)
    for name in ("transform", "embedding_"):
        if name in found:
            found[name] = found[name] @ found[name].T
    return found


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_the_same_answer(estimator):
    dense = answers(fitted(estimator, Dense()))
    assert dense
    for gram in FULL:
        words = REFUSALS.get((estimator.__name__, type(gram)))
        if words is not None:
            with pytest.raises(CapabilityError, match=words):
                fitted(estimator, gram)
            continue
        other = answers(fitted(estimator, gram))
        for name, values in dense.items():
            scale = np.abs(values).max()
            assert np.allclose(other[name], values, rtol=0.0, atol=3e-7 * scale), (gram, name)


@pytest.mark.parametrize("border", [None, np.ones((N, 1))], ids=["plain", "bordered"])
def test_the_same_solution(border):
    S = Vectors.pack(X)
    dense = Dense().build(Gaussian(1.0), S)
    shift = np.linspace(0.1, 0.3, N)
    exact = Cholesky().solve(LinearSystem(Dense().build(Gaussian(1.0), S), shift, NUMBERS, border)).coef
    for solver, gram in (
        (ConjugateGradient(tol=1e-12), dense),
        (ConjugateGradient(tol=1e-12, preconditioner="pivoted", rank=10), Tiles().build(Gaussian(1.0), S)),
        (Woodbury(), Nystrom(N).build(Gaussian(1.0), S)),
        (Woodbury(), IncompleteCholesky(N, tol=0.0).build(Gaussian(1.0), S)),
    ):
        assert np.allclose(solver.solve(LinearSystem(gram, shift, NUMBERS, border)).coef, exact, atol=1e-9)

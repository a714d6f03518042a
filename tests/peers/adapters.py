"""scikit-learn's names over mercer's estimators, as thin as they can be: parameters are renamed, nothing is computed.

What mercer has no counterpart of is skipped with a reason that begins with `NO_COUNTERPART`, and counted apart.
"""

import functools
import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import cluster, decomposition, gaussian_process, kernel_approximation, kernel_ridge, manifold, svm
from sklearn.base import BaseEstimator
from sklearn.gaussian_process import kernels as theirs
from sklearn.metrics import pairwise

import mercer
import mercer.errors
from mercer.gram import Nystrom, RandomFeatures
from mercer.kernels import Gaussian
from mercer.kernels.foreign import as_kernel, kernel_from_word, translated
from mercer.preimages.methods import RidgeMap

NO_COUNTERPART = "no counterpart"
TOUCHED = set()  # what of mercer a test has used


def missing(what):
    """Skip a test that needs something which mercer has under no name."""
    pytest.skip(f"{NO_COUNTERPART}: {what}")


class Adapter(BaseEstimator):
    """An estimator of mercer behind the parameters of scikit-learn's."""

    reference: type

    def make(self):
        """Return the estimator of mercer."""
        raise NotImplementedError

    without_y = False

    def fit(self, X, y=None, **more):
        TOUCHED.add(type(self).__name__)
        model = self.make()
        vars(self).pop("model_", None)
        if getattr(model, "kernel", None) == "precomputed" and sp.issparse(X) and self.densifies:
            X = X.toarray()
        with warnings.catch_warnings():  # mercer warns where scikit-learn is silent
            warnings.simplefilter("ignore", mercer.errors.IndefiniteWarning)
            warnings.simplefilter("ignore", mercer.errors.DegenerateWarning)
            model.fit(X, **more) if y is None and self.without_y else model.fit(X, y, **more)
        vars(self)["model_"] = model
        vars(self)["was_sparse_"] = sp.issparse(X)
        return self

    densifies = False  # whether a sparse precomputed matrix is given as an array

    def __setattr__(self, name, value):
        model = vars(self).get("model_")
        if model is None or not name.endswith("_"):
            super().__setattr__(name, value)
        if model is not None and (name.endswith("_") or name in model.get_params(deep=False)):
            setattr(model, name, value)

    def __getattr__(self, name):
        if name.startswith("__") or name == "model_" or (name.endswith("_") and "model_" not in vars(self)):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        TOUCHED.add(type(self).__name__)
        model = vars(self)["model_"] if "model_" in vars(self) else self.make()
        found = getattr(model, name)
        if name in ("dual_coef_", "coef_") and vars(self).get("was_sparse_") and isinstance(self, Machine):
            return sp.csr_array(found)  # as scikit-learn's are after sparse data
        return found

    def __getstate__(self):
        return dict(vars(self))

    def __sklearn_is_fitted__(self):
        return "model_" in vars(self)

    def __sklearn_tags__(self):
        return self.make().__sklearn_tags__()


class Machine(Adapter):
    """A support vector machine with a kernel."""


def adapter(reference):
    """Give a class the constructor of scikit-learn's: its names, its order, its defaults."""
    signature = inspect.signature(reference.__init__)

    def decorate(cls):
        def __init__(self, *args, **kwargs):
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            for name, value in bound.arguments.items():
                if name != "self":
                    setattr(self, name, value)

        __init__.__signature__ = signature
        made = type(reference.__name__, (cls,), {"__init__": __init__, "reference": reference})
        return made

    return decorate


def kernel_options(given, names=("gamma", "degree", "coef0")):
    """Return what a word is given with; other kernels have parameters of their own."""
    if not isinstance(given.kernel, str) or given.kernel == "precomputed":
        return {}
    return {name: getattr(given, name) for name in names}


def machine_options(given):
    return {
        **kernel_options(given), "tol": given.tol, "max_iter": given.max_iter, "shrinking": given.shrinking,
        "cache_size": given.cache_size,
    }  # fmt: skip


def class_options(given):
    return {
        "probability": False if given.probability == "deprecated" else given.probability,
        "class_weight": given.class_weight, "decision_function_shape": given.decision_function_shape,
        "break_ties": given.break_ties,
    }  # fmt: skip


@adapter(svm.SVC)
class SVC(Machine):
    def make(self):
        return mercer.SVC(self.kernel, self.C, **class_options(self), **machine_options(self))


@adapter(svm.NuSVC)
class NuSVC(Machine):
    def make(self):
        return mercer.NuSVC(self.kernel, self.nu, **class_options(self), **machine_options(self))


@adapter(svm.SVR)
class SVR(Machine):
    def make(self):
        return mercer.SVR(self.kernel, self.C, epsilon=self.epsilon, **machine_options(self))


@adapter(svm.NuSVR)
class NuSVR(Machine):
    def make(self):
        return mercer.NuSVR(self.kernel, self.C, nu=self.nu, **machine_options(self))


@adapter(svm.OneClassSVM)
class OneClassSVM(Machine):
    without_y = True

    def make(self):
        return mercer.OneClassSVM(self.kernel, self.nu, **machine_options(self))


@adapter(svm.LinearSVC)
class LinearSVC(Adapter):
    def make(self):
        return mercer.LinearSVC(
            self.C, loss=self.loss, penalty=self.penalty, fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling, tol=self.tol, max_iter=self.max_iter,
            class_weight=self.class_weight, multi_class=self.multi_class, random_state=self.random_state,
        )  # fmt: skip

    def sparsify(self):
        self.model_.sparsify()
        return self

    def densify(self):
        self.model_.densify()
        return self


@adapter(svm.LinearSVR)
class LinearSVR(Adapter):
    def make(self):
        return mercer.LinearSVR(
            self.C, self.epsilon, loss=self.loss, fit_intercept=self.fit_intercept, tol=self.tol,
            intercept_scaling=self.intercept_scaling, max_iter=self.max_iter, random_state=self.random_state,
        )  # fmt: skip


def seed(random_state):
    """Return a number for what scikit-learn takes as a source of chance."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return random_state
    return int(random_state.randint(2**31 - 1))


def given_kernel(given):
    """Return the kernel, a function with its kernel_params bound."""
    if callable(given.kernel) and given.kernel_params:
        return functools.partial(given.kernel, **given.kernel_params)
    if given.kernel_params:
        missing("kernel_params of a word")
    return given.kernel


@adapter(kernel_ridge.KernelRidge)
class KernelRidge(Adapter):
    def make(self):
        if np.ndim(self.alpha):
            missing("a ridge for each output")
        return mercer.KernelRidge(given_kernel(self), self.alpha, **kernel_options(self))


@adapter(decomposition.KernelPCA)
class KernelPCA(Adapter):
    without_y = True

    def make(self):
        preimage = RidgeMap(self.alpha) if self.fit_inverse_transform else None
        if self.eigen_solver == "randomized":
            missing("a randomised eigensolver")
        if self.remove_zero_eig:
            missing("remove_zero_eig, which is always so")
        options = {} if self.tol == 0 else {"tol": self.tol}
        return mercer.KernelPCA(
            given_kernel(self), self.n_components, preimage=preimage, max_iter=self.max_iter,
            eigen_solver={"arpack": "lanczos"}.get(self.eigen_solver, self.eigen_solver),
            random_state=self.random_state, **options, **kernel_options(self),
        )  # fmt: skip

    def fit_transform(self, X, y=None):
        return self.fit(X).model_.transform(X)


@adapter(cluster.SpectralClustering)
class SpectralClustering(Adapter):
    without_y = True
    densifies = True

    def make(self):
        self.kernel = self.affinity
        if self.affinity in ("nearest_neighbors", "precomputed_nearest_neighbors"):
            missing("an affinity of neighbours")
        if self.assign_labels != "kmeans":
            missing(f"assign_labels={self.assign_labels!r}")
        if self.eigen_solver == "amg":
            missing("multigrid")
        if self.n_components is not None and self.n_components != self.n_clusters:
            missing("another number of components than clusters")
        options = kernel_options(self)
        state = self.random_state if self.random_state is not None else 0
        return mercer.SpectralClustering(
            given_kernel(self), self.n_clusters, n_init=self.n_init, random_state=state, **options
        )

    def fit_predict(self, X, y=None):
        return self.fit(X).labels_


def spectral_clustering(affinity, **options):
    return SpectralClustering(affinity="precomputed", **options).fit(affinity).labels_


@adapter(manifold.SpectralEmbedding)
class SpectralEmbedding(Adapter):
    without_y = True

    def make(self):
        if self.affinity in ("precomputed_nearest_neighbors",) or self.eigen_solver == "amg":
            missing("precomputed neighbours, and multigrid")
        if callable(self.affinity):
            missing("an affinity of the data, not of two collections")
        if self.affinity == "nearest_neighbors":
            return mercer.LaplacianEigenmap(n_components=self.n_components, n_neighbors=self.n_neighbors or 10)
        options = {"gamma": self.gamma} if self.affinity == "rbf" else {}
        return mercer.LaplacianEigenmap(self.affinity, self.n_components, n_neighbors=None, weights="kernel", **options)

    def fit_transform(self, X, y=None):
        return self.fit(X).embedding_


class Embedding(Adapter):
    """Coordinates of the training samples from the matrix of a manifold."""

    def fit(self, X, y=None):
        TOUCHED.add(type(self).__name__)
        K = self.matrix(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mercer.errors.IndefiniteWarning)
            vars(self)["model_"] = mercer.KernelPCA("precomputed", self.n_components).fit(K)
        vars(self)["embedding_"] = self.model_.transform(K)
        return self

    def make(self):
        return mercer.KernelPCA("precomputed", self.n_components)

    def fit_transform(self, X, y=None):
        return self.fit(X).embedding_

    def transform(self, X):
        missing("manifolds at new samples")


@adapter(manifold.Isomap)
class Isomap(Embedding):
    def matrix(self, X):
        if self.radius is not None or self.metric not in ("minkowski", "euclidean") or self.p != 2:
            missing("neighbours by radius, or by another distance")
        return mercer.isomap_kernel(X, self.n_neighbors)

    def reconstruction_error(self):
        missing("reconstruction_error")


@adapter(manifold.LocallyLinearEmbedding)
class LocallyLinearEmbedding(Embedding):
    def matrix(self, X):
        if self.method != "standard":
            missing(f"locally linear embedding by {self.method!r}")
        return mercer.locally_linear_kernel(X, self.n_neighbors, regularization=self.reg)


@adapter(kernel_approximation.Nystroem)
class Nystroem(Adapter):
    without_y = True

    def make(self):
        gram = Nystrom(self.n_components, random_state=seed(self.random_state))
        options = {name: value for name, value in kernel_options(self).items() if value is not None}
        return mercer.KernelFeatures(given_kernel(self), gram, **options)

    def fit_transform(self, X, y=None):
        return self.fit(X).transform(X)


@adapter(kernel_approximation.RBFSampler)
class RBFSampler(Adapter):
    without_y = True

    def make(self):
        if self.gamma == "scale":
            missing("gamma='scale' of features")
        gram = RandomFeatures(self.n_components, random_state=seed(self.random_state))
        return mercer.KernelFeatures(Gaussian.from_gamma(self.gamma), gram)

    def fit_transform(self, X, y=None):
        return self.fit(X).transform(X)


def searched(estimator, default):
    """Return the kernel, the noise and what is held, for a process that searches or does not."""
    kernel = default if estimator.kernel is None else estimator.kernel
    if callable(estimator.optimizer):
        missing("an optimiser of the user")
    held = [p for p in kernel.hyperparameters if p.fixed or not np.allclose(p.bounds, (1e-5, 1e5))]
    if (
        estimator.optimizer is not None
        and estimator.kernel is not None
        and len(held)
        and not all(p.fixed for p in held)
    ):
        missing("bounds inside a kernel")
    if estimator.optimizer is None or all(p.fixed for p in kernel.hyperparameters):
        return kernel, "all"
    if held:
        missing("parameters held inside a kernel")
    return kernel, ()


@adapter(gaussian_process.GaussianProcessRegressor)
class GaussianProcessRegressor(Adapter):
    def make(self):
        default = theirs.ConstantKernel(1.0, "fixed") * theirs.RBF(1.0, "fixed")
        kernel, fixed = searched(self, default)
        if fixed != "all":
            fixed = () if translated(kernel).noise else ("noise",)
        if self.n_targets not in (None, 1):
            missing("n_targets, for a process without data")
        state = self.random_state if self.random_state is not None else 0
        return mercer.GaussianProcessRegressor(
            kernel, self.alpha, fixed=fixed, normalize_y=bool(self.normalize_y), restarts=self.n_restarts_optimizer,
            random_state=state,
        )  # fmt: skip


@adapter(gaussian_process.GaussianProcessClassifier)
class GaussianProcessClassifier(Adapter):
    def make(self):
        if self.warm_start:
            missing("warm_start")
        kernel, fixed = searched(self, theirs.ConstantKernel(1.0, "fixed") * theirs.RBF(1.0, "fixed"))
        if self.multi_class == "one_vs_one":
            missing("one process for each pair of classes")
        state = self.random_state if self.random_state is not None else 0
        return mercer.GaussianProcessClassifier(
            kernel, link="logistic", fixed=fixed, multi_class="ovr", restarts=self.n_restarts_optimizer,
            random_state=state,
        )  # fmt: skip


# functions and kernel objects ---------------------------------------------------------------------------


def by_word(name, word):
    """Return a function of scikit-learn's `pairwise`, computed by mercer's kernel for the word."""
    reference = getattr(pairwise, name)

    @functools.wraps(reference)
    def function(X, Y=None, **options):
        TOUCHED.add(name)
        if not options.pop("dense_output", True):
            missing("a sparse matrix of similarities")
        width = X.shape[1] if hasattr(X, "shape") else len(X[0])
        return kernel_from_word(word, width, **options)(X, Y)

    return function


def object_of(name):
    """Return a kernel class of scikit-learn whose numbers, but not their derivatives, are mercer's."""
    reference = getattr(theirs, name)

    def __call__(self, X, Y=None, eval_gradient=False):
        if eval_gradient or name == "WhiteKernel":
            return reference.__call__(self, X, Y, eval_gradient) if eval_gradient else reference.__call__(self, X, Y)
        if np.ndim(X) != 2:
            missing("kernel objects on lists")
        TOUCHED.add(name)
        plain = _plain(self)
        return as_kernel(plain, np.shape(X)[1])(X, X if Y is None else Y)

    return type(name, (reference,), {"__call__": __call__, "reference": reference})


def _plain(kernel):
    """Return a kernel of scikit-learn itself, equal to the adapter."""
    base = getattr(kernel, "reference", type(kernel))
    params = {key: _plain(v) if isinstance(v, theirs.Kernel) else v for key, v in kernel.get_params(deep=False).items()}
    return base(**params)


OBJECTS = {
    name: object_of(name)
    for name in (
        "RBF",
        "Matern",
        "RationalQuadratic",
        "ExpSineSquared",
        "DotProduct",
        "ConstantKernel",
        "PairwiseKernel",
    )
}
FUNCTIONS = {
    name: by_word(name, word)
    for name, word in {
        "rbf_kernel": "rbf", "laplacian_kernel": "laplacian", "polynomial_kernel": "poly", "sigmoid_kernel": "sigmoid",
        "linear_kernel": "linear", "cosine_similarity": "cosine", "chi2_kernel": "chi2",
        "additive_chi2_kernel": "additive_chi2",
    }.items()
}  # fmt: skip
MACHINES = {cls.__name__: cls for cls in (SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR)}
PEERS = {
    "sklearn.svm.tests.test_svm": {svm: MACHINES},
    "sklearn.svm.tests.test_sparse": {svm: MACHINES},
    "sklearn.tests.test_kernel_ridge": {kernel_ridge: {"KernelRidge": KernelRidge}},
    "sklearn.decomposition.tests.test_kernel_pca": {decomposition: {"KernelPCA": KernelPCA}},
    "sklearn.cluster.tests.test_spectral": {
        cluster: {"SpectralClustering": SpectralClustering, "spectral_clustering": spectral_clustering}
    },
    "sklearn.tests.test_kernel_approximation": {kernel_approximation: {"Nystroem": Nystroem, "RBFSampler": RBFSampler}},
    "sklearn.metrics.tests.test_pairwise": {pairwise: FUNCTIONS},
    "sklearn.gaussian_process.tests.test_kernels": {theirs: OBJECTS},
    "sklearn.gaussian_process.tests.test_gpr": {
        gaussian_process: {"GaussianProcessRegressor": GaussianProcessRegressor}
    },
    "sklearn.gaussian_process.tests.test_gpc": {
        gaussian_process: {"GaussianProcessClassifier": GaussianProcessClassifier}
    },
    "sklearn.manifold.tests.test_spectral_embedding": {manifold: {"SpectralEmbedding": SpectralEmbedding}},
    "sklearn.manifold.tests.test_isomap": {manifold: {"Isomap": Isomap}},
    "sklearn.manifold.tests.test_locally_linear": {manifold: {"LocallyLinearEmbedding": LocallyLinearEmbedding}},
}


def replace_names(module):
    """Put the adapters in the place of scikit-learn's classes, before its tests are imported."""
    for package, names in PEERS[module].items():
        for name, cls in names.items():
            setattr(package, name, cls)

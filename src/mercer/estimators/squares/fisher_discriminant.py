r"""Kernel Fisher discriminants: directions in feature space along which classes are far apart and narrow.

Symbols: w_i sample weights, W_c their sum in class c, W in all; J (n, c) class indicators; D = diag(w); A = D - D J
diag(1 / W_c) J^T D, so that the scatter within classes is Phi^T A Phi; E = D J Gamma with Gamma_.c = sqrt(W_c) (1_c /
W_c - 1 / W), so that the scatter between classes is Phi^T E E^T Phi; a direction is Phi^T a; mu the ridge, alpha.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Array, Floats, Indices, real_numbers
from mercer.budget import Plan
from mercer.constraints import AnyOf, InstanceOf, Integer, OneOf, Optional, Positive
from mercer.errors import CapabilityError, ParameterError
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import KernelEstimator, scattered
from mercer.estimators.fits import Run, fitting
from mercer.gram import Expansion, Gram, GramSpec
from mercer.kernels.kernel import overflow_error
from mercer.numerics.cholesky import safe_cholesky
from mercer.problems import LinearSystem, Solution, Status
from mercer.runtime.tiling import in_background
from mercer.solvers import Solver
from mercer.targets import Multiclass
from mercer.targets.target import class_weights

__all__ = ["KernelFisherDiscriminant"]
__public__ = __all__

_EPS = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class _Directions:
    """Directions before they are scaled, the best first."""

    coef: Floats  # a, (n, k)
    ratios: Floats  # between over within with the ridge, (k,)
    means: Floats  # of the projections in each class, (c, k)
    weights: Floats | None = None  # the same directions in the coordinates of a factor, (r, k)


class KernelFisherDiscriminant(
    Certified, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, KernelEstimator
):
    r"""Kernel Fisher discriminant: class means far apart, classes narrow, in feature space.

    .. math:: \max_{a} \; \frac{a^\top K E E^\top K a}{a^\top (K A K + \mu R) a}, \qquad R = K \text{ or } I

    The numerator is the scatter of the class means in the direction, the denominator the scatter within the classes
    and a ridge on the length of the direction or of its coefficients. For c classes there are c - 1 directions.

    Seed: [STS] Eqs. (50)-(59), and both ridges of the text below (59); [ST] "Fisher discriminant", the closed form a =
    (B K + lambda I)^-1 y with B = D - C, whose y of -1 and 1 maximises the quotient for classes of the same size only:
    here its entries are ``2 m_- / m`` and ``-2 m_+ / m``, as the derivation asks; [SS] Section 3.4.1 names the form for
    several classes.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples. Conditionally positive definite kernels
        of order 1 are accepted by the dual form.
    alpha : float, default 1.0
        mu, the ridge. Positive; in the unit of k(x, x).
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    regulariser : {"norm", "coefficients"}, default "norm"
        R: K for the squared length of the direction, I for that of its coefficients; with weights 1 / w_i on its
        diagonal, which is what copies have.
    form : {"dual", "rayleigh"} or None, default None
        How the optimum is found: by one linear system in K, with a right-hand side for each class; or from the
        quotient itself, by the eigenvectors of K or, for the coefficients, the matrix K A K + mu I. None is the first
        where it can be, that is for the norm. They agree.
    scatter : {"sum", "mean"}, default "sum"
        Whether the scatter within classes is summed over samples, as in [STS], or each class counts the same whatever
        its size, as in [ST]; there the factor of class c is the harmonic mean of the class sizes over W_c.
    n_components : int, optional
        Number of directions kept, at most c - 1; None is all.
    priors : {"equal", "shares"} or (c,) array, default "equal"
        Priors of the classes: "equal" decides by the nearest class mean, for two classes at the middle as in the seeds.
    gram : GramSpec, optional
        None chooses by `Auto`; the Rayleigh form needs a dense matrix.
    solver : Solver, optional
        Solver of the dual form. None: Cholesky for a dense K, Woodbury for a factor, conjugate gradients for tiles.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_, priors_ : (c,) arrays
    expansion_ : Expansion or FeatureExpansion
        The discriminant coordinates, one column per direction.
    dual_coef_ : (n, k) array
        a.
    intercept_ : (k,) array
        The training samples, by their weights, have the mean zero in each coordinate; the last class is on the
        positive side.
    means_ : (c, k) array
        Class means in the coordinates.
    eigenvalues_, explained_variance_ratio_ : (k,) arrays
        Scatter between over scatter within, ridge included; and their shares.
    kernel_, gram_, solver_, solution_
        As in `KernelRidge`; the last two of the dual form.

    Notes
    -----
    A sample of weight w counts as w copies. Coordinates are scaled so that scatter and ridge together are W in each,
    as the pooled covariance of linear discriminant analysis is one. A class is normal about its mean in the
    coordinates, with the unit matrix as covariance: with the linear kernel and a small ridge, `transform`, `predict`
    and `predict_proba` are those of linear discriminant analysis. With many features and a small ridge the training
    samples collapse onto their means, and such probabilities are too certain. Cost O(n^3) once.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelFisherDiscriminant
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> model = KernelFisherDiscriminant(Gaussian(2.0)).fit(X, ["left", "left", "right", "right"])
    >>> model.predict([[-0.8, -1.0]])
    array(['left'], dtype='<U5')
    >>> model.transform(X).shape
    (4, 1)
    """

    highest_order = 1
    constraints = {
        "alpha": Positive(),
        "regulariser": OneOf("norm", "coefficients"),
        "form": Optional(OneOf("dual", "rayleigh")),
        "scatter": OneOf("sum", "mean"),
        "n_components": Optional(Integer(1)),
        "priors": AnyOf(OneOf("equal", "shares"), InstanceOf(np.ndarray, list, tuple)),
    }

    def __init__(
        self,
        kernel: Any = None,
        alpha: float = 1.0,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        regulariser: str = "norm",
        form: str | None = None,
        scatter: str = "sum",
        n_components: int | None = None,
        priors: Any = "equal",
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.regulariser = regulariser
        self.form = form
        self.scatter = scatter
        self.n_components = n_components
        self.priors = priors
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.form == "dual" and self.regulariser == "coefficients":
            raise ParameterError(
                "form='dual' was given with regulariser='coefficients'; the closed form exists for the norm alone. Use "
                "form='rayleigh'."
            )

    @property
    def _dual(self) -> bool:
        return self.form != "rayleigh" and self.regulariser == "norm"

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelFisherDiscriminant:
        """Find the discriminant directions.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Class labels.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, kernel, packed, S, codes, w, used):
            class_weights(None, self.classes_, codes, w)  # each class needs a sample
            self.priors_ = self._learned_priors(codes, w)
            self._check_components(len(self.classes_) - 1)
            self.kernel_ = kernel.learn(S, codes, w)
            K = self._represent(self.kernel_, S, run)
            scaled = w * self._factors(codes, w)
            find = self._by_system if self._dual else self._by_quotient
            coef = self._store(K, find(K, codes, w, scaled, run), codes, w, scaled)
            self.dual_coef_ = scattered(coef, used, len(packed))
        return self

    def _check_components(self, count: int) -> None:
        if self.n_components is not None and self.n_components > count:
            raise ParameterError(
                f"n_components={self.n_components} was given for {count + 1} classes, which have {count} directions. "
                f"Give at most {count}, or None."
            )

    def _learned_priors(self, codes: Indices, w: Floats) -> Floats:
        c = len(self.classes_)
        if isinstance(self.priors, str):
            mass = np.bincount(codes, weights=w, minlength=c)
            return np.full(c, 1.0 / c) if self.priors == "equal" else mass / mass.sum()
        given = real_numbers(self.priors, "priors")
        if given.shape != (c,) or not np.all(given > 0.0) or not np.isfinite(given).all():
            raise ParameterError(
                f"priors={self.priors!r} was given for {c} classes; one positive number per class is accepted. Give "
                "them in the order of the sorted labels, or 'equal' or 'shares'."
            )
        return given / given.sum()

    def _factors(self, codes: Indices, w: Floats) -> Floats:
        """Return the factor of each sample's weight in the scatter."""
        if self.scatter == "sum":
            return np.ones(len(w))
        mass = np.bincount(codes, weights=w, minlength=len(self.classes_))
        return (len(mass) / np.sum(1.0 / mass) / mass)[codes]

    # the two forms ------------------------------------------------------------------------------------

    def _by_system(self, K: Gram, codes: Indices, counts: Floats, w: Floats, run: Run) -> _Directions:
        """Solve (A K + mu I) a = E z by a system in K + mu D^-1.

        Since A subtracts class means, K a + mu D^-1 a is constant in each class, J q, and the sums J^T a = J^T E z / mu
        are known: a = P J q with S q = J^T E z / mu, S = J^T P J, where P is the inverse with a border of ones, which
        changes nothing because the sums add up to zero.
        """
        mu, c = self.alpha, len(self.classes_)
        J = np.eye(c)[codes]
        mass, gamma = _between(codes, w, c)
        solution = self._solve(LinearSystem(K, mu / w, J, np.ones((len(w), 1))), run, until=0.9)
        sums = J.T @ solution.coef
        values, V = np.linalg.eigh(0.5 * (sums + sums.T))
        kept = np.argsort(values)[1:]  # the smallest is that of ones, zero
        inverse = (V[:, kept] / np.maximum(values[kept], np.finfo(float).tiny)) @ V[:, kept].T
        t = mass[:, None] * gamma / mu
        quotient = mu * t.T @ inverse @ t - gamma.T @ (mass[:, None] * gamma)
        ratios, Z = _leading(quotient, c - 1)
        q = inverse @ t @ Z
        coef = solution.coef @ q
        means = q - solution.multipliers[0] @ q - mu * (t @ Z) / mass[:, None]
        return _Directions(coef, ratios, means, None if solution.weights is None else solution.weights @ q)

    def _by_quotient(self, K: Gram, codes: Indices, counts: Floats, w: Floats, run: Run) -> _Directions:
        """Solve for the stationary points of the quotient, in coordinates of the features or of the coefficients."""
        if self.kernel_.order:
            raise CapabilityError(
                f"form='rayleigh' was given with {self.kernel_!r}, which is conditionally positive definite; its "
                "coordinates need a positive definite kernel. Use form='dual'."
            )
        n, c = len(w), len(self.classes_)
        Plan(f"the Rayleigh quotient of {n} samples", {"matrices": 24 * n * n}, ("form='dual'",)).require(self.memory)
        with run.stage("directions", 0.9):
            work = (9.0 if self.regulariser == "norm" else 1.0) * n**3
            call = (K.to_dense(), codes, w, c, self.alpha / counts)
            return in_background(self._stationary, *call, work=work, deadline=run.deadline)

    def _stationary(self, K: Floats, codes: Indices, w: Floats, c: int, ridge: Floats) -> _Directions:
        _, gamma = _between(codes, w, c)
        Z, back = K, None
        if self.regulariser == "norm":
            values, U = np.linalg.eigh(K)
            kept = values > len(K) * _EPS * values[-1]
            roots = np.sqrt(values[kept])
            Z, back, ridge = U[:, kept] * roots, U[:, kept] / roots, np.full(int(kept.sum()), self.alpha)
        within = _centred(Z, codes, w, c)
        factor = safe_cholesky(within.T @ within, ridge)
        between = Z.T @ (w[:, None] * gamma[codes])
        X = factor.solve(between)
        ratios, vectors = _leading(between.T @ X, c - 1)
        coef = X @ vectors
        means = _class_means(Z @ coef, codes, w, c)
        return _Directions(coef if back is None else back @ coef, ratios, means)

    def _store(self, K: Gram, found: _Directions, codes: Indices, w: Floats, scaled: Floats) -> Floats:
        """Keep the directions, and return their coefficients."""
        count = len(self.classes_) - 1
        k = self.n_components or count
        ratios = np.maximum(found.ratios, 0.0)
        used = ratios > len(w) * _EPS * max(float(ratios[0]), np.finfo(float).tiny)
        scale = np.where(used, np.sqrt(scaled.sum() / np.where(used, ratios, 1.0)), 0.0)[:k]
        mass = np.bincount(codes, weights=w, minlength=len(self.classes_))
        centre = mass @ found.means[:, :k] / mass.sum()
        scale = scale * _signs(found.means[:, :k] - centre)
        self.means_ = (found.means[:, :k] - centre) * scale
        self.intercept_ = -centre * scale
        self.eigenvalues_ = ratios[:k]
        self.explained_variance_ratio_ = ratios[:k] / (ratios.sum() or 1.0)
        coef = found.coef[:, :k] * scale
        inner = None if found.weights is None else found.weights[:, :k] * scale
        self.expansion_ = K.expand(Solution(coef, Status.CONVERGED, 0.0, weights=inner), self.intercept_)
        return coef

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    # use ----------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Floats:
        """Return the discriminant coordinates of new data, shape (m, k)."""
        return self._evaluate(X)

    def _scores(self, X: Any) -> Floats:
        """Return the logarithm of prior times density of each class, up to a constant, (m, c)."""
        Z = self.transform(X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = Z @ self.means_.T
        if not np.isfinite(scores).all():
            raise overflow_error(self.kernel_)
        return scores - 0.5 * np.einsum("cj,cj->c", self.means_, self.means_) + np.log(self.priors_)

    def _deciding(self) -> Any:
        """Return the scores as functions; for two classes their difference."""
        f, M = self.expansion_, self.means_
        rest = np.log(self.priors_) - 0.5 * np.einsum("cj,cj->c", M, M)
        if len(self.classes_) == 2:
            M, rest = M[1:] - M[:1], rest[1:] - rest[:1]
        part = "coef" if isinstance(f, Expansion) else "weights"
        return replace(f, **{part: getattr(f, part) @ M.T, "intercept": f.intercept @ M.T + rest})

    def decision_function(self, X: Any) -> Floats:
        """Return the linear score of each class, shape (m, c); for two classes their difference, (m,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Array:
        """Return the class of new data, shape (m,); between equal scores the first class wins."""
        scores = self._scores(X)
        return self.classes_[np.argmax(scores, axis=1)]

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (m, c), as normal about their means in the coordinates."""
        return softmax(self._scores(X), axis=1)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probabilities."""
        return log_softmax(self._scores(X), axis=1)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features, n_targets)
        if self._dual:
            return plan
        return Plan(
            plan.what, {**plan.buffers, "matrices of the quotient": 24 * n_samples**2}, (*plan.options, "form='dual'")
        )


def _between(codes: Indices, w: Floats, c: int) -> tuple[Floats, Floats]:
    """Return W_c, and Gamma, (c, c)."""
    mass = np.asarray(np.bincount(codes, weights=w, minlength=c), dtype=float)
    return mass, np.diag(1.0 / np.sqrt(mass)) - np.sqrt(mass) / mass.sum()


def _leading(M: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues of a small matrix and their eigenvectors."""
    values, V = np.linalg.eigh(0.5 * (M + M.T))
    return values[::-1][:count], V[:, ::-1][:, :count]


def _signs(means: Floats) -> Floats:
    """Return the sign of each coordinate for which the last class that is not in the middle is on the positive side."""
    away = np.abs(means) > 1e-6 * np.abs(means).max(axis=0)
    last = len(means) - 1 - np.argmax(away[::-1], axis=0)
    return np.where(means[last, np.arange(means.shape[1])] < 0.0, -1.0, 1.0)


def _class_means(Z: Floats, codes: Indices, w: Floats, c: int) -> Floats:
    """Return weighted means of rows, (c, k)."""
    member = (codes[:, None] == np.arange(c)) * w[:, None]
    return (member / member.sum(axis=0)).T @ Z


def _centred(Z: Floats, codes: Indices, w: Floats, c: int) -> Floats:
    """Return rows less their class means, times the root of their weights."""
    return (Z - _class_means(Z, codes, w, c)[codes]) * np.sqrt(w)[:, None]

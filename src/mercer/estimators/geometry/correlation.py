r"""Canonical correlations in the space of the columns, and their primal-dual form.

Symbols: C_xx, C_xu covariance matrices; w_x, w_u directions; rho a correlation; alpha, beta coefficients of samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Each, Interval
from mercer.errors import ParameterError
from mercer.estimators.geometry.kernel_cca import KernelCCA
from mercer.estimators.several_views import per_view
from mercer.gram import Features
from mercer.kernels import Linear

__all__ = ["CCA", "LeastSquaresCCA"]
__public__ = __all__


class CCA(KernelCCA):
    r"""Canonical correlation analysis: combinations of the columns of two tables that are correlated most.

    .. math:: \begin{pmatrix} 0 & C_{xu} \\ C_{ux} & 0 \end{pmatrix} \begin{pmatrix} w_x \\ w_u \end{pmatrix}
        = \rho \begin{pmatrix} C_{xx} & 0 \\ 0 & C_{uu} \end{pmatrix} \begin{pmatrix} w_x \\ w_u \end{pmatrix}

    The eigenvalues lie in [-1, 1] and come in pairs: with (w_x, w_u) at rho goes (w_x, -w_u) at -rho.

    Seed: [STS] Eqs. (39)-(44), (48); [ST] "Kernel CCA"; [HSS] Eq. (97), where the variances belong under a root.

    Parameters
    ----------
    n_components : int, default 2
        Pairs of directions; there may be fewer, see ``n_components_``.
    tau : float, pair of float, "loo" or "permutation", default 0.0
        Share of the norm in the constraint (1 - tau) w' C w + tau s |w|^2 = 1; see `KernelCCA`.
    norm_scale, taus, n_permutations, random_state : as for `KernelCCA`
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    x_rotations_, y_rotations_ : (p, m) and (q, m) arrays
        w_x and w_u: ``transform(X)`` is ``(X - mean) @ x_rotations_``.
    x_loadings_, y_loadings_ : (p, m) and (q, m) arrays
        Covariances of the columns with the scores of their own view, over the scores' variances.
    eigenvalues_ : (2 q,) array
        All pairs of rho and -rho, descending.
    canonical_correlations_, scores_, tau_, criterion_values_, n_components_ : as for `KernelCCA`

    Notes
    -----
    Without a penalty scores have variance 1, and do not depend on the units of the columns; scikit-learn's have the
    same correlations and other lengths. Columns that are combinations of others are no trouble: directions in which
    nothing varies are left out. `fit_transform` returns the scores of both views, as scikit-learn's does. More than two
    views: ``KernelCCA(Linear(), tau=0)``. Cost O(n p^2), memory O(n p); sparse tables are made dense.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import CCA
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [4.0, 5.0]])
    >>> Y = X @ np.array([[1.0], [2.0]])
    >>> model = CCA(n_components=1).fit(X, Y)
    >>> model.canonical_correlations_.round(6), model.eigenvalues_.round(6)
    (array([1.]), array([ 1., -1.]))
    """

    synonyms = ("canonical correlation",)

    def __init__(
        self,
        n_components: int = 2,
        *,
        tau: Any = 0.0,
        norm_scale: str = "variance",
        taus: Any = (0.0, 0.001, 0.01, 0.1, 0.3, 1.0),
        n_permutations: int = 10,
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.tau = tau
        self.norm_scale = norm_scale
        self.taus = taus
        self.n_permutations = n_permutations
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    kernel = Linear()
    gram = Features()
    rank = None

    def _options(self, count: int) -> list[Floats]:
        if count != 2:
            raise ParameterError(
                f"CCA was given {count} views; two are accepted. Use KernelCCA(Linear(), tau=0), which takes a list."
            )
        return super()._options(count)

    def _keep(self, bases: Any, grams: Any, w: Any, used: Any, n: int, run: Any) -> None:
        super()._keep(bases, grams, w, used, n, run)
        self.eigenvalues_ = np.concatenate([self.eigenvalues_, -self.eigenvalues_[::-1]])
        self.x_rotations_, self.y_rotations_ = (np.asarray(f.weights) for f in self.expansions_)
        loadings = []
        for basis, rotations in zip(bases, (self.x_rotations_, self.y_rotations_), strict=True):
            inner = basis.values[:, None] * (basis.right.T @ rotations)  # the scatter matrix times w, in the basis
            variance = np.einsum("ij,ij->j", basis.right.T @ rotations, inner)
            loadings.append(basis.right @ (inner / np.where(variance > 0.0, variance, 1.0)))
        self.x_loadings_, self.y_loadings_ = loadings

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the scores of both views.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
        """
        self.fit(X, y, sample_weight=sample_weight)
        return self.transform(*X) if y is None else self.transform(X, y)


class LeastSquaresCCA(KernelCCA):
    r"""Canonical correlations as a pair of least squares support vector machines that agree.

    .. math:: \max_{w, v} \gamma \sum_i e_i r_i - \frac{\nu_x}{2} \sum_i e_i^2 - \frac{\nu_u}{2} \sum_i r_i^2
        - \frac12 \|w\|^2 - \frac12 \|v\|^2, \qquad e_i = \langle w, \phi(x_i) - m_x \rangle, \quad
        r_i = \langle v, \phi(u_i) - m_u \rangle

    The conditions of optimality are an eigenproblem in the dual variables, with lambda = 1 / gamma:

    .. math:: \begin{pmatrix} 0 & K_u \\ K_x & 0 \end{pmatrix} \begin{pmatrix} \alpha \\ \beta \end{pmatrix}
        = \lambda \begin{pmatrix} \nu_x K_x + I & 0 \\ 0 & \nu_u K_u + I \end{pmatrix}
        \begin{pmatrix} \alpha \\ \beta \end{pmatrix}

    Seed: [SS] Section 3.4.2, [136] (Van Gestel, Suykens, De Brabanter, De Moor and Vandewalle).

    Parameters
    ----------
    kernel : as for `KernelCCA`
    n_components : int, default 2
    nu : float or tuple of float, default 10.0
        Cost of the variance against the norm, one for all views or one for each. Non-negative; 0 is the
        norm-constrained correlation.
    rank, gamma, degree, coef0, gram, memory, max_time, n_threads : as for `KernelCCA`

    Attributes
    ----------
    lambdas_ : (m,) array
        lambda, the largest first; gamma is 1 / lambda. No correlations: they are in ``canonical_correlations_``.
    canonical_correlations_, dual_coefs_, scores_, tau_ and others : as for `KernelCCA`

    Notes
    -----
    It is `KernelCCA` with ``norm_scale="gram"`` and tau = 1 / (1 + nu): multiplied by the Gram matrices, the equations
    of one are those of the other, with lambda = rho sqrt(tau_x tau_u). The coefficients are the multipliers of the
    constraints, up to the length of the pair. nu has the unit of 1 / K, so it means the same for any n only if it is
    divided by n.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LeastSquaresCCA
    >>> t = np.linspace(0, 6, 40)
    >>> model = LeastSquaresCCA(n_components=1, nu=5.0).fit(np.c_[np.cos(t), np.sin(t)], np.c_[t, t**2])
    >>> model.canonical_correlations_.round(2)
    array([1.])
    """

    norm_scale = "gram"
    constraints = {"nu": Each(Interval(0.0, np.inf, closed="left"))}

    def __init__(
        self,
        kernel: Any = None,
        n_components: int = 2,
        *,
        nu: Any = 10.0,
        rank: int | None = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.nu = nu
        self.rank = rank
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    n_permutations = 1
    taus = (1.0,)

    @property
    def tau(self) -> Any:
        """The share of the norm that goes with nu, 1 / (1 + nu)."""
        if isinstance(self.nu, (tuple, list, np.ndarray)):
            return tuple(1.0 / (1.0 + nu) for nu in self.nu)
        return 1.0 / (1.0 + self.nu)

    def _options(self, count: int) -> list[Floats]:
        per_view("nu", self.nu, count)
        return super()._options(count)

    def _keep(self, bases: Any, grams: Any, w: Any, used: Any, n: int, run: Any) -> None:
        super()._keep(bases, grams, w, used, n, run)
        self.lambdas_ = self.eigenvalues_[: self.n_components_] * np.exp(np.mean(np.log(self.tau_)))

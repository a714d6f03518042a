"""What the engine knows of an estimator: whether it may be given K, and what it can do along one parameter.

Symbols: K the matrix of all samples of a sheet, w weights, zero for those that are left out, f fitted values.
"""

from __future__ import annotations

import copy
import importlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer import selection  # whose names are imported when they are used
from mercer.arrays import Array, Floats, Indices
from mercer.errors import NotPositiveDefinite
from mercer.estimators.estimator import KernelEstimator
from mercer.gram.gram import is_stored, is_undecided
from mercer.targets import Multiclass
from mercer.targets.target import Reduction, class_weights

if TYPE_CHECKING:
    from mercer.selection.held_costs import Held

__all__ = ["Family", "MarginFamily", "RidgeFamily", "family_of", "is_a", "takes_matrix"]

_MANY = 8  # ridges from which on one eigendecomposition is faster than as many factorisations


def is_a(model: Any, name: str) -> bool:
    """Return whether an estimator is mercer's of that name, and no subclass; no other one is imported to find out."""
    return type(model).__name__ == name and type(model).__module__.startswith("mercer.estimators.")


def takes_matrix(model: Any) -> bool:
    """Return whether an estimator does the same with a kernel and with the matrix of that kernel."""
    if not isinstance(model, KernelEstimator) or hasattr(model, "views"):
        return False
    gram = getattr(model, "gram", None)
    plain = gram is None or (is_undecided(gram) and gram.tol is None) or is_stored(gram)
    if hasattr(model, "selection"):
        searches = getattr(model, "selection", None) is not None
    else:
        searches = getattr(model, "fixed", "all") != "all"
    chooses = is_a(model, "KernelRidge") and model.kernel is None and getattr(model, "alpha", None) is None
    return plain and not searches and not chooses and hasattr(model, "kernel")


class Family:
    """Estimators that differ in one parameter, fitted together on a matrix.

    Attributes
    ----------
    parameter : str
        Its name.
    """

    parameter: str

    def stubs(
        self, held: Held, y: Array, weight: Floats, models: Sequence[Any], train: Indices, test: Indices,
        *, exact: bool, stop: Callable[[], bool],
    ) -> list[Any]:  # fmt: skip
        """Return, for each model, an estimator whose predictions for the samples of a sheet are known."""
        raise NotImplementedError


class MarginFamily(Family):
    """Support vector classifiers at many costs."""

    parameter = "C"

    def stubs(
        self, held: Held, y: Array, weight: Floats, models: Sequence[Any], train: Indices, test: Indices,
        *, exact: bool, stop: Callable[[], bool],
    ) -> list[Any]:  # fmt: skip
        first = models[0]
        target, codes = Multiclass().read(y[train])
        factors = class_weights(first.class_weight, target.classes, codes, weight[train])
        reduction = Reduction.of(first.multi_class, len(target.classes))
        costs = [float(model.C) for model in models]
        along = importlib.import_module("mercer.selection.held_costs").decisions_along
        columns = []
        for index, sign in reduction.problems(codes):
            sides, w = np.ones(len(y)), np.zeros(len(y))
            sides[train[index]] = sign
            w[train[index]] = weight[train[index]] * factors[codes[index]]
            wanted = None if exact or not (reduction.votes or reduction.kind == "two") else test
            columns.append(along(held, sides, w, costs, first.tol, wanted=wanted, stop=stop))
        out = []
        for place, model in enumerate(models):
            values = columns[0][place] if len(columns) == 1 else np.column_stack([c[place] for c in columns])
            stub = copy.copy(model)
            vars(stub).update(classes_=target.classes, target_=target, reduction_=reduction, _known=values)
            vars(stub).update(_evaluate=_reader(values), _quick_values=_reader(values))
            out.append(stub)
        return out


class RidgeFamily(Family):
    """Least squares with a ridge, at many ridges."""

    def __init__(self, parameter: str) -> None:
        self.parameter = parameter

    def _ridges(self, models: Sequence[Any]) -> Floats:
        values = np.array([float(getattr(model, self.parameter)) for model in models])
        return 1.0 / values if self.parameter == "C" else values

    def stubs(
        self, held: Held, y: Array, weight: Floats, models: Sequence[Any], train: Indices, test: Indices,
        *, exact: bool, stop: Callable[[], bool],
    ) -> list[Any]:  # fmt: skip
        intercept = self.parameter == "C" or models[0]._has_intercept
        alphas = self._ridges(models)
        targets = np.asarray(y, dtype=float).reshape(len(y), -1)
        coef, bias = _ridge_path(held.double[np.ix_(train, train)], targets[train], weight[train], alphas, intercept)
        f = np.einsum("ij,pjk->pik", held.double[:, train], coef, optimize=True) + bias[:, None, :]
        out = []
        for place, model in enumerate(models):
            values = f[place].reshape(y.shape)
            stub = copy.copy(model)
            vars(stub).update(expansion_=None, _known=values, predict=_reader(values))
            out.append(stub)
        return out


def _reader(values: Floats) -> Callable[[Indices], Floats]:
    """Return a prediction that reads known values: what is passed as X are places."""

    def predict(places: Indices) -> Floats:  # scorers ask for the name
        return values[np.asarray(places).reshape(-1).astype(np.intp)]

    return predict


def _ridge_path(K: Floats, Y: Floats, w: Floats, alphas: Floats, intercept: bool) -> tuple[Floats, Floats]:
    """Coefficients (p, n, k) and intercepts (p, k) for many ridges; the matrix is overwritten."""
    n, k = Y.shape
    mean = np.average(Y, axis=0, weights=w) if intercept else np.zeros(k)
    if len(alphas) < _MANY:
        coef, bias = np.empty((len(alphas), n, k)), np.zeros((len(alphas), k))
        for place, alpha in enumerate(alphas):
            A = K.copy()
            A[np.diag_indices(n)] += alpha / w
            right = np.column_stack([Y - mean, np.ones((n, 1))]) if intercept else Y
            try:
                solved = cho_solve(cho_factor(A, lower=True, overwrite_a=True, check_finite=False), right)
            except np.linalg.LinAlgError as error:
                raise NotPositiveDefinite(
                    f"K with alpha={alpha:g} on its diagonal is not positive definite. Use a larger alpha."
                ) from error
            coef[place] = solved[:, :k]
            if intercept:
                bias[place] = solved[:, :k].sum(axis=0) / solved[:, k].sum()
                coef[place] -= np.multiply.outer(solved[:, k], bias[place])
        return coef, bias + mean
    product = K.copy() if intercept else K
    weights = None if np.all(w == 1.0) else w
    spectrum = selection.RidgeSpectrum.of(K, weights, np.ones((n, 1)) if intercept else None)
    coef = spectrum.solve(Y - mean, alphas)[0] * np.sqrt(w)[:, None]
    if not intercept:
        return coef, np.zeros((len(alphas), k))
    inside = np.einsum("ij,pjk->pik", product, coef, optimize=True) + (alphas[:, None] / w)[:, :, None] * coef
    return coef, mean + np.average((Y - mean) - inside, axis=1, weights=w)


def family_of(model: Any) -> Family | None:
    """Return what fits several such estimators at once; None if each is fitted on its own."""
    if not takes_matrix(model) or getattr(model, "solver", None) is not None or model.max_time is not None:
        return None
    if is_a(model, "SVC"):
        simple = model.loss == "hinge" and math.isfinite(model.C) and not model.probability
        together = isinstance(model.multi_class, str) and model.multi_class == "crammer_singer"
        repaired = getattr(model.gram, "indefinite", None) is not None
        return MarginFamily() if simple and not together and not repaired and model.max_iter in (None, -1) else None
    if getattr(getattr(model, "gram", None), "indefinite", None) is not None:
        return None
    if is_a(model, "KernelRidge") and not model.leave_one_out and model.alpha is not None:
        return RidgeFamily("alpha")
    if is_a(model, "LSSVR") and model.prune is None and model.C is not None:
        return RidgeFamily("C") if not (model.robust or model.posterior or model.leave_one_out) else None
    return None

r"""Left-out predictions of ridge regression for many ridges, where the Gram knows its eigenvalues.

Symbols: K = Q diag(lambda) Q^T, G = K + alpha, B the border, P the block of the inverse of the bordered matrix that
maps y to the coefficients a.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.gram import HasEigen
from mercer.selection.leave_one_out import leave_one_out
from mercer.selection.path import positive_ridges
from mercer.solvers.linear.spectral_solver import Diagonalized

__all__ = ["grid_path"]
__public__ = __all__


def grid_path(gram: Any, y: Floats, alphas: Floats, *, intercept: bool = False) -> Floats:
    r"""Leave-one-out predictions of ridge regression on all pairs for many ridges, from two eigendecompositions.

    .. math:: f_{-i}(x_i) = y_i - a_i / P_{ii}, \qquad
              (G^{-1})_{(rc)(rc)} = \sum_{kl} \frac{U_{rk}^2 V_{cl}^2}{\lambda_k \mu_l + \alpha}

    Seed: [KIKS] Section 4.1.1 (the closed form) with Eq. (22) (the matrix).

    Parameters
    ----------
    gram : Gram
        With ``eigh``, such as ``Kronecker().build(kernel, pairs)`` of all pairs of some objects.
    y : (n,) or (n, k) array
        Targets, one for each pair.
    alphas : (p,) array
        Ridges, positive.
    intercept : bool, default False
        Whether the model has a constant that is not penalised.

    Returns
    -------
    f : (p, n) or (p, n, k) array

    Notes
    -----
    One pair is left out at a time; its objects stay in other pairs. Cost the eigenvectors once, then O(n (q_1 + q_2))
    for each ridge with q_1 and q_2 objects. It is what `ridge_path` gives for the matrix written out.

    Examples
    --------
    >>> from mercer.domains import Pairs, Vectors
    >>> from mercer.gram import Kronecker
    >>> from mercer.kernels import Gaussian
    >>> S = Vectors.pack([[0.0], [1.0]])
    >>> K = Kronecker().build(Gaussian(1.0).tensor(Gaussian(1.0)), Pairs.grid(S))
    >>> grid_path(K, np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.1, 1.0])).round(3)
    array([[1.353, 1.575, 1.575, 1.798],
           [1.091, 1.058, 1.058, 1.024]])
    """
    if not isinstance(gram, HasEigen):
        raise CapabilityError(
            f"grid_path was given {gram!r}; it needs a Gram with eigenvalues, as Kronecker() has them for all pairs of "
            "some objects. Use ridge_path(gram.to_dense(), y, alphas)."
        )
    alphas = positive_ridges(alphas)
    y = np.asarray(y, dtype=np.float64)
    targets = y.reshape(len(y), -1)
    values, basis = gram.eigh()
    border = np.ones((len(y), 1)) if intercept else None
    state = Diagonalized(values, basis, float(alphas.max()), border)
    out = np.empty((len(alphas), *targets.shape))
    for place, alpha in enumerate(alphas):
        at = dataclasses.replace(state, shift=float(alpha))
        out[place] = leave_one_out(targets, at.columns(targets)[0], at.inverse_diagonal())
    return out.reshape(len(alphas), *y.shape)

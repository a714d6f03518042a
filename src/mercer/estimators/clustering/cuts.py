r"""Cuts of a graph of similarities, normalised by the size of the parts.

Symbols: A affinities, s_i how often sample i counts, d_i = sum_j s_j A_ij its degree, D = diag(d), L = D - A; H (n, k)
indicators of the clusters C_t, vol(C) the sum of s_i d_i over C.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.domains import Similarities
from mercer.domains.strings import is_missing
from mercer.domains.vectors import require_sound
from mercer.errors import DegenerateWarning, DomainError, warn_caller
from mercer.estimators.estimator import sample_weights
from mercer.gram import Gram
from mercer.gram.gram import has_array
from mercer.kernels.kernel import overflow_error
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["normalized_cut"]
__public__ = __all__

_LIGHT = 1e-75  # weight of a sample; its fourth power is not zero
_UNEQUAL = 1e-8  # of the largest affinity
_ROWS = 512  # of a dense K, for one product of a thread


def normalized_cut(affinity: Any, labels: Any, sample_weight: Any = None) -> float:
    r"""Normalised cut of a partition: what is cut off each cluster, over all that its members are tied to.

    .. math:: \sum_t \frac{\sum_{i \in C_t} \sum_{j \notin C_t} A_{ij}}{\sum_{i \in C_t} \sum_j A_{ij}}
        = \operatorname{tr}(Z^\top L Z), \qquad Z = H (H^\top D H)^{-1/2}, \quad Z^\top D Z = I

    Zero if no two clusters are tied, at most k. Without the form of Z its minimum is the sum of the k smallest
    eigenvalues of L z = mu D z, which no partition falls below: the relaxation of `SpectralClustering`.

    Seed: [KIKS] Section 5.2, the criterion of normalised cuts and its trace form.

    Parameters
    ----------
    affinity : (n, n) array, sparse array or Gram
        Symmetric, not negative, each sample tied to something.
    labels : (n,) array
        Cluster of each sample; any values.
    sample_weight : (n,) array, optional
        A sample of weight w counts as w copies.

    Returns
    -------
    cut : float

    Examples
    --------
    >>> A = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 3.0]])
    >>> normalized_cut(A, [0, 0, 1])  # 1 of 7 is cut off the one, 1 of 4 off the other
    0.39285714285714285
    """
    if not isinstance(affinity, Gram) and not sp.issparse(affinity):
        affinity = Similarities.pack(affinity)
    elif sp.issparse(affinity):
        require_sound(affinity)
    given = np.asarray(labels)
    if np.ma.is_masked(labels) or any(is_missing(label) for label in given.flat):
        raise DomainError("labels has missing values; one label per sample is accepted. Give samples that have one.")
    if tuple(affinity.shape) != given.shape * 2:
        raise DomainError(
            f"normalized_cut was given affinities of shape {tuple(affinity.shape)} and labels of shape {given.shape}; "
            "a square matrix and one label per sample are accepted. Give both for the same samples."
        )
    names, codes = np.unique(given, return_inverse=True)
    affinity, n = _symmetric(affinity), len(codes)
    s = sample_weights(sample_weight, n)
    checked_weights(s[s > 0.0])
    V = (codes[:, None] == np.arange(len(names))) * s[:, None]
    U = np.asarray(affinity @ V, dtype=float)
    degrees = checked_degrees(U.sum(axis=1), s > 0)
    volumes, links = V.T @ degrees, np.einsum("it,it->t", V, U)
    held = volumes > 0  # a cluster of samples of weight zero is none
    return float(np.sum((volumes[held] - links[held]) / volumes[held]))


def _symmetric(affinity: Any) -> Any:
    """Return affinities that may be multiplied; raise DomainError unless they are symmetric (a Gram is)."""
    if isinstance(affinity, Similarities):
        affinity.check_symmetric()
        return affinity.matrix
    if sp.issparse(affinity) and abs(affinity - affinity.T).max() > _UNEQUAL * abs(affinity).max():
        raise DomainError(
            "normalized_cut was given sparse affinities that are not symmetric; ties have no direction. Use "
            "(A + A.T) / 2."
        )
    return affinity


def checked_degrees(degrees: Floats, used: Any = slice(None)) -> Floats:
    """Return degrees; raise DomainError unless they are finite and positive."""
    bad = ~(np.isfinite(degrees) & (degrees > 0.0))
    bad = np.flatnonzero(bad & (np.ones(len(degrees), dtype=bool) if isinstance(used, slice) else used))
    if len(bad):
        raise DomainError(
            f"the affinities of sample {bad[0]} sum to {degrees[bad[0]]:.3g}; normalised cuts divide by these sums, "
            "which must be positive and finite. Use affinities that are not negative, as those of Gaussian(), and "
            "leave out samples that are tied to nothing."
        )
    return degrees


def tied(A: Gram, s: Floats, used: Indices, least: int) -> tuple[Gram, Floats, Floats, Indices]:
    """Return affinities, weights, degrees and places of the samples that are tied to any; warn if others are left out.

    Parameters
    ----------
    A : Gram
    s : (n,) array
        Weights, positive.
    used : (n,) array of int
        Places of the samples among all that were given.
    least : int
        Number that must remain.
    """
    degrees = A @ s
    if not np.isfinite(degrees).all():
        raise overflow_error(A.kernel)
    alone = (degrees == 0.0) & (A.diag() == 0.0)
    rest = np.flatnonzero(~alone)
    if not alone.any() or len(rest) < least:
        return A, s, checked_degrees(degrees), used
    warn_caller(
        f"{alone.sum()} samples, sample {used[np.flatnonzero(alone)[0]]} the first of them, are similar to nothing, "
        "not even themselves; they are left out, and labelled as new samples like them are. Leave them out yourself, "
        "or use a kernel under which they are similar to something.",
        DegenerateWarning,
    )
    return A.take(rest), s[rest], checked_degrees(degrees[rest]), used[rest]


def checked_weights(s: Floats) -> Floats:
    """Return weights whose products with each other neither overflow nor vanish; else raise DomainError."""
    if len(s) and (s.min() < _LIGHT or s.max() > 1.0 / _LIGHT):
        raise DomainError(
            f"sample_weight goes from {s.min():.3g} to {s.max():.3g}; products of weights must be numbers, so that "
            f"{_LIGHT:g} to {1.0 / _LIGHT:g} are accepted. Divide them by the largest, and give samples that are to be "
            "left out a weight of zero."
        )
    return s


def times(gram: Gram, V: Floats, n_threads: int | None = None) -> Floats:
    """Return K V; of a dense K by rows in our own threads, since those of BLAS wait for each other between products."""
    if not has_array(gram):
        return gram @ V
    out, array = np.empty((gram.shape[0], V.shape[1])), gram.array

    def work(rows: slice) -> None:
        np.matmul(array[rows], V, out=out[rows])

    run_tasks(spans(len(out), _ROWS), work, n_threads=n_threads)
    return out


def first_met(labels: Indices, order: Indices, k: int) -> Indices:
    """Return new numbers of clusters, by their first member in an order that does not depend on that of the samples."""
    names, first = np.unique(labels[order], return_index=True)
    rest = np.setdiff1d(np.arange(k), names)
    new = np.empty(k, dtype=np.intp)
    new[np.concatenate([names[np.argsort(first)], rest]).astype(np.intp)] = np.arange(k)
    return new

r"""Kernels tuned for power: free parameters by the gradient of the ratio of a statistic to its standard deviation.

Symbols: t a statistic, sigma^2 its variance as in `mmd_power` and `hsic_power`; K~, L~ centred Gram matrices. The
gradient of t / sigma in the entries of K~ becomes, centred, weights of the derivatives of K in the kernel's parameters.
Two kernels are moved as one, their tensor product.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Resources
from mercer.constraints import Integer, OneOf
from mercer.domains import Samples
from mercer.errors import CapabilityError, ParameterError
from mercer.gram.algebra import centred
from mercer.inference.forms import inner, matrix, paired, pooled
from mercer.inference.options import FEWER, Limits, require_matrices, resources_of, tell
from mercer.inference.power import second_order
from mercer.kernels import Kernel
from mercer.kernels.kernel import offers, pullback
from mercer.kernels.protocols import Differentiable
from mercer.selection.hyperparameters import Search, tune
from mercer.spec import free_names

__all__ = ["tuned_kernel"]
__public__ = __all__


def tuned_kernel(
    X: Any,
    Y: Any,
    kernel: Kernel | Sequence[Kernel],
    *,
    statistic: str = "mmd",
    max_iter: int = 50,
    **limits: Unpack[Limits],
) -> Any:
    r"""Return the kernel with free parameters that maximise `mmd_power`, or the pair that maximises `hsic_power`.

    Seed: [KIKS] Section 7; [HSS] Section 3.3.3.

    Parameters
    ----------
    X, Y : raw data or packed samples
        Two samples for "mmd", two variables observed together for "hsic", that the test will not see.
    kernel : Kernel, or a pair of them for "hsic"
        Where the search begins. Differentiable in its parameters; of a pair one may have none.
    statistic : {"mmd", "hsic"}, default "mmd"
    max_iter : int, default 50
        Steps of the search, which is that of `mercer.search` where a criterion has derivatives.
    memory, n_threads, monitor : optional
        See `Limits`.

    Notes
    -----
    The gradient takes four matrices of all pairs of samples in memory, six for "hsic", so there is no `gram`: give a
    few thousand of a large sample. To choose among kernels that have no derivative use `held_out_test`, which takes
    `gram`.

    Examples
    --------
    >>> from mercer.inference import hsic_power, mmd_power
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) * np.array([1.0, 2.0])
    >>> start = Gaussian((3.0, 3.0))
    >>> best = tuned_kernel(X, Y, start)
    >>> mmd_power(X, Y, best) > mmd_power(X, Y, start)
    True
    >>> x = rng.uniform(0.0, 6.0, 100)
    >>> y, pair = np.sin(4.0 * x), (Gaussian(1.0), Gaussian(1.0))
    >>> hsic_power(x, y, tuned_kernel(x, y, pair, statistic="hsic")) > hsic_power(x, y, pair)
    True
    """
    OneOf("mmd", "hsic").check("statistic", statistic, "tuned_kernel")
    Integer(1).check("max_iter", max_iter, "tuned_kernel")
    resources = resources_of(limits, "tuned_kernel")
    if isinstance(kernel, Sequence) != (statistic == "hsic"):
        raise ParameterError(
            f"kernel={kernel!r} was given with statistic={statistic!r}; one kernel is accepted for 'mmd', a pair for "
            "'hsic'. Write kernel=Gaussian(1.0), or kernel=(Gaussian(1.0), Gaussian(1.0)) with statistic='hsic'."
        )
    m, parts = 0, ()
    if isinstance(kernel, Sequence):
        start, parts = paired((X, Y), kernel)
    else:
        learned, S, m = pooled(X, Y, kernel)
        start, parts = (learned,), (S,)
    if not any(map(_tunable, start)):
        raise CapabilityError(
            f"{kernel!r} has no free parameter to be tuned by its derivative. Use held_out_test with several kernels."
        )
    require_matrices("tuned_kernel", len(parts[0]), 4 if statistic == "mmd" else 6, resources, FEWER)
    begun: list[Kernel] = list(start)
    whole = begun[0] if statistic == "mmd" else begun[0].tensor(begun[-1])
    held = [name for place, name in _sided(whole, statistic) if not _tunable(begun[place])]
    done = [0]

    def loss(kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, Mapping[str, Floats]]:
        if statistic == "mmd":
            value, gradient = power_and_gradient(kernel, parts[0], m, resources.n_threads)
        else:
            kernels = kernel.left, kernel.right  # pyright: ignore[reportAttributeAccessIssue]
            value, gradient = hsic_power_and_gradient(kernels, parts, resources.n_threads)
        done[0] += 1
        tell(resources, min(done[0] / (max_iter + 1), 1.0))  # at most: the search ends when it has converged
        return -value, -gradient, {}

    found: Any = tune(loss, whole, fixed=held, search=Search(max_iter=max_iter)).kernel
    return (found.left, found.right) if statistic == "hsic" else found


def _sided(whole: Kernel, statistic: str) -> list[tuple[int, str]]:
    """Return the free parameters, each with the place of its kernel in the pair."""
    return [(int(statistic == "hsic" and name.startswith("right__")), name) for name in free_names(whole)]


def _tunable(kernel: Kernel) -> bool:
    return bool(free_names(kernel)) and offers(kernel, Differentiable)


def power_and_gradient(kernel: Kernel, S: Samples, m: int, n_threads: int | None = None) -> tuple[float, Floats]:
    """Return the ratio t / sigma of two samples, S[:m] and S[m:], and its gradient in the free parameters."""
    S = kernel.prepare(S)
    K = matrix(kernel, S, Resources(n_threads=n_threads))
    N, n = len(K), len(K) - m
    sizes = ((slice(0, m), slice(m, N), m, n), (slice(m, N), slice(0, m), n, m))
    linear, quadratic = np.zeros((N, N)), np.zeros((N, N))
    value, variance = 0.0, 0.0
    for own, other, a, b in sizes:
        within = (K[own, own].sum(axis=1) - np.diagonal(K[own, own])) / (a - 1)
        between = K[own, other].mean(axis=1)
        h = 2.0 * (within - between)
        value += float(np.mean(within) - np.mean(between))
        variance += float(np.var(h)) / a
        linear[own, own] += 1.0 / (a * (a - 1))
        linear[own, other] -= 1.0 / (a * b)
        slopes = 2.0 * (h - h.mean()) / a**2  # of the variance in h
        quadratic[own, own] += 2.0 * slopes[:, None] / (a - 1)
        quadratic[own, other] -= 2.0 * slopes[:, None] / b
    np.fill_diagonal(linear, 0.0)
    np.fill_diagonal(quadratic, 0.0)
    variance += second_order(inner(K, K), m, N)
    quadratic += 4.0 * (1.0 / m + 1.0 / n) ** 2 / N**2 * K
    weights = linear / math.sqrt(variance) - 0.5 * value / variance**1.5 * quadratic
    weights = centred(0.5 * (weights + weights.T))  # of K, from those of the centred matrix
    return value / math.sqrt(variance), pullback(kernel, S, S, weights)


def hsic_power_and_gradient(
    kernels: Sequence[Kernel], parts: Sequence[Samples], n_threads: int | None = None
) -> tuple[float, Floats]:
    """Return the ratio t / sigma of two variables and its gradient in the free parameters of both kernels."""
    parts = [kernel.prepare(S) for kernel, S in zip(kernels, parts, strict=True)]
    K, L = (matrix(kernel, S, Resources(n_threads=n_threads)) for kernel, S in zip(kernels, parts, strict=True))
    n = len(K)
    means = np.einsum("ij,ij->i", K, L) / n
    traces, squares = (float(np.trace(K)), float(np.trace(L))), (inner(K, K), inner(L, L))
    value = float(means.mean()) - traces[0] * traces[1] / ((n - 1) * n**2)
    variance = 4.0 * float(np.var(means)) / n + 2.0 * squares[0] * squares[1] / n**6
    gradients = []
    for kernel, S, own, other, k in ((kernels[0], parts[0], K, L, 0), (kernels[1], parts[1], L, K, 1)):
        if not _tunable(kernel):
            gradients.append(np.zeros(len(free_names(kernel))))
            continue
        # of t, and of its variance, in the entries of the own matrix
        linear = 1.0 / n**2 - 0.5 * value / variance * 8.0 * (means - means.mean()) / n**3
        weights = linear[:, None] * other
        weights -= 0.5 * value / variance * 4.0 * squares[1 - k] / n**6 * own
        weights[np.diag_indices(n)] -= traces[1 - k] / ((n - 1) * n**2)
        weights = centred(0.5 * (weights + weights.T)) / math.sqrt(variance)
        gradients.append(pullback(kernel, S, S, weights))
    return value / math.sqrt(variance), np.concatenate(gradients)

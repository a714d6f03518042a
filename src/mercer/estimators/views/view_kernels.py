"""Several views of each sample: a kernel for each, on columns of one table or on collections side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats
from mercer.constraints import AnyOf, Each, InstanceOf, Optional
from mercer.domains import Frames, Samples, Similarities, Vectors
from mercer.domains.frames import WHOLE
from mercer.errors import CapabilityError, DomainError
from mercer.estimators.estimator import KernelEstimator, pack_vectors, remember_columns
from mercer.estimators.several_views import require_pairs
from mercer.gram.gram import has_features, is_undecided
from mercer.kernels import Gaussian, Kernel, Linear, Sum
from mercer.kernels.kernel import overflow_error

__all__ = ["SeveralViews", "seen_by"]


def seen_by(kernel: Kernel, S: Samples) -> Samples:
    """Return what the kernel of one view reads of all views."""
    return S.part(WHOLE) if isinstance(S, Frames) and kernel.domain is not Frames else S


class SeveralViews(KernelEstimator):
    """Base of machines that learn a function of each view.

    Parameters
    ----------
    kernel : Kernel or tuple of Kernel, optional
        One for each view, on the columns it names by ``.on``, or one for both. None is `Linear` and `Gaussian` at the
        median distance, both on all columns.
    """

    kernel: Any
    kernels_: tuple[Kernel, ...]
    expansions_: Any
    constraints = {"kernel": Optional(AnyOf(InstanceOf(Kernel), Each(InstanceOf(Kernel))))}

    def _given_kernels(self, count: int = 2) -> tuple[Kernel, ...]:
        if self.kernel is None:
            return Linear(), Gaussian("median")
        return (self.kernel,) * count if isinstance(self.kernel, Kernel) else tuple(self.kernel)

    def _given_kernel(self, width: int = 1) -> Any:
        return self._given_kernels()[0]

    def _pack_views(self, X: Any) -> tuple[Samples, tuple[Kernel, ...]]:
        """Pack training data for all views, and return the kernel of each."""
        kernels = self._given_kernels(len(X) if _is_list(X) else 2)
        if len(kernels) < 2:
            raise DomainError(
                f"{type(self).__name__} was given {len(kernels)} kernel; two views or more are needed. Give a kernel "
                "for each view, for example kernel=(Gaussian().on([0, 1]), Linear().on([2, 3]))."
            )
        for kernel in kernels:
            kernel.check()
            if kernel.order != 0:
                raise CapabilityError(
                    f"{type(self).__name__} was given {kernel!r}, which is not positive definite; each kernel must be. "
                    "Use for example Gaussian()."
                )
        if _is_list(X, len(kernels)):
            S = self._side_by_side(X, kernels)
            kernels = tuple(k.on(_name(v)) for v, k in enumerate(kernels))
        else:
            S = self._together(X, kernels)
            remember_columns(self, X, S, reset=True)
        for part in {id(part): part for part in (seen_by(kernel, S) for kernel in kernels)}.values():
            if isinstance(part, Similarities):
                self._check_definite(part)
        spec = self._gram_spec(kernels[0], seen_by(kernels[0], S))
        if not (has_features(spec) or is_undecided(spec)):  # whose size is known once the features, or the choice, are
            self._require_with(spec, S)
        return S, kernels

    def _together(self, X: Any, kernels: tuple[Kernel, ...]) -> Samples:
        if all(kernel.domain is Vectors for kernel in kernels) and not isinstance(X, Frames):
            S = pack_vectors(X, self.kernel)
            for kernel in kernels:
                kernel.pack(S)  # which refuses terms that read other data
            return S
        return Sum(kernels).pack(X)

    def _side_by_side(self, X: Any, kernels: Any) -> Frames:
        parts = [kernel.pack(view) for kernel, view in zip(kernels, X, strict=True)]
        require_pairs(parts)
        return Frames({_name(v): part for v, part in enumerate(parts)})

    def _pack_new(self, X: Any) -> Samples:
        check_is_fitted(self)
        if _is_list(X, len(self.kernels_)) and getattr(self.kernels_[0], "columns", None) == _name(0):
            return self._side_by_side(X, [kernel.kernel for kernel in self.kernels_])  # pyright: ignore
        T = self._together(X, self.kernels_)
        remember_columns(self, X, T, reset=False)
        return T

    def _learned(self, kernels: tuple[Kernel, ...], S: Samples, w: Floats) -> tuple[Kernel, ...]:
        return tuple(kernel.learn(seen_by(kernel, S), None, w) for kernel in kernels)

    def view_values(self, X: Any) -> Floats:
        """Return the functions of all views at new data, (m, V) or (m, k, V).

        Parameters
        ----------
        X : table, packed samples, or a list of views
        """
        T = self._pack_new(X)
        pairs = zip(self.expansions_, self.kernels_, strict=True)
        values = []
        for f, kernel in pairs:
            values.append(f(seen_by(kernel, T), self._resources()))
            if not np.isfinite(values[-1]).all():
                raise overflow_error(kernel)
        return np.stack(values, axis=-1)

    def _mean_of_views(self, X: Any) -> Floats:
        """Return the mean of the functions of all views, (m,) or (m, k); their sum might overflow where it does not."""
        return (self.view_values(X) / len(self.kernels_)).sum(axis=-1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags


def _name(view: int) -> str:
    return f"view {view + 1}"


def _is_list(X: Any, count: int | None = None) -> bool:
    """Return whether these are views side by side rather than rows: as many packed collections or matrices."""
    listed = isinstance(X, (list, tuple)) and len(X) == (max(len(X), 1) if count is None else count)
    return listed and all(isinstance(view, Samples) or len(getattr(view, "shape", ())) == 2 for view in X)

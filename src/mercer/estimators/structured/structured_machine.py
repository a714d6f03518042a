"""What machines with structured outputs share: samples with sites, the functions, predictions and scores."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import InstanceOf, Optional
from mercer.domains import Samples
from mercer.errors import CapabilityError, DomainError, TargetError
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import Run, fitting
from mercer.estimators.structured.class_spaces import ClassLabels
from mercer.estimators.structured.output_space import FiniteSpace, OutputSpace
from mercer.estimators.structured.sample_spaces import SampleSpaces
from mercer.gram import Gram
from mercer.problems import Solution, Status
from mercer.targets.target import sample_weights

__all__ = ["Outputs", "Sites", "StructuredMachine", "StructuredRisk", "flattened"]


@dataclass(frozen=True, eq=False)
class Sites:
    """Samples that are sequences of objects: all objects packed one after another, and where each sample begins."""

    flat: Any
    offsets: Indices
    networks: list[Any] | None = None  # of the samples, where each has its own

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, index: Indices) -> Sites:
        """Return some of the samples."""
        lengths = np.diff(self.offsets)[index]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][index] - offsets[:-1], lengths)
        networks = None if self.networks is None else [self.networks[i] for i in np.arange(len(self))[index]]
        return Sites(self.flat.take(places), offsets, networks)


class Outputs(NamedTuple):
    """The outputs of the training samples that count."""

    codes: Any
    offsets: Indices  # where the sites of each sample begin
    weight: Floats
    used: Indices  # the places of the samples among those that were given
    spaces: SampleSpaces


_OUTPUTS = Optional(InstanceOf(OutputSpace))


class StructuredMachine(ClassifierMixin, KernelEstimator):
    """Base of the machines with structured outputs: a kernel on sites, and an output space."""

    outputs: Any
    weights_: Floats
    target_: OutputSpace
    constraints = {"outputs": _OUTPUTS}

    def _space(self) -> OutputSpace:
        _OUTPUTS.check("outputs", self.outputs, self)
        return ClassLabels() if self.outputs is None else self.outputs.check()

    def _space_of(self, y: Any) -> OutputSpace:
        """Return the output space; refuse sequences of labels where it takes one label per sample."""
        space = self._space()
        if isinstance(space, FiniteSpace) and (labels := _first_sequence(y)):
            raise TargetError(
                f"y has {labels} labels for a sample, and outputs={space!r:.100} takes one. Use "
                "outputs=LabelSequences() for sequences of labels, with which X is a list of sequences as well."
            )
        return space

    def _read(self, X: Any) -> tuple[Any, Any]:
        """Pack training data: as they are, or their sites one after another."""
        if not self._space().has_sites:
            return self._pack(X)
        objects, networks = _parted(X, self._space())
        flat, offsets = flattened(objects)
        if not offsets[-1]:
            raise DomainError(
                f"X has {len(offsets) - 1} sequences with 0 positions in all; some are needed to learn from. Give "
                "sequences of what the kernel compares, and their labels."
            )
        try:
            S, kernel = self._pack(flat)
        except DomainError as error:
            raise type(error)(f"Of the positions of all sequences in X, one after another: {error}") from error
        return Sites(S, offsets, networks), kernel

    def _sites(self, S: Any) -> tuple[Samples, Indices, SampleSpaces]:
        """Return the sites of packed training samples, where each sample begins, and its space."""
        if not isinstance(S, Sites):
            return S, np.arange(len(S) + 1, dtype=np.intp), SampleSpaces(self.target_)
        return S.flat, S.offsets, SampleSpaces(self.target_, S.networks, S.offsets)

    def _check_lengths(self, codes: Array, offsets: Indices) -> None:
        """Raise TargetError unless sequences of labels are as long as those of objects."""
        if self.target_.has_sites:
            for i, (code, length) in enumerate(zip(codes, np.diff(offsets), strict=True)):
                if len(code) != length:
                    raise TargetError(
                        f"sequence {i} has {length} positions in X and {len(code)} labels in y; there must be one "
                        "label per position. Compare the lengths."
                    )

    def _keep(self, K: Gram, B: Floats, w: Floats) -> None:
        """Keep the functions, at the sites that have a coefficient."""
        self.expansion_ = K.expand(Solution(B, Status.CONVERGED, 0.0))
        self.weights_ = w

    def _values(self, X: Any) -> tuple[Floats, Indices, SampleSpaces]:
        """Return the values of all functions at the sites of new samples, where each sample begins, and its space."""
        check_is_fitted(self)
        if not self.target_.has_sites:
            F = self._evaluate(X)
            F = F.reshape(len(F), -1)
            return F, np.arange(len(F) + 1, dtype=np.intp), SampleSpaces(self.target_)
        objects, networks = _parted(X, self.target_)
        flat, offsets = flattened(objects)
        spaces = SampleSpaces(self.target_, networks, offsets)
        if not offsets[-1]:
            return np.empty((0, self.target_.width)), offsets, spaces
        F = self._evaluate(flat)
        return F.reshape(len(F), -1), offsets, spaces

    def predict(self, X: Any) -> Any:
        """Return the output with the highest score of each sample, in the form of y.

        Parameters
        ----------
        X : raw data or packed samples
            For sequences of labels, a list of sequences.
        """
        F, offsets, spaces = self._values(X)
        return self.target_.decode(spaces.best_of_all(F, offsets, self.weights_))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of what is predicted right: classes, labels of positions or of sets, preferences.

        Parameters
        ----------
        X : raw data or packed samples
        y : outputs
        sample_weight : (n,) array, optional
        """
        F, offsets, spaces = self._values(X)
        outputs = spaces.best_of_all(F, offsets, self.weights_)
        truth = self.target_.encode(y)
        if len(truth) != len(outputs):
            raise TargetError(
                f"X has {len(outputs)} samples and y has {len(truth)}; there must be one output per sample. Give X and "
                "y of the same length."
            )
        weight = sample_weights(sample_weight, len(outputs))
        found = np.array([self.target_.agreement(a, b) for a, b in zip(truth, outputs, strict=True)])
        return float(weight @ found[:, 0] / (weight @ found[:, 1]))

    def _require_rows(self, K: Any) -> None:
        if not hasattr(K, "rows") and not hasattr(K, "factor"):
            raise CapabilityError(
                f"{type(self).__name__} needs Gram.rows or a factor; {type(K).__name__} offers only products. "
                "Use gram=Tiles(), gram=Dense() or gram=Nystrom()."
            )


class StructuredRisk(StructuredMachine):
    """Base of the machines that minimise a regularised risk: a sum over samples, which may have weights."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the functions to training data.

        Parameters
        ----------
        X : raw data or packed samples
            For sequences of labels, a list of sequences.
        y : outputs
            Of the kind that `outputs` reads.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        target: Any = self._space_of(y)
        with fitting(self, X, y, sample_weight, target, pack=self._read) as (run, kernel, _, S, codes, w, used):
            sites, offsets, spaces = self._sites(S)
            self._check_lengths(codes, offsets)
            self.kernel_ = kernel.learn(sites)
            K = self._represent(self.kernel_, sites, run, until=0.2)
            self._find(K, Outputs(codes, offsets, w, used, spaces), run)
        return self

    @abstractmethod
    def _find(self, K: Gram, data: Outputs, run: Run) -> None:
        """Find the functions, and keep them."""


def _first_sequence(y: Any) -> int:
    """Return the length of the first output that has several labels, or 0 if all are single labels."""
    if isinstance(y, np.ndarray) and y.dtype != object:
        return y.shape[1] if y.ndim == 2 and y.shape[1] > 1 else 0
    rows = y if isinstance(y, (list, tuple, np.ndarray)) else ()
    return next((len(row) for row in rows if isinstance(row, (list, tuple, np.ndarray)) and np.size(row) > 1), 0)


def _parted(X: Any, space: OutputSpace) -> tuple[Any, list[Any] | None]:
    """Return the sequences of objects, and the networks of samples that have their own."""
    if not space.own_networks:
        return X, None
    rows: list[Any] = list(X) if hasattr(X, "__iter__") and not isinstance(X, (str, bytes)) else [None]
    for i, row in enumerate(rows):
        if not isinstance(row, (tuple, list)) or len(row) != 2:
            raise DomainError(
                f"sample {i} of X is a {type(row).__name__}; where each sample has its own network, X is a list of "
                "pairs of its objects and its edges. Give [(objects, edges), ...], or one network to the output space."
            )
    return [row[0] for row in rows], [row[1] for row in rows]


def flattened(X: Any) -> tuple[Any, Indices]:
    """Return the objects of all sequences one after another, and where each sequence begins."""
    if isinstance(X, Samples) or not hasattr(X, "__iter__") or isinstance(X, (str, bytes)):
        raise DomainError(
            f"a {type(X).__name__} was given as X; for sequences of labels X is a list of sequences, each an array or "
            "a list of what the kernel compares. Give one entry per sequence."
        )
    rows = list(X)
    try:
        lengths = [row.shape[0] if sp.issparse(row) else len(row) for row in rows]
    except TypeError:
        raise DomainError(
            "X has entries without a length; for sequences of labels X is a list of sequences. Give each sequence as "
            "an array or a list."
        ) from None
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
    full = [row for row, length in zip(rows, lengths, strict=True) if length]
    if full and all(map(sp.issparse, full)):
        return sp.vstack([sp.csr_array(row) for row in full], format="csr"), offsets
    if full and all(isinstance(row, np.ndarray) and row.ndim == 2 for row in full):
        widths = {row.shape[1] for row in full}
        if len(widths) > 1:
            raise DomainError(
                f"X has sequences of vectors with {sorted(widths)} columns; all must have the same. Give the same "
                "columns to each position."
            )
        return np.concatenate(full), offsets
    return [item for row in full for item in row], offsets

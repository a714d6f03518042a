"""LIBSVM and scikit-learn machines as mercer estimators."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array, Floats
from mercer.budget import Plan
from mercer.domains import Samples, Similarities, Vectors
from mercer.errors import ParameterError
from mercer.estimators.imported import ImportedClassifier, ImportedDetector, ImportedRegressor
from mercer.gram import Expansion, FeatureExpansion
from mercer.io.atomic import PathLike
from mercer.io.libsvm import Machine, read_machine
from mercer.io.limits import FileError
from mercer.kernels import Constant, Kernel, Linear
from mercer.kernels.foreign import kernel_from_word

__all__ = ["from_libsvm", "from_sklearn"]

_WORDS = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid", "precomputed": "precomputed"}
_DENSE = 0.25  # share of entries that are not zero from which vectors are held as a rectangle


def from_sklearn(svm: Any) -> ImportedClassifier | ImportedRegressor | ImportedDetector:
    """Turn a fitted scikit-learn support vector machine into a mercer estimator.

    Parameters
    ----------
    svm : fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC or LinearSVR
        With any of the built-in kernels, precomputed ones included; fitted to dense or sparse data.

    Returns
    -------
    ImportedClassifier, ImportedRegressor or ImportedDetector
        It has the same decision values and predictions, the same probabilities if it was fitted with them, and can be
        saved with ``mercer.save``.

    Raises
    ------
    ParameterError
        Another class, or a kernel that is a function or not one of mercer's.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> svm = SVC(gamma=0.5).fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    >>> from_sklearn(svm).predict([[0.4], [4.4]])
    array(['a', 'b'], dtype='<U1')
    """
    kinds = (SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR)
    if not isinstance(svm, kinds):
        raise ParameterError(
            f"from_sklearn was given a {type(svm).__name__}; accepted are fitted "
            f"{', '.join(kind.__name__ for kind in kinds)} of scikit-learn. Take the machine out of its pipeline."
        )
    check_is_fitted(svm)
    names = getattr(svm, "feature_names_in_", None)
    names = None if names is None else tuple(map(str, names))
    if isinstance(svm, LinearSVC | LinearSVR):
        return _linear(svm, names)
    if not isinstance(svm.kernel, str):
        raise ParameterError(
            f"from_sklearn was given a {type(svm).__name__} whose kernel is the function {svm.kernel!r}; a function "
            "cannot be turned into a kernel of mercer. Use kernel='precomputed' with its matrix."
        )
    kernel = _kernel(svm.kernel, float(svm._gamma), svm.degree, float(svm.coef0))
    samples = _support(svm)
    coef = np.array(svm.dual_coef_.toarray() if sp.issparse(svm.dual_coef_) else svm.dual_coef_, dtype=float)
    intercept = np.array(svm.intercept_, dtype=float)
    if not isinstance(svm, SVC | NuSVC):
        expansion = Expansion(kernel, kernel.prepare(samples), coef[0].copy(), np.asarray(intercept[0]))
        machine = ImportedDetector if isinstance(svm, OneClassSVM) else ImportedRegressor
        return machine(expansion, feature_names=names)
    if len(svm.classes_) == 2:
        coef, intercept = -coef, -intercept  # scikit-learn flips the sign of LIBSVM's function
    expansion = Expansion(kernel, kernel.prepare(samples), *_pairwise(coef, intercept, svm.n_support_))
    probability = None if not svm._probA.size else (np.array(svm._probA), np.array(svm._probB))
    return ImportedClassifier(
        expansion,
        svm.classes_,
        decision_function_shape=svm.decision_function_shape,
        break_ties=svm.break_ties,
        feature_names=names,
        probability=probability,
        couple_two=True,  # LIBSVM itself takes the sigmoid
    )


def from_libsvm(
    path: PathLike, *, width: int | None = None
) -> ImportedClassifier | ImportedRegressor | ImportedDetector:
    """Read a LIBSVM model file.

    Parameters
    ----------
    path : str or path
        Text as ``svm-train`` and ``svm_save_model`` write it: c_svc, nu_svc, one_class, epsilon_svr or nu_svr with
        a linear, polynomial, rbf, sigmoid or precomputed kernel.
    width : int, optional
        Number of columns of the data (of training samples, for a precomputed kernel). The file does not say;
        None is the largest index in the file.

    Returns
    -------
    ImportedClassifier, ImportedRegressor or ImportedDetector
        It predicts what ``svm-predict`` does, with probabilities if the file has them, and can be saved with
        ``mercer.save``.

    Raises
    ------
    FileError
        The file is not such a model; the message names the line and what to do.
    """
    machine = read_machine(path)
    try:
        kernel = _kernel(_WORDS[machine.kernel_type], machine.gamma, machine.degree, machine.coef0)
    except ParameterError as error:
        raise FileError(path, str(error), "Train the model again.") from error
    samples = kernel.prepare(_samples(machine, width))
    intercept = -np.array(machine.rho)
    if machine.kind != "classes":
        expansion = Expansion(kernel, samples, machine.coef[:, 0].copy(), np.asarray(intercept[0]))
        if machine.kind != "one":
            return ImportedRegressor(expansion)
        marks = machine.prob_density_marks
        return ImportedDetector(expansion, marks=np.array(marks) if marks else None)
    labels = np.array(machine.label)
    place = np.argsort(labels)
    expansion = Expansion(kernel, samples, *_pairwise(machine.coef.T, intercept, np.array(machine.nr_sv)))
    return ImportedClassifier(
        expansion,
        labels[place],
        order=None if np.array_equal(place, np.arange(len(place))) else place,
        decision_function_shape="ovo",
        probability=(np.array(machine.probA), np.array(machine.probB)) if machine.probA else None,
    )


# ---------------------------------------------------------------------- functions


def _pairwise(coef: Floats, intercept: Floats, counts: Array) -> tuple[Floats, Floats]:
    """Coefficients of all functions f_ij over all support vectors, (n, P), of LIBSVM's (c - 1, n).

    Support vectors are grouped by class; row j - 1 of the columns of class i, and row i of those of class j,
    belong to f_ij.
    """
    c, n = len(counts), coef.shape[1]
    if c == 2:
        return coef[0].copy(), np.asarray(intercept[0])
    P = c * (c - 1) // 2
    Plan(f"A machine of {c} classes", {"coefficients": 8 * n * P}).require(None)
    ends = np.cumsum(counts)
    groups = [slice(int(end - count), int(end)) for end, count in zip(ends, counts, strict=True)]
    out = np.zeros((n, P))
    for k, (i, j) in enumerate(combinations(range(c), 2)):
        out[groups[i], k] = coef[j - 1, groups[i]]
        out[groups[j], k] = coef[i, groups[j]]
    return out, intercept


def _kernel(word: str, gamma: float, degree: int, coef0: float) -> Kernel:
    """The kernel with a name; limiting cases that are constant become one."""
    if (word == "rbf" and gamma == 0) or (word == "poly" and degree == 0):
        return Constant(1.0)
    if word == "poly" and gamma == 0:
        return Constant(coef0**degree).check()
    try:
        return kernel_from_word(word, 1, gamma, degree, coef0)
    except ParameterError as error:
        raise ParameterError(
            f"The machine has the kernel {word!r} with gamma={gamma}, degree={degree}, coef0={coef0}, which is not one "
            f"of mercer's: {error} Fit it again with other parameters."
        ) from error


def _linear(svm: Any, names: Any) -> ImportedClassifier | ImportedRegressor:
    weights = np.atleast_2d(np.array(svm.coef_, dtype=float))
    intercept = np.atleast_1d(np.array(svm.intercept_, dtype=float))  # 0.0 without an intercept
    intercept = np.array(np.broadcast_to(intercept, (len(weights),)))
    if len(weights) == 1:
        function = FeatureExpansion(Linear(), None, weights[0].copy(), np.asarray(intercept[0]))
    else:
        function = FeatureExpansion(Linear(), None, np.ascontiguousarray(weights.T), intercept)
    if isinstance(svm, LinearSVR):
        return ImportedRegressor(function, feature_names=names)
    return ImportedClassifier(function, svm.classes_, strategy="one-versus-rest", feature_names=names)


def _support(svm: Any) -> Samples:
    if svm.kernel == "precomputed":
        return _landmarks(np.asarray(svm.support_, dtype=np.intp), int(svm.shape_fit_[0]))
    return Vectors.pack(svm.support_vectors_).owned()


def _landmarks(columns: Array, width: int) -> Similarities:
    return Similarities(None, columns, columns, width)


def _samples(machine: Machine, width: int | None) -> Samples:
    columns = [column for row in machine.entries for column, _ in row]
    largest = max(columns, default=0) + 1
    if width is not None and (isinstance(width, bool) or not isinstance(width, int | np.integer) or width < largest):
        raise ParameterError(
            f"from_libsvm was given width={width!r}; the file has indices up to {largest}, so a whole number of at "
            "least that is accepted. Give the number of columns of the data, or leave it out."
        )
    d = largest if width is None else int(width)
    if machine.precomputed:
        return _landmarks(np.array(columns, dtype=np.intp), d)
    values = np.array([value for row in machine.entries for _, value in row], dtype=float)
    ends = np.cumsum([0, *(len(row) for row in machine.entries)])
    matrix = sp.csr_array((values, np.array(columns, dtype=np.int64), ends), shape=(len(machine.entries), d))
    dense = len(values) >= _DENSE * len(machine.entries) * d
    return Vectors.pack(matrix.toarray() if dense else matrix)

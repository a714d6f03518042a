"""Probes of every public estimator: faults in X, y, weights and new data, and settings that it may not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.utils import get_tags

import mercer
import mercer.estimators
import mercer.gram
import mercer.kernels
import mercer.solvers
from mercer.domains import Pairs, Vectors
from mercer.kernels import Kernel
from mercer.kernels.kernel import log_integral
from mercer.spec import Spec
from tests.trust import faults
from tests.trust.faults import Fault
from tests.trust.judge import ACCEPT, EITHER, REFUSE, TOLD, same
from tests.trust.of_kernels import LEGITIMATE, VALUES
from tests.trust.probe import SAMPLES, Probe, enough, gram

K = mercer.kernels


@dataclass(frozen=True)
class Task:
    """Good data for an estimator."""

    X: Any
    y: Any
    weight: Any


def _searches(estimator: Any) -> bool:
    """Tell whether rounding decides where a fit ends.

    So it does where hyper-parameters are searched and the criterion is flat, where relevant vectors are chosen among
    those that depend on each other, and where a solver stops at a gap and nothing makes its solution exact.
    """
    vague = (mercer.RelevanceVectorRegressor, mercer.RelevanceVectorClassifier, mercer.MultilabelSVC)
    flat = "fixed" in estimator.get_params() and getattr(estimator, "selection", "") is not None
    return flat or isinstance(estimator, vague)


CONSTANT = ("constant column", "zero column", "all zero", "all equal", "all rows equal", "one sample")

AFFINITIES = (mercer.SpectralClustering, mercer.DiffusionMap)  # whose sums must be positive
OF_COLUMNS = (  # the kernel compares columns or directions of vectors, whatever they are the columns of
    mercer.DependenceSelector,
    mercer.KernelDimensionReduction,
    mercer.KernelICA,
    mercer.LocalityPreservingProjection,
)

# no machine that penalises or prunes coefficients one by one asks for a positive definite kernel
ANY_MATRIX = (
    mercer.LinearProgrammingMachine,
    mercer.KernelLasso,
    mercer.RelevanceVectorRegressor,
    mercer.RelevanceVectorClassifier,
    *AFFINITIES,  # nor do affinities have to be
    mercer.LaplacianEigenmap,
    mercer.LabelPropagation,
)
# what stands for a target that is not known, or for a table of targets
_GAPS = ("one NaN", "None inside", "pandas NA")
UNKNOWN = {
    mercer.CoRegularizedRidge: _GAPS,
    mercer.LaplacianRidge: _GAPS,
    mercer.NuclearNormRegressor: _GAPS,
    mercer.LinkPropagation: (*_GAPS, "sparse"),  # whose entries are the known ones
    mercer.MultilabelSVC: ("sparse",),  # a matrix of which labels a sample has
    mercer.SemiparametricLatentFactor: ("one NaN",),
    mercer.SparseLaplacianRegressor: _GAPS,
    mercer.TransductiveRidge: _GAPS,
}
WHAT_VARIES = (mercer.GraphicalStructure, mercer.KernelDimensionReduction, mercer.KernelICA)
SEARCHES = (mercer.KernelProjectionPursuit, mercer.KernelICA, mercer.KernelDimensionReduction)


def is_steady(estimator: Any) -> bool:
    """Tell whether forms of the same data must give the same answers.

    Of a detector many training samples lie on the boundary itself, on which side of it is rounding. Where latent
    factors explain nothing, their mixing vanishes and predictions are rounding. A search for directions among samples
    that have none ends anywhere. A perceptron begins at zero, where the last digit decides what is a mistake.
    """
    vague = (mercer.SemiparametricLatentFactor, mercer.KernelPerceptron, *SEARCHES)
    return not is_outlier_detector(estimator) and not isinstance(estimator, vague)


METHODS = ("predict", "decision_function", "predict_proba", "score_samples", "transform")
Case = tuple[str, Callable[[], Any], Task]


def estimator_classes() -> list[type]:
    """Return the public estimators."""
    public = (getattr(mercer.estimators, name) for name in mercer.estimators.__all__)
    return [cls for cls in public if inspect.isclass(cls) and hasattr(cls, "fit")]


def _task(estimator: Any, X: Any = None) -> Task:
    plain = np.random.default_rng(7).normal(size=(SAMPLES, 3))
    y = np.sin(plain[:, 0]) + plain[:, 1] if is_regressor(estimator) else (plain[:, 0] > 0).astype(int)
    if get_tags(estimator).target_tags.positive_only:
        y = np.exp(y)
    return Task(plain if X is None else X, y, np.ones(SAMPLES))


def _is_taken(cls: type, kernel: Any) -> bool:
    """Tell whether a kernel is one that an estimator is made for."""
    if cls is mercer.BayesianLinearRegression and kernel is not None:
        return isinstance(kernel, Kernel) and "features" in kernel.capabilities
    if cls is mercer.SmoothingSpline and kernel is not None:  # others need functions that are not penalised
        return isinstance(kernel, Kernel) and not kernel.composite and getattr(kernel, "domain", None) is Vectors
    if cls is mercer.ParzenDensity and kernel is not None and kernel != "rbf":  # windows only
        return isinstance(kernel, Kernel) and kernel.domain is Vectors and log_integral(kernel, 3) is not None
    if cls in (*OF_COLUMNS, mercer.ExponentialDensity) and kernel is not None and kernel != "rbf":
        return isinstance(kernel, Kernel) and kernel.domain is Vectors
    if cls in (mercer.CoRegularizedRidge, mercer.MultiViewLaplacianSVC, mercer.SVM2K):  # a kernel for each view
        return kernel is None or isinstance(kernel, Kernel)
    if cls is mercer.MultiInstanceSVC and isinstance(kernel, Kernel):  # a pair might be a bag of two
        return kernel.domain is not Pairs
    return not (cls in AFFINITIES and isinstance(kernel, (K.Linear, K.Spectrum)))


def _cases(kernels: Iterable[Any], X: Any = None) -> Iterator[Case]:
    """Yield every estimator with each of some kernels (None: as it comes), and good data."""
    for cls in estimator_classes():
        takes = "kernel" in inspect.signature(cls).parameters
        if X is not None and not takes:  # linear machines know vectors only
            continue
        for kernel in kernels if takes else (None,):
            if not _is_taken(cls, kernel):
                continue
            parameters = {} if kernel is None else {"kernel": kernel}
            try:
                cls(**parameters)._check_order(kernel if isinstance(kernel, Kernel) else K.Gaussian())
            except TypeError:  # an order of definiteness that this estimator does not take
                continue
            yield f"{cls.__name__}({'' if kernel is None else kernel!r})", partial(cls, **parameters), _task(cls(), X)


VECTOR_KERNELS = (None, K.Linear(), K.Polynomial(3), "rbf", K.Gaussian(1.0) * K.Linear() + K.Matern(1.5))
WORDS = enough(["gattaca", "tag", "", "cattag", "gat"])
COUPLES = enough([((0.5,), "a"), ((1.5,), "ab"), ((2.5,), "b")])
ROWS = enough({"size": [0.5, 1.5, 2.5], "gene": ["a", "ab", "b"]})
STRUCTURED: list[tuple[Any, Any, list[Fault]]] = [
    (K.Spectrum(2), WORDS, faults.STRINGS),
    (K.Spectrum(1).normalized(), WORDS, faults.STRINGS),
    (K.Gaussian(1.0).tensor(K.Spectrum(1)), COUPLES, faults.COUPLES),
    (K.Spectrum(1).on("gene") * K.Gaussian(1.0).on("size") + K.Linear().on(["size"]), ROWS, faults.TABLES),
    (K.Precomputed(), gram(), faults.GRAMS),
    ("precomputed", gram(), faults.GRAMS),
]


def estimator_probes() -> Iterator[Probe]:
    """Yield every estimator with faults in X, in y, in the weights, and in what is predicted."""
    for subject, make, task in _cases(VECTOR_KERNELS):
        yield from _fit_probes("estimators", subject, make, task, "X", faults.VECTORS)
        for fault in faults.SECOND if _says(make()) else ():
            calls = partial(_predict_calls, make, task, fault)
            yield Probe("estimators", subject, f"new X {fault.name}", fault.expect, calls)
    for subject, make, task in _cases((None, K.Linear())):
        signature = inspect.signature(make.func.fit).parameters  # pyright: ignore[reportAttributeAccessIssue]
        if is_classifier(make()) or is_regressor(make()):
            yield from _fit_probes("estimators", subject, make, task, "y", faults.TARGETS)
        if "sample_weight" in signature:
            yield from _fit_probes("estimators", subject, make, task, "weight", faults.WEIGHTS)


def structured_probes() -> Iterator[Probe]:
    """Yield every estimator on strings, pairs, tables and similarities."""
    for kernel, X, found in STRUCTURED:
        for subject, make, task in _cases((kernel,), X):
            yield from _fit_probes("structures", subject, make, task, "X", found)
            model = make()
            for fault in found if _says(model) and found is not faults.GRAMS else ():
                if fault.expect == REFUSE and fault not in faults.OBJECTS:
                    calls = partial(_predict_calls, make, task, fault)
                    bags = isinstance(model, mercer.MultiInstanceSVC) and fault.name == "unhashable symbols"
                    yield Probe("structures", subject, f"new X {fault.name}", EITHER if bags else REFUSE, calls)


def _fit_probes(group: str, subject: str, make: Any, task: Task, which: str, found: Iterable[Fault]) -> Iterator[Probe]:
    """Yield an estimator with each of some faults in X, y or the weights."""
    model = make()
    classifies = is_classifier(model)
    for fault in found:
        expect = fault.expect
        if expect == TOLD and isinstance(model, ANY_MATRIX):
            expect = EITHER  # a linear program needs no definite kernel
        if isinstance(model, mercer.MultiInstanceSVC) and fault.name in ("three dimensions", "unhashable symbols"):
            expect = EITHER  # each matrix is a bag, each list one of texts
        if which == "y" and fault.name in UNKNOWN.get(type(model), ()):
            expect = EITHER
        if isinstance(model, WHAT_VARIES) and fault.name in CONSTANT:
            expect = EITHER  # a column that does not vary has no conditional distribution, and no direction
        if which == "y" and classifies and fault.name in ("two columns", "times 1e-310", "zero", "constant"):
            expect = EITHER
        calls = partial(_fit_calls, make, task, which, fault)
        yield Probe(group, subject, f"{which} {fault.name}", expect, calls)


def _given(task: Task, which: str, value: Any) -> tuple[Any, Any, Any]:
    """Return X, y and weights with one of them exchanged; y keeps the length of an X that is valid."""
    if which != "X":
        return (task.X, value, None) if which == "y" else (task.X, task.y, value)
    n = _count(value)
    y = task.y[np.argsort(task.y, kind="stable")[np.linspace(0, len(task.y) - 1, n).astype(int)]] if n else task.y
    return value, task.y if n == len(task.y) else y, None


def _count(X: Any) -> int:
    if isinstance(X, dict) and X:
        X = next(iter(X.values()))
    if hasattr(X, "shape"):
        return X.shape[0] if len(X.shape) else 0
    return len(X) if hasattr(X, "__len__") and not isinstance(X, (str, bytes)) else 0


def _fit_calls(make: Any, task: Task, which: str, fault: Fault) -> dict[str, Callable[[], Any]]:
    def fit(change: Callable[[Any], Any]) -> Any:
        model, good = make(), getattr(task, which)
        before = set(vars(model))
        X, y, weight = _given(task, which, change(good))
        extra = {} if weight is None else {"sample_weight": weight}
        try:
            model.fit(X, y, **extra)
        except Exception:
            left = {name for name in set(vars(model)) - before if not name.startswith("_")}
            assert not left, f"a fit that failed left {left}"
            raise
        return _outputs(model, change(good) if which == "X" else task.X)

    def both() -> Any:
        outputs = fit(fault.make)
        if fault.plain is not None and fault.expect == ACCEPT and is_steady(make()) and not _searches(make()):
            for name, expected in fit(fault.plain).items():
                same(outputs[name], expected, max(fault.slack, 1e-6), f"{name} against the usual form")
        return outputs

    return {"fit": both}


def _predict_calls(make: Any, task: Task, fault: Fault) -> dict[str, Callable[[], Any]]:
    model = make().fit(task.X, task.y)

    def one(name: str) -> Any:
        result = _said(model, name, fault.make(task.X))
        if fault.plain is not None and is_steady(model):
            same(result, _said(model, name, fault.plain(task.X)), max(fault.slack, 1e-6), "against the usual form")
        return result

    return {name: partial(one, name) for name in METHODS if hasattr(model, name)}


def _says(model: Any) -> bool:
    """Tell whether there is anything to ask of new samples."""
    return any(hasattr(type(model), name) for name in METHODS)


def _outputs(model: Any, X: Any) -> dict[str, Any]:
    return {name: _said(model, name, X) for name in METHODS if hasattr(model, name)}


def _said(model: Any, name: str, X: Any) -> Any:
    values = _dense(getattr(model, name)(X))
    if isinstance(model, mercer.ExponentialDensity) and name == "score_samples":
        return np.maximum(values, -1e308)  # outside of its box the density is zero, as its page says
    return values


def _dense(values: Any) -> Any:
    return values.toarray() if sp.issparse(values) else values


SETTINGS: list[tuple[dict[str, Any], str]] = [
    *(({"kernel": "rbf", "gamma": g}, EITHER) for g in (0, -1.0, 1e300, 1e-300, 1e-320, True, None)),
    *(({"kernel": "rbf", "gamma": g}, REFUSE) for g in (float("nan"), float("inf"), "nonsense", [], 10**400, 1j)),
    *(({"kernel": word, "gamma": g}, EITHER) for word in ("laplacian", "poly", "sigmoid") for g in (0, 1e300, 1e-300)),
    *(({"kernel": "poly", "degree": d}, EITHER) for d in (0, 1, 60, 10**6, -1)),
    *(({"kernel": "poly", "degree": d}, REFUSE) for d in (2.5, "3", float("nan"), [3], 10**400)),
    *(({"kernel": "poly", "coef0": c}, EITHER) for c in (0, -1.0, 1e300, True)),
    *(({"kernel": "poly", "coef0": c}, REFUSE) for c in (float("nan"), "1", None if False else "zero")),
    *(({"kernel": k}, REFUSE) for k in ("nonsense", "RBF", "", 3, 2.5, K.Gaussian, [], {}, (K.Linear(),))),
    *(({"kernel": k}, REFUSE) for k in (K.Spectrum(3), K.Gaussian(-1.0), K.Gaussian("nonsense"), np.ones((3, 3)))),
    ({"kernel": len}, REFUSE),
    ({"kernel": Ellipsis}, REFUSE),
    ({"kernel": K.Linear() + K.Spectrum(2)}, REFUSE),
    ({"kernel": K.Gaussian((1.0, 2.0))}, REFUSE),
    ({"kernel": K.Gaussian(1.0).on([7])}, REFUSE),
    ({"kernel": K.Gaussian(1.0).on("age")}, REFUSE),
    ({"kernel": K.ThinPlate()}, EITHER),
    ({"kernel": K.Sigmoid(1.0)}, EITHER),
    ({"kernel": K.Gaussian(1e-300)}, EITHER),
    ({"kernel": K.Gaussian(1e300)}, EITHER),
    ({"kernel": K.Polynomial(60)}, EITHER),
    ({"kernel": K.Linear() ** 40}, EITHER),
    ({"kernel": K.Linear().exp()}, EITHER),
    ({"kernel": K.Linear(), "gamma": 1.0}, REFUSE),
    *(({"memory": m}, REFUSE) for m in (0, -1, "much", "1 XB", float("nan"), float("inf"), [], True, 1j)),
    *(({"memory": m}, EITHER) for m in (1, "1kB", "1 TB", 10**30)),
    *(({"n_threads": t}, REFUSE) for t in (0, -1, 2.5, "2", float("nan"), [], True)),
    ({"n_threads": 10**6}, EITHER),
    *(({"max_time": t}, REFUSE) for t in (0, -1.0, float("nan"), "1 s", [], True)),
    *(({"max_time": t}, EITHER) for t in (1e-9, 1e300, float("inf"))),
]


FAMILIES = (mercer.KernelRidge, mercer.SVC, mercer.LinearSVC)


def setting_probes() -> Iterator[Probe]:
    """Yield every constructor argument of every estimator, Gram and solver with values it may not have."""
    for cls in estimator_classes():
        known = inspect.signature(cls).parameters
        for parameters, expect in SETTINGS:
            if set(parameters) <= set(known):
                several = cls is mercer.SemiparametricLatentFactor and isinstance(parameters.get("kernel"), tuple)
                yield _setting(cls, parameters, EITHER if several else expect)  # it has a kernel for each factor
        shared = {name for parameters, _ in SETTINGS for name in parameters}
        for name in sorted(set(known) - shared):
            listed = known[name].default == ()  # an empty list is a way to say nothing
            for word, value, expect in VALUES:
                if (name, word) == ("restarts", "60"):  # a fair wish, which takes a minute
                    continue
                fair = (listed and isinstance(value, list)) or (name, word) in LEGITIMATE
                yield _setting(cls, {name: value}, EITHER if fair else expect, f"{name}={word}")
        # Grams and solvers check themselves, whoever calls them: one estimator of each family tells enough
        for spec in _parts_of(cls) if cls in FAMILIES else ():
            for name in spec.get_params(deep=False):
                for word, value, expect in VALUES:
                    if (name, word) == ("workers", "60"):  # a fair wish, which takes 15 GB and a minute
                        continue
                    role = "gram" if isinstance(spec, mercer.gram.GramSpec) else "solver"
                    told = f"{role}={type(spec).__name__}({name}={word})"
                    yield _setting(cls, {role: spec.replace(**{name: value})}, expect, told)


def _parts_of(cls: type) -> list[Spec]:
    """Return the Grams and solvers that an estimator takes, each as it comes."""
    known = inspect.signature(cls).parameters
    found = []
    for role, module in (("gram", mercer.gram), ("solver", mercer.solvers)):
        for name in module.__all__ if role in known else ():
            part = getattr(module, name)
            if inspect.isclass(part) and issubclass(part, Spec) and not inspect.isabstract(part):
                try:
                    found.append(part())
                except TypeError:
                    continue
    return found


def _setting(cls: type, parameters: dict[str, Any], expect: str, told: str = "") -> Probe:
    words = told or ", ".join(f"{name}={value!r}"[:60] for name, value in parameters.items())
    return Probe("settings", cls.__name__, words, expect, partial(_setting_calls, cls, parameters))


def _setting_calls(cls: type, parameters: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    task = _task(cls())

    def fit() -> Any:
        model = cls(**parameters).fit(task.X, task.y)
        return _outputs(model, task.X)

    return {"fit": fit}


# texts --------------------------------------------------------------------------------------------------

TEXTS = [
    *("", " ", "Gaussian", "Gaussian(", "Gaussian(1.0))", "Gaussian(1.0) +", "Gaussian(x=1)", "Gaussian(-1.0)"),
    *("Gaussian(1e999)", "Gaussian(nan)", "Nonsense(1.0)", "gaussian(1.0)", "Linear() - Linear()", "Linear() / 2"),
    *("-Linear()", "Linear() ** -1", "Linear() ** 1e9", "Linear().nonsense()", "__import__('os')", "1", "'a'", "[1]"),
    *("Linear() if 1 else Linear()", "lambda: 1", "Linear().on(", "Linear()\0", "Linear();Linear()", "Linear() + 'a'"),
    *("(" * 60 + "Linear()" + ")" * 60, "+".join(["Linear()"] * 400), "9" * 5000, "Linear().__class__", "é", "\ud800"),
]


def text_probes() -> Iterator[Probe]:
    """Yield texts and other things that describe no kernel."""
    for text in (*TEXTS, None, 3, b"Linear()", ["Linear()"], Ellipsis):
        yield Probe(
            "settings", "parse", ascii(text)[:40], REFUSE, lambda text=text: {"parse": lambda: mercer.parse(text)}
        )

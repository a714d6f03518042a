"""The bad-input matrix: every public estimator and kernel, met with every fault.

Subjects are found in ``mercer.__all__`` and ``mercer.kernels.__all__`` (the members of ENTRIES of the laws of
kernels), so that what is added there is probed from then on. A probe is a subject and a fault; its outcome is judged
by `tests.trust.judge`. ``python -m tests.trust.probes`` prints the scorecard; names of groups may be given.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

# isort: off
import tests.conftest  # noqa: F401  (threads and the cache of compiled code, before anything else is imported)

# isort: on
import numpy as np
from sklearn.base import is_classifier, is_regressor

import mercer
import mercer.gram
import mercer.kernels
import mercer.solvers
from mercer.domains import Frames, Pairs, Similarities, Strings, Vectors
from mercer.kernels import Kernel
from mercer.spec import Spec
from tests.laws.test_kernels import ENTRIES
from tests.trust import faults
from tests.trust.faults import Fault
from tests.trust.isolation import Finding, run_isolated
from tests.trust.judge import ACCEPT, EITHER, GOOD, REFUSE, TOLD, judge, same

SAMPLES = 40
K = mercer.kernels


@dataclass(frozen=True)
class Probe:
    """A subject, what is the matter, the right outcome, and the calls that show which it is."""

    group: str
    subject: str
    fault: str
    expect: str
    calls: Callable[[], dict[str, Callable[[], Any]]]

    def __call__(self) -> Finding:
        return judge(self.calls(), self.expect)


# kernels ------------------------------------------------------------------------------------------------


def enough(sample: Any, n: int = SAMPLES) -> Any:
    """Return n samples like a few given ones: between pairs of rows, or the same again and again."""
    if isinstance(sample, np.ndarray):
        rng = np.random.default_rng(5)
        first, second = rng.integers(0, len(sample), size=(2, n))
        share = rng.random((n, 1))
        return share * sample[first] + (1.0 - share) * sample[second]
    if isinstance(sample, dict):
        return {name: enough(list(column), n) for name, column in sample.items()}
    return [sample[i % len(sample)] for i in range(n)]


def gram(n: int = SAMPLES) -> Any:
    """Return a positive definite matrix of similarities."""
    X = np.random.default_rng(6).normal(size=(n, 3))
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=-1))


def _faults_of(kernel: Kernel, X: Any) -> tuple[list[Fault], list[Fault]]:
    """Return the faults for data of a kernel's domain, and those for a second collection."""
    packed = kernel.pack(X)
    if isinstance(packed, Similarities):
        return faults.GRAMS, []
    if isinstance(packed, Strings):
        return faults.STRINGS, []
    if isinstance(packed, Pairs):
        return (faults.COUPLES if isinstance(X[0][1], str) else faults.PAIRS), []
    if isinstance(packed, Vectors) or isinstance(X, np.ndarray):
        return faults.VECTORS, faults.SECOND
    return (faults.TABLES if isinstance(packed, Frames) else faults.OBJECTS), []


def _asks_user(kernel: Kernel) -> bool:
    """Tell whether the raw data go to a function of the user, which alone knows what it takes."""
    return any(hasattr(kernel, name) for name in ("transform", "function", "functions")) and not isinstance(
        kernel, K.RadialFunction
    )


CATEGORIES = {"sequences of letters", "number inside", "integers", "bytes among text", "dates"}


def _expected(kernel: Kernel, fault: Fault) -> str:
    legitimate = (
        _asks_user(kernel)
        or (isinstance(kernel, K.Selected) and fault.name == "more columns")
        or (isinstance(kernel, K.Match) and fault.name in CATEGORIES)  # any things that are equal or not
        or (isinstance(kernel, K.Precomputed) and fault.expect == TOLD)  # a matrix given is a matrix returned
    )
    return EITHER if legitimate else fault.expect


def kernel_probes() -> Iterator[Probe]:
    """Yield every kernel on every kind of data of its domain."""
    for name, entry in ENTRIES.items():
        kernel = entry.kernels[0]
        X = gram() if kernel.domain is Similarities else enough(entry.data.sample)
        first, second = _faults_of(kernel, X)
        group = "kernels" if isinstance(X, np.ndarray) and kernel.domain is not Similarities else "structures"
        for fault in first:
            calls = partial(_kernel_calls, kernel, X, fault)
            yield Probe(group, f"{name}: {kernel!r}", fault.name, _expected(kernel, fault), calls)
        for fault in second:
            calls = partial(_pair_calls, kernel, X, fault)
            yield Probe(group, f"{name}: {kernel!r}", f"Y {fault.name}", _expected(kernel, fault), calls)


def _kernel_calls(kernel: Kernel, X: Any, fault: Fault) -> dict[str, Callable[[], Any]]:
    def one() -> Any:
        matrix = kernel(fault.make(X), n_threads=1)
        same(matrix.T, matrix, 0.0, "symmetry")
        if "one row" in fault.name:  # a row that is far away does not change how the others compare
            others = np.delete(np.arange(len(X)), 1)
            alone = kernel(fault.make(X)[others], n_threads=1)
            same(matrix[np.ix_(others, others)], alone, 1e-4, "beside the one row")
        if fault.plain is not None and not _asks_user(kernel):
            same(matrix, kernel(fault.plain(X), n_threads=1), fault.slack, "against the usual form")
        return matrix

    def two() -> Any:
        return kernel(fault.make(X), fault.make(X), n_threads=1)

    def diagonal() -> Any:
        S = kernel.prepare(kernel.pack(fault.make(X)))
        diagonal = kernel.diag(S)
        same(diagonal, np.diagonal(kernel.block(S, S)), max(fault.slack, 1e-3), "against the diagonal of the matrix")
        return diagonal

    if fault in faults.GRAMS:  # without labels and solvers nobody asks for definiteness, or which samples are new
        return {"k(X)": one}
    return {"k(X)": one, "k(X, Y)": two, "diag": diagonal}


def _pair_calls(kernel: Kernel, X: Any, fault: Fault) -> dict[str, Callable[[], Any]]:
    def forth() -> Any:
        matrix = kernel(X, fault.make(X), n_threads=1)
        if fault.plain is not None:
            same(matrix, kernel(X, fault.plain(X), n_threads=1), fault.slack, "against the usual form")
        return matrix

    def back() -> Any:
        return kernel(fault.make(X), X, n_threads=1)

    return {"k(X, Y)": forth, "k(Y, X)": back}


# parameters ---------------------------------------------------------------------------------------------

VALUES: list[tuple[str, Any, str]] = [
    ("nan", float("nan"), REFUSE),
    ("inf", float("inf"), EITHER),
    ("0", 0, EITHER),
    ("-1.0", -1.0, EITHER),
    ("1e300", 1e300, EITHER),
    ("1e-300", 1e-300, EITHER),
    ("1e-320", 1e-320, EITHER),
    ("2.5", 2.5, EITHER),
    ("60", 60, EITHER),
    ("True", True, EITHER),
    ("10**400", 10**400, REFUSE),
    ("1j", 1j, REFUSE),
    ("'nonsense'", "nonsense", REFUSE),
    ("'median'", "median", EITHER),
    ("'1.0'", "1.0", EITHER),  # as a size in bytes it is one
    ("None", None, EITHER),
    ("[]", [], REFUSE),
    ("(1.0, 2.0)", (1.0, 2.0), EITHER),
    ("(nan,)", (float("nan"),), REFUSE),
    ("array", np.array([1.0, 0.0]), EITHER),
    ("a class", K.Gaussian, EITHER),
    ("a kernel", K.Gaussian(1.0), EITHER),
    ("a function of nothing", lambda: None, EITHER),
    ("a function that fails", lambda X: 1 / 0, EITHER),
    ("a function to None", lambda X: None, EITHER),
    ("a function to one number", lambda X: 1.0, EITHER),
    ("a function to NaN", lambda X: np.full(np.shape(X), np.nan), EITHER),
    ("a dict", {"a": 1}, REFUSE),
    ("an object", object(), REFUSE),
]


def parameter_probes() -> Iterator[Probe]:
    """Yield every constructor argument of every kernel with values that it may not have."""
    for entry in ENTRIES.values():
        kernel = entry.kernels[0]
        X = gram() if kernel.domain is Similarities else enough(entry.data.sample)
        for name in kernel.get_params(deep=False):
            for word, value, expect in VALUES:
                calls = partial(_parameter_calls, kernel, X, name, value)
                yield Probe("parameters", repr(kernel), f"{name}={word}", expect, calls)


def _parameter_calls(kernel: Kernel, X: Any, name: str, value: Any) -> dict[str, Callable[[], Any]]:
    def one() -> Any:
        changed = kernel.replace(**{name: value}).check()
        return changed.learn(changed.pack(X))(X, n_threads=1)

    return {"k(X)": one}


# estimators ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """Good data for an estimator."""

    X: Any
    y: Any
    weight: Any


METHODS = ("predict", "decision_function", "predict_proba", "score_samples", "transform")
Case = tuple[str, Callable[[], Any], Task]


def estimator_classes() -> list[type]:
    """Return the public estimators."""
    public = (getattr(mercer, name) for name in mercer.__all__)
    return [cls for cls in public if inspect.isclass(cls) and hasattr(cls, "fit")]


def _task(estimator: Any, X: Any = None) -> Task:
    plain = np.random.default_rng(7).normal(size=(SAMPLES, 3))
    y = np.sin(plain[:, 0]) + plain[:, 1] if is_regressor(estimator) else (plain[:, 0] > 0).astype(int)
    return Task(plain if X is None else X, y, np.ones(SAMPLES))


def _cases(kernels: Iterable[Any], X: Any = None) -> Iterator[Case]:
    """Yield every estimator with each of some kernels (None: as it comes), and good data."""
    for cls in estimator_classes():
        for kernel in kernels if "kernel" in inspect.signature(cls).parameters else (None,):
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
        for fault in faults.VECTORS:
            yield _fit_probe("estimators", subject, make, task, "X", fault)
        for fault in faults.SECOND:
            calls = partial(_predict_calls, make, task, fault)
            yield Probe("estimators", subject, f"new X {fault.name}", fault.expect, calls)
    for subject, make, task in _cases((None, K.Linear())):
        signature = inspect.signature(make.func.fit).parameters  # pyright: ignore[reportAttributeAccessIssue]
        if is_classifier(make()) or is_regressor(make()):
            for fault in faults.TARGETS:
                yield _fit_probe("estimators", subject, make, task, "y", fault)
        for fault in faults.WEIGHTS if "sample_weight" in signature else ():
            yield _fit_probe("estimators", subject, make, task, "weight", fault)


def structured_probes() -> Iterator[Probe]:
    """Yield every estimator on strings, pairs, tables and similarities."""
    for kernel, X, found in STRUCTURED:
        for subject, make, task in _cases((kernel,), X):
            for fault in found:
                yield _fit_probe("structures", subject, make, task, "X", fault)
                if fault.expect == REFUSE and fault not in faults.OBJECTS and found is not faults.GRAMS:
                    calls = partial(_predict_calls, make, task, fault)
                    yield Probe("structures", subject, f"new X {fault.name}", REFUSE, calls)


def _fit_probe(group: str, subject: str, make: Any, task: Task, which: str, fault: Fault) -> Probe:
    expect = fault.expect
    if which == "y" and is_classifier(make()) and fault.name in ("two columns", "times 1e-310", "zero", "constant"):
        expect = EITHER
    calls = partial(_fit_calls, make, task, which, fault)
    return Probe(group, subject, f"{which} {fault.name}", expect, calls)


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
        if fault.plain is not None and fault.expect == ACCEPT:
            for name, expected in fit(fault.plain).items():
                same(outputs[name], expected, max(fault.slack, 1e-6), f"{name} against the usual form")
        return outputs

    return {"fit": both}


def _predict_calls(make: Any, task: Task, fault: Fault) -> dict[str, Callable[[], Any]]:
    model = make().fit(task.X, task.y)

    def one(name: str) -> Any:
        method = getattr(model, name)
        result = method(fault.make(task.X))
        if fault.plain is not None:
            same(result, method(fault.plain(task.X)), max(fault.slack, 1e-6), "against the usual form")
        return result

    return {name: partial(one, name) for name in METHODS if hasattr(model, name)}


def _outputs(model: Any, X: Any) -> dict[str, Any]:
    return {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}


SETTINGS: list[tuple[dict[str, Any], str]] = [
    *(({"kernel": "rbf", "gamma": g}, EITHER) for g in (0, -1.0, 1e300, 1e-300, 1e-320, True, None)),
    *(({"kernel": "rbf", "gamma": g}, REFUSE) for g in (float("nan"), float("inf"), "nonsense", [], 10**400, 1j)),
    *(({"kernel": word, "gamma": g}, EITHER) for word in ("laplacian", "poly", "sigmoid") for g in (0, 1e300, 1e-300)),
    *(({"kernel": "poly", "degree": d}, EITHER) for d in (0, 1, 60, 10**6, -1)),
    *(({"kernel": "poly", "degree": d}, REFUSE) for d in (2.5, "3", float("nan"), [3], 10**400)),
    *(({"kernel": "poly", "coef0": c}, EITHER) for c in (0, -1.0, 1e300, True)),
    *(({"kernel": "poly", "coef0": c}, REFUSE) for c in (float("nan"), "1", None if False else "zero")),
    *(({"kernel": k}, REFUSE) for k in ("nonsense", "RBF", "", 3, 2.5, K.Gaussian, [], {}, object(), (K.Linear(),))),
    *(({"kernel": k}, REFUSE) for k in (K.Spectrum(3), K.Gaussian(-1.0), K.Gaussian("nonsense"), np.ones((3, 3)))),
    ({"kernel": len}, REFUSE),
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


def setting_probes() -> Iterator[Probe]:
    """Yield every constructor argument of every estimator, Gram and solver with values it may not have."""
    for cls in estimator_classes():
        known = inspect.signature(cls).parameters
        for parameters, expect in SETTINGS:
            if set(parameters) <= set(known):
                yield _setting(cls, parameters, expect)
        shared = {name for parameters, _ in SETTINGS for name in parameters}
        for name in set(known) - shared:
            yield from (_setting(cls, {name: value}, expect) for _, value, expect in VALUES)
        for spec in _parts_of(cls):
            for name in spec.get_params(deep=False):
                for _, value, expect in VALUES:
                    role = "gram" if isinstance(spec, mercer.gram.GramSpec) else "solver"
                    yield _setting(cls, {role: spec.replace(**{name: value})}, expect)


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


def _setting(cls: type, parameters: dict[str, Any], expect: str) -> Probe:
    words = ", ".join(f"{name}={value!r}"[:60] for name, value in parameters.items())
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
    for text in (*TEXTS, None, 3, b"Linear()", ["Linear()"], object()):
        yield Probe(
            "settings", "parse", ascii(text)[:40], REFUSE, lambda text=text: {"parse": lambda: mercer.parse(text)}
        )


# the run ------------------------------------------------------------------------------------------------

GROUPS: dict[str, tuple[Callable[[], Iterator[Probe]], ...]] = {
    "kernels": (kernel_probes,),
    "parameters": (parameter_probes,),
    "estimators": (estimator_probes,),
    "structures": (structured_probes, kernel_probes),
    "settings": (setting_probes, text_probes),
}


def all_probes(groups: Iterable[str] = GROUPS) -> list[Probe]:
    """Return the probes of some groups."""
    return [probe for group in groups for source in GROUPS[group] for probe in source() if probe.group == group]


def warm_up() -> None:
    """Run everything once on good data, so that what is compiled is compiled before the worker is forked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in ENTRIES.values():
            X = entry.data.sample
            entry.kernels[0](X, n_threads=1)
            if isinstance(X, np.ndarray):
                entry.kernels[0](X.astype(np.float32), n_threads=1)


@dataclass(frozen=True)
class Scorecard:
    """What came of a run of probes."""

    probes: list[Probe]
    findings: list[Finding]
    seconds: float

    @property
    def bad(self) -> list[tuple[Probe, Finding]]:
        """The probes with a bad outcome."""
        return [(p, f) for p, f in zip(self.probes, self.findings, strict=True) if f.verdict not in GOOD]

    def counts(self) -> Counter[str]:
        """Return how often each verdict was given."""
        return Counter(finding.verdict for finding in self.findings)

    def __str__(self) -> str:
        counts = self.counts()
        good = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("finite", "warned", "refused"))
        kinds = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common() if verdict not in GOOD)
        lines = [f"{len(self.probes)} probes in {self.seconds:.0f} s: {good}; bad: {kinds or 'none'}"]
        lines += [
            f"  {f.verdict:<12} {p.subject[:60]} | {p.fault} ({p.expect})\n               {' '.join(f.detail[:600].split())}"
            for p, f in self.bad
        ]
        return "\n".join(lines)


def score(groups: Iterable[str] = GROUPS) -> Scorecard:
    """Run the probes of some groups, each isolated."""
    began = time.monotonic()
    probes = all_probes(groups)
    warm_up()
    findings = run_isolated(probes)
    return Scorecard(probes, findings, time.monotonic() - began)


def main() -> int:
    """Print the scorecard; the exit status tells whether there was a bad outcome."""
    parser = argparse.ArgumentParser(prog="python -m tests.trust.probes", description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], help=f"out of {', '.join(GROUPS)}; all by default")
    parser.add_argument("--json", action="store_true", help="numbers for a program")
    options = parser.parse_args()
    card = score(options.groups or GROUPS)
    if options.json:
        bad = [[p.group, p.subject, p.fault, f.verdict, f.detail] for p, f in card.bad]
        print(json.dumps({"probes": len(card.probes), "counts": card.counts(), "seconds": card.seconds, "bad": bad}))
    else:
        print(card)
    return 1 if card.bad else 0


if __name__ == "__main__":
    sys.exit(main())

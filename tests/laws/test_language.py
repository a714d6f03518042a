"""Laws of the language on mercer's own classes, and a fuzz: a text gives an object or a ParameterError."""

import importlib
import inspect
import pickle
import sys
from collections import Counter
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from mercer import estimators, kernels
from mercer.errors import ParameterError
from mercer.free_parameters import bounds, constrained, free_names, free_values, unconstrain, with_free
from mercer.kernels import Gaussian, Linear, Matern, Polynomial
from mercer.language import METHODS, PACKAGES, _registry, parse

MORE = settings(max_examples=8 * settings.default.max_examples)
FUZZ = settings(max_examples=10 * settings.default.max_examples)

# kernels as a user writes them: by operators and methods -----------------------------------------------

scales = st.floats(min_value=1e-3, max_value=1e3)
columns = st.one_of(
    st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True),
    st.lists(st.text(max_size=8), min_size=1, max_size=3, unique=True),
    st.text(max_size=8),
)
leaves = st.one_of(
    st.builds(Linear),
    st.builds(Polynomial, degree=st.integers(1, 5), offset=scales),
    st.builds(Gaussian),
    st.builds(Gaussian, scales | st.just("median") | st.lists(scales, min_size=1, max_size=3).map(tuple)),
    st.builds(Gaussian, st.lists(scales, min_size=1, max_size=3).map(np.array)),
    st.builds(Matern, st.sampled_from([0.5, 1.5, 2.5]), length_scale=scales),
)


def combined(inner):
    return st.one_of(
        st.builds(lambda k, other: k + other, inner, inner),
        st.builds(lambda k, other: k * other, inner, inner),
        st.builds(lambda a, k: a * k, scales, inner),
        st.builds(lambda k, a: k + a, inner, scales),
        st.builds(lambda k, n: k**n, inner, st.integers(1, 5)),
        st.builds(lambda k: k.exp(), inner),
        st.builds(lambda k: k.normalized(), inner),
        st.builds(lambda k, c: k.on(c), inner, columns),
        st.builds(lambda k, other: k.tensor(other), inner, inner),
        st.builds(lambda k, other: k.direct_sum(other), inner, inner),
    )


expressions = st.recursive(leaves, combined, max_leaves=8)


@MORE
@given(expressions)
def test_parse_reads_what_repr_prints(kernel):
    again = parse(repr(kernel))
    assert again == kernel
    assert repr(again) == repr(kernel)


@MORE
@given(expressions)
def test_python_reads_it_the_same_way(kernel):
    names = {name: getattr(kernels, name) for name in kernels.__all__}
    assert eval(repr(kernel), {"__builtins__": {}, **names}) == parse(repr(kernel))


@given(expressions)
def test_clone_and_pickle_keep_a_kernel(kernel):
    assert clone(kernel) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel


@given(expressions)
def test_params_go_out_and_come_in(kernel):
    params = kernel.get_params()
    assert kernel.replace(**params) == kernel
    for name in params:
        assert kernel.replace(**{name: params[name]}) == kernel


@given(expressions)
def test_free_parameters_go_out_and_come_in(kernel):
    names, values = free_names(kernel), free_values(kernel)
    assert len(names) == len(set(names)) == len(values) == len(bounds(kernel))
    assert with_free(kernel, values) == kernel
    again = constrained(kernel, unconstrain(kernel))
    np.testing.assert_allclose(free_values(again), values, rtol=1e-12)
    flat = kernel.get_params()
    assert all(name.partition("[")[0] in flat for name in names)


# the list of names --------------------------------------------------------------------------------------


def public_classes():
    for package in PACKAGES:
        if find_spec(f"mercer.{package}") is not None:
            module = importlib.import_module(f"mercer.{package}")
            for name in getattr(module, "__all__", ()):
                if isinstance(getattr(module, name), type):
                    yield name, getattr(module, name)


def test_no_two_classes_share_a_name():
    counts = Counter(name for name, _ in public_classes())
    assert not [name for name, count in counts.items() if count > 1]


def has_defaults(cls):
    """Whether an object can be made without arguments."""
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return all(parameter.default is not parameter.empty for parameter in parameters)


@pytest.mark.parametrize("name", sorted(name for name, cls in _registry().items() if has_defaults(cls)))
def test_a_class_at_its_defaults_comes_back(name):
    cls = _registry()[name]
    made = cls()
    again = parse(f"{name}()")
    assert type(again) is cls
    assert repr(again) == repr(made)
    assert type(parse(repr(made))) is cls


def test_base_classes_and_functions_are_not_listed():
    assert not {"Kernel", "GramSpec", "Loss", "Solver", "Expansion", "add", "parse"} & set(_registry())


# fuzz: an object or a ParameterError, and nothing else happens --------------------------------------------

FORBIDDEN = (
    "import",
    "open",
    "exec",
    "compile",
    "marshal.",
    "pickle.",
    "os.",
    "subprocess.",
    "socket.",
    "ctypes.",
)
_events: list[str] | None = None


def _listen(event, _arguments):
    if _events is not None and event.startswith(FORBIDDEN):
        _events.append(event)


sys.addaudithook(_listen)  # cannot be taken back; it hears nothing while _events is None


def attempt(text):
    """Parse a text, listening to what the interpreter does meanwhile."""
    global _events
    list(_registry())  # imports the classes that there are
    _events = []
    try:
        made = parse(text)
    except ParameterError as error:
        made = None
        assert str(error)
    finally:
        events, _events = _events, None
    assert not events, f"{events} while reading {text!r}"
    assert made is None or type(made) in _registry().values()
    return made


def test_the_listener_listens():
    global _events
    _events = []
    try:
        exec("import os")
    finally:
        events, _events = _events, None
    assert {"compile", "exec"} <= set(events)


@FUZZ
@given(st.text(max_size=200))
@example("")
@example("__import__('os').system('true')")
@example("eval('1')")
@example("Gaussian.__init__.__globals__")
@example("Gaussian(1.0).__class__.__bases__[0].__subclasses__()")
@example("Gaussian(open('x'))")
@example("Linear().of(print)")
@example("(" * 4096)
@example("9" * 4096)
@example("9**" * 1000 + "9")
@example("Gaussian(" * 400)
@example("-" * 4096)
@example("Gaussian()" + ".exp()" * 600)
@example("'" + "\\" * 4000 + "'")
def test_random_texts(text):
    attempt(text)


pieces = st.sampled_from(
    [
        *(
            "Gaussian",
            "Linear",
            "Polynomial",
            "Sum",
            "Product",
            "Scaled",
            "Power",
            "Normalized",
            "Selected",
            "Tiles",
        ),
        *(
            "Composed",
            "RankOne",
            "Constant",
            "Matern",
            "length_scale",
            "degree",
            "kernel",
            "terms",
            "columns",
            "of",
        ),
        *(f".{method}" for method in METHODS),
        *("(", ")", "[", "]", ",", "=", ".", "+", "-", "*", "**", "()", "(1)", " ", "\n", "'", '"', "\\"),
        *(
            "0",
            "1",
            "2.5",
            "1e3",
            "-1",
            "inf",
            "nan",
            "None",
            "True",
            "False",
            "'a'",
            "'median'",
            "(1.0, 2.0)",
            "_",
        ),
        *(
            "eval",
            "exec",
            "open",
            "import",
            "__import__",
            "__class__",
            "lambda",
            "{",
            "}",
            ":",
            ";",
            "@",
            "#",
            "\0",
        ),
    ]
)


@FUZZ
@given(st.lists(pieces, max_size=30).map("".join))
def test_random_pieces_of_the_language(text):
    attempt(text)


@st.composite
def mutated(draw):
    """The text of a kernel with a few pieces cut out, doubled, put in or exchanged."""
    text = repr(draw(expressions))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 6)))
        new = draw(st.one_of(st.just(""), pieces, st.characters(), st.just(text[start:stop] * 2)))
        text = text[:start] + new + text[stop:]
    return text


@FUZZ
@given(mutated())
def test_mutated_expressions(text):
    made = attempt(text)
    if made is not None:
        assert parse(repr(made)) == made


@given(st.integers(1, 220), st.sampled_from(["+", "*"]))
def test_long_chains_are_read_or_refused(count, sign):
    text = f" {sign} ".join(["Linear()"] * count)
    assert (attempt(text) is not None) == (2 * count - 1 <= 200)


@pytest.mark.parametrize("name", [n for n in estimators.__all__ if hasattr(getattr(estimators, n), "fit")])
def test_every_estimator_is_in_the_language(name):
    member = getattr(estimators, name)
    known = inspect.signature(member).parameters
    text = f"{name}(Gaussian(1.0))" if "kernel" in known else f"{name}()"
    model = parse(text)
    assert type(model) is member and repr(parse(repr(model))) == repr(model)
    for option, value in (("C", 10), ("nu", 0.25), ("alpha", 0.5)):
        if option in known:
            assert getattr(parse(f"{name}({option}={value})"), option) == value


def test_options_of_support_vector_machines():
    model = parse("SVC(Gaussian(1.0), C=inf, multi_class='ovr', class_weight='balanced', solver=SMO(tol=1e-05))")
    assert (model.C, model.multi_class, model.class_weight) == (float("inf"), "ovr", "balanced")
    assert repr(parse(repr(model))) == repr(model)
    assert parse("QuantileSVR(Gaussian(1.0), quantiles=(0.1, 0.9))").quantiles == (0.1, 0.9)

"""The language on toy classes: grammar, limits, messages, the list of names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from mercer import language
from mercer.constraints import AnyOf, Integer, OneOf, Positive
from mercer.errors import CapabilityError, ParameterError
from mercer.language import parse
from mercer.spec import Spec


class Toy(Spec):
    """An algebra that builds one node per sign, so that a tree shows how a text was read."""

    def __add__(self, other):
        return Plus(self, other)

    def __radd__(self, other):
        return Plus(other, self)

    def __mul__(self, other):
        return Times(self, other)

    def __rmul__(self, other):
        return Times(other, self)

    def __pow__(self, other):
        return To(self, other).check()

    def normalized(self):
        return Unit(self)

    def on(self, columns):
        return Part(self, columns)

    def exp(self):
        raise CapabilityError("no exponential today")

    def secret(self):
        raise AssertionError("reached")


class Leaf(Toy):
    constraints = {"width": AnyOf(Positive(vector=True, words=("median",)), OneOf(float("inf")))}

    def __init__(self, width=1.0):
        self.width = width


class Any(Toy):
    def __init__(self, value, *, label=None):
        self.value = value
        self.label = label


class Plus(Toy):
    def __init__(self, left, right):
        self.left, self.right = left, right


class Times(Plus):
    pass


class To(Toy):
    constraints = {"exponent": Integer(1)}

    def __init__(self, base, exponent):
        self.base, self.exponent = base, exponent


class Unit(Toy):
    def __init__(self, inner):
        self.inner = inner


class Part(Toy):
    def __init__(self, inner, columns):
        self.inner, self.columns = inner, columns


class Model(BaseEstimator):
    def __init__(self, kernel=None, *, C=1.0):
        self.kernel, self.C = kernel, C


NAMES = {cls.__name__: cls for cls in (Leaf, Any, Plus, Times, To, Unit, Part, Model)}
a, b, c = Leaf(1.0), Leaf(2.0), Leaf(3.0)


def read(text):
    return language._parse(text, NAMES)


def refusal(text):
    with pytest.raises(ParameterError) as error:
        read(text)
    return str(error.value)


# grammar ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("Leaf()", a),
        (" Leaf ( 2.0 )\n", b),
        ("Leaf(width=2)", b),
        ("Leaf(2.0,)", b),
        ("(Leaf(2.0))", b),
        ("Leaf(1) + Leaf(2)", Plus(a, b)),
        ("Leaf(1) + Leaf(2) + Leaf(3)", Plus(Plus(a, b), c)),
        ("Leaf(1) + (Leaf(2) + Leaf(3))", Plus(a, Plus(b, c))),
        ("Leaf(1) + Leaf(2) * Leaf(3)", Plus(a, Times(b, c))),
        ("(Leaf(1) + Leaf(2)) * Leaf(3)", Times(Plus(a, b), c)),
        ("0.5 * Leaf(1) + Leaf(2)", Plus(Times(0.5, a), b)),
        ("Leaf(1) * -2", Times(a, -2)),
        ("-0.5 * Leaf(1)", Times(-0.5, a)),
        ("Leaf(1) + 2.0", Plus(a, 2.0)),
        ("2 * Leaf(1) ** 3", Times(2, To(a, 3))),
        ("Leaf(1) ** +3", To(a, 3)),
        ("Leaf(1) ** 2 * Leaf(2)", Times(To(a, 2), b)),
        ("Leaf(1).normalized() ** 2", To(Unit(a), 2)),
        ("Leaf(1) + Leaf(2).normalized()", Plus(a, Unit(b))),
        ("(Leaf(1) + Leaf(2)).normalized().normalized()", Unit(Unit(Plus(a, b)))),
        ("Leaf(1).on(['age', \"income\"])", Part(a, ["age", "income"])),
        ("Leaf(1).on(columns=(0, 2))", Part(a, (0, 2))),
        ("Any(Leaf(1) + Leaf(2), label='x')", Any(Plus(a, b), label="x")),
        ("Any((Leaf(1), Leaf(2)))", Any((a, b))),
    ],
)
def test_expressions(text, spec):
    assert read(text) == spec


@pytest.mark.parametrize(
    "value",
    [
        *(0, 1, -1, 12345678901234567890, 0.1, -2.5, 1e-300, 1.7976931348623157e308, 5e-324, -0.0),
        *(float("inf"), float("-inf"), None, True, False),
        *((), (1,), (1, 2.5), (1, (2, (3,))), [], [1], [[1], ("a", None)], ["age", "income"]),
        *(
            "",
            "a",
            "it's",
            'say "x"',
            "'\"",
            "\\",
            "\n\t\r\0\x7f",
            "é",
            "日本",
            "\ud800",
            "\U0001f600",
            "\x85",
        ),
    ],
)
def test_values_come_back_from_their_repr(value):
    again = read(f"Any({value!r})").value
    assert again == value
    assert type(again) is type(value)
    assert repr(again) == repr(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.", 1.0), (".5", 0.5), ("2_000", 2000), ("1E+3", 1000.0), ("1_0.2_5e-1", 1.025), ("007", 7)],
)
def test_numbers_written_otherwise(text, value):
    assert read(f"Any({text})").value == value


def test_an_estimator_is_an_object_too():
    model = read("Model(0.5 * Leaf(1), C=10)")
    assert type(model) is Model
    assert model.kernel == Times(0.5, a)
    assert model.C == 10


def test_an_estimator_comes_back_from_the_repr_that_scikit_learn_breaks_into_lines():
    model = Model(Any([1.5] * 30, label="a label of some length") + Unit(Any(tuple("abcdef"))), C=10)
    text = repr(model)
    assert "\n" in text
    assert read(text).get_params() == model.get_params()


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple), max_leaves=20
)


@given(values, st.text(max_size=10))
def test_any_value_comes_back_from_the_repr_of_a_spec(value, label):
    spec = Any(value, label=label)
    assert read(repr(spec)) == spec


# what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "()", "3", "'Leaf()'", "None", "[Leaf()]", "(Leaf(),)", "-inf"),
        *(
            "Leaf",
            "leaf()",
            "Leaf(",
            "Leaf)",
            "Leaf()Leaf()",
            "Leaf(1 2)",
            "Leaf(1,,2)",
            "Leaf(,)",
            "(,)",
            "(",
            ")",
        ),
        *(
            "Leaf() +",
            "+ Leaf()",
            "-Leaf()",
            "Leaf() - Leaf()",
            "Leaf() / 2",
            "Leaf() // 2",
            "Leaf() % 2",
            "~Leaf()",
        ),
        *(
            "Leaf() @ Leaf()",
            "Leaf() < Leaf()",
            "not Leaf()",
            "Leaf() if True else Leaf()",
            "lambda: 1",
            "x := 1",
        ),
        *("2 * 3 * Leaf()", "2 ** 3", "Leaf() ** 2 ** 2", "Leaf() + None", "Leaf() * True", "'a' * Leaf()"),
        *(
            "Leaf() ** 2.5",
            "Leaf() ** -1",
            "Leaf() ** Leaf()",
            "[1] * Leaf()",
            "Model() + Leaf()",
            "Model() + Model()",
        ),
        *(
            "Any(-True)",
            "Any(-'a')",
            "Any(-None)",
            "Any(1 + 1)",
            "Any(nan)",
            "Any(1j)",
            "Any(1e999)",
            "Any(0x10)",
        ),
        *(
            "Any(1__0)",
            "Any(_1)",
            "Any(1_)",
            "Any('a' 'b')",
            "Any(b'a')",
            "Any(f'a')",
            "Any({})",
            "Any({'a': 1})",
        ),
        *(
            "Any('a)",
            "Any('a\nb')",
            "Any('\\q')",
            "Any('\\x1')",
            "Any('\\U00110000')",
            "Any(...)",
            "Any(*[1])",
        ),
        *(
            "Any(1, label=2, label=3)",
            "Any(label=2, 1)",
            "Any(1, value=2)",
            "Any()",
            "Any(1, 2)",
            "Any(1, lable=2)",
        ),
        *(
            "Leaf().secret()",
            "Leaf().width",
            "Leaf().__class__",
            "Leaf().__init__()",
            "Leaf().on",
            "Leaf().exp()",
        ),
        *(
            "Leaf().on()",
            "Leaf().normalized(1)",
            "Leaf().tensor(Leaf())",
            "Model().normalized()",
            "1.0.normalized()",
        ),
        *(
            "Leaf.on()",
            "Leaf(1)(2)",
            "Leaf()[0]",
            "'a'.on()",
            "Leaf(1)\x00",
            "Leaf(1);Leaf(2)",
            "Leaf(1)#",
            "Leaf(１)",
        ),
        *(
            "__import__('os')",
            "eval('1')",
            "open('x')",
            "print(1)",
            "Spec()",
            "type(1)",
            "object()",
            "mercer.Leaf()",
        ),
        *("Leaf(width=0)", "Leaf(width='mean')", "Leaf(True)", "Leaf(-inf)", "Any(Leaf(-1))"),
    ],
)
def test_everything_else_is_refused(text):
    message = refusal(text)
    assert message.splitlines()[-1].strip() == "^"


@pytest.mark.parametrize(
    ("text", "parts", "column"),
    [
        ("0.5 * Laef(1)", ["'Laef' was found", "classes of mercer.kernels", "Did you mean Leaf?"], 6),
        ("Leaf() + Zzz()", ["'Zzz' was found", "names={...}"], 9),
        ("Any(1) + Leaf(widht=1)", ["Leaf was given an argument 'widht'", "width", "Did you mean width?"], 9),
        (
            "Any(label=1)",
            ["missing a required argument: 'value'", "value, label", "Write Any(value, label)."],
            0,
        ),
        (
            "Leaf() + Leaf(-1)",
            ["Leaf was given width=-1", "must be a finite number > 0", "Try width=1.0."],
            9,
        ),
        ("Leaf() - Leaf()", ["'-' was found", "+, *, **", "not subtracted"], 7),
        ("Leaf() / 2", ["'/' was found", "0.5 * k"], 7),
        ("Leaf(1", ["The end of the text was found", "',' or ')'"], 6),
        ("Leaf", ["'(' after Leaf", "quotes"], 4),
        ("Leaf().normalised()", ["'normalised' was found", ".normalized()", "Did you mean normalized?"], 7),
        ("Leaf().exp()", ["no exponential today"], 7),
        ("Leaf() ** 2.5", ["To was given exponent=2.5", "an integer >= 1"], 7),
        ("2 * 3", ["int * int was found", "number * kernel", "Write one of these."], 2),
        ("'Leaf", ["A string without an end", "Close the quotes."], 0),
        ("Any(12ab)", ["A number that is not one"], 4),
        ("Any('a\\q')", ["\\q was found", "\\xhh"], 6),
        ("Any(1e999)", ["beyond the largest", "Write inf"], 4),
    ],
)
def test_messages_tell_what_where_and_what_to_do(text, parts, column):
    message = refusal(text)
    for part in parts:
        assert part in message
    line, caret = message.splitlines()[-2:]
    assert line == f"    {text}"
    assert caret.index("^") == 4 + column


def test_the_mark_shows_the_surroundings_of_a_long_text():
    text = f"Any([{', '.join(['1'] * 60)}, @, {', '.join(['2'] * 60)}])"
    line, caret = refusal(text).splitlines()[-2:]
    assert len(line) <= 104
    assert line[caret.index("^")] == "@"


def test_an_error_of_a_constructor_is_kept_as_the_cause():
    with pytest.raises(ParameterError) as error:
        read("Leaf().exp()")
    assert isinstance(error.value.__cause__, CapabilityError)


@pytest.mark.parametrize("text", [None, 3, b"Leaf()", Leaf()])
def test_only_strings_are_read(text):
    with pytest.raises(ParameterError, match="it reads a string"):
        read(text)


# limits -----------------------------------------------------------------------------------------------


def test_length_is_looked_at_first():
    assert read("Leaf()" + " " * (4096 - 6)) == a
    with pytest.raises(ParameterError, match="4097 characters was given; at most 4096"):
        read("@" * 4097)


def test_number_of_nodes():
    assert read(" + ".join(["Leaf()"] * 100)).right == a
    assert len(read(f"Any([{'1,' * 198}])").value) == 198
    assert "at most 200" in refusal(" + ".join(["Leaf()"] * 101))
    assert "at most 200" in refusal(f"Any([{'1,' * 199}])")


@pytest.mark.parametrize(
    ("text", "deepest"),
    [
        (lambda n: "(" * n + "Leaf(1" + ")" * (n + 1), 49),
        (lambda n: "Any(" * n + "1" + ")" * n, 50),
        (lambda n: "Any(" + "[" * n + "]" * n + ")", 49),
        (lambda n: "Leaf()" + ".normalized()" * n, 50),
        (lambda n: "Any(" + "-" * n + "1)", 49),
    ],
    ids=["parentheses", "calls", "lists", "methods", "signs"],
)
def test_depth(text, deepest):
    assert isinstance(read(text(deepest)), Toy)
    assert "at most 50" in refusal(text(deepest + 1))


def test_nothing_is_made_before_the_whole_text_is_understood():
    class Loud(Spec):
        def __init__(self):
            raise AssertionError("made")

    with pytest.raises(ParameterError, match="The end of the text"):
        language._parse("Loud() + Loud(", {"Loud": Loud})


def test_a_huge_integer_is_refused_whatever_python_is_set_to():
    assert "beyond the largest" in refusal(f"Any({'9' * 3000})")


# names ------------------------------------------------------------------------------------------------


def test_own_classes_are_given_by_names(monkeypatch):
    monkeypatch.setattr(language, "_registry", lambda: {"Leaf": Leaf})
    assert parse("Leaf() + Mine(3)", names={"Mine": Any}) == Plus(a, Any(3))
    assert parse("Leaf(3)", names={"Leaf": Any}) == Any(3)
    with pytest.raises(ParameterError, match="'Mine'"):
        parse("Mine(3)")


@pytest.mark.parametrize("member", [len, Leaf(), "Leaf", None])
def test_names_maps_to_classes(member):
    with pytest.raises(ParameterError, match="Give the class itself"):
        parse("X()", names={"X": member})


def test_a_class_without_a_signature_is_refused():
    with pytest.raises(ParameterError):
        language._parse("type(1)", {"type": type})

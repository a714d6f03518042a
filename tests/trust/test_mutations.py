"""Changes of a source: each is another program, and nothing else is changed."""

import ast
import os
import signal

from tests.trust import mutations
from tests.trust.core_files import PARTS, SOURCE, unit_test

TEXT = '''
"""A source."""

LIMIT = 3


def checked(limit: int = 1):
    def inner(value):
        if value > limit and not value == 7:
            raise ValueError(f"{value + 1} is too much")
        return value + 1

    return inner


one = checked()
'''


def made():
    place = {}
    exec(compile(TEXT, "a_source.py", "exec"), place)
    return place["one"]


def outcome(function, value):
    try:
        return function(value)
    except ValueError:
        return "refused"


def test_every_change_of_a_function_is_put_in_place():
    found = mutations.changes("a_source.py", TEXT)
    pairs = {(change.before, change.after) for change in found}
    assert pairs == {
        ("value > limit", "value >= limit"),
        ("value > limit and (not value == 7)", "value > limit or not value == 7"),
        ("value > limit and (not value == 7)", "False and (value > limit and (not value == 7))"),
        ("not value == 7", "value == 7"),
        ("value == 7", "value != 7"),
        ("7", "8"),
        ("value + 1", "value - 1"),
        ("1", "2"),
    }
    plain = [outcome(made(), value) for value in (0, 1, 2, 7, 8)]
    assert plain == [1, 2, "refused", 8, "refused"]
    for change in found:
        function = made()
        assert mutations.put_in(mutations.changed(TEXT, change, "a_source.py"), [function]) == 1
        assert [outcome(function, value) for value in (0, 1, 2, 7, 8)] != plain, change


def test_functions_of_a_file_are_found():
    path = str(SOURCE / "sparse_checks.py")
    names = {function.__name__ for function in mutations.functions_of(path)}
    tree = ast.parse((SOURCE / "sparse_checks.py").read_text(encoding="utf-8"))
    assert {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} <= names


def test_every_file_has_its_tests():
    assert all(unit_test(file).exists() for files in PARTS.values() for file in files)


def test_a_child_tells_how_it_ended():
    assert mutations._in_child(1.0, lambda pipe: 0)[0] == 0
    assert mutations._in_child(1.0, lambda pipe: 1)[0] != 0
    assert mutations._in_child(1.0, lambda pipe: os.kill(os.getpid(), signal.SIGXCPU))[0] == signal.SIGXCPU

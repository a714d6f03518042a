"""What the unit test of a class declares for tests that go over all classes."""

import importlib


def unit_test_of(cls):
    """The name of the module that tests the module of a class."""
    *folders, name = cls.__module__.split(".")[1:]
    return ".".join(["tests", "unit", *folders, f"test_{name}"])


def declared(cls, name):
    """What the unit test of a class has for it in one of its dictionaries; None if there is nothing."""
    try:
        module = importlib.import_module(unit_test_of(cls))
    except ModuleNotFoundError:
        return None
    return getattr(module, name, {}).get(cls.__name__)

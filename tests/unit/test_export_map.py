"""The map of exports is what its script makes of the modules."""

import importlib

import pytest

from docs import make_exports
from docs.pages import outdated
from mercer.export_map import EXPORTS, SAVED


def test_it_is_up_to_date_and_so_are_the_stubs():
    assert not outdated(make_exports.pages()), "run: python -m docs.make_exports"


def test_no_stub_is_left_of_a_package_that_is_none():
    stubs = {path for path in make_exports.pages() if path.suffix == ".pyi"}
    assert {*(make_exports.SOURCE / "mercer").rglob("*.pyi")} == stubs


def test_a_public_class_says_so_where_it_is_defined():
    for homes in EXPORTS.values():
        for home, names in homes.items():
            module = importlib.import_module(home)
            classes = [getattr(module, name) for name in names if isinstance(getattr(module, name), type)]
            assert [cls.__module__ for cls in classes] == [home] * len(classes)


def test_what_is_saved_exists():
    for home, names in SAVED.items():
        assert all(hasattr(importlib.import_module(home), name) for name in names)


def test_a_name_of_two_modules_is_refused():
    text = '__all__ = ["Same"]\n__public__ = __all__'
    twice = {"mercer.estimators.one": text, "mercer.estimators.two": text}
    with pytest.raises(AssertionError, match="Same"):
        make_exports.exports(twice)


def test_records_beside_public_names_are_found():
    source = '__public__ = ["K"]\n@dataclass(frozen=True)\nclass R: ...\n@dataclass\nclass _H: ...\nclass K: ...'
    assert make_exports.saved({"mercer.kernels.k": source}) == {"mercer.kernels.k": ["R"]}
    assert make_exports.saved({"mercer.io.k": source}) == {}

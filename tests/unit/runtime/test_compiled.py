"""The decorator, where its cache goes, and the count of forks."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from numba.core import config

from mercer.runtime import compiled as module
from mercer.runtime.compiled import compiled

posix = pytest.mark.skipif(os.name != "posix", reason="modes and forks are those of POSIX")


@compiled
def _divide(x, y):
    return x / y


@compiled(fastmath={"contract", "reassoc"})
def _total(x):
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return total


def test_division_by_zero_is_ieee_and_not_an_exception():
    assert _divide(1.0, 0.0) == np.inf
    assert np.isnan(_divide(0.0, 0.0))


def test_the_python_original_is_kept():
    assert _divide.py_func(1.0, 4.0) == 0.25
    assert _total.py_func(np.arange(4.0)) == _total(np.arange(4.0)) == 6.0


@pytest.mark.parametrize(("function", "flags"), [(_divide, set()), (_total, {"contract", "reassoc"})])
def test_options(function, flags):
    options = function.targetoptions
    assert options["nogil"] and options["error_model"] == "numpy"
    assert "parallel" not in options or not options["parallel"]
    assert set(options["fastmath"] or ()) == flags


@pytest.mark.parametrize("flag", ["fast", "nnan", "ninf", "nsz", "arcp", "afn"])
def test_flags_that_assume_away_numbers_are_refused(flag):
    with pytest.raises(ValueError, match="only 'contract' and 'reassoc' are accepted"):
        compiled(fastmath={flag})


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A folder of sources and an empty cache home, with no wish of the user's."""
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    source = tmp_path / "source"
    source.mkdir(mode=0o755)
    module._cache_folder.cache_clear()
    yield source, tmp_path / "home" / "mercer" / "numba"
    module._cache_folder.cache_clear()


def test_a_private_folder_keeps_the_cache_beside_the_source(places):
    source, home = places
    assert module._cache_folder(str(source)) == ""
    assert not home.exists()


@posix
@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_a_shared_folder_sends_the_cache_to_the_user(places, mode):
    source, home = places
    source.chmod(mode)
    assert module._cache_folder(str(source)) == str(home)
    assert home.stat().st_mode & 0o777 == 0o700


@posix
def test_a_shared_cache_folder_within_a_private_one_is_not_trusted(places):
    source, home = places
    (source / "__pycache__").mkdir()
    (source / "__pycache__").chmod(0o777)
    assert module._cache_folder(str(source)) == str(home)


def test_a_folder_without_write_permission_sends_the_cache_to_the_user(places, monkeypatch):
    source, home = places
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != source)
    assert module._cache_folder(str(source)) == str(home)


def test_a_missing_folder_is_not_trusted(places):
    source, home = places
    assert module._cache_folder(str(source / "none")) == str(home)


@posix
def test_the_users_folder_is_made_private_again(places):
    source, home = places
    home.mkdir(parents=True)
    home.chmod(0o777)
    source.chmod(0o777)
    assert module._cache_folder(str(source)) == str(home)
    assert home.stat().st_mode & 0o777 == 0o700


@posix
def test_without_any_safe_place_there_is_no_cache(places, monkeypatch):
    source, _ = places
    source.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert module._cache_folder(str(source)) is None


def test_code_without_a_file_is_compiled_without_a_cache():
    space = {}
    exec("def double(x):\n    return 2 * x", space)
    assert compiled(space["double"])(2) == 4


@posix
def test_a_relative_cache_home_is_ignored(places, monkeypatch, tmp_path):
    source, _ = places
    source.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert module._cache_folder(str(source)) == str(tmp_path / ".cache" / "mercer" / "numba")


def test_the_users_own_setting_wins(places, monkeypatch, tmp_path):
    source, _ = places
    source.chmod(0o777)
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "mine"))
    assert module._cache_folder(str(source)) == ""


@posix
def test_the_cache_lands_where_it_was_decided_and_the_setting_is_given_back(places):
    source, home = places
    source.chmod(0o777)
    path = source / "shared_code.py"
    path.write_text("from mercer.runtime.compiled import compiled\n\n@compiled\ndef _twice(x):\n    return 2 * x\n")
    spec = importlib.util.spec_from_file_location("shared_code", path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    assert loaded._twice(3) == 6
    assert list(home.rglob("*.nbi")) and not list(source.rglob("*.nbi"))
    assert config.CACHE_DIR == ""


@posix
def test_every_fork_starts_a_new_generation():
    code = """
        import os
        from mercer.runtime import compiled
        before = compiled.generation
        child = os.fork()
        if child == 0:
            os._exit(0 if compiled.generation == before + 1 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert compiled.generation == before == 0
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


def test_importing_the_package_does_not_import_numba():
    code = "import sys, mercer; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

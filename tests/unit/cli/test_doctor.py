"""What is told about the installation."""

import pytest

import mercer
from mercer.cli import doctor as module
from tests.unit.cli.commandline import run, run_json


def test_everything_is_told():
    told = run_json("doctor")
    assert told["mercer"] == mercer.__version__ and told["threads"] >= 1 and told["free_memory"] > 0
    assert all(told["versions"].values()) and "numba" in told["versions"]
    text = run("doctor").stdout
    for word in ("mercer", "Python", "threads", "cache", "memory"):
        assert word in text


def test_what_is_missing_comes_with_a_command(monkeypatch):
    real = module._version
    monkeypatch.setattr(module, "_version", lambda name: None if name in ("pyarrow", "piqp") else real(name))
    text = run("doctor").stdout
    assert "pip install 'mercer[data]'" in text and "pip install 'mercer[qp]'" in text
    monkeypatch.undo()
    assert module._version("no-such-package-at-all") is None


@pytest.mark.parametrize(
    ("private", "chosen", "advice"),
    [(True, "here", None), (False, "here", "chmod 700"), (True, None, "NUMBA_CACHE_DIR")],
)
def test_the_cache_has_to_be_private(tmp_path, monkeypatch, private, chosen, advice):
    monkeypatch.setattr(module.compiled, "_cache_folder", lambda source: str(tmp_path) if chosen else None)
    monkeypatch.setattr(module.compiled, "_is_private", lambda folder: private)
    told = run_json("doctor")
    assert any(advice in line for line in told["advice"]) if advice else told["cache"]["private"]


def test_a_cache_that_is_not_there_yet(tmp_path, monkeypatch):
    monkeypatch.setattr(module.compiled, "_cache_folder", lambda source: str(tmp_path / "later"))
    assert "made when" in run_json("doctor")["cache"]["state"]

"""Compiling ahead: every kernel runs, every loop is known."""

import pytest

from mercer import catalogue
from mercer.cli import warmup as module
from mercer.domains import Graphs, Nodes, Similarities, Strings, Texts, Trees, Vectors
from mercer.kernels import Kernel
from tests.unit.cli.commandline import run_json


def test_all_kernels_are_warmed_up():
    members = {row.name: module.member(row.cls) for row in catalogue.kernels()}
    made = {name: kernel for name, kernel in members.items() if kernel is not None}
    assert all(isinstance(kernel.check(), Kernel) for kernel in made.values())
    assert {"Anova", "Matern", "Match", "Polynomial", "Pyramidal", "Spectrum", "Wendland"} <= set(made)
    assert {"Composed", "Power", "Product", "Selected", "Sum"} <= set(members) - set(made)


@pytest.mark.parametrize("domain", [Graphs, Nodes, Similarities, Strings, Texts, Trees, Vectors])
def test_every_domain_has_samples(domain):
    made = [(row.name, module.member(row.cls)) for row in catalogue.kernels()]
    kernels = [kernel for _, kernel in made if kernel is not None and kernel.domain is domain]
    found = module._samples(domain)
    assert found and kernels
    for X in found:
        assert all(len(kernel.pack(X)) == module.ROWS for kernel in kernels)


def test_structures_run_in_all_ways():
    cheap = {"TfIdf", "Subtree", "VertexHistogram", "CommuteTime"}
    jobs = [(name, job) for name, job in module._kernel_jobs() if name in cheap]
    assert {name for name, _ in jobs} == cheap
    for _, job in jobs:
        job()


@pytest.mark.slow
def test_loops_are_compiled():
    told = run_json("warmup")
    assert told["failed"] == []
    assert told["compiled"] > 0.8 * told["loops"] and told["seconds"] > 0


def test_a_job_that_fails_is_told(monkeypatch):
    def fail():
        raise ValueError("no")

    monkeypatch.setattr(module, "_kernel_jobs", lambda: [("Odd", fail)])
    monkeypatch.setattr(module, "_estimator_jobs", list)
    assert run_json("warmup")["failed"] == ["Odd: no"]


def test_what_only_compiled_code_calls_is_no_loop_of_its_own():
    class Loop:
        def __init__(self, function, signatures):
            self.py_func, self.signatures = function, signatures

    loops = {"m._outer": Loop(_outer, [1]), "m._inner": Loop(_inner, []), "m._deep": Loop(_deep, [])}
    assert module._cold({**loops, "m._alone": Loop(_alone, [])}) == ["m._alone"]


def _outer():
    return _inner()


def _inner():
    return _deep()


def _deep():
    return 1


def _alone():
    return _outer()

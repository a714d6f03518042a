"""The catalogue on the command line."""

import mercer.kernels
from tests.unit.cli.commandline import run, run_json


def test_all_kernels_are_listed():
    told = run_json("kernels")["kernels"]
    public = {name for name in mercer.kernels.__all__ if isinstance(getattr(mercer.kernels, name), type)} - {"Kernel"}
    assert {row["name"] for row in told} == public
    lines = run("kernels").stdout.splitlines()
    assert len(lines) == len(public) + 1 and all(line.count("\t") == 4 for line in lines)


def test_by_domain():
    told = run_json("kernels", "--domain", "string")["kernels"]
    assert {"Match", "Spectrum"} <= {row["name"] for row in told} and {row["domain"] for row in told} == {"Strings"}
    assert "there are" in run("kernels", "--domain", "apples", code=2).stderr


def test_one_kernel_by_any_name():
    text = run("kernels", "Gaussian").stdout
    assert "positive definite" in text and "length_scale" in text and "Examples" in text
    assert run("kernels", "rbf").stdout == text == run("kernels", "gaussian").stdout
    assert run_json("kernels", "RBF")["name"] == "Gaussian"


def test_other_classes_have_a_page_too():
    assert "KernelRidge(" in run("kernels", "KernelRidge").stdout


def test_unknown_names():
    assert "Did you mean 'Gaussian'?" in run("kernels", "Gausian", code=2).stderr
    assert "lists all" in run("kernels", "zzzzzz", code=2).stderr


def test_words_are_looked_for_in_names_domains_and_descriptions():
    found = {row["name"] for row in run_json("kernels", "substring")["kernels"]}
    assert run_json("kernels", "cyclic kernel")["name"] == run_json("kernels", "von Mises kernel")["name"] == "Periodic"
    assert "Spectrum" in found and "Gaussian" not in found
    assert {row["domain"] for row in run_json("kernels", "substring", "--domain", "strings")["kernels"]} == {"Strings"}
    assert "WeisfeilerLehman" in {row["name"] for row in run_json("kernels", "graphs")["kernels"]}

"""Two files: the numbers are those of ``mercer test``."""

import numpy as np
import pytest

from mercer.studio.file_tests import compare
from tests.unit.studio.copied import command_output, python_numbers


@pytest.mark.parametrize("kernel", ["", "Gaussian(1.0)"])
def test_two_tables(tmp_path, kernel):
    rng = np.random.default_rng(0)
    for name, shift in (("a.csv", 0.0), ("b.csv", 1.5)):
        rows = "".join(f"{x:.3f},{y:.3f}\n" for x, y in rng.normal(size=(25, 2)) + shift)
        (tmp_path / name).write_text("x,y\n" + rows)
    paths = {"path": str(tmp_path / "a.csv"), "other": str(tmp_path / "b.csv"), "name": "a.csv", "other_name": "b.csv"}
    told = compare({**paths, "kernel": kernel, "draws": 60})
    assert told["rejected"] and told["samples"] == [25, 25]
    assert all(len(side) == 5 and side[0]["value"] >= side[-1]["value"] for side in told["peaks"])
    found = command_output(told["command"], tmp_path)
    assert [found["statistic"], found["p_value"]] == pytest.approx(told["numbers"], rel=1e-12)
    assert python_numbers(told["python"], tmp_path) == pytest.approx(told["numbers"], rel=1e-12)


FILES = {
    "missing.csv": (
        "x,t,c\n1.5,a b,u\n,a c,v\n2.5,b c,u\n0.5,a,v\n3.5,c,u\n",
        "x,t,c\n2.5,c b,v\n1.0,b d,v\n4.5,,u\n0.5,d,v\n7.5,d a,u\n",
    ),
    "numbers.csv": (
        "code,x\n" + "".join(f"{i % 3},{i * i % 7}\n" for i in range(9)),
        "code,x\n" + "".join(f"{i % 2},{i * i % 5}\n" for i in range(8)),
    ),
    "constant.csv": ("x,c\n1,u\n3,v\n2,u\n5,u\n", "x,c\n4,u\n2,u\n9,u\n7,u\n"),
    "s.fasta": (">a\nGATTACA\n>b\nGATTAGA\n>c\nCCGCGG\n", ">a\nGCGC\n>b\nGATTAGC\n>c\nCCGCGG\n>d\nCGCGC\n"),
    "p.penn": ("(S (N a) (V b))\n(S (N c) (V b))\n", "(T (N c))\n(S (N c) (V b))\n(T (N a))\n"),
}


@pytest.mark.parametrize(("name", "kernel"), [
    ("missing.csv", ""), ("missing.csv", "Gaussian(2.0)"), ("missing.csv", "TfIdf().on('t')"),
    ("missing.csv", "TfIdf()"), ("numbers.csv", "Match().on('code')"), ("numbers.csv", ""), ("constant.csv", ""),
    ("s.fasta", ""), ("s.fasta", "Spectrum(2)"), ("p.penn", ""),
])  # fmt: skip
def test_what_is_copied_gives_the_same_numbers(tmp_path, name, kernel):
    """Missing values, texts, kinds that the other file or the kernel decides, and samples that are no table."""
    names = [f"first-{name}", f"second-{name}"]
    for one, text in zip(names, FILES[name], strict=True):
        (tmp_path / one).write_text(text)
    first, second = (str(tmp_path / one) for one in names)
    told = compare({"path": first, "other": second, "name": names[0], "other_name": names[1],
                    "kernel": kernel, "draws": 20})  # fmt: skip
    assert python_numbers(told["python"], tmp_path) == pytest.approx(told["numbers"], rel=1e-12, abs=1e-15)
    found = command_output(told["command"], tmp_path)
    assert [found["statistic"], found["p_value"]] == pytest.approx(told["numbers"], rel=1e-12, abs=1e-15)

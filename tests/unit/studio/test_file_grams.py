"""Gram matrices of files of each kind."""

import numpy as np
import pytest

import mercer
from mercer.errors import ParameterError
from mercer.io import read
from mercer.studio import file_grams
from mercer.studio.file_grams import collected, look, shared
from tests.unit.studio.copied import command_output, python_numbers
from tests.unit.studio.test_playground import unpacked

FILES = {
    "a.csv": ("a,b,y\n" + "".join(f"{i},{i * i % 7},{'uv'[i % 2]}\n" for i in range(20)), "Gaussian(3.0)", "rows"),
    "t.csv": ("t\n" + "".join(f"word{i % 3} other{i} words{i % 2}\n" for i in range(9)), "TfIdf()", "texts"),
    "s.fasta": (">a\nGATTACA\n>b\nGATTAGA\n>c\nCCGCGG\n", "Spectrum(2)", "strings"),
    "p.penn": ("(S (N a) (V b))\n(S (N c) (V b))\n(T (N c))\n", "SubsetTree()", "trees"),
    "g.json": ('[{"nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "O"}], "links": [{"source": 0, "target": 1}]}, '
               '{"nodes": [{"id": 0, "label": "C"}], "links": []}]', "WeisfeilerLehman(1)", "graphs"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_each_kind_of_file(tmp_path, name):
    text, expression, kind = FILES[name]
    (tmp_path / name).write_text(text)
    fields = {"path": str(tmp_path / name), "name": name, "kernel": expression, "target": ""}
    told = look(fields)
    kernel = mercer.parse(expression)
    found = collected(read(tmp_path / name), kernel, None)
    S = kernel.pack(found.X)
    K = np.asarray(kernel.learn(S)(S))
    assert found.kind == kind and np.allclose(
        unpacked(told["gram"]), K[np.ix_(told["index"], told["index"])], rtol=1e-5
    )
    assert shared({**fields, "i": 0, "j": 1})["kind"] == kind
    # eigenvalues are exact up to rounding of the largest
    close = pytest.approx(told["numbers"], rel=1e-9, abs=1e-12 * told["numbers"][1])
    assert python_numbers(told["python"], tmp_path) == close and "mercer.studio" not in told["python"]
    largest = command_output(told["command"], tmp_path)["gram"]["largest_eigenvalue"]
    assert largest == pytest.approx(told["numbers"][1], rel=1e-9)


def test_the_target_is_not_compared(tmp_path):
    (tmp_path / "a.csv").write_text(FILES["a.csv"][0])
    found = collected(read(tmp_path / "a.csv"), mercer.parse("Gaussian(1.0)"), "b")
    assert list(found.own[0]) == ["a"]
    with pytest.raises(ParameterError, match="field 'i'"):
        shared({"path": str(tmp_path / "a.csv"), "kernel": "Gaussian(1.0)", "target": ""})


def test_what_is_copied_of_many_rows_takes_the_same_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(file_grams, "MOST", 12)
    rows = [f"{i},{'' if i == 4 else i * i % 7},{'uv'[i % 2]}\n" for i in range(30)]
    (tmp_path / "a.csv").write_text("a,b,y\n" + "".join(rows))
    told = look({"path": str(tmp_path / "a.csv"), "name": "a.csv", "kernel": "Gaussian('median')", "target": "y"})
    assert len(told["names"]) == 12
    close = pytest.approx(told["numbers"], rel=1e-9, abs=1e-12 * told["numbers"][1])
    assert python_numbers(told["python"], tmp_path) == close

"""The text of LIBSVM's model files: what is read, and where and why a file is refused."""

import contextlib

import numpy as np
import pytest

from mercer.io.interop import from_libsvm
from mercer.io.libsvm import read_machine
from mercer.io.limits import FileError, Limits

GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 3
total_sv 4
rho 0.1 -0.2 .3
label 3 1 2
probA 1 2 3
probB 1 2 3
nr_sv 2 1 1
SV
0.5 1e-3 1:1 3:-2.5
-0.5 0 2:1
1 -1 1:1
-1 +1 3:1e2
"""


def written(tmp_path, text):
    path = tmp_path / "machine.model"
    path.write_bytes(text.encode("latin-1") if isinstance(text, str) else text)
    return path


def test_everything_is_read(tmp_path):
    machine = read_machine(written(tmp_path, GOOD))
    assert (machine.svm_type, machine.kernel_type, machine.gamma, machine.kind) == ("c_svc", "rbf", 0.5, "classes")
    assert machine.rho == [0.1, -0.2, 0.3]
    assert machine.label == [3, 1, 2]
    assert machine.nr_sv == [2, 1, 1]
    assert machine.coef.tolist() == [[0.5, 1e-3], [-0.5, 0.0], [1.0, -1.0], [-1.0, 1.0]]
    assert machine.entries[0] == [(0, 1.0), (2, -2.5)]
    assert not machine.precomputed


@pytest.mark.parametrize("end", ["\r\n", "\n\n"])
def test_ends_of_lines_and_empty_lines_below(tmp_path, end):
    text = GOOD.replace("\n", "\r\n") if end == "\r\n" else GOOD + "\n\n"
    assert len(read_machine(written(tmp_path, text)).entries) == 4


def test_marks_of_one_class_densities_are_accepted(tmp_path):
    marks = [0.1 * i for i in range(10)]
    text = (
        "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 1\n"
        f"prob_density_marks {' '.join(map(str, marks))}\nSV\n1 1:1\n"
    )
    machine = read_machine(written(tmp_path, text))
    assert machine.prob_density_marks == marks
    assert from_libsvm(written(tmp_path, text)).predict([[3.0]]).tolist() == [1]


WRONG = [
    ("svm_type c_svc", "svm_type c_svm", 1, "c_svm"),
    ("svm_type c_svc", "svm_type", 1, "one of"),
    ("kernel_type rbf", "kernel_type gaussian", 2, "gaussian"),
    ("gamma 0.5", "gamma half", 3, "half"),
    ("gamma 0.5", "gamma 0.5 0.5", 3, "2 values"),
    ("gamma 0.5", "gamma nan", 3, "finite"),
    ("gamma 0.5", "gamma 1_0", 3, "finite"),
    ("gamma 0.5", "gamma 1e999", 3, "finite"),
    ("gamma 0.5", "gamme 0.5", 3, "gamme"),
    ("gamma 0.5", "gamma 0.5\ngamma 0.5", 4, "second time"),
    ("gamma 0.5\n", "", 10, "gamma"),
    ("nr_class 3", "nr_class 1", 11, "nr_class is 1"),
    ("nr_class 3", "nr_class 4", 11, "rho has 3 values"),
    ("nr_class 3", "nr_class 3.0", 4, "whole"),
    ("total_sv 4", "total_sv 5", 11, "total_sv is 5"),
    ("total_sv 4", "total_sv 99999999999999", 5, "whole"),
    ("rho 0.1 -0.2 .3", "rho 0.1 -0.2", 11, "needs 3"),
    ("label 3 1 2", "label 3 1 1", 11, "twice"),
    ("label 3 1 2", "label 3 1", 11, "label has 2"),
    ("probB 1 2 3", "probB 1 2", 11, "probB has 2"),
    ("probB 1 2 3\n", "", 10, "probB has 0"),
    ("nr_sv 2 1 1", "nr_sv 5 -2 1", 11, "adds up|whole"),
    ("\nSV\n", "\nSV 3\n", 11, "3|SV"),
    (GOOD[GOOD.index("SV") :], "", 12, "before the line SV"),
    ("0.5 1e-3 1:1", "0.5 1:1", 12, "1 coefficients"),
    ("0.5 1e-3 1:1", "0.5 x 1:1", 12, "'x'"),
    ("1:1 3:-2.5", "1:1 3:inf", 12, "finite"),
    ("1:1 3:-2.5", "3:1 1:-2.5", 12, "follows 3"),
    ("1:1 3:-2.5", "0:1 3:-2.5", 12, "Index 0"),
    ("1:1 3:-2.5", "1:1 3:1 3:2", 12, "follows 3"),
    ("1:1 3:-2.5", "1:1 9999999999:1", 12, "9999999999"),
    ("1:1 3:-2.5", "1:1 -2.5", 12, "index:value"),
    ("-1 +1 3:1e2\n", "", 15, "3 support vectors"),
    ("-1 +1 3:1e2\n", "-1 +1 3:1e2\n1 1 1:1\n", 16, "more than the 4"),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), WRONG)
def test_a_wrong_line_is_named(tmp_path, old, new, line, words):
    assert old in GOOD
    with pytest.raises(FileError, match=words) as caught:
        read_machine(written(tmp_path, GOOD.replace(old, new, 1)))
    assert caught.value.line in (line, line - 1)
    assert "machine.model" in str(caught.value)


def test_files_of_another_kind(tmp_path):
    for content in (b"", b"\x80\x04pickle", b"PK\x03\x04\0\0", b"a,b\n1,2\n", b"\0" * 50):
        with pytest.raises(FileError):
            read_machine(written(tmp_path, content))
    with pytest.raises(FileNotFoundError):
        read_machine(tmp_path / "none")


@pytest.mark.parametrize("entry", ["0:x", "1:2", "0:0", "0:1 0:2", ""])
def test_precomputed_support_vectors_are_numbers_of_columns(tmp_path, entry):
    head = "svm_type nu_svr\nkernel_type precomputed\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n"
    assert read_machine(written(tmp_path, f"{head}1 0:3 1:0.5\n")).entries == [[(2, 1.0)]]
    with pytest.raises(FileError) as caught:
        read_machine(written(tmp_path, f"{head}1 {entry}\n"))
    assert caught.value.line == 7


def test_limits_hold(tmp_path):
    path = written(tmp_path, GOOD)
    with pytest.raises(FileError, match="bytes"):
        read_machine(path, Limits(bytes=100))
    with pytest.raises(FileError, match="line"):
        read_machine(path, Limits(line=10))


def test_mutated_files_are_read_or_refused(tmp_path):
    rng = np.random.default_rng(0)
    good = np.frombuffer(GOOD.encode(), dtype=np.uint8)
    path = tmp_path / "mutated.model"
    for _ in range(400):
        data = good.copy()
        for place in rng.integers(0, len(data), size=rng.integers(1, 4)):
            data[place] = rng.choice(np.frombuffer(b"0123456789 .:-e\n\0xSV", dtype=np.uint8))
        path.write_bytes(data.tobytes())
        with contextlib.suppress(FileError, MemoryError):
            from_libsvm(path)

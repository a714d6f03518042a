"""Gram matrices on disk: the numbers, resuming, refusals."""

import json

import numpy as np
import pytest

from mercer.cli import gram_command as module
from mercer.cli.gram_command import fingerprint
from mercer.domains import Graphs, Pairs, Strings, Texts, Trees, Vectors
from mercer.io.readers import read
from mercer.kernels import Gaussian, Spectrum
from mercer.language import parse
from tests.unit.cli.commandline import run, run_json, write_fasta, write_table

KERNEL = "Gaussian(30.0).on(['age', 'dose']) * Match().on('city')"


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SIDE", 16)
    return write_table(tmp_path / "t.csv")


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-12), ("float32", 1e-6)])
def test_the_matrix_is_that_of_the_kernel(tmp_path, table, dtype, rtol):
    told = run_json("gram", table, "-k", KERNEL, "-o", tmp_path / "k.npy", "--dtype", dtype, "--threads", 1)
    K = np.load(tmp_path / "k.npy", allow_pickle=False)
    assert K.dtype == dtype and told["shape"] == [90, 90] and told["blocks"] == 21 and told["resumed"] == 0
    kernel = parse(KERNEL)
    np.testing.assert_allclose(K, kernel(read(table).columns), rtol=rtol, atol=1e-30)
    np.testing.assert_array_equal(K, K.T)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k.ids", "k.npy", "t.csv"]
    assert read(tmp_path / "k.npy").ids == read(table).ids


def stop_after(monkeypatch, blocks, error):
    real, seen = module._Work._block, []

    def block(self, *arguments):
        if len(seen) == blocks:
            raise error
        seen.append(arguments)
        real(self, *arguments)

    monkeypatch.setattr(module._Work, "_block", block)
    return seen


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left", "k"), 4)])
def test_an_interrupted_run_goes_on(tmp_path, table, monkeypatch, error, code):
    run("gram", table, "-k", KERNEL, "-o", tmp_path / "whole.npy")
    with monkeypatch.context() as patch:
        stop_after(patch, 8, error)
        result = run("gram", table, "-k", KERNEL, "-o", tmp_path / "k.npy", code=code)
    if code == 130:
        assert "same command again" in result.stderr
    assert not (tmp_path / "k.npy").exists()
    assert json.loads((tmp_path / "k.npy.progress").read_text())["done"] == 8
    seen = stop_after(monkeypatch, 99, None)
    result = run("gram", table, "-k", KERNEL, "-o", tmp_path / "k.npy")
    assert len(seen) == 13 and "Going on after 8 of 21 blocks" in result.stderr
    assert (tmp_path / "k.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert not (tmp_path / "k.npy.progress").exists() and not (tmp_path / "k.npy.part").exists()


def test_a_run_of_something_else_is_not_gone_on_with(tmp_path, table, monkeypatch):
    output = tmp_path / "k.npy"
    with monkeypatch.context() as patch:
        stop_after(patch, 3, KeyboardInterrupt())
        run("gram", table, "-k", KERNEL, "-o", output, code=130)
    assert "another kernel" in run("gram", table, "-k", "Linear().on('age')", "-o", output, code=3).stderr
    assert "another dtype" in run("gram", table, "-k", KERNEL, "-o", output, "--dtype", "float32", code=3).stderr
    other = write_table(tmp_path / "other.csv", seed=5)
    assert "another data" in run("gram", other, "-k", KERNEL, "-o", output, code=3).stderr
    notes = output.with_name("k.npy.progress")
    notes.write_text("{}")
    assert "--restart" in run("gram", table, "-k", KERNEL, "-o", output, code=3).stderr
    run("gram", other, "-k", KERNEL, "-o", output, "--restart")
    assert np.load(output).shape == (90, 90)


def test_a_cut_off_part_is_noticed(tmp_path, table, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, 3, KeyboardInterrupt())
        run("gram", table, "-k", KERNEL, "-o", tmp_path / "k.npy", code=130)
    with (tmp_path / "k.npy.part").open("r+b") as stream:
        stream.truncate(100)
    assert "another size" in run("gram", table, "-k", KERNEL, "-o", tmp_path / "k.npy", code=3).stderr


def test_progress_is_noted_now_and_then(tmp_path, table, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", -1.0)
    notes, real = [], module._Work._note
    monkeypatch.setattr(module._Work, "_note", lambda self: (notes.append(self.done), real(self)))
    run("gram", table, "-k", KERNEL, "-o", tmp_path / "k.npy")
    assert notes == [0, *range(1, 22), 21]


def test_budgets(tmp_path, table, monkeypatch):
    arguments = ["gram", table, "-k", KERNEL, "-o", tmp_path / "k.npy"]
    assert "--max-time" in run(*arguments, "--max-time", "1e-9", code=4).stderr
    assert "Going on" not in run(*arguments).stderr
    usage = type("Usage", (), {"free": 100})
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage)
    assert "the disk has 100 B free" in run(*arguments[:-1], tmp_path / "l.npy", code=4).stderr
    monkeypatch.setattr(module, "SIDE", 10**6)
    assert "--memory" in run(*arguments[:-1], tmp_path / "m.npy", "--memory", "1GB", code=4).stderr


def test_refusals(tmp_path, table):
    (tmp_path / "k.npy").write_text("precious")
    assert "--force" in run("gram", table, "-k", KERNEL, "-o", tmp_path / "k.npy", code=2).stderr
    run("gram", table, "-k", KERNEL, "-o", tmp_path / "k.npy", "--force")
    assert np.load(tmp_path / "k.npy").shape == (90, 90)
    assert "a kernel is needed" in run("gram", table, "-k", "KernelRidge()", "-o", tmp_path / "x.npy", code=2).stderr
    gaps = write_table(tmp_path / "gaps.csv", missing=(2,))
    assert "1 of 90 rows" in run("gram", gaps, "-k", KERNEL, "-o", tmp_path / "x.npy", code=3).stderr


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_workers_compute_the_same_bits(tmp_path, table, monkeypatch, dtype):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(module, "AHEAD", 4)
    arguments = ["gram", table, "-k", KERNEL, "--dtype", dtype, "-o"]
    run(*arguments, tmp_path / "plain.npy")
    assert run_json(*arguments, tmp_path / "here.npy", "--dask", "here")["blocks"] == 21
    with monkeypatch.context() as patch:  # a run that was interrupted without workers goes on with them
        stop_after(patch, 8, KeyboardInterrupt())
        run(*arguments, tmp_path / "workers.npy", code=130)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, local_directory=tmp_path / "w",
        silence_logs=50,
    ) as cluster:  # fmt: skip
        told = run_json(*arguments, tmp_path / "workers.npy", "--dask", cluster.scheduler_address)
    assert told["resumed"] == 8
    for name in ("here", "workers"):
        assert (tmp_path / f"{name}.npy").read_bytes() == (tmp_path / "plain.npy").read_bytes()


def test_sequences(tmp_path):
    fasta = write_fasta(tmp_path / "p.fasta", n=8)
    run("gram", fasta, "-k", "Spectrum(2)", "-o", tmp_path / "k.npy", "-q")
    np.testing.assert_array_equal(np.load(tmp_path / "k.npy"), Spectrum(2)(read(fasta).X))
    assert (tmp_path / "k.ids").read_text().split() == [f"s{i}" for i in range(8)]


def test_fingerprints_tell_samples_apart():
    prints = {
        fingerprint(S)
        for S in (
            Vectors.pack([[1.0, 2.0]]),
            Vectors.pack([[1.0, 3.0]]),
            Vectors.pack(np.array([[1.0, 2.0]], dtype=np.float32)),
            Strings.pack(["ab"]),
            Strings.pack(["ac"]),
            Texts.pack(["a"]),
            Texts.pack(["b"]),
            Trees.pack(["(a b)"]),
            Trees.pack(["(a c)"]),
            Graphs.pack([{"edges": [(0, 1)], "labels": ["C", "O"], "edge_labels": [1]}]),
            Graphs.pack([{"edges": [(0, 1)], "labels": ["C", "N"], "edge_labels": [1]}]),
            Graphs.pack([{"edges": [(0, 1)], "labels": ["C", "N"], "edge_labels": [2]}]),
            (Gaussian(1.0).on("a") + Spectrum(1).on("b")).pack({"a": [1.0], "b": ["x"]}),
            (Gaussian(1.0).on("a") + Spectrum(1).on("b")).pack({"a": [1.0], "b": ["y"]}),
            Gaussian(1.0).tensor(Spectrum(1)).pack([((1.0,), "a")]),
            Gaussian(1.0).tensor(Spectrum(1)).pack([((2.0,), "a")]),
        )
    }
    assert len(prints) == 16
    assert isinstance(Gaussian(1.0).tensor(Spectrum(1)).pack([((2.0,), "a")]), Pairs)
    assert fingerprint(Strings.pack(["ab"])) == fingerprint(Strings.pack(["ab"]))


def test_names_that_cannot_be_written_are_left_out(tmp_path):
    terminal = module.Terminal(quiet=True)
    for ids in (None, ("a", "a"), ("a\nb", "c"), ("", "b")):
        module._write_names(tmp_path / "k.npy", ids, terminal)
    assert not (tmp_path / "k.ids").exists()

"""Rows that are read in blocks: the same numbers as in memory, and none of them held."""

import tracemalloc

import numpy as np
import pytest

from mercer import SVC, KernelLogisticRegression, KernelMachineClassifier, KernelRidge
from mercer.domains import Stream, Vectors
from mercer.errors import CapabilityError, DomainError
from mercer.gram import Dense, IncompleteCholesky, Nystrom, RandomFeatures
from mercer.kernels import Gaussian
from mercer.solvers import PrimalNewton
from mercer.solvers.smooth import primal_newton

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 3))
Y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=3000)
SIGNS = np.where(Y > 0.0, "up", "down")


def blocks(X=X, Y=None, rows=700):
    for start in range(0, len(X), rows):
        part = slice(start, start + rows)
        yield X[part] if Y is None else (X[part], Y[part])


def parquet(path, X=X, Y=Y, rows=700):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": Y})
    pq.write_table(table, path, row_group_size=rows)
    return path


@pytest.fixture(params=["array", "memmap", "parts", "iterator", "factory", "parquet", "directory"])
def stream(request, tmp_path):
    if request.param == "array":
        return Stream.of(X, Y)
    if request.param == "memmap":
        np.save(tmp_path / "x.npy", X)
        return Stream.of(tmp_path / "x.npy", Y)
    if request.param == "parts":
        np.save(tmp_path / "x.npy", X[1000:])
        return Stream.of([X[:1000], str(tmp_path / "x.npy")], Y)
    if request.param == "iterator":
        return Stream.of(blocks(X), Y)
    if request.param == "factory":
        return Stream.of(lambda: blocks(X, Y))
    if request.param == "parquet":
        return Stream.of(parquet(tmp_path / "x.parquet"), target="y")
    parquet(tmp_path / "a.parquet", X[:1200], Y[:1200])
    parquet(tmp_path / "b.parquet", X[1200:], Y[1200:])
    return Stream.of(tmp_path, target="y", columns=["x0", "x1", "x2"])


def test_rows_are_those_of_the_source(stream):
    assert len(stream) == 3000 and stream.width == 3 and not stream.is_sparse
    assert np.array_equal(stream.y, Y)
    index = rng.integers(0, 3000, size=50)
    assert np.array_equal(stream[index].X, X[index]) and type(stream[index]) is Vectors
    assert np.array_equal(stream[690:1500].X, X[690:1500])
    assert np.array_equal(np.vstack([part.X for part in stream.tiles(999)]), X)
    assert np.allclose(stream.squared_norms, np.sum(X * X, axis=1)) and stream.largest == np.abs(X).max()
    assert "read in blocks" in repr(stream) and Vectors.pack(stream) is stream and Stream.pack(stream) is stream


def test_fits_are_those_of_the_same_rows_in_memory(stream):
    spec = Nystrom(40)
    weight = np.where(np.arange(3000) % 7 == 0, 0.0, 1.0)
    ours = KernelRidge(Gaussian(1.0), alpha=0.1, gram=spec).fit(stream, stream.y, sample_weight=weight)
    same = KernelRidge(Gaussian(1.0), alpha=0.1, gram=spec).fit(X, Y, sample_weight=weight)
    assert np.allclose(ours.predict(stream), same.predict(X), atol=1e-9)
    assert ours.n_features_in_ == 3 and ours.residual_trace_ == pytest.approx(same.residual_trace_, abs=1e-9)


def test_every_learner_and_every_factor(monkeypatch):
    for name in ("_LONG", "_SHORT"):
        monkeypatch.setattr(primal_newton, name, 0.0)
    stream = Stream.of(lambda: blocks())
    for spec in (Nystrom(40, precision="mixed"), RandomFeatures(60), IncompleteCholesky(30, tol=0.5)):
        for model in (
            KernelLogisticRegression(Gaussian(1.0), gram=spec, tol=1e-8),
            KernelMachineClassifier(Gaussian(1.0), loss="squared_hinge", unpenalized="constant", gram=spec),
            SVC(Gaussian(1.0), loss="squared_hinge", gram=spec, tol=1e-8),
        ):
            found = model.fit(stream, SIGNS).decision_function(stream)
            assert isinstance(model.solver_, PrimalNewton)
            assert np.allclose(found, model.fit(X, SIGNS).decision_function(X), atol=1e-5)
            assert np.array_equal(model.predict(stream), model.predict(X))
    median = KernelRidge(gram=Nystrom(20)).fit(stream, Y)
    assert np.allclose(median.predict(X), KernelRidge(gram=Nystrom(20)).fit(X, Y).predict(X), atol=1e-8)


def test_single_precision_is_kept():
    assert Stream.of(X.astype(np.float32))[:5].X.dtype == np.float32
    assert Stream.of(blocks(X.astype(np.float32)))[:5].X.dtype == np.float32
    assert Stream.of(np.arange(12).reshape(6, 2))[:5].X.dtype == np.float64


def test_large_parts_are_streams_again(monkeypatch):
    monkeypatch.setattr("mercer.domains.streams._HELD", 100)
    stream = Stream.of(X, Y)
    part = stream[500:2500]
    assert isinstance(part, Stream) and np.array_equal(part[10:20].X, X[510:520]) and len(part.y) == 2000
    odd = part[np.arange(1, 2000, 2)]
    assert isinstance(odd, Stream) and np.array_equal(odd[[0, 3]].X, X[[501, 507]])
    assert np.array_equal(odd[2:9][1:3].X, X[[507, 509]]) and np.array_equal(part[[5, 1]].X, X[[505, 501]])


def peak(model, n, width=200):
    """Bytes at the peak of a fit and a prediction of n rows that a function makes."""

    def rows():
        for start in range(0, n, 500):
            yield np.random.default_rng(start).normal(size=(500, width))

    stream = Stream.of(rows)
    y = np.random.default_rng(1).choice([-1.0, 1.0], size=n)
    tracemalloc.start()
    try:
        model.fit(stream, y).predict(stream)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("model", "most"),
    [
        (KernelRidge(Gaussian(14.0), alpha=1.0, gram=Nystrom(20), n_threads=1), 12),
        (KernelLogisticRegression(Gaussian(14.0), gram=Nystrom(20), solver=PrimalNewton(1e-2), n_threads=1), 20),
        (SVC(Gaussian(14.0), loss="squared_hinge", gram=Nystrom(20), solver=PrimalNewton(1e-2), n_threads=1), 20),
    ],
    ids=["ridge", "logistic", "squared hinge"],
)
def test_nothing_but_some_vectors_grows_with_the_rows(model, most, monkeypatch):
    monkeypatch.setattr("mercer.domains.streams._HELD", 4096)
    monkeypatch.setattr("mercer.gram.low_rank.factor._AT_ONCE", 1024)
    monkeypatch.setattr("mercer.gram.expansion._BLOCK", 1024)
    peak(model, 10_000, 3)  # which compiles
    small, large = peak(model, 40_000, 3), peak(model, 120_000, 3)
    growth = (large - small) / 80_000
    assert growth < 8 * most, growth  # bytes for each row, of which the factor alone would take 160
    kept = [value for value in vars(model).values() if isinstance(value, np.ndarray) and len(value) > 1000]
    assert sum(value.nbytes for value in kept) <= 12 * 120_000  # coefficients, and which rows they belong to


def test_what_is_refused(tmp_path):
    stream = Stream.of(X, Y)
    with pytest.raises(CapabilityError, match="low rank"):
        KernelRidge(Gaussian(1.0), gram=Dense()).fit(stream, Y)
    with pytest.raises(CapabilityError, match="cannot be joined"):
        stream.concat(stream)
    for given, word in (
        (np.zeros(3), "two-dimensional"),
        (np.zeros((0, 3)), "at least one row"),
        (tmp_path / "none.npy", "does not exist"),
        (tmp_path, "no .parquet"),
        (3, "int was given"),
        (iter(()), "at least one row"),
        (iter([X, X[:, :2]]), "same columns"),
        (iter([X, (X, Y)]), "all with targets or none"),
        (iter([(X, Y[:5])]), "one target per row"),
        ([X, X[:, :2]], "same columns"),
    ):
        with pytest.raises(DomainError, match=word):
            Stream.of(given)
    with pytest.raises(DomainError, match="as many targets"):
        Stream.of(X, Y[:5])
    with pytest.raises(DomainError, match="NaN"):
        KernelRidge(Gaussian(1.0), gram=Nystrom(5)).fit(Stream.of(np.where(X > 3.0, np.nan, X)), Y)
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    with pytest.raises(DomainError, match="cannot be read"):
        Stream.of(tmp_path / "bad.npy")


def test_what_is_refused_of_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}), path)
    with pytest.raises(DomainError, match="columns of numbers"):
        Stream.of(path)
    with pytest.raises(DomainError, match="no column 'c'"):
        Stream.of(path, columns=["c"])
    only = Stream.of(path, target="b")
    assert only.y.tolist() == ["x", "y"] and only[:2].X.tolist() == [[1.0], [2.0]] and only[:1].names == ("a",)
    path.write_bytes(b"PAR1")
    with pytest.raises(DomainError, match="cannot be read as Parquet"):
        Stream.of(path)

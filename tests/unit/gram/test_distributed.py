"""Grams over blocks: the same as without blocks up to rounding, the same bits with and without workers."""

import gc
import itertools
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import SVC, KernelLogisticRegression, KernelRidge
from mercer.domains import Strings, Vectors
from mercer.domains.streams import Stream
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import (
    Dense,
    Distributed,
    HasFactor,
    HasRows,
    IncompleteCholesky,
    Nystrom,
    RandomFeatures,
    SparseGreedy,
    Tiles,
)
from mercer.gram.distributed import DistributedGram, Layout
from mercer.io.checkpoint import Checkpoint
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.runtime import checkpoints as resuming
from mercer.runtime import workers as cluster
from mercer.solvers import ConjugateGradient, PrimalGradient, Woodbury
from tests.trust.judge import unclear

KERNEL = Gaussian(1.5)
FACTORS = (
    Nystrom(20),
    Nystrom(20, precision="mixed"),
    RandomFeatures(30),
    RandomFeatures(30, precision="mixed"),
    IncompleteCholesky(15, tol=0.0),
    SparseGreedy(15, tol=0.0),
)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((130, 3))
Y = np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(130)
S = Vectors.pack(X)


def here(gram=None, block=30):
    return Distributed("here", block=block, gram=gram)


@pytest.fixture(scope="module", params=["parquet", "npy", "folder"])
def filed(request, tmp_path_factory):
    """The samples in files: with row groups of 25 rows, as a mapped array, and in two files."""
    folder = tmp_path_factory.mktemp("rows")
    if request.param == "npy":
        np.save(folder / "rows.npy", X)
        return Stream.of(folder / "rows.npy", Y)
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    cuts = [0, 130] if request.param == "parquet" else [0, 60, 130]
    for i, (start, stop) in enumerate(itertools.pairwise(cuts)):
        columns = {name: X[start:stop, j] for j, name in enumerate("abc")}
        table = arrow.table({**columns, "y": Y[start:stop]})
        parquet.write_table(table, folder / f"{i}.parquet", row_group_size=25)
    return Stream.of(folder if request.param == "folder" else folder / "0.parquet", target="y")


# K itself ---------------------------------------------------------------------------------------------------


def test_products_and_rows_are_those_of_the_matrix():
    K, dense = here().build(KERNEL, S), KERNEL(X)
    V = RNG.standard_normal((130, 2))
    assert np.allclose(K @ V, dense @ V, rtol=0, atol=1e-12)
    assert (K @ V[:, 0]).shape == (130,)
    index = np.array([3, 120, 7])
    assert np.allclose(K.rows(index), dense[index], rtol=0, atol=1e-13)
    assert np.allclose(K.rows(index, index), dense[np.ix_(index, index)], rtol=0, atol=1e-13)
    out = np.empty((3, 40))
    assert K.rows(index, slice(10, 50), out) is out
    assert np.allclose(out, dense[index, 10:50], rtol=0, atol=1e-13)
    total = np.ones((130, 2))
    K.update(index, V[:3], total)
    assert np.allclose(total, 1.0 + dense[:, index] @ V[:3], rtol=0, atol=1e-12)
    some = np.arange(0, 130, 2)
    part = np.zeros((65, 2))
    K.update(index, V[:3], part, some)
    assert np.allclose(part, dense[np.ix_(some, index)] @ V[:3], rtol=0, atol=1e-12)
    assert np.array_equal(K.diag(), np.ones(130))
    assert isinstance(K, HasRows)
    assert not isinstance(K, HasFactor)


def test_a_part_of_the_samples():
    K = here().build(KERNEL, S).take(slice(5, 95))
    assert K.shape == (90, 90)
    assert np.allclose(K @ np.ones(90), KERNEL(X[5:95]).sum(axis=1), rtol=0, atol=1e-12)


def test_mixed_precision_and_its_refinement():
    K = here(Tiles(precision="mixed")).build(KERNEL, S)
    exact = KERNEL(X).sum(axis=1)
    assert K.dtype == np.float32
    assert 1e-9 < np.abs(K @ np.ones(130) - exact).max() < 1e-3
    assert np.allclose(K.refined() @ np.ones(130), exact, rtol=0, atol=1e-12)
    double = here().build(KERNEL, S)
    assert double.refined() is double


def test_operands_of_another_length_are_refused():
    with pytest.raises(ValueError, match="130 columns"):
        here().build(KERNEL, S) @ np.ones(5)


def test_strings_go_by_blocks_as_well():
    words = ["".join(RNG.choice(list("ab"), 8)) for _ in range(23)]
    kernel = Spectrum(2).normalized()
    K = here(block=5).build(kernel, Strings.pack(words))
    assert np.allclose(K @ np.ones(23), kernel(words).sum(axis=1), rtol=0, atol=1e-12)


# factors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", FACTORS, ids=repr)
def test_sums_of_a_factor_are_those_of_its_rows(spec):
    K = here(spec).build(KERNEL, S)
    F = K.factor()
    tol = 1e-10 if getattr(spec, "precision", "double") == "double" else 2e-4
    w, V = RNG.uniform(0.5, 1.0, 130), RNG.standard_normal((130, 2))
    square, moment = K.normal(w, V)
    assert np.allclose(square, (F.T * w) @ F, rtol=0, atol=tol * 130)
    assert np.allclose(moment, (F.T * w) @ V, rtol=0, atol=tol * 130)
    u = RNG.standard_normal((K.rank, 1))
    assert np.allclose(K.times(u), F @ u, rtol=0, atol=tol * 30)
    assert np.allclose(K.moment(V), F.T @ V, rtol=0, atol=tol * 130)
    values, answer = K.sweep(u, lambda rows, f: V[rows] - f)
    assert np.allclose(values, F @ u, rtol=0, atol=tol * 30)
    assert np.allclose(answer, F.T @ (V - F @ u), rtol=0, atol=tol * 300)
    assert np.allclose(K.diag(), (F**2).sum(axis=1), rtol=0, atol=tol * 10)
    assert np.allclose(K @ V, F @ (F.T @ V), rtol=0, atol=tol * 300)
    assert K.residual_trace < 1.0


@pytest.mark.parametrize("spec", FACTORS[:2], ids=repr)
def test_a_factor_that_is_not_kept_gives_the_same_up_to_rounding(spec, monkeypatch):
    kept = here(spec).build(KERNEL, S)
    monkeypatch.setattr("mercer.gram.distributed._HELD", 0)
    K = here(spec).build(KERNEL, S)
    assert kept.holds
    assert not K.holds
    tol = 1e-9 if spec.precision == "double" else 1e-3
    for one, other in zip(K.normal(np.ones(130), Y), kept.normal(np.ones(130), Y), strict=True):
        assert np.allclose(one, other, rtol=0, atol=tol * 130)
    assert np.allclose(K.times(np.ones(K.rank)), kept.times(np.ones(K.rank)), rtol=0, atol=tol * 10)


def test_landmarks_that_are_given_stay_where_they_are(monkeypatch):
    monkeypatch.setattr("mercer.gram.distributed._SEEN", 10)
    monkeypatch.setattr("mercer.gram.distributed._OFFERS", 1)
    K = here(Nystrom(3, landmarks=(100, 4, 50))).build(KERNEL, S)
    assert np.array_equal(np.sort(K.inner.landmarks.X[:, 0]), np.sort(X[[100, 4, 50], 0]))


def test_coordinates_are_found_on_some_samples(monkeypatch):
    monkeypatch.setattr("mercer.gram.distributed._SEEN", 40)
    monkeypatch.setattr("mercer.gram.distributed._OFFERS", 1)
    K = here(Nystrom(12)).build(KERNEL, S)
    assert K.rank == 12
    assert K.shape == (130, 130)
    assert K.take(slice(0, 7)).factor().shape == (7, 12)


# the same bits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [None, Tiles(precision="mixed"), *FACTORS[:4]], ids=repr)
def test_workers_give_the_same_bits(spec, threads):
    solver = ConjugateGradient(1e-4) if spec is None or isinstance(spec, Tiles) else None
    options = {"alpha": 0.5, "fit_intercept": True, "solver": solver}
    models = [
        KernelRidge(KERNEL, **options, gram=Distributed(address, block=30, gram=spec)).fit(X, Y)
        for address in ("here", threads)
    ]
    assert np.array_equal(models[0].predict(X), models[1].predict(X))
    assert np.array_equal(models[0].dual_coef_, models[1].dual_coef_)
    gc.collect()
    assert not cluster._hired


def test_the_number_of_threads_does_not_matter():
    models = [KernelRidge(KERNEL, gram=here(), n_threads=count).fit(X, Y) for count in (1, 2)]
    assert np.array_equal(models[0].dual_coef_, models[1].dual_coef_)


# learners ---------------------------------------------------------------------------------------------------


def test_ridge_is_that_of_a_dense_matrix():
    model = KernelRidge(KERNEL, alpha=0.1, gram=here()).fit(X, Y)
    assert isinstance(model.solver_, ConjugateGradient)
    exact = KernelRidge(KERNEL, alpha=0.1, gram=Dense()).fit(X, Y)
    assert np.allclose(model.predict(X), exact.predict(X), rtol=0, atol=1e-6)


def test_ridge_on_a_factor_of_full_rank_is_that_of_a_dense_matrix():
    exact = KernelRidge(KERNEL, alpha=0.1, gram=Dense()).fit(X, Y)
    model = KernelRidge(KERNEL, alpha=0.1, gram=here(Nystrom(130))).fit(X, Y)
    assert isinstance(model.solver_, Woodbury)
    assert np.allclose(model.predict(X), exact.predict(X), rtol=0, atol=1e-7)
    passes = KernelRidge(KERNEL, alpha=0.1, gram=here(Nystrom(20)), solver=PrimalGradient(1e-9, samples=3)).fit(X, Y)
    direct = KernelRidge(KERNEL, alpha=0.1, gram=here(Nystrom(20))).fit(X, Y)
    assert np.allclose(passes.predict(X), direct.predict(X), rtol=0, atol=1e-6)


def test_logistic_regression_on_products_and_on_features():
    classes = np.where(Y > 0.0, "up", "down")
    for spec, tol in ((None, 1e-3), (Nystrom(130), 1e-3)):
        model = KernelLogisticRegression(KERNEL, gram=here(spec)).fit(X, classes)
        exact = KernelLogisticRegression(KERNEL, gram=Dense()).fit(X, classes)
        assert np.allclose(model.predict_proba(X), exact.predict_proba(X), rtol=0, atol=tol)


def test_support_vectors_by_rows():
    classes = np.where(Y > 0.0, 1, -1)
    model = SVC(KERNEL, gram=here()).fit(X, classes)
    exact = SVC(KERNEL, gram=Dense()).fit(X, classes)
    assert np.allclose(model.decision_function(X), exact.decision_function(X), rtol=0, atol=1e-3)


# files ------------------------------------------------------------------------------------------------------


def test_files_are_sent_as_paths(filed):
    assert filed.source.filed
    assert len(pickle.dumps(filed)) < 2000
    again = pickle.loads(pickle.dumps(filed))
    assert np.array_equal(again.take(slice(3, 99)).X, X[3:99])


def test_row_groups_stay_together(filed):
    found = [rows.stop for rows in Layout.of(KERNEL, filed, 30).blocks]
    assert found in ([50, 100, 130], [50, 85, 130], [130])
    assert [rows.stop for rows in Layout.of(KERNEL, filed, 2).blocks][-1] == 130
    assert max(rows.stop - rows.start for rows in Layout.of(KERNEL, filed, 1).blocks) <= 16


@pytest.mark.parametrize("spec", [None, Nystrom(20), RandomFeatures(30)], ids=repr)
@pytest.mark.parametrize("kept", [True, False])
def test_samples_of_files_are_those_in_memory(spec, kept, filed, monkeypatch):
    if not kept:
        monkeypatch.setattr("mercer.gram.distributed._KEPT", 0)
    K = here(spec, 40).build(KERNEL, filed)
    F = KERNEL(X) if spec is None else None
    V = RNG.standard_normal((130, 2))
    if spec is None:
        assert np.allclose(K @ V, F @ V, rtol=0, atol=1e-12)
        assert np.allclose(K.rows(np.array([99, 1])), F[[99, 1]], rtol=0, atol=1e-13)
        return
    same = here(spec, 130).build(KERNEL, S)
    assert np.allclose(K @ V, same @ V, rtol=0, atol=1e-9)
    index = np.array([128, 0, 64, 3])
    assert np.array_equal(K.take(index).samples.X, X[index])
    assert K.residual_trace == pytest.approx(same.residual_trace, abs=1e-9)


@pytest.mark.parametrize("spec", [None, Nystrom(20)], ids=repr)
def test_workers_read_files_themselves(spec, filed, threads):
    solver = ConjugateGradient(1e-3) if spec is None else None
    models = [
        KernelRidge(KERNEL, alpha=1.0, gram=Distributed(address, 30, spec), solver=solver).fit(filed, filed.y)
        for address in ("here", threads)
    ]
    assert np.array_equal(models[0].dual_coef_, models[1].dual_coef_)


# the specification ------------------------------------------------------------------------------------------


def test_texts_come_back():
    spec = Distributed("tls://far:8786", block=1000, gram=Nystrom(50), workers=3, trusted=True)
    assert mercer.parse(repr(spec)) == spec
    assert clone(spec) == spec


def test_models_come_back_to_the_bit(tmp_path):
    model = KernelRidge(KERNEL, gram=here(Nystrom(20))).fit(X, Y)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.gram == model.gram


def test_grams_that_cannot_be_cut_are_refused():
    with pytest.raises(CapabilityError) as raised:
        here(Dense()).build(KERNEL, S)
    assert not unclear(raised.value)
    with pytest.raises(ParameterError, match="block"):
        Distributed("here", block=0).build(KERNEL, S)
    with pytest.raises(ParameterError, match="tls"):
        Distributed("tcp://far:1").build(KERNEL, S)


def test_memory_is_planned():
    assert here().plan(KERNEL, 10**6, 10) == Tiles().plan(KERNEL, 10**6, 10)
    assert here(Nystrom(50)).plan(KERNEL, 10**6, 10).total < 10**8


def test_blocks_are_fixed_by_the_samples_alone():
    assert [rows.stop for rows in Layout.of(Linear(), S, 50).blocks] == [50, 100, 130]


def test_workers_stay_while_they_are_kept(threads):
    spec = Distributed(threads, block=50)
    with spec.open() as crew:
        with spec.open() as same:
            assert same is crew
        KernelRidge(KERNEL, gram=spec, solver=ConjugateGradient(1e-2)).fit(X, Y)
        assert not crew.closed
    assert crew.closed


# clients, clusters and arrays of Dask -----------------------------------------------------------------------


def test_clients_clusters_and_arrays_of_dask_are_taken(threads, tmp_path):
    distributed, arrays = pytest.importorskip("distributed"), pytest.importorskip("dask.array")
    expected = KernelRidge(KERNEL, gram=here()).fit(X, Y)
    rows, targets = arrays.from_array(X, chunks=(40, 3)), arrays.from_array(Y, chunks=40)
    with distributed.Client(threads, set_as_default=False) as client:
        model = KernelRidge(KERNEL, gram=Distributed(client, block=30))
        assert np.array_equal(clone(model).fit(rows, targets).dual_coef_, expected.dual_coef_)
        assert client.submit(abs, -1).result() == 1  # it is left as it was
        mercer.save(model.fit(X, Y), tmp_path / "model")
    assert np.array_equal(mercer.load(tmp_path / "model").predict(X), expected.predict(X))
    with pytest.raises(ParameterError, match="address"):
        Distributed(8786).build(KERNEL, S)


def test_dask_arrays_are_read_block_by_block():
    arrays = pytest.importorskip("dask.array")
    read = []

    def block(block_info=None):
        (start, stop), _ = block_info[None]["array-location"]
        read.append(stop - start)
        return X[start:stop]

    rows = arrays.map_blocks(block, chunks=((40, 40, 40, 10), (3,)), dtype=float, meta=np.empty((0, 0)))
    stream = Stream.of(rows)
    assert stream.width == 3 and len(stream) == 130
    read.clear()
    model = KernelRidge(KERNEL, gram=Nystrom(20)).fit(stream, Y)
    held = KernelRidge(KERNEL, gram=Nystrom(20)).fit(X, Y)
    assert read and max(read) == 40
    np.testing.assert_allclose(model.predict(X), held.predict(X), rtol=0, atol=1e-9)


def test_a_fit_whose_workers_are_gone_keeps_its_checkpoint(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    for name, value in (("_SILENT", 0.1), ("_PATIENCE", 0.5), ("_LOOK", 0.05)):
        monkeypatch.setattr(cluster, name, value)
    monkeypatch.setattr(resuming, "_PAUSE", 0.0)
    expected = KernelRidge(KERNEL, alpha=1.0, gram=here()).fit(X, Y)
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": None}
    kept, products = Checkpoint(tmp_path / "fit", every=0), []
    with distributed.LocalCluster(n_workers=1, **options, local_directory=str(tmp_path)) as workers:
        times = DistributedGram.__matmul__

        def counted(self, V):
            products.append(1)
            if len(products) == 8:
                workers.scale(0)
            return times(self, V)

        monkeypatch.setattr(DistributedGram, "__matmul__", counted)
        model = KernelRidge(KERNEL, alpha=1.0, gram=Distributed(workers, block=30)).set_callbacks(kept)
        with warnings.catch_warnings(), pytest.raises(cluster.ClusterError, match="Checkpoint"):
            warnings.simplefilter("ignore")
            model.fit(X, Y)
        assert kept.found
    with distributed.LocalCluster(n_workers=1, **options, local_directory=str(tmp_path)) as workers:
        model.set_params(gram__address=workers).fit(X, Y)  # on another cluster: it goes on all the same
    assert kept.resumed and not kept.found
    assert np.array_equal(model.dual_coef_, expected.dual_coef_)

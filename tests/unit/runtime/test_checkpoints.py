"""States are kept, given back whole, and only to the computation that they belong to."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Stream, Strings
from mercer.errors import CheckpointError
from mercer.kernels import Gaussian
from mercer.numerics.block_conjugate import block_solve
from mercer.numerics.krylov import krylov_solve
from mercer.runtime.checkpoints import Store, digest
from mercer.runtime.tiling import Kept, kept_by
from tests.resuming import Memory, resumed

RNG = np.random.default_rng(0)


def test_without_a_store_nothing_is_kept():
    kept = kept_by(lambda iteration, residual: False, "Newton", y=1.0)
    assert kept.state is None and kept.seconds == 0.0
    kept.offer(lambda: pytest.fail("nobody asked for it"))
    kept.close(lambda: pytest.fail("nobody asked for it"))
    assert kept.recall(lambda: {"a": 1}) == {"a": 1} and kept.beside(dict) is kept


def test_states_are_copies():
    store = Store(every=0.0)
    a = np.arange(3.0)
    kept = store.open("1", "count", {})
    kept.beside(lambda: {"more": (1, "x", None)}).offer(lambda: {"a": a, "n": np.int64(4)})
    a[:] = 0.0
    again = Store(store.entries()).open("1", "count", {})
    assert again.state["a"].tolist() == [0.0, 1.0, 2.0] and again.state["n"] == 4
    assert again.state["beside"] == {"more": [1, "x", None]} and again.seconds >= 0.0


def test_states_wait_until_they_are_due():
    store = Store(every=60.0)
    kept = store.open("1", "count", {})
    kept.offer(lambda: pytest.fail("too early"))
    kept.close(lambda: {"i": 1})
    assert store.entries()["1"]["state"] == {"i": 1} and store.changed


def test_writing_follows_the_clock():
    written = []
    store = Store(write=written.append, every=0.0)
    place = store.open("1", "count", {})
    place.offer(lambda: {"i": 1})
    assert written[-1]["1"]["state"] == {"i": 1} and not store.changed
    store.flush()
    assert len(written) == 1
    later = Store({**store.entries(), "2": {"name": "other", "fields": {}, "seconds": 1.0, "state": {"j": 2}}})
    later.open("1", "count", {})
    assert set(later.entries()) == {"1", "2"}  # what this run has yet to come to is not lost


@pytest.mark.parametrize(
    "change, word", [({"name": "b"}, "state of a where"), ({"y": 3.0}, "another y"), ({"z": 1}, "z")]
)
def test_another_computation_is_refused(change, word):
    store = Store(every=0.0)
    store.open("1", "a", {"y": 2.0}).close(lambda: {"i": 1})
    fields = {"y": 2.0, **{k: v for k, v in change.items() if k != "name"}}
    with pytest.raises(CheckpointError, match=word):
        Store(store.entries()).open("1", change.get("name", "a"), fields)


def test_calls_are_recalled_in_order():
    def run(kept, upto):
        return [
            kept.recall(lambda i=i: {"v": np.array([i, count.append(i) or 0.5])}, i=i)["v"].tolist()
            for i in range(upto)
        ]

    count = []
    store = Store(every=0.0)
    assert run(store.open("1", "f", {}), 3) == [[0.0, 0.5], [1.0, 0.5], [2.0, 0.5]]
    kept = Store(store.entries()).open("1", "f", {})
    assert run(kept, 4)[3] == [3.0, 0.5] and count == [0, 1, 2, 3]
    other = Store(store.entries()).open("1", "f", {})
    other.recall(lambda: {"v": 7}, i=9)  # not what was asked for then
    assert other.recall(lambda: {"v": 8}, i=1) == {"v": 8}


@pytest.mark.parametrize(
    "a, b",
    [
        (np.zeros(2), np.zeros((2, 1))),
        (np.zeros(2), np.zeros(2, np.float32)),
        (np.zeros(2), -np.zeros(2)),
        ("a", b"a"),
        (Gaussian(1.0), Gaussian(2.0)),
        (sp.eye(3), sp.eye(3).tolil()[:, ::-1]),
        ([1, [2]], [[1], 2]),
        ({"a": 1}, {"b": 1}),
        (Strings.pack(["ab", "c"]), Strings.pack(["a", "bc"])),
        (None, 0),
        (np.array(["a", None], object), np.array(["a", "b"], object)),
        (np.random.RandomState(0), np.random.RandomState(1)),
        (np.float64(1.0), np.float64(2.0)),
    ],
)
def test_digests_tell_apart(a, b):
    assert digest(a) == digest(a) != digest(b)


def test_digests_see_values_not_layout():
    X = RNG.normal(size=(9000, 3))
    assert digest(np.asfortranarray(X)) == digest(X) == digest(X[::1]) != digest(X[::-1])
    pd = pytest.importorskip("pandas")
    assert (
        digest(pd.DataFrame({"a": [1.0]})) == digest(pd.DataFrame({"a": [1.0]})) != digest(pd.DataFrame({"b": [1.0]}))
    )


@pytest.mark.parametrize("interrupt", [1, 4, 100])
def test_krylov_and_blocks_go_on_to_the_same_bits(interrupt):
    A = RNG.normal(size=(40, 40))
    G, B = A @ A.T + 0.1 * np.eye(40), RNG.normal(size=(40, 3))
    scale = 1.0 / np.diag(G)[:, None]

    def krylov(monitor):
        kept = kept_by(monitor, "krylov", rhs=B)
        return krylov_solve(lambda V: G @ V, B, lambda R: scale * R, tol=1e-9, monitor=monitor, kept=kept)

    def block(monitor):
        return block_solve(lambda V: G @ V, B, tol=1e-9, monitor=monitor, kept=kept_by(monitor, "block", rhs=B))

    for run in (krylov, block):
        plain, again = run(None), resumed(run, interrupt, times=3)
        assert np.array_equal(plain.solutions, again.solutions) and plain.iterations == again.iterations
    assert isinstance(kept_by(Memory(), "x"), Kept)


def test_rows_that_are_read_in_blocks_are_told_apart():
    X = np.arange(12.0).reshape(6, 2)
    assert digest(Stream.of(X)) == digest(Stream.of(X.copy())) != digest(Stream.of(X + 1.0))

"""Values into trees and back: every kind of value, and every refusal."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains import Frames, Pairs, Samples, Similarities, Strings, Vectors, Whole
from mercer.errors import ModelError, ParameterError
from mercer.gram import Expansion, Tiles
from mercer.io.plain_values import DEEPEST, Reader, Writer, _remedy
from mercer.kernels import Gaussian, Kernel, Linear, Spectrum
from mercer.numerics.ragged import Ragged
from mercer.problems import Solution, Status, Trace
from mercer.solvers import ConjugateGradient


def there_and_back(value, classes=None):
    writer = Writer("a value")
    tree = json.loads(json.dumps(writer.value(value, "value"), allow_nan=False))
    return Reader(writer.tensors, classes or {}, "1.0").value(tree)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a.hex() == b.hex() or (math.isnan(a) and math.isnan(b))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a == b


@given(PLAIN)
def test_plain_values(value):
    assert same(value, there_and_back(value))


@pytest.mark.parametrize(
    "value",
    [
        tuple(f"word {i}" for i in range(40)),
        [f"w\ud800{i}é" for i in range(40)],
        tuple(range(-20, 20)),
        [0.1 * i for i in range(30)],
        (math.inf, *[0.5] * 20),
        (2**70, *range(20)),
        tuple([True] * 20),
        tuple([1, 2.0] * 10),
        ("a", b"\0\xff", (1, "b")),
    ],
    ids=str,
)
def test_long_sequences(value):
    assert same(value, there_and_back(value))


ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(10.0)[::2],
    np.arange(12).reshape(3, 4)[:, ::2],
    np.array(3.5),
    np.empty((0, 4)),
    np.array([1, 2], dtype=">i4"),
    np.array([1.5], dtype=np.float32),
    np.array([1.5], dtype=np.float16),
    np.array([True, False]),
    np.array([255], dtype=np.uint8),
    np.array([2**63], dtype=np.uint64),
    np.array(["a", "bcd", ""]),
    np.array([["ä", "b"], ["c", "☃"]]),
    np.array([b"ab", b"c"]),
    np.array(["x", "yy"], dtype=object),
    np.array(["x", "yy"], dtype=np.dtypes.StringDType()),
    np.array([1, "a", None, 2.5], dtype=object),
    np.array([np.nan, np.inf, -0.0]),
    np.empty(0, dtype="<U3"),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_arrays(array):
    found = there_and_back(array)
    assert found.shape == array.shape
    assert found.dtype == (array.dtype if array.dtype.kind == "T" else array.dtype.newbyteorder("="))
    assert found.tolist() == array.tolist() or array.dtype.kind == "f"
    assert array.dtype.kind != "f" or array.tobytes() == found.tobytes()
    if array.flags.f_contiguous and array.ndim == 2:
        assert found.flags.f_contiguous


@pytest.mark.parametrize(
    "scalar",
    [np.float64(0.1), np.float32(0.1), np.float16(0.5), np.int32(-3), np.uint64(2**63), np.bool_(True),
     np.float64("nan"), np.float32("-inf")],
)  # fmt: skip
def test_scalars(scalar):
    found = there_and_back(scalar)
    assert type(found) is type(scalar)
    assert found.tobytes() == scalar.tobytes()


def test_texts_of_numpy_become_texts():
    assert there_and_back(np.str_("a")) == "a"
    assert there_and_back(np.bytes_(b"a")) == b"a"


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
def test_sparse(kind):
    matrix = kind(np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 0.0]]))
    found = there_and_back(matrix)
    assert type(found) is kind
    assert (found != matrix).nnz == 0
    assert found.indices.dtype == matrix.indices.dtype


def test_chance_is_forgotten():
    for generator in (np.random.default_rng(0), np.random.RandomState(0), np.random.PCG64(0)):
        assert there_and_back([generator, 1]) == [None, 1]


def test_an_array_at_two_places_is_stored_once_and_shared():
    array = np.arange(5.0)
    writer = Writer("x")
    tree = writer.value({"a": array, "b": array, "c": array.copy()}, "root")
    assert len(writer.tensors) == 2
    found = Reader(writer.tensors, {}, "1").value(tree)
    assert found["a"] is found["b"] is not found["c"]


SPECS = [
    Gaussian(2.0),
    Gaussian((1.0, 2.0)),
    Gaussian(np.array([1.0, 2.0])),
    Gaussian("median"),
    0.5 * Gaussian(1.0) + Linear() ** 2 * Spectrum(3).normalized().on("s"),
    Linear().on(["a", 1]),
    Tiles(),
    ConjugateGradient(tol=1e-7),
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_specs(spec):
    assert there_and_back(spec) == spec


def equal_samples(a, b):
    return type(a) is type(b) and len(a) == len(b) and all(map(np.array_equal, a.arrays, b.arrays))


K = np.array([[2.0, 1.0], [1.0, 2.0]])
SAMPLES = [
    Vectors.pack([[1.0, 2.0]]),
    Vectors(np.ones((2, 2), dtype=np.float32), ("a", "b")),
    Vectors.pack(sp.csr_array([[0.0, 1.0], [0.0, 0.0]])),
    Strings.pack(["abc", "", "☃b"]),
    Strings.pack([[1, "a"], [(1, "b"), b"x"]]),
    Strings.pack(["abc", "de", "f"])[1:],
    Pairs.pack([("a", "b"), ("a", "c")], Strings.pack),
    Similarities.pack(K),
    Similarities.pack(K).landmarks(),
    Similarities.pack(K, diagonal=[1.0, 2.0]),
    Frames({"a": Strings.pack(["x", "y"]), ("b", 0): Vectors.pack(K), Whole(("c", (1,))): Vectors.pack(K)}),
]


@pytest.mark.parametrize("samples", SAMPLES, ids=repr)
def test_samples(samples):
    found = there_and_back(samples)
    assert equal_samples(samples, found)
    if isinstance(samples, Strings):
        assert found.vocabulary == samples.vocabulary
    if isinstance(samples, Frames):
        assert list(found.parts) == list(samples.parts)


def test_derived_data_are_computed_again_from_the_kernel():
    S = Spectrum(2).prepare(Strings.pack(["abab", "abc"]))
    f = Expansion(Spectrum(2), S, np.ones(2), np.asarray(0.0))
    found = there_and_back(f)
    assert set(found.samples.derived) == set(S.derived) != set()
    assert np.array_equal(found(S), f(S))
    assert not there_and_back(S).derived


def test_solutions_lose_their_state():
    solution = Solution(np.ones(2), Status.STALLED, 0.5, trace=Trace.of([(1.0, 2.0, 3.0)]), state=object())
    found = there_and_back(solution)
    assert found.state is None
    assert found.status is Status.STALLED
    assert found.trace.residual.tolist() == [2.0]


def test_rows_that_do_not_begin_at_zero():
    found = there_and_back(Ragged(np.arange(10), np.array([4, 6, 9], dtype=np.intp)))
    assert found.offsets.tolist() == [0, 2, 5]
    assert found.codes.tolist() == [4, 5, 6, 7, 8]


class Own(Kernel):
    domain = Vectors

    def __init__(self, power=1):
        self.power = power

    def block(self, A, B):
        return A.dot(B) ** self.power


@dataclass(frozen=True)
class Record:
    array: np.ndarray
    kernel: Kernel


def test_classes_of_a_user():
    found = there_and_back(Record(np.ones(2), Own(3)), {"user:Own": Own, "user:Record": Record})
    assert found.kernel == Own(3)
    assert found.array.tolist() == [1.0, 1.0]


class _Strange:
    pass


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda x: x, "function"),
        (np.log, "function 'log'"),
        (len, "function"),
        (Gaussian, "function 'Gaussian'"),
        (_Strange(), "_Strange"),
        ({1, 2}, "set"),
        (1j, "complex"),
        (np.array([1j]), "complex128"),
        (np.complex128(1j), "complex128"),
        (np.ma.masked_array([1.0], [True]), "masked"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "datetime64"),
        (sp.coo_array(np.eye(2)), "csr_array"),
        (10**301, "300 digits"),
        (Linear().of(np.log1p), "value.transform"),
    ],
)
def test_what_is_not_data_is_refused_with_its_place_and_a_remedy(value, words):
    with pytest.raises(ParameterError, match=words) as caught:
        Writer("KernelRidge").value(value, "value")
    assert "data only" in str(caught.value)
    assert "KernelRidge cannot be saved" in str(caught.value)


def test_depth_is_limited_both_ways():
    deep = tree = 1
    for _ in range(DEEPEST + 2):
        deep, tree = (deep,), [tree]
    with pytest.raises(ParameterError, match="deeply"):
        Writer("x").value(deep, "value")
    with pytest.raises(ModelError, match="levels"):
        Reader({}, {}, "1").value(tree)


TENSORS = {
    "bytes": np.frombuffer(b"abc", dtype=np.uint8),
    "offsets": np.array([0, 1, 3]),
    "backwards": np.array([0, 3, 1]),
    "beyond": np.array([0, 1, 99]),
    "table": np.ones((2, 2)),
    "line": np.ones(2),
    "indices": np.array([0, 7], dtype=np.int32),
    "indptr": np.array([0, 1, 2], dtype=np.int32),
}


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"strange": 1},
        {"float": "1.0"},
        {"float": []},
        {"scalar": ["complex128", 1.0]},
        {"scalar": ["float64", "evil"]},
        {"scalar": 3},
        {"bytes": "zz"},
        {"tuple": 3},
        {"dict": [[[], 1]]},
        {"dict": [1]},
        {"array": "none"},
        {"texts": ["bytes", "backwards"], "as": "list"},
        {"texts": ["bytes", "beyond"], "as": "list"},
        {"texts": ["bytes", "offsets"], "as": "<U1", "shape": [2]},
        {"texts": ["bytes", "offsets"], "as": "<U999999999", "shape": [2]},
        {"texts": ["bytes", "offsets"], "as": "|S999999999", "shape": [2]},
        {"texts": ["bytes", "offsets"], "as": "<f8", "shape": [2]},
        {"texts": ["bytes", "offsets"], "as": "object", "shape": [5]},
        {"objects": [1], "shape": [3]},
        {"sparse": "csr_array", "shape": [2, 2], "parts": ["line", "indices", "indptr"]},
        {"sparse": "csr_array", "shape": [2, 9], "parts": ["table", "indices", "indptr"]},
        {"sparse": "eval", "shape": [2, 9], "parts": ["line", "indices", "indptr"]},
        {"class": "kernel:Nothing", "params": {}},
        {"class": "kernel:Gaussian", "params": {"length_scale": -1.0}},
        {"class": "kernel:Gaussian", "params": {"width": 1.0}},
        {"class": "kernel:Gaussian", "params": [1.0]},
        {"class": "kernel:Gaussian"},
        {"class": "kernel:Spectrum", "params": {}},
        {"class": "kernel:Sum", "params": {"terms": {"tuple": [3]}}},
        {"class": "choice:Status", "fields": {}},
        {"choice": "kernel:Gaussian", "name": "check"},
        {"choice": "choice:Status", "name": "__class__"},
        {"class": "samples:Vectors", "fields": {"X": {"array": "line"}}},
        {"class": "samples:Vectors", "fields": {"X": {"array": "table"}, "derived": 1}},
        {"class": "samples:Strings", "fields": {}},
        {"class": "estimator:KernelRidge", "params": {}, "state": {"predict": 1}},
        {"class": "estimator:KernelRidge", "params": {}, "state": {"coef_": 1}},
        {"class": "estimator:KernelRidge", "params": {}, "state": {"__class__": 1}},
        {"class": "estimator:KernelRidge", "params": {"alpha": -1.0}, "state": {}},
        {"class": "estimator:KernelRidge", "params": {"nothing": -1.0}, "state": {}},
    ],
    ids=str,
)
def test_trees_that_nobody_wrote_are_errors(tree):
    with pytest.raises((ModelError, ValueError, KeyError, TypeError, AttributeError)):
        Reader(TENSORS, {}, "1").value(tree)


def test_missing_parameters_have_their_defaults():
    found = Reader({}, {}, "0.0").value({"class": "estimator:KernelRidge", "params": {}, "state": {}})
    assert found.alpha is None


def test_samples_are_samples():
    assert all(isinstance(samples, Samples) for samples in SAMPLES)


def test_the_remedy_fits_what_was_given():
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    from sklearn.preprocessing import StandardScaler

    assert _remedy(RBF(2.0)) == "Use mercer's kernel instead: Gaussian(2.0)."
    assert _remedy(WhiteKernel()) == "Leave it out."
    assert "Pipeline" in _remedy(StandardScaler())
    assert "classes of mercer" in _remedy(object())
    assert "Samples of any kind" in _remedy(Vectors.pack([[1.0]]))


@pytest.mark.parametrize("shape", [[2, -1], [2, 2**62], [2, 1.0], [2, True], [2, "2"]])
def test_sparse_matrices_have_a_shape(shape):
    parts = {"a": np.ones(1), "b": np.zeros(1, dtype=np.int32), "c": np.array([0, 1, 1], dtype=np.int32)}
    tree = {"sparse": "csr_array", "parts": ["a", "b", "c"], "shape": [2, 2]}
    assert Reader(parts, {}, "1").value(tree).shape == (2, 2)
    with pytest.raises(ModelError, match="a sparse matrix without a shape"):
        Reader(parts, {}, "1").value({**tree, "shape": shape})

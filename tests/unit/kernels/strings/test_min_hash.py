"""MinHash: nearly the Jaccard similarity, the same in every process, and a kernel by its features."""

import subprocess
import sys

import numpy as np
import pytest

from mercer.kernels import Jaccard, MinHash
from mercer.kernels.strings import min_hash as module
from mercer.testing import check_kernel

rng = np.random.default_rng(0)
SETS = [set(rng.choice(40, size=size, replace=False).tolist()) for size in (3, 10, 20, 20, 30, 30)]
WORDS = ["GATTACA", "GATTTACA", "", "TACA", "CAT"]
MEMBERS = {"MinHash": [MinHash(32), MinHash(32, length=2, bits=4)]}


@pytest.mark.parametrize("bits", [2, 16])
def test_is_nearly_the_jaccard_similarity(bits):
    count = 4000
    J = Jaccard()(SETS)
    K = MinHash(count, bits=bits)(SETS)
    expected = J + 2.0**-bits * (1.0 - J)
    assert np.abs(K - expected).max() <= 5.5 * 0.5 / np.sqrt(count)  # a standard deviation is at most half of a root


def test_substrings_are_elements():
    shingles = [{word[i : i + 3] for i in range(len(word) - 2)} for word in WORDS]
    K, J = MinHash(4000, length=3, bits=16)(WORDS), Jaccard()(shingles)
    assert np.abs(K - J).max() <= 5.5 * 0.5 / np.sqrt(4000)


@pytest.mark.parametrize("k", MEMBERS["MinHash"], ids=repr)
def test_obeys_the_laws(k):
    check_kernel(k, WORDS)


def test_features_are_indicators():
    k = MinHash(50, bits=5)
    F, _ = k.features(SETS)
    assert F.shape == (6, 50 * 32) and (np.diff(F.indptr) == 50).all()
    np.testing.assert_allclose((F @ F.T).toarray(), k(SETS), rtol=1e-12)


def test_is_the_same_in_every_process():
    code = "from mercer.kernels import MinHash; print(MinHash(200)([{'a', 'b', 'c'}], [{'b', 'c', 'd'}])[0, 0])"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(other.stdout) == MinHash(200)([{"a", "b", "c"}, {"z"}], [{"b", "c", "d"}])[0, 0]
    assert MinHash(200)([["b", "c", "d"]], [["d", "b", "c", "b"]])[0, 0] == 1.0


def test_loops_run_uncompiled():
    left, right, out = np.array([[1, 2], [3, 4]], np.uint16), np.array([[1, 5]], np.uint16), np.zeros((2, 1))
    module._count_equal.py_func(left, right, False, out)
    np.testing.assert_array_equal(out, [[0.5], [0.0]])

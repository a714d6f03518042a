"""Samples of any kind, held as they are."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer.domains import Objects, Vectors
from mercer.errors import DomainError

TABLE = {"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]}


@pytest.mark.parametrize(
    "data",
    [["x", {1}, None], np.arange(6).reshape(3, 2), sp.csr_array(np.eye(3)), pd.DataFrame(TABLE)],
    ids=["list", "array", "sparse", "frame"],
)
def test_rows_are_of_the_kind_of_the_data(data):
    S = Objects.pack(data)
    assert len(S) == 3
    for index in (slice(1, 3), np.array([1, 2])):
        part = S.take(index)
        assert type(part.data) is type(data) and len(part) == 2
        joined = S[:1].concat(part)
        assert type(joined.data) is type(data) and len(joined) == 3
    whole = [S.data, S[:1].concat(S[1:]).data]
    plain = [d.toarray() if sp.issparse(d) else np.asarray(d, dtype=object) for d in whole]
    np.testing.assert_array_equal(*plain)


def test_a_tuple_becomes_a_list():
    assert Objects.pack(("a", "b")).data == ["a", "b"]


@pytest.mark.parametrize("data", [[], 3.0, "text", {"a": [1]}, np.array(2.0)])
def test_what_has_no_samples_is_refused(data):
    with pytest.raises(DomainError, match="Objects are"):
        Objects.pack(data)


def test_a_packed_collection_keeps_its_domain():
    S = Objects.pack([1, 2])
    assert Objects.pack(S) is S
    with pytest.raises(DomainError):
        Objects.pack(Vectors.pack([[1.0]]))

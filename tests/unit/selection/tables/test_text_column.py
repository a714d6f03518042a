"""A column of texts some of which are missing."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer.errors import DomainError
from mercer.kernels import TfIdf
from mercer.selection import TextColumn

TABLE = {"x": [1.0, 2.0, 3.0, 4.0], "note": ["a red door", None, "the red wall", None]}


def test_tables_of_all_makers():
    for table in (TABLE, pd.DataFrame(TABLE), pl.DataFrame(TABLE)):
        assert TextColumn("note").fit_transform(table) == ["a red door", "missing", "the red wall", "missing"]
    with pytest.raises(DomainError, match="no column 'text'"):
        TextColumn("text").fit(TABLE)


def test_rows_without_a_text_are_alike():
    kernel = TfIdf().normalized().of(TextColumn("note").fit(TABLE))
    K = kernel.learn(kernel.pack(TABLE))(TABLE)
    words = TfIdf().normalized()
    texts = ["a red door", "missing", "the red wall", "missing"]
    np.testing.assert_allclose(K, words.learn(words.pack(texts))(texts), rtol=1e-12)
    assert K[1, 3] == pytest.approx(1.0) and K[0, 1] == 0.0 < K[0, 2]

"""One Hypothesis strategy per domain: raw data, as a user would give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.domains import Strings, Vectors

SPARSE_FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
FRAME_PARTS = {"gene": Strings.pack, ("age", "dose"): Vectors.pack, "words": Strings.pack}


def numbers(bound: float = 1e3, width: int = 64) -> st.SearchStrategy[float]:
    """Finite floats of ordinary size, zeros and repeats likely."""
    return st.one_of(
        st.sampled_from([0.0, 1.0, -1.0, 0.5]),
        st.floats(-bound, bound, allow_subnormal=False, width=width),
    )


@st.composite
def vectors(
    draw: st.DrawFn,
    dtype: Any = np.float64,
    min_samples: int = 1,
    max_samples: int = 8,
    width: int | None = None,
    bound: float = 1e3,
) -> np.ndarray:
    """``(n, d)`` array of finite numbers; of ``width`` columns, or of one to five."""
    n = draw(st.integers(min_samples, max_samples))
    d = draw(st.integers(1, 5)) if width is None else width
    bits = 32 if np.dtype(dtype) == np.float32 else 64
    return draw(arrays(dtype, (n, d), elements=numbers(bound, bits)))


@st.composite
def sparse_vectors(draw: st.DrawFn, min_samples: int = 1, max_samples: int = 8, width: int | None = None) -> Any:
    """Sparse matrix or array of any format, with 32-bit or 64-bit indices; COO may hold duplicates."""
    X = draw(vectors(min_samples=min_samples, max_samples=max_samples, width=width))
    X = np.where(draw(arrays(np.bool_, X.shape)), X, 0.0)
    row, column = np.nonzero(X)
    halves = draw(st.booleans())
    values = np.concatenate((X[row, column] / 2, X[row, column] / 2)) if halves else X[row, column]
    where = (np.tile(row, 1 + halves), np.tile(column, 1 + halves))
    container = draw(st.sampled_from([sp.coo_matrix, sp.coo_array]))
    matrix = container((values, where), shape=X.shape).asformat(draw(st.sampled_from(SPARSE_FORMATS)))
    if matrix.format in ("csr", "csc"):
        index = draw(st.sampled_from([np.int32, np.int64]))
        matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return matrix


def texts(alphabet: str | None = None, max_length: int = 12) -> st.SearchStrategy[str]:
    """Texts over an alphabet, or over a few letters, NUL, a lone surrogate and what lies beyond 16 bits."""
    return st.text(alphabet or "abcA\0\ud800é\U0001f600", max_size=max_length)


def strings(
    min_samples: int = 1, max_samples: int = 8, alphabet: str | None = None, max_length: int = 12
) -> st.SearchStrategy[list[Any]]:
    """List of texts, or of tuples of words and integers; with an alphabet, texts over it only."""
    size = {"min_size": min_samples, "max_size": max_samples}
    written = st.lists(texts(alphabet, max_length), **size)
    if alphabet is not None:
        return written
    symbols = st.one_of(st.sampled_from(["to", "be", "or", "not"]), st.integers(0, 3), st.binary(max_size=1))
    return st.one_of(written, st.lists(st.lists(symbols, max_size=max_length).map(tuple), **size))


@st.composite
def similarities(draw: st.DrawFn, min_samples: int = 1, max_samples: int = 8, square: bool | None = None) -> np.ndarray:
    """Symmetric positive semi-definite ``(n, n)`` matrix, or (unless ``square``) some of its rows."""
    X = draw(vectors(min_samples=min_samples, max_samples=max_samples, bound=10.0))
    X = np.where(np.abs(X) < 1e-150, 0.0, X)  # squares that underflow would leave a matrix that is not definite
    K = X @ X.T
    if square or (square is None and draw(st.booleans())):
        return (K + K.T) / 2
    return K[: draw(st.integers(min_samples, len(K)))]


@st.composite
def frames(draw: st.DrawFn, min_samples: int = 1, max_samples: int = 8) -> dict[str, list[Any]]:
    """Table with the columns of ``FRAME_PARTS``: a text, two numbers, a sequence of words."""
    n = draw(st.integers(min_samples, max_samples))
    columns = {
        "gene": texts("ACGT"),
        "age": numbers(),
        "dose": numbers(),
        "words": st.lists(st.sampled_from(["to", "be"]), max_size=4),
    }
    return {name: draw(st.lists(column, min_size=n, max_size=n)) for name, column in columns.items()}


def pairs(min_samples: int = 1, max_samples: int = 8, alphabet: str = "abc") -> st.SearchStrategy[list[Any]]:
    """List of tuples of two texts; repeated objects are likely."""
    text = st.text(alphabet, max_size=3)
    return st.lists(st.tuples(text, text), min_size=min_samples, max_size=max_samples)

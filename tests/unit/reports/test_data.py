"""Facts about data."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import KernelMeanClassifier, KernelRidge
from mercer.kernels import Gaussian, Linear, Precomputed, Spectrum, SubsetTree, TfIdf, VertexHistogram
from mercer.reports.data import describe
from mercer.reports.subject import NotApplicable, Subject

rng = np.random.default_rng(0)


def facts_of(model, X, y):
    return describe(Subject.of(model.fit(X, y), X, y))


def test_columns_of_numbers():
    X = np.array([[1.0, 5.0, 0.0], [2.0, 5.0, 1e5], [3.0, 5.0, 2e5], [1.0, 5.0, 0.0]])
    facts = facts_of(KernelRidge(Gaussian(1.0)), X, [0.0, 1.0, 2.0, 3.0])
    first = facts.columns[0]
    assert (facts.n_samples, facts.n_columns, facts.domain) == (4, 3, "vectors")
    assert (first.low, first.middle, first.high, first.mean) == (1.0, 1.5, 3.0, 1.75)
    assert first.deviation == pytest.approx(X[:, 0].std())
    assert facts.constant == ("column 1",)
    assert (facts.duplicates, facts.conflicts) == (1, 1)
    assert facts.scale_ratio == pytest.approx(X[:, 2].std() / X[:, 0].std())
    assert facts.target.kind == "numbers"
    assert len(facts.remarks) == 4


def test_a_table_of_all_kinds():
    frame = pd.DataFrame(
        {
            "age": [1.0, np.nan, 3.0, 4.0],
            "city": ["Rome", "Rome", None, "Oslo"],
            "gene": ["AC", "CA", "AA", "CC"],
            "flag": [True, False, True, True],
        }
    )
    facts = facts_of(KernelRidge(Spectrum(1).on("gene")), frame, [0.0, 1.0, 2.0, 3.0])
    by_name = {column.name: column for column in facts.columns}
    assert facts.missing == 2
    assert by_name["age"].missing == by_name["city"].missing == 1
    assert by_name["city"].kind == "category"
    assert by_name["city"].common == "Rome"
    assert by_name["flag"].kind == "number"
    assert [name for name, column in by_name.items() if column.is_read] == ["gene"]
    assert facts.details == () and by_name["gene"].kind == "category"
    assert "2 values missing." in facts.remarks


@pytest.mark.parametrize("table", [pl.DataFrame, dict])
def test_other_tables(table):
    data = table({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "x", "y", "y"]})
    facts = facts_of(KernelRidge(Gaussian(1.0).on(["a"])), data, [0.0, 1.0, 2.0, 3.0])
    assert [column.name for column in facts.columns] == ["a", "b"]
    assert facts.n_columns == 2


def test_sparse_and_wide_data():
    X = sp.random_array((30, 60), density=0.2, rng=rng, format="csr")
    facts = facts_of(KernelRidge(Linear()), X, rng.normal(size=30))
    assert facts.domain == "vectors (sparse)"
    assert facts.n_columns == 60
    assert len(facts.columns) == 40
    assert facts.more_columns == 20
    assert facts.duplicates == 0


def test_columns_without_entries_take_neither_time_nor_memory():
    X = sp.csr_array((np.arange(1.0, 7.0), ([0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 10**8 - 1])), shape=(6, 10**8))
    facts_of(KernelRidge(Linear()), X, rng.normal(size=6))
    tracemalloc.start()
    facts = facts_of(KernelRidge(Linear()), X, rng.normal(size=6))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * 10**7  # a number for each column would take sixteen times as much
    assert facts.n_columns == 10**8 and not facts.columns[0].is_constant and facts.columns[2].is_constant


def test_strings():
    facts = facts_of(KernelRidge(Spectrum(1)), ["ab", "", "ab", "abc"], [0.0, 1.0, 0.0, 1.0])
    assert facts.columns == ()
    assert facts.domain == "strings"
    assert dict(facts.details)["empty"] == "1 string"
    assert (facts.duplicates, facts.conflicts) == (1, 0)


def test_texts_trees_and_graphs():
    texts = ["the cat sat", "the dog", "", "the cat sat"]
    facts = facts_of(KernelRidge(TfIdf()), texts, [0.0, 1.0, 2.0, 3.0])
    details = dict(facts.details)
    assert facts.domain == "texts" and details["words"] == "4 different" and details["empty"] == "1 text"
    assert (facts.duplicates, facts.conflicts) == (1, 1)
    trees = ["(S (NP we) (VP go))", "(S (NP we))", "()", "(S (NP we))"]
    facts = facts_of(KernelRidge(SubsetTree()), trees, [0.0, 1.0, 2.0, 1.0])
    details = dict(facts.details)
    assert facts.domain == "trees" and details["nodes"].startswith("0 to 5") and details["empty"] == "1 tree"
    assert (facts.duplicates, facts.conflicts) == (1, 0)
    ring = {"edges": [(0, 1), (1, 2), (2, 0)], "labels": ["C", "C", "O"], "edge_labels": [1, 2, 1]}
    path = {"edges": [(0, 1), (1, 2)], "labels": ["C", "C", "O"], "directed": True}
    graphs = [ring, path, ring]
    facts = facts_of(KernelMeanClassifier(VertexHistogram()), graphs, ["a", "b", "a"])
    details = dict(facts.details)
    assert facts.domain == "graphs" and details["arcs"].startswith("2 to 6") and details["directed"] == "1 graph"
    assert details["labels of edges"] == "2 different" and (facts.duplicates, facts.conflicts) == (1, 0)
    with_numbers = [{"edges": [(0, 1)], "attributes": [[1.0], [2.0]]}, {"edges": [], "nodes": 0}]
    details = dict(facts_of(KernelRidge(VertexHistogram()), with_numbers, [0.0, 1.0]).details)
    assert details["numbers of each node"] == "1" and details["empty"] == "1 graph"


def test_similarities():
    K = np.diag([1.0, 2.0, 3.0])
    facts = facts_of(KernelRidge(Precomputed()), K, [0.0, 1.0, 2.0])
    assert facts.columns == ()
    assert facts.duplicates is None
    assert ("self-similarity", "1 to 3") in facts.details


def test_class_balance():
    y = ["common"] * 30 + ["rare"] * 2
    facts = facts_of(KernelMeanClassifier(Gaussian(1.0)), rng.normal(size=(32, 1)), y)
    assert facts.target.classes == (("common", 30, 30 / 32), ("rare", 2, 2 / 32))
    assert any("unbalanced" in remark for remark in facts.remarks)


def test_huge_numbers_do_not_overflow():
    X = np.array([[1e300], [-1e300], [5e299]])
    facts = facts_of(KernelRidge(Gaussian(1e300)), X, [0.0, 1.0, 2.0])
    assert np.isfinite(facts.columns[0].deviation)


def test_without_data_there_are_no_facts():
    with pytest.raises(NotApplicable, match="no data"):
        describe(Subject.of(KernelRidge(Gaussian(1.0)).fit([[0.0], [1.0]], [0.0, 1.0])))

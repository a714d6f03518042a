"""From files to what estimators take."""

import numpy as np
import pytest
from click.testing import CliRunner

from mercer import SVM2K, LaplacianRidge, LaplacianSVC, LinkPropagation, MultiTaskRidge, NuclearNormRegressor
from mercer.cli import inputs as module
from mercer.cli.application import application
from mercer.cli.failures import UsageFault
from mercer.cli.inputs import (
    as_target,
    column_kinds,
    is_known,
    open_data,
    pose,
    reading,
    samples,
    selected_columns,
    takes_unknown,
    usable_columns,
)
from mercer.errors import DomainError
from mercer.io.limits import FileBudgetError, FileError
from mercer.kernels import Gaussian, Linear, Match, PartialTree, Precomputed, Spectrum, TfIdf, WeisfeilerLehman
from tests.unit.cli.commandline import run, write_fasta, write_svmlight, write_table, write_trees, write_tu


@pytest.fixture
def table(tmp_path):
    return open_data(write_table(tmp_path / "t.csv", n=20))


def test_columns_that_a_kernel_names():
    kernel = 0.5 * Gaussian(1.0).on(["b", "a"]) * (Match().on("c") + 1.0) + Spectrum(2).on("d") + Linear().on([0])
    assert selected_columns(kernel) == ("b", "a", "c", "d", 0)
    assert selected_columns(Gaussian(1.0)) == selected_columns(None) == ()
    assert column_kinds(kernel) == {"c": "category", "d": "text"}
    assert column_kinds(Match().normalized().on("zip")) == {"zip": "category"}
    assert column_kinds(TfIdf().on("a") + PartialTree().on("b")) == {"a": "text", "b": "text"}


def test_columns_that_an_estimator_reads():
    k = Linear().on(["a"])
    for estimator in (MultiTaskRidge(k, task="school"), NuclearNormRegressor(k, task="school")):
        assert selected_columns(reading(estimator)) == ("school", "a")
        table = {"a": np.arange(4.0), "school": ["x", "y", "x", "y"]}
        fitted = estimator.fit(table, np.arange(4.0))
        assert set(selected_columns(reading(fitted, fitted=True))) == {"school", "a"}
        packed = reading(estimator).pack(table)
        assert np.allclose(fitted.predict(packed), fitted.predict(table))
    two = SVM2K((k, Gaussian(1.0).on(["b"])))
    assert selected_columns(reading(two)) == ("a", "b")
    assert reading(MultiTaskRidge(Linear())) == Linear() and reading(None) is None


def test_numbers_that_are_meant_as_categories_stay_texts(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("zip,y\n01,1.5\n02,2.5\n01,3.5\n")
    data = open_data(path, kinds=column_kinds(Match().on("zip")))
    X, used = samples(data, Match().on("zip"))
    assert X == {"zip": ["01", "02", "01"]} and used == ("zip",)


def test_a_target_is_split_off(table):
    problem = pose(table, "y", None, None, drop=False)
    assert problem.n == 20 and problem.y.dtype == float and "y" not in problem.data.names
    part = problem.take(np.array([3, 1]))
    assert part.n == 2 and part.y[0] == problem.y[3]
    assert pose(table, None, None, None, drop=False).y is None


def test_whole_numbers_are_written_without_a_point():
    assert as_target(np.array([1.0, 2.0])).dtype == np.int64
    assert as_target(np.array([1.5, 2.0])).dtype == float
    assert as_target(np.array([1e300])).dtype == float


def test_missing_values_are_refused_or_left_out(tmp_path):
    table = open_data(write_table(tmp_path / "t.csv", n=20, missing=(3, 7)))
    with pytest.raises(FileError, match=r"2 of 20 rows miss a value .*'age' 2.*--missing drop") as refused:
        pose(table, "y", None, None, drop=False)
    assert refused.value.line == 5
    problem = pose(table, "y", None, None, drop=True)
    assert problem.n == 18 and problem.dropped == 2 and len(problem.y) == 18
    assert pose(table, "y", None, ["dose"], drop=False).n == 20  # a column that is not used may miss values


def test_nothing_left(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n,1,1\n2,,2\n,3,3\n4,,4\n")
    with pytest.raises(FileError, match="All 4 rows"):
        pose(open_data(path), "y", None, None, drop=True)


def test_usable_columns(table):
    assert usable_columns(table) == ["age", "dose", "smoker", "city", "note", "y", "group"]
    with pytest.raises(FileError, match=r"columns 'agee', 'qq' are missing.*is 'age' meant by 'agee'\?"):
        usable_columns(table, ["dose", "agee", "qq"])


def test_labels_in_a_table_of_their_own(tmp_path):
    data = open_data(write_fasta(tmp_path / "p.fasta", n=4))
    labels = tmp_path / "labels.csv"
    labels.write_text("id,kind\ns3,d\ns1,b\ns0,a\ns2,c\n")
    problem = pose(data, None, labels, None, drop=False)
    assert problem.y.tolist() == ["a", "b", "c", "d"] and problem.target == "kind"
    labels.write_text("kind,more\nw,1.5\nx,2.5\ny,3.5\nz,4.5\n")
    assert pose(data, "kind", labels, None, drop=False).y.tolist() == ["w", "x", "y", "z"]
    with pytest.raises(UsageFault, match="--target"):
        pose(data, None, labels, None, drop=False)
    labels.write_text("kind\nw\nx\nw\n")
    with pytest.raises(FileError, match="3 labels for the 4 samples"):
        pose(data, "kind", labels, None, drop=False)
    labels.write_text("id,kind\ns3,d\ns1,b\ns0,a\ns9,c\n")
    with pytest.raises(FileError, match=r"1 samples .* the first is 's2'"):
        pose(data, None, labels, None, drop=False)
    with pytest.raises(FileError, match="labels are a table"):
        pose(data, None, write_fasta(tmp_path / "l.fasta", n=4), None, drop=False)


def test_formats_with_a_place_for_targets(tmp_path):
    sparse = pose(open_data(write_svmlight(tmp_path / "a.svmlight")), None, None, None, drop=False)
    assert sparse.target == "label" and set(sparse.y) == {-1, 1}
    fasta = open_data(write_fasta(tmp_path / "a.fasta"))
    assert set(pose(fasta, "family", None, None, drop=False).y) == {"a", "b"}
    assert pose(fasta, None, None, None, drop=False).target == "family"  # the only field
    (tmp_path / "b.fasta").write_text(">a\nGAT\n>b\nTAG\n")
    assert pose(open_data(tmp_path / "b.fasta"), None, None, None, drop=False).y is None


def test_structures_with_a_place_for_targets(tmp_path):
    graphs = pose(open_data(write_tu(tmp_path / "TOY")), None, None, None, drop=False)
    assert graphs.target == "label" and set(graphs.y) == {-1, 1} and graphs.n == 20
    trees = pose(open_data(write_trees(tmp_path / "bank")), None, None, None, drop=False)
    assert trees.target == "folder" and set(trees.y) == {"sits", "runs"} and trees.data.targets == ()
    with pytest.raises(FileError, match="no target 'kind'; the file has 'folder'"):
        pose(open_data(tmp_path / "bank"), "kind", None, None, drop=False)


def test_samples_by_domain(table):
    rest = table.drop("y", "group")
    X, used = samples(rest, None)
    assert X.shape == (20, 3) and used == ("age", "dose", "smoker") and set(X[:, 2]) == {0.0, 1.0}
    assert samples(rest, "rbf")[0].shape == (20, 3)
    assert samples(rest, Linear(), ("dose",))[0].shape == (20, 1)
    assert samples(rest, Spectrum(2))[1] == ("note",)
    X, used = samples(rest, Gaussian(1.0).on([1]) + Match().on("city"))
    assert used == ("age", "city") and len(X["city"]) == 20
    for kernel, message in (
        (Gaussian(1.0).on([99]), "column 99"),
        (Spectrum(2).on("nota"), "is 'note' meant"),
    ):
        with pytest.raises((UsageFault, FileError), match=message):
            samples(rest, kernel)
    assert samples(rest, TfIdf() + Spectrum(2))[1] == samples(rest, TfIdf())[1] == ("note",)
    assert samples(rest, TfIdf().on("note") + Match().on("city"))[1] == ("note", "city")
    for kernel in (Precomputed(), WeisfeilerLehman()):
        with pytest.raises(DomainError, match="table does not hold"):
            samples(rest, kernel)
    with pytest.raises(UsageFault, match="2 columns"):
        samples(open_two_texts(table), Spectrum(2))


def open_two_texts(table):
    path = table.path.with_name("two.csv")
    path.write_text("a,b\n" + "".join(f"first text {i},second one {i * 7}\n" for i in range(30)))
    return open_data(path)


def test_tables_without_numbers(tmp_path, table):
    with pytest.raises(FileError, match="no column of numbers"):
        samples(table.select(["city"]), Linear())
    with pytest.raises(FileError, match="does not hold numbers"):
        samples(table, Linear(), ("city",))


def test_the_memory_budget_holds_for_reading(tmp_path):
    with pytest.raises(FileBudgetError, match="memory"):
        open_data(write_table(tmp_path / "t.csv"), module.Reading(memory="1kB"))


def test_data_may_be_piped_in(tmp_path):
    def piped(*words, data, code=0):
        result = CliRunner().invoke(application, list(map(str, words)), prog_name="mercer", input=data)
        module._piped.cache_clear()
        assert result.exit_code == code, result.output
        return result

    data = write_table(tmp_path / "t.csv", n=30).read_bytes()
    assert "30 samples" in piped("check", "-", data=data).stdout
    piped("fit", "-", "-t", "y", "-o", tmp_path / "m.mercer", "--no-report", data=data)
    lines = piped("predict", tmp_path / "m.mercer", "-", data=data).stdout.splitlines()
    assert lines == run("predict", tmp_path / "m.mercer", tmp_path / "t.csv").stdout.splitlines()
    assert "-o model.mercer" in piped("fit", "-", "-t", "y", data=data, code=2).stderr
    assert "empty" in piped("check", "-", data=b"", code=3).stderr


def test_targets_that_are_missing_are_unknown_where_an_estimator_learns_from_them(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("u,class,score\n0.0,a,1.5\n0.1,,\n3.0,b,2.5\n3.1,,\n")
    data = open_data(path)
    labels = pose(data, "class", None, ["u"], drop=False, unknown=True)
    assert labels.n == 4 and labels.y.tolist() == ["a", None, "b", None]
    numbers = pose(data, "score", None, ["u"], drop=False, unknown=True).y
    assert np.array_equal(numbers, [1.5, np.nan, 2.5, np.nan], equal_nan=True)
    assert is_known(LaplacianSVC(unlabelled=None), labels.y).tolist() == [True, False, True, False]
    assert is_known(LaplacianSVC(), np.array([-1, 0, 1])).tolist() == [False, True, True]
    assert all(takes_unknown(one) for one in (LinkPropagation(), LaplacianRidge(), LaplacianSVC(unlabelled=None)))
    assert not takes_unknown(MultiTaskRidge()) and not takes_unknown(LaplacianSVC())
    with pytest.raises(FileError, match="miss a value"):
        pose(data, "class", None, ["u"], drop=False)

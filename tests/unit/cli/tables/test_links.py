"""Tables of pairs: what is read, the same links as in Python, scores of pairs, and what is refused."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.cli.tables.links import Links
from mercer.estimators import LinkPropagation
from mercer.io.limits import FileError
from mercer.io.model_file import load
from mercer.io.readers import read
from mercer.kernels import Gaussian
from tests.unit.cli.commandline import run, run_json, write_fasta

MACHINE = "LinkPropagation(Gaussian(1.0), columns='rows', n_neighbors=4)"


@pytest.fixture
def files(tmp_path):
    """Sixteen people on a line; those of the same half know each other, and half of all pairs are listed."""
    rng = np.random.default_rng(0)
    names, place = [f"p{i}" for i in range(16)], np.arange(16.0) + 20.0 * (np.arange(16) >= 8)
    pairs = [(i, j) for i, j in combinations(range(16), 2) if rng.random() < 0.5]
    listed, nodes = tmp_path / "pairs.csv", tmp_path / "nodes.csv"
    rows = [f"{names[i]},{names[j]},{int((i < 8) == (j < 8))}" for i, j in pairs]
    listed.write_text("\n".join(["one,other,knows", *rows]) + "\n")
    nodes.write_text("\n".join(["name,place", *map("{},{}".format, names, place)]) + "\n")
    return listed, nodes, pairs, place


def table_of(pairs):
    Y = np.full((16, 16), np.nan)
    for i, j in pairs:
        Y[i, j] = Y[j, i] = float((i < 8) == (j < 8))
    return Y


def test_the_links_are_those_of_python(files):
    listed, nodes, pairs, place = files
    told = run_json("fit", listed, "-t", "knows", "--links", "one,other", "--nodes", nodes, "-e", MACHINE)
    assert told["scores"]["roc_auc"] == 1.0 and told["files"]["report"] is None
    model = load(listed.with_suffix(".mercer"))
    twin = LinkPropagation(Gaussian(1.0), columns="rows", n_neighbors=4).fit(place[:, None], table_of(pairs))
    assert np.allclose(model.transduction_, twin.transduction_, rtol=0.0, atol=1e-4)  # a hundred times tol
    new = listed.with_name("new.csv")
    new.write_text("one,other\np0,p7\np0,p15\np15,p0\n")
    found = run_json("predict", listed.with_suffix(".mercer"), new)["columns"]
    assert found["one"] == ["p0", "p0", "p15"] and found["other"] == ["p7", "p15", "p0"]
    assert np.array_equal(found["prediction"], model.transduction_[[0, 0, 15], [7, 15, 0]])
    assert found["prediction"][0] > found["prediction"][1]
    judged = run_json("predict", listed.with_suffix(".mercer"), listed)
    assert judged["scores"]["r2"] > 0.8


def test_without_attributes_links_make_the_graph(files):
    listed, _, pairs, _ = files
    told = run_json("fit", listed, "-t", "knows", "--links", "one, other", "-e", "LinkPropagation(columns='rows')")
    assert told["scores"]["roc_auc"] > 0.9 and "positive number" in told["steps"][0]
    model = load(listed.with_suffix(".mercer"))
    known = model.data_["rows"]
    order = [known.index(f"p{i}") for i in range(16)]
    Y = table_of(pairs)
    A = sp.csr_array(np.nan_to_num(Y))
    twin = LinkPropagation(columns="rows", graph=A).fit(np.arange(16.0)[:, None], Y)
    assert np.allclose(model.transduction_[np.ix_(order, order)], twin.transduction_, rtol=0.0, atol=1e-4)


def test_an_edge_list_has_no_numbers(files):
    listed, _, _, _ = files
    kept = [line.rpartition(",")[0] for line in listed.read_text().splitlines() if not line.endswith(",0")]
    listed.write_text("\n".join(kept) + "\n")
    told = run_json("fit", listed, "--links", "one,other", "-e", "LinkPropagation(columns='rows')")
    assert "same number" in told["validation"] and told["target"] is None
    new = listed.with_name("new.csv")
    new.write_text("one,other\np0,p7\np0,p15\n")
    near, far = run_json("predict", listed.with_suffix(".mercer"), new)["columns"]["prediction"]
    assert near > far


def test_pairs_of_two_kinds_and_unknown_numbers(files):
    listed, nodes, _, _ = files
    listed.write_text("who,what,liked\np0,tea,1\np1,tea,\np15,tea,0\np15,rum,1\np0,rum,0\n")
    text = "LinkPropagation(Gaussian(1.0), n_neighbors=2)"
    run("fit", listed, "-t", "liked", "--links", "who,what", "--nodes", nodes, "-e", text)
    model = load(listed.with_suffix(".mercer"))
    assert model.transduction_.shape == (16, 2) and model.data_["others"] == ["tea", "rum"]
    new = listed.with_name("new.csv")
    new.write_text("who,what\np1,tea\np14,tea\n")
    near, far = run_json("predict", listed.with_suffix(".mercer"), new)["columns"]["prediction"]
    assert near > far


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        (["--links", "one,other"], "No --estimator was given", 2),
        (["--links", "one,other", "-e", "KernelRidge()"], "KernelRidge was given with --links", 2),
        (["--links", "one", "-e", MACHINE], "two columns", 2),
        (["--links", "one,knows", "-e", MACHINE], "none of which is the target", 2),
        (["--links", "one,othr", "-e", MACHINE], "is 'other' meant", 3),
        (["--links", "one,other", "-e", "LinkPropagation()"], "nodes of two kinds", 2),
        (["--links", "one,other", "-e", MACHINE, "--weights", "knows"], "--weights was given with --links", 2),
        (["--nodes", "pairs.csv", "-e", "KernelRidge()"], "without --links", 2),
    ],
)
def test_what_the_command_refuses(files, options, said, code):
    assert said in run("fit", files[0], "-t", "knows", *options, code=code).stderr


def test_what_files_lack(files, tmp_path):
    listed, nodes, _, _ = files
    fit = ["fit", listed, "-t", "knows", "--links", "one,other", "--nodes", nodes, "-e", MACHINE]
    described = nodes.read_text()
    for text, said in (
        (described.replace("p3,", "q3,"), "'p3' is none of the 16 nodes"),
        (described + "p3,1.0\n", "there twice"),
        (described.replace("p3,3.0", "p3,"), "missing"),
        ("name,word\np0,a\np1,b\n", "no column of numbers"),
    ):
        nodes.write_text(text)
        assert said in run(*fit, code=3).stderr
    nodes.write_text(described)
    run(*fit)
    new = listed.with_name("new.csv")
    new.write_text("one,other\np0,stranger\n")
    assert "'stranger' is none of the 16 nodes" in run("predict", listed.with_suffix(".mercer"), new, code=3).stderr
    listed.write_text("one,other,knows\np0,p1,yes\np0,p2,no\np1,p2,yes\n")
    assert "Write 0 and 1" in run(*fit, "-f", code=2).stderr
    genes = write_fasta(tmp_path / "g.fasta")
    assert "names columns" in run("fit", genes, "--links", "a,b", "-e", MACHINE, code=2).stderr


def test_pieces(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,v\n1,2,1.5\n2,1,1.5\n3,3,2.0\n1,3,\n")
    links = Links.of(read(path), ["a", "b"])
    assert links.rows == ("1", "2", "3") and links.within and links.targets == ("v",)
    y = np.array([1.5, 1.5, 2.0, np.nan])
    assert links.known(y).toarray().tolist() == [[0.0, 1.5, 0.0], [1.5, 0.0, 0.0], [0.0, 0.0, 2.0]]
    assert links.take([2]).known(y[2:3]).nnz == 1 and "4 samples, pairs of 3 nodes" in repr(links)
    assert links.take([0]).split_target("v")[1].tolist() == [1.5] and links.X.shape == (4, 2)
    y[1] = 0.5
    with pytest.raises(FileError, match=r"line 3.*'2' and '1' has the number 0\.5, and 1\.5 .* no direction"):
        links.known(y)
    apart = Links.of(read(path), ["a", "b"], within=False)
    assert np.array_equal(apart.known(y).toarray(), np.diag([1.5, 0.5, 2.0]))
    assert apart.others == ("2", "1", "3") and "pairs of 3 and 3 nodes" in repr(apart)

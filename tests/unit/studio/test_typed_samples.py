"""What is offered for a sample that is typed, and what a model says of it."""

import json

import pytest

import mercer
from mercer.errors import MercerError, ParameterError
from mercer.studio import typed_samples
from mercer.studio.user_files import dataset
from tests.unit.cli.commandline import run, write_fasta
from tests.unit.studio.copied import fitted


def test_a_typed_sample_is_predicted(known):
    fitted(known)
    model = mercer.load(f"{known['room']}/model.mercer")
    told = typed_samples.predict({**known, "sample": {"a": "1.5", "b": "1.25"}})
    assert told["prediction"] == model.predict([[1.5, 1.25]])[0] == "u"
    for bad in ({}, {"a": "1"}, {"a": 1, "b": 2}, None):
        with pytest.raises(ParameterError, match="Fill in"):
            typed_samples.predict({**known, "sample": bad})
    with pytest.raises(MercerError):
        typed_samples.predict({**known, "sample": {"a": "one", "b": "2"}})


def test_what_is_offered_for_a_sample_can_be_predicted(known, tmp_path):
    """Truth values as the file spells them, the most frequent category, a missing value, a text, a number."""
    words = [
        ("Yes" if i % 3 == 0 else "No", "" if i == 0 else "pqr"[i * i % 3], "word " * (i % 4 + 1)) for i in range(30)
    ]
    rows = [f"{i},{b},{c},{t}{i},{'uv'[i % 2]}" for i, (b, c, t) in enumerate(words)]
    (tmp_path / "a.csv").write_text("\n".join(["n,b,c,t,y", *rows]) + "\n")
    kernel = "Gaussian(3.0).on(['n', 'b']) + Match().on('c') + TfIdf().on('t')"
    run("fit", known["path"], "--target", "y", "-e", f"SVC({kernel})", "--folds", "0", "--no-report", "-o",
        f"{known['room']}/model.mercer", "--force", "--missing", "drop")  # fmt: skip
    offered = typed_samples.inputs_of(mercer.load(tmp_path / "model.mercer"), dataset(known))
    assert {one["name"]: (one["usual"], one["choices"]) for one in offered} == {
        "n": ("14.5", []), "b": ("No", ["No", "Yes"]), "c": ("q", ["p", "q"]), "t": ("word 0", []),
    }  # fmt: skip
    sample = {one["name"]: one["usual"] for one in offered}
    assert typed_samples.predict({**known, "sample": sample})["prediction"] in ("u", "v")


GRAPHS = [
    {"graph": {"ring": "yn"[i % 2]}, "nodes": [{"id": j, "label": "CO"[j % 2]} for j in range(4)],
     "links": [{"source": j, "target": (j + 1) % 4} for j in range(4 - i % 2)]}
    for i in range(8)
]  # fmt: skip
TREES = "(S (A a) (B b))\n(S (B a) (A b))\n" * 6
LABELS = "y\n" + "u\nv\n" * 6


@pytest.mark.parametrize(("kind", "typed"), [
    ("sequences", ["ACGTACGTTA", ">new\nACGTACGTTA\n", " ACGTACGTTA \n"]),
    ("trees", ["(S (A a) (B b))", "(S (B c) (A b))\n"]),
    ("graphs", [json.dumps(GRAPHS[0]), json.dumps([GRAPHS[1]])]),
])  # fmt: skip
def test_samples_that_are_no_table(tmp_path, known, kind, typed):
    """The first sample is offered, and is predicted as the model predicts it; others may be typed in several ways."""
    if kind == "sequences":
        path, options = write_fasta(tmp_path / "a.fasta"), ["-t", "family", "-e", "SVC(Spectrum(2))"]
    elif kind == "trees":
        path, options = tmp_path / "a.penn", ["-t", "y", "--labels", tmp_path / "y.csv", "-e", "SVC(SubsetTree())"]
        path.write_text(TREES)
        (tmp_path / "y.csv").write_text(LABELS)
    else:
        path, options = tmp_path / "a.json", ["-t", "ring", "-e", "SVC(WeisfeilerLehman(2))"]
        path.write_text(json.dumps(GRAPHS))
    run("fit", path, *options, "--folds", "0", "--no-report", "-o", tmp_path / "model.mercer")
    fields = {**known, "path": str(path), "name": path.name}
    data, model = dataset(fields), mercer.load(tmp_path / "model.mercer")
    assert typed_samples.inputs_of(model, data) == []
    expected = model.predict(data.X[:1])[0]
    assert typed_samples.predict({**fields, "typed": typed_samples.example_of(data)})["prediction"] == expected
    for text in typed:
        assert typed_samples.predict({**fields, "typed": text})["prediction"] in model.classes_
    with pytest.raises(MercerError):
        typed_samples.predict({**fields, "typed": ""})

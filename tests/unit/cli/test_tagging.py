"""Sentences on the command line: fitted, judged, predicted word by word, and what is refused."""

import csv
import io

import numpy as np
import pytest

from mercer.cli.failures import UsageFault
from mercer.cli.inputs import Problem, open_data
from mercer.cli.tagging import default_tagger, held_out_scores, require_tagger
from mercer.estimators import SVC
from tests.unit.cli.commandline import run

SENTENCES = [("the D", "cat N", "runs V"), ("a D", "dog N"), ("dogs N", "run V"), ("the D", "dog N", "runs V")] * 5
TEXT = "\n\n".join("\n".join(sentence) for sentence in SENTENCES)


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "conll.txt"
    path.write_text(TEXT)
    return path


def test_from_columns_to_labels(words, tmp_path):
    fitted = run("fit", words, "--target", "last")
    assert "KernelCRF" in fitted.output
    assert "accuracy 1.000" in fitted.output
    new = tmp_path / "new.txt"
    new.write_text("a\ncat\n\nruns\n")
    found = run("predict", words.with_suffix(".mercer"), new, "--format", "conll", "--proba")
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    assert [(row["sentence"], row["word"], row["prediction"]) for row in rows] == [
        ("1", "1", "D"),
        ("1", "2", "N"),
        ("2", "1", "V"),
    ]
    assert sum(float(rows[0][f"probability_{label}"]) for label in "DNV") == pytest.approx(1.0)
    known = run("predict", words.with_suffix(".mercer"), words)
    assert "accuracy 1.000" in known.stderr


def test_estimators_that_are_named(words):
    asked = "StructuredPerceptron(Spectrum(1), outputs=LabelSequences())"
    run("fit", words, "--target", "column2", "--estimator", asked)
    again = ("fit", words, "--target", "last", "--force")
    assert "outputs=LabelSequences()" in run(*again, "--estimator", "SVC()", code=2).output
    assert "Leave it out" in run(*again, "--mix", code=2).output
    assert "column1" in run("fit", words, "--force", code=2).output
    run("check", words, "--target", "last")
    assert "sentences" in run("convert", words, "-o", words.with_suffix(".csv"), code=2).output
    with pytest.raises(UsageFault):
        require_tagger(SVC())


def test_words_of_sentences_left_out_judge(words):
    data, y = open_data(words).split_target("last")
    found, method = held_out_scores(default_tagger()[0], Problem(data, y, "column2"), lambda _: None)
    assert found["accuracy"] == 1.0
    assert "4 sentences" in method
    few = Problem(data.take(np.arange(3)), y[:3], "column2")
    assert held_out_scores(default_tagger()[0], few, lambda _: None)[0] == {}

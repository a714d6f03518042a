"""The score over cost and width: that of scikit-learn's folds, and copies that give the same scores."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

import mercer
from mercer.errors import ParameterError
from mercer.studio import score_surface
from mercer.studio.user_files import dataset
from tests.unit.cli.commandline import write_fasta
from tests.unit.studio.copied import command_output, python_numbers
from tests.unit.studio.test_playground import unpacked


def test_the_surface_is_that_of_folds(known):
    said = []
    told = score_surface.surface(known, said.append)
    values = unpacked(told["surface"])
    assert values.shape == (6, 7) and said[-1]["share"] == 1.0 and told["task"] == "classification"
    data = dataset(known)
    X = np.column_stack([data.columns["a"], data.columns["b"]])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.asarray(data.columns["y"])
    model = mercer.SVC(mercer.kernels.Gaussian(told["widths"][4]), C=told["costs"][1])
    assert values[4, 4] == pytest.approx(
        cross_val_score(model, X, y, cv=StratifiedKFold(5, shuffle=True, random_state=0)).mean(), abs=1e-6
    )
    assert told["best"][2] == pytest.approx(values.max(), abs=1e-6)


@pytest.mark.parametrize("case", ["classes", "few", "numbers", "many"])
def test_what_is_copied_of_the_surface_gives_the_same_scores(known, tmp_path, monkeypatch, case):
    """With a missing value, a column of words beside the numbers, a rare class, whole numbers, many rows."""
    if case == "many":
        monkeypatch.setattr(score_surface, "ROWS", 40)
    rng = np.random.default_rng(1)
    rows = [[f"{a:.3f}", f"{40 * b:.3f}", "pqr"[i % 3], "u" if a * b > 0 else "v"]
            for i, (a, b) in enumerate(rng.normal(size=(50, 2)))]  # fmt: skip
    rows[3][0] = ""
    if case == "few":
        rows[7][3] = "w"
    if case == "numbers":
        for row in rows:
            row[3] = str(round(10 * float(row[1])))
    (tmp_path / "a.csv").write_text("\n".join(["a,b,c,y", *map(",".join, rows)]) + "\n")
    told = score_surface.surface(known, lambda said: None)
    assert told["task"] == ("regression" if case == "numbers" else "classification")
    assert told["numbers"] == pytest.approx(unpacked(told["surface"]).ravel(), rel=1e-6, abs=1e-9)
    # the steps are the same ones; scores are shares of rows, or R2 of systems whose condition is at most 1e7
    assert python_numbers(told["python"], tmp_path) == pytest.approx(told["numbers"], rel=1e-9, abs=1e-9)
    if case == "many":
        assert told["command"].startswith("# The picture is of 40 rows drawn from 49")
        return
    found = command_output(told["command"], tmp_path)["scores"]["r2" if case == "numbers" else "accuracy"]
    # a width for each column instead of scaled columns changes the last digits of K: nothing for a system of equations,
    # at most the predictions of rows on the border for a machine that stops at a tolerance; two of 49 are allowed
    assert found == pytest.approx(told["best"][2], abs=1e-6 if case == "numbers" else 2.5 / 49)


def test_a_surface_needs_numbers(tmp_path, known):
    path = write_fasta(tmp_path / "a.fasta")
    with pytest.raises(ParameterError, match="sequences"):
        score_surface.surface({**known, "path": str(path)}, print)

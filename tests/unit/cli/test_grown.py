"""A kernel of sums and products from the command line, with what its parts contribute."""

import re

import numpy as np
import pytest

import mercer
from tests.unit.cli.commandline import run, run_json, write_table


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    """A line and a season, by the months of six years."""
    folder = tmp_path_factory.mktemp("grown")
    rng, t = np.random.default_rng(0), np.arange(60.0)
    y = 0.05 * t + np.sin(2.0 * np.pi * t / 12.0) + 0.05 * rng.normal(size=60)
    path = folder / "series.csv"
    path.write_text("t,y\n" + "\n".join(f"{a:g},{b:.5f}" for a, b in zip(t, y, strict=True)) + "\n")
    told = run_json("fit", path, "-t", "y", "--search", "--tries", 12, "--folds", 0, "-o", folder / "series.mercer")
    return folder, told


def test_a_trend_and_a_season_are_found_and_shown(series):
    folder, told = series
    assert "Periodic" in told["kernel"] and " + " in told["kernel"]
    shares = [
        float(re.match(r"(-?[0-9.]+)% of the function: ", step)[1]) for step in told["steps"] if "of the fun" in step
    ]
    assert len(shares) >= 2 and sum(shares) == pytest.approx(100.0, abs=0.1 * len(shares))  # as they are rounded
    assert shares == sorted(shares, reverse=True)
    page = (folder / "series.html").read_text()
    assert page.count("of the function: ") == len(shares)
    model = mercer.load(folder / "series.mercer")
    assert np.std(model.predict({"t": np.arange(60.0)})) > 0.9


def test_parts_are_drawn(series):
    page = (series[0] / "series.html").read_text()
    assert "Parts of the fitted function" in page and "part of the function" in page


def test_classes_have_a_kernel_of_parts_too(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    path = tmp_path / "classes.csv"
    lines = [f"{u:.4f},{v:.4f},{'in' if u * u < 0.6 else 'out'}" for u, v in zip(a, b, strict=True)]
    path.write_text("a,b,place\n" + "\n".join(lines) + "\n")
    told = run_json("fit", path, "-t", "place", "--search", "--tries", 5, "--folds", 2, "-o", tmp_path / "c.mercer")
    assert told["task"] == "classification" and told["scores"]["accuracy"] > 0.8
    assert any("of the function" in step for step in told["steps"])
    model = mercer.load(tmp_path / "c.mercer")
    assert type(model).__name__ == "GaussianProcessClassifier" and model.candidates_ is None


def test_what_has_no_kernel_to_grow(tmp_path):
    table = write_table(tmp_path / "table.csv")
    both = run("fit", table, "-t", "y", "--search", "--mix", "--no-report", code=2)
    assert "--search and --mix" in both.output
    letters = tmp_path / "letters.fasta"
    letters.write_text("".join(f">s{i} size={i * i % 7}.5\n{'ACGT'[i % 4 :]}ACGT\n" for i in range(12)))
    shown = run("fit", letters, "-t", "size", "--task", "regression", "--search", "--no-report", code=2)
    assert "is no table" in shown.output

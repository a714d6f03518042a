"""What a fit has done, in words and as JSON."""

from tests.unit.cli.commandline import run, run_json, write_table


def test_both_say_the_same(tmp_path):
    table = write_table(tmp_path / "t.csv")
    model = "KernelRidge(Gaussian(2.0).on(['age', 'dose']), alpha=0.5, gram=Nystrom(10, random_state=0))"
    options = ["fit", table, "-t", "y", "-e", model, "--folds", "0", "--no-report", "--force"]
    told, said = run_json(*options), run(*options).stdout
    assert told["target"] == "y" and told["data"]["samples"] == 90 and told["validation"] == "not validated"
    assert told["kernel"] == "Gaussian(2.0).on(['age', 'dose'])" and told["kernel"] in said
    assert "Nystrom" in told["gram"] and "alpha=0.5" in said and "not validated" in said
    assert str(table.with_suffix(".mercer").name) in said

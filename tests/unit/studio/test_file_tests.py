"""Two files: the numbers are those of ``mercer test``."""

import numpy as np
import pytest

from mercer.studio.file_tests import compare
from tests.unit.studio.copied import command_output


@pytest.mark.parametrize("kernel", ["", "Gaussian(1.0)"])
def test_two_tables(tmp_path, kernel):
    rng = np.random.default_rng(0)
    for name, shift in (("a.csv", 0.0), ("b.csv", 1.5)):
        rows = "".join(f"{x:.3f},{y:.3f}\n" for x, y in rng.normal(size=(25, 2)) + shift)
        (tmp_path / name).write_text("x,y\n" + rows)
    paths = {"path": str(tmp_path / "a.csv"), "other": str(tmp_path / "b.csv"), "name": "a.csv", "other_name": "b.csv"}
    told = compare({**paths, "kernel": kernel, "draws": 60})
    assert told["rejected"] and told["samples"] == [25, 25]
    assert all(len(side) == 5 and side[0]["value"] >= side[-1]["value"] for side in told["peaks"])
    found = command_output(told["command"], tmp_path)
    assert [found["statistic"], found["p_value"]] == pytest.approx(told["numbers"], rel=1e-12)
    assert "subprocess.run(['mercer', 'test', 'a.csv', 'b.csv'" in told["python"]

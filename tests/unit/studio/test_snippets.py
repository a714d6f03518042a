"""Texts that are copied."""

import numpy as np

from mercer.studio.snippets import command, data_file, python_rows, quoted


def test_numbers_are_written_to_the_last_digit():
    values = np.random.default_rng(0).normal(size=(20, 2)) / 3.0
    found = {}
    exec(f"import numpy as np\n{python_rows('X', values)}\n{python_rows('y', values[:, 0])}", found)
    assert np.array_equal(found["X"], values) and np.array_equal(found["y"], values[:, 0])
    rows = data_file("a.csv", {"x": values[:, 0]}).splitlines()
    assert rows[0] == "cat > a.csv <<'END'" and rows[-1] == "END"
    assert [float(row) for row in rows[2:-1]] == values[:, 0].tolist()


def test_a_shell_reads_arguments_as_they_are():
    assert command("mercer", "check", "a; rm -rf x") == "mercer check 'a; rm -rf x'"
    assert quoted("it's") == "'it'\"'\"'s'"

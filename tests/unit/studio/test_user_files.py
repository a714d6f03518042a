"""Files are read once, again when they change, and a table of targets is a table."""

import os

import pytest

from mercer.errors import ParameterError
from mercer.studio.user_files import dataset, labels_of


def test_a_file_is_read_again_when_it_changes(known, tmp_path):
    first = dataset(known)
    assert dataset(known) is first
    (tmp_path / "a.csv").write_text("a\n1\n2\n")
    os.utime(tmp_path / "a.csv", (1.0, 1.0))
    assert dataset(known).n == 2


def test_a_table_of_targets(known, tmp_path):
    assert labels_of(known) is None
    (tmp_path / "y.csv").write_text("y\nu\nv\n")
    assert labels_of({**known, "labels": str(tmp_path / "y.csv"), "labels_name": "y.csv"}).names == ("y",)
    (tmp_path / "t.penn").write_text("(S (A a))\n(S (B b))\n")
    with pytest.raises(ParameterError, match="holds trees; targets are a table"):
        labels_of({**known, "labels": str(tmp_path / "t.penn"), "labels_name": "t.penn"})

"""Rows to learn from."""

import numpy as np

from mercer.first_model.given_rows import Given
from mercer.first_model.row_sources import SampleRows
from mercer.kernels import Gaussian, Match, Spectrum, TfIdf


def test_kernels_of_one_domain_share_samples():
    kernels = (Spectrum(1), Spectrum(2), TfIdf())
    rows = SampleRows.of(kernels, ["a cat", "a dog", "no cow"]).take(np.array([2, 0]))
    assert len(rows) == 2 and rows.data(Spectrum(1)) is rows.data(Spectrum(2)) is not rows.data(TfIdf())


def test_long_lists_are_shortened_in_the_names_of_kernels():
    names = [f"c{i}" for i in range(9)]
    long, short = Gaussian(tuple(map(float, range(1, 10)))).on(names), Gaussian((1.0, 2.0)).on(["c0", "c1"])
    table = {name: np.arange(3.0) for name in names} | {"city": ["a", "b", "a"]}
    found = SampleRows.of((long + Match().on("city"), short), table).find(np.arange(3.0), "regression", Given(), id)
    assert found.labels[0] == "Gaussian((1.0, 2.0, ..., 9.0)).on(['c0', 'c1', ..., 'c8']) + Match().on('city')"
    assert found.labels[1] == repr(short)

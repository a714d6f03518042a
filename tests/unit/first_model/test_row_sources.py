"""Rows to learn from."""

import numpy as np

from mercer.first_model.row_sources import SampleRows
from mercer.kernels import Spectrum, TfIdf


def test_kernels_of_one_domain_share_samples():
    kernels = (Spectrum(1), Spectrum(2), TfIdf())
    rows = SampleRows.of(kernels, ["a cat", "a dog", "no cow"]).take(np.array([2, 0]))
    assert len(rows) == 2 and rows.data(Spectrum(1)) is rows.data(Spectrum(2)) is not rows.data(TfIdf())

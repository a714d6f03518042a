"""check_gram accepts every Gram and notices each wrong answer."""

import numpy as np
import pytest

from mercer.gram import Auto, Dense, Features, Tiles
from mercer.gram.exact import DenseGram
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.testing import check_gram
from mercer.testing.grams import close

X = np.random.default_rng(0).normal(size=(9, 3))


@pytest.mark.parametrize("spec", [Dense(), Tiles(), Features(), Auto()], ids=repr)
def test_the_grams_of_mercer(spec):
    check_gram(spec, Linear() + 1.0, X)
    check_gram(spec, Spectrum(2), ["abab", "ba", "aab", "bb"])


def test_mixed_precision_within_its_own_tolerance():
    check_gram(Tiles(precision="mixed"), Gaussian(1.0), X, tol=1e-5)
    check_gram(Tiles(), Gaussian(1.0), X, exact=False)


@pytest.mark.parametrize("method", ["__matmul__", "diag", "take", "rows", "update", "cross", "expand", "to_dense"])
def test_a_wrong_method_is_noticed(method, monkeypatch):
    real = getattr(DenseGram, method)

    def wrong(self, *args, **kwargs):
        if method == "update":
            real(self, *args)
            args[2][...] += 1.0
            return None
        if method in ("take", "cross"):
            twisted = real(self, args[0][::-1])
            return twisted
        found = real(self, *args, **kwargs)
        return (lambda T: found(T) + 1.0) if method == "expand" else found + 1.0

    monkeypatch.setattr(DenseGram, method, wrong)
    with pytest.raises(AssertionError):
        check_gram(Dense(), Gaussian(1.0), X, exact=False)


def test_close_tells_what_differs():
    close([1.0], [1.0], 0.0, "same")
    with pytest.raises(AssertionError, match=r"sum: shape \(1,\) instead of \(2,\)"):
        close([1.0], [1.0, 2.0], 1.0, "sum")
    with pytest.raises(AssertionError, match="sum: off by"):
        close([1.1], [1.0], 1e-3, "sum")
    with pytest.raises(AssertionError):
        close([np.nan], [1.0], 1e-3, "sum")

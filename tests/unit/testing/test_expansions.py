"""check_expansion accepts elements of every kind and notices each wrong answer."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.gram import Expansion, FeatureExpansion
from mercer.hilbert.derivatives import derivative_representer
from mercer.kernels import Gaussian, Multiquadric, NegativeDistance, Polynomial, Sigmoid, Spectrum, ThinPlate
from mercer.testing.expansions import ELEMENT_LAWS, check_expansion, size_of

rng = np.random.default_rng(0)
X, T = rng.normal(size=(8, 2)), rng.normal(size=(6, 2))


def element(kernel, A, k=None):
    c = np.random.default_rng(1).normal(size=len(A) if k is None else (len(A), k))
    return Expansion(kernel, kernel.prepare(kernel.pack(A)), c, np.asarray(0.5) if k is None else np.full(k, 0.5))


@pytest.mark.parametrize("k", [None, 2])
def test_elements_of_all_kinds(k):
    check_expansion(element(Gaussian(1.0), X, k), T)
    check_expansion(element(Polynomial(2), X, k).to_features(), T)
    words, new = ["abab", "ba", "aab"], ["bb", "ab", "c"]
    check_expansion(element(Spectrum(1) + Spectrum(2), words, k), new)
    check_expansion(element(Spectrum(1) + Spectrum(2), words, k).to_features(), new)
    slope = derivative_representer(Gaussian(1.0), T[:1], 0)
    slope = slope if k is None else np.ones(k) * slope
    check_expansion(slope + element(Gaussian(1.0), X, k), T)
    check_expansion(0.0 * element(Gaussian(1.0), X, k), T)


def test_conditionally_definite_and_indefinite_kernels():
    c = rng.normal(size=8)
    for kernel in (NegativeDistance(), Multiquadric(1.0)):
        check_expansion(Expansion(kernel, Vectors.pack(X), c - c.mean(), np.asarray(1.0)), T)
    P = np.column_stack([np.ones(8), X])
    c = c - P @ np.linalg.lstsq(P, c, rcond=None)[0]
    check_expansion(Expansion(ThinPlate(), Vectors.pack(X), c, np.asarray(1.0)), T)
    check_expansion(element(Sigmoid(0.5, offset=-1.0), X), T)  # its form is symmetric and linear, no more is asked


def scaled_by(factor):
    def change(real):
        return lambda self, *args, **kwargs: factor * np.asarray(real(self, *args, **kwargs))

    return change


def shifted_by(shift):
    def change(real):
        return lambda self, *args, **kwargs: real(self, *args, **kwargs) + shift

    return change


WRONG = {
    "sums and multiples": ("__mul__", lambda real: lambda self, a: real(self, 1.001 * a)),
    "the inner product": ("inner", shifted_by(1.0)),
    "reproduction": ("inner", scaled_by(2.0)),
    "representers": ("inner", scaled_by(2.0)),
    "Cauchy-Schwarz": ("norm", scaled_by(0.3)),
    "the norm": ("norm", scaled_by(1.01)),
    "the parallelogram": ("norm", lambda real: lambda self: np.sqrt(real(self))),
    "distances": ("distance", shifted_by(1.0)),
    "raw data": ("__call__", lambda real: lambda self, T: real(self, T) + (0.0 if isinstance(T, Vectors) else 1.0)),
}


@pytest.mark.parametrize("name", ELEMENT_LAWS)
@pytest.mark.parametrize("kind", [Expansion, FeatureExpansion])
def test_a_wrong_method_is_noticed(name, kind, monkeypatch):
    f = element(Polynomial(2), X)
    f = f if kind is Expansion else f.to_features()
    method, change = WRONG[name]
    if method in ("norm", "distance"):
        monkeypatch.setattr(kind, method, change(getattr(kind, method)), raising=False)
    else:
        monkeypatch.setattr(kind, method, change(getattr(kind, method)))
    if kind is FeatureExpansion and name == "representers":
        pytest.skip("representers are made of samples")
    with pytest.raises(AssertionError, match=f"breaks the law of {name}"):
        check_expansion(f, T, laws=[name])


def test_a_function_outside_its_bound_is_noticed(monkeypatch):
    f = element(Gaussian(1.0), X)
    real = Expansion.__call__
    monkeypatch.setattr(Expansion, "__call__", lambda self, S: 10.0 * real(self, S))
    with pytest.raises(AssertionError, match="at sample 0"):
        check_expansion(f, T, laws=["Cauchy-Schwarz"])


def test_sizes_bound_norms():
    f = element(Gaussian(1.0), X)
    assert f.norm() <= size_of(f) == pytest.approx(np.abs(f.coef).sum())
    assert size_of(f.column(0) if f.outputs else f).shape == ()
    p = element(Polynomial(2), X, 2).to_features()
    assert np.array_equal(size_of(p), p.norm())

"""The pyramidal kernel on images."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.kernels import Polynomial, Pyramidal
from mercer.kernels.vectors import pyramidal as module
from mercer.language import parse
from mercer.testing import check_kernel
from tests.naive import dot as naive

rng = np.random.default_rng(5)
X, Z = rng.normal(size=(6, 12)), rng.normal(size=(4, 12))
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
CASES = [
    Pyramidal((3, 4), patch=2),
    Pyramidal((3, 4), patch=(1, 3), p1=3, p2=2),
    Pyramidal((4, 3), patch=(4, 1), p1=1, p2=3),
    Pyramidal((3, 4), patch=(3, 4), p1=2, p2=2),
]


@pytest.mark.parametrize("k", CASES, ids=repr)
def test_agrees_with_the_formula(k):
    patch = k.patch if isinstance(k.patch, tuple) else (k.patch, k.patch)
    expected = naive.gram(lambda x, z: naive.pyramidal(x, z, k.shape, patch, k.p1, k.p2), X, Z)
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(k(X.astype(np.float32), Z.astype(np.float32)), expected, rtol=1e-3, atol=1e-3)
    assert parse(repr(k)) == k


@pytest.mark.parametrize("k", CASES, ids=repr)
@pytest.mark.parametrize("data", [X, SPARSE], ids=["dense", "sparse"])
def test_obeys_the_laws(k, data):
    check_kernel(k, data)


def test_patches_of_one_pixel_or_of_the_whole_image():
    np.testing.assert_allclose(Pyramidal((3, 4), patch=1, p1=2)(X), (X**2) @ (X**2).T, rtol=1e-12)
    whole = Pyramidal((3, 4), patch=(3, 4), p1=3)
    np.testing.assert_allclose(whole(X), Polynomial(3, offset=0.0)(X), rtol=1e-11, atol=1e-11)


def test_pixels_far_apart_do_not_interact():
    k = Pyramidal((1, 6), patch=(1, 2), p1=2)
    together, apart = [[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]], [[1.0, 0.0, 0.0, 0.0, 0.0, 1.0]]
    assert k(together)[0, 0] > k(apart)[0, 0]


def test_interpreted_loops_agree():
    images = X.reshape(6, 3, 4)
    out, gradient = np.empty((6, 6)), np.zeros_like(images)
    module._block.py_func(images, images, (2, 2), (2, 2), out)
    np.testing.assert_allclose(out, Pyramidal((3, 4), patch=2, p1=2, p2=2)(X), rtol=1e-13)
    module._pull_back.py_func(images, images, (2, 2), (2, 2), np.ones((6, 6)), gradient)
    A = Vectors.pack(X)
    expected = Pyramidal((3, 4), patch=2, p1=2, p2=2).pullback_inputs(A, A, np.ones((6, 6)))
    np.testing.assert_allclose(gradient.reshape(6, -1), expected, rtol=1e-13)
    columns, sums = np.empty(4), np.empty((2, 3))
    module._patch_sums.py_func(images[0], images[1], (2, 2), columns, sums)
    assert sums[0, 0] == pytest.approx(np.sum(images[0, :2, :2] * images[1, :2, :2]))
    assert module._whole_power.py_func(3.0, 4) == 81.0


@pytest.mark.parametrize(
    "k",
    [
        Pyramidal((3, 4), patch=4),
        Pyramidal(12, patch=2),
        Pyramidal((3, 4), patch=0),
        Pyramidal((3, 4), patch=2.0),
        Pyramidal((3, 4, 1), patch=2),
        Pyramidal((3, 4), patch=True),
        Pyramidal((3, 4), patch=2, p1=0),
    ],
    ids=repr,
)
def test_bad_parameters_are_refused(k):
    with pytest.raises(ParameterError, match="Pyramidal was given"):
        k(X)


def test_errors_of_data():
    with pytest.raises(DomainError, match=r"X has 12 columns.*16 pixels"):
        Pyramidal((4, 4), patch=2)(X)
    with pytest.raises(CapabilityError, match="features on these samples"):
        Pyramidal((3, 4), patch=3, p1=4, p2=4).features(Vectors.pack(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DomainError, match="too large"):
            Pyramidal((3, 4), patch=3)(X * 1e120)

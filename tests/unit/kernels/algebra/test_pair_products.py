"""Products and sums of kernels on the two sides of a pair."""

import numpy as np
import pytest

from mercer.domains import Pairs
from mercer.kernels import Gaussian, Laplacian, Linear, NegativeDistance, Spectrum
from mercer.testing import check_kernel

G, L = Gaussian(1.0), Linear()
PAIRS = [((1.0, 2.0), "ab"), ((0.5, 0.0), "a"), ((1.0, 2.0), "ba"), ((-1.0, 1.0), "")]


@pytest.mark.parametrize("method", ["tensor", "direct_sum"])
def test_pairs(method):
    kernel = getattr(G, method)(Spectrum(1) + 1.0)
    left, right = G([list(p[0]) for p in PAIRS]), (Spectrum(1) + 1.0)([p[1] for p in PAIRS])
    expected = left * right if method == "tensor" else left + right
    np.testing.assert_allclose(kernel(PAIRS), expected, rtol=1e-13)
    assert isinstance(kernel.pack(PAIRS), Pairs)
    check_kernel(kernel, PAIRS)
    check_kernel(0.5 * kernel + 1.0, PAIRS)


def test_pairs_of_the_algebra():
    kernel = G.tensor(L) + 2.0 * G.direct_sum(L)
    pairs = [([1.0], [2.0]), ([0.0], [1.0])]
    g, l = G([[1.0], [0.0]]), L([[2.0], [1.0]])
    np.testing.assert_allclose(kernel(pairs), g * l + 2.0 * (g + l), rtol=1e-13)


def test_pairs_learn_and_declare():
    kernel = Gaussian("median").tensor(Laplacian(1.0))
    pairs = [([0.0], [2.0]), ([3.0], [1.0])]
    learned = kernel.learn(kernel.pack(pairs))
    assert learned == Gaussian(3.0).tensor(Laplacian(1.0))
    assert learned.learn(learned.pack(pairs)) is learned
    assert learned.normalised and learned.strict and learned.bounded and learned.order == 0
    assert not G.direct_sum(G).strict and G.direct_sum(NegativeDistance()).order is None
    assert "pullback" in learned.capabilities

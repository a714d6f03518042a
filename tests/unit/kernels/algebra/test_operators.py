"""What + * ** and the methods build, and refuse."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.kernels import (
    Composed,
    Constant,
    DirectSum,
    Exp,
    Gaussian,
    Laplacian,
    Linear,
    Normalized,
    PolynomialOf,
    Power,
    Product,
    Scaled,
    Selected,
    Sum,
    Tensor,
)
from mercer.language import parse

G, L, P = Gaussian(1.0), Linear(), Laplacian(2.0)


def test_sums_and_products_are_flat():
    assert G + L + P == Sum((G, L, P)) == G + (L + P)
    assert G * L * P == Product((G, L, P)) == G * (L * P)
    assert Product((Sum((G, L)), P)) == (G + L) * P
    assert Sum((G, Product((L, P)))) == G + L * P


def test_numbers():
    assert 2.0 * G == Scaled(2.0, G) == G * 2.0
    assert Sum((G, Constant(1.0))) == G + 1.0
    assert Sum((Constant(1), G)) == 1 + G
    assert Scaled(2.0, Scaled(3.0, G)) == 2.0 * (3.0 * G)  # never simplified
    assert Scaled(1.0, G) == 1.0 * G
    assert np.int64(2) * G == 2 * G
    assert Scaled(0.0, G) == 0.0 * G


@pytest.mark.parametrize("scale", [-1.0, -1, np.float64(-0.5), float("nan"), float("inf")])
def test_bad_multiples_are_refused_at_once(scale):
    with pytest.raises(ParameterError):
        scale * G
    with pytest.raises(ParameterError):
        G * scale


def test_negative_constants_are_refused_at_once():
    with pytest.raises(ParameterError, match="Constant"):
        G + -1.0


@pytest.mark.parametrize("other", ["a", None, True, [1.0], object()], ids=lambda value: type(value).__name__)
def test_what_is_no_kernel_is_a_type_error(other):
    for operation in (
        lambda: G + other,
        lambda: other + G,
        lambda: G * other,
        lambda: other * G,
    ):
        with pytest.raises(TypeError):
            operation()


def test_there_is_no_difference_and_no_quotient():
    with pytest.raises(TypeError):
        G - L
    with pytest.raises(TypeError):
        G / 2.0
    with pytest.raises(TypeError):
        _ = -G


def test_methods():
    assert Power(G, 2) == G**2
    assert L.exp() == Exp(L)
    assert L.normalized() == Normalized(L)
    assert L.polynomial([1.0, 2.0]) == PolynomialOf(L, (1.0, 2.0))
    assert L.on("age") == Selected(L, "age")
    assert L.of(np.sqrt) == Composed(L, np.sqrt)
    assert G.tensor(L) == Tensor(G, L)
    assert G.direct_sum(L) == DirectSum(G, L)


@pytest.mark.parametrize("exponent", [0, -1, 0.5, 2.0, "2", True])
def test_powers_are_whole(exponent):
    with pytest.raises(ParameterError, match="exponent"):
        G**exponent


def test_operators_check_their_operands():
    with pytest.raises(ParameterError, match="length_scale"):
        Gaussian(-1.0) + L
    with pytest.raises(ParameterError, match="length_scale"):
        2.0 * Gaussian(0.0)
    with pytest.raises(ParameterError, match="length_scale"):
        Gaussian(0.0).normalized()
    with pytest.raises(ParameterError, match="must be a Kernel"):
        G.tensor("a")


TEXTS = {
    "0.5 * Gaussian(1.0) + Linear()": 0.5 * G + L,
    "(Gaussian(1.0) + Linear()) * Laplacian(2.0)": (G + L) * P,
    "Gaussian(1.0) * Linear() + Laplacian(2.0)": G * L + P,
    "(0.5 * Gaussian(1.0)) * Linear()": Product((0.5 * G, L)),
    "0.5 * (Gaussian(1.0) * Linear())": 0.5 * (G * L),
    "(Gaussian(1.0) * Linear()) ** 2": (G * L) ** 2,
    "Gaussian(1.0) ** 2 * Linear()": G**2 * L,
    "(Gaussian(1.0) + Linear()).normalized()": (G + L).normalized(),
    "(2.0 * Linear()).exp()": (2.0 * L).exp(),
    "Linear().on([0, 1]) + Gaussian(1.0).on('age')": L.on([0, 1]) + G.on("age"),
    "Gaussian(1.0).tensor(Linear() + Constant(1.0))": G.tensor(L + 1.0),
    "(Gaussian(1.0) + Linear()).direct_sum(Linear())": (G + L).direct_sum(L),
    "Linear().on((0, 1))": L.on((0, 1)),
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_python(text):
    assert repr(TEXTS[text]) == text
    assert parse(text) == TEXTS[text]


@pytest.mark.parametrize(
    "kernel",
    [
        Sum((G,)),
        Product((G,)),
        Sum((Sum((G, L)), P)),
        Product((G, Product((L, P)))),
        Sum((Product((Product((G, L)), P)), L)),
        L.on([np.int64(1), "age"]),
        L ** np.int64(2),
        np.float64(0.5) * G,
    ],
    ids=repr,
)
def test_what_operators_would_not_build_has_a_text_too(kernel):
    assert parse(repr(kernel)) == kernel

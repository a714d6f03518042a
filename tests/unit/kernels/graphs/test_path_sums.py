"""Path kernels: against all paths one by one, and the closed kernels that are instances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelRidge
from mercer.errors import CapabilityError, ParameterError
from mercer.free_parameters import free_names
from mercer.gram import Features
from mercer.kernels import AllSubsets, Anova, Constant, Gaussian, Linear, Polynomial, Spectrum
from mercer.kernels.graphs.path_sums import PathSum
from mercer.language import parse
from mercer.testing import check_kernel

X = np.round(np.random.default_rng(0).normal(size=(7, 4)) * 8) / 8
Z = np.round(np.random.default_rng(1).normal(size=(5, 4)) * 8) / 8
COORDINATES = tuple(Linear().on([j]) for j in range(4))
DIAMOND = (("in", "a", 0), ("in", "b", 1), ("a", "b", 1), ("a", "out"), ("b", "out", 2), ("in", "out", 0))


def all_paths(edges, node, end):
    """Yield the places of the kernels on each path, by recursion."""
    if node == end:
        yield ()
    for start, stop, *place in edges:
        if start == node:
            for rest in all_paths(edges, stop, end):
                yield (*place, *rest)


def brute(kernel, first, last, A, B):
    values = [term(A, B) for term in kernel.terms]
    total = np.zeros((len(A), len(B)))
    for path in all_paths(kernel.edges, first, last):
        total += np.prod([values[place] for place in path], axis=0) if path else 1.0
    return total


@st.composite
def graphs(draw):
    n = draw(st.integers(2, 6))
    steps = [(i, i + 1) for i in range(n - 1)]  # a chain, so that there is one first and one last node
    more = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=6))
    pairs = steps + [(a, b) for a, b in more if a < b]
    return n - 1, tuple((a, b, place) if (place := draw(st.integers(-1, 2))) >= 0 else (a, b) for a, b in pairs)


@given(graphs())
def test_the_sum_over_all_paths(graph):
    last, edges = graph
    kernel = PathSum((Linear(), Gaussian(1.5), Constant(0.5)), edges).check()
    np.testing.assert_allclose(kernel(X, Z), brute(kernel, 0, last, X, Z), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(kernel.pack(X)), np.diag(kernel(X)), rtol=1e-12)


def test_nodes_may_have_names():
    kernel = PathSum((Linear(), Gaussian(1.0), Polynomial(2)), DIAMOND)
    np.testing.assert_allclose(kernel(X, Z), brute(kernel, "in", "out", X, Z), rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_anova(degree):
    np.testing.assert_allclose(PathSum.as_anova(COORDINATES, degree)(X, Z), Anova(degree)(X, Z), rtol=1e-12, atol=1e-12)
    bases = tuple(Gaussian(0.7).on([j]) for j in range(4))
    np.testing.assert_allclose(PathSum.as_anova(bases, degree)(X, Z), Anova(degree, Gaussian(0.7))(X, Z), rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_polynomial(degree):
    kernel = PathSum.as_polynomial((Linear(), Constant(1.5)), degree)
    np.testing.assert_allclose(kernel(X, Z), Polynomial(degree, offset=1.5)(X, Z), rtol=1e-12, atol=1e-12)
    by_coordinates = PathSum.as_polynomial((*COORDINATES, Constant(1.5)), degree)
    np.testing.assert_allclose(by_coordinates(X, Z), kernel(X, Z), rtol=1e-11, atol=1e-11)


def test_all_subsets():
    np.testing.assert_allclose(PathSum.as_all_subsets(COORDINATES)(X, Z), AllSubsets()(X, Z), rtol=1e-12)


def test_strings_have_paths_too():
    words = ["abab", "ba", "", "aab"]
    K = [Spectrum(p)(words) for p in (1, 2)]
    kernel = PathSum.as_all_subsets((Spectrum(1), Spectrum(2)))
    np.testing.assert_array_equal(kernel(words), (1.0 + K[0]) * (1.0 + K[1]))
    check_kernel(kernel, words)
    model = KernelRidge(kernel, alpha=0.1).fit(words, [1.0, 2.0, 3.0, 4.0])
    linear = KernelRidge(kernel, alpha=0.1, gram=Features()).fit(words, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(linear.predict(["ab", "bb"]), model.predict(["ab", "bb"]), rtol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [
        PathSum.as_anova(COORDINATES, 2),
        PathSum((0.5 * Gaussian(1.0), Linear(), Gaussian(2.0)), DIAMOND),
        PathSum.as_polynomial((Linear(), Constant(1.0)), 3),
        PathSum.as_all_subsets((Gaussian(1.0).on([0]), Linear().on([1, 2]))),
        PathSum((Linear(),), ((0, 1),)),
    ],
)
def test_laws(kernel):
    check_kernel(kernel, X)


def test_parameters_are_those_of_the_terms():
    kernel = PathSum((Gaussian(1.0), 2.0 * Gaussian(3.0)), (("a", "b", 0), ("b", "c", 1)))
    assert free_names(kernel) == ("0__length_scale", "1__scale", "1__kernel__length_scale")
    assert parse(repr(kernel), names={"PathSum": PathSum}) == kernel


def test_features_are_paths():
    kernel = PathSum.as_anova(COORDINATES, 2)
    F, _ = kernel.features(kernel.pack(X))
    assert F.shape == (7, 6) == (7, kernel.feature_count(kernel.pack(X)))
    expected = {tuple(X[:, i] * X[:, j]) for i in range(4) for j in range(i)}
    assert {tuple(column) for column in F.T} == expected
    with pytest.raises(CapabilityError, match="features on these samples"):
        PathSum.as_polynomial((Linear(),), 30).features(Linear().pack(X))


def test_order_of_terms_without_one():
    assert PathSum((Linear(), Gaussian(1.0)), ((0, 1, 0), (0, 1, 1))).order == 0
    assert PathSum((Linear(),), ((0, 1, 0),)).capabilities >= {"features", "pullback"}


@pytest.mark.parametrize(
    ("edges", "part"),
    [
        ((), "a tuple of"),
        (3, "a tuple of"),
        (((0, 1, 2),), "Correct this edge"),
        (((0, 1, True),), "Correct this edge"),
        (((0,),), "a tuple of"),
        ((([], 1),), "a tuple of"),
        (((0, 1, 0), (1, 2, 0), (2, 1, 0), (2, 3, 0)), "with a cycle"),
        (((0, 0, 0),), "with a cycle"),
        (((0, 2, 0), (1, 2, 0)), "begin at"),
        (((0, 1, 0), (0, 2, 0)), "end at"),
    ],
)
def test_refusals(edges, part):
    with pytest.raises(ParameterError, match=part):
        PathSum((Linear(), Gaussian(1.0)), edges).check()


def test_refusals_of_instances():
    with pytest.raises(ParameterError, match="at most the number of kernels"):
        PathSum.as_anova(COORDINATES, 5)
    with pytest.raises(ParameterError, match="a tuple of kernels that is not empty"):
        PathSum.as_all_subsets(())


def test_a_long_chain_needs_no_recursion():
    kernel = PathSum.as_polynomial((Constant(0.999),), 5000)
    np.testing.assert_allclose(kernel([[0.0]]), 0.999**5000)

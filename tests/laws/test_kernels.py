"""Every law of kernels on every public kernel, on data that Hypothesis looks for.

One test for each kernel: data are drawn once and asked for all laws that the kernel claims, and a failure names each
law that is broken, with the smallest example found.

A public kernel enters by itself: its members are those that its unit test lists under its name in ``MEMBERS``, or
some member (see `mercer.testing.members`), and its data are those of its domain that it takes. The table of
``_entries`` has kernels of which more members, or other data, are tried. The laws are those of
``mercer.testing``, and two that need a test's means: pickling, and tiles of another size in the driver.
Values agree to about 1e-12 of sqrt(k(x, x) k(z, z)) where not to the bit; the laws say which.
"""

from __future__ import annotations

import inspect
import math
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mercer.domains
import mercer.kernels
import mercer.models
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Kernel
from mercer.runtime import tiling
from mercer.testing.kernel_laws import KERNEL_LAWS, Law, Trial
from mercer.testing.members import member
from tests.declared import declared, unit_test_of
from tests.naive.graphs import random_graphs
from tests.strategies import similarities, strings

D, K, M = mercer.domains, mercer.kernels, mercer.models
EXAMPLES_IN_ALL = 50_000
LAWS_OF_EACH, LAWS_ON_AVERAGE = 14, 20


# data ---------------------------------------------------------------------------------------------------


class Data(NamedTuple):
    """Raw data for a kernel: what Hypothesis draws, and one fixed sample that tells which laws are claimed."""

    drawn: st.SearchStrategy
    sample: object


@st.composite
def points(draw, width=None, least=-4, most=4, digits=(2, 10, 20)):
    """Few rows on a grid: exact in float32, equal and nearly equal ones likely, none too near for a difference."""
    n = draw(st.integers(1, 5))
    d = draw(st.integers(1, 3)) if width is None else width
    unit = 2 ** draw(st.sampled_from(digits))
    return draw(arrays(np.int64, (n, d), elements=st.integers(least * unit, most * unit))) / unit


def _halved(X):
    """Real part, imaginary part, and 0 or 1 for the half."""
    return np.column_stack([X[:, :2], X[:, 2] > 0])


def _grid(n, d, low=-1.75, high=2.0):
    return np.round(np.random.default_rng(3).uniform(low, high, size=(n, d)) * 8) / 8


def random_series(seed):
    rng = np.random.default_rng(seed)
    return [0.5 * rng.normal(size=(n, 2)) for n in rng.integers(1, 6, size=1 + seed % 5)]


def random_systems(seed):
    """Small stable systems: states, what is seen of them, where they start."""
    rng = np.random.default_rng(seed)
    many = 1 + seed % 4
    return [(0.4 * rng.normal(size=(2, 2)) / 2, rng.normal(size=(3, 2)), rng.normal(size=2)) for _ in range(many)]


VECTORS = Data(points(), _grid(5, 2))
LINE = Data(points(1), _grid(5, 1))
PAIRS_OF_NUMBERS = Data(points(2), _grid(5, 2))
TRIPLES = Data(points(3), _grid(5, 3))
SMALL = Data(points(3, -1, 1), _grid(5, 3, -1, 1))
HISTOGRAMS = Data(points(least=0), _grid(5, 2, 0.25, 2.0))
POSITIVE = Data(points(least=1), _grid(5, 2, 0.25, 2.0))
IMAGES = Data(points(6, -2, 2), _grid(4, 6))
WORDS = Data(strings(max_samples=5, alphabet="ab", max_length=5), ["ab", "ba", "aab", "", "abab"])
LEVELS = ("low", "middle", "high")
RANKS = Data(st.lists(st.sampled_from(LEVELS), min_size=1, max_size=5), ["low", "high", "middle", "low"])
MATRICES = Data(similarities(max_samples=5, square=True), np.array([[2.0, 1.0], [1.0, 2.0]]))
MEMBER = st.tuples(st.integers(-8, 8).map(lambda v: (v / 4,)), st.text("ab", max_size=3))
COUPLES = Data(st.lists(MEMBER, min_size=1, max_size=5), [((0.5,), "a"), ((1.5,), "ab"), ((1.5,), "")])
POINT = st.integers(1, 12).map(lambda v: (v / 4,))
TWINS = Data(
    st.lists(st.tuples(POINT, POINT), min_size=1, max_size=5), [((0.5,), (1.0,)), ((1.5,), (1.5,)), ((2.0,), (0.25,))]
)
TABLES = Data(
    st.lists(MEMBER, min_size=1, max_size=5).map(
        lambda rows: {"size": [row[0][0] for row in rows], "gene": [row[1] for row in rows]}
    ),
    {"size": [0.5, 1.5, 1.5], "gene": ["a", "ab", "b"]},
)
ROW = st.tuples(st.none() | st.integers(-8, 8).map(lambda v: v / 4), st.sampled_from(["a", "b", None]))
MIXED = Data(
    st.lists(ROW, min_size=1, max_size=5).map(
        # a column of missing values alone would be one of numbers in one table and of categories in another
        lambda rows: {"size": [0.5, *(r[0] for r in rows)], "kind": ["a", *(r[1] for r in rows)]}
    ),
    {"size": [0.5, None, 1.5, 0.5], "kind": ["a", "b", None, "b"]},
)
HALVES = Data(points(3, -2, 2).map(lambda X: _halved(X)), np.column_stack([_grid(5, 2), [0, 1, 0, 1, 1]]))
GENES = Data(strings(max_samples=5, alphabet="ACGT", max_length=6), ["ACG", "CA", "ACGT", "", "TTACG"])
TEXTS = Data(
    st.lists(st.lists(st.sampled_from(["a", "b", "c.", "d"]), max_size=6).map(" ".join), min_size=1, max_size=5),
    ["a b a", "b c.", "", "c a b", "a"],
)
TREE = st.recursive(
    st.sampled_from("ab").map(lambda label: (label,)),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda children: ("a", *children)),
    max_leaves=6,
)
TREES = Data(
    st.lists(TREE, min_size=1, max_size=5), [("a", "b"), ("a", ("b", "a"), "b"), ("b", ("a", "b", "b")), ("a",), ()]
)
GRAPHS = Data(
    st.integers(0, 10**6).map(lambda seed: random_graphs(seed, count=1 + seed % 4, nodes=4, directed=seed % 2 == 0)),
    random_graphs(4, count=5, directed=True),
)
PATH = [(0, 1), (1, 2), (2, 3), (1, 3)]
SERIES = Data(st.integers(0, 10**6).map(lambda seed: random_series(seed)), random_series(4))
TENSORS = Data(
    st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed).normal(size=(1 + seed % 5, 2, 3, 2))),
    np.random.default_rng(0).normal(size=(5, 2, 3, 2)),
)
BAGS = Data(
    st.integers(0, 10**6).map(lambda seed: [*random_series(seed), np.empty((0, 2))][-4:]),
    [*random_series(4), np.empty((0, 2))],
)
DIAGRAMS = Data(  # births and later deaths
    st.integers(0, 10**6).map(lambda seed: [*(np.sort(s, axis=1) for s in random_series(seed)), np.empty((0, 2))][-4:]),
    [*(np.sort(s, axis=1) for s in random_series(4)), np.empty((0, 2))],
)
NORMALS = Data(
    st.integers(0, 10**6).map(lambda seed: [(s.mean(axis=0), np.cov(s.T, bias=True)) for s in random_series(seed)]),
    [(s.mean(axis=0), np.cov(s.T, bias=True) + 0.1 * np.eye(2)) for s in random_series(4)],
)
MATRIX = Data(
    st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed).normal(size=(1 + seed % 5, 3, 2))),
    np.random.default_rng(0).normal(size=(5, 3, 2)),
)
SYSTEMS = Data(st.integers(0, 10**6).map(lambda seed: random_systems(seed)), random_systems(4))
LEAVES = Data(st.lists(st.text("ab", min_size=3, max_size=3), min_size=1, max_size=5), ["aaa", "abb", "bba", "aba"])
NODES = Data(st.lists(st.integers(0, 3), min_size=1, max_size=5), [0, 1, 2, 3, 1])
OF_DOMAIN = {  # the first that a kernel takes are its data
    D.Vectors: [VECTORS, HISTOGRAMS, POSITIVE, SMALL, LINE, PAIRS_OF_NUMBERS, TRIPLES, IMAGES],
    D.Strings: [WORDS, GENES, RANKS],
    D.Texts: [TEXTS],
    D.Trees: [TREES],
    D.Graphs: [GRAPHS],
    D.Nodes: [NODES],
    D.Sequences: [SERIES],
    D.Sets: [BAGS, SERIES, DIAGRAMS],
    D.Tensors: [TENSORS, MATRIX],
    D.Distributions: [NORMALS],
    D.Systems: [SYSTEMS],
    D.Similarities: [MATRICES],
    D.Pairs: [COUPLES, TWINS],
    D.Frames: [TABLES],
    D.Tables: [MIXED],
}


def first_column(X):
    return np.asarray(X)[:, 0]


def dot_products(A, B):
    return A @ B.T


def lines(X):
    return np.column_stack([np.ones(len(X)), np.asarray(X)[:, 0]])


def bell(r):
    return np.exp(-0.5 * r * r)


def bell_slope(r):
    return -r * np.exp(-0.5 * r * r)


def halving(values):
    return 0.5**values


HIDDEN = ((0.5, 0.5), ((0.9, 0.1), (0.1, 0.9)), ((0.8, 0.2), (0.2, 0.8)))  # start, transition, emission


def cuts(word):
    return [(word[:i], word[i:]) for i in range(1, len(word))]


def bell_of_frequencies(w):
    return np.exp(-0.5 * w * w) / np.sqrt(2.0 * np.pi)


# kernels ------------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """Members of a class of kernels and the data they are tried on."""

    kernels: list[Kernel]
    data: Data


def _entries() -> dict[str, Entry]:
    G, L = K.Gaussian(1.3), K.Linear()
    vectors = {
        "Gaussian": [G, K.Gaussian(0.4), K.Gaussian("median")],
        "Matern": [K.Matern(0.5), K.Matern(1.5, length_scale=0.7), K.Matern(3.5), K.Matern(0.8), K.Matern(120.3)],
        "Exponential": [K.Exponential(0.6)],
        "Laplacian": [K.Laplacian(1.7)],
        "RationalQuadratic": [K.RationalQuadratic(0.7, length_scale=1.2), K.RationalQuadratic(5.0)],
        "Cauchy": [K.Cauchy(0.8)],
        "InverseMultiquadric": [K.InverseMultiquadric(0.9)],
        "Multiquadric": [K.Multiquadric(0.9)],
        "NegativeDistance": [K.NegativeDistance(), K.NegativeDistance(1.4), K.NegativeDistance(2.0)],
        "Logarithmic": [K.Logarithmic(2.0, length_scale=0.7), K.Logarithmic(0.9)],
        "ThinPlate": [K.ThinPlate()],
        "Epanechnikov": [K.Epanechnikov(1.9)],
        "Wendland": [K.Wendland(3, smoothness=k, length_scale=2.1) for k in (0, 1, 2, 3)],
        "RadialFunction": [
            K.RadialFunction(bell, length_scale=0.9),
            K.RadialFunction(bell, length_scale=0.9, derivative=bell_slope),
        ],
        "Periodic": [K.Periodic(1.1, length_scale=0.9)],
        "BSpline": [K.BSpline(1, length_scale=0.9), K.BSpline(3, length_scale=1.1), K.BSpline(5)],
        "Linear": [L],
        "Polynomial": [K.Polynomial(2), K.Polynomial(3, offset=0.5, scale=0.7), K.Polynomial(2, offset=0.0)],
        "PowerSeries": [K.PowerSeries((1.0, 2.0, 0.5)), K.PowerSeries((-1.0, 1.0))],
        "ExponentialDot": [K.ExponentialDot(2.5)],
        "ArcCosine": [K.ArcCosine(n) for n in (0, 1, 2)],
        "Sigmoid": [K.Sigmoid(0.3, offset=0.1)],
        "Anova": [K.Anova(1), K.Anova(2), K.Anova(2, base=K.Gaussian(0.8))],
        "AllSubsets": [K.AllSubsets()],
        "Basis": [K.Basis(lines), K.Basis(lines, (4.0, 1.0))],
        "RankOne": [K.RankOne(first_column)],
        "Custom": [K.Custom(dot_products, False)],
        "Composed": [G.of(np.tanh), (L + 0.5).of(np.tanh)],
        "Constant": [K.Constant(1.0), K.Constant(2.5)],
        "Sum": [G + L, G + 0.5 * L + 2.0, G.on([0]) + L],
        "Product": [G * L, G * K.Laplacian(2.0) * (L + 1.0)],
        "Scaled": [0.7 * G, 3.0 * (L + 1.0)],
        "Power": [L**2, (G + L) ** 3],
        "Exp": [(0.1 * L).exp(), G.exp(), K.NegativeDistance().exp()],
        "PolynomialOf": [L.polynomial((1.0, 0.0, 0.5)), G.polynomial((0.5, 2.0))],
        "Normalized": [L.normalized(), (L + 1.0).normalized(), (G * L).normalized()],
    }
    others = {
        "Mahalanobis": ([K.Mahalanobis(((2.0, 0.5), (0.5, 1.0)))], PAIRS_OF_NUMBERS),
        "Haversine": ([K.Haversine(300.0), K.Haversine(300.0, exponent=0.5)], PAIRS_OF_NUMBERS),
        "Anchored": ([K.Anchored(K.NegativeDistance(), [[0.5, 0.25]])], PAIRS_OF_NUMBERS),
        "LocalityImproved": (
            [K.LocalityImproved(1, length_scale=0.8, degree=2, offset=0.5), K.LocalityImproved(0)],
            TRIPLES,
        ),
        "Pyramidal": ([K.Pyramidal((2, 3), patch=2), K.Pyramidal((2, 3), patch=2, p1=1, p2=2)], IMAGES),
        "SpectralMixture": ([K.SpectralMixture((1.0, 0.5), (0.7, 2.0), (1.0, 0.3))], LINE),
        "SpectralSamples": (
            [K.SpectralSamples(((0.5, 1.0), (2.0, -1.0))), K.SpectralSamples(((0.5, 1.0), (0.0, 0.7)), (2.0, 0.5))],
            PAIRS_OF_NUMBERS,
        ),
        "SpectralDensity": ([K.SpectralDensity(bell_of_frequencies)], LINE),
        "ChiSquared": ([K.ChiSquared(0.8)], HISTOGRAMS),
        "AdditiveChiSquared": ([K.AdditiveChiSquared()], HISTOGRAMS),
        "Intersection": ([K.Intersection()], HISTOGRAMS),
        "Tanimoto": ([K.Tanimoto()], HISTOGRAMS),
        "Brownian": ([K.Brownian()], HISTOGRAMS),
        "LinearSpline": ([K.LinearSpline()], HISTOGRAMS),
        "Selected": ([G.on([0, 2]), L.on(1), (G + L).on((2,)), L.normalized().on([0, 1])], TRIPLES),
        "Precomputed": ([K.Precomputed()], MATRICES),
        "Tensor": ([G.tensor(K.Spectrum(1)), L.tensor(K.Spectrum(2) + 1.0)], COUPLES),
        "PairProduct": ([K.PairProduct(G), K.PairProduct(L + G, symmetric=True)], TWINS),
        "PairSum": ([K.PairSum(G), K.PairSum(L + 0.5, symmetric=True)], TWINS),
        "DirectSum": ([G.direct_sum(K.Spectrum(1)), (L + G).direct_sum(K.Spectrum(2))], COUPLES),
        "Spectrum": ([K.Spectrum(1), K.Spectrum(2), K.Spectrum(2, method="trie")], WORDS),
        "BlendedSpectrum": ([K.BlendedSpectrum(2), K.BlendedSpectrum(3, decay=0.5)], WORDS),
        "Substrings": (
            [
                K.Substrings(),
                K.Substrings(decay=0.5),
                K.Substrings((1.0, 0.0, 2.0)),
                K.Substrings(shortest=2, longest=3),
            ],
            WORDS,
        ),
        "Subsequence": ([K.Subsequence(2, 0.6), K.Subsequence(3, 0.5)], WORDS),
        "GappySpectrum": ([K.GappySpectrum(2, 1, 0.7)], WORDS),
        "Wildcard": ([K.Wildcard(2, 1, 0.7)], WORDS),
        "Mismatch": ([K.Mismatch(2, 1), K.Mismatch(3, 1, "ACGTUV")], GENES),
        "LocalAlignment": ([K.LocalAlignment()], WORDS),
        "GlobalAlignment": ([K.GlobalAlignment(), K.GlobalAlignment(form="log")], WORDS),
        "BagOfWords": ([K.BagOfWords(), K.BagOfWords(frequency="log")], TEXTS),
        "TfIdf": ([K.TfIdf(), K.TfIdf(smooth=True)], TEXTS),
        "Semantic": ([K.Semantic((("a", "b", 0.5), ("c", "d", -1.0)))], TEXTS),
        "Cooccurrence": ([K.Cooccurrence()], TEXTS),
        "LatentSemantic": ([K.LatentSemantic(2)], TEXTS),
        "WordPairs": ([K.WordPairs(), K.WordPairs(1, ordered=True)], TEXTS),
        "PathSum": ([K.PathSum.as_polynomial((L, K.Constant(1.0)), 3)], VECTORS),
        "Convolution": ([K.Convolution(cuts, (K.Spectrum(1), K.Match()))], WORDS),
        "SubsetTree": ([K.SubsetTree(0.4), K.SubsetTree(1.0, "counted")], TREES),
        "CorootedSubtree": ([K.CorootedSubtree()], TREES),
        "PartialTree": ([K.PartialTree(), K.PartialTree(1.0, 1.0)], TREES),
        "Subtree": ([K.Subtree(0.5)], TREES),
        "TreeSpectrum": ([K.TreeSpectrum(2), K.TreeSpectrum(3)], TREES),
        "VertexHistogram": ([K.VertexHistogram()], GRAPHS),
        "EdgeHistogram": ([K.EdgeHistogram(), K.EdgeHistogram(False)], GRAPHS),
        "ShortestPath": ([K.ShortestPath(), K.ShortestPath(weights=True)], GRAPHS),
        "WeisfeilerLehman": (
            [K.WeisfeilerLehman(2), K.WeisfeilerLehman(2, K.EdgeHistogram()), K.WeisfeilerLehman(1, K.ShortestPath())],
            GRAPHS,
        ),
        "Graphlet": ([K.Graphlet(3), K.Graphlet(3, samples=4)], GRAPHS),
        "Propagation": ([K.Propagation(2)], GRAPHS),
        "RandomWalk": (
            [K.RandomWalk(0.003), K.RandomWalk(0.01, "exponential"), K.RandomWalk(0.5, adjacency="normalized")],
            GRAPHS,
        ),
        "Marginalized": ([K.Marginalized(0.2)], GRAPHS),
        "LaplacianFunction": ([K.LaplacianFunction(PATH, halving)], NODES),
        "Diffusion": (
            [K.Diffusion(PATH, 0.4), K.Diffusion(PATH, 0.4, laplacian="normalized", method="columns")],
            NODES,
        ),
        "RegularizedLaplacian": (
            [K.RegularizedLaplacian(PATH, 0.4), K.RegularizedLaplacian(PATH, 0.4, method="columns")],
            NODES,
        ),
        "PStepWalk": ([K.PStepWalk(PATH, 3)], NODES),
        "CommuteTime": ([K.CommuteTime(PATH)], NODES),
        "GlobalAlignmentSeries": (
            [K.GlobalAlignmentSeries(0.8), K.GlobalAlignmentSeries(0.8, 3), K.GlobalAlignmentSeries(0.8, form="log")],
            SERIES,
        ),
        "Signature": ([K.Signature(), K.Signature(3), K.Signature(2, "gaussian")], SERIES),
        "Cumulant": ([K.Cumulant()], SERIES),
        "Invariant": ([K.Invariant(G, (np.negative,)), K.Invariant(L + 0.5 * G, (np.tanh, np.negative))], VECTORS),
        "MeanMap": ([K.MeanMap(G), K.MeanMap(L, average=False), K.MeanMap(G + L)], BAGS),
        "PyramidMatch": ([K.PyramidMatch(3, width=0.3)], BAGS),
        "MinMax": ([K.MinMax(G)], SERIES),
        "ExpectedFeatures": (
            [K.ExpectedFeatures(G), K.ExpectedFeatures(L), K.ExpectedFeatures(K.Polynomial(2))],
            NORMALS,
        ),
        "PrincipalAngles": ([K.PrincipalAngles(), K.PrincipalAngles(2, kind="projection")], BAGS),
        "BinetCauchy": ([K.BinetCauchy(2), K.BinetCauchy(1)], MATRIX),
        "DynamicalSystem": ([K.DynamicalSystem(), K.DynamicalSystem(kind="determinant")], SYSTEMS),
        "Grassmann": ([K.Grassmann(2.0), K.Grassmann(1.0, 1)], TENSORS),
        "HiddenMarkov": ([K.HiddenMarkov(HIDDEN, "ab")], WORDS),
        "PairHiddenMarkov": ([K.PairHiddenMarkov(HIDDEN, "ab")], WORDS),
        "HiddenTree": ([K.HiddenTree((-1, 0, 0, 1, 1), *HIDDEN, alphabet="ab")], LEAVES),
        "Marginalization": (
            [K.Marginalization(tuple(M.MarkovChain(0, alphabet="ab", transitions=((p, 1 - p),)) for p in (0.2, 0.9)))],
            WORDS,
        ),
        "Fisher": (
            [K.Fisher(M.MarkovChain(1, alphabet="ab")), K.Fisher(M.MarkovChain(0, alphabet="ab"), "practical")],
            WORDS,
        ),
        "Fisher of vectors": (
            [K.Fisher(M.Normal(0.5, 2.0)), K.Fisher(M.Normal(0.5, 2.0), "practical")],
            LINE,
        ),
        "FeatureDistance": ([K.FeatureDistance(K.Spectrum(2)), K.FeatureDistance(K.Spectrum(1), 1.4)], WORDS),
        "OrdinalMatch": ([K.OrdinalMatch(LEVELS), K.OrdinalMatch(LEVELS[::-1])], RANKS),
        "Match": ([K.Match(), K.Match() + 0.5 * K.Match()], WORDS),
        "Subspace": (
            [
                K.Subspace(G, ((0.5, 1.0), (-1.5, 0.25), (3.0, -2.0))),
                K.Subspace(K.Polynomial(2), ((0.5, 1.0), (-1.5, 0.25), (0.5, 1.0))),
                0.5 * K.Subspace(G.on([0]) + L.on([1]), ((0.5, 1.0), (2.0, -1.0))) + L,
            ],
            PAIRS_OF_NUMBERS,
        ),
        # the points lie outside of the data: a difference keeps the precision of what it is a difference of
        "Complement": (
            [
                K.Complement(G, ((7.0, 1.0), (-7.0, 0.25))),
                K.Complement(K.Exponential(1.3), ((7.0, 1.0), (0.0, 6.0))),
                K.Complement(G, ((7.0, 1.0),)) + G.on([1]),
            ],
            PAIRS_OF_NUMBERS,
        ),
        "CoRegularized": (
            [
                K.CoRegularized((G, K.Exponential(1.3)), ((0.5, 1.0), (-1.5, 0.25)), 2.0),
                K.CoRegularized((G.on([0]), L.on([1]), G), ((0.5, 1.0), (2.0, -1.0)), 0.3),
            ],
            PAIRS_OF_NUMBERS,
        ),
        "Subspace of strings": ([K.Subspace(K.Spectrum(1), ["ab", "b"]), K.Subspace(K.Spectrum(2), ["ab"])], WORDS),
        "Complement of strings": ([K.Complement(K.Spectrum(1), ["b"]), K.Complement(K.Match(), ["", "ab"])], WORDS),
        "Hermitian": ([K.Hermitian(K.ExponentialDot(2.0)), K.Hermitian((L + 0.5) ** 2)], HALVES),
        "Hyperkernel": ([K.Hyperkernel(G), K.Hyperkernel(L.normalized(), decay=0.3)], TWINS),
    }
    extra = {
        "Gaussian per column": Entry([K.Gaussian((0.7, 1.9))], PAIRS_OF_NUMBERS),
        "Matern per column": Entry([K.Matern(2.5, length_scale=(0.7, 1.9))], PAIRS_OF_NUMBERS),
        "SpectralMixture of two columns": Entry(
            [K.SpectralMixture((1.0, 0.5), (0.7, 0.2, 1.0, -1.0), (1.0, 0.3, 0.5, 0.8))], PAIRS_OF_NUMBERS
        ),
        "Laplacian per column": Entry([K.Laplacian((0.7, 1.9))], PAIRS_OF_NUMBERS),
        "table": Entry([K.Spectrum(1).on("gene") * G.on("size") + L.on(["size"])], TABLES),
    }
    found = {name: Entry(kernels, VECTORS) for name, kernels in vectors.items()}
    found |= {name: Entry(*row) for name, row in others.items()}
    return {**found, **extra}


def _public() -> list[str]:
    members = {name: getattr(K, name) for name in K.__all__}
    kernels = (name for name, cls in members.items() if inspect.isclass(cls) and issubclass(cls, K.Kernel))
    return [name for name in kernels if not inspect.isabstract(members[name])]


def _by_itself(name: str) -> Entry | None:
    """The entry of a kernel that is not in the table, from its class and its unit test."""
    cls = getattr(K, name)
    made = declared(cls, "MEMBERS") or [member(cls)]
    data = OF_DOMAIN[made[0].domain] if made[0] is not None else []
    taken = data[0] if len(data) == 1 else next((one for one in data if _takes(made[0], one)), None)
    return Entry(made, taken) if taken else None


def _takes(kernel: Kernel, data: Data) -> bool:
    try:
        return bool(np.all(np.isfinite(kernel.learn(kernel.pack(data.sample))(data.sample, n_threads=1))))
    except (DomainError, ParameterError):
        return False


ENTRIES = _entries()
ENTRIES |= {name: entry for name in _public() if name not in ENTRIES and (entry := _by_itself(name))}


# laws ---------------------------------------------------------------------------------------------------


def _pickles(trial):
    again, samples = pickle.loads(pickle.dumps((trial.kernel, trial.S)))
    trial.same(again.block(samples, samples), trial.K, 0.0 * trial.size)


def _any_owner(trial):
    shared, apart = trial.S.twin(), pickle.loads(pickle.dumps(trial.S))
    trial.same(trial.kernel.block(trial.S, shared), trial.kernel.block(trial.S, apart), 0.0 * trial.size)


def _any_tile_side(trial):
    usual = trial.kernel(trial.X, n_threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiling, "tile_side", lambda itemsize: 2)
        trial.same(trial.kernel(trial.X, n_threads=2), usual, trial.size)


def _always(trial):
    return True


LAWS = {
    **KERNEL_LAWS,
    "pickling": Law("pickling", "a pickled kernel and samples give the same bits", _pickles, _always),
    "owners": Law(
        "owners", "two collections give the same bits, whether or not they share memory", _any_owner, _always
    ),
    "tile sides": Law("tile sides", "k(X) does not depend on the side of tiles", _any_tile_side, _always),
}
SMOOTH = {"the gradient in the inputs"}  # differences need points that are equal or well apart
# An example is a kernel, data and a law. Nothing is computed here, as every process of the tests reads this file: that
# there are 20 laws to a kernel, on the average, is tested below.
EACH = math.ceil(EXAMPLES_IN_ALL / (len(ENTRIES) * LAWS_ON_AVERAGE) * settings.default.max_examples / 25)


def _coarse(X):
    return np.round(X * 4) / 4 if isinstance(X, np.ndarray) else X


def _claimed(entry: Entry) -> list[str]:
    """The laws that some member of an entry claims, on its fixed sample."""
    trials = [Trial(kernel, entry.data.sample) for kernel in entry.kernels]
    return [law for law in LAWS if any(LAWS[law].claimed(trial) for trial in trials)]


def broken_laws(entry: Entry, laws: list[str], examples: int) -> dict[str, str]:
    """Laws that do not hold, each with the example that Hypothesis found, by asking again without those."""
    laws, broken, asked = list(laws), {}, ""

    @settings(max_examples=examples)
    @given(kernel=st.sampled_from(entry.kernels), X=entry.data.drawn)
    def hold(kernel, X):
        nonlocal asked
        trial, coarse = Trial(kernel, X), None
        for asked in laws:
            if asked in SMOOTH:
                coarse = coarse or Trial(kernel, _coarse(X))
            LAWS[asked].check(coarse if asked in SMOOTH else trial)

    while laws:
        try:
            hold()
            break
        except Exception as error:  # what a kernel raises breaks the law that asked
            broken[asked] = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
            laws.remove(asked)
    return broken


@pytest.mark.parametrize("name", ENTRIES)
def test_laws(name):
    laws = _claimed(ENTRIES[name])
    assert len(laws) >= LAWS_OF_EACH
    broken = broken_laws(ENTRIES[name], laws, EACH)
    assert not broken, "\n\n".join(f"{law}: {told}" for law, told in broken.items())


class Lopsided(K.Linear):
    """No kernel: the diagonal is not that of the matrix."""

    def diag(self, A):
        return super().diag(A) + 1.0


def test_every_broken_law_is_named():
    entry = Entry([Lopsided()], VECTORS)
    assert set(broken_laws(entry, ["symmetry", "the diagonal", "normalisation"], 5)) == {
        "the diagonal",
        "normalisation",
    }


def test_every_public_kernel_has_an_entry():
    missing = [f"{unit_test_of(getattr(K, name))}.MEMBERS[{name!r}]" for name in _public() if name not in ENTRIES]
    assert not missing, f"list some members, or name arguments in the class as its `example`: {missing}"


@pytest.mark.parametrize("name", ["Cauchy", "Tanimoto", "Spectrum", "TfIdf", "SubsetTree", "RandomWalk", "PStepWalk"])
def test_a_kernel_enters_by_itself(name):
    entry = _by_itself(name)
    assert entry is not None and type(entry.kernels[0]) is getattr(K, name)
    assert len(_claimed(entry)) >= LAWS_OF_EACH


def test_there_are_enough_examples():
    laws = [len(_claimed(entry)) for entry in ENTRIES.values()]
    assert sum(laws) >= LAWS_ON_AVERAGE * len(ENTRIES), sum(laws)

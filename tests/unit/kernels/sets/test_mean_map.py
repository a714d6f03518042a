"""Mean map and minimax: against double sums, the energy distance, explicit extremes; features and model files."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer import SVC, KernelRidge
from mercer.domains.sets import Sets
from mercer.errors import DomainError, ParameterError
from mercer.gram import Features
from mercer.kernels import Gaussian, Linear, NegativeDistance, Polynomial, Spectrum, Substrings
from mercer.kernels.sets import mean_map as module
from mercer.kernels.sets.mean_map import MeanMap, MinMax
from mercer.testing import check_kernel
from tests.naive.strings import spectrum

SIZES = (3, 1, 0, 5, 2, 4, 1, 7, 2)
BAGS = [np.random.default_rng(i).normal(size=(m, 2)) for i, m in enumerate(SIZES)]
FULL = [bag for bag in BAGS if len(bag)]
WORDS = [["cat", "hat"], ["at"], [], ["to", "be", "to"], ["tobe"]]


def mean_map(X, Z, k):
    """The double sum of the definition, pair by pair."""
    if not len(X) or not len(Z):
        return 0.0
    return sum(k(x, z) for x in X for z in Z) / (len(X) * len(Z))


def gaussian(x, z):
    return float(np.exp(-np.sum((np.asarray(x) - z) ** 2) / (2.0 * 0.7**2)))


def test_the_double_sum():
    expected = [[mean_map(x, z, gaussian) for z in BAGS] for x in BAGS]
    np.testing.assert_allclose(MeanMap(Gaussian(0.7))(BAGS), expected, rtol=1e-12)
    np.testing.assert_allclose(MeanMap(Gaussian(0.7))(BAGS[:4], BAGS[2:]), np.array(expected)[:4, 2:], rtol=1e-12)
    sums = np.array(expected) * np.multiply.outer(SIZES, SIZES)
    np.testing.assert_allclose(MeanMap(Gaussian(0.7), average=False)(BAGS), sums, rtol=1e-12)
    K = MeanMap(Gaussian(0.7))
    np.testing.assert_allclose(K.diag(K.pack(BAGS)), np.diag(expected), rtol=1e-12)


@given(seed=st.integers(0, 10**6))
def test_strings_as_members(seed):
    rng = np.random.default_rng(seed)
    X = [["".join(rng.choice(list("ab"), rng.integers(0, 5))) for _ in range(m)] for m in (2, *rng.integers(0, 4, 4))]
    expected = [[mean_map(x, z, lambda s, t: spectrum(s, t, 2)) for z in X] for x in X]
    np.testing.assert_allclose(MeanMap(Spectrum(2))(X), expected, rtol=1e-12)


def test_long_sets_are_cut_into_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(m, 3)) for m in (500, 3, 900, 1, 410)]
    expected = [[Gaussian(1.0)(a, b).mean() for b in bags] for a in bags]
    k = MeanMap(Gaussian(1.0))
    np.testing.assert_allclose(k(bags), expected, rtol=1e-12)
    np.testing.assert_allclose(k.diag(k.pack(bags)), np.diag(expected), rtol=1e-12)
    monkeypatch.setattr(module, "_PAIRS", 1)
    np.testing.assert_allclose(k(bags), expected, rtol=1e-12)


def test_weights_stand_for_copies():
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(3, 2)), rng.normal(size=(2, 2))
    weighted = [{"members": x, "weights": [2.0, 1.0, 3.0]}, z]
    copies = [x[[0, 0, 1, 2, 2, 2]], z]
    for k in (MeanMap(Gaussian(1.0)), MeanMap(Polynomial(2), average=False)):
        np.testing.assert_allclose(k(weighted), k(copies), rtol=1e-12)


def test_the_energy_distance():
    """|Phi(X) - Phi(Z)|^2 = 2 E|x - z| - E|x - x'| - E|z - z'|, by the kernel -|x - z|."""
    x, z = FULL[0], FULL[2]

    def mean(a, b):
        return np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)).mean()

    energy = 2.0 * mean(x, z) - mean(x, x) - mean(z, z)
    k = MeanMap(NegativeDistance())
    assert k.order == 1
    np.testing.assert_allclose(k.distance([x], [z]) ** 2, [[energy]], rtol=1e-10)
    with pytest.raises(DomainError, match=r"Set 2 is empty, and NegativeDistance.*Leave the set out"):
        k(BAGS)
    assert MeanMap(NegativeDistance(), average=False).order is None


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (MeanMap(Gaussian(0.7)), BAGS),
        (MeanMap(Linear(), average=False), BAGS),
        (MeanMap(0.5 * Gaussian("median") + Linear()), BAGS),
        (MeanMap(Gaussian(1.0).on([0])), BAGS),
        (MeanMap(NegativeDistance()), FULL),
        (MeanMap(Spectrum(1)), WORDS),
        (MeanMap(Spectrum(2)) + MeanMap(Substrings()), WORDS),
        (MinMax(Gaussian(1.0)), FULL),
        (MinMax(Polynomial(2)), FULL),
        (MinMax(Linear()) * MeanMap(Gaussian(2.0)), FULL),
    ],
)
def test_laws(kernel, X):
    check_kernel(kernel, X)


def test_sets_of_sets():
    """A kernel on sets is a kernel on members of sets of them."""
    X = [BAGS[:2], BAGS[3:6], [BAGS[7]]]
    inner = MeanMap(Gaussian(1.0))
    expected = [[inner(a, b).mean() for b in X] for a in X]
    np.testing.assert_allclose(MeanMap(inner)(X), expected, rtol=1e-12)


def test_extremes_of_columns():
    expected = np.array([[*x.min(axis=0), *x.max(axis=0)] for x in FULL])
    np.testing.assert_allclose(MinMax(Gaussian(1.3))(FULL), Gaussian(1.3)(expected), rtol=1e-12)
    sparse = [sp.csr_array(x) for x in FULL]
    np.testing.assert_allclose(MinMax(Linear())(sparse), expected @ expected.T, rtol=1e-12)
    with pytest.raises(DomainError, match=r"Set 2 is empty, so that it has no least and largest values.*MeanMap"):
        MinMax(Linear())(BAGS)
    with pytest.raises(DomainError, match=r"MinMax was given Spectrum\(2\), which compares Strings"):
        MinMax(Spectrum(2))(WORDS)
    with pytest.raises(DomainError, match=r"Sets of Strings were given to MinMax, which compares sets of vectors"):
        MinMax(Linear())(MeanMap(Spectrum(1)).pack(WORDS[:2]))


@pytest.mark.parametrize("k", [MeanMap(Polynomial(2)), MeanMap(Spectrum(1), average=False), MinMax(Polynomial(2))])
def test_linear_time_learning_agrees(k):
    X = WORDS if isinstance(k.kernel, Spectrum) else FULL
    y = np.arange(float(len(X)))
    model = KernelRidge(k, alpha=0.1).fit(X, y)
    linear = KernelRidge(k, alpha=0.1, gram=Features()).fit(X, y)
    np.testing.assert_allclose(linear.predict(X[1:]), model.predict(X[1:]), rtol=1e-7, atol=1e-8)


def test_features_of_empty_sets():
    k = MeanMap(Linear())
    F, keys = k.features(k.pack(BAGS))
    np.testing.assert_allclose(F, [bag.mean(axis=0) if len(bag) else [0.0, 0.0] for bag in BAGS], rtol=1e-12)
    assert k.features(k.pack(BAGS)[2:3], keys)[0].shape == (1, 2)


def test_a_function_compiled_for_members():
    """Substrings compiles f; of sets it is the mean over members."""
    k, coef = MeanMap(Substrings()), np.array([1.0, -2.0, 0.5, 1.0, 0.3])
    S = k.prepare(k.pack(WORDS))
    f = k.compile(S, coef)
    assert f is not None
    np.testing.assert_allclose(f(k.pack([["hat", "to"], []])), k([["hat", "to"], []], WORDS) @ coef, rtol=1e-10)
    assert MeanMap(Gaussian(1.0)).compile(MeanMap(Gaussian(1.0)).pack(FULL), np.ones(len(FULL))) is None


def test_what_members_teach():
    """The median of distances of members; weights of sets are those of their members."""
    k = MeanMap(Gaussian("median"))
    learned = k.learn(k.pack(BAGS))
    assert learned.kernel == Gaussian("median").learn(Gaussian("median").pack(np.concatenate(BAGS)))
    weight = np.array([2.0] + [1.0] * 7 + [0.0])
    copies = k.learn(k.pack([BAGS[0], *BAGS[:-1]]))
    assert k.learn(k.pack(BAGS), None, weight).kernel == copies.kernel
    assert MinMax(Gaussian("median")).learn(k.pack(FULL)).kernel.length_scale > 0.0


def test_domains_of_members_are_told_apart():
    packed = MeanMap(Spectrum(1)).pack(WORDS)
    with pytest.raises(DomainError, match=r"Sets of Strings were given to MeanMap\(Gaussian.*compares Vectors"):
        MeanMap(Gaussian(1.0))(packed)
    with pytest.raises(DomainError, match=r"3 and with 2 columns"):
        MeanMap(Gaussian(1.0))([np.zeros((1, 3))], BAGS)
    with pytest.raises(ParameterError, match="kernel must be"):
        MeanMap("rbf")(BAGS)  # pyright: ignore[reportArgumentType]
    assert MeanMap(Gaussian(1.0)).bounded and not MeanMap(Gaussian(1.0), average=False).bounded


@pytest.mark.parametrize("k", [MeanMap(Gaussian(1.0)), MinMax(Gaussian(1.0)), MeanMap(Gaussian(1.0)).normalized()])
def test_a_model_file_gives_the_same_predictions(k, tmp_path):
    y = np.arange(len(FULL)) % 2
    model = SVC(k).fit(FULL, y)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert isinstance(again.expansion_.samples, Sets)
    np.testing.assert_array_equal(again.decision_function(FULL), model.decision_function(FULL))


def test_the_compiled_loop_in_python():
    tile = np.arange(6.0).reshape(2, 3)
    out = np.zeros((2, 2))
    left, right = (np.array([4, 5]), np.array([1.0, 2.0])), (np.array([7, 8, 8]), np.array([1.0, 0.5, 2.0]))
    module._add_sums.py_func(tile, left, right, (4, 7), out)
    np.testing.assert_array_equal(out, [[0.0, 4.5], [6.0, 24.0]])

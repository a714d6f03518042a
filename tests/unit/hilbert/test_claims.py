"""Each way to a claim, and what the algebra keeps."""

import inspect

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.hilbert import claims
from mercer.hilbert.claims import Claim, facts
from mercer.kernels import (
    Anova,
    Brownian,
    BSpline,
    ChiSquared,
    Constant,
    ExponentialDot,
    Gaussian,
    Intersection,
    Kernel,
    Laplacian,
    Linear,
    Match,
    NegativeDistance,
    Periodic,
    RadialFunction,
    RankOne,
    Spectrum,
    Tanimoto,
)
from mercer.kernels.protocols import Reason
from mercer.kernels.vectors.pointwise import Radial

G, L, E, P = Gaussian(1.0), Linear(), ExponentialDot(1.0), Periodic(2.0)


class Band(Radial):
    """The kernel of an interval of frequencies, sin(r) / r."""

    spectral_support = "open"

    def profile(self, tile, inv_l):
        tile[...] = np.sinc(np.sqrt(-2.0 * tile) * inv_l / np.pi)


class Wave(Radial):
    """The kernel of one frequency, in one column."""

    spectral_support = "atoms"

    def profile(self, tile, inv_l):
        tile[...] = np.cos(np.sqrt(-2.0 * tile) * inv_l)


def holds(kernel, width=None):
    found = facts(kernel, width)
    return found.strict.holds, found.universal.holds, found.characteristic.holds


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (G, (True, True, True)),
        (Band(1.0), (True, True, None)),
        (Wave(1.0), (False, False, False)),
        (P, (False, False, False)),
        (0.5 * P + 1.0, (False, False, False)),
        ((P * P).exp(), (False, False, False)),
        (P + Periodic(3.0), (False, False, False)),
        (P * Periodic(3.0), (None, None, None)),
        (P * Wave(1.0), (False, False, False)),
        (P * G, (True, True, True)),
        (P + 0.1 * G, (True, True, True)),
        (P + 0.0 * G, (False, False, False)),
        (Band(1.0) * P, (True, True, None)),
        (BSpline(3).normalized(), (True, True, True)),
        (G.polynomial((1.0, 0.0, 2.0)), (True, True, True)),
        (P.polynomial((1.0, 0.0, 2.0)), (False, False, False)),
        (G**2, (True, True, True)),
        (RadialFunction(np.exp), (None, None, None)),
    ],
    ids=repr,
)
def test_the_support_of_the_spectrum_decides(kernel, expected):
    assert holds(kernel) == expected


@pytest.mark.parametrize(
    ("kernel", "expected", "points"),
    [
        (E, (True, True, None), None),
        (E * L, (False, False, None), 1),
        ((L**2).exp(), (False, False, False), 2),
        ((L**2).exp() + L, (False, False, False), 4),
        ((L**2).exp() * L + 1.0, (False, False, False), 4),
        (L * (L**2).exp(), (False, False, False), 2),
        ((L**3).exp(), (True, True, None), None),
    ],
    ids=repr,
)
def test_the_degrees_of_the_series_decide(kernel, expected, points):
    assert holds(kernel) == expected
    assert facts(kernel).strict.points == points


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (G + L, (True, True, None)),
        (G + P, (True, True, True)),
        (G * L, (False, False, None)),
        (G * (L + 1.0), (True, True, None)),
        (G * Tanimoto(), (True, None, None)),
        (G * RankOne(np.ravel), (None, None, None)),
        ((G + L) ** 2, (True, True, None)),
        ((G * L).exp(), (None, None, None)),
        (Intersection().exp(), (True, True, None)),
        (Tanimoto().exp(), (True, None, None)),
        (NegativeDistance().exp(), (True, True, None)),
        ((G + L).polynomial((0.0, 1.0)), (True, True, None)),
        ((G + L).polynomial((1.0, 0.0)), (None, None, None)),
        ((G + L).normalized(), (True, True, None)),
        (0.0 * (G + L), (False, False, False)),
        (G.of(np.tanh), (None, None, None)),
        (L.of(np.tanh), (False, False, False)),
        (RankOne(np.ravel), (False, False, False)),
        (NegativeDistance(2.0) + G, (True, None, None)),
        (NegativeDistance(2.0), (False, None, None)),
        (Brownian(), (False, False, None)),
        (Spectrum(2), (False, False, None)),
        (ChiSquared(1.0), (True, True, None)),
    ],
    ids=repr,
)
def test_the_algebra_keeps_what_it_keeps(kernel, expected):
    assert holds(kernel) == expected


def test_pairs():
    assert holds(G.tensor(Match())) == (True, True, None)
    assert holds(G.tensor(L))[0] is False
    assert holds(G.tensor(RadialFunction(np.exp)))[0] is None
    assert holds(G.direct_sum(G)) == (False, False, False)
    assert facts(G.direct_sum(G)).strict.points == 4


def test_columns_that_are_not_read():
    assert holds(G.on([0, 1])) == (False, False, False)
    assert holds(G.on([0, 1]), 2) == (True, True, True)
    assert holds(G.on([0]) * G.on([1])) == (False, False, False)
    assert holds(G.on([0]) * G.on([1]), 2)[:2] == (True, True)
    assert holds(2.0 * (G.on([0]) * P.on([1])), 2)[0] is None
    additive = G.on([0]) + G.on([1]) + 1.0
    assert facts(additive, 2).strict.holds is False and facts(additive, 2).strict.points == 4
    assert holds(G.on([0]) + G, 2)[0] is True


def test_the_degree_of_anova():
    assert holds(Anova(2, base=G))[0] is None
    assert holds(Anova(2, base=G), 2)[:2] == (True, True)
    assert facts(Anova(2, base=G), 3).strict.points == 8
    assert holds(Anova(3, base=G), 2)[0] is None
    assert facts(Anova(2), 3).strict.points == 4


def test_chains_of_reasons_name_their_links():
    reason = facts(0.5 * (G * (L + 1.0) + Laplacian(1.0) * L)).strict.reason
    for part in ("multiple", "term Gaussian(1.0) * (Linear() + Constant(1.0))", "Oppenheim", "spectral measure"):
        assert part in reason


def test_a_claim_reads_well():
    assert str(Claim(True, "why", "HSS Def. 3")) == "yes: why [HSS Def. 3]"
    assert str(Claim(None, "why")) == "not known: why"


def test_constants_have_one_feature():
    X = Vectors.pack([[0.0], [1.0]])
    assert facts(Constant(3.0)).strict.holds is False
    assert np.linalg.matrix_rank(Constant(3.0).block(X, X)) == 1


class Angle(Kernel):
    """A kernel of somebody's own, which knows why it is not strict."""

    domain = Vectors

    def block(self, A, B):
        return np.sign(A.X[:, :1]) * np.sign(B.X[:, 0])

    def reasons(self, width):
        return {"strict": Reason(False, f"x and 2 x are alike in {width} columns", "HSS Def. 3", 2)}


def test_a_kernel_gives_its_own_reasons():
    found = facts(Angle(), 3)
    assert found.strict == Claim(False, "x and 2 x are alike in 3 columns", "HSS Def. 3", 2)
    assert found.universal.holds is None


def test_no_kernel_is_listed_beside_the_algebra():
    """What is known of a single kernel is said by its class; rules here are of kernels made from others."""
    imported = [line for line in inspect.getsource(claims).splitlines() if line.startswith("from mercer.kernels")]
    families = {line.split()[1].split(".")[2] for line in imported if line.split()[1].count(".") == 3}
    assert families == {"algebra", "vectors"}  # of the latter Anova, products of another kernel over columns
    assert [line for line in imported if "vectors" in line] == ["from mercer.kernels.vectors.subsets import Anova"]

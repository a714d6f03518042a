"""check_kernel accepts kernels and names the law that anything else breaks."""

import numpy as np
import pytest

from mercer.constraints import Positive
from mercer.domains import Vectors
from mercer.kernels import Gaussian, Kernel, Linear, NegativeDistance, Sigmoid, Spectrum, ThinPlate
from mercer.testing import KERNEL_LAWS, check_kernel, violating_vector
from mercer.testing.kernel_laws import Trial

X = np.random.default_rng(0).normal(size=(7, 2))


class Good(Kernel):
    """A kernel of one's own with everything that can be declared."""

    domain = Vectors
    constraints = {"width": Positive()}
    stationary = True
    normalised = True

    def __init__(self, width=1.0):
        self.width = width

    def _gaps(self, A, B):
        A, B = (S.X.toarray() if S.is_sparse else S.X for S in (A, B))
        return np.abs(A[:, None] - B).sum(axis=2)

    def block(self, A, B):
        return np.exp(-self._gaps(A, B) / self.width)

    def pullback(self, A, B, W):
        d = self._gaps(A, B)
        return np.array([np.sum(W * np.exp(-d / self.width) * d) / self.width**2])


class Skewed(Good):
    def block(self, A, B):
        return super().block(A, B) + np.arange(len(A))[:, None]


class Indefinite(Good):
    normalised = False

    def block(self, A, B):
        return -super().block(A, B)


class Large(Good):
    normalised = False

    def block(self, A, B):
        K = super().block(A, B)
        return np.where(K == 1.0, K, 2.0)


class WrongDiagonal(Good):
    def diag(self, A):
        return np.full(len(A), 2.0)


class Drifting(Good):
    normalised = stationary = False

    def block(self, A, B):
        return super().block(A, B) * len(A) * len(B)


class Moody(Good):
    calls = 0

    def block(self, A, B):
        type(self).calls += 1
        return super().block(A, B) * (1.0 + 1e-14 * self.calls)


class NotNormalised(Good):
    def block(self, A, B):
        return 2.0 * super().block(A, B)

    def pullback(self, A, B, W):
        return 2.0 * super().pullback(A, B, W)


class NotStationary(Good):
    normalised = False

    def block(self, A, B):
        f, g = (1.0 + np.abs(np.asarray(S.X)[:, 0]) for S in (A, B))
        return super().block(A, B) * np.outer(f, g)


class WrongSlope(Good):
    def pullback(self, A, B, W):
        return -super().pullback(A, B, W)


class WrongFeatures(Good):
    def features(self, A, keys=None):
        return np.ones((len(A), 1)), None


class Stateful(Good):
    def block(self, A, B):
        self.width = self.width + 1e-9
        return super().block(A, B)


class Renamed(Good):
    def __repr__(self):
        return "Renamed(3.0)"


class Vandal(Good):
    def block(self, A, B):
        K = super().block(A, B)
        A.X[0, 0] += 1.0
        return K


BROKEN = {
    Skewed: "symmetry",
    Indefinite: "definiteness",
    Large: "definiteness|Cauchy-Schwarz",
    WrongDiagonal: "the diagonal",
    Drifting: "slices|transposition|the diagonal|tiles",
    NotNormalised: "unit self-similarity",
    NotStationary: "translation",
    WrongSlope: "the gradient",
    WrongFeatures: "features",
    Renamed: "text",
}


def test_a_good_kernel_passes():
    assert check_kernel(Good(), X) is None
    assert check_kernel(Good(0.5) + Gaussian(1.0), X) is None


@pytest.mark.parametrize("cls", BROKEN, ids=lambda cls: cls.__name__)
def test_the_broken_law_is_named(cls):
    with pytest.raises(AssertionError, match=f"breaks the law of ({BROKEN[cls]})"):
        check_kernel(cls(), X)


def test_a_kernel_that_repeats_itself_badly():
    with pytest.raises(AssertionError, match="purity"):
        check_kernel(Moody(), X, laws=["purity"])


@pytest.mark.parametrize("cls", [Stateful, Vandal])
def test_a_kernel_that_changes_things(cls):
    with pytest.raises(AssertionError, match="breaks the law of"):
        check_kernel(cls(), X.copy(), laws=["purity"])


def test_indefinite_kernels_must_say_so():
    A = np.array([[0.0], [1.0], [2.0], [5.0]])
    c = violating_vector(Sigmoid(1.0, offset=-1.0), A)
    K = Sigmoid(1.0, offset=-1.0)(A)
    assert c is not None and c @ K @ c < 0
    check_kernel(Sigmoid(1.0, offset=-1.0), A)

    class Claimed(Sigmoid):
        order = 0

    with pytest.raises(AssertionError, match="declare order = None"):
        check_kernel(Claimed(1.0, offset=-1.0), A)


def test_conditionally_definite_kernels_are_tested_on_the_projection():
    check_kernel(NegativeDistance(), X)
    check_kernel(ThinPlate(), X)

    class Claimed(ThinPlate):
        order = 1

    assert violating_vector(NegativeDistance(), X) is None
    with pytest.raises(AssertionError, match="definiteness"):
        check_kernel(Claimed(), X * 10.0)


def test_other_domains():
    check_kernel(Spectrum(2), ["abab", "ba", "", "aab"])
    check_kernel(Gaussian(1.0).on("x") * Spectrum(1).on("w"), {"x": [1.0, 2.0], "w": ["a", "ab"]})


def test_laws_have_names_and_formulas():
    assert len(KERNEL_LAWS) >= 20
    assert all(law.name == name and law.statement for name, law in KERNEL_LAWS.items())
    assert not KERNEL_LAWS["features"].claimed(Trial(Gaussian(1.0), X))
    assert KERNEL_LAWS["features"].claimed(Trial(Linear(), X))
    with pytest.raises(KeyError):
        check_kernel(Linear(), X, laws=["gravity"])


def test_one_sample_is_enough():
    check_kernel(Gaussian(1.0), [[1.0, 2.0]])


class Tent(Kernel):
    """max(0, 1 - |x - z|): a kernel on the line, none in the plane."""

    domain = Vectors

    def block(self, A, B):
        return np.maximum(0.0, 1.0 - np.linalg.norm(A.X[:, None] - B.X[None], axis=-1))


def test_points_that_violate_definiteness_are_searched_for():
    few = np.array([[0.0, 0.0], [0.4, 0.1], [1.5, 0.5]])
    assert violating_vector(Tent(), few) is None  # these points do not tell
    with pytest.raises(AssertionError, match=r"definiteness.*the points .* give c\^T K c = -.*refuse such samples"):
        check_kernel(Tent(), few, laws=["definiteness"])
    check_kernel(Tent(), few[:, :1], laws=["definiteness"])
    check_kernel(Tent(), few, laws=["symmetry"])  # nothing else was asked for

"""What only some kernels can do: who offers what, and what is answered where nothing is offered."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.kernels import Gaussian, Kernel, Linear, Spectrum
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import (
    bases_of,
    compiled_expansion,
    feature_count,
    grain_of,
    log_integral,
    offers,
    quick_tiles,
)
from mercer.kernels.protocols import CAPABILITIES, Differentiable, HasFeatures, HasFrequencies

X = np.arange(6.0).reshape(3, 2)
S = Vectors.pack(X)


class Bare(Kernel):
    """A kernel of a user, who writes no more than a block."""

    domain = Vectors

    def block(self, A, B):
        return A.dot(B)


class WithFeatures(Bare):
    """The same with a feature map, written without any class of this package beside Kernel."""

    def features(self, A, keys=None):
        return A.X, None


def test_capabilities_are_the_protocols_that_a_kernel_satisfies():
    for kernel in (Bare(), WithFeatures(), Gaussian(1.0), Linear(), Spectrum(2), Gaussian(1.0) + Linear()):
        offered = {name for name, (protocol, _) in CAPABILITIES.items() if offers(kernel, protocol)}
        assert offered == kernel.capabilities
    assert Bare().capabilities == frozenset() and WithFeatures().capabilities == {"features"}


def test_a_protocol_is_asked_of_all_terms():
    assert isinstance(Gaussian(1.0) + Linear(), HasFeatures)  # the class has the method
    assert not offers(Gaussian(1.0) + Linear(), HasFeatures) and offers(Linear() + 1.0, HasFeatures)
    assert offers(Gaussian(1.0) * Linear(), Differentiable) and not offers(Linear(), HasFrequencies)


def test_without_a_method_there_is_an_answer():
    kernel = Bare()
    comparison = Comparison(kernel, S, S)
    assert quick_tiles(kernel, comparison) is None and grain_of(kernel, comparison) is None
    assert compiled_expansion(kernel, S, np.ones(3)) is None and log_integral(kernel, 2) is None
    assert tuple(bases_of(kernel)) == () and feature_count(kernel, S) is None
    assert feature_count(WithFeatures(), S) is None and feature_count(Linear(), S) == 2


@pytest.mark.parametrize("name", CAPABILITIES)
def test_what_is_lacking_is_told_and_hasattr_sees_it(name):
    with pytest.raises(CapabilityError, match=f"Bare.* has no {CAPABILITIES[name][1]}"):
        getattr(Bare(), name)
    assert not hasattr(Bare(), name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = Bare().nonsense


def test_no_class_is_changed_behind_its_back():
    assert Bare.block is vars(Bare)["block"] and WithFeatures.features is vars(WithFeatures)["features"]
    assert Bare.block.__code__.co_name == "block"  # as it was written, and not wrapped

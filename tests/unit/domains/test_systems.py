"""Systems: packing, slices of different numbers of states, joining, and what is refused."""

import numpy as np
import pytest

from mercer.domains.systems import Systems, are_systems
from mercer.errors import DomainError, ModelError
from mercer.testing.domains import check_domain


def random_systems(seed, sizes=(3, 1, 2, 4), outputs=2):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(s, s)) / s, rng.normal(size=(outputs, s)), rng.normal(size=s)) for s in sizes]


def steps(system, count):
    A, C, x = system
    return np.array([C @ np.linalg.matrix_power(A, t) @ x for t in range(count)])


def test_trajectories_of_taken_and_joined_systems():
    X, Y = random_systems(0), random_systems(1, (5, 1))
    S = Systems.pack(X).concat(Systems.pack(Y))[np.array([5, 0, 4, 2])]
    S.check()
    for i, system in enumerate((Y[1], X[0], Y[0], X[2])):
        np.testing.assert_allclose(S.trajectory(i, 6), steps(system, 6), rtol=1e-12)
    assert S.sizes.tolist() == [1, 3, 5, 2] and S.width == 2
    assert S.trajectory(0, 0).shape == (0, 2)


def test_the_laws_of_domains_hold():
    check_domain(Systems, random_systems(2))


def test_dicts_and_packed_systems():
    A, C, x = random_systems(3)[0]
    S = Systems.pack([{"A": A, "C": C, "x": x}])
    assert np.array_equal(S.transitions[0], A) and Systems.pack(S) is S
    assert repr(S) == "<Systems: 1 sample, 2 outputs, 3 to 3 states>"
    assert are_systems(S) and are_systems([(A, C, x)]) and are_systems([{"A": A}])
    assert not are_systems(np.zeros((3, 4))) and not are_systems([[1.0, 2.0, 3.0]]) and not are_systems([])


@pytest.mark.parametrize(
    ("X", "told"),
    [
        ("ab", "str was given.*Make a list of systems"),
        ([], "0 sample.*Give at least one"),
        ([{"A": [[1.0]]}], "System 0 is a dict with.*Give these three"),
        ([([[1.0]], [[1.0]])], "System 0 is of type tuple, not a triple"),
        ([([["a"]], [[1.0]], [1.0])], "System 0 has parts that are not real numbers"),
        ([([[1.0]], [[1.0, 2.0]], [1.0])], r"System 0 has the shapes \(1, 1\), \(1, 2\) and \(1,\).*fit together"),
        ([([[1.0]], [[np.inf]], [1.0])], "System 0 has values that are not finite"),
        ([([[1.0]], [[1.0]], [1.0]), ([[1.0]], [[1.0], [2.0]], [1.0])], "System 0 has 1 outputs, system 1 has 2"),
    ],
)
def test_refused(X, told):
    with pytest.raises(DomainError, match=f"(?s){told}"):
        Systems.pack(X)


def test_different_outputs_are_not_joined_and_damage_is_found_out():
    S = Systems.pack(random_systems(0))
    with pytest.raises(DomainError, match=r"2 outputs are compared with systems that have 3.*same outputs"):
        S.concat(Systems.pack(random_systems(0, outputs=3)))
    for bad in (
        Systems(S.transitions, S.outputs, S.states, S.sizes + 5),
        Systems(S.transitions, S.outputs, S.states[:, :2], S.sizes),
        Systems(S.transitions * np.nan, S.outputs, S.states, S.sizes),
        Systems(S.transitions, S.outputs[0], S.states, S.sizes),
    ):
        with pytest.raises(ModelError, match="systems whose parts do not fit"):
            bad.check()

"""The search for hyper-parameters, on criteria whose minima are known."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.errors import CapabilityError, ParameterError
from mercer.free_parameters import free_values
from mercer.kernels import Gaussian, Kernel, Periodic
from mercer.problems import Status
from mercer.selection import Search, tune
from mercer.selection.hyperparameters import require_derivative


def bowl(centre: float = 0.0, noise: float = 1.0):
    """Squared distances of the logarithms to those of `centre` and `noise`."""

    def criterion(kernel: Kernel, beside):
        raw = free_values(kernel)
        u, v = np.log(raw) - centre, np.log(beside["noise"]) - np.log(noise)
        return np.sum(u**2) + np.sum(v**2), 2 * u / raw, {"noise": 2 * v / beside["noise"]}

    return criterion


def test_finds_the_minimum_over_kernel_and_vector_beside():
    found = tune(bowl(0.5, 3.0), Gaussian((0.1, 7.0)), {"noise": np.array([[0.2, 5.0]])})
    np.testing.assert_allclose(found.kernel.length_scale, np.exp([0.5, 0.5]), rtol=1e-5)
    np.testing.assert_allclose(found.beside["noise"], [[3.0, 3.0]], rtol=1e-5)
    assert found.status is Status.CONVERGED and found.slope < 1e-4
    assert found.names == ("length_scale[0]", "length_scale[1]", "noise[0]", "noise[1]")
    assert found.path.shape == (len(found.values), 4) and np.all(np.diff(found.values) <= 0)
    np.testing.assert_allclose(found.path[0], [0.1, 7.0, 0.2, 5.0])


@pytest.mark.parametrize("fixed", [("length_scale",), ("length_scale[0]", "length_scale[1]")])
def test_fixed_names_do_not_move(fixed):
    found = tune(bowl(), Gaussian((0.3, 4.0)), {"noise": 0.5}, fixed=fixed)
    assert found.kernel.length_scale == (0.3, 4.0)
    assert found.beside["noise"] == pytest.approx(1.0, rel=1e-5)


def test_fixed_all_evaluates_once():
    found = tune(bowl(), Gaussian(0.3), {"noise": 0.5}, fixed="all")
    assert found.evaluations == 1 and found.kernel == Gaussian(0.3) and found.beside["noise"] == 0.5


def test_bounds_hold_and_are_told():
    found = tune(bowl(), Gaussian(5.0), {"noise": 0.5}, bounds={"length_scale": (2.0, 9.0)})
    assert found.kernel.length_scale == pytest.approx(2.0) and found.at_bounds == ("length_scale",)
    assert found.status is Status.CONVERGED and found.slope < 1e-4  # the derivative against the wall does not count


def test_numbers_of_any_sign():
    def criterion(kernel, beside):
        z = beside["z"] + 2.0
        return float(z @ z), np.zeros(1), {"z": 2 * z}

    found = tune(criterion, Gaussian(1.0), {"z": np.array([3.0, -5.0])}, real=("z",), fixed=("length_scale",))
    np.testing.assert_allclose(found.beside["z"], -2.0, atol=1e-4)


def test_a_wall_turns_the_search_back():
    def criterion(kernel, beside):
        x = np.log(beside["noise"])
        if x > 1.5:
            raise np.linalg.LinAlgError
        return (x - 1.0) ** 2, np.zeros(1), {"noise": 2 * (x - 1) / beside["noise"]}

    found = tune(criterion, Gaussian(1.0), {"noise": np.exp(-4.0)}, fixed=("length_scale",))
    assert np.log(found.beside["noise"]) == pytest.approx(1.0, abs=1e-3)


def test_restarts_find_the_deeper_of_two_minima():
    def criterion(kernel, beside):
        x = np.log(beside["noise"])
        value = 0.25 * x**4 - 2 * x**2 + 0.5 * x  # minima near -2.06 (deep) and 1.93
        return value, np.zeros(1), {"noise": (x**3 - 4 * x + 0.5) / beside["noise"]}

    start = {"noise": np.exp(2.0)}
    once = tune(criterion, Gaussian(1.0), start, fixed=("length_scale",))
    often = tune(criterion, Gaussian(1.0), start, fixed=("length_scale",), search=Search(8, 0))
    again = tune(criterion, Gaussian(1.0), start, fixed=("length_scale",), search=Search(8, 0))
    assert np.log(once.beside["noise"]) > 0 > np.log(often.beside["noise"])
    assert often.value == again.value and len(often.starts) == 9 and often.starts.min() == often.value


def test_the_monitor_ends_the_search_with_the_best_so_far():
    found = tune(bowl(), Periodic(5.0, 0.01), {"noise": 50.0}, monitor=lambda step, slope: step >= 1)
    assert found.status is Status.STOPPED and found.value <= found.values[0] and len(found.values) >= 2


def test_iterations_run_out():
    assert tune(bowl(), Gaussian((0.01, 50.0)), {"noise": 9.0}, search=Search(max_iter=1)).status is Status.MAX_ITER


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fixed": ("lenght",)}, "length_scale, noise"),
        ({"fixed": "noise"}, r"fixed=\('noise',\)"),
        ({"bounds": {"noise": (2.0, 1.0)}}, "smaller"),
    ],
)
def test_names_that_do_not_exist_are_told(options, words):
    with pytest.raises(ParameterError, match=words):
        tune(bowl(), Gaussian(1.0), {"noise": 1.0}, **options)


def test_no_finite_value_at_the_start():
    with pytest.raises(ParameterError, match="no finite value"):
        tune(lambda kernel, beside: (np.nan, np.zeros(1), {}), Gaussian(1.0), {"noise": 1.0})


def test_a_search_without_derivatives_is_refused_unless_all_is_held():
    class Blunt(Gaussian):
        @property
        def capabilities(self):
            return frozenset()

    require_derivative(Gaussian(1.0), ())
    with pytest.raises(CapabilityError, match=r"fixed=\('length_scale',\)"):
        require_derivative(Blunt(1.0), ())
    for held in ("all", ("length_scale",)):
        require_derivative(Blunt(1.0), held)


def test_a_large_value_does_not_end_a_search():
    """What is gained is measured by itself: logarithms of evidence grow with the number of samples."""
    plain = bowl(0.5, 3.0)

    def criterion(kernel, beside):
        value, raw, rest = plain(kernel, beside)
        return 1e5 + 0.01 * value, 0.01 * raw, {"noise": 0.01 * rest["noise"]}

    found = tune(criterion, Gaussian(2.0), {"noise": 2.0})
    np.testing.assert_allclose(found.kernel.length_scale, np.exp(0.5), rtol=1e-2)
    rough = tune(criterion, Gaussian(2.0), {"noise": 2.0}, search=Search(rough=True))
    assert rough.evaluations == 1


def test_what_ran_away_at_the_start_is_brought_back():
    """Steep at the start, a long step leads over a valley to a plain without a slope."""

    def criterion(kernel, beside):
        u, v = np.log(kernel.length_scale), np.log(float(beside["noise"]))
        edge, hollow = 1.0 / (1.0 + np.exp(-10.0 * u)), 0.8 * np.exp(-50.0 * (u + 0.1) ** 2)
        h, slope = 0.7 + edge - hollow, 10.0 * edge * (1.0 - edge) + 100.0 * (u + 0.1) * hollow
        c = 0.036 * (1.0 + 10.0 * v**2)
        rest = {"noise": 0.72 * v * h / beside["noise"]}
        return c * h, np.array([c * slope / kernel.length_scale]), rest

    found = tune(criterion, Gaussian(np.exp(0.1)), {"noise": np.exp(3.0)})
    assert -0.3 < np.log(found.kernel.length_scale) < 0.0 and found.at_bounds == ()


def test_limits_hold_where_no_bounds_are_given():
    found = tune(bowl(0.0), Gaussian(3.0), {"noise": 2.0}, limits={"length_scale": (2.0, 5.0), "noise": (1e-9, 1e9)})
    assert found.kernel.length_scale == pytest.approx(2.0) and found.at_bounds == ("length_scale",)
    wider = tune(
        bowl(0.0),
        Gaussian(3.0),
        {"noise": 2.0},
        limits={"length_scale": (2.0, 5.0)},
        bounds={"length_scale": (0.5, 5.0)},
    )
    assert wider.kernel.length_scale == pytest.approx(1.0, rel=1e-4)

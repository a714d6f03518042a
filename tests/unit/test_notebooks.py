import numpy as np
import pytest

import mercer
from mercer import notebooks
from mercer.budget import Plan
from mercer.inference import aggregated_test, mmd_test
from mercer.kernels import Gaussian, Linear, Periodic, Spectrum


def test_cells_are_escaped():
    text = notebooks.table("<b>", [("a<b", "x&y")], note="1 < 2")
    assert "<b><b>" not in text and "a&lt;b" in text and "x&amp;y" in text and "1 &lt; 2" in text


def test_the_curve_is_drawn_to_scale():
    points = notebooks.curve([0.0, 2.0, -2.0]).partition('points="')[2].partition('"')[0]
    heights = [float(point.partition(",")[2]) for point in points.split()]
    assert heights == [40.0, 4.0, 76.0]


def test_formulas_of_sums_and_products():
    kernel = 0.5 * Linear() + (Gaussian(1.0) + Linear()) * Periodic(1.0)
    text = kernel._repr_latex_()
    assert text.startswith(r"$k(x, x') = 0.5 \, \langle x, x' \rangle + (") and text.endswith("$")
    assert text.count(Gaussian(1.0).formula) == 1
    assert r"k_1(x, x') = " + Spectrum(2).formula in Spectrum(2).normalized()._repr_latex_()


def test_pictures_are_of_the_kernel():
    shown = Gaussian(2.0)._repr_html_()
    assert "positive definite" in shown and "<polyline" in shown and "Gaussian(2.0)" in shown
    shown = Spectrum(2)._repr_html_()
    assert f">{Spectrum(2)(['kernel'], ['kernels'])[0, 0]:.2g}</td>" in shown
    assert "<svg" not in Gaussian((1.0, 2.0))._repr_html_()  # of two columns: not a curve
    assert "<svg" not in Gaussian("median")._repr_html_()  # of a width that is still to be learned


def made(cls):
    try:
        return cls(*(getattr(cls, "example", None) or ()))
    except TypeError:  # has an argument that must be given
        return None


def test_every_kernel_can_be_shown():
    shown = [made(cls) for _, cls in mercer.all_kernels()]
    shown = [kernel for kernel in shown if kernel is not None]
    assert len(shown) > 40
    assert all(kernel._repr_html_().startswith("<div>") and kernel._repr_latex_() for kernel in shown)


def test_results_plans_and_solutions():
    chance = np.random.default_rng(0)
    X, Z = chance.normal(size=(30, 1)), chance.normal(size=(30, 1)) + 2.0
    result = mmd_test(X, Z, random_state=0, n_permutations=99)
    assert f"<td>p-value</td><td>{result.p_value:.4g}</td>" in result._repr_html_()
    assert "several kernels" in aggregated_test(X, Z, random_state=0)._repr_html_()
    assert "7.6 MiB" in Plan("a fit", {"Gram matrix": 8_000_000})._repr_html_()
    solution = mercer.SVC(Gaussian(1.0)).fit(X, np.arange(30) % 2).solution_
    assert f"<td>residual</td><td>{solution.residual:.4g}</td>" in solution._repr_html_()


def test_all_kernels_by_domain():
    names = [name for name, _ in mercer.all_kernels("STRINGS")]
    assert "Spectrum" in names and "Gaussian" not in names
    assert dict(mercer.all_estimators())["SVC"] is mercer.SVC
    with pytest.raises(mercer.errors.ParameterError, match="accepted are"):
        mercer.all_kernels("numbers")

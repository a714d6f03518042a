import numpy as np
import pytest

import mercer
from mercer import notebooks
from mercer.budget import Plan
from mercer.inference import aggregated_test, mmd_test
from mercer.kernels import Gaussian


def test_cells_are_escaped():
    text = notebooks.table("<b>", [("a<b", "x&y")], note="1 < 2")
    assert "<b><b>" not in text and "a&lt;b" in text and "x&amp;y" in text and "1 &lt; 2" in text


def test_the_curve_is_drawn_to_scale():
    points = notebooks.curve([0.0, 2.0, -2.0]).partition('points="')[2].partition('"')[0]
    heights = [float(point.partition(",")[2]) for point in points.split()]
    assert heights == [40.0, 4.0, 76.0]


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


def test_tables_for_print_are_escaped():
    text = notebooks.array("50 % of x_1", [("a & b", 0.5), ("c", "\\\\ {d}^2")], note="#1 $")
    assert text.startswith(r"$$\begin{array}{ll}\textbf{50 \% of x\_1} & \\ \hline \text{a \& b} & \text{0.5} \\ ")
    assert r"\text{\textbackslash{}\textbackslash{} \{d\}\textasciicircum{}2} \\ \text{\#1 \$} & \end{array}$$" in text


def test_what_is_shown_in_print_is_what_is_shown_on_the_screen():
    chance = np.random.default_rng(0)
    X, y = chance.normal(size=(30, 1)), np.arange(30) % 2
    machine = mercer.SVC(Gaussian(1.0)).fit(X, y)
    result = mmd_test(X, X + 1.0, random_state=0, n_permutations=99)
    several = aggregated_test(X, X + 1.0, random_state=0, n_permutations=99)
    shown = {
        "7.6 MiB": Plan("a fit", {"Gram matrix": 8_000_000}),
        f"{machine.solution_.residual:.4g}": machine.solution_,
        f"{result.p_value:.4g}": result,
        f"{several.statistic:.4g}": several,
        "Certificate of": machine.certificate(X, y, cv=None, prior=None),
    }
    for text, thing in shown.items():
        assert text in thing._repr_html_() and text in thing._repr_latex_()

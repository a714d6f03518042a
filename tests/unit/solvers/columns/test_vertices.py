import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.solvers.columns import vertices
from mercer.solvers.columns.generation import Margin, Tube
from mercer.solvers.columns.vertices import Vertices, has_highspy

rng = np.random.default_rng(0)
H = np.sign(rng.normal(size=(8, 30)))
Y = np.sign(H[0] + H[1] + 0.5)
FORMS = {"margin": Margin(Y, np.ones(30), 0.4), "tube": Tube(H[0] + 0.1 * Y, np.ones(30), 0.2, None, 0.5)}


@pytest.mark.skipif(not has_highspy(), reason="highspy is an extra")
@pytest.mark.parametrize("name", FORMS)
def test_a_warm_model_gives_what_a_new_one_gives(name, monkeypatch):
    form, warm = FORMS[name], Vertices(FORMS[name])
    for k in (2, 5, 8):
        _, a, multipliers, level = warm.solve(H[:k], 0.0)
        with monkeypatch.context() as patch:
            patch.setattr(vertices, "has_highspy", lambda: False)
            other = Vertices(form).solve(H[:k], 0.0)
        first, second = (
            form.primal(form.normal(a), H[:k], multipliers),
            form.primal(form.normal(other[1]), H[:k], other[2]),
        )
        assert first[0] == pytest.approx(second[0], rel=1e-8, abs=1e-8) and level == pytest.approx(other[3], abs=1e-8)


def test_numbers_that_highs_cannot_take_are_refused():
    form = Margin(Y, np.ones(30), 0.4)
    with pytest.raises(ParameterError, match="Scale the targets"):
        Vertices(form).solve(np.full((1, 30), 1e300), 0.0)

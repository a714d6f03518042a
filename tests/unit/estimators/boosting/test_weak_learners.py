import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from mercer import KernelBalls, KernelStumps, Stumps, parse
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import MemoryBudgetError, ParameterError
from mercer.estimators.boosting.weak_learners import as_learner
from mercer.gram import Tiles
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
X = rng.integers(0, 6, size=(30, 3)).astype(float)
S = Vectors.pack(X)
W = np.ones(30)
LEARNERS = {
    "stumps": Stumps(),
    "kernel stumps": KernelStumps(Gaussian(2.0)),
    "some landmarks": KernelStumps(landmarks=4),
    "balls": KernelBalls((Gaussian(1.0), Linear())),
    "ball": KernelBalls(Linear(), constant=False, gram=Tiles()),
    "tree": DecisionTreeClassifier(max_depth=2, random_state=0),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_found_is_what_is_kept(name):
    """Values and edges of the search are those of the functions that remain of it, on training samples and new ones."""
    search = as_learner(LEARNERS[name]).search(S, W, Resources())
    found = [search(rng.normal(size=30)) for _ in range(3)]
    r = rng.normal(size=30)
    found.append(search(r))
    values = np.vstack([one.values for one in found])
    fitted = search.keep([mark for one in found for mark in one.marks])
    assert np.allclose(fitted.votes(S, np.eye(len(values)), Resources()).T, values, atol=1e-10)
    last = found[-1]
    assert np.allclose(last.values @ r, last.edges, rtol=1e-9, atol=1e-12) and np.all(np.diff(last.edges) <= 1e-12)
    assert np.abs(values).max() <= search.reach * (1.0 + 1e-9)


def test_no_function_of_a_ball_has_a_larger_edge():
    search = KernelBalls(Linear(), constant=False).search(S, W, Resources())
    r = rng.normal(size=30)
    best = search(r).edges[0]
    assert best == pytest.approx(np.linalg.norm(X.T @ r))
    w = rng.normal(size=(3, 200))
    assert np.all((X @ (w / np.linalg.norm(w, axis=0))).T @ r <= best)


def test_thresholds_are_between_values():
    search = Stumps().search(S, W, Resources())
    fitted = search.keep(search(rng.normal(size=30)).marks)
    finite = fitted.thresholds[np.isfinite(fitted.thresholds)]
    assert np.all(finite % 1.0 == 0.5)
    near = Vectors.pack(np.array([[1.0], [np.nextafter(1.0, 2.0)]]))
    search = Stumps().search(near, W[:2], Resources())
    fitted = search.keep(search(np.array([-1.0, 1.0])).marks)
    assert np.array_equal(fitted.votes(near, np.ones((1, 1)), Resources())[:, 0], [-1.0, 1.0])


def test_specifications_are_written_and_read():
    for learner in (Stumps(), KernelStumps(Gaussian(2.0), landmarks=5), KernelBalls((Gaussian(1.0), Linear()))):
        assert parse(repr(learner)) == learner
    model = parse("LPBoostClassifier(KernelBalls((Gaussian(1.0), Linear())), nu=0.2)")
    assert model.learner == KernelBalls((Gaussian(1.0), Linear()))


def test_budgets_and_kinds_are_checked():
    with pytest.raises(MemoryBudgetError, match="sorted columns"):
        Stumps().search(S, W, Resources(memory=100))
    for bad in (3, Linear(), DecisionTreeClassifier):
        with pytest.raises(ParameterError, match="it accepts Stumps"):
            as_learner(bad)
    with pytest.raises(ParameterError):
        KernelBalls((1.0,)).check()

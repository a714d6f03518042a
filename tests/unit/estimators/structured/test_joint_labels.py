"""Labels of whole collections: measures against scikit-learn, searches and optima against all outputs."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import f1_score, roc_auc_score

from mercer import JointLabels, JointRanking, StructuredSVC
from mercer.errors import CapabilityError, ParameterError, TargetError
from mercer.kernels import Constant, Linear
from mercer.testing import check_output_space

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = (X[:, 0] + 0.8 * RNG.normal(size=30) > 0.7).astype(int)


@pytest.mark.parametrize("space", [JointLabels("f1"), JointLabels("error"), JointLabels("precision", k=2)], ids=repr)
def test_against_all_labels(space):
    check_output_space(space, [["no", "yes", "no", "yes", "yes"], ["yes", "no"], ["no", "no", "yes"], ["no", "no"]])


def test_f1_is_that_of_scikit_learn():
    space = JointLabels("f1").learn([[0, 1]])
    for _ in range(20):
        y, z = RNG.integers(0, 2, (2, 7))
        assert space.loss(y, z) == pytest.approx(1.0 - f1_score(y, z, zero_division=1.0))


def test_the_slack_of_joint_labels_is_needed_by_some_labels():
    model = StructuredSVC(Linear() + Constant(1.0), C=20.0, outputs=JointLabels("f1"), tol=1e-6).fit([X[:10]], [Y[:10]])
    f = model.expansion_(model.kernel_.pack(X[:10]))[:, 0]
    every = (np.array(z) for z in itertools.product((0, 1), repeat=10))
    y = Y[:10]
    needed = max(1.0 - 2.0 * (y @ z) / (y.sum() + z.sum()) - f @ (y - z) for z in every)
    assert model.slack_[0] == pytest.approx(needed, abs=1e-5)
    predicted = model.predict([X[:10]])[0]
    assert model.slack_[0] >= 1.0 - f1_score(Y[:10], predicted) - 1e-6  # slacks bound losses


def test_the_roc_area_has_the_mean_hinge_of_pairs():
    model = StructuredSVC(Linear(), C=2.0, outputs=JointRanking(), tol=1e-6).fit([X], [Y])
    D = (X[Y == 1][:, None] - X[Y == 0]).reshape(-1, 2)

    def objective(w):
        return 0.5 * w @ w + 2.0 * np.maximum(0.0, 1.0 - D @ w).mean()

    w = model.expansion_(model.kernel_.pack(np.eye(2)))[:, 0]
    assert model.objective_ == pytest.approx(objective(w), rel=1e-9)
    found = minimize(objective, w, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12})
    assert model.dual_objective_ - 1e-9 <= found.fun <= model.objective_ + 1e-9
    assert model.objective_ - found.fun <= 2.0 * 1e-6 + 1e-9
    assert model.score([X], [Y]) == pytest.approx(roc_auc_score(Y, X @ w))
    assert model.target_.loss(Y, np.arange(30)) == pytest.approx(1.0 - roc_auc_score(Y, -np.arange(30)))


def test_what_cannot_be_asked():
    with pytest.raises(ParameterError, match="with 'precision'"):
        JointLabels("precision").learn([[0, 1]])
    with pytest.raises(TargetError, match="two classes"):
        JointLabels().learn([[0, 1, 2]])
    space = JointRanking().learn([[0, 1]])
    with pytest.raises(CapabilityError, match="violated"):
        space.augmented(np.zeros((2, 1)), np.empty(0), np.array([0, 1]))
    with pytest.raises(CapabilityError, match="margin"):
        space.violated(np.zeros((2, 1)), np.empty(0), np.array([0, 1]), "slack")
    assert space.truths(np.array([1, 1])) == []

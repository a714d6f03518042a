import numpy as np
import pytest

from mercer import SVC, KernelRidge
from mercer.errors import CapabilityError, TargetError
from mercer.plots.scored import classes_of, columns_of, probabilities_of, values_of

X = np.array([[-2.0], [-1.0], [1.0], [2.0]])


def test_values_of_two_classes_are_about_the_second():
    machine = SVC("linear").fit(X, ["a", "a", "b", "b"])
    assert np.array_equal(values_of(machine, X), machine.decision_function(X))
    chosen = type("Sure", (), {"classes_": [0, 1], "predict_proba": lambda self, X: np.array([[0.2, 0.8]])})()
    assert values_of(chosen, X[:1]) == probabilities_of(chosen, X[:1]) == [0.8]


def test_classes_are_those_of_the_columns():
    labels, known = classes_of(["b", "a"], None, 1)
    assert [*labels, *known] == ["b", "a", "a", "b"]
    for y, classes, columns in (([0, 1, 2], None, 1), ([0, 3], [0, 1, 2], 3), ([[0], [1]], None, 1), ([], None, 1)):
        with pytest.raises(TargetError):
            classes_of(y, classes, columns)
    with pytest.raises(TargetError, match="same samples"):
        columns_of([1.0, 2.0], "values", 3)


def test_what_is_no_classifier_is_refused():
    with pytest.raises(CapabilityError, match="no fitted classifier"):
        values_of(KernelRidge().fit(X, X[:, 0]), X)
    with pytest.raises(CapabilityError, match="predict_proba"):
        probabilities_of(SVC("linear").fit(X, [0, 0, 1, 1]), X)
    with pytest.raises(CapabilityError, match="neither"):
        values_of(type("Mute", (), {"classes_": [0, 1]})(), X)

"""Methods that are there with some parameters only; see tests/contract/test_unfitted.py for every estimator."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from mercer.estimators.offered import offered_if, require_fitted_with


def _speaks(model):
    if not model.loud:
        raise AttributeError("Model(loud=False) says nothing. Construct it with loud=True.")


class Model(BaseEstimator):
    """Speaks if it is loud."""

    def __init__(self, loud=False):
        self.loud = loud

    def fit(self, X, y=None):
        """Learn what to say."""
        self.fitted_ = True
        if self.loud:
            self.words_ = "words"
        return self

    @offered_if(_speaks)
    def speak(self):
        """Say it."""
        require_fitted_with(self, "loud=True", "words_")
        return self.words_


def test_the_method_is_there_and_documented():
    assert Model(loud=True).fit([]).speak() == "words"
    assert Model.speak.__doc__ == "Say it."


def test_without_it_the_words_of_the_check_are_told():
    assert not hasattr(Model(), "speak")
    with pytest.raises(AttributeError, match="Construct it with loud=True"):
        Model().speak()


def test_a_fit_before_the_parameter_was_set_is_no_fit():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        Model(loud=True).speak()
    with pytest.raises(NotFittedError, match="Call fit again, with loud=True"):
        Model().fit([]).set_params(loud=True).speak()

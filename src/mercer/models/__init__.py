"""Generative models: densities of objects whose parameters are given or learned by expectation maximisation.

A model is a value. Its parameters are arguments of its constructor; `model.learn(S, weight)` returns a new model with
those that packed samples S suggest. ``model.log_likelihood(S)`` gives log p(x | theta) of each sample, (n,), which is
all that a marginalisation kernel needs; ``model.scores(S)`` gives the derivatives in the parameters, (n, p), which are
the features of a Fisher kernel. ``model.domain`` is the class of the samples and ``model.pack(X)`` makes them.
"""

from mercer.models.exponential import ExponentialFamily
from mercer.models.gaussian_hidden_markov import GaussianHiddenMarkovModel
from mercer.models.given import GivenModel, as_model
from mercer.models.hidden_markov import HiddenMarkovModel
from mercer.models.markov import MarkovChain
from mercer.models.mixture import GaussianMixture
from mercer.models.model import Model
from mercer.models.normal import Normal

__all__ = [
    "ExponentialFamily",
    "GaussianHiddenMarkovModel",
    "GaussianMixture",
    "GivenModel",
    "HiddenMarkovModel",
    "MarkovChain",
    "Model",
    "Normal",
    "as_model",
]

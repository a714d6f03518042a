# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.models.exponential import ExponentialFamily as ExponentialFamily
from mercer.models.gaussian_hidden_markov import GaussianHiddenMarkovModel as GaussianHiddenMarkovModel
from mercer.models.given import GivenModel as GivenModel
from mercer.models.given import as_model as as_model
from mercer.models.hidden_markov import HiddenMarkovModel as HiddenMarkovModel
from mercer.models.markov import MarkovChain as MarkovChain
from mercer.models.mixture import GaussianMixture as GaussianMixture
from mercer.models.model import Model as Model
from mercer.models.normal import Normal as Normal
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

# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.losses.asymmetric import Linex as Linex
from mercer.losses.classification import Hinge as Hinge
from mercer.losses.classification import SquaredHinge as SquaredHinge
from mercer.losses.insensitive import SquaredEpsilonInsensitive as SquaredEpsilonInsensitive
from mercer.losses.likelihood import Binomial as Binomial
from mercer.losses.likelihood import Gamma as Gamma
from mercer.losses.likelihood import HasMean as HasMean
from mercer.losses.likelihood import Logistic as Logistic
from mercer.losses.likelihood import Multinomial as Multinomial
from mercer.losses.likelihood import Ordinal as Ordinal
from mercer.losses.likelihood import Poisson as Poisson
from mercer.losses.loss import BoxDual as BoxDual
from mercer.losses.loss import HasBoxDual as HasBoxDual
from mercer.losses.loss import Loss as Loss
from mercer.losses.regression import Absolute as Absolute
from mercer.losses.regression import EpsilonInsensitive as EpsilonInsensitive
from mercer.losses.regression import Huber as Huber
from mercer.losses.regression import Pinball as Pinball
from mercer.losses.regression import Squared as Squared
__all__ = [
    "Absolute",
    "Binomial",
    "BoxDual",
    "EpsilonInsensitive",
    "Gamma",
    "HasBoxDual",
    "HasMean",
    "Hinge",
    "Huber",
    "Linex",
    "Logistic",
    "Loss",
    "Multinomial",
    "Ordinal",
    "Pinball",
    "Poisson",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
]

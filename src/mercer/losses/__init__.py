"""What an error costs: formulas that take what was observed and what is predicted."""

from mercer.losses import regression
from mercer.losses.loss import Loss
from mercer.losses.regression import *  # noqa: F403

__all__ = ["Loss"]
__all__ += regression.__all__

"""What an error costs: formulas that take what was observed and what is predicted."""

from mercer.losses import asymmetric, classification, likelihood, regression
from mercer.losses import insensitive as tubes
from mercer.losses.asymmetric import *  # noqa: F403
from mercer.losses.classification import *  # noqa: F403
from mercer.losses.insensitive import *  # noqa: F403
from mercer.losses.likelihood import *  # noqa: F403
from mercer.losses.loss import BoxDual, HasBoxDual, Loss
from mercer.losses.regression import *  # noqa: F403

__all__ = ["Loss", "BoxDual", "HasBoxDual"]
__all__ += regression.__all__
__all__ += tubes.__all__
__all__ += classification.__all__
__all__ += likelihood.__all__
__all__ += asymmetric.__all__

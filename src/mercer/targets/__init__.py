"""What is predicted: from y as users give it to the numbers that solvers see, and back."""

from mercer.targets.binary import Binary
from mercer.targets.multiclass import Multiclass
from mercer.targets.ordinal import Ordinal
from mercer.targets.real import Real
from mercer.targets.target import Target

__all__ = ["Target", "Real", "Binary", "Multiclass", "Ordinal"]

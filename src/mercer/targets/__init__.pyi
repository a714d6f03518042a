# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.targets.ordinal import Ordinal as Ordinal
from mercer.targets.partial import PartialClasses as PartialClasses
from mercer.targets.partial import PartialReal as PartialReal
from mercer.targets.target import Binary as Binary
from mercer.targets.target import Multiclass as Multiclass
from mercer.targets.target import Real as Real
from mercer.targets.target import Target as Target
__all__ = [
    "Binary",
    "Multiclass",
    "Ordinal",
    "PartialClasses",
    "PartialReal",
    "Real",
    "Target",
]

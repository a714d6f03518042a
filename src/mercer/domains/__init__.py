"""What a sample is: raw objects become packed arrays, once."""

from mercer.domains.frames import WHOLE, Frames, Whole
from mercer.domains.pairs import Pairs
from mercer.domains.samples import Samples
from mercer.domains.similarities import Similarities
from mercer.domains.strings import Strings
from mercer.domains.vectors import Vectors

__all__ = ["WHOLE", "Frames", "Pairs", "Samples", "Similarities", "Strings", "Vectors", "Whole"]

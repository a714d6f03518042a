# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.preimages.methods import DistanceScaling as DistanceScaling
from mercer.preimages.methods import FixedPoint as FixedPoint
from mercer.preimages.methods import Gradient as Gradient
from mercer.preimages.methods import RidgeMap as RidgeMap
from mercer.preimages.methods import preimage as preimage
from mercer.preimages.searches import BeamSearch as BeamSearch
from mercer.preimages.searches import LabelFlips as LabelFlips
__all__ = [
    "BeamSearch",
    "DistanceScaling",
    "FixedPoint",
    "Gradient",
    "LabelFlips",
    "RidgeMap",
    "preimage",
]

"""The documented choice."""

import numpy as np

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.gram import Auto, Dense, Features, Tiles
from mercer.gram.dense import DenseGram
from mercer.gram.features import FeatureGram
from mercer.gram.tiles import TileGram
from mercer.kernels import Gaussian, Linear

X = np.random.default_rng(0).normal(size=(30, 3))


def test_the_rule():
    assert Auto().choose(Gaussian(1.0), 1000, memory="1GB") == Dense()
    assert Auto().choose(Gaussian(1.0), 1000, memory="7MB") == Tiles()
    assert Auto().choose(Linear(), 1000, features=5, memory="1GB") == Features()
    assert Auto().choose(Linear(), 5, features=5, memory="1GB") == Dense()  # not fewer features than samples
    assert Auto(features=False).choose(Linear(), 1000, features=5, memory="1GB") == Dense()


def test_build_follows_the_rule():
    S = Vectors.pack(X)
    assert isinstance(Auto().build(Linear(), S), FeatureGram)
    assert isinstance(Auto().build(Gaussian(1.0), S), DenseGram)
    assert isinstance(Auto().build(Gaussian(1.0), S, Resources(memory=5000)), TileGram)


def test_its_plan_is_that_of_the_choice():
    assert Auto().plan(Gaussian(1.0), 100).total == 8 * 100 * 100

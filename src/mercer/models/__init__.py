"""Generative models: densities of objects whose parameters are given or learned by expectation maximisation.

A model is a value. Its parameters are arguments of its constructor; `model.learn(S, weight)` returns a new model with
parameters estimated from packed samples S. ``model.log_likelihood(S)`` gives log p(x | theta) of each sample, (n,),
which is all that a marginalisation kernel needs; ``model.scores(S)`` gives the derivatives in the parameters, (n, p),
which are the features of a Fisher kernel. ``model.domain`` is the class of the samples and ``model.pack(X)`` makes
them.
"""

from mercer.exports import export

__all__ = export(__name__)

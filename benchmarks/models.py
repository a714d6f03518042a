"""Rows of generative models: learning and likelihoods beside hmmlearn and scikit-learn's mixtures.

All contenders begin with the same parameters and take ten steps of expectation maximisation, without priors; what is
compared is the log-likelihood that they reach. The Fisher scores of a hidden Markov model have no peer: they cost one
forward and one backward pass, as a step of learning does.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture as TheirMixture

from benchmarks.row import Peer, Row, Timing, times_faster
from mercer.domains import Vectors
from mercer.domains.sequences import Sequences
from mercer.models import GaussianHiddenMarkovModel, GaussianMixture, HiddenMarkovModel

STEPS = 10
PACKAGE = "hmmlearn"
FASTEST: dict[str, Any] = {"implementation": "scaling"}  # by default it works with logarithms, several times slower


@dataclass(frozen=True, eq=False)
class Case:
    """Samples, a model to begin with, and the samples as others want them."""

    samples: Any
    start: Any
    flat: np.ndarray
    lengths: np.ndarray


@dataclass(frozen=True)
class Chains:
    """Strings drawn from a hidden Markov model, and another one to begin with."""

    count: int
    length: int
    states: int
    letters: int = 20

    def make(self) -> Case:
        rng = np.random.default_rng(0)
        truth, start = (self._model(rng) for _ in range(2))
        lengths = rng.integers(self.length // 2, 3 * self.length // 2, self.count)
        like = HiddenMarkovModel().pack(["a" * int(length) for length in lengths])
        S: Any = truth.sample(rng, self.count, like)
        codes = np.asarray(S.codes)[:, None].astype(int)
        return Case(S, start, codes, np.asarray(S.lengths))

    def _model(self, rng: np.random.Generator) -> HiddenMarkovModel:
        K, A = self.states, self.letters
        return HiddenMarkovModel(
            K,
            alphabet=tuple(range(A)),
            start=rng.dirichlet(np.ones(K)),
            transitions=rng.dirichlet(np.ones(K), K),
            emissions=rng.dirichlet(np.ones(A), K),
            pseudocount=0.0,
        )

    def __str__(self) -> str:
        return f"{self.count} strings of about {self.length} of {self.letters} letters, {self.states} states"


@dataclass(frozen=True)
class Signals:
    """Series drawn from a hidden Markov model with normal points, and another one to begin with."""

    count: int
    length: int
    states: int
    channels: int

    def make(self) -> Case:
        rng = np.random.default_rng(0)
        truth, start = (self._model(rng) for _ in range(2))
        lengths = rng.integers(self.length // 2, 3 * self.length // 2, self.count)
        like = Sequences.pack([np.zeros((int(length), 1)) for length in lengths])
        S: Any = truth.sample(rng, self.count, like)
        return Case(S, start, np.asarray(S.values), np.asarray(S.lengths))

    def _model(self, rng: np.random.Generator) -> GaussianHiddenMarkovModel:
        K, d = self.states, self.channels
        return GaussianHiddenMarkovModel(
            K,
            start=rng.dirichlet(np.ones(K)),
            transitions=rng.dirichlet(np.ones(K), K),
            means=rng.normal(size=(K, d)) * 2.0,
            deviations=np.ones((K, d)),
            pseudocount=0.0,
        )

    def __str__(self) -> str:
        return f"{self.count} series of about {self.length} points, {self.channels} channels, {self.states} states"


@dataclass(frozen=True)
class Clouds:
    """Vectors around some centres, and a mixture to begin with."""

    n: int
    d: int
    components: int

    def make(self) -> Case:
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(self.components, self.d)) * 3.0
        X = centres[rng.integers(self.components, size=self.n)] + rng.normal(size=(self.n, self.d))
        start = GaussianMixture(
            self.components,
            weights=np.full(self.components, 1.0 / self.components),
            means=X[rng.choice(self.n, self.components, replace=False)],
            deviations=np.tile(np.eye(self.d) * 2.0, (self.components, 1, 1)),
            ridge=0.0,
        )
        return Case(Vectors.pack(X), start, X, np.empty(0))

    def __str__(self) -> str:
        return f"n = {self.n}, d = {self.d}, {self.components} components"


# the contenders -------------------------------------------------------------------------------------------


def hidden(case: Case) -> Any:
    """Ten steps of Baum and Welch."""
    model, w = case.start, np.ones(len(case.samples))
    data = model._data(case.samples)
    for _ in range(STEPS):
        _, totals = model._expected(data, case.samples.offsets, w)
        model = model._maximised(totals)
    return model.log_likelihood(case.samples).sum()


def their_hidden(case: Case) -> Any:
    from hmmlearn.hmm import CategoricalHMM

    theirs = CategoricalHMM(case.start.states, n_iter=STEPS, tol=-np.inf, init_params="", n_features=20, **FASTEST)
    theirs.startprob_, theirs.transmat_ = case.start.start, case.start.transitions
    theirs.emissionprob_ = case.start.emissions
    theirs.fit(case.flat, case.lengths)
    return theirs.score(case.flat, case.lengths)


def their_signals(case: Case) -> Any:
    from hmmlearn.hmm import GaussianHMM

    theirs = GaussianHMM(
        case.start.states,
        "diag",
        n_iter=STEPS,
        tol=-np.inf,
        init_params="",
        covars_prior=0.0,
        covars_weight=1.0,
        **FASTEST,
    )
    theirs.startprob_, theirs.transmat_ = case.start.start, case.start.transitions
    theirs.means_, theirs.covars_ = case.start.means, case.start.deviations**2
    theirs.fit(case.flat, case.lengths)
    return theirs.score(case.flat, case.lengths)


def likelihoods(case: Case) -> Any:
    return case.start.log_likelihood(case.samples).sum()


def their_likelihoods(case: Case) -> Any:
    from hmmlearn.hmm import CategoricalHMM

    theirs = CategoricalHMM(case.start.states, n_features=20, **FASTEST)
    theirs.startprob_, theirs.transmat_ = case.start.start, case.start.transitions
    theirs.emissionprob_ = case.start.emissions
    return theirs.score(case.flat, case.lengths)


def step(case: Case) -> Any:
    return case.start._expected(case.start._data(case.samples), case.samples.offsets, np.ones(len(case.samples)))[0]


def scores(case: Case) -> Any:
    return case.start.scores(case.samples)


def mixture(case: Case) -> Any:
    model, X, share = case.start, case.flat, np.full(len(case.flat), 1.0 / len(case.flat))
    variance = X.var(axis=0)
    for _ in range(STEPS):
        _, moments = model._expected(X, share)
        model = model._improved(moments, variance)
    return model.log_likelihood(case.samples).mean()


def their_mixture(case: Case) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = TheirMixture(
            len(case.start.weights),
            max_iter=STEPS,
            tol=0.0,
            reg_covar=0.0,
            weights_init=case.start.weights,
            means_init=case.start.means,
            precisions_init=np.linalg.inv(case.start.deviations @ case.start.deviations.transpose(0, 2, 1)),
        ).fit(case.flat)
    return theirs.score(case.flat)


ROWS: tuple[Row, ...] = (
    Timing(
        "hidden-markov-learning",
        "ten steps of Baum and Welch on strings",
        Chains(500, 200, 10),
        Chains(50, 100, 5),
        hidden,
        (Peer("hmmlearn", their_hidden, times_faster(2.0), package=PACKAGE),),
    ),
    Timing(
        "hidden-markov-many-states",
        "ten steps of Baum and Welch on strings",
        Chains(200, 200, 40),
        Chains(20, 100, 20),
        hidden,
        (Peer("hmmlearn", their_hidden, times_faster(2.0), package=PACKAGE),),
    ),
    Timing(
        "hidden-markov-series",
        "ten steps of Baum and Welch on time series",
        Signals(300, 200, 8, 4),
        Signals(30, 100, 4, 2),
        hidden,
        (Peer("hmmlearn", their_signals, times_faster(2.0), package=PACKAGE),),
    ),
    Timing(
        "hidden-markov-likelihood",
        "log-likelihoods of strings",
        Chains(2000, 200, 10),
        Chains(50, 100, 5),
        likelihoods,
        (Peer("hmmlearn", their_likelihoods, times_faster(2.0), package=PACKAGE),),
    ),
    Timing(
        "hidden-markov-scores",
        "Fisher scores of strings",
        Chains(500, 200, 10),
        Chains(50, 100, 5),
        scores,
        (Peer("one step of learning", step, same=False),),
    ),
    Timing(
        "gaussian-mixture-learning",
        "ten steps of expectation maximisation",
        Clouds(50_000, 10, 10),
        Clouds(2_000, 5, 4),
        mixture,
        (Peer("scikit-learn", their_mixture, times_faster(1.5)),),
    ),
)

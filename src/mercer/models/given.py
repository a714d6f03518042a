"""Models of other libraries and of users: anything with scores can be in a Fisher kernel."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.arguments import answer_of
from mercer.arrays import Floats, real_numbers
from mercer.constraints import Satisfies
from mercer.domains import Samples, Strings, Vectors
from mercer.domains.samples import packed
from mercer.domains.sequences import Sequences
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.models.gaussian_hidden_markov import GaussianHiddenMarkovModel
from mercer.models.hidden_markov import HiddenMarkovModel
from mercer.models.mixture import GaussianMixture
from mercer.models.model import Model
from mercer.models.normal import dense
from mercer.spec import derived

__all__ = ["GivenModel", "as_model"]
__public__ = __all__


class GivenModel(Model):
    """A model by an object that has scores.

    Parameters
    ----------
    given : object
        It has ``scores(X)``, which returns the derivatives of the log-likelihoods in the parameters, (n, p), or
        ``score(x)``, which returns them for one object, (p,). It receives arrays for vectors, tuples of symbols
        for strings, arrays of shape (T, d) for series. It may also have ``domain`` (a class of samples; Vectors by
        default), ``information`` (the Fisher information, (p, p), or a function that returns it),
        ``log_likelihood(X)`` and ``learn(X, weight)``, which returns a new object.

    Examples
    --------
    >>> class Rate:  # exponential density with rate 2
    ...     information = np.array([[0.25]])
    ...
    ...     def score(self, x):
    ...         return 0.5 - x
    >>> model = GivenModel(Rate())
    >>> model.scores(model.pack([[0.5], [1.0]]))
    array([[ 0. ],
           [-0.5]])
    """

    constraints = {
        "given": Satisfies(
            "an object with scores(X) or score(x), and perhaps a domain",
            lambda value: _has_scores(value) and _is_domain(getattr(value, "domain", Vectors)),
            "MyModel()",
        )
    }

    def __init__(self, given: Any) -> None:
        self.given = given

    @derived
    def domain(self) -> type[Samples]:
        """That of the object, or Vectors."""
        return getattr(self.given, "domain", Vectors)

    @property
    def fitted(self) -> bool:
        """The object itself says what it lacks."""
        return True

    @property
    def key(self) -> None:
        """None: the behaviour of the object may change, so none of its results are kept."""
        return None

    def learn(self, S: Samples, weight: Floats | None = None) -> Self:
        """Let the object learn, if it can."""
        S = packed(S, self.pack)
        learn = getattr(self.given, "learn", None)
        return self if learn is None else type(self)(learn(_raw(S), weight))

    def _answer(self, method: str, *given: Any) -> Floats:
        """Return the numbers that a method of the object returns."""
        who = f"{type(self.given).__name__}.{method}"
        takes = "one sample" if method == "score" else "all the data at once"
        found = answer_of(getattr(self.given, method), *given, who=who, takes=takes)
        return real_numbers(found, f"The answer of {who}", DomainError)

    def log_likelihood(self, S: Samples) -> Floats:
        """Return what the object returns."""
        S = packed(S, self.pack)
        if not callable(getattr(self.given, "log_likelihood", None)):
            raise CapabilityError(
                f"{type(self.given).__name__} has no log_likelihood; a function of samples that returns an array of "
                "their log-likelihoods is needed. Write it."
            )
        found = self._answer("log_likelihood", _raw(S))
        if found.shape != (len(S),) or not (found < np.inf).all():  # minus infinity is what is impossible
            raise DomainError(
                f"The log-likelihoods that {type(self.given).__name__} gives {len(S)} samples have the shape "
                f"{found.shape}, or are not all numbers; one number for each sample is needed, or minus infinity. "
                "Correct log_likelihood(X)."
            )
        return found

    def scores(self, S: Samples) -> Floats:
        """Return what the object returns, (n, p)."""
        S = packed(S, self.pack)
        raw: Any = _raw(S)
        if callable(getattr(self.given, "scores", None)):
            found = self._answer("scores", raw)
        else:
            rows = [self._answer("score", x).ravel() for x in raw]
            found = np.array(rows) if len({len(row) for row in rows}) == 1 else np.empty(0)
        if found.ndim != 2 or len(found) != len(S) or not np.isfinite(found).all():
            raise DomainError(
                f"The scores that {type(self.given).__name__} gives {len(S)} samples have the shape {found.shape}; "
                "finite numbers are needed, as many for each sample. Correct scores(X), or score(x)."
            )
        return found

    def information(self, S: Samples | None = None, weight: Floats | None = None) -> Floats | None:
        """Return what the object returns, or None."""
        found = getattr(self.given, "information", None)
        found = (
            answer_of(found, who=f"{type(self.given).__name__}.information", takes="nothing")
            if callable(found)
            else found
        )
        if found is None:
            return None
        matrix = real_numbers(found, "information", DomainError)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
            raise DomainError(
                f"The information that {type(self.given).__name__} gives has the shape {matrix.shape}; a square matrix "
                "of finite numbers, with a row for each score, is needed. Correct information()."
            )
        return matrix


def _is_model(given: Any) -> bool:
    try:
        as_model(given)
    except ParameterError:
        return False
    return True


MODEL = Satisfies(
    "a model of mercer.models, a fitted one of hmmlearn or scikit-learn's mixtures, or an object with scores(X) or "
    "score(x)",
    _is_model,
    "Normal()",
)


def as_model(given: Any) -> Model:
    """Return the model of an object.

    Parameters
    ----------
    given : Model, or object
        Of hmmlearn (CategoricalHMM, GaussianHMM) or scikit-learn (GaussianMixture), fitted; or anything with scores,
        see `GivenModel`.
    """
    if isinstance(given, Model):
        return given
    if not isinstance(given, type):
        if hasattr(given, "startprob_") and hasattr(given, "transmat_"):
            if hasattr(given, "emissionprob_"):
                return HiddenMarkovModel.from_hmmlearn(given)
            if hasattr(given, "means_") and hasattr(given, "covars_"):
                return GaussianHiddenMarkovModel.from_hmmlearn(given)
        if all(hasattr(given, name) for name in ("weights_", "means_", "covariances_", "covariance_type")):
            return GaussianMixture.from_sklearn(given)
        if _has_scores(given) and not hasattr(given, "get_params"):  # scikit-learn's score is something else
            return GivenModel(given)
    raise _refusal(given)


def _has_scores(given: Any) -> bool:
    return any(callable(getattr(given, name, None)) for name in ("scores", "score"))


def _is_domain(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Samples)


def _refusal(given: Any) -> ParameterError:
    return ParameterError(
        f"{str(given)[:80]} was given as a model; a model of mercer.models, a fitted one of hmmlearn or scikit-learn's "
        "mixtures, or an object with scores(X) or score(x) is accepted. Fit it first, or write scores."
    )


def _raw(S: Samples) -> Any:
    """Return samples as a user would write them."""
    if isinstance(S, Vectors):
        return dense(S)
    if isinstance(S, Strings):
        return [S.symbols(i) for i in range(len(S))]
    if isinstance(S, Sequences):
        return [S.series(i) for i in range(len(S))]
    return S

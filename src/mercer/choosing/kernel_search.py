"""Search over parameters by cross-validation, as scikit-learn's, with kernel matrices that are computed once."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.model_selection._search import _check_method_params
from sklearn.model_selection._validation import _insert_error_scores, _warn_or_raise_about_fit_failures
from sklearn.utils import indexable

import mercer.gram  # names are imported on use
from mercer.choosing.effort import Effort, require_workers, survivors
from mercer.choosing.engine import Work, scored
from mercer.choosing.progress import Ledger
from mercer.choosing.sheets import fresh
from mercer.errors import ParameterError, TimeBudgetError, warn_caller
from mercer.estimators.certificates.assumptions import count_settings, leave_note

__all__ = ["KernelSearchCV"]
__public__ = __all__


class KernelSearchCV(GridSearchCV):
    r"""Choose parameters by cross-validation: scikit-learn's ``GridSearchCV``, with each kernel matrix computed once.

    .. math:: \hat\theta = \arg\max_\theta \; \sum_{j=1}^{F} \mathrm{score}\bigl(f_\theta^{-j}, \text{fold } j\bigr)

    Seed: [SS] Section 5.1 and [KIKS] Section 4.1.1 (cross-validation).

    Parameters
    ----------
    estimator : estimator or Pipeline that ends in one
        One of mercer's with a kernel; any other is fitted as ``GridSearchCV`` fits it.
    param_grid : dict or list of dicts
        Names of parameters and the values to try, as ``{"C": [1, 10], "kernel__length_scale": [0.5, 1.0]}``.
    scoring, refit, cv, verbose, error_score, return_train_score : optional
        As in ``GridSearchCV``.
    effort : Effort, optional
        Which candidates are scored on which folds, and what the search may cost: ``Effort("racing", max_time=60.0)``.
    progress : callable, optional
        Called with the share of the scores that is known.
    at : Distributed, optional
        Whose workers compute: each a kernel with all its costs, or one fold of it. None is this process, with threads.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, multimetric_
        As in ``GridSearchCV``.
    complete_ : bool
        Whether no time limit, Ctrl-C or strategy left scores out.

    Notes
    -----
    The folds, the scores and the choice are those of ``GridSearchCV`` with the same estimator. Nothing is learned from
    samples that are left out: transformers of a pipeline, a width "median" or idf weights are learned in each training
    part. K of all samples is computed once for each kernel and read by all folds; support vector classifiers with the
    hinge loss are followed from cost to cost, kernel ridge regression and `LSSVR` share a decomposition among ridges,
    and any other estimator is fitted to rows and columns of K. Estimators that need more than K (with a low-rank Gram,
    or parameters found by evidence) and scoring functions that might look at X are computed as ``GridSearchCV`` does.
    Ctrl-C ends the search with the best candidate so far, if at least one has been scored on all folds. Workers give
    the scores of this process, and no fold depends on how many there are; ``Distributed(gram=...)``, which spreads one
    matrix, is a Gram of the estimator, whose candidates are then fitted one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.choosing import KernelSearchCV
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> grid = {"C": [0.1, 1.0, 10.0], "kernel__length_scale": [0.5, 2.0]}
    >>> search = KernelSearchCV(SVC(Gaussian(1.0)), grid, cv=3).fit(X, X[:, 0] * X[:, 1] > 0)
    >>> search.best_params_
    {'C': 1.0, 'kernel__length_scale': 0.5}
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        effort: Effort | None = None,
        progress: Callable[[float], Any] | None = None,
        at: mercer.gram.Distributed | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.scoring = scoring
        self.refit = refit
        self.cv = cv
        self.verbose = verbose
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.effort = effort
        self.progress = progress
        self.at = at

    def fit(self, X: Any, y: Any = None, **params: Any) -> KernelSearchCV:
        """Score all candidates, and fit the best one to all samples.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) or (n, k) array, optional
        **params : dict
            Passed on as by ``GridSearchCV``: ``groups`` to the splitter, ``sample_weight`` to ``fit`` and the score.

        Returns
        -------
        self
        """
        effort = Effort() if self.effort is None else self.effort
        if not isinstance(effort, Effort):
            raise ParameterError(f"effort={effort!r:.200} was given; an Effort or None is accepted. Use Effort().")
        effort.check()
        require_workers(self.at)
        scorers, metric = self._get_scorers()
        if isinstance(X, Mapping) and hasattr(self.estimator, "_pack"):  # columns, whose number says nothing of samples
            X = self.estimator._pack(X)[0]
        X, y = indexable(X, y)
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        splitter: Any = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        self._checked_cv_orig = splitter
        split_params = routed.splitter.split
        self.n_splits_ = splitter.get_n_splits(X, y, **split_params)
        splits = list(splitter.split(X, y, **split_params))
        if len(splits) != self.n_splits_:
            raise ParameterError(
                f"cv={self.cv!r} announced {self.n_splits_} splits and gave {len(splits)}; both must agree. Correct it."
            )
        candidates = list(ParameterGrid(self.param_grid))
        ledger = Ledger.of(self, effort, X, y, candidates, splits)
        work = Work(
            self.estimator, X, y, splits, scorers, routed.estimator.fit, routed.scorer.score, self.error_score,
            self.return_train_score, effort.n_threads, effort.memory, self.verbose,
            self.at, ledger.clock, stop=ledger.expired,
        )  # fmt: skip
        self._scores(work, effort.strategy, candidates, ledger, metric)
        self._conclude(work, candidates, ledger, scorers, metric)
        if self.refit:
            self._fit_best(X, y, routed.estimator.fit)
        self.scorer_ = scorers._scorers if isinstance(scorers, _MultimetricScorer) else scorers
        return self

    def _scores(
        self, work: Work, strategy: str, candidates: Sequence[Mapping[str, Any]], ledger: Ledger, metric: Any
    ) -> None:
        """Fill the ledger, in one round or in several that leave candidates out."""
        name = metric if isinstance(metric, str) else None
        try:
            for places, folds in survivors(strategy, len(candidates), len(work.splits), ledger, name):
                ledger.score(work, candidates, places, folds, scored)
                if ledger.expired():
                    break
        except KeyboardInterrupt:
            if not ledger.finished():
                raise
            warn_caller("The search was interrupted; the best of what was scored until then is kept.", UserWarning)

    def _conclude(self, work: Work, candidates: list[Any], ledger: Ledger, scorers: Any, metric: Any) -> None:
        """Turn scores into scikit-learn's attributes."""
        finished = ledger.finished()
        if not finished:
            raise TimeBudgetError(
                f"max_time={ledger.clock.max_time} seconds ran out before one candidate was scored on all folds. "
                "Allow more, or use fewer samples."
            )
        self.complete_ = len(finished) == len(candidates)
        kept = [places for places in range(len(candidates)) if ledger.begun(places)]
        out = [ledger.result(i, j) for i in kept for j in range(len(work.splits))]
        _warn_or_raise_about_fit_failures(out, self.error_score)
        if callable(self.scoring):
            _insert_error_scores(out, self.error_score)
        with warnings.catch_warnings():
            if not self.complete_:  # those that were left out have no mean
                warnings.filterwarnings("ignore", "One or more of the (test|train) scores", UserWarning)
            self.cv_results_ = self._format_results([dict(candidates[i]) for i in kept], len(work.splits), out)
        first = out[0]["test_scores"]
        self.multimetric_ = isinstance(first, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(first)
            metric = self.refit
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, metric, self.cv_results_)
            if not callable(self.refit):
                self.best_score_ = self.cv_results_[f"mean_test_{metric}"][self.best_index_]
            self.best_params_ = self.cv_results_["params"][self.best_index_]

    def _fit_best(self, X: Any, y: Any, params: Mapping[str, Any]) -> None:
        self.best_estimator_ = fresh(self.estimator, self.best_params_)
        began = time.time()
        self.best_estimator_.fit(X, **params) if y is None else self.best_estimator_.fit(X, y, **params)
        self.refit_time_ = time.time() - began
        leave_note(self.best_estimator_, count_settings(ParameterGrid(self.param_grid), self.estimator))
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

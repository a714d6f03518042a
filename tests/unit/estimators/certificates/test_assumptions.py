import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import mercer
from mercer import SVC, KernelPCA, KernelRidge
from mercer.choosing import Alignment, KernelSearchCV
from mercer.estimators.certificates.assumptions import count_settings, known_candidates, leave_note
from mercer.kernels import Gaussian, Matern, RationalQuadratic

X = np.random.default_rng(0).normal(size=(20, 2))


def test_settings_that_change_the_space_are_counted():
    grid = [{"C": C, "kernel": Gaussian(w), "nu": 0.1 * C} for C in (1.0, 2.0) for w in (0.5, 1.0, 0.5)]
    assert count_settings(grid, SVC()) == 2
    assert count_settings([{"alpha": 1.0}, {}], KernelRidge()) == 1
    piped = make_pipeline(KernelPCA(), SVC())
    assert count_settings([{"svc__C": 1.0}, {"svc__C": 2.0}], piped) == 1
    assert count_settings([{"kernelpca__alpha": 1.0}, {"kernelpca__alpha": 2.0}], piped) == 2


@pytest.mark.parametrize(
    ("kernel", "name"), [(Matern(1.5, 1.0), "kernel__nu"), (RationalQuadratic(1.0), "kernel__alpha")]
)
def test_parameters_of_kernels_are_counted_whatever_their_names(kernel, name):
    """nu of Matern's kernel is the kernel, nu of a machine only a function in its ball."""
    grid = {name: [0.5, 1.5, 2.5], "C": [1.0, 10.0]}
    assert KernelSearchCV(SVC(kernel), grid, cv=2).fit(X, X[:, 0] > 0).best_estimator_.candidates_ == 3
    assert mercer.search(SVC(kernel), X, X[:, 0] > 0, grid, criterion=Alignment()).best_estimator.candidates_ == 3
    search = GridSearchCV(SVC(kernel), grid, cv=2).fit(X, X[:, 0] > 0)
    assert known_candidates(search.best_estimator_, search) == (3, True)


@pytest.mark.parametrize(("note", "known"), [(7, (7, True)), (None, (1, False))])
def test_notes_are_kept_in_a_file_and_forgotten_by_a_fit(note, known, tmp_path):
    model = SVC(Gaussian(1.0)).fit(X, X[:, 0] > 0)
    leave_note(model, note)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert known_candidates(model, None) == known_candidates(again, None) == known
    assert known_candidates(model, 3) == (3, True)
    assert known_candidates(model.fit(X, X[:, 0] > 0), None) == (1, True)


def test_models_without_certificates_have_no_note():
    model = KernelPCA().fit(X)
    leave_note(model, 3)
    assert not hasattr(model, "candidates_")

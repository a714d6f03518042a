import numpy as np
import pytest

import mercer
from mercer import SVC, KernelPCA
from mercer.estimators.certificates.assumptions import count_settings, known_candidates, leave_note
from mercer.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(20, 2))


def test_settings_that_change_the_space_are_counted():
    grid = [{"C": C, "kernel": Gaussian(w), "svc__nu": 0.1 * C} for C in (1.0, 2.0) for w in (0.5, 1.0, 0.5)]
    assert count_settings(grid) == 2
    assert count_settings([{"alpha": 1.0}, {}]) == 1


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

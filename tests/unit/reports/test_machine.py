"""What a report says about support vector machines."""

import numpy as np
import pytest

from mercer import (
    SVC,
    SVDD,
    KernelAdatron,
    KernelRidge,
    LinearProgrammingMachine,
    LinearSVC,
    MarginBoundSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    load,
    save,
)
from mercer.gram import Tiles
from mercer.kernels import Gaussian, Linear
from mercer.reports import report
from mercer.reports.machine import machine_deeds
from mercer.reports.model_section import coefficient_facts
from mercer.reports.subject import Subject

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
TWO = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, "up", "down")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
Y = np.sin(X[:, 0])


def told(model, *data):
    return list(machine_deeds(Subject.of(model, *data)))


def one(sentences, word):
    found = [sentence for sentence in sentences if word in sentence]
    assert len(found) == 1, sentences
    return found[0]


def test_size_places_gap_and_effort():
    model = SVC(Gaussian(1.0), C=2.0).fit(X, TWO)
    sentences = told(model, X, TWO)
    count = len(model.support_)
    counts = f"{model.n_support_[0]} of 'down', {model.n_support_[1]} of 'up'"
    assert f"{count} support vectors, {100 * count / 60:.3g} % of the 60 samples ({counts})" in sentences[0]
    free = int(np.sum(np.abs(model.dual_coef_) < 2.0))
    assert one(sentences, "on the margin").startswith(f"Of the support vectors {free} are on the margin, and")
    assert f"{count - free} inside it or on the wrong side" in one(sentences, "on the margin")
    assert "0.001 was asked for" in one(sentences, "duality gap")
    assert f"moved {model.n_iter_[0]} pairs of variables, in 1 working set" in one(sentences, "moved")
    assert not any(word in " ".join(sentences) for word in ("Weights", "Margin", "Probabilities", "Rows"))


def test_sample_weights_do_not_confuse_the_places():
    w = np.where(np.arange(60) % 2, 0.3, 2.0)
    model = SVC(Gaussian(1.0), C=2.0).fit(X, TWO, sample_weight=w)
    bound = np.isclose(np.abs(model.dual_coef_[0]), 2.0 * w[model.support_]).sum()
    assert f"{bound} inside it" in one(told(model), "on the margin")


def test_several_classes_and_their_weights():
    model = SVC(class_weight={"a": 2.0}, probability=True).fit(X, THREE)
    sentences = told(model, X, THREE)
    assert "'a' 2, 'b' 1, 'c' 1" in one(sentences, "Weights of the classes")
    assert f"moved {model.n_iter_.sum()} pairs of variables in 3 problems" in one(sentences, "moved")
    assert "of the problem that ended worst" in one(sentences, "duality gap")
    assert "sigmoid" in one(sentences, "Probabilities")
    assert not any("on the margin" in sentence for sentence in sentences)


def test_a_cache_of_rows():
    wide = rng.normal(size=(2100, 300))
    model = SVC(Gaussian(20.0), gram=Tiles(precision="mixed")).fit(wide, wide[:, 0] > 0)
    details = model.solution_.details
    sentence = one(told(model), "Rows of the Gram")
    assert f"{100 * details['row cache, hit rate']:.3g} %" in sentence
    assert "MB" in sentence or "MiB" in sentence


def test_what_else_machines_find():
    assert "Margin found" in one(told(NuSVC(nu=0.3).fit(X, TWO)), "Margin")
    sentences = told(MarginBoundSVC(C=1.0).fit(X, TWO))
    assert one(sentences, "Margin") and one(sentences, "slacks")
    assert "tube" in one(told(NuSVR().fit(X, Y)), "Half-width")
    sentences = told(SVDD(nu=0.2).fit(X))
    assert one(sentences, "Radius") and one(sentences, "inside the region")
    assert "boundary of the region" in one(told(OneClassSVM(nu=0.2).fit(X)), "boundary")


def test_models_that_lack_it_say_nothing():
    assert told(KernelRidge(Gaussian(1.0)).fit(X, Y), X, Y) == []
    assert len(told(LinearSVC().fit(X, TWO), X, TWO)) == 1  # the gap alone
    assert "tolerance was reached" in one(told(LinearProgrammingMachine().fit(X, TWO)), "duality gap")


def test_a_loaded_model_says_the_same(tmp_path):
    model = SVC(Gaussian(1.0), probability=True).fit(X, TWO)
    save(model, tmp_path / "m")
    assert told(load(tmp_path / "m"), X, TWO) == told(model, X, TWO)
    assert "samples" not in told(model)[0]  # without data their number is not known


def test_other_data_than_those_of_the_fit():
    model = SVC(Gaussian(1.0)).fit(X, TWO)
    assert "samples" not in told(model, X[:5], TWO[:5])[0]


@pytest.mark.parametrize("model", [KernelAdatron(), LinearProgrammingMachine()], ids=lambda m: type(m).__name__)
def test_coefficients_with_zeros_among_them(model):
    found = coefficient_facts(Subject.of(model.fit(X, TWO), X, TWO))
    assert (found.n, found.what) == (60, "dual coefficients")
    assert found.n - found.n_zero == len(model.support_)
    assert {row[0] for row in found.largest} & set(model.support_.tolist())


def test_they_are_on_the_page():
    model = SVC(Linear(), class_weight="balanced").fit(X, TWO)
    page = report(model, X, TWO, cv=None)
    assert "support vectors" in page.html and "duality gap" in page.html
    assert page.facts.key_figures[-1][0] == "support vectors"
    assert page.facts.key_figures[-1][2].endswith("% of the samples")
    assert report(model, cv=None).facts.key_figures[-1][2] == "are kept"

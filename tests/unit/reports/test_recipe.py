"""Code that fits the same model again."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import KernelMeanClassifier, KernelRidge, ParzenDensity
from mercer.gram import Tiles
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.reports.recipe import recipe
from mercer.reports.subject import Subject
from mercer.solvers import ConjugateGradient
from mercer.spec import written

X = np.random.default_rng(0).normal(size=(20, 2))
y = X[:, 0]


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(),
        KernelRidge(2.0 * Gaussian((1.0, 2.0)) + Linear() ** 2, alpha=np.float64(0.25), fit_intercept=True),
        KernelRidge("rbf", gamma=0.1, gram=Tiles(), solver=ConjugateGradient(1e-6)),
        KernelMeanClassifier(Spectrum(3).normalized().on("a'\"b")),
        ParzenDensity(Gaussian(0.5), memory="2GB"),
    ],
)
def test_text_is_read_back(model):
    again = mercer.parse(written(model))
    assert again.get_params() == model.get_params()


def test_the_code_runs_and_gives_the_same_model(tmp_path, monkeypatch):
    model = KernelRidge(Gaussian("median"), alpha=0.1).fit(X, y)
    found = recipe(Subject.of(model, X, y))
    assert found.is_complete
    lines = [line for line in found.code.splitlines() if "report" not in line]
    names = {"X": X, "y": y}
    exec("\n".join(lines), names)
    assert np.array_equal(names["model"].predict(X), model.predict(X))
    assert "# the 20 samples given" in found.code


def test_a_density_is_fitted_without_targets():
    assert "model.fit(X)" in recipe(Subject.of(ParzenDensity().fit(X), X)).code


def test_what_cannot_be_read_back_is_said():
    class Own(Gaussian):
        pass

    found = recipe(Subject.of(KernelRidge(Own(1.0)).fit(X, y), X, y))
    assert not found.is_complete
    assert found.code == ""
    assert "cannot be read back" in found.remark


def test_a_pipeline_says_what_is_missing():
    found = recipe(Subject.of(make_pipeline(StandardScaler(), KernelRidge()).fit(X, y), X, y))
    assert not found.is_complete
    assert "pipeline" in found.remark

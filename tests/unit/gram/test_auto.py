"""The documented choice."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import GaussianProcessRegressor, KernelRidge, load, save
from mercer.budget import Resources
from mercer.domains import Strings, Vectors
from mercer.errors import MemoryBudgetError, TimeBudgetError
from mercer.estimators import SVC
from mercer.gram import Auto, Dense, FastGauss, Features, IncompleteCholesky, Kronecker, Nystrom, Tiles
from mercer.gram import auto as module
from mercer.gram.auto import choice_in_words
from mercer.gram.exact import DenseGram, TileGram
from mercer.gram.low_rank.features import FeatureGram
from mercer.kernels import Gaussian, Linear, Spectrum

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


def test_pairs_that_do_not_fit_are_held_by_their_objects():
    assert Auto().choose(Gaussian(1.0).tensor(Linear()), 1000, memory="7MB") == Kronecker()


RNG = np.random.default_rng(0)
LARGE = Vectors.pack(RNG.normal(size=(1500, 2)))
SMALL_MEMORY = Resources(memory="10MB")


def test_exact_where_it_fits():
    chosen = Auto(tol=0.1).decide(Gaussian(1.0), Vectors.pack(X), Resources(memory="1GB"))
    assert isinstance(chosen.gram, DenseGram) and chosen.record["error"] == 0.0 and chosen.record["measure"] == "exact"
    features = Auto(tol=0.1).decide(Linear(), Vectors.pack(X), Resources(memory="1GB"))
    assert features.record["gram"] == Features()
    plain = Auto().decide(Gaussian(1.0), Vectors.pack(X), Resources(memory="1GB")).record
    assert plain["tol"] is None and [a["gram"] for a in plain["alternatives"]] == [Tiles()]


def test_a_factor_where_the_rank_is_low():
    chosen = Auto(tol=1e-3).decide(Gaussian(2.0), LARGE, SMALL_MEMORY)
    record = chosen.record
    assert isinstance(record["gram"], IncompleteCholesky) and 0.0 < record["error"] <= 1e-3
    left = 1.0 - chosen.gram.diag().sum() / 1500
    assert abs(left - record["error"]) < 1e-9
    others = {type(a["gram"]).__name__: a for a in record["alternatives"]}
    assert others["Dense"]["verdict"].startswith("needs ") and others["Dense"]["bytes"] == 8 * 1500**2
    assert others["Tiles"]["seconds"] > 0.0 and "Nystrom" in others
    assert "share of the trace left out" in choice_in_words(record) and "instead of" in choice_in_words(record)


def test_a_transform_where_the_rank_is_high():
    S = Vectors.pack(RNG.uniform(size=(12_000, 2)))
    chosen = Auto(tol=1e-3).decide(Gaussian(0.01), S, Resources(memory="20MB"))
    assert chosen.record["gram"] == FastGauss(1e-6) and chosen.record["error"] <= 1e-6
    assert chosen.gram.measured(np.ones(12_000)) <= 1e-6
    without = Auto(tol=1e-3).decide(
        Gaussian(0.01), S, Resources(memory="20MB"), accepts=lambda spec: not isinstance(spec, FastGauss)
    )
    assert without.record["gram"] == Tiles() and without.record["measure"] == "exact"


def test_what_is_not_exact_enough_is_not_taken(monkeypatch):
    def error(self, spec, gram):
        return (0.5, "guess") if isinstance(spec, IncompleteCholesky) else (0.0, "exact")

    monkeypatch.setattr(module._Search, "_error", error)
    record = (
        Auto(tol=1e-3)
        .decide(Gaussian(2.0), LARGE, SMALL_MEMORY, accepts=lambda spec: not isinstance(spec, (Nystrom, FastGauss)))
        .record
    )
    assert record["measure"] == "exact"
    assert any(a["verdict"] == "its error is 0.5 (guess)" for a in record["alternatives"])


def test_if_nothing_is_left_it_says_so():
    narrow = Vectors.pack(RNG.normal(size=(1500, 8)))
    with pytest.raises(MemoryBudgetError, match=r"No way to hold .* meets Auto\(tol=0.001\).*Dense\(\): needs 17 MiB"):
        Auto(tol=1e-3).decide(Gaussian(0.1), narrow, SMALL_MEMORY, max_time=1e-6)
    with pytest.raises(TimeBudgetError, match="needs about"):
        Auto(tol=1e-3).decide(
            Gaussian(0.1), narrow, SMALL_MEMORY, max_time=1e-6, accepts=lambda spec: isinstance(spec, Tiles)
        )


def test_structured_samples():
    S = Strings.pack(["".join(RNG.choice(list("ab"), 6)) for _ in range(1200)])
    kernel = Spectrum(2).normalized()
    record = Auto(features=False, tol=1e-6).decide(kernel, S, Resources(memory="6MB")).record
    assert record["gram"].rank >= 4 and record["error"] <= 1e-6  # four words of two letters


MODELS = [
    KernelRidge(Gaussian(1.0)),
    SVC(Gaussian(1.0)),
    GaussianProcessRegressor(Gaussian(1.0), fixed="all"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_estimators_keep_the_choice(model, tmp_path):
    x = LARGE.X[:1200]
    y = np.sign(x[:, 0])
    model = clone(model).set_params(gram=Auto(tol=1e-3), memory="10MB").fit(x, y)
    record = model.gram_choice_
    assert record["gram"] == model.gram_ and record["error"] <= 1e-3 and record["alternatives"]
    save(model, tmp_path / "m.mercer")
    assert load(tmp_path / "m.mercer").gram_choice_ == record
    again = model.set_params(gram=Tiles(), memory=None).fit(x, y)
    assert not hasattr(again, "gram_choice_")


def test_exact_estimators_keep_it_too():
    record = KernelRidge(Gaussian(1.0)).fit(X, X[:, 0]).gram_choice_
    assert record["gram"] == Dense() and record["measure"] == "exact"

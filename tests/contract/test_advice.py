"""What a refusal advises is accepted by the same call."""

import inspect
import re
import warnings
from contextlib import suppress

import numpy as np
import pytest
from sklearn.base import is_classifier

import mercer
from mercer import SVC, GaussianProcessRegressor, KernelRidge, gram, solvers
from mercer.errors import CapabilityError, MemoryBudgetError, TimeBudgetError
from mercer.gram import Dense, Nystrom, Tiles
from mercer.gram.exact import TileGram
from mercer.kernels import Gaussian
from tests.contract.test_budgets import WITH_GRAM, made

N = 600
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
NUMBERS = np.sin(2.0 * X[:, 0]) + 0.3 * RNG.normal(size=N)
CLASSES = (NUMBERS > 0.0).astype(int)
NAMES = {**vars(gram), **vars(solvers)}
PARAMETER = re.compile(r"\b([a-z_]+)=([A-Z]\w*\([^()]*\)|None|\d+|'\w+')")


def targets(model):
    return CLASSES if is_classifier(model) else NUMBERS


def fitted(model):
    """Fit for a moment: long enough for every door, and no longer."""
    with warnings.catch_warnings(), suppress(TimeBudgetError):
        warnings.simplefilter("ignore")
        model.set_params(max_time=0.2).fit(X, targets(model))


def advised(message: str) -> list[dict]:
    """The parameters of each option that a refusal names."""
    found = []
    for option in message.partition("Options: ")[2].split(";"):
        named = {name: eval(value, dict(NAMES)) for name, value in PARAMETER.findall(option)}
        if named:
            found.append(named)
    return found


SLOW = pytest.mark.slow


@pytest.mark.parametrize("memory", ["2.5MB", pytest.param("1.2MB", marks=SLOW)])
@pytest.mark.parametrize("estimator", WITH_GRAM, ids=lambda cls: cls.__name__)
def test_options_of_a_memory_refusal_are_accepted(estimator, memory):
    model = made(estimator, kernel=Gaussian(2.0), gram=Dense(), memory=memory)
    with pytest.raises(MemoryBudgetError) as refusal:
        fitted(model)
    needed = re.search(r"memory= of at least ([\d.]+ \w+)", str(refusal.value))
    assert needed
    for option in advised(str(refusal.value)):
        fitted(made(estimator, **{"kernel": Gaussian(2.0), "gram": Dense(), "memory": memory, **option}))


def test_a_solver_that_was_given_is_taken_back_with_the_gram():
    model = KernelRidge(Gaussian(2.0), gram=Dense(), solver=solvers.Cholesky(), memory="2.5MB")
    with pytest.raises(MemoryBudgetError, match=r"gram=Tiles\(\) and solver=None") as refusal:
        model.fit(X, NUMBERS)
    for option in advised(str(refusal.value)):
        fitted(model.set_params(**option))
    with pytest.raises(MemoryBudgetError) as refusal:  # left-out values need a factor
        KernelRidge(Gaussian(2.0), gram=Dense(), leave_one_out=True, memory="2.5MB").fit(X, NUMBERS)
    assert "Tiles" not in str(refusal.value)


SOLVERS = [value for value in vars(solvers).values() if inspect.isclass(value) and issubclass(value, solvers.Solver)]


@pytest.mark.parametrize("solver", [cls for cls in SOLVERS if cls is not solvers.Solver], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(
    "estimator",
    [
        mercer.SVC,
        mercer.KernelRidge,
        mercer.KernelLogisticRegression,
        pytest.param(mercer.LSSVC, marks=SLOW),
        pytest.param(mercer.SVR, marks=SLOW),
    ],
    ids=lambda cls: cls.__name__,
)
def test_remedies_for_a_solver_that_does_not_fit(estimator, solver):
    for spec in (Dense(), Tiles(), Nystrom(20)):
        model = made(estimator, kernel=Gaussian(2.0), gram=spec, solver=solver())
        try:
            fitted(model)
        except CapabilityError as error:
            message = str(error)
            assert "_" not in re.sub(r"\w+_\w+=|to_dense|'[^']*'", "", message), f"internals are told: {message}"
            for name, value in PARAMETER.findall(re.split(r"\. (?:Use|Leave)", message, maxsplit=1)[1]):
                fitted(model.set_params(**{name: eval(value, dict(NAMES))}))
            fitted(model.set_params(solver=None))


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "OneClassSVM", "KernelAdatron", "MarginBoundSVC"])
@pytest.mark.parametrize("memory", ["500kB", "80kB"])
def test_solvers_work_on_blocks_that_tiles_allow(name, memory, monkeypatch):
    asked, rows = [], TileGram.rows

    def counted(self, *args, **named):
        found = rows(self, *args, **named)
        asked.append(found.nbytes)
        return found

    monkeypatch.setattr(TileGram, "rows", counted)
    model = getattr(mercer, name)(Gaussian(2.0), gram=Tiles(memory=memory))
    model.fit(X[:400], targets(model)[:400])
    assert asked and max(asked) <= mercer.budget.parse_bytes(memory)


def test_tiles_of_eight_megabytes_are_enough():
    X = np.random.default_rng(1).normal(size=(1200, 3))
    y = (X[:, 0] > 0.0).astype(int)
    whole = SVC(Gaussian(1.0)).fit(X, y).decision_function(X[:50])
    for options in ({"gram": Tiles(memory="8MB")}, {"memory": "8MB"}):
        small = SVC(Gaussian(1.0), tol=1e-4, **options).fit(X, y)
        np.testing.assert_allclose(small.decision_function(X[:50]), whole, atol=0.02)  # both by their tolerances


def test_a_search_by_products_is_refused_at_the_door(monkeypatch):
    n = 200_000
    monkeypatch.setattr(TileGram, "__matmul__", lambda *_: pytest.fail("K was multiplied"))
    monkeypatch.setattr(GaussianProcessRegressor, "_starts", lambda *_: pytest.fail("the search began"))
    with pytest.raises(MemoryBudgetError, match=r"298 GiB.*gram=Tiles\(\).*SparseGaussianProcessRegressor"):
        GaussianProcessRegressor(memory="2GB").fit(np.zeros((n, 2)), np.zeros(n))

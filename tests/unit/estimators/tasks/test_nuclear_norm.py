"""Tasks that share few functions."""

import numpy as np
import pytest

from mercer import KernelRidge, NuclearNormClassifier, NuclearNormRegressor, load, save
from mercer.errors import CapabilityError, DomainError, TargetError
from mercer.gram import Dense, Features, Kronecker, Tiles
from mercer.hilbert import Rank
from mercer.kernels import Gaussian, Linear, Match
from mercer.solvers import ConjugateGradient

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
B = np.outer(RNG.normal(size=4), RNG.normal(size=3))
Y = X @ B + np.array([1.0, -1.0, 0.0]) + 0.01 * RNG.normal(size=(60, 3))
T = RNG.normal(size=(5, 4))
TIGHT = {"tol": 1e-9, "max_iter": 50_000}


def test_the_primal_and_the_space_of_the_kernel():
    a = NuclearNormRegressor(Linear(), 0.5, gram=Features(), **TIGHT).fit(X, Y)
    b = NuclearNormRegressor(Linear(), 0.5, gram=Dense(), **TIGHT).fit(X, Y)
    assert a.rank_ == b.rank_ == 1 and np.allclose(a.predict(T), b.predict(T), atol=1e-4)
    assert np.allclose(a.singular_values_, b.singular_values_, rtol=1e-4)
    with pytest.raises(CapabilityError, match="Nystrom"):
        NuclearNormRegressor(Gaussian(1.0), gram=Tiles()).fit(X, Y)


def test_tasks_of_samples_are_a_table_with_holes():
    tasks = RNG.integers(0, 3, size=60)
    y = Y[np.arange(60), tasks]
    table = np.full((60, 3), np.nan)
    table[np.arange(60), tasks] = y
    a = NuclearNormRegressor(Linear(), 0.5, **TIGHT).fit(X, y, tasks=tasks)
    b = NuclearNormRegressor(Linear(), 0.5, **TIGHT).fit(X, table)
    values = b.predict(T)
    for t in range(3):
        assert np.allclose(a.predict(T, tasks=np.full(5, t)), values[:, t], atol=1e-5)
    assert np.allclose(a.predict(T, tasks=np.full(5, 7)), values.mean(axis=1), atol=1e-5)  # a task never seen
    assert a.score(X, y, tasks=tasks) > 0.9
    c = NuclearNormRegressor(Linear(), 0.5, task=-1, **TIGHT).fit(np.column_stack([X, tasks]), y)
    assert np.allclose(c.predict(np.column_stack([T, np.ones(5)])), values[:, 1], atol=1e-5)


def test_matrix_completion():
    whole = np.outer(RNG.normal(size=20), RNG.normal(size=15))
    holes = RNG.random(whole.shape) < 0.4
    rows = [f"row {i}" for i in range(20)]
    model = NuclearNormRegressor(Match(), 0.05, fit_intercept=False, tol=1e-6).fit(rows, np.where(holes, np.nan, whole))
    assert np.sqrt(np.mean((model.predict(rows)[holes] - whole[holes]) ** 2)) < 0.1 * whole.std()


def test_one_output_is_a_vector_of_weights():
    """Of one task the nuclear norm is the length of the weights: f = (K + c I)^-1 y for some c."""
    model = NuclearNormRegressor(Linear(), 2.0, fit_intercept=False, **TIGHT).fit(X, Y[:, 0])
    w = model.expansion_.weights
    ridge = 2.0 / np.linalg.norm(w)
    assert np.allclose(w, np.linalg.solve(X.T @ X + ridge * np.eye(4), X.T @ Y[:, 0]), atol=1e-4)


def test_other_penalties():
    model = NuclearNormRegressor(Linear(), penalty=Rank(1), tol=1e-8).fit(X, Y)
    assert model.rank_ == 1 and np.isnan(model.gap_) and model.score(X, Y) > 0.99


def test_classes_and_tasks(tmp_path):
    labels = np.argmax(X[:, :3], axis=1)
    model = NuclearNormClassifier(Linear(), 0.1).fit(X, labels)
    assert model.score(X, labels) > 0.9 and model.decision_function(T).shape == (5, 3)
    tasks = np.array(["a", "b"])[RNG.integers(0, 2, size=60)]
    two = (X[:, 0] > 0).astype(int)
    model = NuclearNormClassifier(Linear(), 0.1).fit(X, two, tasks=tasks)
    assert model.score(X, two, tasks=tasks) > 0.9
    save(model, tmp_path / "m.mercer")
    assert np.array_equal(load(tmp_path / "m.mercer").predict(X, tasks=tasks), model.predict(X, tasks=tasks))
    with pytest.raises(TargetError, match="none are given"):
        model.predict(X)


def test_two_tables_of_tasks_are_refused():
    with pytest.raises(TargetError, match="one number per sample"):
        NuclearNormRegressor().fit(X, Y, tasks=np.zeros(60, int))


def test_ratings_of_films_that_nobody_has_seen():
    """Rows are films, columns are users: a kernel on attributes of films gives ratings of new ones."""
    films, taste = RNG.normal(size=(30, 2)), RNG.normal(size=(2, 12))
    ratings = films @ taste
    seen = np.where(RNG.random(ratings.shape) < 0.5, ratings, np.nan)[:25]
    table = {"film": [f"film {i}" for i in range(30)], "x": films[:, 0], "y": films[:, 1]}
    known = {name: values[:25] for name, values in table.items()}
    kernel = 0.1 * Match().on("film") + Linear().on(["x", "y"])
    model = NuclearNormRegressor(kernel, 0.1, fit_intercept=False).fit(known, seen)
    cold = model.predict({name: values[25:] for name, values in table.items()})
    assert cold.shape == (5, 12) and np.sqrt(np.mean((cold - ratings[25:]) ** 2)) < 0.2 * ratings[25:].std()


def test_pairs_of_users_and_films_without_a_matrix_of_pairs():
    """The same by a kernel on pairs, held as two small matrices, is the machine with all of K."""
    users, films = [f"user {i}" for i in range(6)], RNG.normal(size=(8, 2))
    pairs = [(users[i], tuple(films[j])) for i in range(6) for j in range(8) if (i + j) % 3]
    y = np.array([x[0] * (1 + int(u[-1])) for u, x in pairs])
    kernel = (0.5 + Match()).tensor(Gaussian(1.0))
    options = {"alpha": 0.1, "solver": ConjugateGradient(tol=1e-10)}
    small = KernelRidge(kernel, gram=Kronecker(), **options).fit(pairs, y)
    whole = KernelRidge(kernel, alpha=0.1, gram=Dense()).fit(pairs, y)
    new = [(users[0], (0.1, 0.2)), ("a new user", (0.3, -0.2))]  # a film and a user that nobody has seen
    assert np.allclose(small.predict(new), whole.predict(new), atol=1e-6) and small.predict(new)[1] != 0.0


def test_targets_whose_squares_overflow_are_refused():
    with pytest.raises(DomainError, match="y has values up to 3e"):
        NuclearNormRegressor(Linear()).fit(np.arange(4.0)[:, None], 1e200 * np.arange(4.0))

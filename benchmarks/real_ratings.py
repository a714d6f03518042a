"""Ratings of films: MovieLens small: `python -m benchmarks.real_ratings`.

The root of the mean squared error by five folds of the ratings, mean and standard deviation, and seconds of the
processor for a fold. A user and a film are compared by whether they are the same, films by their genres too; the kernel
on pairs is a sum of such kernels and of a product, whose weights are chosen inside, on a tenth of the training ratings:

- users and films: what a user gives on average, and what a film gets;
- and genres: what films of a genre get, and what a user gives to films of that genre.

Ridge regression with these kernels works on their sparse features, so that no matrix of pairs of ratings is made.
Beside them stands the factorisation by stochastic gradients that scikit-surprise has as SVD, with its defaults (100
factors, 20 rounds, steps of 0.005, a ridge of 0.02), written anew here. "new films" leaves out all ratings of a fifth
of the films: what is known of these is their genres. The folder of the data is named by the environment variable
MERCER_DATA.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from mercer import KernelRidge
from mercer.gram import Features
from mercer.kernels import Linear, Match
from mercer.solvers import ConjugateGradient

GENRES = [f"genre {k}" for k in range(19)]
Table = dict[str, np.ndarray]


def read() -> tuple[Table, np.ndarray]:
    """Return a table of users, films and genres, each film's of length one, and the ratings."""
    with np.load(Path(os.environ["MERCER_DATA"]) / "movielens_small.npz") as data:
        user, item, genres = data["user"].astype(int), data["item"].astype(int), data["item_genres"].astype(float)
        rating = data["rating"].astype(float)
    genres /= np.sqrt(np.maximum(genres.sum(axis=1, keepdims=True), 1.0))
    table = {"user": user, "film": item}
    table.update({name: genres[item, k] for k, name in enumerate(GENRES)})
    return table, rating


def some(table: Table, rows: np.ndarray) -> Table:
    """Return some rows of a table."""
    return {name: column[rows] for name, column in table.items()}


def by_kernel(genres: bool) -> Callable[[Table, np.ndarray, Table], np.ndarray]:
    """Return ridge regression, whose weights are chosen on a tenth of the ratings."""
    user, film, genre = Match().on("user"), Match().on("film"), Linear().on(GENRES)
    shares = list(itertools.product((0.2, 0.4), (0.1, 0.3) if genres else (0.0,)))

    def model(film_share: float, taste: float) -> Any:
        kernel: Any = 0.35 * user + film_share * film
        if taste:
            kernel = kernel + 0.1 * genre + taste * user * genre
        solver = ConjugateGradient(tol=1e-4)
        return KernelRidge(kernel, alpha=1.0, gram=Features(), fit_intercept=True, solver=solver)

    def call(train: Table, y: np.ndarray, test: Table) -> np.ndarray:
        aside = np.random.default_rng(0).random(len(y)) < 0.1
        errors = []
        for choice in shares:
            f = model(*choice).fit(some(train, ~aside), y[~aside]).predict(some(train, aside))
            errors.append(np.mean((f - y[aside]) ** 2))
        best = shares[int(np.argmin(errors))]
        return model(*best).fit(train, y).predict(test)

    return call


@numba.njit
def _descend(user, film, y, mean, a, b, P, Q, rounds, step, ridge):
    """Change averages and factors by each rating in turn."""
    for _ in range(rounds):
        for k in range(len(y)):
            u, i = user[k], film[k]
            error = y[k] - mean - a[u] - b[i] - P[u] @ Q[i]
            a[u] += step * (error - ridge * a[u])
            b[i] += step * (error - ridge * b[i])
            for f in range(P.shape[1]):
                p, q = P[u, f], Q[i, f]
                P[u, f] += step * (error * q - ridge * p)
                Q[i, f] += step * (error * p - ridge * q)


def factorised(train: Table, y: np.ndarray, test: Table) -> np.ndarray:
    """Return the predictions of factors found by stochastic gradients; unknown films and users have none."""
    users, films = (1 + max(train[name].max(), test[name].max()) for name in ("user", "film"))
    mean = float(y.mean())
    rng = np.random.default_rng(0)
    a, b, P, Q = (
        np.zeros(users),
        np.zeros(films),
        rng.normal(0.0, 0.1, (users, 100)),
        rng.normal(0.0, 0.1, (films, 100)),
    )
    _descend(train["user"], train["film"], y, mean, a, b, P, Q, 20, 0.005, 0.02)
    Q[~np.isin(np.arange(films), train["film"])] = 0.0
    u, i = test["user"], test["film"]
    return np.clip(mean + a[u] + b[i] + np.einsum("ij,ij->i", P[u], Q[i]), 0.5, 5.0)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()
    table, y = read()
    rng = np.random.default_rng(0)
    tasks = {"ratings": rng.integers(0, 5, len(y)), "new films": rng.integers(0, 5, table["film"].max() + 1)}
    contenders = {
        "factors by stochastic gradients": factorised,
        "ridge, users and films": by_kernel(genres=False),
        "ridge, and genres": by_kernel(genres=True),
    }
    for (task, fold), (name, call) in itertools.product(tasks.items(), contenders.items()):
        part = fold if task == "ratings" else fold[table["film"]]
        found, began = [], time.process_time()
        for k in range(options.folds):
            f = call(some(table, part != k), y[part != k], some(table, part == k))
            found.append(np.sqrt(np.mean((f - y[part == k]) ** 2)))
        seconds = (time.process_time() - began) / options.folds
        print(f"{task:10s} {name:33s} {np.mean(found):.4f} +- {np.std(found):.4f}  ({seconds:.1f} s)", flush=True)


if __name__ == "__main__":
    main()

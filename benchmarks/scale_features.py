"""Rows of random features and of iterative linear algebra, beside scikit-learn and SciPy.

Random features differ from draw to draw, so what is compared is not a result but an error: of entries of K, or of
predictions. `python -m benchmarks.scale_features` prints how it falls with the number of features.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from benchmarks.row import Peer, Points, Row, Table, Timing, times_faster, times_the_cost
from mercer import KernelRidge
from mercer.domains import Vectors
from mercer.gram import RandomFeatures
from mercer.kernels import Exponential, Gaussian, Laplacian, Matern, Polynomial
from mercer.numerics.block_conjugate import block_solve
from mercer.numerics.krylov import krylov_solve
from mercer.numerics.lanczos import extremal_eigenpairs

COUNT = 1000
METHODS = ("independent", "orthogonal", "quasi", "hadamard")


def length(data: Table) -> float:
    return float(np.sqrt(data.X.shape[1]))


# features ---------------------------------------------------------------------------------------------------


def our_waves(method: str = "independent", precision: str = "double") -> Any:
    def call(data: Table) -> Any:
        gram = RandomFeatures(COUNT, method, precision=precision).build(Gaussian(length(data)), Vectors.pack(data.X))
        return gram.factor()

    return call


def their_waves(data: Table) -> Any:
    return RBFSampler(gamma=0.5 / length(data) ** 2, n_components=COUNT, random_state=0).fit_transform(data.X)


def our_sketch(data: Table) -> Any:
    return RandomFeatures(COUNT).build(Polynomial(3), Vectors.pack(data.X)).factor()


def their_sketch(data: Table) -> Any:
    return PolynomialCountSketch(degree=3, coef0=1, n_components=COUNT, random_state=0).fit_transform(data.X)


# ridge ------------------------------------------------------------------------------------------------------


def our_ridge(data: Table) -> Any:
    gram = RandomFeatures(COUNT, "orthogonal", precision="mixed")
    return KernelRidge(Gaussian(length(data)), alpha=1.0, gram=gram).fit(data.X, data.y)


def their_ridge(data: Table) -> Any:
    waves = RBFSampler(gamma=0.5 / length(data) ** 2, n_components=COUNT, random_state=0)
    return make_pipeline(waves, Ridge(alpha=1.0, fit_intercept=False)).fit(data.X, data.y)


def predictions(model: Any, data: Table) -> np.ndarray:
    return model.predict(data.X[:500] + 0.1)


# linear algebra -----------------------------------------------------------------------------------------------


def our_pairs(data: Table) -> Any:
    return extremal_eigenpairs(lambda V: data.X @ V, len(data.X), 6)


def their_pairs(data: Table) -> Any:
    return spla.eigsh(data.X, k=6, which="LA", tol=1e-10, v0=np.ones(len(data.X)))[0]


def many(solve: Any) -> Any:
    def call(data: Table) -> Any:
        rhs = np.random.default_rng(1).normal(size=(len(data.X), 16))
        return solve(lambda V: data.X @ V + 0.01 * V, rhs, tol=1e-8, max_iter=3000).solutions

    return call


class Matrix(Points):
    """A rough Gram matrix of points."""

    def make(self) -> Table:
        table = super().make()
        return Table(Exponential(1.0)(table.X), table.y, table.v)

    def __str__(self) -> str:
        return f"Exponential Gram matrix, n = {self.n}"


ROWS: tuple[Row, ...] = (
    Timing(
        "features-waves",
        f"{COUNT} Fourier features",
        Points(20_000, 10),
        Points(2_000, 10),
        ours=our_waves(),
        peers=(Peer("sklearn RBFSampler", their_waves, times_faster(2.0), same=False),),
        outcome=lambda result, data: np.asarray(result[:3]),
    ),
    Timing(
        "features-hadamard",
        f"{COUNT} Fourier features, structured",
        Points(10_000, 1_000),
        Points(1_000, 1_000),
        ours=our_waves("hadamard"),
        peers=(
            Peer("mercer, independent", our_waves(), times_faster(1.3), same=False),
            Peer("sklearn RBFSampler", their_waves, times_faster(3.0), same=False),
        ),
        outcome=lambda result, data: np.asarray(result[:3]),
    ),
    Timing(
        "features-sketch",
        f"TensorSketch of {COUNT} features, degree 3",
        Points(10_000, 100),
        Points(1_000, 100),
        ours=our_sketch,
        peers=(Peer("sklearn PolynomialCountSketch", their_sketch, times_faster(1.5), same=False),),
        outcome=lambda result, data: np.asarray(result[:3]),
    ),
    Timing(
        "features-ridge",
        f"KernelRidge.fit, {COUNT} features",
        Points(100_000, 10, "float32"),
        Points(5_000, 10, "float32"),
        ours=our_ridge,
        peers=(Peer("sklearn RBFSampler + Ridge", their_ridge, times_faster(1.5), same=False),),
        outcome=predictions,
        fewest=2,
    ),
    Timing(
        "lanczos",
        "six largest eigenpairs",
        Matrix(3_000, 3),
        Matrix(400, 3),
        ours=our_pairs,
        peers=(Peer("scipy eigsh", their_pairs, times_the_cost(3.0)),),
        outcome=lambda result, data: np.sort(getattr(result, "values", result)),
    ),
    Timing(
        "block-gradients",
        "16 right-hand sides by block conjugate gradients",
        Matrix(1_500, 3),
        Matrix(400, 3),
        ours=many(block_solve),
        peers=(Peer("each for itself", many(krylov_solve), times_faster(1.2)),),
    ),
)


def main() -> None:
    """Print the error of entries against the number of features, with what it costs."""
    data = Points(2_000, 6).make()
    S = Vectors.pack(data.X)
    for kernel in (Gaussian(2.0), Laplacian(8.0), Matern(1.5, 3.0), Polynomial(4)):
        K = kernel(data.X)
        print(f"{kernel!r}, n = {len(K)}, d = 6: relative error of entries (seconds), mean of 3 draws")
        for method in METHODS:
            cells = []
            for count in (64, 128, 256, 512, 1024, 2048, 4096):
                try:
                    began = time.perf_counter()
                    grams = [RandomFeatures(count, method, seed).build(kernel, S) for seed in range(3)]
                    seconds = (time.perf_counter() - began) / 3
                except TypeError:  # CapabilityError: directions are not uniform
                    break
                errors = [np.linalg.norm(gram.to_dense() - K) / np.linalg.norm(K) for gram in grams]
                cells.append(f"{count}: {np.mean(errors):.4f} ({seconds:.3f})")
            print(f"  {method:12} " + "  ".join(cells or ["-"]))


if __name__ == "__main__":
    main()

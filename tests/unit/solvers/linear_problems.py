"""Linear risks, and their solution by a general method from the dual as the losses tell it."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from mercer.losses import EpsilonInsensitive, Hinge, Huber, Pinball, SquaredHinge
from mercer.losses.insensitive import SquaredEpsilonInsensitive
from mercer.problems import LinearRisk

LOSSES = {
    "hinge": Hinge(),
    "squared hinge": SquaredHinge(),
    "tube": EpsilonInsensitive(0.2),
    "squared tube": SquaredEpsilonInsensitive(0.2),
    "huber": Huber(0.5),
    "pinball": Pinball(0.3),
}


def problem(loss, n=60, d=5, seed=0, constant=1.0, C=1.0, sparse=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)).astype(dtype)
    f = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) + 0.3
    y = np.where(f > 0, 1.0, -1.0) if isinstance(loss, (Hinge, SquaredHinge)) else f
    weight = C * rng.uniform(0.5, 2.0, size=n)
    return LinearRisk(sp.csr_array(X) if sparse else X, y, loss, weight, constant)


def whole(risk):
    """Samples with their constant column, (n, d + 1)."""
    X = risk.X.toarray() if sp.issparse(risk.X) else np.asarray(risk.X)
    return np.column_stack([X.astype(float), np.full(len(X), risk.constant)])


def objective(risk, weights):
    return 0.5 * float(weights @ weights) + float(risk.weight @ risk.loss.value(risk.y, whole(risk) @ weights))


def reference(risk):
    """Weights (d + 1,) by L-BFGS-B on the dual, as many variables as the loss has."""
    F, dual = whole(risk), risk.loss.box_dual(risk.y, risk.weight)
    if dual.index is not None:
        F = F[dual.index]
    ridge = np.broadcast_to(dual.ridge, dual.linear.shape)

    def cost(b):
        w = F.T @ b
        return 0.5 * w @ w + 0.5 * b @ (ridge * b) + dual.linear @ b, F @ w + ridge * b + dual.linear

    found = minimize(
        cost, np.clip(np.zeros(len(F)), dual.lower, dual.upper), jac=True, method="L-BFGS-B",
        bounds=list(zip(dual.lower, dual.upper, strict=True)),
        options={"maxiter": 20000, "maxfun": 100000, "ftol": 1e-16, "gtol": 1e-10},
    )  # fmt: skip
    return F.T @ found.x

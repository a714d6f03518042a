"""Structured machines by their definition: every output of every sample, and a quadratic program over all of them."""

import clarabel
import numpy as np
import scipy.sparse as sp


def constraints(space, codes, offsets, rescaling="margin"):
    """All constraints: block, psi at all sites, g, loss; and the cost of each block as a share of C."""
    rows, shares = [], []
    for i, code in enumerate(codes):
        a, b = offsets[i], offsets[i + 1]
        for truth, share in space.truths(code):
            shares.append(share)
            for y in space.outputs(b - a):
                found = space.constraint(truth, y, b - a)
                psi = np.zeros((offsets[-1], space.width))
                psi[a:b] = found.psi
                scale = 1.0 if rescaling == "margin" else found.loss
                rows.append((len(shares) - 1, scale * psi, scale * found.g, found.loss))
    return rows, np.array(shares)


def dual(K, rows, cost):
    """The largest value of the dual, over all constraints, and the coefficients B and w."""
    P = np.array([psi.ravel() for _, psi, _, _ in rows])
    G = np.array([g for _, _, g, _ in rows]).reshape(len(rows), -1)
    loss = np.array([row[3] for row in rows])
    D = rows[0][1].shape[1]
    H = P @ np.kron(K, np.eye(D)) @ P.T + G @ G.T
    owner = np.array([row[0] for row in rows])
    sums = (owner == np.arange(len(cost))[:, None]).astype(float)
    A = sp.csc_matrix(np.vstack([sums, -np.eye(len(rows))]))
    b = np.concatenate([cost, np.zeros(len(rows))])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(b))]
    H = sp.csc_matrix(np.triu(H + 1e-12 * np.eye(len(H))))
    found = clarabel.DefaultSolver(H, -loss, A, b, cones, settings).solve()
    alpha = np.asarray(found.x)
    return -found.obj_val, (alpha @ P).reshape(-1, D), alpha @ G

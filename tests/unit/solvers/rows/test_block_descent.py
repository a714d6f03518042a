import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from mercer.errors import CapabilityError
from mercer.problems import MulticlassQP, Status
from mercer.solvers import BlockDescent
from mercer.solvers.rows import block_descent as module
from mercer.solvers.rows.row_data import Rows

rng = np.random.default_rng(0)
CENTRES = rng.normal(size=(4, 6))
Y = rng.integers(0, 4, size=120)
X = CENTRES[Y] + rng.normal(size=(120, 6)) * (rng.random((120, 6)) < 0.8)


def problem(C=1.0, constant=1.0, sparse=False, index=slice(None)):
    rows = Rows.of(sp.csr_array(X[index]) if sparse else X[index], constant)
    return MulticlassQP(rows, Y[index], np.full(len(rows), C), n_classes=4)


def primal(p, W):
    f = p.gram.dense() @ W
    margin = 1.0 + f - f[np.arange(len(f)), p.codes][:, None]
    margin[np.arange(len(f)), p.codes] = 0.0
    return 0.5 * np.sum(W * W) + float(p.upper @ margin.max(axis=1))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_equals_liblinear(C, constant, sparse):
    p = problem(C, constant, sparse)
    solution = BlockDescent().solve(p)
    model = LinearSVC(
        C=C, multi_class="crammer_singer", tol=1e-10, max_iter=1_000_000, fit_intercept=constant > 0, random_state=0
    ).fit(X, Y)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.weights[:-1].T, model.coef_, atol=1e-5)
    np.testing.assert_allclose(constant * solution.weights[-1], model.intercept_, atol=1e-5)
    assert solution.gap <= 1e-6 and solution.residual <= 1e-7
    assert primal(p, solution.weights) == pytest.approx(solution.trace.objective[-1])
    B = solution.coef
    np.testing.assert_allclose(B.sum(axis=1), 0.0, atol=1e-9)
    own = B[np.arange(120), Y]
    assert np.all(own <= C + 1e-12) and np.all(B - own[:, None] * np.eye(4)[Y] <= 1e-12)


def test_descent_alone():
    p = problem(0.1)
    plain = BlockDescent(tol=1e-6, max_iter=100_000, polish=False).solve(p)
    assert plain.status is Status.CONVERGED and plain.residual <= 1e-6
    np.testing.assert_allclose(plain.weights, BlockDescent().solve(p).weights, atol=1e-4)
    unshrunk = BlockDescent(tol=1e-6, max_iter=100_000, polish=False, shrinking=False).solve(p)
    np.testing.assert_allclose(unshrunk.weights, plain.weights, atol=1e-5)


def test_warm_start_and_seeds():
    p = problem()
    first = BlockDescent().solve(p)
    assert BlockDescent().solve(p, start=first.coef).state == 0
    np.testing.assert_allclose(BlockDescent(random_state=5).solve(p).weights, first.weights, atol=1e-7)
    assert np.array_equal(BlockDescent().solve(p).weights, first.weights)


def test_samples_of_zeros_and_large_problems(monkeypatch):
    rows = Rows.of(np.vstack([np.zeros((2, 6)), X]))
    p = MulticlassQP(rows, np.concatenate([[0, 1], Y]), np.ones(122), n_classes=4)
    zeros = BlockDescent().solve(p)
    np.testing.assert_allclose(zeros.weights, BlockDescent().solve(problem(constant=0.0)).weights, atol=1e-7)
    assert zeros.gap <= 1e-6
    monkeypatch.setattr(module, "_SMALL", 0)
    assert BlockDescent().solve(p).status is Status.CONVERGED


def test_iterations_run_out_and_monitors_stop(monkeypatch):
    solution = BlockDescent(tol=1e-9, max_iter=2, polish=False).solve(problem(100.0))
    assert solution.status is Status.MAX_ITER and solution.state == 2 and solution.gap > 0.0
    monkeypatch.setattr(module, "_WORK", 500)
    stopped = BlockDescent(tol=1e-9).solve(problem(100.0), monitor=lambda iteration, residual: True)
    assert stopped.status is Status.STOPPED
    late = BlockDescent(tol=1e-9).solve(problem(100.0), monitor=lambda iteration, residual: Status.TIME)
    assert late.status is Status.TIME and np.all(np.isfinite(late.weights))


def test_another_gram_is_refused():
    with pytest.raises(CapabilityError, match="SequentialDual"):
        BlockDescent().solve(MulticlassQP(np.eye(2), np.array([0, 1]), np.ones(2), n_classes=2))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_python_originals(sparse, monkeypatch):
    p = problem(0.05, sparse=sparse, index=slice(0, 25))
    options = {"tol": 1e-3, "polish": False, "max_iter": 300}
    expected = BlockDescent(**options).solve(p)
    monkeypatch.setattr(module, "_descend", module._descend.py_func)
    monkeypatch.setattr(module, "_best_block", module._best_block.py_func)
    np.testing.assert_allclose(BlockDescent(**options).solve(p).weights, expected.weights, atol=1e-3)

import clarabel
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier

from mercer import KernelBalls, KernelStumps, LPBoostClassifier, LPBoostRegressor, Stumps, load, save
from mercer.errors import DomainError, ParameterError
from mercer.gram import Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, Spectrum

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 3))
F = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * rng.normal(size=N)
Y = np.where(F > 0.0, 1, -1)
WORDS = ["".join(rng.choice(list("ab" if i % 2 else "bc"), size=6)) for i in range(24)]


def all_stumps(X):
    """The values of every stump and of the constant, with both signs, (k, n)."""
    found = [np.ones(len(X))]
    for column in X.T:
        found += [np.where(column > cut, 1.0, -1.0) for cut in np.unique(column)[:-1]]
    return np.vstack([found, np.negative(found)])


def margin_program(G, share):
    """max rho - sum share xi over weights a that sum to one, all columns at once; G_ij = y_i h_j(x_i)."""
    n, k = G.shape
    cost = np.concatenate([np.zeros(k), [-1.0], share])
    A = np.hstack([-G, np.ones((n, 1)), -np.eye(n)])
    equal = np.concatenate([np.ones(k), np.zeros(1 + n)])[None]
    limits = [(0, None)] * k + [(None, None)] + [(0, None)] * n
    return -linprog(cost, A, np.zeros(n), equal, [1.0], bounds=limits).fun


@pytest.mark.parametrize("nu", [0.05, 0.3, 1.0])
def test_stumps_against_the_whole_program(nu):
    model = LPBoostClassifier(nu=nu, tol=1e-7).fit(X, Y)
    best = margin_program(Y[:, None] * all_stumps(X).T, np.full(N, 1.0 / (nu * N)))
    assert model.objective_[0] == pytest.approx(best, abs=2e-7)
    assert best - model.objective_[0] <= model.dual_gap_ + 1e-9
    r = model.dual_[0]
    assert np.abs(r).sum() == pytest.approx(1.0) and np.abs(r).max() <= (1.0 + 1e-6) / (nu * N)
    assert np.abs(all_stumps(X) @ r).max() == pytest.approx(model.objective_[0] + model.dual_gap_, abs=1e-9)


def test_kernel_stumps_against_the_whole_program():
    kernel = Spectrum(2)
    y = np.arange(24) % 2
    model = LPBoostClassifier(KernelStumps(kernel), nu=0.4, tol=1e-7).fit(WORDS, y)
    best = margin_program((2.0 * y - 1.0)[:, None] * all_stumps(kernel(WORDS)).T, np.full(24, 1.0 / (0.4 * 24)))
    assert model.objective_[0] == pytest.approx(best, abs=2e-7)
    few = LPBoostClassifier(KernelStumps(kernel, landmarks=3), nu=0.4).fit(WORDS, y)
    assert few.objective_[0] <= best + 1e-9


def cone_program(kernels, y, nu, constant):
    """max rho - D sum xi, y_i (sum_t <w_t, phi_t(x_i)> + c - d) >= rho - xi_i, sum |w_t| + c + d <= 1, by clarabel."""
    n, roots = len(y), []
    for K in kernels:
        values, vectors = np.linalg.eigh(K)
        roots.append(vectors * np.sqrt(np.maximum(values, 0.0)))
    m, extra = len(kernels), 2 if constant else 0
    size = m * n + m + extra + 1 + n  # w, their norms, constants, rho, xi
    cost = np.concatenate([np.zeros(m * n + m + extra), [-1.0], np.full(n, 1.0 / (nu * n))])
    margins = np.zeros((n, size))
    for t, F in enumerate(roots):
        margins[:, t * n : (t + 1) * n] = -y[:, None] * F
    if constant:
        margins[:, m * n + m : m * n + m + 2] = np.column_stack([-y, y])
    margins[:, m * n + m + extra] = 1.0
    margins[:, -n:] = -np.eye(n)
    total = np.zeros((1, size))
    total[0, m * n : m * n + m + extra] = 1.0
    low = np.zeros((extra + n, size))
    for row, place in enumerate([*range(m * n + m, m * n + m + extra), *range(size - n, size)]):
        low[row, place] = -1.0
    A, b = [margins, total, low], [np.zeros(n), np.ones(1), np.zeros(extra + n)]
    cones = [clarabel.NonnegativeConeT(n + 1 + extra + n)]
    for t in range(m):
        ball = np.zeros((n + 1, size))
        ball[0, m * n + t] = -1.0
        ball[1:, t * n : (t + 1) * n] = -np.eye(n)
        A.append(ball)
        b.append(np.zeros(n + 1))
        cones.append(clarabel.SecondOrderConeT(n + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sp.csc_matrix((size, size)), cost, sp.csc_matrix(np.vstack(A)), np.concatenate(b), cones, settings
    )
    found = solver.solve()
    x = np.array(found.x)
    return -found.obj_val, x[m * n : m * n + m]


@pytest.mark.parametrize("constant", [True, False])
def test_kernel_balls_against_their_cone_program(constant):
    kernels = (Gaussian(0.5), Gaussian(2.0), Linear())
    model = LPBoostClassifier(KernelBalls(kernels, constant=constant), nu=0.3, tol=1e-4).fit(X, Y)
    best, norms = cone_program([k(X) for k in kernels], Y.astype(float), 0.3, constant)
    assert best - model.objective_[0] <= model.dual_gap_ + 1e-7
    reach = np.sqrt(max(k(X).max() for k in kernels))
    assert model.objective_[0] == pytest.approx(best, abs=1.1e-4 * reach)
    assert np.allclose(model.kernel_weights_[0], norms / norms.sum(), atol=0.05)
    r = model.dual_[0]  # its certificate: N_t of all kernels, and the constant's edge
    edges = [np.sqrt(r @ k(X) @ r) for k in kernels] + ([abs(r.sum())] if constant else [])
    assert max(edges) == pytest.approx(model.objective_[0] + model.dual_gap_, rel=1e-6)
    values = sum(f(X) for f in model.expansions_[0])
    rest = model.decision_function(X) - values.reshape(N)
    assert np.ptp(rest) <= 1e-9 and (constant or abs(rest[0]) <= 1e-9)


def test_the_penalty_form_is_the_margin_form():
    """With C = D / beta the votes are those of the margin form over rho, where they are unique; f always is."""
    nu = 0.3
    one = LPBoostClassifier(KernelBalls((Gaussian(1.0), Linear())), nu=nu, tol=1e-4).fit(X, Y)
    C = 1.0 / (nu * N) / one.objective_[0]
    other = LPBoostClassifier(KernelBalls((Gaussian(1.0), Linear())), C=C, tol=1e-4).fit(X, Y)
    f, g = one.decision_function(X) / one.margin_[0], other.decision_function(X)
    assert np.allclose(f, g, atol=0.05 * np.abs(g).max())
    assert other.objective_[0] == pytest.approx(1.0 / one.objective_[0], rel=5e-3)


@pytest.mark.parametrize("nu", [0.1, 0.25, 0.6])
def test_nu_is_the_share_of_margin_errors(nu):
    model = LPBoostClassifier(nu=nu, tol=1e-7, solver="simplex").fit(X, Y)
    margins, rho = Y * model.decision_function(X), model.margin_[0]
    assert np.mean(margins < rho - 1e-6) <= nu + 1e-9 <= np.mean(margins <= rho + 1e-6) + 2e-9
    worst = np.sort(margins)
    count = nu * N
    whole = int(count)
    tail = (worst[:whole].sum() + (count - whole) * (worst[whole] if whole < N else 0.0)) / count
    assert model.objective_[0] == pytest.approx(tail, abs=1e-7)  # the conditional value at risk


@pytest.mark.parametrize("options", [{"nu": 0.2}, {"C": 0.1}])
@pytest.mark.parametrize("solver", ["interior", "simplex"])
def test_weight_is_repetition(options, solver):
    w = rng.integers(0, 4, size=N)
    repeated = rng.permutation(np.repeat(np.arange(N), w))
    a = LPBoostClassifier(solver=solver, **options).fit(X, Y, sample_weight=w)
    b = LPBoostClassifier(solver=solver, **options).fit(X[repeated], Y[repeated])
    assert np.allclose(a.decision_function(X), b.decision_function(X), atol=1e-9)
    c = LPBoostRegressor(solver=solver).fit(X, F, sample_weight=w)
    d = LPBoostRegressor(solver=solver).fit(sp.csr_array(X[repeated]), F[repeated])
    assert np.allclose(c.predict(X), d.predict(X), atol=1e-9)


def test_stages_end_at_the_model_and_their_objectives_at_its():
    model = LPBoostClassifier(nu=0.2).fit(X, Y)
    stages = list(model.staged_decision_function(X))
    assert len(stages) == model.n_iter_ == len(list(model.staged_predict(X)))
    assert np.allclose(stages[-1], model.decision_function(X), atol=2e-3)
    numbers = LPBoostRegressor().fit(X, F)
    assert np.allclose(list(numbers.staged_predict(X))[-1], numbers.predict(X), atol=0.05)


def test_soft_stopping_warns_and_keeps_what_there_is():
    with pytest.warns(ConvergenceWarning, match="further weak learners can improve the objective"):
        model = LPBoostClassifier(nu=0.2, max_iter=2, tol=1e-8).fit(X, Y)
    assert model.n_iter_ == 2 and model.dual_gap_ > 0.0 and model.score(X, Y) > 0.6


def test_the_tube_that_is_found_has_nu_outside():
    for nu in (0.2, 0.5):
        model = LPBoostRegressor(C=0.5, nu=nu, tol=1e-7, solver="simplex").fit(X, F)
        errors = np.abs(F - model.predict(X))
        assert np.mean(errors > model.epsilon_ + 1e-6) <= nu + 1e-9 <= np.mean(errors >= model.epsilon_ - 1e-6) + 2e-9
        same = LPBoostRegressor(C=0.5, epsilon=model.epsilon_, tol=1e-7).fit(X, F)
        whole = same.objective_ + 0.5 * nu * N * model.epsilon_
        assert whole == pytest.approx(model.objective_, rel=1e-5)


def test_classifiers_of_scikit_learn():
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = LPBoostClassifier(tree, nu=0.1).fit(X, np.where(Y > 0, "up", "down"))
    stumps = LPBoostClassifier(nu=0.1).fit(X, Y)
    assert model.score(X, np.where(Y > 0, "up", "down")) >= stumps.score(X, Y)
    assert tree.get_depth if not hasattr(tree, "tree_") else False  # the one that was given is not fitted
    with pytest.raises(ParameterError, match="whose fit takes sample_weight"):
        LPBoostClassifier(Stumps).fit(X, Y)


def test_several_classes():
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    model = LPBoostClassifier(nu=0.1).fit(X, three)
    assert model.decision_function(X).shape == (N, 3) and model.score(X, three) > 0.95
    assert model.dual_.shape == (3, N)


def test_balls_of_the_columns_of_a_table():
    table = pd.DataFrame({"a": X[:24, 0], "b": X[:24, 1], "word": WORDS})
    y = np.arange(24) % 2
    kernels = (Gaussian(1.0).on(["a", "b"]), Spectrum(2).normalized().on("word"))
    model = LPBoostClassifier(KernelBalls(kernels), nu=0.2).fit(table, y)
    assert model.score(table, y) > 0.9 and model.kernel_weights_[0, 1] > model.kernel_weights_[0, 0]
    one = model.predict(table.iloc[3:7])
    assert np.array_equal(one, model.predict(table)[3:7])


@pytest.mark.parametrize("gram", [Tiles(), Nystrom(N, random_state=0)], ids=repr)
def test_balls_need_products_alone(gram):
    dense = LPBoostClassifier(KernelBalls(Gaussian(1.0)), nu=0.3, tol=1e-3).fit(X, Y)
    other = LPBoostClassifier(KernelBalls(Gaussian(1.0), gram=gram), nu=0.3, tol=1e-3).fit(X, Y)
    assert other.objective_[0] == pytest.approx(dense.objective_[0], abs=2e-3)


@pytest.mark.parametrize(
    "learner", [Stumps(), KernelStumps(Gaussian(1.0)), KernelBalls((Gaussian(1.0), Linear()))], ids=repr
)
def test_a_model_file_keeps_predictions(learner, tmp_path):
    for model, y in ((LPBoostClassifier(learner, nu=0.3, tol=0.01), Y), (LPBoostRegressor(learner, tol=0.05), F)):
        model.fit(X, y)
        save(model, tmp_path / "m.mercer", force=True)
        again = load(tmp_path / "m.mercer")
        assert np.array_equal(again.predict(X), model.predict(X))
        assert np.array_equal(list(again.staged_predict(X)), list(model.staged_predict(X)))


@pytest.mark.parametrize(
    "model",
    [LPBoostClassifier(nu=0.1, C=1.0), LPBoostRegressor(epsilon=0.1, nu=0.1), LPBoostClassifier(nu=0.0)],
    ids=repr,
)
def test_parameters_that_contradict_each_other(model):
    with pytest.raises(ParameterError, match=r"accepts one|must be"):
        model.fit(X, Y)


@pytest.mark.parametrize("machine", [LPBoostRegressor(), LPBoostClassifier(C=1.0)])
def test_prices_beside_which_votes_are_nothing_are_refused(machine):
    X = np.arange(8.0)[:, None]
    with pytest.raises(DomainError, match="Divide the weights"):
        machine.fit(X, np.arange(8) % 2, sample_weight=np.full(8, 1e200))

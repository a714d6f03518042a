"""HiddenTree beside the definition: all hidden states of all nodes, one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import mercer
from mercer import SVC
from mercer.domains import Strings
from mercer.errors import DegenerateWarning, DomainError, ParameterError
from mercer.kernels import Spectrum
from mercer.kernels.comparison import Comparison
from mercer.kernels.models import hidden_tree as module
from mercer.kernels.models.hidden_markov_kernel import HiddenMarkov
from mercer.kernels.models.hidden_tree import HiddenTree
from mercer.testing import check_kernel
from tests.unwritten import filled

SHAPES = {
    "root": (-1,),
    "star": (-1, 0, 0, 0),
    "chain": (1, 2, -1),
    "binary": (-1, 0, 0, 1, 1),
    "any order": (3, 3, 4, 4, -1, 3),
}


def rows(rng, *shape):
    table = rng.gamma(0.5, size=shape) + 1e-3
    return table / table.sum(axis=-1, keepdims=True)


def model(parents, states=2, letters=3, seed=0, each=False):
    rng = np.random.default_rng(seed)
    N, L = len(parents), len(set(range(len(parents))) - set(parents))
    lead, tail = ((N,), (L,)) if each else ((), ())
    return rows(rng, states), rows(rng, *lead, states, states), rows(rng, *tail, states, letters)


def naive(x, z, parents, start, transition, emission):
    N = len(parents)
    leaves = [v for v in range(N) if v not in parents]
    total = 0.0
    for h in product(range(len(start)), repeat=N):
        chance = 1.0
        for v in range(N):
            T = transition[v] if transition.ndim == 3 else transition
            chance *= start[h[v]] if parents[v] < 0 else T[h[parents[v]], h[v]]
        for place, v in enumerate(leaves):
            e = emission[place] if emission.ndim == 3 else emission
            for one in (x, z):
                chance *= 1.0 if one[place] == "?" else e[h[v], "abc".index(one[place])]
        total += chance
    return total


def words(parents, letters="abc", most=9):
    L = len(set(range(len(parents))) - set(parents))
    found = ["".join(word) for word in product(letters, repeat=L)]
    return found[:: max(1, len(found) // most)]


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_states_by_the_definition(shape, each):
    parents = SHAPES[shape]
    parameters = model(parents, each=each)
    kernel = HiddenTree(parents, *parameters, alphabet="abc", missing="?")
    X, Y = words(parents), words(parents, "c?b", 5)
    expected = np.array([[naive(x, z, parents, *parameters) for z in Y] for x in X])
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-12, atol=0)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(kernel.diag(kernel.pack(X)), np.diag(K), rtol=1e-13)
    np.testing.assert_allclose(K[0, -1], naive(X[0], X[-1], parents, *parameters), rtol=1e-12)


def test_values_are_probabilities_of_pairs():
    parents = SHAPES["binary"]
    X = ["".join(word) for word in product("abc", repeat=3)]
    np.testing.assert_allclose(HiddenTree(parents, *model(parents, 3), alphabet="abc")(X).sum(), 1.0, rtol=1e-13)


def test_a_caterpillar_is_a_hidden_markov_model():
    """A chain of inner nodes each of which has a leaf in its own state."""
    n = 40
    start, transition, emission = model((-1,), 3)
    parents = [-1, *range(n - 1), *range(n)]
    steps = np.array([transition] * n + [np.eye(3)] * n)
    X = Strings.pack(["".join(np.random.default_rng(i).choice(list("abc"), n)) for i in range(6)])
    tree = HiddenTree(parents, start, steps, emission, alphabet="abc")
    np.testing.assert_allclose(tree(X), HiddenMarkov((start, transition, emission), "abc")(X), rtol=1e-12)


@pytest.mark.parametrize("shape", ["star", "comb"])
def test_large_trees_do_not_underflow(shape):
    n = 2000
    parents = [-1, *[0] * n] if shape == "star" else [-1, *range(n - 1), *range(n)]
    start, transition = np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]])
    emission = np.array([[0.7, 0.3], [0.2, 0.8]])
    X = np.random.default_rng(0).integers(0, 2, (3, n))
    X[2] = X[0]
    X[2, :3] = 1 - X[0, :3]
    kernel = HiddenTree(parents, start, transition, emission)
    K = kernel.normalized()(X)
    assert 0.0 < K[0, 2] < 1.0 and K[0, 1] < K[0, 2]
    if shape == "star":

        def log(x, z):
            given = np.log((emission.T[x] * emission.T[z]) @ transition.T).sum(axis=0)
            return np.logaddexp.reduce(np.log(start) + given)

        logs = np.array([[log(x, z) for z in X] for x in X])
        own = np.diag(logs)
        np.testing.assert_allclose(K, np.exp(logs - (own[:, None] + own) / 2), rtol=1e-10)
    with pytest.warns(DegenerateWarning, match="normalized"):
        kernel(X)


def test_compiled_code_is_the_python_code(monkeypatch):
    parents = SHAPES["any order"]
    kernel = HiddenTree(parents, *model(parents), alphabet="abc")
    X = words(parents)
    expected = kernel(X, n_threads=1)
    for name in ("_raise", "_climb", "_compare_leaves"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    np.testing.assert_allclose(kernel(X, n_threads=1), expected, rtol=1e-13)


@pytest.mark.parametrize("form", ["probability", "normalised"])
def test_laws(form):
    parents = SHAPES["binary"]
    check_kernel(
        HiddenTree(parents, *model(parents), alphabet="abc", missing="?", form=form), words(parents, "ab?c", 12)
    )
    start, transition, emission = (0.5, 0.5), ((0.9, 0.1), (0.1, 0.9)), ((0.8, 0.2), (0.3, 0.7))
    check_kernel(HiddenTree((-1, 0, 0), start, transition, emission, form=form), [[0, 0], [0, 1], [1, 0], [1, 1]])


def test_saved(tmp_path):
    parents = SHAPES["binary"]
    X = words(parents, most=27)
    y = [int(x.count("a") > 1) for x in X]
    fitted = SVC(HiddenTree(parents, *model(parents), alphabet="abc", form="normalised"), C=10.0).fit(X, y)
    mercer.save(fitted, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


def test_tiles_are_small_where_trees_are_large():
    sides = []
    for n in (3, 2000):
        kernel = HiddenTree([-1, *[0] * n], *model((-1,)), alphabet="abc")
        S = kernel.pack(["a" * n] * 2)
        sides.append(kernel.grain(Comparison(kernel, S, S)))
    assert sides[0] > sides[1] >= 4


@pytest.mark.parametrize("parents", [(), (0,), (-1, -1), (-1, 2, 1), (-1, 5), (-1.0, 0.0), ((-1, 0), (0,)), "ab"])
def test_what_is_no_tree(parents):
    with pytest.raises(ParameterError, match="parent"):
        HiddenTree(parents, *model((-1,)), alphabet="abc").check()


def test_what_is_refused():
    parents = SHAPES["binary"]
    start, transition, emission = model(parents)
    kernel = HiddenTree(parents, start, transition, emission, alphabet="abc")
    with pytest.raises(DomainError, match=r"Sample 1 has 2 symbols.*leaves, 3,"):
        kernel(["abc", "ab"])
    with pytest.raises(DomainError, match=r"Sample 1 has 2 symbols"):
        (Spectrum(1) + kernel)(["abc", "ab"])
    with pytest.raises(DomainError, match="Symbol 2 of sample 0 is 'x'"):
        kernel(["abx"])
    for parameters, match in [
        ((start, transition[:1], emission), "shapes"),
        ((start, transition, emission[:1]), "shapes"),
        ((start, np.stack([transition] * 4), emission), "shapes"),
        (("ab", transition, emission), "start must be a vector"),
        ((start * 2.0, transition, emission), "start probabilities"),
    ]:
        with pytest.raises(ParameterError, match=match):
            HiddenTree(parents, *parameters, alphabet="abc").check()
    with pytest.raises(ParameterError, match="alphabet of 2"):
        kernel.replace(alphabet="ab").check()


def test_leaves_that_cannot_be():
    kernel = HiddenTree((-1, 0, 0), (1.0,), ((1.0,),), ((1.0, 0.0),), alphabet="ab")
    np.testing.assert_array_equal(kernel(["aa", "ab"]), [[1.0, 0.0], [0.0, 0.0]])
    with pytest.warns(DegenerateWarning, match="zero probability"):
        np.testing.assert_array_equal(kernel.normalized()(["aa", "ab"]), np.eye(2))


def test_nothing_is_added_to_what_stood_in_memory(monkeypatch):
    """Of the square of one side with itself only half is computed; the rest is not written before it is mirrored."""
    kernel = HiddenTree(SHAPES["binary"], *model(SHAPES["binary"], 3), alphabet="abc")
    words = ["abc", "aab", "cab", "bbb", "cca"]
    expected = kernel(words)
    monkeypatch.setattr(np, "empty", lambda *args, empty=np.empty, **options: filled(empty(*args, **options)))
    np.testing.assert_array_equal(kernel(words), expected)

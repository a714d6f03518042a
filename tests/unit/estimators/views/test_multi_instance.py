"""Bags of instances."""

import itertools

import numpy as np
import pytest

from mercer import SVC, MultiInstanceSVC, load, save
from mercer.domains import Sets
from mercer.errors import DomainError
from mercer.kernels import Gaussian, MeanMap, Spectrum

RNG = np.random.default_rng(0)
SIZES = RNG.integers(1, 5, size=24)
Y = np.arange(24) % 2
BAGS = [RNG.normal(size=(m, 2)) for m in SIZES]
for bag, label in zip(BAGS, Y, strict=True):
    if label:
        bag[0] += 6.0
K = Gaussian(1.0)


def test_the_set_kernel_is_a_support_vector_machine_of_means():
    model = MultiInstanceSVC(K, 2.0, tol=1e-8).fit(BAGS, Y)
    plain = SVC(MeanMap(K), 2.0, tol=1e-8).fit(BAGS, Y)
    assert np.allclose(model.decision_function(BAGS), plain.decision_function(BAGS), atol=1e-6)
    scores = model.instance_scores(BAGS)
    assert np.allclose([s.mean() for s in scores], model.decision_function(BAGS), atol=1e-8)  # it is linear in a bag


@pytest.mark.parametrize("method", ["set", "instances", "witnesses"])
def test_bags_of_one_are_rows(method):
    X = np.vstack([bag[:1] for bag in BAGS])
    expected = SVC(K, 2.0, tol=1e-8).fit(X, Y).decision_function(X)
    rows = MultiInstanceSVC(K, 2.0, method=method, tol=1e-8).fit(X, Y)
    bags = MultiInstanceSVC(K, 2.0, method=method, tol=1e-8).fit([x[None] for x in X], Y)
    assert np.allclose(rows.decision_function(X), expected, atol=1e-6)
    assert np.allclose(bags.decision_function([x[None] for x in X]), expected, atol=1e-6)
    assert np.allclose(bags.decision_function(X), expected, atol=1e-6)


@pytest.mark.parametrize("method", ["instances", "witnesses"])
def test_the_deciding_instance_is_found(method):
    model = MultiInstanceSVC(Gaussian(2.0), 1.0, method=method).fit(BAGS, Y)
    assert model.score(BAGS, Y) == 1.0
    deciding = [int(np.argmax(s)) for s in model.instance_scores(BAGS)]
    assert all(d == 0 for d, label in zip(deciding, Y, strict=True) if label)
    values = [s.max() for s in model.instance_scores(BAGS)]
    assert np.allclose(values, model.decision_function(BAGS))


def test_labels_of_instances_against_all_labellings():
    """On few instances the best of some starts is the best of all labellings with a positive instance in each bag."""
    bags, y = [BAGS[i][:3] for i in (1, 3, 0, 2)], np.array([1, 1, 0, 0])
    X = np.vstack(bags)
    owners = np.repeat(np.arange(4), [len(bag) for bag in bags])
    free = np.flatnonzero(owners < 2)
    best = np.inf
    for choice in itertools.product([0, 1], repeat=len(free)):
        labels = np.zeros(len(X), int)
        labels[free] = choice
        if all(labels[owners == b].any() for b in (0, 1)):
            machine = SVC(K, 1.0, tol=1e-8).fit(X, labels)
            slack = np.maximum(0.0, 1.0 - (2 * labels - 1) * machine.decision_function(X))
            best = min(best, slack.sum() + 0.5 * machine.expansion_.norm() ** 2)
    model = MultiInstanceSVC(K, 1.0, method="instances", n_init=20, random_state=0, tol=1e-8).fit(bags, y)
    assert len(model.objectives_) == 20 and np.isclose(model.objectives_.min(), best, atol=1e-5)


def test_other_members_weights_and_the_model_file(tmp_path):
    words = [["ab", "cd"], ["ab"], ["cc", "cd"], ["dd"]]
    model = MultiInstanceSVC(Spectrum(1), 10.0, method="witnesses").fit(words, ["y", "y", "n", "n"])
    assert model.predict(words).tolist() == ["y", "y", "n", "n"]
    save(model, tmp_path / "m.mercer")
    assert np.array_equal(load(tmp_path / "m.mercer").decision_function(words), model.decision_function(words))
    w = RNG.integers(1, 3, size=24)
    index = np.repeat(np.arange(24), w)
    for method in ("set", "instances"):
        a = MultiInstanceSVC(K, method=method, tol=1e-8).fit(BAGS, Y, sample_weight=w)
        b = MultiInstanceSVC(K, method=method, tol=1e-8).fit([BAGS[i] for i in index], Y[index])
        assert np.allclose(a.decision_function(BAGS), b.decision_function(BAGS), atol=1e-6)


def test_empty_bags():
    packed = Sets.pack([*BAGS[:5], np.zeros((0, 2))])
    model = MultiInstanceSVC(K).fit(packed, [0, 1, 0, 1, 0, 1])
    assert np.isclose(model.decision_function(packed)[5], model.intercept_[0])
    with pytest.raises(DomainError, match="Bag 5 is empty"):
        MultiInstanceSVC(K, method="instances").fit(packed, [0, 1, 0, 1, 0, 1])


def test_dicts_are_no_bags():
    with pytest.raises(DomainError):
        MultiInstanceSVC(K).fit([{"a": 1.0}] * 4, [0, 1, 0, 1])


def test_a_column_of_texts_has_bags_of_one():
    words, y = ["gat", "tag", "cat", "act"], [0, 1, 0, 1]
    expected = MultiInstanceSVC(Spectrum(1)).fit(words, y).decision_function(words)
    column = np.array(words, dtype=object)
    np.testing.assert_array_equal(MultiInstanceSVC(Spectrum(1)).fit(column, y).decision_function(column), expected)

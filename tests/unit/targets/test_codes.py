"""Output codes and their decoding."""

import itertools

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.targets import codes
from mercer.targets.codes import check_code, decode, decoding_losses, minimum_distance, output_code

LOSSES = {
    "hinge": lambda z: np.maximum(0.0, 1.0 - z),
    "hamming": lambda z: (1.0 - np.sign(z)) / 2.0,
    "squared hinge": lambda z: np.maximum(0.0, 1.0 - z) ** 2,
    "logistic": lambda z: np.log1p(np.exp(-2.0 * z)),
    "exponential": lambda z: np.exp(-z),
    "linear": lambda z: -z,
}


@pytest.mark.parametrize("kind", codes.KINDS)
@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 7, 10])
def test_every_code_is_sound(kind, n_classes):
    code = output_code(n_classes, kind)
    assert code.dtype == np.int8 and len(code) == n_classes and set(np.unique(code)) <= {-1, 0, 1}
    for column in code.T:
        assert 1 in column and -1 in column
    for a, b in itertools.combinations(code.T, 2):
        assert not np.array_equal(a, b) and not np.array_equal(a, -b)
    for a, b in itertools.combinations(code, 2):
        assert not np.array_equal(a, b)
    assert np.array_equal(check_code(code, n_classes), code)
    assert minimum_distance(code) > 0
    assert np.array_equal(decode(code, code.astype(float), "linear"), np.arange(n_classes)) or kind in ("sparse", "ovo")
    assert np.array_equal(output_code(n_classes, kind), code)


@pytest.mark.parametrize("n_classes", [20, 64])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_random_codes_of_many_classes(kind, n_classes):
    code = output_code(n_classes, kind)
    assert code.shape[1] == int(np.ceil((10 if kind == "dense" else 15) * np.log2(n_classes)))
    check_code(code, n_classes)
    assert (0 in code) == (kind == "sparse")
    assert minimum_distance(code) >= 0.2 * code.shape[1]
    assert not np.array_equal(output_code(n_classes, kind, random_state=1), code)


def test_lengths():
    assert [output_code(5, kind).shape[1] for kind in ("ovr", "ovo", "exhaustive")] == [5, 10, 15]
    assert output_code(4, "dense").shape[1] == 7  # there are no more cuts of four classes
    assert output_code(3, "sparse").shape[1] == 6
    assert output_code(2, "ovo").tolist() == [[-1], [1]]


def test_distances():
    for n_classes in (3, 5, 8):
        assert minimum_distance(output_code(n_classes, "ovr")) == 2.0
        assert minimum_distance(output_code(n_classes, "exhaustive")) == 2.0 ** (n_classes - 2)
        pairs = output_code(n_classes, "ovo")
        naive = min(
            sum(0.5 * (1 - a * b) for a, b in zip(x.astype(int), y.astype(int), strict=True))
            for x, y in itertools.combinations(pairs, 2)
        )
        assert minimum_distance(pairs) == naive


@pytest.mark.parametrize("n_classes", [5, 10])
def test_hamming_decoding_corrects_half_the_distance(n_classes):
    code = output_code(n_classes, "dense")
    wrong = int((minimum_distance(code) - 1) // 2)
    assert wrong >= 1
    rng = np.random.default_rng(0)
    for c in range(n_classes):
        answers = np.tile(code[c].astype(float), (50, 1)) * rng.random((50, code.shape[1]))
        for row in answers:
            row[rng.permutation(code.shape[1])[:wrong]] *= -1.0
        assert np.all(decode(code, answers, "hamming") == c)


@pytest.mark.parametrize("loss", codes.DECODINGS)
@pytest.mark.parametrize("kind", ["ovr", "ovo", "sparse"])
def test_decoding_is_the_sum_of_losses(loss, kind):
    code, F = output_code(5, kind), np.random.default_rng(0).normal(size=(40, output_code(5, kind).shape[1])) * 2
    expected = LOSSES[loss](code[None, :, :] * F[:, None, :]).sum(axis=2)
    np.testing.assert_allclose(decoding_losses(code, F, loss), expected)
    assert np.array_equal(decode(code, F, loss), expected.argmin(axis=1))


def test_familiar_rules_are_decodings():
    F = np.random.default_rng(0).normal(size=(100, 4))
    assert np.array_equal(decode(output_code(4, "ovr"), F, "linear"), F.argmax(axis=1))
    answers = np.random.default_rng(1).normal(size=(100, 6))
    votes = np.zeros((100, 4))
    for column, (i, j) in enumerate(itertools.combinations(range(4), 2)):
        votes[:, i] += answers[:, column] > 0
        votes[:, j] += answers[:, column] < 0
    assert np.array_equal(decode(output_code(4, "ovo"), answers, "hamming"), votes.argmax(axis=1))
    one = np.array([-2.0, 0.3, 0.0])
    assert np.array_equal(decode(output_code(2), one), [0, 1, 0])


def test_huge_answers_give_no_nan():
    for loss in codes.DECODINGS:
        found = decode(output_code(3, "ovo"), np.array([[1e4, -1e4, 1e4], [-1e4, 1e4, 1e4]]), loss)
        assert found.shape == (2,) and found[1] == 1


def test_a_code_of_ones_own():
    given = [[1, 1, 0], [-1, 0, 1], [0, -1, -1]]
    assert np.array_equal(output_code(3, given), given)
    for code, words in (
        ([[1, 0], [-1, 0], [0, 1]], "both signs"),
        ([[1, -1], [-1, 1], [-1, 1]], "negative"),
        ([[1], [1], [-1]], "equal rows"),
        ([[1, 2], [-1, 0], [0, 1]], "other than"),
        ([[1, -1]], "shape"),
        ([1, -1, 1], "shape"),
        (np.zeros((3, 0)), "shape"),
        (object(), "type object"),
    ):
        with pytest.raises(ParameterError, match=words):
            output_code(3, code)


def test_bad_arguments():
    with pytest.raises(ParameterError, match="kind='best'"):
        output_code(3, "best")
    for n_classes in (1, True, 2.0, "3"):
        with pytest.raises(ParameterError, match="n_classes"):
            output_code(n_classes)
    with pytest.raises(ParameterError, match="exhaustive"):
        output_code(13, "exhaustive")
    with pytest.raises(ParameterError, match="loss='l1'"):
        decode(output_code(3), np.zeros((1, 3)), "l1")
    with pytest.raises(ParameterError, match="one column per question"):
        decode(output_code(3), np.zeros((1, 5)))

r"""Output codes: several classes as several questions with two answers.

Symbols: M (c, L) the code, one row per class and one column per question; M_cl = +1 or -1 where class c is on one
side of question l or the other, 0 where it is left out; F (m, L) the answers, real numbers whose sign decides.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays import Array, Floats, Indices, real_numbers
from mercer.errors import ParameterError

__all__ = ["DECODINGS", "KINDS", "check_code", "decode", "decoding_losses", "minimum_distance", "output_code"]

KINDS = ("ovr", "ovo", "dense", "sparse", "exhaustive")
DECODINGS = ("hinge", "hamming", "squared hinge", "logistic", "exponential", "linear")

_TRIALS = 500  # random codes of which the best is kept
_MOST_EXHAUSTIVE = 12  # classes: 2047 questions


def output_code(n_classes: int, kind: Any = "dense", random_state: Any = 0) -> Array:
    r"""Code of classes by questions with two answers.

    .. math:: M \in \{-1, 0, +1\}^{c \times L}

    Seed: [HSS] Section 3.1.4 (Allwein, Schapire and Singer, 2000).

    Parameters
    ----------
    n_classes : int
        c, at least 2.
    kind : {"ovr", "ovo", "dense", "sparse", "exhaustive"} or (c, L) array, default "dense"
        One against the rest, L = c; each pair, L = c (c - 1) / 2, +1 for the first of the two; random signs,
        :math:`L = \lceil 10 \log_2 c \rceil`; random signs and as many zeros, :math:`L = \lceil 15 \log_2 c \rceil`;
        every way to cut the classes in two, :math:`L = 2^{c-1} - 1`, up to 12 classes; or a given code, which is
        checked. Of the random codes the one with the largest minimum distance among 500 is taken, and L is not larger
        than the number of different questions.
    random_state : int, RandomState or None, default 0
        Of the random codes.

    Returns
    -------
    code : (c, L) array of int8
        Every column has both signs, no column is another or its negative, all rows are different.

    Notes
    -----
    Two classes have one question whatever the kind.

    Examples
    --------
    >>> output_code(3, "ovo")
    array([[ 1,  1,  0],
           [-1,  0,  1],
           [ 0, -1, -1]], dtype=int8)
    >>> output_code(3, "exhaustive")
    array([[-1, -1, -1],
           [-1,  1,  1],
           [ 1, -1,  1]], dtype=int8)
    >>> minimum_distance(output_code(6, "dense")), minimum_distance(output_code(6, "ovr"))
    (13.0, 2.0)
    """
    if isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer) or n_classes < 2:
        raise ParameterError(
            f"n_classes={n_classes!r} was given; a whole number from 2 on is accepted. Give the number of classes."
        )
    n_classes = int(n_classes)
    if not isinstance(kind, str):
        return check_code(kind, n_classes)
    if kind not in KINDS:
        raise ParameterError(
            f"kind={kind!r} was given; {', '.join(map(repr, KINDS))} or an array of shape ({n_classes}, L) are "
            "accepted. Choose one of them."
        )
    if n_classes == 2:  # all questions are the same one
        return np.array([[-1], [1]], dtype=np.int8)
    if kind == "ovr":
        return (2 * np.eye(n_classes) - 1).astype(np.int8)
    if kind == "ovo":
        return _pairs(n_classes)
    if kind == "exhaustive":
        return _exhaustive(n_classes)
    return _best_random(n_classes, kind == "sparse", random_state)


def check_code(code: Any, n_classes: int) -> Array:
    """Return a code given as a matrix as an array of int8, or raise ParameterError.

    Parameters
    ----------
    code : (c, L) array
        Of -1, 0 and 1.
    n_classes : int
        c.

    Examples
    --------
    >>> check_code([[1, 1], [-1, 0], [-1, -1]], 3)
    array([[ 1,  1],
           [-1,  0],
           [-1, -1]], dtype=int8)
    """
    try:
        given = real_numbers(code, "code")
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"an output code of type {type(code).__name__} was given; a matrix of -1, 0 and 1 is accepted. Give one "
            "row per class and one column per question."
        ) from error
    if given.ndim != 2 or len(given) != n_classes or not given.shape[1]:
        raise ParameterError(
            f"an output code of shape {given.shape} was given for {n_classes} classes; a matrix with one row per class "
            f"is accepted. Give shape ({n_classes}, L)."
        )
    if not np.isin(given, (-1.0, 0.0, 1.0)).all():
        raise ParameterError("an output code has entries other than -1, 0 and 1; only these are accepted. Round them.")
    found = given.astype(np.int8)
    one_sided = np.flatnonzero(~((found == 1).any(axis=0) & (found == -1).any(axis=0)))
    if len(one_sided):
        raise ParameterError(
            f"column {one_sided[0]} of the output code does not have both signs, so that its question has one answer; "
            "each column needs a 1 and a -1. Leave that column out."
        )
    if len(np.unique(_oriented(found), axis=1).T) < found.shape[1]:
        raise ParameterError(
            "the output code has a column twice, or a column and its negative; each question may be asked once. "
            "Leave such columns out."
        )
    if len(np.unique(found, axis=0)) < n_classes:
        raise ParameterError(
            "the output code has two equal rows, so that two classes could not be distinguished; all rows must be "
            "different. Add a column that has the two classes on different sides."
        )
    return found


def minimum_distance(code: Array) -> float:
    """Smallest Hamming distance between the rows of a code; a zero against anything counts one half.

    With distance d any (d - 1) / 2 wrong answers, rounded down, are corrected by Hamming decoding of a code without
    zeros.

    Parameters
    ----------
    code : (c, L) array of -1, 0, 1

    Examples
    --------
    >>> minimum_distance(output_code(4, "exhaustive")), minimum_distance(output_code(4, "ovo"))
    (4.0, 3.5)
    """
    code = real_numbers(code, "code")
    distances = 0.5 * (code.shape[1] - code @ code.T)
    return float(np.min(distances[~np.eye(len(code), dtype=bool)]))


def decoding_losses(code: Array, F: Floats, loss: str = "hinge") -> Floats:
    r"""Total loss of each class if its row of the code were the right answers.

    .. math:: \sum_l L(M_{cl} F_l)

    Seed: [HSS] Section 3.1.4 (Allwein, Schapire and Singer, 2000).

    Parameters
    ----------
    code : (c, L) array of -1, 0, 1
    F : (m, L) array
        Answers of the L machines; (m,) for one.
    loss : {"hinge", "hamming", "squared hinge", "logistic", "exponential", "linear"}
        L(z): max(0, 1 - z); (1 - sign z) / 2; max(0, 1 - z)^2; log(1 + exp(-2 z)); exp(-z); -z. A question that leaves
        a class out has z = 0, and so the same loss whatever the answer.

    Returns
    -------
    losses : (m, c) array

    Examples
    --------
    >>> decoding_losses(output_code(3, "ovr"), np.array([[2.0, -0.5, -1.0]]), "hinge")
    array([[0.5, 4.5, 5.5]])
    """
    if loss not in DECODINGS:
        raise ParameterError(
            f"loss={loss!r} was given; {', '.join(map(repr, DECODINGS))} are accepted. Use that of the machines."
        )
    code, F = real_numbers(code, "code"), real_numbers(F, "F")
    F = F[:, None] if F.ndim == 1 else F
    if F.ndim != 2 or F.shape[1] != code.shape[1]:
        raise ParameterError(
            f"answers of shape {F.shape} were given to a code of {code.shape[1]} questions; one column per question is "
            f"accepted. Give shape (m, {code.shape[1]})."
        )
    if loss == "linear":
        return -(F @ code.T)
    # a question has three losses, for +1, -1 and 0: three products and no array of m c L numbers
    plus, minus, zero = (np.asarray(_loss(z, loss)) for z in (F, -F, np.zeros(1)))
    left_out = float(zero[0]) * (code == 0).sum(axis=1)
    return plus @ (code == 1).T.astype(float) + minus @ (code == -1).T.astype(float) + left_out


def decode(code: Array, F: Floats, loss: str = "hinge") -> Indices:
    r"""Class whose row of the code has the smallest total loss, the first of equal ones.

    .. math:: \hat y = \arg\min_c \sum_l L(M_{cl} F_l)

    Seed: [HSS] Section 3.1.4 (Allwein, Schapire and Singer, 2000).

    Parameters
    ----------
    code, F, loss
        As in `decoding_losses`.

    Returns
    -------
    codes : (m,) array of int

    Examples
    --------
    >>> decode(output_code(3, "ovr"), np.array([[2.0, -0.5, -1.0], [-3.0, -0.5, -1.0]]))
    array([0, 1])
    """
    return np.argmin(decoding_losses(code, F, loss), axis=1)


def _loss(z: Floats, loss: str) -> Floats:
    if loss == "hamming":
        return 0.5 * (1.0 - np.sign(z))
    if loss == "logistic":
        return np.logaddexp(0.0, -2.0 * z)
    if loss == "exponential":
        return np.exp(np.minimum(-z, 700.0))  # no infinities, whose differences are NaN
    slack = np.maximum(1.0 - z, 0.0)
    return slack * slack if loss == "squared hinge" else slack


def _pairs(n_classes: int) -> Array:
    code = np.zeros((n_classes, n_classes * (n_classes - 1) // 2), dtype=np.int8)
    for column, (i, j) in enumerate(itertools.combinations(range(n_classes), 2)):
        code[i, column], code[j, column] = 1, -1
    return code


def _exhaustive(n_classes: int) -> Array:
    """Every cut in two, the first class on the side of -1."""
    if n_classes > _MOST_EXHAUSTIVE:
        raise ParameterError(
            f"kind='exhaustive' was given for {n_classes} classes, which is {2 ** (n_classes - 1) - 1} questions; "
            f"up to {_MOST_EXHAUSTIVE} classes are accepted. Use kind='dense'."
        )
    number = np.arange(1, 2 ** (n_classes - 1))
    bits = (number >> np.arange(n_classes - 2, -1, -1)[:, None]) & 1
    code = np.full((n_classes, len(number)), -1, dtype=np.int8)
    code[1:] += (2 * bits).astype(np.int8)
    return code


def _oriented(code: Array) -> Array:
    """Columns with the sign that makes their first non-zero entry positive: a column and its negative are equal."""
    first = code[np.argmax(code != 0, axis=0), np.arange(code.shape[1])]
    return code * first


def _best_random(n_classes: int, zeros: bool, random_state: Any) -> Array:
    """Return the random code of the largest minimum distance, of many."""
    chance = check_random_state(random_state)
    # cuts of all classes in two; with zeros, cuts of every subset: (3^c - 2^{c+1} + 1) / 2
    possible = (3**n_classes - 2 ** (n_classes + 1) + 1) // 2 if zeros else 2 ** (n_classes - 1) - 1
    length = min(math.ceil((15 if zeros else 10) * math.log2(n_classes)), possible)
    if possible <= 4 * length:  # few: draw from the list of all
        questions = _all_questions(n_classes, zeros)
    else:
        questions = None
    best, distance = None, -1.0
    for _ in range(_TRIALS if questions is None or len(questions.T) > length else 1):
        code = _draw(n_classes, length, zeros, chance) if questions is None else _some(questions, length, chance)
        if (found := minimum_distance(code)) > distance and len(np.unique(code, axis=0)) == n_classes:
            best, distance = code, found
    assert best is not None  # enough columns distinguish all classes, nearly always
    return np.ascontiguousarray(best)


def _all_questions(n_classes: int, zeros: bool) -> Array:
    """Every column with both signs, one of each pair of opposite ones."""
    if not zeros:
        return _exhaustive(n_classes)
    columns = np.array(list(itertools.product((1, 0, -1), repeat=n_classes)), dtype=np.int8).T
    columns = columns[:, (columns == 1).any(axis=0) & (columns == -1).any(axis=0)]
    return np.unique(_oriented(columns), axis=1)


def _some(questions: Array, length: int, chance: np.random.RandomState) -> Array:
    return questions[:, chance.permutation(questions.shape[1])[:length]]


def _draw(n_classes: int, length: int, zeros: bool, chance: np.random.RandomState) -> Array:
    """Draw different questions with both signs; each entry is zero with probability one half, if at all."""
    entries = np.array([-1, 0, 0, 1] if zeros else [-1, 1], dtype=np.int8)
    # equal columns have equal sums; different ones too with a chance of 2^-63, and then one is drawn again
    mark = chance.randint(2**62, size=n_classes, dtype=np.int64)
    kept = np.zeros((n_classes, 0), dtype=np.int8)
    while kept.shape[1] < length:
        drawn = entries[chance.randint(len(entries), size=(n_classes, 2 * length))]
        drawn = drawn[:, (drawn == 1).any(axis=0) & (drawn == -1).any(axis=0)]
        both = np.concatenate([kept, drawn], axis=1)
        first = np.sort(np.unique(mark @ _oriented(both).astype(np.int64), return_index=True)[1])
        kept = both[:, first[:length]]
    return kept

"""When an outcome is bad: silent, cryptic, not finite, wrong; and what a clear error is.

A call may end in two good ways: with finite numbers, or with an error that a user understands. Which of the two is
right for a fault is its expectation.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.errors import MercerError
from tests.trust.isolation import Finding

ACCEPT = "accept"  # valid, however unusual: finite numbers
REFUSE = "refuse"  # never valid: a clear error
EITHER = "either"  # extreme: finite numbers or a clear error
TOLD = "told"  # doubtful: a clear error or a warning
GOOD = {"finite", "warned", "refused"}

# What a user knows by name; the words of the messages need not be ours.
_NAMED = re.compile(
    r"\b(X|y|Y|data|samples?|sample_weight|weights?|kernels?|columns?|features?|rows?|table|matrix|labels?|class(es)?"
    r"|targets?|functions?|strings?|text|pairs?|similarities|memory|budget|file|path|(line|row|byte) \d+"
    r"|\w+=|[A-Z]\w+\(|Sample \d+|\w+\[[\d, ]+\] ="
    r"|\w+(\[\d+\])? (of type|of shape|has shape|has values|with masked values)|[Vv]ariables?|blocks|risks"
    r"|[Nn]odes?|graphs?|[Tt]rees?|[Bb]ags?|[Ss]eries|[Tt]ensors?|[Ss]ystems?|symbols?|objects?)"
)
_ADVICE = re.compile(
    r"\b(Add|Begin|Build|Call|Check|Choose|Clip|Close|Compare|Convert|Correct|Count|Decode|Did you mean|Divide|Drop"
    r"|Encode|Fill|Fit|Flatten|Give|Keep|Multiply|Rescale|Leave|Look|Lower|Make|Name|Options|Pack|Print|Put|Raise|Remove"
    r"|Rename|Replace|Reshape|Return|Say|Scale|Select|Sort|Split|Take|Train|Try|Turn|Use|Wrap|Write|The keys are"
    r"|A truth value|A weight of|give|use|wrap|write|normalise|must have)\b"
)
_ENTRAILS = (
    "SVD did not converge", "zero-size array", "must not contain infs", "has no attribute", "NoneType",
    "cannot unpack", "out of bounds", "broadcast", "setting an array element", "unhashable", "not subscriptable",
    "unsupported operand", "object of type", "list index", "not callable", "takes no arguments", "positional",
    "assert", "singular matrix", "truth value of a", "math domain", "division by zero", "not iterable",
    "Traceback", "nopython", "numba", "arrays to stack", "dimension mismatch", "matmul:", "invalid literal",
)  # fmt: skip
_WRITTEN_BY_NUMPY = re.compile(r"\bnp\.((str|bytes)_|[a-z]+[0-9]+|longdouble)\(|\bnp\.(True|False)_")
_CLEAR = (MercerError, ValueError, TypeError, MemoryError)
_SHORTEST = 40
_TESTS = str(Path(__file__).parents[1])  # warnings of a user's own functions are the user's
_QUOTED = re.compile(r'"[^"]*"')  # what a user's own function said may be as cryptic as it likes


def unclear(error: BaseException) -> str:
    """Return why an error does not help a user, or nothing if it does."""
    text = str(error)
    if not isinstance(error, _CLEAR):
        return "an error of a class that nobody expects"
    if type(error).__name__.startswith("_"):
        return f"an error of a private class ({type(error).__name__})"
    if (written := _WRITTEN_BY_NUMPY.search(text)) is not None:
        return f"an error with a value as NumPy writes it ({written[0]!r})"
    if " no a " in text or " a a " in text:
        return "an error with one article too many"
    own = _QUOTED.sub("", text)
    found = next((entrail for entrail in _ENTRAILS if entrail in own), None)
    if found is not None:
        return f"an error from the entrails ({found!r})"
    if len(text) < _SHORTEST:
        return "too short an error"
    if not _NAMED.search(text):
        return "an error that names nothing that was given"
    advice = getattr(error, "fix", None) or _ADVICE.search(text)  # errors about files keep theirs apart
    if isinstance(error, MercerError) and not advice:
        return "an error without advice"
    return ""


def judge(calls: Mapping[str, Callable[[], Any]], expect: str) -> Finding:
    """Make all calls of a probe and return the first bad outcome, else what the first call came to."""
    first: Finding | None = None
    for name, call in calls.items():
        finding = _one(call, expect)
        if finding.verdict not in GOOD:
            return Finding(finding.verdict, f"{name}: {finding.detail}")
        first = first or finding
    assert first is not None
    return first


def _one(call: Callable[[], Any], expect: str) -> Finding:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = call()
        except Wrong as wrong:
            return Finding("wrong", str(wrong))
        except Exception as error:
            return _refusal(error, expect)
    leaked = [w for w in seen if issubclass(w.category, RuntimeWarning) and _TESTS not in w.filename]
    told = [w for w in seen if issubclass(w.category, UserWarning)]
    if not finite(result):
        return Finding("warned" if told and expect != ACCEPT else "not finite", _shown(result))
    if expect == REFUSE:
        return Finding("silent", f"accepted: {_shown(result)}")
    if expect == TOLD and not told:
        return Finding("silent", f"accepted without a warning: {_shown(result)}")
    if leaked:
        return Finding(
            "leaked", f"{leaked[0].category.__name__}: {leaked[0].message} ({leaked[0].filename}:{leaked[0].lineno})"
        )
    return Finding("warned" if told else "finite", str(told[0].message)[:300] if told else "")


def _refusal(error: Exception, expect: str) -> Finding:
    text = f"{type(error).__name__}: {str(error)[:400]}"
    why = unclear(error)
    if why:
        return Finding("cryptic", f"{why}: {text}")
    return Finding("refused valid input", text) if expect == ACCEPT else Finding("refused", text)


class Wrong(AssertionError):
    """A result that is finite and not what it should be."""


def same(got: Any, expected: Any, slack: float, what: str) -> None:
    """Raise Wrong unless two arrays agree relative to their largest entry."""
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        raise Wrong(f"{what}: shape {got.shape} instead of {expected.shape}")
    if got.dtype.kind not in "fiub" or expected.dtype.kind not in "fiub":
        differ = int(np.sum(got != expected))
        if differ:
            raise Wrong(f"{what}: {differ} of {got.size} differ")
        return
    got, expected = got.astype(float), expected.astype(float)
    largest = float(np.abs(expected).max(initial=0.0))
    if not np.isfinite(got).all():
        return  # judged as such
    with np.errstate(over="ignore"):
        gap = float(np.abs(got - expected).max(initial=0.0))
    if not gap <= slack * largest + np.finfo(float).tiny:
        raise Wrong(f"{what}: differs by {gap:.3g} where numbers are up to {largest:.3g}")


def finite(result: Any) -> bool:
    """Tell whether every number in a result is finite."""
    if isinstance(result, Mapping):
        return all(finite(value) for value in result.values())
    if isinstance(result, (list, tuple)):
        return all(finite(value) for value in result)
    if sp.issparse(result):
        result = result.data
    values = np.asarray(result)
    return values.dtype.kind not in "fc" or bool(np.isfinite(values).all())


def _shown(result: Any) -> str:
    return " ".join(repr(result).split())[:160]

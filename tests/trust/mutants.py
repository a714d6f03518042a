"""Forged model files: every kernel, domain and estimator saved, changed at random, sealed again, and loaded.

The checksum of a mutant is right, so that only what `load` checks by itself stands between it and compiled code. A
mutant is loaded or refused by ModelError or MemoryBudgetError; a model that was loaded is asked for predictions, which
may fail, but not crash. ``python -m tests.trust.mutants 20000`` prints one line of JSON with counts.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# isort: off
import tests.conftest  # noqa: F401  (threads and the cache of compiled code, before anything else is imported)

# isort: on
import numpy as np
from sklearn.base import is_classifier, is_regressor

import mercer
from mercer.errors import MemoryBudgetError, MercerError, ModelError
from mercer.io.model_file import load, save
from mercer.io.named_arrays import pieces, read_header, read_tensors
from mercer.io.registry import registry
from mercer.kernels import Gaussian, Spectrum
from tests.contract.test_ownership import ESTIMATORS, NEW, NUMBERS, OF_FEATURES, TARGET, made
from tests.laws.test_kernels import ENTRIES
from tests.laws.test_model_file import FUNCTIONS, machine
from tests.trust.isolation import Finding, run_isolated

GOOD = ("loaded", "refused")
METHODS = ("predict", "decision_function", "predict_proba", "score_samples", "transform")
SPARE, GROWTH = 64 * 2**20, 20  # bytes that a load may take: so many, and so many for each of the file
WILD = (0, 1, -1, 2, 3, 127, 255, 2**31 - 1, 2**31, -(2**31), 2**40, 10**15, -(10**15), 2**62, -(2**63))
REALS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, -1e300, float("nan"), float("inf"), -float("inf"))


@dataclass(frozen=True)
class Seed:
    """A sound model file: its texts and arrays, and data that the model predicts for."""

    name: str
    texts: dict[str, str]
    tensors: dict[str, Any]
    data: Any


def seeds() -> list[Seed]:
    """Return a model of every kernel, and so of every domain, and one of every estimator, on numbers and on strings."""
    return [seed for seed in _models() if seed is not None]


def _models() -> Iterator[Seed | None]:
    words = ["ab", "abc", "bca", "aab", "cc", "abab", "b", "bb", "cab", "bac"]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, entry in ENTRIES.items():
            if name not in FUNCTIONS:
                yield _seed(name, machine(entry.kernels[-1], entry.data.sample), entry.data.sample)
        for estimator in ESTIMATORS:
            y = (TARGET > 0).astype(int) if is_classifier(estimator()) else TARGET
            kernel = mercer.kernels.Polynomial(2) if estimator in OF_FEATURES else Gaussian(1.0)
            yield _seed(estimator.__name__, made(estimator, kernel=kernel).fit(NUMBERS, y), NEW)
            if is_classifier(estimator()) or is_regressor(estimator()):
                try:
                    model = made(estimator, kernel=Spectrum(2)).fit(words, y[:10])
                except (MercerError, TypeError, ValueError):  # it is for numbers
                    continue
                yield _seed(f"{estimator.__name__} of strings", model, words)


def _seed(name: str, model: Any, data: Any) -> Seed | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        try:
            save(model, path)
        except MercerError:
            return None  # it holds a function
        with open(path, "rb") as stream:
            texts, table = read_header(stream, path)
            tensors = read_tensors(stream, path, texts, table, "sha256")
        try:
            _said(load(path), data)  # what is imported or compiled is so now
        except MercerError:
            return None  # it has a class of a test's
    del texts["sha256"]
    return Seed(name, texts, tensors, data)


def _said(model: Any, data: Any) -> None:
    for name in METHODS:
        if hasattr(model, name):
            with contextlib.suppress(Exception):  # it is another model, which may say no: the process must live
                getattr(model, name)(data)


# ------------------------------------------------------------------------------------------ changes


def mutant(seed: Seed, rng: np.random.Generator) -> bytes:
    """Return a file with one to three changes of the arrays or of the tree, and a checksum that fits."""
    texts, tensors = dict(seed.texts), dict(seed.tensors)
    for _ in range(int(rng.integers(1, 4))):
        if tensors and rng.random() < 0.6:
            _change_array(tensors, rng)
        else:
            document = json.loads(texts["mercer"])
            _change_tree(document["model"], rng)
            texts["mercer"] = json.dumps(document, separators=(",", ":"))
    return b"".join(bytes(piece) for piece in pieces(tensors, texts, "sha256"))


def _change_array(tensors: dict[str, Any], rng: np.random.Generator) -> None:
    name = str(rng.choice(sorted(tensors)))
    array = tensors[name].copy()
    flat = array.reshape(-1)
    kind = int(rng.integers(0, 9))
    if kind <= 3 and flat.size:  # some numbers
        for place in rng.integers(0, flat.size, size=int(rng.integers(1, 4))):
            if array.dtype.kind == "f":
                flat[place] = rng.choice(REALS)
            else:
                near = int(flat[place]) + int(rng.integers(-3, 4))
                value = near if rng.random() < 0.6 else int(rng.choice(len(WILD)) and rng.choice(WILD))
                flat[place] = np.array(value % 2**64, dtype=np.uint64).astype(array.dtype)
    elif kind == 4 and flat.size:  # the last one, which ends what comes before
        flat[-1] = 0
    elif kind == 5 and flat.size:
        rng.shuffle(flat)
    elif kind == 6 and array.ndim:  # another length
        array = array[:-1] if rng.random() < 0.5 else np.concatenate([array, array[-1:]])
    elif kind == 7:  # another shape or type
        array = flat.copy() if rng.random() < 0.5 else array.astype(rng.choice(["<i4", "<i8", "<f8", "<f4", "u1"]))
    else:  # the array of another place
        array = tensors[str(rng.choice(sorted(tensors)))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors[name] = np.ascontiguousarray(array).reshape(array.shape)


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of a tree with every key of it."""
    members = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in list(members):
        yield node, key
        yield from _places(value)


def _change_tree(tree: Any, rng: np.random.Generator) -> None:
    places = list(_places(tree))
    container, key = places[int(rng.integers(0, len(places)))]
    value = container[key]
    if rng.random() < 0.1:
        del container[key]
    elif isinstance(value, bool):
        container[key] = not value
    elif isinstance(value, int | float):
        choices = [value + 1, value - 1, -value, 0, int(rng.choice(WILD)), 0.5, None, "1", True]
        container[key] = choices[int(rng.integers(0, len(choices)))]
    elif isinstance(value, str) and key == "class":
        container[key] = str(rng.choice(sorted(registry())))
    else:
        other, place = places[int(rng.integers(0, len(places)))]
        container[key] = json.loads(json.dumps(other.get(place) if isinstance(other, dict) else _at(other, place)))


def _at(members: list[Any], place: int) -> Any:
    return members[place] if place < len(members) else None


# ------------------------------------------------------------------------------------------ trials


def trial(found: list[Seed], number: int) -> Finding:
    """Load one mutant, and ask it for predictions if it is loaded."""
    seed = found[number % len(found)]
    content = mutant(seed, np.random.default_rng((20, number)))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path = Path(folder) / "m"
        path.write_bytes(content)
        tracemalloc.start()
        try:
            model = load(path)
        except (ModelError, MemoryBudgetError):
            model = None
        except Exception as error:
            return Finding("error", f"{seed.name}, mutant {number}: {type(error).__name__}: {str(error)[:200]}")
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        if peak > SPARE + GROWTH * len(content):
            return Finding("memory", f"{seed.name}, mutant {number}: {peak} bytes for a file of {len(content)}")
        if model is None:
            return Finding("refused")
        _said(model, seed.data)
        return Finding("loaded")


def run(count: int, first: int = 0, seconds: float = 20.0) -> dict[str, Any]:
    """Return counts of what came of some mutants, and the first that went wrong."""
    began = time.monotonic()
    found = seeds()
    jobs = [functools.partial(trial, found, number) for number in range(first, first + count)]
    findings = run_isolated(jobs, seconds)
    counts = Counter(finding.verdict for finding in findings)
    wrong = [
        f"{number}, {found[number % len(found)].name}: {finding.verdict} {finding.detail}"
        for number, finding in enumerate(findings, first)
        if finding.verdict not in GOOD
    ]
    told = {"mutants": count, "seeds": len(found), **{verdict: counts[verdict] for verdict in GOOD}}
    return {**told, "wrong": len(wrong), "first": wrong[:50], "seconds": round(time.monotonic() - began, 1)}


def main(arguments: list[str]) -> int:
    """Run some mutants and print the counts as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=500)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    given = parser.parse_args(arguments)
    told = run(given.count, given.first)
    print(json.dumps(told))
    return 0 if not told["wrong"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

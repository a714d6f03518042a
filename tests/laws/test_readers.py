"""Laws of the readers: broken files are refused with place and fix, odd ones read right, damage never escapes."""

import math
import random
import re
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.io import FORMATS, Dataset, FileError, Limits, read
from tests.broken_files import TEXTS, broken_files, npy, parquet, valid_files
from tests.clock import allowed

PLACE = re.compile(r"(?:line|row|column|byte) \d+")
SECONDS = allowed(5.0)
PER_BYTE, FREE = 20, 8 * 2**20  # of the 64 MiB that are promised: the files here are small


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    return broken_files(tmp_path_factory.mktemp("broken"))


def test_there_are_enough_broken_files(broken):
    assert len(broken) >= 250
    contents = {path.read_bytes() + str(path.suffixes).encode() for path, _ in broken if path.parent.name != "names"}
    assert len(contents) >= 250
    assert len({path for path, _ in broken}) == len(broken)


def test_broken_files_are_refused_with_place_and_fix(broken):
    offenders = []
    for path, reason in broken:
        began = time.process_time()
        try:
            found = read(path)
        except FileError as error:
            message = str(error)
            if not message.startswith(str(path.parent)) or not PLACE.search(message) or not error.fix:
                offenders.append(f"{path.name} ({reason}): {message}")
        except Exception as error:
            offenders.append(f"{path.name} ({reason}): {type(error).__name__} {error}")
        else:
            offenders.append(f"{path.name} ({reason}): accepted as {found}")
        if time.process_time() - began > SECONDS:
            offenders.append(f"{path.name} ({reason}): took too long")
    assert not offenders, "\n".join(offenders)


def test_messages_are_sentences_fit_for_a_terminal(broken):
    for path, _ in broken:
        with pytest.raises(FileError) as caught:
            read(path)
        error = caught.value
        assert str(error).isprintable() and len(str(error)) < 800
        assert error.problem[-1] in ".?" and error.fix[-1] in ".?", str(error)


def plain(dataset: Dataset) -> object:
    """The samples as lists, with None for what is missing."""
    if dataset.kind == "table":
        return {name: [_plain(value) for value in column] for name, column in dataset.X.items()}
    if sp.issparse(dataset.X):
        return dataset.X.toarray().tolist()
    return dataset.X.tolist() if isinstance(dataset.X, np.ndarray) else dataset.X


def _plain(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


def test_tricky_files_are_read_right(tmp_path):
    for path, expected in valid_files(tmp_path):
        dataset = read(path)
        assert dataset.format in FORMATS and len(dataset) == dataset.n > 0
        if "X" in expected:
            assert plain(dataset) == expected["X"], path.name
        for name in ("n", "kinds", "ids"):
            if name in expected:
                assert getattr(dataset, name) == expected[name], path.name
        if "y" in expected:
            assert dataset.y.tolist() == expected["y"]
        assert dataset.take(slice(0, 1)).n == 1
        assert dataset.describe()["samples"] == dataset.n
        assert repr(dataset).startswith("<")


# ---------------------------------------------------------------------- damage

VALID = {
    **{kind: text.encode() * 3 if kind in ("svmlight", "jsonl") else text.encode() for kind, text in TEXTS.items()},
    "npy": npy(np.eye(5)),
    "parquet": parquet(pa.table({"x": np.arange(50) / 7, "c": ["Rome", "Oslo"] * 25})),
}
SPECIAL = [b"\0", b"\xff", b'"', b"\n", b"\r", b",", b"\t", b";", b":", b"-", b"e", b"9" * 400, b"{", b"[", b"inf"]


def mutated(data: bytes, random_: random.Random) -> bytes:
    """Change a file in one to four places."""
    changed = bytearray(data)
    for _ in range(random_.randint(1, 4)):
        at = random_.randrange(len(changed) + 1)
        choice = random_.randrange(6)
        if choice == 0 and at < len(changed):
            changed[at] = random_.randrange(256)
        elif choice == 1 and at < len(changed):
            changed[at] ^= 1 << random_.randrange(8)
        elif choice == 2:
            changed[at:at] = random_.choice(SPECIAL)
        elif choice == 3:
            del changed[at : at + random_.randint(1, 20)]
        elif choice == 4:
            end = min(len(changed), at + random_.randint(1, 40))
            changed[at:at] = changed[at:end]
        else:
            del changed[at:]
    return bytes(changed)


def attempt(path: Path, format: str | None, data: bytes) -> bool:
    """Read data as a file; it is read or refused, quickly. Returns whether it was read."""
    path.write_bytes(data)
    began = time.process_time()
    try:
        dataset = read(path, format)
    except FileError as error:
        assert str(path.parent) in str(error) and error.fix
        return False
    finally:
        assert time.process_time() - began < SECONDS
    assert dataset.n > 0
    dataset.describe()
    return True


@pytest.mark.parametrize("kind", VALID)
def test_damaged_files_are_read_or_refused(kind, tmp_path):
    random_ = random.Random(kind)
    path = tmp_path / f"data.{kind}"
    assert attempt(path, None, VALID[kind])
    outcomes = [attempt(path, None, mutated(VALID[kind], random_)) for _ in range(300)]
    assert not all(outcomes)


@pytest.mark.parametrize("kind", VALID)
def test_a_file_given_as_any_format_is_read_or_refused(kind, tmp_path):
    for format in FORMATS:
        attempt(tmp_path / "data", format, VALID[kind])


@settings(max_examples=4 * settings.default.max_examples)
@given(data=st.binary(min_size=1, max_size=200), format=st.sampled_from([None, *FORMATS]))
def test_any_bytes_are_read_or_refused(data, format, tmp_path_factory):
    attempt(tmp_path_factory.getbasetemp() / "any", format, data)


@settings(max_examples=4 * settings.default.max_examples)
@given(
    text=st.text(st.sampled_from("abc019.,;\t\n\r\"'{}[]:>@+-#eE \u00e9\u2028"), min_size=1, max_size=80),
    format=st.sampled_from(["csv", "tsv", "svmlight", "jsonl", "fasta", "fastq"]),
)
def test_any_text_is_read_or_refused(text, format, tmp_path_factory):
    attempt(tmp_path_factory.getbasetemp() / "text", format, text.encode())


HOSTILE = {
    "commas.csv": b"," * 3_000_000,
    "rows.csv": b"a\n" + b"1\n" * 40_000,
    "empty_fields.csv": b"a,b,c\n" + b",,\n" * 25_000,
    "words.csv": b"w\n" + b"".join(b"%x\n" % (i * 7919) for i in range(25_000)),
    "quotes.csv": b'"' * 2_000_000,
    "digits.csv": b"a\n" + b"1" * 900_000 + b"\n",
    "pairs.svm": b"1 " + b" ".join(b"%d:1" % i for i in range(1, 50_000)) + b"\n",
    "labels.svm": b"1\n" * 40_000,
    "keys.jsonl": b"{" + b",".join(b'"%d":1' % i for i in range(8_000)) + b"}\n",
    "objects.jsonl": b'{"a":1}\n' * 12_000,
    "deep.jsonl": b"[" * 2_000_000,
    "strings.jsonl": b'{"a":"' + b"\\" * 2_000_000,
    "names.fasta": b"".join(b">%x\nA\n" % i for i in range(20_000)),
    "sequence.fasta": b">s\n" + b"A\n" * 100_000,
    "reads.fastq": b"".join(b"@%x\nA\n+\nI\n" % i for i in range(20_000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_memory_is_bounded_by_the_size_of_the_file(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(HOSTILE[name])
    tracemalloc.start()
    try:
        read(path)
    except FileError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < FREE + PER_BYTE * len(HOSTILE[name])


@pytest.mark.parametrize("kind", TEXTS)
def test_limits_hold_in_every_reader(kind, tmp_path):
    path = tmp_path / f"data.{kind}"
    path.write_bytes(VALID[kind])
    for limits in (Limits(bytes=10), Limits(rows=1), Limits(memory=10)):
        with pytest.raises(FileError, match=r"limit|budget"):
            read(path, limits=limits)

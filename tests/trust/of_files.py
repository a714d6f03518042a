"""Probes of the readers: broken files, damaged ones, and paths that lead nowhere."""

from __future__ import annotations

import atexit
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mercer.io import read
from tests.broken_files import broken_files, valid_files
from tests.broken_structures import TU
from tests.trust.judge import EITHER, REFUSE
from tests.trust.probe import Probe


def _folder() -> Path:
    folder, owner = tempfile.mkdtemp(prefix="mercer-trust-"), os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    return Path(folder)


def _accepted(path: Any) -> dict[str, Any]:
    return {"read": lambda: len(str(read(path)))}


def file_probes() -> Iterator[Probe]:
    """Yield files that nobody should be able to read, and readable ones after an accident."""
    folder = _folder()
    (folder / "broken").mkdir()
    for path, reason in broken_files(folder / "broken"):
        yield Probe("readers", f"read {path.suffix}", f"{path.name}: {reason}", REFUSE, partial(_accepted, path))
    for path, reason in _folders(folder / "folders"):
        yield Probe("readers", "read a folder", reason, REFUSE, partial(_accepted, path))
    for path in _damaged(folder / "damaged"):
        yield Probe("readers", f"read {path.suffix}", path.name, EITHER, partial(_accepted, path))
    for path in (None, 3, "", folder, folder / "nowhere.csv", "a\0b.csv", b"bytes.csv", [], Ellipsis):
        told = str(path).replace(str(folder), "folder")
        yield Probe("readers", "read", f"path {told[:20]!r}", REFUSE, partial(_accepted, path))


def _folders(folder: Path) -> Iterator[tuple[Path, str]]:
    """Write folders of graphs and of trees in which something is wrong, or missing."""
    changes: dict[str, dict[str, str | None]] = {
        f"{part} {what}": {part: text}
        for part in TU
        for what, text in (("cut", TU[part][:-3]), ("of words", "one\ntwo\n"), ("long", TU[part] * 2), ("nan", "nan\n"))
    }
    changes |= {f"no {part}": {part: None} for part in ("A", "graph_indicator")}
    changes.pop("A long")  # edges listed twice are edges
    changes.pop("A cut")  # an edge in one direction is a graph with directions
    for number, (reason, change) in enumerate(changes.items()):
        home = folder / str(number)
        home.mkdir(parents=True)
        for part, text in (TU | change).items():
            if text is not None:
                (home / f"TOY_{part}.txt").write_text(text)
        yield home, f"graphs: {reason}"
    for name, text in {"a.mrg": "(S", "a.xml": "<a>", "a.json": "[", "a.py": "def", "a.txt": ""}.items():
        home = folder / name.replace(".", "_")
        (home / "inner").mkdir(parents=True)
        (home / "inner" / name).write_text(text)
        yield home, f"trees: {name}"


def _damaged(folder: Path) -> Iterator[Path]:
    """Write every readable file cut off, with some bytes changed, and twice in a row."""
    rng = random.Random(4)
    (folder / "whole").mkdir(parents=True, exist_ok=True)
    for path, _ in valid_files(folder / "whole"):
        content = path.read_bytes()
        changed = bytearray(content)
        for _ in range(3):
            changed[rng.randrange(len(changed))] = rng.randrange(256) if changed else 0
        versions = {"cut": content[: len(content) // 2], "changed": bytes(changed), "twice": content * 2}
        for name, version in versions.items():
            damaged = folder / f"{name}-{path.name}"
            damaged.write_bytes(version)
            yield damaged

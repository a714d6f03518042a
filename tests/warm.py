"""Compile every loop once, before the workers of the tests start: ``python -m tests.warm``.

Two workers that begin with an empty cache would each compile what the other compiles. Nothing is done if no source has
changed since the last time.
"""

import hashlib
from pathlib import Path

# isort: off
from tests.conftest import CACHE  # the variables that are read at import, before anything else is imported

# isort: on
from mercer.cli.application import application

SOURCES = Path(__file__).resolve().parents[1] / "src"
STAMP = CACHE / "warm"


def fingerprint() -> str:
    """A number that changes with any source."""
    found = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.py")):
        found.update(f"{path.relative_to(SOURCES)} {path.stat().st_mtime_ns} {path.stat().st_size}\n".encode())
    return found.hexdigest()


if __name__ == "__main__":
    now = fingerprint()
    if not STAMP.exists() or STAMP.read_text(encoding="ascii") != now:
        print("Compiling loops", flush=True)
        application.main(["warmup", "--quiet"], standalone_mode=False)
        STAMP.write_text(now, encoding="ascii")

"""The files on which trust rests, and the unit tests of each: what coverage and mutation score are measured on.

`tests/unit` mirrors `src/mercer` file by file, so that the tests of a file have its name. Only these count here: what
other tests reach by the way is not what a file's own tests show.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["BESIDE", "PARTS", "ROOT", "SOURCE", "unit_test"]

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "mercer"

PARTS: dict[str, tuple[str, ...]] = {
    "guards": (
        "arguments.py", "budget.py", "constraints.py", "sparse_checks.py", "domains/vectors.py",
        "studio/request_guard.py", "targets/target.py",
    ),
    "persistence": tuple(
        f"io/{name}.py"
        for name in ("atomic", "checkpoint", "gram_file", "model_file", "named_arrays", "plain_values", "registry")
    ),
    "readers": (
        *(f"io/{name}.py" for name in ("checks", "columns", "datasets", "delimited", "excel", "formats", "jsonl")),
        *(f"io/{name}.py" for name in ("libsvm", "limits", "parquet", "readers", "source", "svmlight", "tables")),
        "io/text_folders.py",
        *(f"io/structures/{name}.py" for name in ("conll", "fasta", "graph_archives", "graph_files", "tree_files")),
    ),
    "numerics": tuple(
        f"numerics/{path.name}" for path in sorted((SOURCE / "numerics").glob("*.py")) if path.name != "__init__.py"
    ),
}  # fmt: skip
BESIDE = {"readers": ("tests/laws/test_readers.py",)}  # tests of a part as a whole


def unit_test(file: str) -> Path:
    """Return the tests of a file of the source."""
    path = Path(file)
    return ROOT / "tests" / "unit" / path.parent / f"test_{path.name}"

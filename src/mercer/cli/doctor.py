"""``mercer doctor``: what this installation is made of, and what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import stat
import sys
from pathlib import Path
from typing import Any

import threadpoolctl

import mercer
from mercer.budget import SHARE, format_bytes, free_memory
from mercer.cli.terminal import Terminal, pairs
from mercer.runtime import compiled
from mercer.runtime.tiling import thread_count

__all__ = ["run"]

NEEDED = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "narwhals",
    "threadpoolctl",
    "safetensors",
    "click",
    "rich",
    "jinja2",
)
OPTIONAL = {
    "matplotlib": ("plot", "figures"),
    "pyarrow": ("data", "Parquet files"),
    "openpyxl": ("excel", "Excel files"),
    "starlette": ("studio", "mercer studio"),
    "uvicorn": ("studio", "mercer studio"),
    "piqp": ("qp", "a second opinion on quadratic programs"),
    "clarabel": ("qp", "a third one"),
    "dask": ("dask", "computing on several machines"),
    "networkx": ("graphs", "graphs"),
}


def run(terminal: Terminal) -> None:
    """Report versions, threads, caches and memory."""
    versions = {name: _version(name) for name in NEEDED}
    optional = {name: _version(name) for name in OPTIONAL}
    cache = _cache()
    blas = [
        {"library": pool.get("internal_api"), "version": pool.get("version"), "threads": pool.get("num_threads")}
        for pool in threadpoolctl.threadpool_info()
    ]
    free = free_memory()
    advice = _advice(optional, cache)
    result = {
        "mercer": mercer.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions,
        "optional": optional,
        "cores": os.cpu_count(),
        "threads": thread_count(None),
        "libraries": blas,
        "cache": cache,
        "free_memory": free,
        "default_budget": int(SHARE * free),
        "advice": advice,
    }
    rows = [
        ("mercer", mercer.__version__),
        ("Python", f"{platform.python_version()} ({sys.executable})"),
        ("system", result["system"]),
        ("packages", "\n".join(f"{name} {version or 'MISSING'}" for name, version in versions.items())),
        ("optional", "\n".join(f"{name} {version or 'not installed'}" for name, version in optional.items())),
        ("threads", f"{result['threads']} of {result['cores']} cores"),
        ("libraries", "\n".join(f"{b['library']} {b['version'] or ''}: {b['threads']} threads" for b in blas)),
        ("cache", f"{cache['folder']} ({cache['state']})"),
        ("memory", f"{format_bytes(free)} free, {format_bytes(SHARE * free)} used at most unless --memory says more"),
    ]
    text = pairs(rows) + (
        "\n\nAdvice:\n" + "\n".join(f"- {line}" for line in advice) if advice else "\n\nEverything is fine."
    )
    terminal.result(result, text)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cache() -> dict[str, Any]:
    """Where compiled code is kept, and whether it is safe there."""
    source = str(Path(compiled.__file__).parent)
    chosen = compiled._cache_folder(source)
    if chosen is None:
        return {"folder": None, "state": "none: no private folder is writable, so every process compiles anew"}
    folder = Path(chosen or compiled.config.CACHE_DIR or Path(source) / "__pycache__")
    if not folder.exists():
        return {"folder": str(folder), "state": "made when it is needed"}
    mode = stat.S_IMODE(folder.stat().st_mode)
    private = compiled._is_private(folder)
    state = f"mode {mode:04o}, " + ("private" if private else "NOT PRIVATE: others can write here")
    return {"folder": str(folder), "state": state, "private": private, "writable": os.access(folder, os.W_OK)}


def _advice(optional: dict[str, str | None], cache: dict[str, Any]) -> list[str]:
    lost = {OPTIONAL[name][0]: OPTIONAL[name][1] for name, version in optional.items() if version is None}
    advice = [f"For {purpose}: pip install 'mercer[{extra}]'" for extra, purpose in lost.items()]
    if cache.get("private") is False:
        advice.append(f"Make the cache private: chmod 700 {cache['folder']} (compiled code in it is run as you).")
    if cache["folder"] is None:
        advice.append("Set NUMBA_CACHE_DIR to a folder that only you can write, so that loops are compiled once.")
    return advice

"""Clocks and scales: seconds of contenders that take turns, and peaks of memory."""

from __future__ import annotations

import gc
import importlib.metadata
import importlib.util
import os
import platform
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Call = Callable[[], Any]
PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "numba", "torch", "pykeops")
FEWEST_ROUNDS, MOST_ROUNDS = 3, 50
LONG = 30.0  # seconds


def seconds(call: Call) -> float:
    """Seconds of one call; its result is thrown away only after the clock has been read."""
    began = time.perf_counter()
    result = call()
    ended = time.perf_counter()
    del result
    return ended - began


def in_turns(
    calls: Mapping[str, Call], rounds: int, at_least: float, fewest: int = FEWEST_ROUNDS
) -> dict[str, list[float]]:
    """Seconds of each contender in each round; all take their turn in every round.

    There are `rounds` rounds, more as long as fewer than `at_least` seconds have passed, and fewer, but `fewest`,
    if they take long. Every other round goes backwards, so that nobody always runs after the same neighbour.
    """
    taken: dict[str, list[float]] = {name: [] for name in calls}
    began = time.perf_counter()
    gc.collect()
    gc.disable()
    try:
        for count in range(MOST_ROUNDS):
            passed = time.perf_counter() - began
            if (count >= rounds and passed > at_least) or (count >= fewest and passed > LONG):
                break
            for name in list(calls)[:: -1 if count % 2 else 1]:
                taken[name].append(seconds(calls[name]))
    finally:
        gc.enable()
    return taken


def peak_bytes(call: Call) -> tuple[int, int]:
    """Peak of what a call allocates, and what its result still holds, as Python and NumPy count it."""
    gc.collect()
    tracemalloc.start()
    try:
        result = call()
        held, peak = tracemalloc.get_traced_memory()
        del result
        return peak, held
    finally:
        tracemalloc.stop()


def resident_growth(call: Call) -> int:
    """Bytes by which a call raises the resident memory of this process, which should be a fresh one."""
    gc.collect()
    before = _resident()
    result = call()
    after = _highest_resident()
    del result
    return after - before


def _highest_resident() -> int:
    """High water of the resident memory; getrusage would count that of the parent process, too."""
    highest = _status("VmHWM")
    if highest is not None:
        return highest
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest if sys.platform == "darwin" else 1024 * highest


def _resident() -> int:
    now = _status("VmRSS")
    return _highest_resident() if now is None else now


def _status(field: str) -> int | None:
    """A field of Linux's account of this process, in bytes; None on other systems."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), None)


def largest_difference(a: np.ndarray, b: np.ndarray, rows: int = 512) -> float:
    """Largest absolute difference of two arrays, in pieces: two large matrices are enough in memory."""
    if a.shape != b.shape:
        return float("inf")
    starts = range(0, len(a), rows)
    return max(float(np.max(np.abs(a[i : i + rows] - b[i : i + rows]))) for i in starts)


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


# what the figures depend on --------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Processor, cores, memory, load and versions: enough to compare runs, nothing that names a computer."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": _cpu(),
        "cores": cores,
        "memory_gib": _memory_gib(),
        "system": platform.system(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "versions": versions,
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gib() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (AttributeError, ValueError, OSError):
        return None


def commit() -> dict[str, Any]:
    """The commit that was measured, and whether files had been changed since; None outside a clone."""
    folder = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        return {
            "commit": git("rev-parse", "HEAD"),
            "changed": bool(git("status", "--porcelain", "--", "../src")),
        }
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "changed": None}

"""The one decorator around Numba's ``njit``, with the guards of cache and fork.

Compiled functions of mercer are single-threaded and hold no interpreter lock: parallel work is done by
Python threads that call them on separate tiles. ``prange`` is not used at all, so Numba starts no thread
pool of its own: its ``workqueue`` layer aborts a process in which two threads enter it, its OpenMP layer
does not survive a fork, and either would compete with our threads for the same cores.

A compiled function and the compiled functions it calls live in one file, because the cache on disk does
not notice a change in another file.

This module imports Numba; ``import mercer`` must not import this module.
"""

import functools
import os
import stat
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, cast, overload

import numba
import numba.core.config

__all__ = ["compiled", "generation"]

config: Any = numba.core.config  # its settings are attributes made at run time

generation = 0
"""How many forks are between this process and the one that first imported mercer.

Threads do not survive a fork. Code that keeps a pool remembers the generation it was made in and makes a new
one when the number differs. Read it as an attribute of this module, so that the present value is seen.
"""


def _enter_child() -> None:
    global generation
    generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_enter_child)


def _is_private(folder: Path) -> bool:
    """Return whether nobody but this user (or root) can plant a file in an existing folder."""
    if os.name != "posix":
        return True
    status = folder.stat()
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return not shared and status.st_uid in (os.getuid(), 0)


def _is_safe_cache(folder: Path) -> bool:
    """Return whether the cache beside the source is writable by us and by nobody else."""
    inner = folder / "__pycache__"
    try:
        places = [folder, inner] if inner.exists() else [folder]
        return all(os.access(place, os.W_OK) and _is_private(place) for place in places)
    except OSError:
        return False


def _user_cache() -> Path | None:
    """Return the user's own cache folder (mode 0700), or None where no safe one can be made."""
    if os.name == "posix":
        base = os.environ.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else "~/.cache"
    else:
        base = os.environ.get("LOCALAPPDATA") or "~"
    try:
        folder = Path(base).expanduser() / "mercer" / "numba"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.name == "posix":
            folder.chmod(0o700)
        safe = os.access(folder, os.W_OK) and _is_private(folder)
    except (OSError, RuntimeError):  # RuntimeError: no home folder is known
        return None
    return folder if safe else None


@functools.cache
def _cache_folder(source: str) -> str | None:
    """Choose where code compiled from a source folder is cached.

    The cache holds pickles, so whoever can write into it can run code as us. Returns "" for Numba's own
    choice (beside the source, or where the user's NUMBA_CACHE_DIR says), a path for the per-user folder, None
    for no cache.
    """
    if config.CACHE_DIR or _is_safe_cache(Path(source)):
        return ""
    folder = _user_cache()
    return None if folder is None else str(folder)


def _compile(function: Callable[..., Any], fastmath: bool | set[str], inline: bool = False) -> Any:
    file = os.path.abspath(function.__code__.co_filename)
    # What was typed at a prompt has no file and is recompiled in every process.
    folder = _cache_folder(os.path.dirname(file)) if os.path.isfile(file) else None
    decorate: Any = cast(Any, numba.njit)(  # its type stubs lack some options
        cache=folder is not None,
        nogil=True,
        error_model="numpy",
        fastmath=fastmath,
        inline="always" if inline else "never",
        no_cfunc_wrapper=True,  # no caller needs the address of a loop, and the wrapper takes time to compile
    )
    # Numba settles the place of the cache while it decorates, so the setting is ours for this moment only and
    # the caches of other packages in the process stay where they are.
    before = config.CACHE_DIR
    config.CACHE_DIR = folder or before
    try:
        return decorate(function)
    finally:
        config.CACHE_DIR = before


@overload
def compiled(function: Callable[..., Any], /) -> Any: ...
@overload
def compiled(*, fastmath: Collection[str] = (), inline: bool = False) -> Callable[[Callable[..., Any]], Any]: ...
def compiled(
    function: Callable[..., Any] | None = None, /, *, fastmath: Collection[str] = (), inline: bool = False
) -> Any:
    """Compile a function of arrays and numbers: cached on disk, without the interpreter lock, IEEE division.

    Parameters
    ----------
    function : callable
        The function, when used as a plain ``@compiled``.
    fastmath : collection of str, default ()
        LLVM flags that the function may use; of all flags only "contract" (form fused multiply-adds) and
        "reassoc" (reorder sums) are allowed, each with a comment that says why it is harmless there.
    inline : bool, default False
        Whether the function becomes part of those that call it: for a few lines that are called in few places, since a
        function of its own takes Numba a tenth of a second. It has the flags of its callers.

    Notes
    -----
    Compilation happens at the first call with given types, never at import. ``function.py_func`` is the
    Python original.

    Examples
    --------
    >>> @compiled
    ... def _halve(x):
    ...     return x / 2.0
    >>> _halve(3.0)
    1.5
    """
    flags = set(fastmath)
    if not flags <= {"contract", "reassoc"}:
        raise ValueError(
            f"fastmath={sorted(flags)} was given; only 'contract' and 'reassoc' are accepted, since the "
            "others assume away NaN, infinities or signs. Leave the other flags out."
        )
    if function is not None:
        return _compile(function, flags or False)
    return lambda target: _compile(target, flags or False, inline)

"""Ctrl-C in the middle of numerical work.

Python answers a signal in the main thread, and only between two of its own instructions: a factorisation of
half a minute called there is deaf for half a minute. Here it runs in a helper thread on which the main thread
waits. That helps only if the call gives up the interpreter's lock, which SciPy's ``scipy.linalg.lapack`` does
not do; the same routines, reached through the addresses that SciPy publishes for Cython, do.

A signal may also arrive while a compiled function hands over its result, in a few lines of Python of Numba that do
not expect it: what comes out is a SystemError that hides the KeyboardInterrupt.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import importlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

__all__ = ["raising_interrupts", "in_background", "lapack"]

Result = TypeVar("Result")

_MODULES: list[Any] = [importlib.import_module(f"scipy.linalg.cython_{name}") for name in ("lapack", "blas")]

WORTH_A_THREAD = 2e9  # floating-point operations: some 50 ms, unnoticed after Ctrl-C
_KINDS = (("char", ctypes.c_char), ("int", ctypes.c_int), ("_s", ctypes.c_float), ("_d", ctypes.c_double))
_STEP = 0.05  # seconds; where a wait cannot be interrupted, as on Windows, signals are seen at this pace


@contextmanager
def raising_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt where the code inside hid one behind a SystemError.

    Examples
    --------
    >>> try:
    ...     with raising_interrupts():
    ...         raise SystemError("a result with an exception set") from KeyboardInterrupt()
    ... except KeyboardInterrupt:
    ...     print("stopped")
    stopped
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            cause = cause.__cause__
        raise


def in_background(
    function: Callable[..., Result], *args: Any, work: float = math.inf, deadline: float | None = None
) -> Result:
    """Call a function so that the main thread answers Ctrl-C while it runs.

    Parameters
    ----------
    function : callable
        It must give up the interpreter's lock while it computes, as NumPy's functions and `lapack` do.
    *args
        Its arguments.
    work : float, default inf
        About how many floating-point operations it does; a short call is made directly.
    deadline : float, optional
        Moment of ``time.monotonic()`` after which to give up with TimeoutError.

    Returns
    -------
    result : object
        What the function returns; what it raises is raised here.

    Notes
    -----
    After KeyboardInterrupt or TimeoutError the abandoned call continues in the background until it ends by
    itself, with the memory and the processor time it needs, and its result is dropped. Whatever array it
    writes to must therefore not be used again. Outside the main thread, where no signal arrives, a call
    without a deadline is made directly.

    Examples
    --------
    >>> in_background(sum, [1, 2, 3])
    6
    """
    if work < WORTH_A_THREAD:
        return function(*args)
    if deadline is None and threading.current_thread() is not threading.main_thread():
        return function(*args)
    outcome: list[Result] = []
    failure: list[BaseException] = []
    done = threading.Event()
    context = contextvars.copy_context()  # NumPy keeps its error state there

    def run() -> None:
        try:
            outcome.append(context.run(function, *args))
        except BaseException as error:  # raised again below, in the thread that asked
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True, name="mercer-background").start()
    while not done.wait(_STEP):
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError(f"{getattr(function, '__name__', 'a call')} did not end before its deadline")
    if failure:
        try:
            raise failure[0]
        finally:
            failure.clear()  # the traceback holds this frame: without the cycle it is freed at once
    return outcome[0]


@functools.cache
def lapack(name: str) -> Callable[..., None]:
    """Routine of LAPACK or BLAS by its Fortran name, which gives up the interpreter's lock.

    Parameters
    ----------
    name : str
        Such as ``"dpotrf"``.

    Returns
    -------
    routine : callable
        It takes the Fortran arguments in their order: one-letter text, int, float, and arrays (of float64,
        float32 or C int, matrices by columns) that are read and written in place. An array may be a view into
        a larger one, its leading dimension giving the distance between columns. It returns nothing.

    Examples
    --------
    >>> A, info = np.array([[4.0, 2.0], [2.0, 5.0]]), np.zeros(1, np.intc)
    >>> lapack("dpotrf")("L", 2, A, 2, info)  # Fortran's lower triangle is the upper one of C
    >>> np.triu(A)
    array([[2., 1.],
           [0., 2.]])
    """
    capsule = next((found for module in _MODULES if (found := module.__pyx_capi__.get(name))), None)
    if capsule is None:
        raise KeyError(f"neither LAPACK nor BLAS has a routine {name!r}")
    signature = _capsule_name(capsule)
    kinds = [_kind_of(argument) for argument in signature.decode().split("(", 1)[1].rstrip(")").split(",")]
    address = _capsule_pointer(capsule, signature)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))(address)

    def routine(*args: Any) -> None:
        if len(args) != len(kinds):
            raise TypeError(f"{name} takes {len(kinds)} arguments, {len(args)} were given")
        held = [_argument(value, kind) for value, kind in zip(args, kinds, strict=True)]
        function(*[pointer for pointer, _ in held])

    routine.__name__ = name
    return routine


def _kind_of(declaration: str) -> type:
    """Type of C that a declaration such as ``__pyx_t_5scipy_6linalg_13cython_lapack_d *`` points to."""
    base = declaration.replace("*", "").strip()
    for ending, kind in _KINDS:
        if base.endswith(ending):
            return kind
    raise TypeError(f"an argument of type {base!r} is not among those that can be passed: char, int, float, double")


def _argument(value: Any, kind: type) -> tuple[int, Any]:
    """Address of a value, and what has to live as long as the address is used."""
    if isinstance(value, np.ndarray):
        if value.dtype != np.dtype(kind):
            raise TypeError(f"an array of {value.dtype} was given where {np.dtype(kind)} is expected")
        return value.ctypes.data, value
    cell = kind(value.encode()) if kind is ctypes.c_char else kind(value)
    return ctypes.addressof(cell), cell


def _capsule_name(capsule: Any) -> bytes:
    function = ctypes.pythonapi.PyCapsule_GetName
    function.restype, function.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return function(capsule)


def _capsule_pointer(capsule: Any, name: bytes) -> int:
    function = ctypes.pythonapi.PyCapsule_GetPointer
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return function(capsule, name)

"""A hint to the processor, inside compiled code, that a row of an array will soon be read."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.extending import overload as compiled_overload

__all__ = ["fetch_row"]

# llvmlite's intermediate representation, as Numba imports it.
ir: Any = cgutils.ir  # pyright: ignore[reportPrivateImportUsage]


def fetch_row(X: Any, i: Any) -> None:
    """Prefetch the first cache line of row i, an unsigned number, of an (n, c) array; does nothing in Python.

    Rows of a table that are read in random order come from memory one by one, and a loop waits for each. Requested some
    dozens of rows ahead, they arrive in time. The hint changes no value, and a wrong one does no harm.

    Examples
    --------
    >>> fetch_row([[1.0]], 0)
    """


@intrinsic
def _prefetch(_context, X, i):
    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        word, byte, flag = ir.IntType(64), ir.IntType(8).as_pointer(), ir.IntType(32)
        row = builder.mul(builder.extract_value(array.strides, 0), builder.zext(arguments[1], word))
        place = builder.inttoptr(builder.add(builder.ptrtoint(array.data, word), row), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(hint, [place, flag(0), flag(3), flag(1)])  # to read, into all levels, of data
        return context.get_dummy_value()

    return types.void(X, i), generate


@compiled_overload(fetch_row)
def _compile_fetch_row(X, i):
    return lambda X, i: _prefetch(X, i)  # pyright: ignore[reportCallIssue]

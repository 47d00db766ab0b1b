"""Ask for a row of an array before it is read, so that a loop does not wait for memory."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_LINE = 64


@intrinsic
def prefetch_row(typing: Any, rows: Any, row: Any) -> Any:
    """Do what :func:`lookalike.core._fast.loop.prefetch` says."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch", (byte,), ir.FunctionType(ir.VoidType(), [byte, *[number] * 3])
        )
        # To be read, kept in all caches, and data rather than instructions.
        how = [ir.Constant(number, value) for value in (0, 3, 1)]
        step, _ = cgutils.unpack_tuple(builder, array.strides)
        width = cgutils.unpack_tuple(builder, array.shape)[1]
        begin = builder.gep(builder.bitcast(array.data, byte), [builder.mul(arguments[1], step)])
        end = builder.mul(width, array.itemsize)
        line = ir.Constant(end.type, _LINE)
        with cgutils.for_range_slice(builder, ir.Constant(end.type, 0), end, line) as (place, _):
            builder.call(fetch, [builder.gep(begin, [place]), *how])
        return context.get_dummy_value()

    return types.void(rows, types.intp), generate

"""Which of 32 codes may be near: sums of byte tables, looked up 32 at a time by AVX2."""

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from lookalike.core._fast import LOOP, U8

LANES = 32
"""The codes of a block, which are judged together."""

_LANE_BYTES = ir.VectorType(ir.IntType(8), LANES)


def has_shuffle() -> bool:
    """Return whether compiled loops may use AVX2's byte shuffle on this machine."""
    if config.CPU_NAME or config.CPU_FEATURES:
        return False
    try:
        return bool(binding.get_host_cpu_features().get("avx2", False))
    except RuntimeError:
        return False


@intrinsic
def _shuffled_lanes(
    typing: Any, blocks: Any, number: Any, tables: Any, columns: Any, most: Any
) -> Any:
    """Look both halves of each byte up in its table and add, saturating at 255."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block_array, number, table_array, count, limit = arguments
        pointer = _LANE_BYTES.as_pointer()
        all_blocks = builder.bitcast(
            context.make_array(signature.args[0])(context, builder, block_array).data, pointer
        )
        data = builder.gep(all_blocks, [builder.mul(number, count)])
        table = builder.bitcast(
            context.make_array(signature.args[2])(context, builder, table_array).data, pointer
        )
        byte = ir.IntType(8)
        shuffle = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(_LANE_BYTES, [_LANE_BYTES, _LANE_BYTES]),
            "llvm.x86.avx2.pshuf.b",
        )
        add = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(_LANE_BYTES, [_LANE_BYTES, _LANE_BYTES]),
            "llvm.uadd.sat.v32i8",
        )
        low = ir.Constant(_LANE_BYTES, [ir.Constant(byte, 15)] * LANES)
        four = ir.Constant(_LANE_BYTES, [ir.Constant(byte, 4)] * LANES)
        total = cgutils.alloca_once(builder, _LANE_BYTES)
        builder.store(ir.Constant(_LANE_BYTES, [ir.Constant(byte, 0)] * LANES), total)
        with cgutils.for_range(builder, count) as loop:
            codes = builder.load(builder.gep(data, [loop.index]), align=1)
            twice = builder.shl(loop.index, ir.Constant(loop.index.type, 1))
            after = builder.add(twice, ir.Constant(loop.index.type, 1))
            for place, half in (
                (twice, builder.and_(codes, low)),
                (after, builder.lshr(codes, four)),
            ):
                entries = builder.load(builder.gep(table, [place]), align=1)
                result = builder.call(shuffle, [entries, half])
                builder.store(builder.call(add, [builder.load(total), result]), total)
        spread = builder.insert_element(ir.Constant(_LANE_BYTES, ir.Undefined), limit, _zero())
        limits = builder.shuffle_vector(
            spread,
            ir.Constant(_LANE_BYTES, ir.Undefined),
            ir.Constant(ir.VectorType(ir.IntType(32), LANES), [_zero()] * LANES),
        )
        near = builder.icmp_unsigned("<=", builder.load(total), limits)
        return builder.bitcast(near, ir.IntType(32))

    return types.uint32(blocks, types.intp, tables, types.intp, types.uint8), generate


def _zero() -> Any:
    return ir.Constant(ir.IntType(32), 0)


@njit(**LOOP)
def shuffled_lanes(blocks: U8, number: int, tables: U8, columns: int, most: np.uint8) -> np.uint32:
    """Return :func:`plain_lanes` by AVX2: one instruction looks up 32 bytes."""
    return _shuffled_lanes(blocks, number, tables, columns, most)


@njit(**LOOP)
def plain_lanes(blocks: U8, number: int, tables: U8, columns: int, most: np.uint8) -> np.uint32:
    """Return a bit for each code of a block whose sum of table entries is at most ``most``.

    Sums stop at 255. A block has a row of 32 bytes for each byte of a code; ``tables`` two rows
    for each byte, for its lower and its upper half, of 16 entries, given twice.
    """
    near = np.uint32(0)
    for lane in range(LANES):
        total = np.uint32(0)
        for column in range(columns):
            byte = blocks[number, column, lane]
            total += tables[2 * column, byte & 15]
            total += tables[2 * column + 1, byte >> 4]
        if min(total, np.uint32(255)) <= most:
            near |= np.uint32(1) << np.uint32(lane)
    return near


near_lanes = shuffled_lanes if has_shuffle() else plain_lanes
"""The faster of the two that this machine has."""

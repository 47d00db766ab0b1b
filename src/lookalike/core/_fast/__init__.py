"""Compiled loops shared by several stages: random numbers, ranking; and how loops are compiled."""

from lookalike.core._fast.loop import (
    F32,
    F64,
    I32,
    I64,
    LOOP,
    SOON,
    U8,
    U32,
    U64,
    njit,
    prefetch,
    uint64,
)

__all__ = [
    "F32",
    "F64",
    "I32",
    "I64",
    "LOOP",
    "SOON",
    "U8",
    "U32",
    "U64",
    "njit",
    "prefetch",
    "uint64",
]

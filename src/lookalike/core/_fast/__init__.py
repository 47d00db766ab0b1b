"""Compiled loops shared by several stages: random numbers, ranking; and how loops are compiled."""

from lookalike.core._fast.loop import LOOP, njit, uint64

__all__ = ["LOOP", "njit", "uint64"]

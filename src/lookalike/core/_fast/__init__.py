"""Compiled loops shared by several stages: random numbers, ranking."""

LOOP = {"nogil": True, "cache": True, "error_model": "numpy"}
"""The options with which every loop is compiled."""

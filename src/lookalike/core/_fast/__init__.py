"""Compiled loops shared by several stages: random numbers, ranking."""

LOOP = {"nogil": True, "cache": True, "error_model": "numpy"}
"""How every compiled loop of the project is compiled."""

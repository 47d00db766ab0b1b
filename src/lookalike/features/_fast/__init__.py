"""Compiled loops that describe pictures."""

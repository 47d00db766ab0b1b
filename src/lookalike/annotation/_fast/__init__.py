"""Compiled loops of the annotators."""

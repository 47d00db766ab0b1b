"""Compiled loops of the similarity learners."""

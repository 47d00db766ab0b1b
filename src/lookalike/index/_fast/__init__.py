"""Compiled loops of the index: keeping the best, exact scores, inverted lists."""

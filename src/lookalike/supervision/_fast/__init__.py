"""Compiled loops of the supervision stage: drawing triplets."""

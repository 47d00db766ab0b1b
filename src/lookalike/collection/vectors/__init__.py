"""Vectors: pictures and queries come in, as ids and tokens; their vectors in one space go out."""

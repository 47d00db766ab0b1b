"""Nouns: what the face of a collection offers beside its verbs, a class for each subject."""

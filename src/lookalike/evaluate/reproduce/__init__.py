"""Reproduce a paper's experiments: pictures come in, its tables and figures go out."""

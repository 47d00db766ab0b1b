"""Serve: commands and requests come in; tables, JSON and pages with the results go out."""

__all__: list[str] = []

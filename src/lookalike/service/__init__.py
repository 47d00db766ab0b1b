"""Serve: commands come in; tables, JSON and contact sheets of what the stages did go out."""

__all__: list[str] = []

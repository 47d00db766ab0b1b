"""Long-running work of the server: imports, learning, watching folders."""

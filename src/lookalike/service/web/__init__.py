"""The web page and the HTTP API of one collection."""

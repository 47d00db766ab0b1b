"""The web page and the HTTP API over one collection."""

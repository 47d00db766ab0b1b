"""The JSON API: requests come in; answers of the collection go out, as JSON."""

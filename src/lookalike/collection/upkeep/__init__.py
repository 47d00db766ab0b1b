"""Look after a collection: check all of it, back it up, and restore a backup."""

"""Who may send requests, from where, how much, and which files may be read."""

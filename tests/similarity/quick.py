"""What makes every similarity quick to check."""

QUICK = {
    "oasis": {"steps": 300, "blend": 0.5, "random_state": 5},
    "hamming": {"bits": 12, "random_state": 5},
    "itml": {"pairs": 2000, "random_state": 5},
    "kitml": {"pairs": 2000, "dimension": 8, "random_state": 5},
    "lego": {"steps": 2000, "random_state": 5},
    "lmnn": {"max_iterations": 15},
    "mcml": {"max_iterations": 15},
    "mmc": {"max_iterations": 15},
    "nca": {"dimension": 16, "max_iterations": 15},
    "oks": {"steps": 500, "random_state": 5},
    "omks": {"steps": 500, "random_state": 5},
    "rca": {"dimension": 20},
    "sparse": {"iterations": 15, "random_state": 5},
}
"""Settings that make a similarity quick, or repeatable; the others are as they come."""

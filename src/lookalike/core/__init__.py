"""Share the ground every stage stands on: errors, seeds, progress, settings, arrays on disk."""

"""What all stages share: errors, checks, seeds, progress, settings, registries, stored arrays."""

"""One file per command. Heavy imports wait until a command runs, so that help appears at once."""

"""The compiled loop of votes: what those near a query add up to."""

"""Learn from votes: each is recorded, and what all of them teach turns the next query."""

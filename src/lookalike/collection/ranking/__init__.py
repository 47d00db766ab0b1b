"""Rank: a query's vector comes in, ranked pictures go out; each way to do so is a ranker."""

"""Decode untrusted pictures in processes that can harm nothing."""

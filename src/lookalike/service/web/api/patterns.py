"""Patterns that values of requests must match, and what they mean in words."""

REF = "^([0-9]{1,18}|u[0-9a-f]{32})$"
DATE = r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?)?)?)?$"
PATTERNS = {
    REF: "a picture's id, or the token of a stored query",
    DATE: "a time such as 2024, 2024-05, 2024-05-31 or 2024-05-31T18:00",
}
"""What a value must be that matches a pattern, in words."""

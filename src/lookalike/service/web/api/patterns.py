"""Patterns that values of requests must match, and what they mean in words."""

REF = "^([0-9]{1,18}|u[0-9a-f]{32})$"
DATE = r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?)?)?)?$"
NEAR = r"^-?[0-9]{1,2}(\.[0-9]{1,12})?,-?[0-9]{1,3}(\.[0-9]{1,12})?(,[0-9]{1,6}(\.[0-9]{1,12})?)?$"
PATTERNS = {
    REF: "a picture's id, or the token of a stored query",
    DATE: "a time such as 2024, 2024-05, 2024-05-31 or 2024-05-31T18:00",
    NEAR: "latitude and longitude in degrees, and perhaps kilometres, such as 48.2,16.4,5",
}
"""What a value must be that matches a pattern, in words."""

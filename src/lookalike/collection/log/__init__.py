"""Log: what people say comes in as typed events; each is recorded once, and can be undone."""

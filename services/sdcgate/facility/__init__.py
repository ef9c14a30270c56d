"""facility."""

"""sdcgate_client."""

"""sdcgate."""

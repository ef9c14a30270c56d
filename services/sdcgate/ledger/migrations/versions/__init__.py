"""One file a migration, numbered; none is changed after it was released."""

"""The decision log: what the ledger records, told to others as it comes, by nobody who answers queries."""

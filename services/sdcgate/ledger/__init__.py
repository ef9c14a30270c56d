"""Who asked what, what left: an append-only, signed record, and everything that is read from it.

`ledger.py` appends and reads, `verification.py` checks every row against the signed events.
"""

"""How often a long test tries, where it is not the number that it has by itself: FAULT_TRIALS=100."""

import os


def trials(number: int) -> int:
    """So many trials, or what the environment says."""
    return int(os.environ.get("FAULT_TRIALS", number))

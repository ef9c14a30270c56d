"""How often a long test tries, and with which chances: FAULT_TRIALS=100 FAULT_SEED=7, or as it says."""

import os


def trials(number: int) -> int:
    """So many trials, or what the environment says."""
    return int(os.environ.get("FAULT_TRIALS", number))


def seed(number: int) -> int:
    """A seed that is told apart from other tests' by a number, and from other runs' by the environment."""
    return 1000 * int(os.environ.get("FAULT_SEED", "0")) + number

"""A clock that goes on when it is looked at, so that a busy machine is the same in every run."""

import pytest

from sdcgate.methods.tables import solver


class LookedAtClock:
    """In place of the solver's `time`: each look takes so many seconds."""

    def __init__(self, seconds_a_look: float) -> None:
        self._seconds = seconds_a_look
        self._looks = 0

    def monotonic(self) -> float:
        """Seconds since the first look."""
        self._looks += 1
        return self._looks * self._seconds


def seconds_a_look(patch: pytest.MonkeyPatch, seconds: float) -> None:
    """From now on all deadlines of solvers are over after so many looks at them."""
    patch.setattr(solver, "time", LookedAtClock(seconds))

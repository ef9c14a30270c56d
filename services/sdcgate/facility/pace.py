"""The time of a request: how much of it is left, and when its answer may be seen.

An answer for which microdata were read is seen at a whole number of the policy's steps after the request
arrived, whatever it is: a release, a refusal, a referral, an error. It never comes between two steps, also
where the caller's deadline lies there: otherwise deadlines would measure what steps hide.
"""

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sdcgate.facility.errors import TimeOver, Unavailable

CLOSE = 1e-6
"""Seconds by which an answer may be late and still count as ready in its step."""
NEVER = math.inf


def still_time(left: Callable[[], float]) -> Callable[[], None]:
    """What raises TimeOver once no seconds are left: work for nobody would be in the way of the others."""

    def check() -> None:
        if left() <= 0:
            raise TimeOver()

    return check


class Pace:
    """The time of one request. Moments are seconds of `clock`.

    Args:
        seconds: How long the answer may take from now on.
        arrived: When the request arrived; now where it is not given.
        clock: Goes forward only.
        gone: Whether nobody waits for the answer any more.
    """

    def __init__(
        self,
        seconds: float,
        arrived: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        gone: Callable[[], bool] = lambda: False,
    ) -> None:
        now = clock()
        self._clock = clock
        self._gone = gone
        self._arrived = now if arrived is None else arrived
        self._end = now + seconds
        self._step = 0.0

    def left(self) -> float:
        """Seconds that are left for deciding; negative when they are over, none where nobody waits."""
        left = self._end - self._clock()
        return min(left, 0.0) if self._gone() else left

    def data_are_read(self, step_ms: int) -> None:
        """From now on time would tell something: the answer keeps to steps of `step_ms`, 0 for none.

        Raises:
            Unavailable: the time ends before the first step does.
        """
        step = step_ms / 1000.0
        if step and self._arrived + step > self._end:
            raise Unavailable(f"Answers come after {step:g} seconds; give more time and try again.")
        self._step = step

    def repeats(self, decided: datetime, step_ms: int) -> None:
        """An earlier answer is given: at once, unless it has not been seen by anybody yet."""
        if decided > datetime.now(UTC):
            self.data_are_read(step_ms)

    def visible(self) -> float:
        """When an answer that is ready now may be seen; NEVER where no step of its time is left."""
        if not self._step:
            return self._clock()
        at = self._next_step()
        return at if at <= self._end + CLOSE else NEVER

    def moment(self) -> datetime:
        """The time of day at which a decision that is made now will be seen."""
        later = self._next_step() - self._clock() if self._step else 0.0
        return datetime.now(UTC) + timedelta(seconds=later)

    def _next_step(self) -> float:
        steps = math.ceil((self._clock() - self._arrived - CLOSE) / self._step)
        return self._arrived + max(1, steps) * self._step

"""When an answer may be seen, by a clock that stands still until it is told to go on."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.facility.errors import TimeOver, Unavailable
from sdcgate.facility.pace import NEVER, Pace, still_time
from sdcgate.facility.query_ids import moment_of, new_query_id

ARRIVED = 1000.0


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = ARRIVED

    def __call__(self) -> float:
        return self.now


def paced(step_ms: int, seconds: float = 10.0) -> tuple[Pace, Clock]:
    clock = Clock()
    pace = Pace(seconds, clock=clock)
    pace.data_are_read(step_ms)
    return pace, clock


@pytest.mark.parametrize(
    ("worked", "seen"),
    [(0.0, 0.25), (0.001, 0.25), (0.249, 0.25), (0.25, 0.25), (0.251, 0.5), (0.6, 0.75), (9.9, 10.0)],
)
def test_an_answer_is_seen_at_the_next_whole_step_after_its_request_arrived(worked, seen):
    pace, clock = paced(250)
    clock.now += worked
    assert pace.visible() == pytest.approx(ARRIVED + seen)


@given(st.integers(1, 5_000), st.floats(0, 100), st.floats(0.001, 100))
def test_however_long_it_took_only_whole_steps_are_seen_and_none_after_the_deadline(step_ms, worked, seconds):
    clock = Clock()
    pace = Pace(seconds, clock=clock)
    try:
        pace.data_are_read(step_ms)
    except Unavailable:
        assert seconds < step_ms / 1000
        return
    clock.now += worked
    at = pace.visible()
    if at == NEVER:
        last = int((seconds + 1e-7) * 1000 / step_ms) * step_ms / 1000
        assert worked > last - 1e-3
    else:
        steps = (at - ARRIVED) * 1000 / step_ms
        assert steps == pytest.approx(round(steps), abs=1e-3)
        assert steps > 0.5
        assert worked - 1e-3 <= at - ARRIVED <= seconds + 1e-3


def test_a_deadline_between_two_steps_tells_no_more_than_the_step_before_it():
    # Otherwise callers would find out by their deadlines what the steps hide.
    for worked, seen in ((0.29, 0.3), (0.31, NEVER), (0.349, NEVER), (0.36, NEVER)):
        pace, clock = paced(100, seconds=0.35)
        clock.now += worked
        assert pace.visible() == (NEVER if seen == NEVER else pytest.approx(ARRIVED + seen))


def test_without_steps_or_without_data_an_answer_is_seen_at_once():
    pace, clock = paced(0)
    clock.now += 0.123
    assert pace.visible() == clock.now
    pace = Pace(10.0, clock=clock)
    clock.now += 0.01
    assert pace.visible() == clock.now


def test_waiting_for_a_thread_counts_from_the_arrival():
    clock = Clock()
    clock.now += 0.2
    pace = Pace(10.0, arrived=ARRIVED, clock=clock)
    pace.data_are_read(250)
    clock.now += 0.1
    assert pace.visible() == pytest.approx(ARRIVED + 0.5)


def test_a_deadline_before_the_first_step_is_told_before_any_data_are_read():
    pace = Pace(0.2, clock=Clock())
    with pytest.raises(Unavailable, match=r"after 0\.25 seconds; give more time"):
        pace.data_are_read(250)


def test_an_earlier_answer_comes_at_once_but_keeps_to_steps_while_nobody_has_seen_it():
    clock = Clock()
    pace = Pace(10.0, clock=clock)
    pace.repeats(datetime.now(UTC) - timedelta(milliseconds=1), 250)
    assert pace.visible() == clock.now
    pace.repeats(datetime.now(UTC) + timedelta(seconds=5), 250)
    assert pace.visible() == pytest.approx(ARRIVED + 0.25)


def test_a_decision_is_dated_when_it_is_seen_and_so_is_its_id():
    pace, clock = paced(60_000, seconds=600.0)
    clock.now += 7.0
    moment = pace.moment()
    assert moment - datetime.now(UTC) == pytest.approx(timedelta(seconds=53), abs=timedelta(seconds=5))
    assert moment - moment_of(new_query_id(moment)) < timedelta(milliseconds=1)
    pace, _ = paced(0)
    assert abs(pace.moment() - datetime.now(UTC)) < timedelta(seconds=5)


def test_for_nobody_no_time_is_left():
    gone = []
    pace = Pace(10.0, clock=Clock(), gone=lambda: bool(gone))
    assert pace.left() == 10.0
    gone.append("away")
    assert pace.left() == 0.0
    with pytest.raises(TimeOver):
        still_time(pace.left)()

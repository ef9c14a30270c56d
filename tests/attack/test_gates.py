"""What ends `make attack` with 1, and a stopwatch that measures what it says."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attack import gates, results
from attack.hearing import Answer
from attack.timing import FEWEST_TRIALS, LARGEST_AUC, LEAKS, Stopwatch, orders, stopwatch

GIVEN = Answer("RELEASED", 201, shown=True)


def watched(without: Any, with_one: Any, answers: tuple[Answer, ...] = (GIVEN,)) -> Stopwatch:
    return Stopwatch(np.asarray(without, dtype=float), np.asarray(with_one, dtype=float), answers)


class Warming:
    """Two files of one house, which is twice as slow with the first question of each trial."""

    def __init__(self, slower: float = 0.0) -> None:
        self.asked, self.slower = 0, slower

    def pair(self, trial: int) -> tuple[Any, Any]:
        return SimpleNamespace(ask=self.ask), SimpleNamespace(ask=lambda **q: self.ask(self.slower, **q))

    def ask(self, more: float = 0.0, **question: Any) -> Any:
        self.asked += 1
        return SimpleNamespace(seconds=1.0 + self.asked % 2 + more, answer=GIVEN)


@pytest.mark.parametrize("trials", [30, 100, 2000])
def test_each_file_is_asked_first_in_half_of_the_trials(trials: int) -> None:
    for seed in (11, 12):
        assert sum(orders(trials, seed)) == trials // 2
    assert orders(trials, 11) != orders(trials, 12)


def test_who_is_asked_first_does_not_make_a_file_slow() -> None:
    found = stopwatch(Warming().pair, 100)
    assert found.area() == found.paired_area() == 0.5


def test_a_file_that_takes_longer_is_found_out_by_pairs() -> None:
    # Asked second it is quicker than the other asked first: that is a coin's toss, the rest is not.
    found = stopwatch(Warming(slower=1.5).pair, 400)
    assert found.paired_area() == 1.0
    assert found.succeeds


def test_the_area_counts_in_both_directions() -> None:
    quick, slow = np.linspace(1, 2, 500), np.linspace(1.2, 2.2, 500)
    one, other = watched(quick, slow), watched(slow, quick)
    assert one.area() == pytest.approx(other.area())
    assert one.area() > LARGEST_AUC
    assert one.succeeds
    assert other.succeeds


def test_answers_that_take_the_same_are_half_right() -> None:
    same = watched(np.ones(500), np.ones(500))
    assert same.area() == same.paired_area() == 0.5
    assert not same.succeeds


def test_the_least_leak_is_what_the_stopwatch_would_find() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0.1, 0.01, (2, 1000))
    found = watched(*noise)
    least = found.least_leak
    assert least is not None
    assert LEAKS[1] <= least <= LEAKS[3]
    assert max(found.area(least), found.paired_area(least)) > LARGEST_AUC
    assert watched(*rng.normal(10.0, 9.0, (2, 1000))).least_leak is None


def test_times_of_errors_say_nothing() -> None:
    times = np.ones(FEWEST_TRIALS)
    broken, empty = Answer("ERROR", 503, shown=False), Answer("REFUSED", 201, shown=False)
    assert "1 of 2 answers are errors, the first 503" in watched(times, times, (GIVEN, broken)).invalid
    assert "only 0 of 3 answers" in watched(times, times, (empty,) * 3).invalid
    assert "only 1 of 21 answers" in watched(times, times, (GIVEN, *(empty,) * 20)).invalid
    assert watched(times, times, (GIVEN, *(empty,) * 19)).invalid == ""
    assert "fewer than" in watched(times[1:], times[1:]).invalid


def test_at_the_fewest_trials_chance_is_beyond_the_largest_area_one_time_in_twenty_at_most() -> None:
    times = np.random.default_rng(2).normal(1.0, 0.1, (100, 2, FEWEST_TRIALS))
    areas = [watched(*one) for one in times]
    assert np.mean([one.area() > LARGEST_AUC for one in areas]) <= 0.05
    assert np.mean([one.paired_area() > LARGEST_AUC for one in areas]) <= 0.08


CLOSED_ROW = {"attack": "a", "sdcgate": False, "open": "", "careless": True, "invalid": ""}
SLOW = {"area": 0.5, "paired_area": 0.5, "succeeds": False, "invalid": ""}
TIMES = {"careless": {"area": 0.7, "paired_area": 0.99}, "at once": SLOW, "in steps of 50 ms": SLOW}
TOLD_APART = {"succeeds": True, "area": 0.56}
STREAM = {
    "requests": 1000,
    "verdicts": {"RELEASED": 600, "REFUSED": 400},
    "not_answered_as_asked": 400,
    "of_these_audited": 300,
    "estimated_false_share_of_requests": 0.01,
}
GOOD: dict[str, Any] = {"attacks": [CLOSED_ROW], "waiting_times": TIMES, "ordinary_stream": STREAM}


def test_a_run_as_it_should_be_has_no_failures() -> None:
    assert gates.failures(GOOD) == []
    assert gates.failures({"attacks": [CLOSED_ROW]}) == []


def test_answers_that_leave_at_once_may_be_told_apart_by_a_stopwatch() -> None:
    """What they take depends on what is withheld; steps of time are what hides it."""
    at_once = dict.fromkeys(("at once", "at once, never asked before"), SLOW | TOLD_APART)
    assert gates.failures(GOOD | {"waiting_times": TIMES | at_once}) == []


@pytest.mark.parametrize(
    ("part", "changed", "told"),
    [
        ("attacks", [CLOSED_ROW | {"sdcgate": True}], "learns something"),
        ("attacks", [CLOSED_ROW | {"open": "why"}], "is closed"),
        ("attacks", [CLOSED_ROW | {"invalid": "errors"}], "does not count"),
        ("attacks", [CLOSED_ROW | {"careless": False}], "careless"),
        ("attacks", [CLOSED_ROW | {"closed_by": "x", "when_closed": True}], "under x"),
        ("waiting_times", TIMES | {"in steps of 50 ms": SLOW | TOLD_APART}, "AUC 0.56"),
        ("waiting_times", TIMES | {"at once": SLOW | {"invalid": "errors"}}, "does not count"),
        ("waiting_times", TIMES | {"careless": {"area": 0.54, "paired_area": 0.6}}, "AUC 0.6 only"),
        ("ordinary_stream", STREAM | {"estimated_false_share_of_requests": 0.05}, "0.05 of the requests"),
        ("ordinary_stream", STREAM | {"verdicts": {"ERROR": 7}}, "7 of 1000 requests ended in an error"),
        ("ordinary_stream", STREAM | {"of_these_audited": 0}, "only 0 of the held"),
        ("ordinary_stream", STREAM | {"requests": 0}, "nothing was asked"),
    ],
)
def test_what_is_not_as_expected_fails_the_run(part: str, changed: Any, told: str) -> None:
    (failure,) = gates.failures(GOOD | {part: changed})
    assert told in failure


def test_ways_of_waiting_that_were_not_measured_again_stay_as_they_were(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FILE", tmp_path / "results.json")
    monkeypatch.setattr(results, "PAGE", tmp_path / "attacks.md")
    results.PAGE.write_text("| attack | requests |\n\n", encoding="utf-8")
    for way, trials in (("at once", 2000), ("in steps", 400), ("at once", 800)):
        results.store({"attacks": [], "waiting_times": {way: {"trials": trials}}})
    found = results.stored()["waiting_times"]
    assert {way: times["trials"] for way, times in found.items()} == {"at once": 800, "in steps": 400}

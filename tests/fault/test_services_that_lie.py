"""Risk or protection replaced by a server that lies: nothing leaves that a truthful house would hold."""

import itertools
import random

import pytest

import lying_services as lying
from lying_services import PROTECTION_LIES, RISK_LIES, SUM_LIES, Lie, replaced
from stories import DEADLINES, INCOMES, PLANS, SHORT_STORY, STORY, Told, normal_again
from trials import seed, trials

SAMPLE = {
    "protection": ["nothing to suppress, proved", "one cell fewer beside", "witnesses: the truth", "garbage"],
    "risk": ["no findings", "of another table", "figures NaN"],
}
LIES: dict[str, dict[str, Lie]] = {"protection": {**PROTECTION_LIES, **SUM_LIES}, "risk": RISK_LIES}


@pytest.mark.parametrize("service", ["risk", "protection"])
@pytest.mark.parametrize("lies", ["some", pytest.param("all", marks=pytest.mark.long)])
def test_a_service_that_lies_releases_nothing_that_is_unsafe(house, oracle, service, lies, tell):
    told = Told(house, oracle)
    process = house.supervisor.processes["facility"]
    chosen = SAMPLE[service] if lies == "some" else list(LIES[service])
    story = STORY if lies == "all" else SHORT_STORY
    with replaced(house, service) as stubs:
        normal_again(house, oracle)
        for name in chosen:
            stubs[service].lie = LIES[service][name]
            told.story(f"{service}: {name}", story)
        assert stubs[service].asked >= len(chosen)
        assert stubs[service].failures == []
    recovered = normal_again(house, oracle)
    assert house.supervisor.processes["facility"] == process
    count = len(chosen) * len(story)
    tell(f"{service} lies: {len(chosen)} lies", count, **told.told(), normal_after_s=f"{recovered:.1f}")


@pytest.mark.long
def test_both_services_lying_at_once_release_nothing_that_is_unsafe(house, oracle, tell):
    told, number = Told(house, oracle), 0
    silent = ["no findings", "no findings, no risk", "all cells but the first", "all to be protected"]
    with replaced(house, "risk", "protection") as stubs:
        for first, second in itertools.product(silent, LIES["protection"]):
            stubs["risk"].lie = RISK_LIES[first]
            stubs["protection"].lie = LIES["protection"][second]
            told.story(f"{first}; {second}", STORY[:5])
            number += 5
        assert stubs["risk"].failures == stubs["protection"].failures == []
    recovered = normal_again(house, oracle)
    tell("risk and protection lie together", number, **told.told(), normal_after_s=f"{recovered:.1f}")


@pytest.mark.long
@pytest.mark.parametrize("service", ["risk", "protection"])
def test_answers_with_some_bytes_changed_release_nothing_that_is_unsafe(house, oracle, service, tell):
    told, number = Told(house, oracle), trials(150)
    with replaced(house, service) as stubs:
        stubs[service].lie = lying.flipped(random.Random(seed(11)))
        for trial in range(number):
            told.story(f"bytes changed, {trial}", [INCOMES])
        assert stubs[service].failures == []
    normal_again(house, oracle)
    tell(f"{service}: random bytes of honest answers changed", number, **told.told())


@pytest.mark.parametrize(
    ("service", "seconds"),
    [
        ("risk", 2.3),
        pytest.param("risk", 30.0, marks=pytest.mark.long),
        pytest.param("protection", 4.3, marks=pytest.mark.long),
        pytest.param("protection", 30.0, marks=pytest.mark.long),
        # Each call is in time, all of them together are not.
        pytest.param("risk", 1.5, marks=pytest.mark.long),
        pytest.param("protection", 3.0, marks=pytest.mark.long),
    ],
)
def test_a_service_that_is_late_costs_an_error_in_time(house, oracle, service, seconds, tell):
    told = Told(house, oracle)
    with replaced(house, service) as stubs:
        stubs[service].lie = lying.late(seconds)
        told.story(f"{service} late by {seconds}", [PLANS])
    if seconds > float(DEADLINES["facility"][f"{service}_deadline_seconds"]):
        assert set(told.outcomes) <= {"503", "504"}
    recovered = normal_again(house, oracle)
    tell(f"{service} answers after {seconds:g} s", 1, **told.told(), normal_after_s=f"{recovered:.1f}")

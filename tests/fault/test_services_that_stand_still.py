"""Processes that are stopped with SIGSTOP, and a solver without time: errors in time, then normal answers."""

import random
import time

import httpx
import pytest

from after_a_storm import whole
from clients_under_load import Clients
from standing_still import standing_still
from stories import DEADLINE, FOUR_DIMENSIONS, PATIENCE, PLANS, STORY, Told, normal_again, patiently
from trials import seed, trials
from truthful_house import TruthfulHouses

LONGEST = DEADLINE + 1.0


@pytest.mark.parametrize(
    "services",
    [
        ("risk",),
        pytest.param(("protection",), marks=pytest.mark.long),
        pytest.param(("risk", "protection"), marks=pytest.mark.long),
        pytest.param(("facility",), marks=pytest.mark.long),
    ],
    ids=" and ".join,
)
def test_a_stopped_process_costs_an_error_in_time_and_nothing_once_it_goes_on(house, oracle, services, tell):
    told, processes = Told(house, oracle), dict(house.supervisor.processes)
    name = told.new_dataset()
    earlier = patiently(lambda: house.ask(name, rows=["female"]))
    with standing_still(house, *services):
        told.ask(" and ".join(services), name, [PLANS])
        if "facility" not in services:
            assert house.ask(name, rows=["female"]).content == earlier.content
            assert house.ask(name, **FOUR_DIMENSIONS).json()["verdict"] == "REFUSED"
    assert set(told.outcomes) <= {"503", "504"}
    seconds = normal_again(house, oracle)
    assert dict(house.supervisor.processes) == processes
    tell(f"SIGSTOP of {' and '.join(services)}", 1, **told.told(), normal_after_s=f"{seconds:.1f}")


@pytest.mark.long
def test_a_stopped_gateway_answers_nothing_and_then_as_before(house, oracle, tell):
    name = Told(house, oracle).new_dataset()
    with standing_still(house, "gateway"), pytest.raises(httpx.TimeoutException):
        house.http.post(f"/v1/datasets/{name}/tables", json={}, timeout=2)
    seconds = normal_again(house, oracle)
    tell("SIGSTOP of gateway", 1, no_answer=1, normal_after_s=f"{seconds:.1f}")


@pytest.mark.long
def test_processes_stopped_at_random_under_load_lose_no_answer_and_make_none_up(
    house, oracle, tmp_path, tell
):
    number, rng = trials(40), random.Random(seed(5))
    with Clients(house, seed(5)) as clients:
        for _ in range(number):
            clients.wait_for_answers(1)
            with standing_still(house, rng.choice(("risk", "protection", "facility", "gateway"))):
                time.sleep(rng.choice((0.1, 1.0, LONGEST)))
        seconds = clients.wait_for_answers(3)
        house.supervisor._check_alive()
    truthful = TruthfulHouses(tmp_path / "truth")
    checked = whole(house, clients, truthful)
    truthful.engine.close()
    slowest = max(asked.ended - asked.began for asked in clients.asked)
    assert slowest < DEADLINE + LONGEST + PATIENCE
    checked |= {"slowest s": round(slowest, 1), "normal after s": round(seconds, 1)}
    tell("SIGSTOP at random under load", number, **checked)


@pytest.mark.long
def test_a_solver_at_its_time_limit_releases_nothing_that_is_unsafe(house, oracle, tell):
    told = Told(house, oracle)
    for _ in range(trials(10)):
        told.ask("no time", told.new_dataset(policy="hasty"), STORY)
    tell("solver at its time limit (10 ms)", trials(10) * len(STORY), **told.told())

"""Clocks of the day that jump, of one service or of all, under load: nothing is lost or let in."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from after_a_storm import whole
from clients_under_load import Clients
from jumping_clocks import jumping_clocks
from sdcgate.cli.supervisor import SERVICES
from served_house import ServedHouse
from trials import seed, trials
from truthful_house import TruthfulHouses

HOUR, DAY = 3600, 86400
JUMPS = (HOUR, -HOUR, 20 * HOUR, -30 * DAY, -3650 * DAY, 1, -1)
"""Seconds; keys of the tests are good for a day."""
WHOSE = (("facility",), ("facility",), ("risk",), ("protection",), ("gateway",), SERVICES)
MANY = 60


def clock_of(house: ServedHouse) -> datetime:
    """What the facility takes for now: the last event's own moment."""
    with house.ledger() as ledger:
        summary = ledger.queries(None, (), 1)[0]
    return summary.decided_at


@pytest.mark.parametrize("jumps", [4, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_clock_that_jumps_under_load_loses_no_answer_and_makes_none_up(jumps, tmp_path, tell):
    wanted, rng = (trials(jumps) if jumps == MANY else jumps), random.Random(seed(jumps))
    truthful = TruthfulHouses(tmp_path / "truth")
    with jumping_clocks(tmp_path / "clocks") as clocks:
        house = ServedHouse(tmp_path / "our house")
    try:
        processes, waited = dict(house.supervisor.processes), []
        with Clients(house, seed(jumps)) as clients:
            for _ in range(wanted):
                clients.wait_for_answers(2)
                clocks.move(rng.choice(JUMPS), *rng.choice(WHOSE))
                waited.append(clients.wait_for_answers(2))
        assert dict(house.supervisor.processes) == processes
        clocks.move(0, *SERVICES)
        checked = whole(house, clients, truthful)
    finally:
        house.stop()
        truthful.engine.close()
    assert checked["problems 503 or 504"] == checked["broken connections"] == 0
    tell(
        "clock of one service or of all jumps under load",
        wanted,
        **checked,
        longest_wait_s=f"{max(waited):.1f}",
    )


def test_the_clocks_of_the_test_really_jump_and_a_key_ends_with_its_day(tmp_path, tell):
    with jumping_clocks(tmp_path / "clocks") as clocks:
        house = ServedHouse(tmp_path / "our house")
    try:
        house.register_randhie().raise_for_status()
        first = house.ask(rows=["site"])
        assert first.status_code == 201
        clocks.move(-30 * DAY, "facility")
        assert house.ask(rows=["plan"]).status_code == 201
        assert abs(datetime.now(UTC) - timedelta(days=30) - clock_of(house)) < timedelta(hours=1)
        clocks.move(2 * DAY, "facility")
        late = house.ask(rows=["site"])
        assert (late.status_code, late.json()["code"]) == (401, "UNAUTHENTICATED")
    finally:
        house.stop()
    tell("clock of the facility beyond the end of a key", 1, unauthenticated=1)

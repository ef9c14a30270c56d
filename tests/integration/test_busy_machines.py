"""What is decided does not depend on how fast a machine is, nor on what its process did before."""

from collections import Counter
from dataclasses import replace

import pytest

from house import build, reasons, table_request, verdict
from looked_at_clock import seconds_a_look
from sdcgate.facility.in_process import LocalProtection
from sdcgate.facility.pace import Pace
from sdcgate.methods.tables.problem import Proof
from truthful_house import TruthfulHouses, replayed

ASKED = (
    {"rows": ["household_size:groups"], "columns": ["plan"]},
    {"rows": ["year"], "columns": ["plan"], "figures": ["UNITS", "MEAN:meddol"]},
    {"rows": ["site"], "columns": ["plan"], "layers": ["female"]},
    {"rows": ["age:broad"], "columns": ["plan"], "figures": ["SUM:mdvis"]},
    {"rows": ["household_size:groups"], "columns": ["age:broad"], "year": ["1", "2", "3", "5"]},
    {"rows": ["plan"], "columns": ["site"], "figures": ["RECORDS"]},
    {"rows": ["coins"], "columns": ["household_size:groups"], "figures": ["UNITS", "MEAN:meddol"]},
    {"rows": ["site"], "columns": ["year"], "child": ["1"]},
    {"rows": ["idp"], "columns": ["coins"], "figures": ["SUM:mdvis"]},
    {"rows": ["household_size:groups"], "columns": ["idp"], "figures": ["SUM:mdvis"]},
    {"rows": ["household_size:groups"], "columns": ["coins"]},
)
"""Tables of which much has to be withheld, each beside those before it."""
REQUESTS = [table_request(**asked) for asked in ASKED]
UNPROVED = ("REFERRED", ("UNPROVED",))


@pytest.fixture
def houses(tmp_path):
    made = TruthfulHouses(tmp_path)
    made.register_randhie("randhie")
    yield made
    made.engine.close()


def asked_in_turn(house) -> Counter:
    """Verdicts and reasons of these tables."""
    found = Counter()
    for request in REQUESTS:
        answered = house.facility.query_table(house.researcher, request, Pace(60.0))
        found[verdict(answered), tuple(reasons(answered))] += 1
    return found


@pytest.mark.parametrize("looks", [40, 100, 160, 250, 500])
def test_a_ledger_of_a_busy_machine_is_decided_the_same_by_an_idle_one(looks, houses, monkeypatch):
    busy = houses.new()
    # The policy gives a proof fifteen seconds.
    seconds_a_look(monkeypatch, 15.0 / looks)
    found = asked_in_turn(busy)
    monkeypatch.undo()
    assert found[UNPROVED]
    assert found.total() == len(ASKED)
    number, differences = replayed(busy.ledger, houses.new(), ["randhie"])
    assert number == len(ASKED) - found[UNPROVED]
    assert differences == []


class LateAtTheSecondTurn(LocalProtection):
    """Has time for the first proof of a query only."""

    turns = 0

    def protect_table(self, problem, unsafe, time_limit, timeout, known=None, effort=0):
        self.turns += 1
        found = super().protect_table(problem, unsafe, time_limit, timeout, known)
        return found if self.turns == 1 else replace(found, proof=Proof.UNPROVED, in_time=False)


def test_a_proof_that_is_late_at_a_later_turn_is_unproved_and_no_difference_to_refuse(houses):
    protection = LateAtTheSecondTurn()
    house = houses.new(protection=protection)
    late = []
    for request in REQUESTS:
        protection.turns = 0
        answered = house.facility.query_table(house.researcher, request, Pace(60.0))
        if protection.turns > 1:
            late.append((verdict(answered), tuple(reasons(answered))))
    assert len(late) > 1
    assert set(late) == {UNPROVED}


def test_a_ledger_of_many_processes_is_decided_the_same_by_one(houses, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for request in REQUESTS:
        started = build(folder, engine=houses.engine)
        started.facility.query_table(started.researcher, request, Pace(60.0))
        started.ledger.close()
    number, differences = replayed(build(folder, engine=houses.engine).ledger, houses.new(), ["randhie"])
    assert number == len(ASKED)
    assert differences == []

"""Two gateways behind one address are replaced one after the other while people ask for new tables."""

from collections import Counter

import pytest

from after_a_storm import whole
from balanced_gateways import balanced_gateways
from clients_under_load import Clients
from trials import seed, trials
from truthful_house import TruthfulHouses

ROLLS = 10


@pytest.mark.parametrize("rolls", [1, pytest.param(ROLLS, marks=pytest.mark.long)])
def test_no_request_is_lost_and_no_query_decided_twice(rolls, tmp_path, tell):
    number, people = (trials(rolls), 4) if rolls == ROLLS else (rolls, 3)
    truthful = TruthfulHouses(tmp_path / "truth")
    with balanced_gateways(tmp_path) as (house, gateways):
        before = Counter(gateways.balancer.taken)
        with Clients(house, seed(rolls), people) as clients:
            clients.wait_for_answers(4)
            for _ in range(number):
                for _ in gateways.roll():
                    clients.wait_for_answers(4)
        taken = gateways.balancer.taken - before
        assert Counter((asked.status, asked.error) for asked in clients.asked if not asked.is_answer) == {}
        # Whoever was on a connection to the one that ended came to the other.
        assert len(taken) == 2
        assert taken.total() > people
        checked = whole(house, clients, truthful)
    assert checked["events nobody fetched"] == 0
    truthful.engine.close()
    tell("SIGTERM of each of two gateways behind one address, under load", 2 * number, **checked)

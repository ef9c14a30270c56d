"""Requests that come twice, late or in another order, between all services: each query is decided once."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from after_a_storm import whole
from clients_under_load import Clients
from sdcgate.cli.supervisor import free_port
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2
from served_house import ServedHouse
from trials import seed, trials
from truthful_house import TruthfulHouses
from unreliable_messenger import UnreliableMessenger

ROADS = (("gateway", "facility"), ("facility", "risk"), ("facility", "protection"))
"""Who calls whom by a messenger."""
QUERY = "/sdcgate.facility.v1.FacilityService/QueryTable"
REQUESTS = 400


@contextmanager
def house_with_messengers(
    folder: Path, chance: int
) -> Iterator[tuple[ServedHouse, list[UnreliableMessenger]]]:
    """A house whose services know only the messengers' addresses of each other."""
    taken: set[int] = set()
    called = [name for _, name in ROADS]
    own, given = ({name: free_port("127.0.0.1", 0, taken) for name in called} for _ in range(2))
    peers = {}
    for caller, name in ROADS:
        prefix = f"SDCGATE_{caller.upper()}__{name.upper()}__"
        peers |= {f"{prefix}ADDRESS": f"127.0.0.1:{given[name]}", f"{prefix}PLAINTEXT": "true"}
    messengers = [
        UnreliableMessenger(given[name], f"127.0.0.1:{own[name]}", chance + number)
        for number, name in enumerate(called)
    ]
    with mock.patch.dict(os.environ, peers):
        house = ServedHouse(folder, **{name: {"port": port} for name, port in own.items()})
    try:
        yield house, messengers
    finally:
        for messenger in messengers:
            messenger.stop()
        house.stop()


def same_decision(one: bytes, other: bytes) -> bool:
    """Whether two answers are one decision, certificate and all; which of the two was first may be told."""
    found = [facility_pb2.QueryTableResponse.FromString(answer) for answer in (one, other)]
    return found[0].decision == found[1].decision


@pytest.mark.parametrize("requests", [12, pytest.param(REQUESTS, marks=pytest.mark.long)])
def test_requests_that_come_twice_late_or_in_another_order_are_decided_once(requests, tmp_path, tell):
    wanted = trials(REQUESTS // 20) * 20 if requests == REQUESTS else requests
    truthful = TruthfulHouses(tmp_path / "truth")
    with house_with_messengers(tmp_path / "our house", seed(wanted)) as (house, messengers):
        with Clients(house, seed(wanted), 4) as clients:
            clients.wait_for_answers(wanted, 60 + 3 * wanted)
        for messenger in messengers:
            messenger.be_reliable()
        checked = whole(house, clients, truthful)
        both = [
            (one[1], other[1])
            for method, one, other in messengers[0].pairs
            if method == QUERY and one[0] == other[0] == "OK"
        ]
    truthful.engine.close()
    assert both
    assert all(same_decision(*pair) for pair in both)
    assert checked["events nobody fetched"] == 0
    brought = sum((messenger.brought for messenger in messengers), start=type(messengers[0].brought)())
    assert brought["twice"] + brought["again later"] + brought["held"] > 0
    tell(
        "messages between all services twice, late, in another order",
        brought.total(),
        **checked,
        brought=" ".join(f"{plan}:{number}" for plan, number in sorted(brought.items())),
        overtaken=sum(messenger.overtaken for messenger in messengers),
        queries_answered_twice_with_the_same_bytes=len(both),
    )

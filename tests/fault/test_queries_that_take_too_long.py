"""A query that computes for longer than its caller waits: an error, nothing told, and its thread is free."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from house import House, table_request, verdict, with_randhie
from sdcgate.ledger.credentials import Credentials
from sdcgate.servers.authentication import AUTHORIZATION_KEY
from sdcgate.servers.facility import SERVICE, FacilityServicer, authenticator
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.settings import FacilityServer
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2_grpc

MINUTES = "SELECT count(*) FROM range(10000000) a(x), range(10000000) b(y) WHERE (x * y) % 7 = 3"
TABLE = {"rows": ["plan"], "columns": ["site"]}


class SlowHouse:
    """A facility that is served, whose DuckDB computes for minutes while it is told to be slow."""

    def __init__(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        self.house = house
        self.slow = True
        self.computing = threading.Event()
        database = house.engine._database
        run = database.run

        def slowly(sql, tables=None):
            if self.slow:
                self.computing.set()
                run(MINUTES)
            return run(sql, tables)

        monkeypatch.setattr(database, "run", slowly)
        credentials = Credentials(house.ledger)
        self._key, _ = credentials.create("researcher", "ada", "test", 1)
        servicer = FacilityServicer(house.facility, house.ledger.key_ring)
        self.running = Running(
            "facility",
            lambda server: facility_pb2_grpc.add_FacilityServiceServicer_to_server(servicer, server),
            [SERVICE],
            FacilityServer(port=0, metrics_port=0),
            authenticator(credentials),
        )
        self.running.start()
        self.channel = grpc.insecure_channel(self.running.address)

    def ask(self, seconds: float = 60.0) -> grpc.Future:
        call = facility_pb2_grpc.FacilityServiceStub(self.channel).QueryTable
        metadata = ((AUTHORIZATION_KEY, f"Bearer {self._key}"),)
        return call.future(table_request(**TABLE), timeout=seconds, metadata=metadata)

    def ended(self, code: str) -> float:
        """How many table queries have ended so, as the metrics say."""
        labels = {"service": "facility", "method": f"/{SERVICE}/QueryTable", "code": code}
        return self.running.metrics.registry.get_sample_value("sdcgate_calls_total", labels) or 0.0

    def nothing_is_computed(self) -> bool:
        return self.running.rooms.busy == 0

    def stop(self) -> None:
        self.channel.close()
        self.running.stop(0)


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowHouse]:
    made = SlowHouse(with_randhie(tmp_path), monkeypatch)
    yield made
    made.stop()


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_what_takes_longer_than_the_callers_deadline_is_given_up_and_the_next_query_is_answered(slow):
    asked = slow.ask(1.5)
    assert asked.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    until(slow.nothing_is_computed)
    assert slow.ended("DEADLINE_EXCEEDED") == 1
    assert slow.house.ledger.queries(None, (), 10) == []
    slow.slow = False
    assert verdict(slow.ask().result()) == "RELEASED_PROTECTED"
    assert slow.ended("OK") == 1


def test_what_nobody_waits_for_any_more_is_given_up_and_not_recorded(slow):
    asked = slow.ask()
    assert slow.computing.wait(60)
    asked.cancel()
    until(slow.nothing_is_computed)
    assert slow.ended("DEADLINE_EXCEEDED") == 1
    assert slow.house.ledger.queries(None, (), 10) == []
    slow.slow = False
    assert verdict(slow.ask().result()) == "RELEASED_PROTECTED"

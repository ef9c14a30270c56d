"""Who may use the check side: people whom the facility knew a few seconds ago."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from sdcgate.servers import errors
from sdcgate.servers.authentication import KeyCaller, ServiceCaller, caller
from sdcgate.servers.callers import UNKNOWN_SECONDS, Callers, check_side
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.settings import FacilityServer, Peer, RiskServer, Settings
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2_grpc
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2, risk_pb2_grpc

SERVICE_TOKEN = "t" * 43
ADA = KeyCaller("key-1", "researcher", "ada")


class Facility:
    """Knows some keys, counts how often it is asked, and has a clock that the test turns."""

    def __init__(self):
        self.keys = {"adas key": ADA}
        self.asked = []
        self.now = 100.0
        self.takes = 0.0

    def ask(self, token):
        self.asked.append(token)
        found = self.keys.get(token)
        self.now += self.takes
        if isinstance(found, Exception):
            raise found
        return found

    def callers(self, keep=10.0):
        return Callers(self.ask, keep, timer=lambda: self.now)


def test_the_facility_is_asked_once_in_ten_seconds():
    facility = Facility()
    callers = facility.callers()
    assert [callers("adas key") for _ in range(3)] == [ADA] * 3
    facility.now += 9.9
    assert callers("adas key") == ADA
    assert len(facility.asked) == 1
    facility.now += 0.2
    assert callers("adas key") == ADA
    assert len(facility.asked) == 2


def test_a_revoked_key_ends_within_that_time_also_if_the_answer_was_slow():
    facility = Facility()
    callers = facility.callers()
    facility.takes = 3.0
    assert callers("adas key") == ADA
    del facility.keys["adas key"]
    facility.now += 6.9
    assert callers("adas key") == ADA
    facility.now += 0.2
    assert callers("adas key") is None


def test_nothing_is_kept_where_nothing_shall_be_kept():
    facility = Facility()
    callers = facility.callers(keep=0.0)
    callers("adas key")
    callers("adas key")
    callers("unknown")
    callers("unknown")
    assert len(facility.asked) == 4


def test_an_unknown_key_is_forgotten_soon_and_keeps_no_known_one_out():
    facility = Facility()
    callers = facility.callers()
    assert callers("bobs key") is None
    assert callers("bobs key") is None
    assert facility.asked == ["bobs key"]
    facility.keys["bobs key"] = KeyCaller("key-2", "portal", "bob")
    facility.now += UNKNOWN_SECONDS + 0.1
    assert callers("bobs key").researcher == "bob"
    facility.asked.clear()
    for number in range(10_001):
        callers(f"made up {number}")
    callers("bobs key")
    assert "bobs key" not in facility.asked
    assert len(callers._unknown) == 10_000


def test_tokens_are_not_kept_in_memory():
    facility = Facility()
    callers = facility.callers()
    callers("adas key")
    callers("unknown")
    assert all(len(digest) == 32 for kept in (callers._known, callers._unknown) for digest in kept)


@pytest.mark.parametrize("role", ["steward", "operator", "service", ""])
def test_roles_that_do_not_check_are_told_so(role):
    facility = Facility()
    facility.keys["key"] = KeyCaller("key-3", role, "someone")
    callers = facility.callers()
    for _ in range(2):
        with pytest.raises(errors.PermissionDenied, match="checker or portal or researcher"):
            callers("key")
    assert len(facility.asked) == 1


def test_a_service_that_has_calls_for_others_lets_these_in_too():
    facility = Facility()
    facility.keys |= {role: KeyCaller("key-4", role, "someone") for role in ("steward", "operator", "portal")}
    callers = Callers(facility.ask, 10.0, lambda: facility.now, ("check", "protect_files"))
    assert [callers(role).role for role in ("steward", "portal")] == ["steward", "portal"]
    with pytest.raises(errors.PermissionDenied):
        callers("operator")


@pytest.mark.parametrize("role", ["researcher", "portal", "checker"])
def test_roles_that_check_may(role):
    facility = Facility()
    facility.keys["key"] = KeyCaller("key-3", role, "someone")
    assert facility.callers()("key").role == role


def test_a_facility_that_does_not_answer_lets_nobody_in_and_is_asked_again():
    facility = Facility()
    facility.keys["adas key"] = errors.Unavailable()
    callers = facility.callers()
    for _ in range(2):
        with pytest.raises(errors.Unavailable):
            callers("adas key")
    facility.keys["adas key"] = ADA
    assert callers("adas key") == ADA


class Served(facility_pb2_grpc.FacilityServiceServicer, risk_pb2_grpc.RiskServiceServicer):
    """A facility that knows a key, and a risk service whose work is what the test says."""

    def __init__(self):
        self.work = lambda: None

    def GetCaller(self, request, context):
        return pb.GetCallerResponse(key_id="key-1", role=caller().role, researcher="ada")

    def AssessTable(self, request, context):
        self.work()
        return risk_pb2.AssessTableResponse(unchecked=[1] if isinstance(caller(), ServiceCaller) else [2])


class House:
    """A facility and a risk service on real ports."""

    def __init__(self, facility_address="", **section):
        self.served = Served()
        self.facility = Running(
            "facility",
            lambda server: facility_pb2_grpc.add_FacilityServiceServicer_to_server(self.served, server),
            ["sdcgate.facility.v1.FacilityService"],
            FacilityServer(port=0, metrics_port=0),
            lambda token: {"adas key": ADA, "stefans key": KeyCaller("k", "steward", "s")}.get(token),
        )
        self.facility.start()
        section = RiskServer(
            port=0,
            metrics_port=0,
            facility=Peer(address=facility_address or self.facility.address),
            **section,
        )
        authenticate, check = check_side(Settings(), section, SERVICE_TOKEN)
        self.risk = Running(
            "risk",
            lambda server: risk_pb2_grpc.add_RiskServiceServicer_to_server(self.served, server),
            ["sdcgate.risk.v1.RiskService"],
            section,
            authenticate,
            check=check,
        )
        self.risk.start()
        self.channel = grpc.insecure_channel(self.risk.address)
        self.stub = risk_pb2_grpc.RiskServiceStub(self.channel)

    def call(self, token="adas key", timeout=10):
        metadata = (("authorization", f"Bearer {token}"),) if token else ()
        return self.stub.AssessTable(risk_pb2.AssessTableRequest(), timeout=timeout, metadata=metadata)

    def failure(self, **how):
        with pytest.raises(grpc.RpcError) as caught:
            self.call(**how)
        return errors.from_rpc_error(caught.value)

    def stop(self):
        self.channel.close()
        self.risk.stop(0)
        self.facility.stop(0)


@pytest.fixture
def houses():
    made = []

    def make(**section):
        made.append(House(**section))
        return made[-1]

    yield make
    for house in made:
        house.stop()


def test_people_and_services_call_each_with_their_own(houses):
    house = houses()
    assert list(house.call().unchecked) == [2]
    assert list(house.call(SERVICE_TOKEN).unchecked) == [1]
    assert type(house.failure(token="unknown")) is errors.Unauthenticated
    assert type(house.failure(token="")) is errors.Unauthenticated
    assert type(house.failure(token="stefans key")) is errors.PermissionDenied


def test_without_the_facility_people_are_told_to_come_again_and_services_are_served(houses):
    house = houses(facility_address="127.0.0.1:1")
    problem = house.failure()
    assert type(problem) is errors.Unavailable
    assert "127.0.0.1" not in problem.detail
    assert list(house.call(SERVICE_TOKEN).unchecked) == [1]
    assert house.risk.is_ready()


def test_people_who_use_all_that_is_theirs_do_not_keep_the_facility_waiting(houses):
    # Of three threads one caller leaves one to others.
    house = houses(threads=2, check_calls=3, waiting_check_calls=1)
    house.call()
    go = threading.Event()
    house.served.work = lambda: isinstance(caller(), KeyCaller) and go.wait(10)
    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(house.call) for _ in range(2)]
        _until(lambda: house.risk.rooms.check.busy == 2)
        running += [pool.submit(house.call) for _ in range(2)]
        _until(lambda: house.risk.rooms.check.waiting == 2)
        turned_away = house.failure()
        assert type(turned_away) is errors.ResourceExhausted
        assert turned_away.retry_after == 1
        served = [pool.submit(house.call, SERVICE_TOKEN) for _ in range(4)]
        assert [list(call.result(2).unchecked) for call in served] == [[1]] * 4
        assert house.risk.rooms.own.waiting == 0
        go.set()
        assert [list(call.result(5).unchecked) for call in running] == [[2]] * 4


def test_a_call_that_waited_past_its_deadline_is_not_worked_on(houses):
    house = houses(check_calls=1, waiting_check_calls=4)
    house.call()
    go = threading.Event()
    begun = []
    house.served.work = lambda: begun.append(1) or go.wait(10)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(house.call)
        _until(lambda: begun)
        late = house.failure(timeout=0.2)
        assert type(late) is errors.DeadlineExceeded
        # The caller's clock ran out; the service's, which began when the call came, may be a moment behind.
        time.sleep(0.2)
        go.set()
        first.result(5)
    _until(lambda: house.risk.rooms.check.busy == 0)
    assert len(begun) == 1


def _until(condition):
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)

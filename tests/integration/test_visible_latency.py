"""When answers are seen over the wire. Only lower bounds of time are asserted: a busy machine is slower."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest

import house as houses
from house import House, LocalProtection, build, table_request, verdict, with_randhie
from sdcgate.engine.engine import Engine
from sdcgate.facility.errors import Unavailable
from sdcgate.facility.query_ids import moment_of
from sdcgate.ledger.credentials import Credentials
from sdcgate.policy import loading
from sdcgate.policy.loading import parse_policy
from sdcgate.servers.authentication import AUTHORIZATION_KEY
from sdcgate.servers.errors import NotFound, from_rpc_error
from sdcgate.servers.facility import SERVICE, FacilityServicer, authenticator
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.settings import FacilityServer
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2_grpc

POLICIES = Path(loading.__file__).parent / "bundled"
STEP = 0.6
PLAIN = {"rows": ["site"]}
WITHHELD = {"rows": ["plan"], "columns": ["site"]}
TOO_SMALL = {"rows": ["idp"], "site": ["2"], "plan": ["5"], "year": ["4"]}
TOO_MANY = {"rows": ["site", "plan"], "columns": ["female", "year"]}


class Slow(LocalProtection):
    """Protects after some seconds, or not at all."""

    seconds = 0.0
    fails = False

    def protect_table(self, problem, unsafe, time_limit, timeout, known=None, effort=0):
        time.sleep(self.seconds)
        if self.fails:
            raise Unavailable("The protection service did not answer; nothing was decided. Try again.")
        return super().protect_table(problem, unsafe, time_limit, timeout, known)


@dataclass
class Served:
    """A facility behind gRPC in this process."""

    house: House
    protection: Slow
    stub: facility_pb2_grpc.FacilityServiceStub
    keys: dict[str, str]

    def metadata(self, name: str) -> tuple[tuple[str, str], ...]:
        return ((AUTHORIZATION_KEY, f"Bearer {self.keys[name]}"),)

    def ask(self, timeout: float = 30.0, **request) -> pb.QueryTableResponse:
        return self.stub.QueryTable(
            table_request(**request), timeout=timeout, metadata=self.metadata("researcher")
        )

    def listed(self, name: str) -> list[str]:
        found = self.stub.ListQueries(pb.ListQueriesRequest(), timeout=10, metadata=self.metadata(name))
        return [summary.query for summary in found.queries]


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Iterator[Engine]:
    made = with_randhie(tmp_path_factory.mktemp("randhie")).engine
    yield made
    made.close()


@pytest.fixture
def serve(engine, tmp_path, monkeypatch) -> Iterator[Callable[..., Served]]:
    """Serves a facility whose policy has steps, with a fresh ledger."""
    bundled = (POLICIES / "israel-cbs.yaml").read_text(encoding="utf-8")
    as_bundled = "{digits: 1, maximum_cells: 100000}"
    stops: list[Callable[[], object]] = []

    def make(step: float = STEP, **section) -> Served:
        assert as_bundled in bundled
        output = f"{{digits: 1, maximum_cells: 100000, latency_step_ms: {int(step * 1000)}}}"
        policies = {"israel-cbs": parse_policy(bundled.replace(as_bundled, output))}
        monkeypatch.setattr(houses, "load_policies", lambda: policies)
        protection = Slow()
        house = build(tmp_path, engine=engine, protection=protection)
        credentials = Credentials(house.ledger)
        keys = {role: credentials.create(role, role, "test", 1)[0] for role in ("researcher", "checker")}
        servicer = FacilityServicer(house.facility, house.ledger.key_ring)
        running = Running(
            "facility",
            lambda server: facility_pb2_grpc.add_FacilityServiceServicer_to_server(servicer, server),
            [SERVICE],
            FacilityServer(port=0, metrics_port=0, **section),
            authenticator(credentials),
        )
        running.start()
        channel = grpc.insecure_channel(running.address)
        stops.extend([channel.close, lambda: running.stop(0)])
        return Served(house, protection, facility_pb2_grpc.FacilityServiceStub(channel), keys)

    yield make
    for stop in stops:
        stop()


def timed(ask: Callable[[], pb.QueryTableResponse]) -> tuple[float, str, pb.QueryTableResponse | None]:
    """Seconds, verdict or kind of error, and the answer."""
    began = time.monotonic()
    try:
        answer = ask()
    except grpc.RpcError as error:
        return time.monotonic() - began, type(from_rpc_error(error)).__name__, None
    return time.monotonic() - began, verdict(answer), answer


def test_release_protection_refusal_and_error_keep_to_steps_and_so_does_what_took_longer(serve):
    served = serve()
    for asked, ends in ((PLAIN, "RELEASED"), (WITHHELD, "RELEASED_PROTECTED"), (TOO_SMALL, "REFUSED")):
        seconds, ended, _ = timed(lambda asked=asked: served.ask(**asked))
        assert ended == ends
        assert seconds >= STEP
    served.protection.seconds = STEP * 1.2
    seconds, ended, _ = timed(lambda: served.ask(rows=["household_size"]))
    assert ended == "RELEASED_PROTECTED"
    assert seconds >= 2 * STEP
    served.protection.fails = True
    seconds, ended, _ = timed(lambda: served.ask(rows=["household_size"], columns=["female"]))
    assert ended == "Unavailable"
    assert seconds >= 2 * STEP


def test_what_needs_no_data_and_what_was_seen_before_comes_at_once(serve):
    served = serve(step=3.0)
    assert timed(lambda: served.ask(**PLAIN))[0] >= 3.0
    for asked, ends in ((PLAIN, "RELEASED"), (TOO_MANY, "REFUSED"), ({"rows": ["sit"]}, "InvalidArgument")):
        seconds, ended, _ = timed(lambda asked=asked: served.ask(**asked))
        assert ended == ends
        assert seconds < 3.0


def test_before_it_is_seen_nobody_but_the_checker_finds_it_and_a_copy_of_the_query_waits_as_well(serve):
    step = 2.5
    served = serve(step=step)
    with ThreadPoolExecutor() as threads:
        began = datetime.now(UTC)
        first = threads.submit(served.ask, **PLAIN)
        while not served.listed("checker"):
            time.sleep(0.05)
        (query,) = served.listed("checker")
        assert not first.done()
        assert served.listed("researcher") == []
        with pytest.raises(grpc.RpcError) as caught:
            served.stub.GetQuery(
                pb.GetQueryRequest(query=query), timeout=10, metadata=served.metadata("researcher")
            )
        assert type(from_rpc_error(caught.value)) is NotFound
        # A copy would tell by its time whether the first was ready.
        seconds, _, copy = timed(lambda: served.ask(**PLAIN))
        assert seconds >= step
        answer = first.result()
    assert copy.repeated_answer
    assert copy.decision == answer.decision
    assert answer.decision.query == query
    assert served.listed("researcher") == [query]
    # Neither the decision, nor its id, nor the list says when it was ready.
    least = began + timedelta(seconds=step) - timedelta(milliseconds=10)
    summary = served.stub.ListQueries(
        pb.ListQueriesRequest(), timeout=10, metadata=served.metadata("researcher")
    ).queries[0]
    assert answer.decision.decided.ToDatetime(UTC) >= least
    assert moment_of(query) >= least
    assert summary.decided.ToDatetime(UTC) == moment_of(query)


def test_a_deadline_before_the_first_step_is_told_and_nothing_is_asked_of_the_data(serve):
    served = serve(step=5.0)
    seconds, ended, _ = timed(lambda: served.ask(timeout=4.0, **PLAIN))
    assert ended == "Unavailable"
    assert seconds < 4.0
    assert served.listed("checker") == []


def test_a_deadline_between_two_steps_ends_the_call_without_telling_that_the_answer_was_ready(serve):
    served = serve(step=3.0)
    served.protection.seconds = 3.1
    # One whole step and the margin fit; the answer is ready between them and the deadline.
    seconds, ended, _ = timed(lambda: served.ask(timeout=5.9, **WITHHELD))
    assert ended == "DeadlineExceeded"
    assert seconds >= 5.85
    (query,) = served.listed("checker")
    _, _, again = timed(lambda: served.ask(**WITHHELD))
    assert again.repeated_answer
    assert again.decision.query == query


def test_answers_that_wait_to_be_seen_keep_nobody_from_working(serve):
    served = serve(step=20.0, threads=1)
    asked = [{"rows": [row]} for row in ("site", "female", "year")]
    threads = ThreadPoolExecutor(len(asked))
    answers = [threads.submit(served.ask, **request) for request in asked]
    while len(served.listed("checker")) < len(asked):
        time.sleep(0.05)
    # One thread decided all of them before the first was seen.
    assert not any(answer.done() for answer in answers)
    threads.shutdown(wait=False, cancel_futures=True)

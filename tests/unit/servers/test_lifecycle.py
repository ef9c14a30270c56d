import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from sdcgate.servers import errors
from sdcgate.servers.authentication import ServiceCaller, caller, on_behalf_of, service_authenticator
from sdcgate.servers.channels import connect
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.rooms import ALONE, ReadLane
from sdcgate.servers.settings import GrpcServer
from sdcgate_proto.sdcgate.risk.v1 import models_pb2, risk_pb2, risk_pb2_grpc
from shown_key import showing

TOKEN = "t" * 43
NAME = "sdcgate.risk.v1.RiskService"


class Fake(risk_pb2_grpc.RiskServiceServicer):
    """Does what the test wants of it."""

    def __init__(self):
        self.does = lambda context: risk_pb2.AssessTableResponse()

    def AssessTable(self, request, context):
        return self.does(context)

    def AssessModel(self, request, context):
        return models_pb2.AssessModelResponse()


class Place:
    """A running service with its fake."""

    def __init__(self, read=None, **section):
        self.fake = Fake()
        self.running = Running(
            "risk",
            lambda server: risk_pb2_grpc.add_RiskServiceServicer_to_server(self.fake, server),
            [NAME],
            GrpcServer(**section),
            service_authenticator(TOKEN),
            ready=lambda: self.also_ready,
            read=read,
        )
        self.also_ready = True
        self.channels = []

    def stub(self, token=TOKEN):
        self.channels.append(connect(self.running.address, token, deadline_seconds=10))
        return risk_pb2_grpc.RiskServiceStub(self.channels[-1])

    def bare(self):
        self.channels.append(grpc.insecure_channel(self.running.address))
        return self.channels[-1]

    def call(self, **how):
        return self.stub().AssessTable(risk_pb2.AssessTableRequest(), **how)

    def health(self):
        check = health_pb2_grpc.HealthStub(self.bare()).Check
        return check(health_pb2.HealthCheckRequest(service=NAME), timeout=2).status

    def http(self, path):
        try:
            with urllib.request.urlopen(f"http://{self.running.probes.address}{path}", timeout=2) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@pytest.fixture
def places():
    made = []

    def make(start=True, **section):
        made.append(Place(**section))
        if start:
            made[-1].running.start()
        return made[-1]

    yield make
    for place in made:
        for channel in place.channels:
            channel.close()
        place.running.stop(0)


def failure(call):
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return errors.from_rpc_error(caught.value), caught.value


def test_a_call_with_the_token_is_answered_and_the_handler_knows_the_caller(places):
    place = places()
    seen = []
    place.fake.does = lambda context: seen.append(caller()) or risk_pb2.AssessTableResponse()
    place.call()
    assert seen == [ServiceCaller()]


@pytest.mark.parametrize("metadata", [(), (("authorization", "Bearer wrong"),), (("authorization", TOKEN),)])
def test_without_the_token_nothing_is_reached(places, metadata):
    place = places()
    place.fake.does = lambda context: pytest.fail("reached")
    stub = risk_pb2_grpc.RiskServiceStub(place.bare())
    problem, _ = failure(
        lambda: stub.AssessTable(risk_pb2.AssessTableRequest(), timeout=5, metadata=metadata)
    )
    assert type(problem) is errors.Unauthenticated


def test_an_authenticator_that_fails_lets_nobody_in():
    running = Running(
        "risk",
        lambda server: risk_pb2_grpc.add_RiskServiceServicer_to_server(Fake(), server),
        [NAME],
        GrpcServer(),
        lambda token: 1 / 0,
    )
    running.start()
    channel = connect(running.address, TOKEN)
    problem, _ = failure(
        lambda: risk_pb2_grpc.RiskServiceStub(channel).AssessTable(risk_pb2.AssessTableRequest())
    )
    channel.close()
    running.stop(0)
    assert type(problem) is errors.Internal


def test_a_deadline_is_wanted_and_has_a_maximum(places):
    place = places(maximum_deadline_seconds=20)
    metadata = (("authorization", f"Bearer {TOKEN}"),)
    stub = risk_pb2_grpc.RiskServiceStub(place.bare())
    for timeout in (None, 1000):
        problem, _ = failure(
            lambda timeout=timeout: stub.AssessTable(
                risk_pb2.AssessTableRequest(), timeout=timeout, metadata=metadata
            )
        )
        assert type(problem) is errors.InvalidArgument
        assert problem.detail == "Set a deadline of at most 20 seconds"
    stub.AssessTable(risk_pb2.AssessTableRequest(), timeout=19, metadata=metadata)


def test_the_request_id_goes_in_and_out_and_a_harmful_one_is_replaced(places):
    place = places()
    stub = risk_pb2_grpc.RiskServiceStub(place.bare())
    given = [("authorization", f"Bearer {TOKEN}"), ("x-request-id", "r-from-gateway")]
    for metadata, expected in ((given, "r-from-gateway"), ([given[0], ("x-request-id", "a b")], None)):
        _, call = stub.AssessTable.with_call(risk_pb2.AssessTableRequest(), timeout=5, metadata=metadata)
        (got,) = [value for key, value in call.trailing_metadata() if key == "x-request-id"]
        assert got == expected if expected else got.startswith("r-")


def test_what_nobody_foresaw_is_internal_without_a_word_of_it_and_logged_without_it(places, capfd):
    place = places()

    def fails(context):
        raise KeyError("withheld 31337")

    place.fake.does = fails
    problem, error = failure(place.call)
    assert type(problem) is errors.Internal
    assert "31337" not in str(error)
    logged = capfd.readouterr()
    assert "31337" not in logged.err + logged.out


def test_problems_of_the_handler_reach_the_caller_whole(places):
    place = places()
    fields = [errors.FieldProblem("facts.units", "is short")]

    def raises(context):
        raise errors.InvalidArgument(fields)

    for does in (raises, lambda context: errors.abort(context, errors.InvalidArgument(fields))):
        place.fake.does = does
        problem, _ = failure(place.call)
        assert type(problem) is errors.InvalidArgument
        assert list(problem.fields) == fields


def test_a_foreign_client_gets_a_long_list_cut_short_but_as_what_it_is(places):
    place = places()
    fields = [errors.FieldProblem(f"facts.measures[{i}].sums", "is short" * 10) for i in range(1000)]

    def raises(context):
        raise errors.InvalidArgument(fields)

    place.fake.does = raises
    stub = risk_pb2_grpc.RiskServiceStub(place.bare())
    metadata = (("authorization", f"Bearer {TOKEN}"),)
    problem, _ = failure(
        lambda: stub.AssessTable(risk_pb2.AssessTableRequest(), timeout=5, metadata=metadata)
    )
    assert type(problem) is errors.InvalidArgument
    assert 20 < len(problem.fields) < 1000
    assert problem.fields[0] == fields[0]


def test_before_the_warm_up_is_done_nothing_is_ready_and_calls_wait(places):
    place = places(start=False)
    warming, go, called = threading.Event(), threading.Event(), []
    place.fake.does = lambda context: called.append(go.is_set()) or risk_pb2.AssessTableResponse()
    with ThreadPoolExecutor(2) as pool:
        started = pool.submit(place.running.start, lambda: warming.set() or go.wait(5))
        warming.wait(5)
        call = pool.submit(place.call)
        assert place.http("/readyz")[0] == 503
        assert place.http("/healthz")[0] == 200
        assert failure(place.health)[1].code() is grpc.StatusCode.DEADLINE_EXCEEDED
        go.set()
        started.result(5)
        assert call.result(5) is not None
    assert called == [True]
    assert place.health() == health_pb2.HealthCheckResponse.SERVING
    assert place.http("/readyz")[0] == 200


def test_readiness_follows_what_the_service_needs(places):
    place = places()
    place.also_ready = False
    assert place.health() == health_pb2.HealthCheckResponse.NOT_SERVING
    assert place.http("/readyz")[0] == 503
    place.also_ready = True
    assert place.http("/readyz")[0] == 200
    assert place.health() == health_pb2.HealthCheckResponse.SERVING


def test_probes_are_answered_while_every_thread_computes_and_calls_beyond_the_queue_are_told_to_come_again(
    places, monkeypatch
):
    place = places(threads=2, waiting_calls=1)
    # One caller would leave a thread to others.
    monkeypatch.setattr(place.running.rooms, "caller_of", lambda room, metadata: ALONE)
    go, computing = threading.Event(), threading.Semaphore(0)
    place.fake.does = lambda context: computing.release() or (go.wait(10) and risk_pb2.AssessTableResponse())
    stub = place.stub()
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(stub.AssessTable, risk_pb2.AssessTableRequest()) for _ in range(4)]
        # One that waits for a thread that is free counts as waiting, too.
        for _ in range(2):
            assert computing.acquire(timeout=5)
        while place.running.rooms.own.waiting < 2:
            time.sleep(0.01)
        began = time.perf_counter()
        assert place.health() == health_pb2.HealthCheckResponse.SERVING
        assert place.http("/readyz")[0] == 200
        assert time.perf_counter() - began < 1
        problem, _ = failure(place.call)
        assert type(problem) is errors.ResourceExhausted
        go.set()
        assert all(call.result(timeout=5) is not None for call in calls)
    assert place.running.rooms.own.waiting == 0


def test_calls_that_only_read_are_answered_while_every_thread_computes_and_wait_for_each_other_only(places):
    reading = f"/{NAME}/AssessModel"
    place = places(threads=1, waiting_calls=0, read=ReadLane(1, 0, frozenset({reading})))
    go, computing = threading.Event(), threading.Semaphore(0)
    place.fake.does = lambda context: computing.release() or (go.wait(10) and risk_pb2.AssessTableResponse())
    with ThreadPoolExecutor(2) as pool:
        computed = [pool.submit(place.call) for _ in range(2)]
        assert computing.acquire(timeout=5)
        while place.running.rooms.own.waiting < 1:
            time.sleep(0.01)
        assert type(failure(place.call)[0]) is errors.ResourceExhausted
        for _ in range(3):
            assert place.stub().AssessModel(models_pb2.AssessModelRequest()) is not None
        go.set()
        assert all(call.result(timeout=5) is not None for call in computed)
    assert place.running.rooms.read.turned_away == 0
    assert place.running.rooms.own.turned_away == 1


def test_reflection_lists_the_service_to_who_shows_a_token_and_to_nobody_else(places):
    place = places()
    asked = [reflection_pb2.ServerReflectionRequest(list_services="")]
    for channel in (place.bare(), showing(place.bare(), "another")):
        with pytest.raises(grpc.RpcError) as caught:
            next(
                reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter(asked), timeout=5)
            )
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    stub = reflection_pb2_grpc.ServerReflectionStub(showing(place.bare(), TOKEN))
    (answer,) = stub.ServerReflectionInfo(iter(asked), timeout=5)
    names = {service.name for service in answer.list_services_response.service}
    assert names == {NAME, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}


def test_messages_beyond_the_limit_are_refused(places):
    place = places(maximum_message_bytes=10_000)
    request = risk_pb2.AssessTableRequest()
    request.facts.units.extend([2**40] * 10_000)
    problem, _ = failure(lambda: place.stub().AssessTable(request))
    assert (type(problem), problem.http_status) == (errors.TooLarge, 413)
    assert problem.detail == "The request must have at most 10000 bytes; send less at once"
    assert problem.retry_after is None


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"\x0a\x05abc", b"\x0a\x03\x0a\x01\xff", b"\xc3\xa9\x07", b"\x0a\x80\x80\x80\x80\x10"],
    ids=["no tag", "cut short", "not UTF-8", "group without end", "length beyond all"],
)
def test_bytes_that_are_no_message_are_the_callers_fault_and_not_ours(places, content, capfd):
    call = places().bare().unary_unary(f"/{NAME}/AssessTable")
    problem, _ = failure(lambda: call(content, timeout=5, metadata=(("authorization", f"Bearer {TOKEN}"),)))
    assert type(problem) is errors.InvalidArgument
    assert "whole, with all texts in UTF-8" in problem.detail
    # Who shows no key learns nothing of it, and nothing is parsed for him.
    problem, _ = failure(lambda: call(content, timeout=5))
    assert type(problem) is errors.Unauthenticated
    assert "failed" not in capfd.readouterr().out


@pytest.mark.parametrize("told", ["9" * 5000, "-1", "x", "", "1e9", "99999999999"])
def test_a_caller_who_cannot_say_what_he_takes_gets_what_everybody_can_take(places, told):
    place = places()
    call = risk_pb2_grpc.RiskServiceStub(place.bare()).AssessTable
    place.fake.does = _raises(errors.InvalidArgument(detail="国" * 5000))
    metadata = (("authorization", f"Bearer {TOKEN}"), (errors.ERROR_BYTES_KEY, told))
    problem, _ = failure(lambda: call(risk_pb2.AssessTableRequest(), timeout=5, metadata=metadata))
    assert type(problem) is errors.InvalidArgument
    assert problem.detail.startswith("国")


def _raises(error):
    def does(context):
        raise error

    return does


def test_metrics_count_calls_by_method_and_status(places):
    place = places()
    place.call()
    failure(lambda: place.stub(token="x").AssessTable(risk_pb2.AssessTableRequest()))
    text = place.http("/metrics")[1]
    method = f'method="/{NAME}/AssessTable",service="risk"'
    assert f'sdcgate_calls_total{{code="OK",{method}}} 1.0' in text
    assert f'sdcgate_calls_total{{code="UNAUTHENTICATED",{method}}} 1.0' in text
    assert 'sdcgate_ready{service="risk"} 1.0' in text


def test_two_services_cannot_share_a_port(places):
    place = places()
    port = int(place.running.address.rpartition(":")[2])
    with pytest.raises(RuntimeError):
        Place(port=port)


def test_a_running_call_ends_before_the_service_does(places):
    place = places()
    began = threading.Event()

    def slow(context):
        began.set()
        time.sleep(0.5)
        return risk_pb2.AssessTableResponse()

    place.fake.does = slow
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(place.call)
        began.wait(5)
        place.running.drain(5).wait()
        assert call.result(timeout=1) is not None
    assert place.http("/readyz")[0] == 503


SCRIPT = """
import gc
import time
from sdcgate.servers.lifecycle import serve
from sdcgate.servers.settings import Settings
serve("risk", lambda server: None, [], Settings(), lambda token: None, warm_up=lambda: time.sleep(0.2))
print(gc.get_freeze_count())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_says_where_it_listens_and_leaves_nothing_behind(tmp_path, number):
    state = tmp_path / "a folder"
    environment = {
        **os.environ,
        "SDCGATE_STATE_DIR": str(state),
        "SDCGATE_RISK__PORT": "0",
        "SDCGATE_RISK__METRICS_PORT": "0",
    }
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, stdout=pipe, stderr=pipe)
    ready = state / "run" / "risk.json"
    try:
        for _ in range(200):
            if ready.exists():
                break
            time.sleep(0.05)
        where = json.loads(ready.read_text())
        with urllib.request.urlopen(f"http://{where['metrics']}/readyz", timeout=2) as answer:
            assert answer.status == 200
        process.send_signal(number)
        kept, logged = process.communicate(timeout=10)
    finally:
        process.kill()
    assert process.returncode == 0
    assert not ready.exists()
    assert int(kept) > 10_000, "full collections go through all that was there when it was ready"
    events = [json.loads(line)["event"] for line in logged.decode().splitlines()]
    assert events == ["ready", "draining", "stopped"]


def test_a_greedy_caller_is_turned_away_and_a_modest_one_gets_his_turn(places):
    place = places(threads=1, waiting_calls=8)
    gate, order, room = threading.Event(), [], place.running.rooms.own

    def does(context):
        order.append(on_behalf_of())
        gate.wait(30)
        return risk_pb2.AssessTableResponse()

    place.fake.does = does
    stub = risk_pb2_grpc.RiskServiceStub(place.bare())

    def send(name):
        metadata = (("authorization", f"Bearer {TOKEN}"), ("x-on-behalf-of", name))
        return stub.AssessTable.future(risk_pb2.AssessTableRequest(), timeout=30, metadata=metadata)

    def until(reached):
        end = time.monotonic() + 20
        while not reached():
            assert time.monotonic() < end
            time.sleep(0.01)

    greedy = [send("greedy")]
    until(lambda: order)
    greedy += [send("greedy") for _ in range(29)]
    # Of nine places six: twice as many as are left.
    until(lambda: room.turned_away == 23)
    assert room.waiting == 6
    modest = send("modest")
    until(lambda: room.waiting == 7)
    gate.set()
    assert modest.result() == risk_pb2.AssessTableResponse()
    codes = [call.code() for call in greedy]
    assert (codes.count(grpc.StatusCode.OK), codes.count(grpc.StatusCode.RESOURCE_EXHAUSTED)) == (7, 23)
    # Behind the one that ran, and one more.
    assert order.index("modest") == 2
    assert len(order) == 8

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import pytest

from sdcgate.servers.authentication import AUTHORIZATION_KEY, service_authenticator
from sdcgate.servers.channels import KEPT_TO_ASK_AGAIN, bare_channel, channel_options, connect
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.settings import MEBIBYTE, GrpcServer, Peer
from sdcgate.servers.streamed_calls import StreamedCall
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2_grpc
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2, risk_pb2_grpc

TOKEN = "t" * 43
CALLERS = 6


class Counting(risk_pb2_grpc.RiskServiceServicer):
    """Notes by which connections it was called."""

    def __init__(self):
        self.callers = []

    def AssessTable(self, request, context):
        self.callers.append(context.peer())
        return risk_pb2.AssessTableResponse()


def listening(counting, **section):
    return Running(
        "risk",
        lambda server: risk_pb2_grpc.add_RiskServiceServicer_to_server(counting, server),
        ["sdcgate.risk.v1.RiskService"],
        GrpcServer(**section),
        service_authenticator(TOKEN),
    )


@contextmanager
def replica(counting, **section):
    running = listening(counting, **section)
    running.start()
    try:
        yield running
    finally:
        running.stop(0)


@contextmanager
def called(*replicas):
    addresses = ",".join(running.address for running in replicas)
    channel = connect(f"ipv4:{addresses}", TOKEN, peer=Peer(plaintext=True), deadline_seconds=10)
    try:
        yield risk_pb2_grpc.RiskServiceStub(channel)
    finally:
        channel.close()


@contextmanager
def called_once(*replicas):
    """A call of replicas in turn; what one does not answer is asked of no other."""
    addresses = ",".join(running.address for running in replicas)
    options = [*channel_options(MEBIBYTE), ("grpc.enable_retries", 0)]
    with grpc.insecure_channel(f"ipv4:{addresses}", options) as channel:
        stub = risk_pb2_grpc.RiskServiceStub(channel)
        metadata = ((AUTHORIZATION_KEY, f"Bearer {TOKEN}"),)
        yield lambda: stub.AssessTable(risk_pb2.AssessTableRequest(), timeout=10, metadata=metadata)


def until(done, stub, most=5000):
    for _ in range(most):
        stub.AssessTable(risk_pb2.AssessTableRequest(), wait_for_ready=True)
        if done():
            return
    pytest.fail("it never came to that")


def test_calls_go_in_turn_to_all_replicas_of_one_address():
    first, second = Counting(), Counting()
    with replica(first) as one, replica(second) as other, called(one, other) as stub:
        until(lambda: first.callers and second.callers, stub)
        before = len(first.callers), len(second.callers)
        for _ in range(20):
            stub.AssessTable(risk_pb2.AssessTableRequest())
        assert (len(first.callers) - before[0], len(second.callers) - before[1]) == (10, 10)


def test_a_replica_that_drains_takes_no_more_calls_and_the_other_takes_them_all():
    first, second = Counting(), Counting()
    with replica(first) as one, replica(second) as other, called(one, other) as stub:
        until(lambda: first.callers and second.callers, stub)
        one.drain().wait()
        before = len(first.callers)
        for _ in range(20):
            stub.AssessTable(risk_pb2.AssessTableRequest(), wait_for_ready=True)
        assert len(first.callers) == before


def test_a_replica_that_warms_up_is_called_once_it_is_warm_and_meanwhile_the_other():
    first, second, warming, warm = Counting(), Counting(), threading.Event(), threading.Event()
    other = listening(second)
    with replica(first) as one, called_once(one, other) as call, ThreadPoolExecutor(1) as thread:
        started = thread.submit(other.start, lambda: warming.set() or warm.wait(20))
        warming.wait(5)
        for _ in range(100):
            call()
        assert (len(first.callers), second.callers) == (100, [])
        warm.set()
        started.result(5)
        for _ in range(5000):
            call()
            if second.callers:
                break
        other.stop(0)
    assert second.callers


def test_no_call_is_lost_while_replicas_end_one_after_the_other():
    first, second, third = Counting(), Counting(), Counting()
    with (
        # gRPC may hold a call that comes as a replica ends until its drain is over; only then is it asked
        # again, so a drain has to be shorter than the callers' deadline.
        replica(first, drain_seconds=2) as one,
        replica(second, drain_seconds=2) as two,
        replica(third) as three,
        called(one, two, three) as stub,
    ):
        until(lambda: first.callers and second.callers and third.callers, stub)
        half_way = threading.Barrier(CALLERS + 1, timeout=20)

        def call():
            for number in range(200):
                if number in {50, 100}:
                    half_way.wait()
                stub.AssessTable(risk_pb2.AssessTableRequest())

        with ThreadPoolExecutor(CALLERS) as callers:
            calling = [callers.submit(call) for _ in range(CALLERS)]
            for ending in (one, two):
                half_way.wait()
                ending.drain().wait()
            assert [future.exception() for future in calling] == [None] * CALLERS


def test_a_connection_that_is_old_is_replaced_and_no_call_is_lost():
    counting = Counting()
    with replica(counting, connection_seconds=1) as one, called(one) as stub:
        until(lambda: len(set(counting.callers)) == 3, stub, most=200_000)


class GivingUp(facility_pb2_grpc.FacilityServiceServicer):
    """A facility of two replicas: the first call of each method is given up, as at the end of a drain."""

    def __init__(self):
        self.took = []

    def _take(self, method, size, context):
        self.took.append((method, size))
        if len(self.took) == 1:
            context.abort(grpc.StatusCode.CANCELLED, "the drain is over")

    def SubmitResults(self, request_iterator, context):
        self._take("SubmitResults", sum(len(one.results) for one in request_iterator), context)
        return pb.SubmitResultsResponse(not_outputs=["a.txt"])

    def EnterKnowledge(self, request, context):
        self._take("EnterKnowledge", 0, context)
        return pb.EnterKnowledgeResponse(query="q")

    def ReviewQuery(self, request, context):
        self._take("ReviewQuery", 0, context)
        return pb.ReviewQueryResponse()


@contextmanager
def facility(servicer):
    running = Running(
        "facility",
        lambda server: facility_pb2_grpc.add_FacilityServiceServicer_to_server(servicer, server),
        ["sdcgate.facility.v1.FacilityService"],
        GrpcServer(),
        service_authenticator(TOKEN),
    )
    running.start()
    try:
        with bare_channel(running.address, Peer(plaintext=True)) as channel:
            yield channel
    finally:
        running.stop(0)


def send_results(channel, size):
    """Results of so many bytes, as the gateway sends them."""

    async def messages():
        yield pb.SubmitResultsRequest(options=pb.ResultsOptions(dataset="survey"))
        for start in range(0, size, MEBIBYTE // 2):
            yield pb.SubmitResultsRequest(results=bytes(min(MEBIBYTE // 2, size - start)))

    path = "/sdcgate.facility.v1.FacilityService/SubmitResults"
    call = StreamedCall(channel, path, pb.SubmitResultsRequest, pb.SubmitResultsResponse)
    metadata = ((AUTHORIZATION_KEY, f"Bearer {TOKEN}"),)
    return asyncio.run(call(messages(), 20, metadata))


def test_a_folder_of_results_that_a_replica_gave_up_is_sent_again_whole():
    servicer, size = GivingUp(), 3 * MEBIBYTE + 1
    with facility(servicer) as channel:
        assert send_results(channel, size).not_outputs == ["a.txt"]
    assert servicer.took == [("SubmitResults", size)] * 2


def test_results_that_are_too_large_to_be_kept_are_sent_once():
    servicer, size = GivingUp(), KEPT_TO_ASK_AGAIN + MEBIBYTE
    with facility(servicer) as channel, pytest.raises(grpc.RpcError) as raised:
        send_results(channel, size)
    assert raised.value.code() == grpc.StatusCode.CANCELLED
    assert servicer.took == [("SubmitResults", size)]


def test_knowledge_is_entered_again_and_a_review_is_not():
    metadata = ((AUTHORIZATION_KEY, f"Bearer {TOKEN}"),)
    entering, reviewing = GivingUp(), GivingUp()
    with facility(entering) as channel:
        stub = facility_pb2_grpc.FacilityServiceStub(channel)
        assert stub.EnterKnowledge(pb.EnterKnowledgeRequest(), timeout=20, metadata=metadata).query == "q"
    with facility(reviewing) as channel, pytest.raises(grpc.RpcError) as raised:
        facility_pb2_grpc.FacilityServiceStub(channel).ReviewQuery(
            pb.ReviewQueryRequest(), timeout=20, metadata=metadata
        )
    assert raised.value.code() == grpc.StatusCode.CANCELLED
    assert (len(entering.took), len(reviewing.took)) == (2, 1)

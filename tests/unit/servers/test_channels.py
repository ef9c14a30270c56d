import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from sdcgate.servers.authentication import service_authenticator
from sdcgate.servers.channels import connect
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.settings import GrpcServer, Peer
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


@contextmanager
def replica(counting, **section):
    running = Running(
        "risk",
        lambda server: risk_pb2_grpc.add_RiskServiceServicer_to_server(counting, server),
        ["sdcgate.risk.v1.RiskService"],
        GrpcServer(**section),
        service_authenticator(TOKEN),
    )
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


def test_no_call_is_lost_while_replicas_end_one_after_the_other():
    first, second, third = Counting(), Counting(), Counting()
    with (
        replica(first) as one,
        replica(second) as two,
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

"""An assessment that nobody waits for any more ends, and its place is free for the next file."""

import time
from dataclasses import replace

import grpc
import numpy as np
import pyarrow as pa
import pytest

from arrow_pieces import ipc, requests
from risk_server import served_risk, soon
from sdcgate.methods.risk.file_assessment import assess_file
from sdcgate.methods.risk.file_numbers import FileNumbers, NumberWidth
from sdcgate.methods.risk.file_options import Options
from sdcgate.methods.risk.microdata import KeyVariable, Microdata
from sdcgate.servers.errors import DeadlineExceeded
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2 as pb

KEYS = 17
"""Up to eight of them are more than 65,000 sets: a search of half a minute."""


def long_file():
    rng = np.random.default_rng(1)
    return pa.table({f"k{place}": rng.integers(0, 4, 30_000) for place in range(KEYS)})


def long_call():
    options = pb.MicrodataOptions(keys=[f"k{place}" for place in range(KEYS)], suda_size=8)
    return requests(pb.AssessMicrodataRequest, options, 1 << 18, arrow=ipc(long_file()))


def short_call():
    options = pb.MicrodataOptions(keys=["a"])
    return requests(pb.AssessMicrodataRequest, options, arrow=ipc(pa.table({"a": [1, 1, 2]})))


def is_free(stub):
    """Whether the only place for a file is free within seconds, not minutes."""
    return soon(lambda: stub.AssessMicrodata(short_call())).file.units == 3


@pytest.fixture(scope="module")
def stub():
    with served_risk(10_000_000, 1) as made:
        yield made


def test_a_deadline_ends_the_work(stub):
    with pytest.raises(grpc.RpcError) as caught:
        stub.AssessMicrodata(long_call(), timeout=1.0)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert is_free(stub)


def test_a_caller_who_leaves_ends_the_work(stub):
    call = stub.AssessMicrodata.future(long_call())
    time.sleep(1.0)
    assert not call.done()
    call.cancel()
    assert is_free(stub)


def test_the_comparison_of_numbers_is_ended_within_one_key():
    numbers = FileNumbers((NumberWidth("x", 0.01),), np.random.default_rng(1).random((30_000, 1)))
    file = Microdata((KeyVariable("a"),), np.zeros((30_000, 1), dtype=np.int64), numbers=numbers)
    before = []
    assess_file(replace(file, numbers=None), Options(), lambda: before.append(1))
    calls = []
    assess_file(file, Options(), lambda: calls.append(1))
    assert len(calls) - len(before) == 8  # 30,000 places in parts of 4,096

    def heed():
        calls.append(1)
        if len(calls) == len(before) + 5:
            raise DeadlineExceeded

    calls.clear()
    with pytest.raises(DeadlineExceeded):
        assess_file(file, Options(), heed)


@pytest.mark.parametrize("options", [Options(suda_size=8), Options(minimums=(3,) * 5)])
def test_the_work_is_ended_within_its_long_parts(options):
    """Not only between measures: `heed` is called for each set and combination."""
    calls = []

    def heed():
        calls.append(1)
        if len(calls) == 300:
            raise DeadlineExceeded

    codes = np.random.default_rng(1).integers(0, 3, (60, KEYS))
    keys = tuple(KeyVariable(f"k{place}") for place in range(KEYS))
    with pytest.raises(DeadlineExceeded):
        assess_file(Microdata(keys, codes), options, heed)
    assert len(calls) == 300

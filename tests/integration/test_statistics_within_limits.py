"""A statistic that takes too much time or memory harms nobody: it ends as a model does, without a verdict."""

import os
import time
from contextlib import ExitStack

import numpy as np
import pytest

from house import person, verdict, with_randhie
from sdcgate.facility import statistics
from sdcgate.facility.errors import TimeOver, Unavailable
from sdcgate.facility.fitting_room import FitFailed, FittingLimits
from sdcgate.facility.pace import Pace
from sdcgate.facility.statistic_computing import Task
from sdcgate.facility.statistic_queries import STATISTICS_AT_ONCE
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

SECRET = "4092.70"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = with_randhie(tmp_path_factory.mktemp("house"), fitting=FittingLimits())
    made.facility.warm_up()
    yield made
    made.facility.close()


def ask(house, kind: str = "STATISTIC_KIND_MEAN", researcher: str = "ada"):
    request = pb.QueryStatisticRequest(
        dataset="randhie", kind=statistic_pb2.StatisticKind.Value(kind), measure="meddol"
    )
    return house.facility.query_statistic(person("researcher", researcher), request, Pace(30.0))


def endless(task: Task) -> None:
    time.sleep(600)


def huge(task: Task) -> None:
    np.ones(4 << 30)


def ending(task: Task) -> None:
    os._exit(9)


def failing(task: Task) -> None:
    raise ValueError(f"{SECRET} is his income")


@pytest.mark.parametrize(
    ("computing", "seconds", "error"),
    [
        (endless, 1.0, TimeOver),
        (huge, 60.0, Unavailable),
        (ending, 60.0, Unavailable),
        (failing, 60.0, FitFailed),
    ],
)
def test_what_exceeds_its_limits_or_fails_is_no_verdict_and_leaves_nothing(
    house, monkeypatch, computing, seconds, error
):
    head = house.ledger.head()
    with monkeypatch.context() as patched:
        patched.setattr(statistics, "compute_task", computing)
        patched.setattr(house.facility._computes._room, "limits", FittingLimits(seconds=seconds))
        with pytest.raises(error) as raised:
            ask(house, "STATISTIC_KIND_GINI")
    assert SECRET not in str(raised.value)
    assert house.ledger.head() == head


def test_the_next_statistic_is_answered(house, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(statistics, "compute_task", ending)
        with pytest.raises(Unavailable):
            ask(house)
    assert verdict(ask(house)) == "RELEASED"


def test_one_person_has_so_many_statistics_at_once_and_another_one_is_answered(house):
    with ExitStack() as being_answered:
        for _ in range(STATISTICS_AT_ONCE):
            being_answered.enter_context(house.facility._statistics._turns.taken("ada"))
        with pytest.raises(Unavailable, match="Ask again"):
            ask(house, "STATISTIC_KIND_SKEWNESS")
        assert verdict(ask(house, "STATISTIC_KIND_SKEWNESS", "eve")).startswith("RELEASED")

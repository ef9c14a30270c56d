"""A model that takes long, or too much, harms nobody: the models, tables and statistics of others leave."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from house import build, person, table_request, verdict, with_randhie
from sdcgate.facility import model_fitting, models
from sdcgate.facility.errors import TimeOver, Unavailable
from sdcgate.facility.fitting_room import FittingLimits, FittingRoom
from sdcgate.facility.pace import Pace
from sdcgate.methods.outputs.formula import term_text
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2

SIGNALS = "SDCGATE_TEST_SIGNALS"
"""Folder in which fits say that they began, and are told to end."""
LONGEST = 600.0
BUNDLED_FIT = model_fitting.fit


def fit(task: model_fitting.Task):
    """As the facility fits, but for terms that stand for what exceeds its limits."""
    terms = {term_text(term) for term in task.formula.terms}
    folder = Path(os.environ[SIGNALS])
    if "site" in terms:
        (folder / "begun").touch()
        while not (folder / "end").exists():
            time.sleep(0.02)
    if "plan" in terms:
        bytearray(64 << 30)
    if "year" in terms:
        os.kill(os.getpid(), signal.SIGKILL)
    return BUNDLED_FIT(task)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        folder = tmp_path_factory.mktemp("limits")
        patched.setenv(SIGNALS, str(folder))
        patched.setattr(models, "fit", fit)
        house = with_randhie(folder, fitting=FittingLimits())
        yield house, folder
        (folder / "end").touch()
        house.facility.close()


def ask(house, who: str, formula: str, seconds: float = 60.0):
    asked = pb.QueryModelRequest(dataset="randhie", kind=model_pb2.MODEL_KIND_LINEAR, formula=formula)
    return house.facility.query_model(person("researcher", who), asked, Pace(seconds))


def test_while_one_has_long_models_the_models_tables_and_statistics_of_another_are_answered(
    made, monkeypatch
) -> None:
    house, folder = made
    # They end when they are told to, however busy the machine.
    monkeypatch.setattr(house.facility.fitting_room, "limits", FittingLimits(seconds=LONGEST))
    with ThreadPoolExecutor() as threads:
        models = [f"meddol ~ site + {more}" for more in ("female", "child")]
        long = [threads.submit(ask, house, "ada", model, LONGEST) for model in models]
        while not (folder / "begun").exists():
            time.sleep(0.02)
        assert verdict(ask(house, "eve", "meddol ~ female")) == "RELEASED"
        table = house.facility.query_table(
            person("researcher", "eve"), table_request(rows=["female"]), Pace(60.0)
        )
        assert verdict(table) == "RELEASED"
        mean = pb.QueryStatisticRequest(
            dataset="randhie", kind=statistic_pb2.STATISTIC_KIND_GINI, measure="meddol"
        )
        statistic = house.facility.query_statistic(person("researcher", "eve"), mean, Pace(60.0))
        assert verdict(statistic).startswith("RELEASED")
        for broken in ("meddol ~ plan", "meddol ~ year"):
            with pytest.raises(Unavailable):
                ask(house, "bob", broken)
        assert verdict(ask(house, "bob", "meddol ~ child")) == "RELEASED"
        assert not any(one.done() for one in long)
        (folder / "end").touch()
        assert [verdict(one.result()) for one in long] == ["RELEASED"] * 2
    (folder / "end").unlink()


def test_a_model_that_takes_too_long_is_no_verdict_and_the_next_one_is_answered(made, monkeypatch) -> None:
    house, _ = made
    head = house.ledger.head()
    with monkeypatch.context() as patched:
        patched.setattr(house.facility.fitting_room, "limits", FittingLimits(seconds=1.0))
        with pytest.raises(TimeOver):
            ask(house, "ada", "outpdol ~ site")
    assert house.ledger.head() == head
    assert verdict(ask(house, "ada", "outpdol ~ female")) == "RELEASED"


def test_models_of_many_leave_threads_to_tables(made) -> None:
    house, _ = made
    with ExitStack() as answered:
        for who in ("ada", "bob", "grace", "eve"):
            answered.enter_context(house.facility._models._turns.taken(who))
        with pytest.raises(Unavailable, match="As many models as may be"):
            ask(house, "dan", "drugdol ~ female")
        table = house.facility.query_table(
            person("researcher", "dan"), table_request(rows=["site"]), Pace(60.0)
        )
        assert verdict(table) == "RELEASED"
    assert verdict(ask(house, "dan", "drugdol ~ female")) == "RELEASED"


def test_workers_time_and_memory_are_those_of_the_settings(tmp_path) -> None:
    limits = FittingLimits(workers=3, seconds=7.0, memory_bytes=1 << 30)
    house = build(tmp_path, fitting=limits)
    for room in (house.facility.fitting_room, house.facility._computes._room):
        assert isinstance(room, FittingRoom)
        assert (room.limits, room.workers) == (limits, 3)
    house.facility.close()

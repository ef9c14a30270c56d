"""An engine that is slow, hangs or is gone: errors in time, and then the truth."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import sqlalchemy
from prometheus_client.parser import text_string_to_metric_families

from after_a_storm import whole
from clients_under_load import Clients
from postgresql_server import empty_database, running_server, start, stop
from sdcgate.engine.snapshot_tables import METADATA
from served_house import ServedHouse
from stories import (
    DEADLINE,
    DEADLINES,
    FOUR_DIMENSIONS,
    INCOMES,
    PATIENCE,
    PLANS,
    Told,
    normal_again,
    patiently,
)
from trials import seed, trials
from truthful_house import TruthfulHouses

STORY = [PLANS, INCOMES]
WAYS = ("locked", "frozen", "fast", "immediate")
MANY = 10


@pytest.fixture(scope="module")
def engine() -> Iterator[str]:
    """Address of a PostgreSQL that computes; the ledger is elsewhere."""
    with running_server() as server:
        yield empty_database(server)


@pytest.fixture(scope="module")
def house(engine, tmp_path_factory) -> Iterator[ServedHouse]:
    made = ServedHouse(tmp_path_factory.mktemp("house") / "ours", {"engine_url": engine}, **DEADLINES)
    yield made
    made.stop()


@contextmanager
def hanging(engine: str, how: str) -> Iterator[None]:
    """The engine stopped, frozen, or all records locked by somebody else, so that queries wait."""
    if how != "locked":
        stop(engine, how)
        try:
            yield
        finally:
            start(engine)
        return
    address = sqlalchemy.create_engine(engine.replace("postgresql://", "postgresql+psycopg://"))
    with address.begin() as connection:
        names = sqlalchemy.text(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename != :metadata"
        )
        for (name,) in connection.execute(names, {"metadata": METADATA}).all():
            quoted = address.dialect.identifier_preparer.quote(name)
            connection.execute(sqlalchemy.text(f"LOCK TABLE {quoted} IN ACCESS EXCLUSIVE MODE"))
        yield
    address.dispose()


def free_again(house: ServedHouse) -> None:
    """Wait until no thread of the facility answers a call any more."""
    end = time.monotonic() + 60
    while busy(house):
        assert time.monotonic() < end
        time.sleep(0.05)


def busy(house: ServedHouse) -> float:
    text = httpx.get(f"{house.metrics_address('facility')}/metrics").text
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "sdcgate_threads_busy"
    )


@pytest.mark.parametrize(
    "how", ["locked", "frozen", *(pytest.param(how, marks=pytest.mark.long) for how in WAYS[2:])]
)
def test_an_engine_that_hangs_costs_errors_in_time_and_nothing_once_it_goes_on(
    house, engine, oracle, how, tell
):
    told, processes = Told(house, oracle), dict(house.supervisor.processes)
    dataset = told.new_dataset()
    earlier = patiently(lambda: house.ask(dataset, rows=["female"]))
    with hanging(engine, how):
        told.ask(f"the engine {how}", dataset, STORY)
        assert set(told.outcomes) <= {"503", "504"}
        # Whatever the engine does, no thread of the facility waits for it longer than its caller.
        free_again(house)
        again, refused = house.ask(dataset, rows=["female"]), house.ask(dataset, **FOUR_DIMENSIONS)
        if how == "locked":
            # What needs no records goes on: an answer that was given before, and a refusal for the wording.
            assert again.content == earlier.content
            assert refused.json()["verdict"] == "REFUSED"
        else:
            # The list of versions lies in the engine's database.
            assert {again.status_code, refused.status_code} <= {503, 504}
    seconds = normal_again(house, oracle)
    told.patient(dataset, STORY, left=[{"rows": ["female"]}])
    assert dict(house.supervisor.processes) == processes
    with house.ledger() as ledger:
        assert ledger.verify().ok
    tell(f"engine {how}", len(STORY), **told.told(), normal_after_s=f"{seconds:.1f}")


def test_an_engine_that_is_slow_answers_late_and_the_truth(house, engine, oracle, tell):
    told, released = Told(house, oracle), threading.Event()
    dataset = told.new_dataset()

    def hold() -> None:
        with hanging(engine, "locked"):
            locked.set()
            released.wait(60)

    locked = threading.Event()
    holder = threading.Thread(target=hold)
    holder.start()
    assert locked.wait(60)
    threading.Timer(DEADLINE / 4, released.set).start()
    began = time.monotonic()
    told.ask("the engine is slow", dataset, [PLANS])
    slow = time.monotonic() - began
    holder.join()
    assert slow >= DEADLINE / 4
    told.patient(dataset, [PLANS])
    tell("engine slow", 1, **told.told())


@pytest.mark.long
def test_an_engine_that_hangs_again_and_again_under_load_loses_no_answer(tmp_path, tell):
    number, rng = trials(MANY) * 2, random.Random(seed(23))
    with running_server() as server:
        engine = empty_database(server)
        house = ServedHouse(tmp_path / "our house", {"engine_url": engine}, **DEADLINES)
        truthful, recovery = TruthfulHouses(tmp_path / "truth"), []
        try:
            processes = dict(house.supervisor.processes)
            with Clients(house, seed(23)) as clients:
                for _ in range(number):
                    clients.wait_for_answers(3)
                    with hanging(engine, rng.choice(WAYS)):
                        time.sleep(rng.choice((0.2, 1.0, DEADLINE + 1)))
                    recovery.append(clients.wait_for_answers(3, 120))
            assert dict(house.supervisor.processes) == processes
            slowest = max(asked.ended - asked.began for asked in clients.asked)
            assert slowest < DEADLINE + PATIENCE
            checked = whole(house, clients, truthful)
        finally:
            house.stop()
            truthful.engine.close()
    checked |= {"slowest s": round(slowest, 1), "normal after at most s": round(max(recovery), 1)}
    tell("engine slow, hanging or gone under load", number, **checked)

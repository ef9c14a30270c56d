"""What a database computes ends with the time of whoever asked, and the next query is answered."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from postgresql_server import empty_database, running_server, start, stop
from sdcgate.engine import CellQuery, Engine
from sdcgate.engine import parse_descriptor as parse
from sdcgate.engine import postgresql_connections as connections
from sdcgate.engine.database import ComputationFailed, ComputationInterrupted, Database
from sdcgate.engine.duckdb_database import DuckdbDatabase
from sdcgate.engine.patience import Interrupter, seconds_left, to_the_end, waiting
from sdcgate.engine.postgresql_database import PostgresqlDatabase

MINUTES = {
    "duckdb": "SELECT count(*) AS n FROM range(10000000) a(x), range(10000000) b(y) WHERE (x * y) % 7 = 3",
    "postgresql": "SELECT 1 AS n FROM pg_sleep(600)",
}
"""A query of some minutes at least, by engine."""
ONE = "SELECT 1 AS n"
LONG = 60.0
"""Seconds after which a test that waits for something fails."""


class Caller:
    """Waits so long for what is computed, or until he goes."""

    def __init__(self, seconds: float = LONG) -> None:
        self._end = time.monotonic() + seconds
        self.gone = False

    def left(self) -> float:
        return 0.0 if self.gone else self._end - time.monotonic()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as made:
        yield made


@pytest.fixture
def url(server: str) -> str:
    return empty_database(server)


@pytest.fixture(params=["duckdb", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def database(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    made = (
        DuckdbDatabase(tmp_path) if kind == "duckdb" else PostgresqlDatabase(request.getfixturevalue("url"))
    )
    yield made
    made.close()


@pytest.fixture
def postgresql(url: str) -> Iterator[PostgresqlDatabase]:
    made = PostgresqlDatabase(url)
    yield made
    made.close()


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def asked(server: str, sql: str) -> list[tuple[object, ...]]:
    """What another connection is told."""
    with psycopg.connect(server) as connection:
        return connection.execute(sql).fetchall()


def sleepers(server: str) -> int:
    """Queries that run at the server for minutes."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(600)%'"
    return asked(server, sql + " AND pid != pg_backend_pid()")[0][0]


@contextmanager
def frozen(server: str) -> Iterator[None]:
    stop(server, "frozen")
    try:
        yield
    finally:
        start(server)


def test_a_query_that_takes_minutes_ends_with_its_callers_time_and_the_next_is_answered(database, kind):
    caller = Caller(0.5)
    with waiting(caller.left), pytest.raises(ComputationInterrupted, match="nothing was decided"):
        database.run(MINUTES[kind])
    with waiting(Caller().left):
        assert database.run(ONE)["n"].to_pylist() == [1]
    assert database.run(ONE)["n"].to_pylist() == [1]


def test_a_query_of_somebody_who_goes_ends_and_those_of_others_go_on(database, kind):
    gone, stays = Caller(), Caller()
    ended = []

    def ask(caller: Caller, sql: str) -> None:
        try:
            with waiting(caller.left):
                database.run(sql)
        except ComputationInterrupted:
            ended.append(caller)

    threads = [threading.Thread(target=ask, args=(caller, MINUTES[kind])) for caller in (gone, stays)]
    for thread in threads:
        thread.start()
    gone.gone = True
    threads[0].join(LONG)
    assert ended == [gone]
    assert threads[1].is_alive()
    stays.gone = True
    threads[1].join(LONG)
    assert ended == [gone, stays]


def test_for_nobody_nothing_begins(database):
    with waiting(Caller(0.0).left), pytest.raises(ComputationInterrupted):
        database.run(ONE)
    assert database.run(ONE)["n"].to_pylist() == [1]


def test_a_query_that_fails_in_time_is_a_failure_and_not_the_time(database):
    with waiting(Caller().left), pytest.raises(ComputationFailed) as caught:
        database.run("SELECT 1 / x FROM nowhere")
    assert not isinstance(caught.value, ComputationInterrupted)


def test_what_later_callers_need_is_computed_to_the_end(database):
    with waiting(Caller(0.0).left):
        with to_the_end():
            assert database.run(ONE)["n"].to_pylist() == [1]
        assert seconds_left() <= 0


def test_nothing_is_interrupted_after_it_has_ended():
    interrupter, interrupted, caller = Interrupter(), [], Caller()
    with waiting(caller.left), interrupter.over(lambda: interrupted.append("late")) as was:
        assert not was()
    caller.gone = True
    other = Caller()
    with waiting(other.left), interrupter.over(lambda: interrupted.append("other")) as was:
        other.gone = True
        until(was)
    assert interrupted == ["other"]


def test_who_interrupts_goes_on_where_an_interruption_fails():
    interrupter = Interrupter()
    for _ in range(2):
        caller = Caller()
        with waiting(caller.left), interrupter.over(lambda: 1 / 0) as was:
            caller.gone = True
            until(was)


def test_a_table_is_not_computed_for_somebody_whose_time_is_over_and_is_for_the_next(people, tmp_path):
    (tmp_path / "people.csv").write_text("id,region,sex\n1,north,f\n2,south,m\n3,north,m\n")
    engine = Engine(tmp_path, tmp_path / "store", bytes(32))
    with waiting(Caller(0.0).left):
        dataset = engine.register(parse(people())).dataset
        with pytest.raises(ComputationInterrupted):
            engine.compute(dataset, CellQuery((("region", ""),)))
    facts = engine.compute(dataset, CellQuery((("region", ""),))).facts
    assert facts.units.tolist() == [2, 1, 0, 0, 3]
    engine.close()


def test_the_server_ends_a_query_that_nobody_waits_for(postgresql, server):
    caller = Caller(0.5)
    with waiting(caller.left), pytest.raises(ComputationInterrupted):
        postgresql.run(MINUTES["postgresql"])
    until(lambda: sleepers(server) == 0)


def test_the_server_ends_it_by_itself_where_it_cannot_be_told(postgresql, server, monkeypatch):
    monkeypatch.setattr(connections.Errand, "_cancel", lambda self, connection: self._cancelled.set())
    with waiting(Caller(0.5).left), pytest.raises(ComputationInterrupted):
        postgresql.run(MINUTES["postgresql"])
    until(lambda: sleepers(server) == 0)
    assert postgresql.run(ONE)["n"].to_pylist() == [1]


def test_a_frozen_server_costs_its_caller_his_time_and_is_asked_again_once_it_goes_on(postgresql, server):
    with waiting(Caller().left):
        postgresql.run(ONE)
    with frozen(server), waiting(Caller(0.5).left), pytest.raises(ComputationInterrupted):
        postgresql.run(ONE)
    with waiting(Caller().left):
        assert postgresql.run(ONE)["n"].to_pylist() == [1]


def test_queries_that_a_frozen_server_keeps_are_few_and_end_when_it_goes_on(postgresql, server, monkeypatch):
    monkeypatch.setattr(connections, "MOST_LEFT", 3)
    with frozen(server):
        for _ in range(3):
            with waiting(Caller(0.1).left), pytest.raises(ComputationInterrupted):
                postgresql.run(ONE)
        with waiting(Caller().left), pytest.raises(ComputationFailed, match="does not answer"):
            postgresql.run(ONE)
    until(lambda: not any(one.name == "engine-query" for one in threading.enumerate()))
    with waiting(Caller().left):
        assert postgresql.run(ONE)["n"].to_pylist() == [1]


def test_as_many_connections_stay_open_as_were_used_at_once(postgresql, server, url):
    count = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%AS n%' AND pid != pg_backend_pid()"
    for _ in range(5):
        with waiting(Caller().left):
            postgresql.run(ONE)
    assert asked(server, count) == [(1,)]


def test_the_limit_of_a_statement_follows_the_time_that_is_left(postgresql):
    show = "SELECT setting::bigint AS n FROM pg_settings WHERE name = 'statement_timeout'"

    def limit() -> float:
        return postgresql.run(show)["n"].to_pylist()[0] / 1000

    for seconds in (100.0, 20.0, 300.0):
        with waiting(lambda seconds=seconds: seconds):
            assert seconds <= limit() <= seconds + connections.UNSETTLED_SECONDS
    assert limit() == connections.LONGEST_SECONDS


def test_what_the_operator_says_of_statements_goes_before(url):
    for said in ("-cstatement_timeout%3D200", "-c%20statement_timeout%3D200ms"):
        database = PostgresqlDatabase(f"{url}%20{said}")
        with pytest.raises(ComputationFailed, match="longer than its database allows"):
            database.run("SELECT pg_sleep(600)")
        with (
            waiting(Caller().left),
            pytest.raises(ComputationFailed, match="longer than its database") as told,
        ):
            database.run("SELECT pg_sleep(600)")
        assert not isinstance(told.value, ComputationInterrupted)
        database.close()


@pytest.mark.parametrize(
    ("url", "first"),
    [
        ("postgresql:///microdata", "postgresql:///microdata?connect_timeout=5&keepalives_idle=10"),
        ("postgresql://a:b@c/d?sslmode=require", "postgresql://a:b@c/d?sslmode=require&connect_timeout=5&"),
        ("postgresql://c?connect_timeout=1", "postgresql://c?connect_timeout=1&keepalives_idle=10"),
    ],
)
def test_silence_is_limited_unless_the_address_says_so_itself(url, first):
    made = connections.patient(url)
    assert made.startswith(first)
    assert made.count("connect_timeout") == 1
    assert "keepalives_interval=5&keepalives_count=3&tcp_user_timeout=20000" in made


def test_a_server_that_takes_connections_and_says_nothing_is_given_up(monkeypatch):
    monkeypatch.setitem(connections.SILENCE, "connect_timeout", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        database = PostgresqlDatabase(f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/x")
        with pytest.raises(ComputationFailed):
            database.run(ONE)
        with waiting(Caller(0.3).left), pytest.raises(ComputationInterrupted):
            database.run(ONE)

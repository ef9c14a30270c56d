"""What Spark computes ends with the time of whoever asked, and the next query is answered."""

import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from sdcgate.engine.database import ComputationInterrupted
from sdcgate.engine.patience import waiting
from sdcgate.engine.spark_database import SparkDatabase
from spark_connect_server import running_connect_server

pytestmark = pytest.mark.spark
MINUTES = "SELECT count(*) AS n FROM range(1000000000000) WHERE (id * 7919) % 7 = 3"


@pytest.fixture(params=["in this process", "connected"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SparkDatabase]:
    with nullcontext("local[2]") if request.param == "in this process" else running_connect_server() as url:
        made = SparkDatabase(url, tmp_path)
        yield made
        made.close()


def test_a_query_that_takes_minutes_ends_with_its_callers_time_and_the_next_is_answered(database):
    assert database.run("SELECT 1 AS n")["n"].to_pylist() == [1]
    end = time.monotonic() + 2
    with waiting(lambda: end - time.monotonic()), pytest.raises(ComputationInterrupted):
        database.run(MINUTES)
    assert database.run("SELECT 1 AS n")["n"].to_pylist() == [1]
    # The cores are free again: a query that needs them ends.
    assert database.run("SELECT sum(id) AS n FROM range(1000)")["n"].to_pylist() == [499500]

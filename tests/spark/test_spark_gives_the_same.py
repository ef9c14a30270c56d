"""DuckDB and Spark with two worker processes answer every question with the same figures, to the last bit."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engines_compared import LEVELS, TwoEngines, files, records, regions, same, tables
from house import cells, reasons, table_request, verdict, with_randhie
from powers_two_ways import agree as agree_on_powers
from powers_two_ways import by_records, by_sums, queries, regions_of, same_of_regions
from sdcgate.engine import CellQuery, Engine, Region
from sdcgate.engine.database import ComputationFailed
from sdcgate.facility.pace import Pace
from spark_connect_server import running_connect_server
from statistics_of_sums import agree as agree_on_statistics
from statistics_of_sums import no_records
from two_roads import Asked, agree, by_both, frame_of, registered

pytestmark = pytest.mark.spark
SECRET = bytes(range(32))
CLUSTER = "local-cluster[2,1,1024]"
FEW = settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoEngines]:
    folder = tmp_path_factory.mktemp("engines")
    on_spark = Engine(folder, folder / "spark", SECRET, url=CLUSTER)
    both = TwoEngines(folder, Engine(folder, folder / "store", SECRET), on_spark)
    yield both
    both.close()


@FEW
@given(data=st.data())
def test_tables_with_margins_units_weights_and_largest_contributors(engines, data):
    datasets = engines.register(*data.draw(files()))
    for query in data.draw(st.lists(tables(), min_size=2, max_size=2)):
        engines.agree(datasets, "compute", query)


@FEW
@given(data=st.data())
def test_units_of_differences_and_unions_of_cells(engines, data):
    datasets = engines.register(*data.draw(files()))
    asked = data.draw(tables())
    found = data.draw(regions())
    engines.agree(datasets, "region_facts", found, asked.measures, asked.ranks, asked.contributions)
    engines.agree(datasets, "occurring_codes", ["region", "measure:x", "job"])
    engines.agree(datasets, "distinct_values", "x")
    engines.agree(datasets, "decided_values", ["age", "job", "region"], "y")


@FEW
@given(data=st.data())
def test_records_for_models_and_units_for_risks(engines, data):
    datasets = engines.register(*data.draw(files()))
    engines.agree(datasets, "records", data.draw(records()))
    for levels in ([LEVELS[0], LEVELS[1]], [LEVELS[1], LEVELS[3]]):
        engines.agree(datasets, "counted_units", levels)


@FEW
@given(data=st.data())
def test_sums_of_powers_and_what_regions_tell_of_those_farthest_out(engines, data):
    here, there = engines.register(*data.draw(files()))
    on_files, on_spark = engines.engines
    query = data.draw(queries())
    found = by_sums(on_spark, there, query)
    agree_on_powers(by_records(on_spark, there, query), found)
    agree_on_powers(by_sums(on_files, here, query), found)
    same_of_regions(on_spark, there, regions_of(there, data.draw), data.draw(st.integers(2, 4)), 0.1)


def test_a_facility_on_spark_decides_as_one_on_files(engines, tmp_path):
    here = with_randhie(tmp_path / "here", data_root=tmp_path)
    engine = Engine(tmp_path, tmp_path / "store", SECRET, url=CLUSTER)
    there = with_randhie(tmp_path / "there", data_root=tmp_path, engine=engine)
    assert engine.warm_up() == []
    for asked in (
        {"rows": ["site"], "columns": ["age:broad"], "figures": ["UNITS", "MEAN:meddol"]},
        {"rows": ["plan"], "columns": ["site"], "figures": ["UNITS", "RECORDS"]},
        {
            "rows": ["plan"],
            "columns": ["site"],
            "figures": ["UNITS", "RECORDS"],
            "year": ["1", "2", "3", "5"],
        },
    ):
        # A small machine may need more than the minute that a person would wait.
        answers = [
            house.facility.query_table(house.researcher, table_request(**asked), Pace(600.0))
            for house in (here, there)
        ]
        assert verdict(answers[0]) == verdict(answers[1])
        assert reasons(answers[0]) == reasons(answers[1])
        assert cells(answers[0]) == cells(answers[1])
    assert reasons(answers[1]) == ["DIFFERENCING"]


def test_statistics_by_sums_in_the_workers_are_those_of_records_in_files(engines, tmp_path, monkeypatch):
    here = with_randhie(tmp_path / "here", data_root=tmp_path)
    engine = Engine(tmp_path, tmp_path / "store", SECRET, url=CLUSTER)
    there = with_randhie(tmp_path / "there", data_root=tmp_path, engine=engine)
    monkeypatch.setattr(engine, "records", no_records)
    # A small machine may need more than the minute that a person would wait.
    agree_on_statistics(here, there, 600.0)


def test_what_spark_says_of_a_failure_is_neither_told_nor_logged(engines, capfd):
    database = engines.engines[1]._database
    with pytest.raises(ComputationFailed) as raised:
        database.run("SELECT CAST(9223372036854775807 AS BIGINT) + number FROM VALUES (4711) AS t (number)")
    assert str(raised.value) == "the engine's query failed: ArithmeticException"
    assert raised.value.__cause__ is None
    out, err = capfd.readouterr()
    assert "4711" not in out + err
    assert database.run("SELECT 1 AS one").to_pylist() == [{"one": 1}]


@pytest.fixture
def connect_server() -> Iterator[str]:
    with running_connect_server() as address:
        yield address


def test_a_spark_connect_server_gives_the_same_too(connect_server, engines, tmp_path):
    (tmp_path / "here").mkdir()
    house = with_randhie(tmp_path / "here", data_root=tmp_path)
    there = Engine(tmp_path, tmp_path / "here" / "snapshots", house.engine._secret, url=connect_server)
    # Files are the same whichever engine reads them.
    dataset = there.dataset("randhie")
    query = CellQuery((("site", ""), ("year", "")), measures=("meddol",), ranks=3, keyed=True)
    same(house.engine.compute(house.engine.dataset("randhie"), query), there.compute(dataset, query))
    region = [Region(((("site", 0b1),),), ((("year", 0b1),),))]
    same(house.engine.region_facts(dataset, region), there.region_facts(dataset, region))
    there.close()


def test_a_spark_connect_server_that_is_not_there_is_given_up(tmp_path):
    engine = with_randhie(tmp_path, data_root=tmp_path).engine
    away = Engine(tmp_path, tmp_path / "snapshots", engine._secret, url="sc://127.0.0.1:1")
    with pytest.raises(ComputationFailed, match="SparkConnectGrpcException"):
        away.compute(away.dataset("randhie"), CellQuery())


@pytest.mark.parametrize("most", [1, 2])
def test_linear_models_by_sums_in_the_workers_are_those_of_the_records(tmp_path: Path, most: int) -> None:
    spark = Engine(tmp_path, tmp_path / "spark", SECRET, url=CLUSTER)
    dataset = registered(spark, tmp_path, frame_of(3, 120, most), most)

    for asked in (
        Asked("cost ~ site * plan + log1p(income) + site:debt", errors="ROBUST"),
        Asked("cost ~ spline(income) + few + numeric(age) - 1", weighted=True, errors="DESIGN"),
    ):
        agree(*by_both(spark, dataset, asked))
    spark.close()

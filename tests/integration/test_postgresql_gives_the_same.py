"""DuckDB over files and a real PostgreSQL answer every question with the same figures, to the last bit."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engines_compared import LEVELS, TwoEngines, files, records, regions, tables
from house import cells, reasons, verdict, with_randhie
from postgresql_server import empty_database, running_server
from powers_two_ways import agree as agree_on_powers
from powers_two_ways import by_records, by_sums, queries, regions_of, same_of_regions
from sdcgate.engine import Engine
from sdcgate.methods.risk.file_numbers import NumberWidth
from statistics_of_sums import agree as agree_on_statistics
from statistics_of_sums import no_records
from two_roads import Asked, agree, by_both, frame_of, registered

SECRET = bytes(range(32))
# A smaller example would cost more than it tells: each registers a file twice.
FEW = settings(
    max_examples=30,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as made:
        yield made


@pytest.fixture(scope="module")
def engines(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoEngines]:
    folder = tmp_path_factory.mktemp("engines")
    on_files = Engine(folder, folder / "store", SECRET)
    both = TwoEngines(folder, on_files, Engine(folder, folder, SECRET, url=empty_database(server)))
    yield both
    both.close()


@FEW
@given(data=st.data())
def test_tables_with_margins_units_weights_and_largest_contributors(engines, data):
    datasets = engines.register(*data.draw(files()))
    for query in data.draw(st.lists(tables(), min_size=3, max_size=3)):
        engines.agree(datasets, "compute", query)


@FEW
@given(data=st.data())
def test_units_of_differences_and_unions_of_cells(engines, data):
    datasets = engines.register(*data.draw(files()))
    asked = data.draw(tables())
    for found in data.draw(st.lists(regions(), min_size=2, max_size=2)):
        engines.agree(datasets, "region_facts", found, asked.measures, asked.ranks, asked.contributions)
    engines.agree(datasets, "occurring_codes", ["region", "measure:x", "job"])
    engines.agree(datasets, "occurring_codes", [])
    for measure in ("x", "y", *([""] if datasets[0].weighted else [])):
        engines.agree(datasets, "distinct_values", measure)
        # A few records of many combinations: at times these decide what all of them have.
        engines.agree(datasets, "decided_values", ["age", "job", "region"], measure)


@FEW
@given(data=st.data())
def test_records_for_models_and_units_for_risks(engines, data):
    datasets = engines.register(*data.draw(files()))
    engines.agree(datasets, "records", data.draw(records()))
    for levels in ([LEVELS[0]], [LEVELS[0], LEVELS[1]], [LEVELS[1], LEVELS[3]]):
        engines.agree(datasets, "counted_units", levels)
    if datasets[0].household == "id":
        engines.agree(datasets, "counted_units", [LEVELS[0], LEVELS[4]], True)
    engines.agree(datasets, "release")
    if datasets[0].records_per_unit == 1:
        engines.agree(datasets, "numbers", [LEVELS[0]], [NumberWidth("y", 1.0)])


@FEW
@given(data=st.data())
def test_sums_of_powers_and_what_regions_tell_of_those_farthest_out(engines, data):
    here, there = engines.register(*data.draw(files()))
    on_files, in_tables = engines.engines
    for query in data.draw(st.lists(queries(), min_size=2, max_size=2)):
        found = by_sums(in_tables, there, query)
        agree_on_powers(by_records(in_tables, there, query), found)
        agree_on_powers(by_sums(on_files, here, query), found)
    order, share = data.draw(st.integers(2, 4)), data.draw(st.sampled_from([0.02, 0.1, 0.5]))
    same_of_regions(in_tables, there, regions_of(there, data.draw), order, share)


@FEW
@given(first=files(), second=files())
def test_units_that_changed_between_versions(engines, first, second):
    (frame, declared), (changed, _) = first, second
    declared.pop("holding", None)
    declared.pop("waiver", None)
    if declared["measures"][0]["lower_bound"] == 0:
        changed["x"] = changed["x"].abs()
    old, new = engines.register(frame, declared), engines.register(changed, declared)
    counts = [engine.changed_units(old[place], new[place]) for place, engine in enumerate(engines.engines)]
    assert counts[0] is not None
    assert counts[0] == counts[1]


def test_a_facility_on_postgresql_decides_as_one_on_files(server, tmp_path):
    on_files = with_randhie(tmp_path / "files", data_root=tmp_path)
    engine = Engine(tmp_path, tmp_path, SECRET, url=empty_database(server))
    elsewhere = with_randhie(tmp_path / "tables", data_root=tmp_path, engine=engine)
    questions = [
        {"rows": ["site"], "columns": ["age:broad"], "figures": ["UNITS", "MEAN:meddol"]},
        {"rows": ["plan"], "columns": ["site"], "layers": ["female"]},
        {
            "rows": ["plan"],
            "columns": ["site"],
            "figures": ["UNITS", "RECORDS"],
            "year": ["1", "2", "3", "5"],
        },
        {"rows": ["site", "year"], "columns": ["female"], "layers": ["child"]},
    ]
    for asked in questions:
        here, there = on_files.ask(**asked), elsewhere.ask(**asked)
        assert (verdict(here), reasons(here)) == (verdict(there), reasons(there))
        assert cells(here) == cells(there)
    assert verdict(here) == "REFUSED"


def test_statistics_by_sums_in_the_database_are_those_of_records_in_files(server, tmp_path, monkeypatch):
    on_files = with_randhie(tmp_path / "files", data_root=tmp_path)
    engine = Engine(tmp_path, tmp_path, SECRET, url=empty_database(server))
    elsewhere = with_randhie(tmp_path / "tables", data_root=tmp_path, engine=engine)
    monkeypatch.setattr(elsewhere.engine, "records", no_records)
    agree_on_statistics(on_files, elsewhere, 60.0)


@pytest.mark.parametrize("most", [1, 2])
def test_linear_models_by_sums_in_the_database_are_those_of_its_records(
    server: str, tmp_path, most: int
) -> None:
    engine = Engine(tmp_path, tmp_path, SECRET, url=empty_database(server))
    dataset = registered(engine, tmp_path, frame_of(3, 120, most), most)

    assert engine.sums_rather_than_records(dataset)
    for asked in (
        Asked("cost ~ site * plan + log1p(income) + site:debt", errors="ROBUST"),
        Asked("cost ~ spline(income) + few + numeric(age) - 1", errors="CLUSTERED"),
        Asked("cost ~ plan + debt", weighted=True, errors="DESIGN"),
    ):
        agree(*by_both(engine, dataset, asked))
    engine.close()

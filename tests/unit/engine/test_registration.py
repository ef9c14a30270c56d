"""What a data file must fulfil, and how its values are read."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sdcgate.engine import CellQuery, Condition, DescriptorInvalid, data_files, registration

PEOPLE = "id,region,sex\n1,north,f\n2,south,m\n3,north,m\n"


def units(bench, dataset, variable, level=""):
    computed = bench.engine.compute(dataset, CellQuery(((variable, level),)))
    return dict(zip(computed.axes[0].codes, computed.facts.units.tolist(), strict=True))


def test_undeclared_values_tell_the_column_and_up_to_five_records_but_not_what_stands_there(bench, people):
    bench.write("id,region,sex\n" + "".join(f"{i},r{i},f\n" for i in range(7)))
    found = bench.problems(people())
    assert found == {
        "variables[0]": "column 'region' has 7 rows with values that are no declared code:"
        " records 1, 2, 3, 4, 5 and 2 more"
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("id,region,sex\n", "no records"),
        ("id,region,sex\n1,north\n2,south,f,x\n", "2 rows differ: row 2 has 2, row 3 has 4"),
        ("id,region,sex,sex\n1,north,f,f\n", "columns occur twice: 'sex'"),
        (b"id,region,sex\n1,north,f\n2,s\xfcd,m\n", "line 3 is not UTF-8"),
        ("id,region," + "s" * 200_000 + "\n1,north,f\n", "no readable header line"),
    ],
)
def test_unreadable_files_say_why(bench, people, content, message):
    bench.write(content)
    found = bench.problems(people())
    assert list(found) == ["data.path"]
    assert message in found["data.path"]


def parquet(names: list[str], *columns: object) -> bytes:
    kept = io.BytesIO()
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), kept)
    return kept.getvalue()


GOOD = parquet(["id", "region", "sex"], ["1"], ["north"], ["f"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no readable Parquet file"),
        (GOOD[:-10], "no readable Parquet file"),
        (GOOD.replace(b"PAR1", b"PAR2"), "no readable Parquet file"),
        (GOOD.replace(b"region", b"r\xe5gion"), "no readable Parquet file"),
        (parquet(["id", "region", "sex"], ["1"], [["north"]], ["f"]), "'region' has a type"),
        (
            parquet(["id", "region", "sex"], ["1"], pa.array([b"\xff"]).dictionary_encode(), ["f"]),
            "'region' has a type",
        ),
    ],
    ids=["empty", "cut", "no Parquet", "name not UTF-8", "lists", "categories not UTF-8"],
)
def test_parquet_files_that_are_none_say_so(bench, people, content, message):
    (bench.data_root / "people.parquet").write_bytes(content)
    found = bench.problems(people(data={"path": "people.parquet"}))
    assert list(found) == ["data.path"]
    assert message in found["data.path"]


def test_a_file_that_vanishes_while_it_is_read_is_said_to_be_gone(bench, people, monkeypatch):
    bench.write(PEOPLE)
    (bench.data_root / "people.parquet").write_bytes(GOOD)

    def gone(file, data):
        file.unlink()
        return "PARQUET" if file.suffix == ".parquet" else "CSV"

    for name in ("people.csv", "people.parquet"):
        monkeypatch.setattr(
            data_files, "format_of", lambda data, name=name: gone(bench.data_root / name, data)
        )
        monkeypatch.setattr(registration, "format_of", lambda data: "")
        found = bench.problems(people(data={"path": name}))
        assert list(found) == ["data.path"]


def test_no_record_is_quoted_when_rows_are_ragged(bench, people):
    bench.write("id,region,sex\n1,north,f\n4711-secret,south\n")
    assert "4711" not in str(bench.problems(people()))


def test_missing_columns_are_named_with_the_nearest(bench, people):
    bench.write("id,regoin,sex\n1,north,f\n")
    assert bench.problems(people())["variables[0].column"] == (
        "the file has no column 'region'; the nearest are 'regoin'"
    )


def test_problems_of_data_and_descriptor_come_together(bench, people):
    bench.write(
        "id,region,sex,w,x\n1,north,f,1,abc\n,south,q,0,5\n3,west,m,-1,11\n4,west,m,inf,3\n5,west,m,,3\n"
    )
    declared = people(
        weight={"column": "w"},
        measures=[{"name": "x", "upper_bound": 10}],
        reference_date="soon",
    )
    found = bench.problems(declared)
    assert found["reference_date"] == "write YYYY-MM-DD"
    assert found["unit.column"] == "every record needs one; the file has 1 row without it: record 2"
    assert found["variables[1]"].endswith("1 row with values that are no declared code: record 2")
    assert found["measures[0]"].endswith("no finite number or too large: record 1")
    assert found["measures[0].upper_bound"] == "the file has 1 row with values beyond it: record 3"
    assert "weight.column" in found
    assert "'q'" not in str(found)
    assert "abc" not in str(found)


@pytest.mark.parametrize("weight", ["0", "-1", "nan", "inf", "", "heavy", "1e400", "0.0004"])
def test_weights_must_be_positive_numbers(bench, people, weight):
    bench.write(f"id,region,sex,w\n1,north,f,1\n2,south,m,{weight}\n")
    found = bench.problems(people(weight={"column": "w", "decimals": 3}))
    assert list(found) == ["weight.column"]
    assert found["weight.column"].startswith("the file has 1 row with")
    assert found["weight.column"].endswith(": record 2")


def test_a_variable_or_weight_that_varies_within_a_unit_must_say_so(bench, people):
    bench.write("id,region,sex,w\n1,north,f,1\n1,south,f,2\n2,west,m,1\n2,west,m,1\n")
    found = bench.problems(people(weight={"column": "w"}))
    assert found == {
        "variables[0].varies_within_unit": "'region' varies within 1 units: declare it true",
        "weight.varies_within_unit": "the weight varies within 1 units: declare it true",
    }
    declared = people(weight={"column": "w", "varies_within_unit": True})
    declared["variables"][0]["varies_within_unit"] = True
    dataset = bench.register(declared)
    computed = bench.engine.compute(dataset, CellQuery())
    assert computed.facts.unit_weight_sums.tolist() == [2.0]
    assert computed.facts.weight_sums.tolist() == [5.0]


def test_a_wave_must_be_told_by_every_record_and_be_another_in_each_of_a_unit(bench, people):
    rows = [*((unit, "north", "f", year) for unit in (1, 2) for year in (0, 1)), (3, "south", "m", 1)]
    declared = people(wave="year", panel=True)
    years = {"levels": [{"integers": {"first": 0, "last": 1}}], "varies_within_unit": True}
    declared["variables"].append({"name": "year", "identifying": "YES", **years})
    assert bench.problems({**declared, "wave": "yaer"})["wave"].startswith("'yaer' is no variable; they are")

    def write(*more):
        lines = [",".join(map(str, row)) for row in (*rows, *more)]
        bench.write("id,region,sex,year\n" + "\n".join(lines) + "\n")

    write((3, "south", "m", 1), (4, "west", "f", ""))
    with pytest.raises(DescriptorInvalid) as raised:
        bench.register(declared)
    assert [(one.path, one.message) for one in raised.value.problems] == [
        ("wave", "year is missing in 1 records: each must tell its wave"),
        ("wave", "1 records have the same year as another of their unit"),
    ]
    write()
    assert bench.register(declared).records_per_unit == 2


def test_values_too_large_to_be_summed_exactly_ask_for_fewer_decimals(bench, people):
    bench.write("id,region,sex,x\n1,north,f,4e18\n2,north,f,4e18\n3,north,f,1e25\n")
    assert "too large" in bench.problems(people(measures=[{"name": "x"}]))["measures[0]"]
    bench.write("id,region,sex,x\n1,north,f,4e18\n2,north,f,4e18\n")
    assert "fewer" in bench.problems(people(measures=[{"name": "x"}]))["measures[0].decimals"]


def test_a_missing_text_cannot_be_a_code_too(bench, people):
    bench.write(PEOPLE)
    declared = people(data={"path": "people.csv", "missing": ["west"]})
    assert bench.problems(declared) == {
        "variables[0].missing": "'west' are codes too: they cannot mean missing"
    }


def test_texts_and_numbers_find_their_codes(bench, people):
    declared = people(
        data={"path": "people.csv", "missing": [-9]},
        variables=[
            {"name": "site", "identifying": "NO", "levels": [{"codes": [{"code": "3"}, {"code": "03"}]}]},
            {"name": "age", "identifying": "NO", "floor": True, "levels": [{"integers": {"last": 90}}],
             "missing": ["NA"]},
        ],
    )  # fmt: skip
    bench.write("id,site,age\n1,3,41.9\n2,3.0,41\n3,03,0.2\n4, 3 ,NA\n5,-9.0,\n6,,-9\n")
    dataset = bench.register(declared)
    assert units(bench, dataset, "site") == {"3": 3, "03": 1, "_U": 2, "_T": 6}
    ages = units(bench, dataset, "age")
    assert (ages["41"], ages["0"], ages["_U"], ages["_T"]) == (2, 1, 3, 6)


def test_a_parquet_file_gives_the_same_snapshot_as_its_csv(bench, people):
    frame = pd.DataFrame(
        {"id": [1, 2, 3, 3], "region": ["north", "south", None, None], "sex": ["f", "m", "m", "m"],
         "x": [1.5, np.nan, 2.25, -3.0]}
    )  # fmt: skip
    declared = people(measures=[{"name": "x", "decimals": 2}])
    bench.write(frame)
    first = bench.register(declared)
    bench.write(frame, "people.parquet")
    second = bench.register(declared | {"data": {"path": "people.parquet"}})
    assert first.content_hash == second.content_hash


def test_each_record_is_a_unit_where_no_unit_id_is_declared(bench, people):
    bench.write(PEOPLE)
    dataset = bench.register(people(unit={"label": "record"}))
    assert (dataset.n_units, dataset.n_records, dataset.records_per_unit) == (3, 3, 1)


def test_quotes_separators_and_line_breaks_in_values_are_read_and_computed(bench, people):
    codes = ['so"uth', "nor;th", "we'st", "two\nlines"]
    frame = pd.DataFrame({"id": range(4), "region": codes, "sex": "f"})
    bench.write(frame)
    declared = people()
    declared["variables"][0]["levels"][0]["codes"] = [{"code": code} for code in codes]
    assert list(bench.problems(declared)) == ["variables[0].levels[0].codes[3].code"]
    frame["region"] = frame["region"].str.replace("\n", " ")
    bench.write(frame)
    declared["variables"][0]["levels"][0]["codes"][3] = {"code": "two lines"}
    dataset = bench.register(declared)
    query = CellQuery((("region", ""),), (Condition("region", "", ('so"uth', "we'st")),))
    computed = bench.engine.compute(dataset, query)
    assert computed.axes[0].codes == ('so"uth', "we'st", "_T")
    assert computed.facts.units.tolist() == [1, 1, 2]

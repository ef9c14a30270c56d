"""Tables counted from a file of records, with the keys of their cells."""

from pathlib import Path

import pytest

from sdcgate.engine.counted_table import SOURCE, count_table
from sdcgate.engine.record_keys import unit_keys

SECRET = bytes(range(32))
PEOPLE = """person,year,region,sex
p1,1,north,f
p1,2,north,f
p2,1,north,m
p3,1,south,
p4,1,south,f
p4,2,north,f
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    file = tmp_path / "people.csv"
    file.write_text(PEOPLE)
    return file


def key_of(*ids: str) -> int:
    return sum(unit_keys(ids, SOURCE, SECRET).tolist()) % 2**64


def test_units_and_records_are_counted_in_every_cell_and_total(people: Path) -> None:
    found = count_table(people, ["region", "sex"], "person")
    assert [axis.codes for axis in found.axes] == [("north", "south", "_T"), ("f", "m", "_U", "_T")]
    assert found.records.tolist() == [3, 1, 0, 4, 1, 0, 1, 2, 4, 1, 1, 6]
    assert found.units.tolist() == [2, 1, 0, 3, 1, 0, 1, 2, 2, 1, 1, 4]
    assert (found.units_additive, found.records_per_unit, found.keys) == (False, 2, None)


def test_each_unit_is_in_a_cell_s_key_once(people: Path) -> None:
    keys = count_table(people, ["region"], "person", SECRET).keys
    assert keys is not None
    assert keys.tolist() == [key_of("p1", "p2", "p4"), key_of("p3", "p4"), key_of("p1", "p2", "p3", "p4")]


def test_the_same_people_have_the_same_key_in_any_table_and_order(people: Path) -> None:
    lines = PEOPLE.splitlines()
    turned = people.with_name("turned.csv")
    turned.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    straight, reverse = (count_table(file, ["sex"], "person", SECRET).keys for file in (people, turned))
    assert straight is not None
    assert reverse is not None
    assert straight.tolist() == reverse.tolist()
    by_year = count_table(people, ["year"], "person", SECRET).keys
    assert by_year is not None
    # Everybody has a record of the first year: that cell, and everybody, are the same four.
    assert by_year[0] == by_year[2] == straight[-1]


def test_without_ids_each_record_is_a_unit(people: Path) -> None:
    found = count_table(people, ["region"])
    assert found.units.tolist() == found.records.tolist() == [4, 2, 6]
    assert (found.units_additive, found.records_per_unit) == (True, 1)


@pytest.mark.parametrize(
    ("by", "unit", "secret", "message"),
    [
        (["region", "age", "town"], "", None, "no column 'age', 'town'"),
        ([], "", None, "at least one column"),
        (["sex", "sex"], "", None, "none twice"),
        (["region"], "", SECRET, "keys need the column"),
        (["region"], "sex", None, "without an id"),
    ],
)
def test_what_cannot_be_counted_is_told(
    people: Path, by: list[str], unit: str, secret: bytes | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        count_table(people, by, unit, secret)


def test_a_code_that_stands_for_totals_is_no_code(people: Path) -> None:
    people.write_text("region\nnorth\n_T\n")
    with pytest.raises(ValueError, match="stands for totals"):
        count_table(people, ["region"])


def test_too_many_cells_are_told_before_they_are_counted(people: Path) -> None:
    people.write_text("a,b\n" + "".join(f"a{i},b{i}\n" for i in range(1001)))
    with pytest.raises(ValueError, match="1004004 cells"):
        count_table(people, ["a", "b"])

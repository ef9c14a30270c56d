"""Levels of key variables without a descriptor: maps, bands, hierarchy files."""

import pyarrow as pa
import pytest

from sdcgate.engine.microdata import MicrodataColumns, MicrodataUnusable, microdata_of_table
from sdcgate.engine.recodings import CodeLevel, hierarchy_levels, with_levels
from sdcgate.methods.risk.microdata import by_units
from sdcgate.methods.risk.recoding import lattice

AGES = ["21", "30", "3.0", "29", None, "34"]
AREAS = ["n1", "n2", "s1", "s1", "n1", "s1"]
PARTS = {"n1": "north", "n2": "north", "s1": "south"}


def people():
    table = pa.table({"age": AGES, "area": AREAS})
    return microdata_of_table(table, MicrodataColumns(("age", "area"), fraction=0.1))


def problems(levels, **more):
    with pytest.raises(MicrodataUnusable) as caught:
        with_levels(people(), levels, **more)
    return dict(caught.value.problems)


def test_bands_are_of_the_files_own_integers():
    made = with_levels(
        people(), {"age": [CodeLevel("ten", band_width=10), CodeLevel("fifty", band_width=50)]}
    )
    assert made.keys[0].categories == ("3", "21", "29", "30", "34")
    (ten, codes), (_, all_of_them) = made.keys[0].coarser
    assert (ten, codes.tolist(), all_of_them.tolist()) == ("age:ten", [0, 1, 1, 2, 2], [0] * 5)


def test_a_map_tells_the_parent_of_each_code_of_the_level_before_it():
    levels = [CodeLevel("part", PARTS), CodeLevel("land", {"north": "all", "south": "all"})]
    made = with_levels(people(), {"area": levels})
    assert [codes.tolist() for _, codes in made.keys[1].coarser] == [[0, 0, 1], [0, 0, 0]]


def test_codes_of_a_map_may_be_written_as_the_file_has_them():
    old = {"3.0": "young", "21": "young", "29": "old", "30.00": "old", "34": "old"}
    made = with_levels(people(), {"age": [CodeLevel("old", old)]})
    assert made.keys[0].coarser[0][1].tolist() == [1, 1, 0, 0, 0]


def test_a_map_may_begin_with_bands():
    levels = [CodeLevel("ten", band_width=10), CodeLevel("old", {"0-9": "y", "20-29": "y", "30-39": "o"})]
    made = with_levels(people(), {"age": levels})
    assert made.keys[0].coarser[1][1].tolist() == [1, 1, 1, 0, 0]


def test_all_that_is_wrong_is_told_at_once_without_a_value():
    found = problems(
        {
            "age": [CodeLevel("one", {"21": "x"})],
            "area": [CodeLevel("a", band_width=5)],
            "sex": [CodeLevel("b", {"1": "2"})],
        },
        paths={"age": "keys[0].levels", "area": "keys[1].levels"},
    )
    assert found == {
        "keys[0].levels[0]": "tells no parent of 4 of the 5 codes before it",
        "keys[1].levels[0]": "bands need a variable whose values are all integers",
        "sex": "'sex' is no key variable; they are 'age', 'area'",
    }


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([CodeLevel("ten", band_width=10), CodeLevel("seven", band_width=7)], "divides codes"),
        ([CodeLevel("ten", band_width=-1)], "at least 1"),
        ([CodeLevel("none")], "either a map of codes or a band_width"),
        ([CodeLevel("both", {"1": "2"}, 5)], "either a map of codes or a band_width"),
        ([CodeLevel("a", band_width=5), CodeLevel("a", band_width=10)], "stands more than once"),
        ([CodeLevel(str(width), band_width=width) for width in range(1, 30)], "at most 20"),
    ],
)
def test_levels_that_are_none_are_told(levels, message):
    assert message in next(iter(problems({"age": levels}).values()))


def test_a_variable_without_a_value_has_levels_without_codes():
    table = pa.table({"age": pa.array([None, None], pa.string()), "area": ["n1", "s1"]})
    file = microdata_of_table(table, MicrodataColumns(("age", "area"), fraction=0.1))
    made = by_units(with_levels(file, {"age": [CodeLevel("ten", band_width=10)]}))
    found = lattice(made.codes, made.weights, [[codes for _, codes in key.coarser] for key in made.keys])
    assert found.levels[0][1].tolist() == [-1, -1]


def test_a_hierarchy_file_has_a_line_a_code(tmp_path):
    file = tmp_path / "area.csv"
    file.write_text("n1;north;*\nn2;north;*\ns1;south;*\n")
    levels = hierarchy_levels(file)
    assert levels[0].parents == PARTS
    made = with_levels(people(), {"area": levels})
    assert [codes.tolist() for _, codes in made.keys[1].coarser] == [[0, 0, 1], [0, 0, 0]]
    for text, message in (
        ("n1;north\nn1;south\n", "several of"),
        ("n1\n", "two columns"),
        ("", "two columns"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=message):
            hierarchy_levels(file)

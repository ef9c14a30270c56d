"""Levels are nested: every finest code lies in exactly one code of each coarser level."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.engine.code_lists import resolve_levels
from sdcgate.engine.descriptor import Variable


def resolve(declared, hierarchy_file=None):
    found = []
    levels = resolve_levels(Variable.model_validate(declared), "variables[2]", hierarchy_file, found)
    return levels, {problem.path: problem.message for problem in found}


def test_bands_start_at_multiples_of_their_width_and_end_with_the_list():
    (years, bands), problems = resolve(
        {"name": "age", "levels": [{"name": "years", "integers": {"first": 16, "last": 34}},
                                   {"name": "bands", "band_width": 10}]}
    )  # fmt: skip
    assert problems == {}
    assert bands.codes == ("16-19", "20-29", "30-34", "_U")
    assert years.codes[0] == "16"
    assert bands.masks[0] == 0b1111
    assert bands.masks[-1] == 1 << 19


def test_parts_name_codes_of_the_level_before_and_integers_those_of_the_finest():
    (_, pairs, halves), problems = resolve(
        {
            "name": "age",
            "levels": [
                {"name": "years", "integers": {"first": 0, "last": 5}},
                {"name": "pairs", "band_width": 2},
                {"name": "halves",
                 "codes": [{"code": "low", "parts": ["0-1"], "integers": {"first": 2, "last": 2}},
                           {"code": "high", "integers": {"first": 3, "last": 5}}]},
            ],
        }
    )  # fmt: skip
    assert problems == {}
    assert pairs.members == (0, 0, 1, 1, 2, 2, 3)
    assert halves.members == (0, 0, 0, 1, 1, 1, 2)


def test_what_is_left_out_or_belongs_twice_is_named():
    _, problems = resolve(
        {
            "name": "age",
            "levels": [
                {"name": "years", "integers": {"first": 0, "last": 9}},
                {"name": "broad", "codes": [{"code": "a", "integers": {"first": 0, "last": 4}},
                                            {"code": "b", "integers": {"first": 4, "last": 7}},
                                            {"code": "c", "parts": ["12"]}, {"code": "d"}]},
            ],
        }
    )  # fmt: skip
    assert problems["variables[2].levels[1]"] == "'8', '9' of 'years' belong to no code of this level"
    assert problems["variables[2].levels[1].codes[1].integers"] == "'4' already belongs to 'a'"
    assert problems["variables[2].levels[1].codes[2].parts"] == "'12' is no code of level 'years'"
    assert "parts or integers" in problems["variables[2].levels[1].codes[3]"]


@pytest.mark.parametrize(
    ("levels", "path"),
    [
        ([], "levels"),
        ([{"codes": [{"code": "a"}, {"code": "a"}]}], "levels[0].codes[1].code"),
        ([{"codes": [{"code": "_U"}]}], "levels[0].codes[0].code"),
        ([{"codes": [{"code": "a", "parts": ["b"]}]}], "levels[0].codes[0]"),
        ([{"integers": {"first": 3, "last": 1}}], "levels[0].integers"),
        ([{"integers": {"first": 0, "last": 10**9}}], "levels[0].integers"),
        ([{"band_width": 5}], "levels[0].band_width"),
        ([{"codes": [{"code": "a"}]}, {"name": "x", "band_width": 5}], "levels[0].name"),
        ([{"name": "y", "codes": [{"code": "a"}]}, {"name": "x", "band_width": 5}], "levels[1].band_width"),
        ([{"name": "y", "integers": {"last": 9}}, {"name": "y", "band_width": 5}], "levels[1].name"),
    ],
)
def test_faulty_levels_are_problems(levels, path):
    resolved, problems = resolve({"name": "v", "levels": levels})
    assert resolved == ()
    assert f"variables[2].{path}" in problems


def test_a_hierarchy_file_gives_levels_in_the_order_of_its_lines(tmp_path):
    file = tmp_path / "h.csv"
    file.write_text("Bachelors;Undergraduate;*\r\n11th;High School;*\r\nSome-college;Undergraduate;*\r\n")
    (finest, stage), problems = resolve(
        {"name": "education", "hierarchy": {"path": "h.csv", "levels": ["education", "stage"]}}, file
    )
    assert problems == {}
    assert finest.codes == ("Bachelors", "11th", "Some-college", "_U")
    assert stage.codes == ("Undergraduate", "High School", "_U")
    assert stage.masks == (0b0101, 0b0010, 0b1000)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("a;x\nb;x;y\n", "line 2 has 3"),
        ("", "1 to"),
        ("a;x\nb;x\nc;y;*\n", "line 3"),
        ("\xff".encode("latin-1"), "UTF-8"),
    ],
)
def test_a_faulty_hierarchy_file_is_a_problem(tmp_path, content, word):
    file = tmp_path / "h.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    _, problems = resolve({"name": "v", "hierarchy": {"path": "h", "levels": ["one", "two"]}}, file)
    assert word in problems["variables[2].hierarchy.path"]


def test_a_middle_code_that_lies_in_two_coarser_codes_is_a_problem(tmp_path):
    file = tmp_path / "h.csv"
    file.write_text("a;graduate;high\nb;graduate;low\n")
    _, problems = resolve({"name": "v", "hierarchy": {"path": "h", "levels": ["v", "m", "t"]}}, file)
    assert problems["variables[2].hierarchy.path"] == "'graduate' of 'm' lie in several 't'"


@given(first=st.integers(-50, 50), size=st.integers(1, 80), width=st.integers(1, 30))
def test_the_masks_of_every_level_partition_the_finest_codes(first, size, width):
    levels, problems = resolve(
        {"name": "v", "levels": [{"name": "all", "integers": {"first": first, "last": first + size - 1}},
                                 {"name": "bands", "band_width": width}]}
    )  # fmt: skip
    assert problems == {}
    for level in levels:
        together = 0
        for mask in level.masks:
            assert mask & together == 0
            together |= mask
        assert together == (1 << (size + 1)) - 1


def test_ranges_that_all_overlap_are_told_in_seconds_and_once_each():
    years = {"name": "years", "integers": {"first": 0, "last": 99_999}}
    all_of_them = [{"code": f"c{number}", "integers": {"first": 0, "last": 99_999}} for number in range(5000)]
    began = time.process_time()
    _, problems = resolve({"name": "age", "levels": [years, {"name": "broad", "codes": all_of_them}]})
    assert time.process_time() - began < 10
    assert problems["variables[2].levels[1].codes[1].integers"] == "'0' already belongs to 'c0'"


def test_parts_of_long_lists_are_found_in_seconds():
    parts = [{"code": f"c{number}", "parts": [str(number)]} for number in range(20_000)]
    began = time.process_time()
    levels, problems = resolve(
        {
            "name": "place",
            "levels": [
                {"name": "fine", "integers": {"first": 0, "last": 19_999}},
                {"name": "same", "codes": parts},
            ],
        }
    )
    assert time.process_time() - began < 10
    assert problems == {}
    assert levels[1].members == tuple(range(20_001))


@pytest.mark.parametrize("delimiter", ["é", "a", "0", '"', "\n", "\0", "；"])
def test_a_separator_that_is_none_is_left_to_the_checks_of_the_descriptor(tmp_path, delimiter):
    file = tmp_path / "place.txt"
    file.write_text("n1;north\n", encoding="utf-8")
    hierarchy = {"path": file.name, "levels": ["place", "part"], "delimiter": delimiter}
    assert resolve({"name": "place", "hierarchy": hierarchy}, file) == ((), {})

"""A steward learns of everything that is wrong with a descriptor at once, with the path of each field."""

from datetime import date

import pytest

from sdcgate.engine import DescriptorInvalid, parse_descriptor

PEOPLE = "id,region,sex\n1,north,f\n2,south,m\n"


def test_unknown_fields_and_wrong_types_are_named_by_their_paths():
    with pytest.raises(DescriptorInvalid) as raised:
        parse_descriptor(
            {
                "name": "people",
                "polcy": "israel-cbs",
                "variables": [{"name": "age", "levels": [{"codes": [{"code": "1"}, {"code": True}]}]}],
                "measures": [{"decimals": "two"}],
            }
        )
    paths = {problem.path: problem.message for problem in raised.value.problems}
    assert paths["polcy"] == "unknown field"
    assert "quotes" in paths["variables[0].levels[0].codes[1].code"]
    assert "measures[0].decimals" in paths


def test_numbers_are_codes_as_yaml_reads_them():
    descriptor = parse_descriptor({"variables": [{"levels": [{"codes": [{"code": 1}, {"code": "01"}]}]}]})
    assert [code.code for code in descriptor.variables[0].levels[0].codes] == ["1", "01"]


def test_what_yaml_reads_as_a_truth_value_or_a_date_is_told_or_taken():
    with pytest.raises(DescriptorInvalid) as raised:
        parse_descriptor({"variables": [{"identifying": True}]})
    assert [(problem.path, "quotes" in problem.message) for problem in raised.value.problems] == [
        ("variables[0].identifying", True)
    ]
    assert parse_descriptor({"reference_date": date(2024, 6, 30)}).reference_date == "2024-06-30"


def test_all_problems_of_a_descriptor_come_at_once(bench, people):
    bench.write(PEOPLE)
    declared = people(
        name="Two Words",
        design={"coverage": "SAMPLE"},
        reference_date="last year",
        access_level="everybody",
        household={"column": "h", "size_column": "n"},
        data={"path": "people.csv", "delimiter": "::"},
        measures=[
            {"name": "income", "decimals": 10, "lower_bound": 5, "upper_bound": 1},
            {"name": "income", "upper_bound": float("inf")},
            {"name": "2nd"},
        ],
    )
    declared["variables"][1]["name"] = "region"
    del declared["variables"][1]["identifying"]
    found = bench.problems(declared)
    assert set(found) == {
        "name",
        "design",
        "reference_date",
        "access_level",
        "household",
        "data.delimiter",
        "variables[1].name",
        "variables[1].identifying",
        "measures[0].decimals",
        "measures[0].lower_bound",
        "measures[1].name",
        "measures[1].upper_bound",
        "measures[2].name",
    }


def test_a_sample_smaller_than_its_population_says_only_what_is_so(bench, people):
    bench.write(PEOPLE)
    found = bench.problems(people(design={"coverage": "SAMPLE", "population_size": 1}))
    assert set(found) == {"design.population_size"}


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../people.csv", "a/../../people.csv", "", "package:statsmodels/../x.csv",
     "package:no_such_package/x.csv", "package:statsmodels", "gone.csv", "people.csv\0"],
)  # fmt: skip
def test_paths_that_leave_the_data_root_are_refused(bench, people, path):
    bench.write(PEOPLE)
    assert "data.path" in bench.problems(people(data={"path": path, "format": "CSV"}))


def test_a_link_out_of_the_data_root_is_refused(bench, people, tmp_path):
    (tmp_path / "outside.csv").write_text(PEOPLE)
    (bench.data_root / "people.csv").symlink_to(tmp_path / "outside.csv")
    assert bench.problems(people()) == {"data.path": "the path leads out of the data root"}

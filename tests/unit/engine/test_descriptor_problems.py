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
     "package:no_such_package/x.csv", "package:statsmodels", "gone.csv", "people.csv\0",
     "package:__main__/x.csv", "x" * 300 + ".csv", "a/" * 3000 + "x.csv", "people.csv/x.csv", "circle.csv"],
    ids=lambda path: path[:40],
)  # fmt: skip
def test_paths_that_leave_the_data_root_are_refused(bench, people, path):
    bench.write(PEOPLE)
    (bench.data_root / "circle.csv").symlink_to("circle.csv")
    assert "data.path" in bench.problems(people(data={"path": path, "format": "CSV"}))


def test_a_link_out_of_the_data_root_is_refused(bench, people, tmp_path):
    (tmp_path / "outside.csv").write_text(PEOPLE)
    (bench.data_root / "people.csv").symlink_to(tmp_path / "outside.csv")
    assert bench.problems(people()) == {"data.path": "the path leads out of the data root"}


@pytest.mark.parametrize("delimiter", ["é", "a", "7", '"', "\n", "\r", "\0", "::", "；"])
def test_a_separator_that_no_reader_takes_is_the_only_problem_that_is_told(bench, people, delimiter):
    bench.write(PEOPLE)
    found = bench.problems(people(data={"path": "people.csv", "delimiter": delimiter}))
    assert set(found) == {"data.delimiter"}
    assert "one ASCII character" in found["data.delimiter"]


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " ", ":"])
def test_other_separators_are_taken(bench, people, delimiter):
    bench.write(PEOPLE.replace(",", delimiter))
    assert bench.register(people(data={"path": "people.csv", "delimiter": delimiter})).n_units == 2


@pytest.mark.parametrize("fraction", [-0.1, 1.1, 5e-324, 1e-13, float("nan"), float("inf")])
def test_a_sampling_fraction_that_makes_no_weight_is_refused(bench, people, fraction):
    bench.write(PEOPLE)
    design = {"coverage": "SAMPLE", "sampling_fraction": fraction, "population_size": 100}
    assert bench.problems(people(design=design)) == {
        "design.sampling_fraction": "lies between 1e-12 and 1; leave it out where it is not known"
    }


def test_code_lists_that_would_fill_the_memory_are_refused_before_they_are_made(bench, people):
    bench.write(PEOPLE)
    declared = people()
    declared["variables"] = [
        {"name": f"v{number}", "column": "region", "identifying": "NO",
         "levels": [{"integers": {"first": 0, "last": 99_999}}]}
        for number in range(1000)
    ]  # fmt: skip
    assert "more than 500000 codes" in bench.problems(declared)["variables[5].levels"]

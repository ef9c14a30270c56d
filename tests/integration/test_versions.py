"""New versions of a dataset: which version answers, and that no answer tells of the few units that differ."""

import csv
from pathlib import Path

import pytest

from house import build, cells, person, reasons, table_request, verdict
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.pace import Pace
from sdcgate.policy.loading import load_policies
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

REGIONS = ("north", "south", "west")
MINIMUM = 10
"""Units that a cell needs under the policy."""


def descriptor(**changes):
    code = [{"code": region, "label": region} for region in REGIONS]
    return parse_descriptor(
        {
            "name": "survey",
            "label": "Survey",
            "data": {"path": "survey.csv"},
            "unit": {"column": "person", "label": "person"},
            "design": {"coverage": "CENSUS"},
            "variables": [
                {"name": "region", "identifying": "YES", "levels": [{"codes": code}]},
                {
                    "name": "sex",
                    "identifying": "YES",
                    "levels": [{"codes": [{"code": "f", "label": "f"}, {"code": "m", "label": "m"}]}],
                },
            ],
            "measures": [{"name": "hours", "lower_bound": 0}],
            **changes,
        }
    )


class Survey:
    """A house with 600 persons, whose file is registered again with changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.house = build(folder)

    def register(self, moved=0, gone=0, come=0, longer=0, **changes):
        """`moved` live elsewhere, `gone` are gone, `come` are new, `longer` work an hour more."""
        with (self.folder / "survey.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["person", "region", "sex", "hours"])
            for one in range(gone, 600 + come):
                region = REGIONS[(one + (100 <= one < 100 + moved)) % 3]
                hours = 20 + one % 21 + (200 <= one < 200 + longer)
                writer.writerow([f"p{one}", region, "fm"[one // 3 % 2], hours])
        return self.house.engine.register(descriptor(**changes)).dataset.version

    def ask(self, *rows, **request):
        return self.house.ask(dataset="survey", rows=list(rows), **request)


@pytest.fixture
def survey(tmp_path) -> Survey:
    made = Survey(tmp_path)
    assert made.register() == 1
    return made


FEW = [{"moved": 1}, {"gone": 3}, {"come": 2}, {"longer": 4}, {"moved": 2, "gone": 3, "come": 1, "longer": 3}]
MANY = [{"moved": MINIMUM}, {"gone": 200}, {"moved": 3, "gone": 3, "come": 1, "longer": 3}]


@pytest.mark.parametrize("change", FEW, ids=str)
def test_where_few_differ_every_question_is_answered_from_the_version_before(survey, change):
    first = survey.ask("region")
    assert survey.register(**change) == 2
    again = survey.ask("region")
    assert (again.repeated, again.decision) == (True, first.decision)
    new = survey.ask("region", "sex", figures=["UNITS", "SUM:hours"])
    assert (verdict(new), new.decision.version) == ("RELEASED", 1)
    assert cells(new)["_T", "_T"][0] == 600


@pytest.mark.parametrize("change", MANY, ids=str)
def test_where_many_differ_every_question_is_referred(survey, change):
    survey.ask("region")
    survey.register(**change)
    for rows in (["region"], ["sex"]):
        answered = survey.ask(*rows)
        assert (verdict(answered), reasons(answered)) == ("REFERRED", ["VERSION_DIFFERENCE"])
        assert answered.decision.version == 2


def test_the_version_that_answers_is_the_same_for_all_tables(survey):
    """Otherwise tables cut out around one person would tell whether he is among those that changed."""
    survey.ask("region")
    survey.register(moved=1)
    tables = [{"rows": ["region"]}, {"rows": ["sex"], "region": ["north"]}, {"rows": [], "region": ["south"]}]
    assert {survey.house.ask(dataset="survey", **table).decision.version for table in tables} == {1}


def test_changes_add_up_over_versions(survey):
    survey.ask("region")
    survey.register(moved=6)
    assert survey.ask("sex").decision.version == 1
    survey.register(moved=6, longer=6)
    assert verdict(survey.ask("sex", "region")) == "REFERRED"
    assert survey.ask("region").repeated is False, "it is a question on the third version now"


def test_a_version_of_which_nothing_has_left_is_answered_for_itself(survey):
    survey.register(come=1)
    assert survey.ask("region").decision.version == 2
    survey.register(come=2)
    assert survey.ask("sex").decision.version == 2


def test_once_two_versions_have_left_a_checker_looks_at_every_further_table(survey):
    survey.ask("region")
    survey.register(gone=200)
    referred = survey.ask("region")
    review = pb.ReviewQueryRequest(query=referred.decision.query, approve=True, note="two hundred have left")
    decision = survey.house.facility.review_query(survey.house.checker, review, Pace(60.0))
    assert verdict(decision) == "RELEASED"
    survey.register(gone=201)
    assert verdict(survey.ask("sex")) == "REFERRED"


@pytest.mark.parametrize(
    "change",
    [
        {"measures": [{"name": "hours", "lower_bound": 10}]},
        {"variables": [*descriptor().model_dump()["variables"][:1]]},
        {"unit": {"column": "person", "label": "citizen"}, "weight": None, "panel": True},
    ],
    ids=["a bound", "a variable less", "a panel"],
)
def test_where_the_descriptor_means_something_else_a_checker_looks(survey, change):
    survey.ask("region")
    assert survey.register(**change) == 2
    assert reasons(survey.ask("region")) == ["VERSION_DIFFERENCE"]


def test_new_words_in_the_descriptor_change_no_answer(survey):
    first = survey.ask("region")
    assert survey.register(label="Survey of hours, revised", reference_date="2027-01-31") == 2
    assert survey.ask("region").decision == first.decision


def test_the_policy_of_the_newest_version_applies_to_the_one_that_answers(survey):
    assert verdict(survey.ask("region", "sex")) == "RELEASED"
    survey.register(moved=1, policy="five-safes", access_level="public")
    answered = survey.ask("region", "sex")
    assert not answered.repeated
    assert answered.decision.version == 1
    assert answered.decision.policy.hash == load_policies()["five-safes"].effective("public", "survey").hash


def test_an_output_of_the_new_version_is_looked_at_by_a_checker(survey):
    """Held against the version before, it would be told which cells differ."""
    survey.ask("region")
    survey.register(come=1)
    output = pb.SubmitOutputRequest(dataset="survey", label="job 1")
    output.rows.add(variable="region", codes=list(REGIONS), cells=[0, 1, 2])
    output.facts.units.extend([201, 200, 200])
    answered = survey.house.facility.submit_output(person("portal", "portal-1"), output, Pace(60.0))
    assert reasons(answered) == ["VERSION_DIFFERENCE"]


def test_a_name_that_no_version_knows_is_told_once_with_all_others(survey):
    survey.ask("region")
    survey.register(moved=1)
    request = table_request(dataset="survey", rows=["regio"])
    with pytest.raises(Exception, match="region"):
        survey.house.facility.query_table(survey.house.researcher, request, Pace(60.0))

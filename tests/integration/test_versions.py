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


def shown(answered) -> dict[str, float | None]:
    """Units by the codes of a table's only dimension; those that nobody lacks are left out."""
    return {code: units for (code,), (units, *_) in cells(answered).items() if code != "_U"}


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

    def register(self, moved=0, gone=0, come=0, longer=0, left=None, **changes):
        """`moved` live elsewhere, `gone` are gone, `come` are new, `longer` work some hours more.

        `left`: how many have left of a region's women ("north f") or men.
        """
        left = dict(left or {})
        with (self.folder / "survey.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["person", "region", "sex", "hours"])
            for one in range(gone, 600 + come):
                region = REGIONS[(one + (100 <= one < 100 + moved)) % 3]
                hours, sex = 20 + one % 21 + (200 <= one < 200 + longer) * (1 + one % 5), "fm"[one // 3 % 2]
                if left.get(f"{region} {sex}", 0) > 0:
                    left[f"{region} {sex}"] -= 1
                else:
                    writer.writerow([f"p{one}", region, sex, hours])
        return self.house.engine.register(descriptor(**changes)).dataset.version

    def ask(self, *rows, **request):
        return self.house.ask(dataset="survey", rows=list(rows), **request)


@pytest.fixture
def survey(tmp_path) -> Survey:
    made = Survey(tmp_path)
    assert made.register() == 1
    return made


FEW = [{"moved": 1}, {"gone": 3}, {"come": 2}, {"longer": 4}, {"moved": 2, "gone": 3, "come": 1, "longer": 3}]


@pytest.mark.parametrize("change", FEW, ids=str)
def test_where_few_differ_every_question_is_answered_from_the_version_before(survey, change):
    first = survey.ask("region")
    assert survey.register(**change) == 2
    again = survey.ask("region")
    assert (again.repeated, again.decision) == (True, first.decision)
    new = survey.ask("region", "sex", figures=["UNITS", "SUM:hours"])
    assert (verdict(new), new.decision.version) == ("RELEASED", 1)
    assert cells(new)["_T", "_T"][0] == 600


def test_a_table_in_each_cell_of_which_enough_changed_or_nobody_leaves_of_the_new_version(survey):
    survey.ask("region")
    survey.register(gone=200)
    answered = survey.ask("region")
    assert (verdict(answered), answered.decision.version) == ("RELEASED", 2)
    assert cells(answered)["_T",] == (400,)


def test_cells_in_which_too_few_changed_are_withheld_and_those_of_all_show_what_did_not_change(survey):
    """Ten persons moved: three or four left each region, and as many came. Nobody changed his sex."""
    survey.ask("region")
    survey.register(moved=MINIMUM)
    answered = survey.ask("region")
    assert (verdict(answered), reasons(answered)) == ("RELEASED_PROTECTED", ["MINIMUM_UNITS"])
    assert shown(answered) == {"north": None, "south": None, "west": None, "_T": 600}
    assert shown(survey.ask("sex")) == {"f": 300, "m": 300, "_T": 600}


def test_who_works_longer_is_told_by_sums_of_hours_and_not_by_counts(survey):
    survey.ask("sex", figures=["UNITS", "SUM:hours"])
    survey.register(longer=12)
    counts = survey.ask("sex", "region")
    assert (verdict(counts), counts.decision.version) == ("RELEASED", 2)
    hours = survey.ask("sex", figures=["UNITS", "SUM:hours"])
    assert verdict(hours) == "RELEASED_PROTECTED"
    assert cells(hours)["f",] == cells(hours)["m",] == (None, None), "six women and six men"
    assert cells(hours)["_T",][1] is not None, "twelve in all"


def test_a_mean_of_an_earlier_version_is_not_known_of_a_later_one_that_has_other_people(tmp_path):
    """Counts of the later version would make a sum of it, which never left, and is another one."""
    survey = Survey(tmp_path)
    bounded = {"measures": [{"name": "hours", "lower_bound": 0, "upper_bound": 60}]}
    survey.register(**bounded)
    survey.ask("sex", figures=["MEAN:hours"])
    survey.register(left={"north f": 2, "west f": 20, "west m": 20}, **bounded)
    assert shown(survey.ask("sex")) == {"f": 278, "m": 280, "_T": 558}
    crossed = survey.ask("region", "sex")
    assert (verdict(crossed), crossed.decision.version) == ("RELEASED_PROTECTED", 2)


def test_a_group_of_withheld_cells_has_enough_who_changed(survey):
    """Two left the north and twenty the west: the south, where nobody did, does not hide the two."""
    survey.ask("region")
    survey.register(left={"north f": 2, "west f": 20})
    assert shown(survey.ask("region")) == {"north": None, "south": 200, "west": None, "_T": 578}


def test_a_cell_that_differs_from_an_earlier_one_by_a_region_where_few_changed_does_not_leave(survey):
    """Twelve women of the north left, and two men: women alone would tell the men, after both together."""
    everybody, women = {"region": ["north"]}, {"region": ["north"], "sex": ["f"]}
    assert [verdict(survey.ask(**one)) for one in (everybody, women)] == ["RELEASED", "RELEASED"]
    survey.register(left={"north f": 12, "north m": 2})
    answers = [survey.ask(**one) for one in (everybody, women)]
    assert [(verdict(one), one.decision.version) for one in answers] == [("RELEASED", 2), ("REFUSED", 2)]
    assert reasons(answers[1]) == ["DIFFERENCING"]


def test_what_was_withheld_of_one_version_is_not_told_by_the_next(survey):
    """Five women of the north are thirty later. What hid the five goes on hiding them."""
    survey.register(left={"north f": 95})
    first = cells(survey.ask("region", "sex"))
    survey.register(left={"north f": 70, "south m": 40})
    second = cells(survey.ask("region", "sex"))
    withheld = {codes for codes, figures in first.items() if figures == (None,)}
    assert withheld
    assert withheld <= {codes for codes, figures in second.items() if figures == (None,)}


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
    assert survey.ask("sex", "region").decision.version == 3
    assert survey.ask("region").repeated is False, "it is a question on the third version now"


def test_a_version_of_which_nothing_has_left_is_answered_for_itself(survey):
    survey.register(come=1)
    assert survey.ask("region").decision.version == 2
    survey.register(come=2)
    assert survey.ask("sex").decision.version == 2


def test_once_two_versions_have_left_the_later_one_answers_where_few_differ_from_it(survey):
    survey.ask("region")
    survey.register(gone=200)
    assert survey.ask("region").decision.version == 2
    survey.register(gone=201)
    answered = survey.ask("sex")
    assert (verdict(answered), answered.decision.version) == ("RELEASED", 2)


def test_a_third_version_is_held_against_both_before_it(survey):
    """Of the north twenty men left, and seventeen came back: three differ from the first version."""
    survey.ask("region")
    survey.register(left={"north m": 20, "west f": 20})
    assert shown(survey.ask("region")) == {"north": 180, "south": 200, "west": 180, "_T": 560}
    survey.register(left={"north m": 3, "west f": 20})
    answered = survey.ask("region")
    assert answered.decision.version == 3
    assert (shown(answered)["north"], shown(answered)["south"]) == (None, 200)


def test_models_and_outputs_of_a_new_version_are_looked_at_by_a_checker(survey):
    survey.ask("region")
    survey.register(gone=200)
    request = pb.QueryStatisticRequest(dataset="survey", kind="STATISTIC_KIND_MEAN", measure="hours")
    answered = survey.house.facility.query_statistic(survey.house.researcher, request, Pace(60.0))
    assert reasons(answered) == ["VERSION_DIFFERENCE"]


def test_of_a_model_of_a_new_version_tables_are_suggested_and_these_are_answered(survey):
    survey.ask("region")
    survey.register(gone=200)
    request = pb.QueryModelRequest(dataset="survey", kind="MODEL_KIND_LINEAR", formula="hours ~ region")

    answered = survey.house.facility.query_model(survey.house.researcher, request, Pace(60.0))

    assert reasons(answered) == ["VERSION_DIFFERENCE"]
    suggestion = answered.decision.reasons[0].suggestion
    assert "ask tables of its variables: they are compared with other versions" in suggestion
    assert reasons(survey.ask("region")) != ["VERSION_DIFFERENCE"]


def test_a_refusal_counts_as_an_answer_of_the_version_before(survey):
    """Where the same is not refused of the next, that tells of who changed."""
    survey.register(left={"north f": 60})
    refused = survey.ask("region", region=["north"], sex=["f"])
    assert reasons(refused) == ["MINIMUM_BASE"]
    assert survey.register(left={"north f": 61}) == 3
    assert survey.ask("sex").decision.version == 2
    assert survey.register(gone=200) == 4
    request = pb.QueryStatisticRequest(dataset="survey", kind="STATISTIC_KIND_MEAN", measure="hours")
    answered = survey.house.facility.query_statistic(survey.house.researcher, request, Pace(60.0))
    assert (reasons(answered), answered.decision.version) == (["VERSION_DIFFERENCE"], 4)


def test_a_refusal_that_needed_no_data_is_no_answer_of_the_version_before(survey):
    survey.register(left={"north f": 60})
    request = pb.QueryModelRequest(dataset="survey", kind="MODEL_KIND_QUANTILE", formula="hours ~ region")
    refused = survey.house.facility.query_model(survey.house.researcher, request, Pace(60.0))
    assert verdict(refused) == "REFUSED"
    assert survey.register(left={"north f": 61}) == 3
    assert survey.ask("sex").decision.version == 3


def test_where_a_variance_has_left_a_checker_looks(survey):
    request = pb.QueryStatisticRequest(dataset="survey", kind="STATISTIC_KIND_VARIANCE", measure="hours")
    answered = survey.house.facility.query_statistic(survey.house.researcher, request, Pace(60.0))
    assert verdict(answered) == "RELEASED"
    survey.register(gone=200)
    assert reasons(survey.ask("region")) == ["VERSION_DIFFERENCE"]


def test_a_variable_whose_codes_occur_in_one_version_only_makes_versions_incomparable(survey):
    survey.register(left={"north f": 100, "north m": 100})
    assert shown(survey.ask("sex")) == {"f": 200, "m": 200, "_T": 400}
    survey.register()
    assert verdict(survey.ask("sex")) == "RELEASED", "the region is in no table yet"
    assert reasons(survey.ask("region")) == ["VERSION_DIFFERENCE"]


@pytest.mark.parametrize(
    "without", [{"unit": {"label": "person"}}, {"holding": {"column": "person"}}], ids=str
)
def test_where_units_cannot_be_recognised_a_checker_looks(survey, without):
    """A line more would make others of all records that follow it."""
    survey.register(left={"north f": 12}, **without)
    survey.ask("region")
    survey.register(left={"north f": 40}, **without)
    assert reasons(survey.ask("region")) == ["VERSION_DIFFERENCE"]


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


def test_a_version_in_which_few_differ_from_the_first_is_not_asked_though_many_do_from_the_second(survey):
    """Those who had gone are back, and one is new: cells that the third would withhold say where she is."""
    survey.ask("region", "sex")
    survey.register(gone=200)
    assert survey.ask("region", "sex").decision.version == 2
    survey.register(come=1)
    answered = survey.ask("sex")
    assert (verdict(answered), answered.decision.version) == ("RELEASED", 2)
    assert shown(answered)["_T"] == 400


@pytest.mark.parametrize("rows", [["region"], ["region", "sex"], ["sex"]], ids=str)
def test_what_a_yearbook_tells_of_a_version_in_which_few_differ_does_not_make_it_answer(survey, rows):
    """It tells that a woman came: the cells that either version would withhold would say where she lives."""
    survey.ask("sex", region=["south", "west"])
    survey.register(come=1)
    asked = pb.EnterKnowledgeRequest(
        dataset="survey", published="Yearbook", figures=[{"statistic": "STATISTIC_UNITS"}]
    )
    asked.rows.add(variable="sex")
    survey.house.facility.enter_knowledge(person("steward", "stefan"), asked, Pace(60.0))
    answered = survey.ask(*rows)
    assert (answered.decision.version, reasons(answered)) == (1, ["VERSION_DIFFERENCE"])

"""A checker's approval of a new version's table waives no comparison with what left of another version."""

import dataclasses

import pytest

from home_panel import HERS, HOLDINGS, HOUSEHOLDS, Panel
from house import cells, person, reasons, table_request, verdict
from sdcgate.facility.errors import Conflict
from sdcgate.facility.pace import Pace
from sdcgate.policy.loading import load_policies
from sdcgate.policy.model import ReviewSetting
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2, table_pb2


@pytest.fixture
def panel(tmp_path) -> Panel:
    made = Panel(tmp_path, **HOUSEHOLDS)
    assert made.register() == 1
    return made


@pytest.fixture
def referred(tmp_path):
    """Holdings are in no record's mark: the second version's table is referred."""
    made = Panel(tmp_path, **HOLDINGS)
    made.register()
    assert verdict(made.ask()) == "RELEASED"
    assert made.register(joined=1) == 2
    answered = made.ask()
    assert (verdict(answered), reasons(answered)) == ("REFERRED", ["VERSION_DIFFERENCE"])
    return made, answered.decision.query


def test_one_more_in_a_household_survey_is_told_by_no_table(panel):
    first = panel.ask()
    assert panel.register(joined=1) == 2
    again = panel.ask()
    assert (again.repeated, again.decision) == (True, first.decision)
    other = panel.ask(columns=["place"])
    assert (verdict(other), other.decision.version) == ("RELEASED_PROTECTED", 1)


def test_of_a_household_survey_cells_in_which_enough_changed_leave(panel):
    panel.ask()
    panel.register(joined=12, homes=12)
    answered = panel.ask()
    assert (verdict(answered), answered.decision.version) == ("RELEASED", 2)
    assert cells(answered)["m",] == cells(panel.ask(sex=["m"]))["_T",]


def test_twelve_of_two_households_are_too_few(panel):
    panel.ask()
    panel.register(joined=12, homes=2)
    assert cells(panel.ask())["f",] == (None, None)


def test_who_joined_without_a_known_home_is_no_home_more(panel):
    panel.ask()
    panel.register(joined=14, homes=2, unknown=2)
    assert cells(panel.ask())["f",] == (None, None)


def test_an_approval_does_not_release_what_could_not_be_compared(referred):
    panel, query = referred
    with pytest.raises(Conflict, match="exception"):
        panel.approve(query)
    assert verdict(panel.seen(query)) == "REFERRED"


def test_an_exception_does_and_the_ledger_keeps_that_it_was_one(referred):
    panel, query = referred
    assert verdict(panel.approve(query, exception=True)) == "RELEASED"
    *_, last = panel.house.ledger.releases("people")
    assert release_pb2.Release.FromString(last.payload).exception


@pytest.mark.parametrize("kind", ["statistic", "model"])
def test_nor_does_it_a_statistic_or_a_model(referred, kind):
    panel, _ = referred
    house = panel.house
    if kind == "statistic":
        asked = pb.QueryStatisticRequest(dataset="people", kind="STATISTIC_KIND_MEAN", measure="income")
        answered = house.facility.query_statistic(house.researcher, asked, Pace(60.0))
    else:
        formula = "income ~ sex + place"
        asked = pb.QueryModelRequest(dataset="people", kind="MODEL_KIND_LINEAR", formula=formula)
        answered = house.facility.query_model(house.researcher, asked, Pace(60.0))
    assert reasons(answered) == ["VERSION_DIFFERENCE"]
    with pytest.raises(Conflict, match="exception"):
        panel.approve(answered.decision.query)
    assert "ask tables of its variables" in answered.decision.reasons[0].suggestion
    released = panel.approve(answered.decision.query, exception=True)
    assert verdict(released).startswith("RELEASED")
    assert not released.alternatives, "it has left: there is nothing to ask in its place"


def test_the_first_of_two_checkers_does_not_approve_without_exception_what_could_not_be_compared(tmp_path):
    policy = load_policies()["israel-cbs"]
    two = {"review": ReviewSetting(pairs_of_eyes=2)}
    levels = {name: level.model_copy(update=two) for name, level in policy.access_levels.items()}
    policies = {policy.name: dataclasses.replace(policy, access_levels=levels)}
    made = Panel(tmp_path, policies, **HOLDINGS)
    made.register()
    made.ask()
    made.register(joined=1)
    query = made.ask().decision.query
    head = made.house.ledger.head()
    with pytest.raises(Conflict, match="exception"):
        made.approve(query)
    assert made.house.ledger.head() == head
    assert verdict(made.approve(query, exception=True)) == "REFERRED"
    second = pb.ReviewQueryRequest(query=query, approve=True, note="ok", exception=True)
    released = made.house.facility.review_query(person("checker", "henry"), second, Pace(60.0))
    assert verdict(released) == "RELEASED"


def test_what_is_referred_for_another_reason_is_compared_when_it_is_approved(tmp_path):
    """The policy refers small populations; that a checker waives, and what few changed stays withheld."""
    made = Panel(tmp_path, access_level="on-site", policy="israel-cbs")
    made.register()
    made.ask()
    made.register(joined=20, homes=20, far=1)
    answered = made.ask(rows=[], place=["c"])
    assert (verdict(answered), answered.decision.version) == ("REFERRED", 2)
    released = made.approve(answered.decision.query)
    assert verdict(released) == "RELEASED_PROTECTED"
    assert [*released.table.statuses] == [table_pb2.CELL_STATUS_WITHHELD]


def test_a_checker_is_shown_the_same_table_of_the_other_version_and_what_left_of_it(referred):
    panel, query = referred
    panel.ask(rows=["place"])
    (other,) = panel.seen(query).checker.other_versions
    sums = other.facts.measures[0].sums
    mine = panel.seen(query).checker.facts.measures[0].sums
    assert (other.dataset, other.version, len(other.queries)) == ("people", 1, 1)
    assert [new - old for new, old in zip(mine, sums, strict=True) if new != old] == [HERS, HERS]


def test_two_checkers_approve_what_an_earlier_version_answers_where_the_newest_ones_policy_says_so(tmp_path):
    one = load_policies()["israel-cbs"]
    update = {"review": ReviewSetting(pairs_of_eyes=2)}
    levels = {name: level.model_copy(update=update) for name, level in one.access_levels.items()}
    both = {one.name: one, "two": dataclasses.replace(one, name="two", access_levels=levels)}
    made = Panel(tmp_path, both, access_level="on-site")
    made.register()
    made.ask()
    made.descriptor["policy"] = "two"
    made.register(joined=1)
    answered = made.ask(rows=[], place=["c"])
    assert (verdict(answered), answered.decision.version) == ("REFERRED", 1)
    assert verdict(made.approve(answered.decision.query)) == "REFERRED"
    second = pb.ReviewQueryRequest(query=answered.decision.query, approve=True, note="ok")
    released = made.house.facility.review_query(person("checker", "henry"), second, Pace(60.0))
    assert verdict(released).startswith("RELEASED")


@pytest.mark.parametrize("kind", ["statistic", "model"])
def test_a_query_that_waits_is_approved_by_the_policy_of_the_newest_version(tmp_path, kind):
    """As tables are: what has become stricter holds for what an earlier version was asked, too."""
    made = Panel(tmp_path, access_level="on-site", policy="israel-cbs")
    made.register()
    facility, ada, pace = made.house.facility, made.house.researcher, Pace(60.0)
    small = table_request(dataset="people", place=["c"]).filter
    if kind == "model":
        asked = pb.QueryModelRequest(
            dataset="people", kind=model_pb2.MODEL_KIND_LINEAR, formula="income ~ sex", filter=small
        )
        answered = facility.query_model(ada, asked, pace)
    else:
        mean = statistic_pb2.STATISTIC_KIND_MEAN
        wanted = pb.QueryStatisticRequest(dataset="people", kind=mean, measure="income", filter=small)
        answered = facility.query_statistic(ada, wanted, pace)
    assert verdict(answered) == "REFERRED"
    made.descriptor |= {"policy": "five-safes", "access_level": "remote"}
    made.register(joined=1)
    assert made.approve(answered.decision.query).policy.name == "five-safes"

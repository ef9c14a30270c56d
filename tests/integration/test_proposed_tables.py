"""Coarser tables in place of one that does not leave whole: judged, promised, and known ever after."""

import pytest

from house import build, cells, reasons, table_request, verdict, with_randhie
from proposals import Ending, answering_once, kept, proposing
from sdcgate.facility import redesign
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

SITE_BY_PLAN = {"rows": ["site"], "columns": ["plan"], "layers": ["female"]}


def policies(consequence="protect", **limits):
    """The bundled policies with proposals of tables, beside one that has few gaps, too."""
    return proposing({"withheld_share": 0.01, "time_limit_ms": 20_000, **limits}, consequence)


def house_with(folder, *, risk=None, **policy):
    return with_randhie(folder, risk=risk, policies=policies(**policy))


def requests_of(answered, **asked):
    """What a researcher asks who takes up the alternatives."""
    for one in answered.decision.alternatives:
        groups = {
            name: [f"{d.variable}:{d.level}" for d in getattr(one, name)]
            for name in ("rows", "columns", "layers")
        }
        yield {**asked, **groups}


def dimensions(answered):
    return [[*request["rows"], *request["columns"], *request["layers"]] for request in requests_of(answered)]


@pytest.mark.parametrize("consequence", ["protect", "refer", "refuse"])
def test_each_proposal_leaves_whole_when_it_is_asked(tmp_path, consequence):
    house = house_with(tmp_path, consequence=consequence)
    answered = house.ask(**SITE_BY_PLAN)
    expected = {"protect": "RELEASED_PROTECTED", "refer": "REFERRED", "refuse": "REFUSED"}
    assert verdict(answered) == expected[consequence]
    assert dimensions(answered) == [["plan:plan", "female:female"], ["site:site", "female:female"]]
    assert all(one.judged for one in answered.decision.alternatives)
    for request in reversed(list(requests_of(answered))):
        assert verdict(house.ask(**request)) == "RELEASED"
    assert house.ledger.verify().ok


def test_a_dimension_under_a_filter_of_its_own_is_coarsened_within_the_filter(tmp_path):
    house = house_with(tmp_path)
    chosen = {"site": ["1", "2"], "year": ["4"]}
    answered = house.ask(rows=["site"], columns=["plan"], layers=["female"], **chosen)
    assert verdict(answered) == "RELEASED_PROTECTED"
    assert dimensions(answered)
    for alternative in answered.decision.alternatives:
        assert {one.variable: [*one.codes] for one in alternative.table.filter} == chosen
        ready = house.facility.query_table(house.researcher, alternative.table, Pace(60.0))
        assert verdict(ready) == "RELEASED"


def test_a_promise_holds_whatever_is_asked_meanwhile_and_the_others_pay(tmp_path):
    """Persons without education differ by few from all of them: who asked first is answered."""
    few = {"rows": ["female"], "site": ["3"], "year": ["2"], "education": [str(code) for code in range(26)]}
    asked = {"rows": ["female"], "columns": ["plan"], "site": ["3"], "year": ["2"]}
    without = house_with(tmp_path / "without", consequence="refuse", proposals=0)
    assert verdict(without.ask(**asked)) == "REFUSED"
    assert verdict(without.ask(**few)) == "RELEASED"
    assert verdict(without.ask(rows=["female"], site=["3"], year=["2"])) == "REFUSED"

    house = house_with(tmp_path / "with", consequence="refuse")
    answered = house.ask(**asked)
    assert dimensions(answered) == [["female:female"]]
    assert reasons(house.ask(**few)) == ["DIFFERENCING"]
    assert verdict(house.ask(rows=["female"], site=["3"], year=["2"])) == "RELEASED"


def test_a_table_that_was_answered_otherwise_is_not_promised(tmp_path):
    house = house_with(tmp_path, consequence="refuse", withheld_share=None)
    gone = {"rows": ["female"], "site": ["3"], "year": ["2"]}
    few = {**gone, "education": [str(code) for code in range(26)]}
    assert verdict(house.ask(**few)) == "RELEASED"
    assert verdict(house.ask(**gone)) == "REFUSED"
    answered = house.ask(rows=["female"], columns=["plan"], site=["3"], year=["2"])
    assert not answered.decision.alternatives


def test_a_proposal_that_left_before_is_proposed_again_and_tells_nothing_new(tmp_path):
    house = house_with(tmp_path, consequence="refuse", proposals=1)
    assert verdict(house.ask(rows=["plan"], columns=["female"])) == "RELEASED"
    before = kept(house)
    answered = house.ask(**SITE_BY_PLAN)
    (proposal,) = requests_of(answered)
    assert proposal == {"rows": ["plan:plan"], "columns": ["female:female"], "layers": []}
    assert kept(house) == before


def test_without_proposals_what_could_be_asked_is_told_unjudged(tmp_path):
    house = house_with(tmp_path, consequence="refuse", proposals=0)
    offered = house.ask(**SITE_BY_PLAN).decision.alternatives
    assert len(offered) == 3
    assert not any(one.judged for one in offered)


def test_a_table_with_few_gaps_gets_none(tmp_path):
    house = house_with(tmp_path, withheld_share=0.9)
    answered = house.ask(**SITE_BY_PLAN)
    assert verdict(answered) == "RELEASED_PROTECTED"
    assert not any(one.judged for one in answered.decision.alternatives)


def test_no_more_are_judged_than_the_policy_allows(tmp_path):
    house = house_with(tmp_path, consequence="refuse", judged=1)
    assert len(house.ask(**SITE_BY_PLAN).decision.alternatives) <= 1


def test_a_service_that_fails_meanwhile_costs_the_proposals_and_not_the_answer(tmp_path):
    house = house_with(tmp_path, risk=answering_once("assess_table"), consequence="refuse")
    answered = house.ask(**SITE_BY_PLAN)
    assert verdict(answered) == "REFUSED"
    assert not any(one.judged for one in answered.decision.alternatives)


@pytest.mark.parametrize("looks", [1, 3, 5, 1000])
def test_a_search_that_the_clock_ends_proposes_nothing_and_not_a_part(looks, tmp_path, monkeypatch):
    house = house_with(tmp_path, consequence="refuse")
    monkeypatch.setattr(redesign, "Deadline", lambda _: Ending(looks))
    proposed = [one.judged for one in house.ask(**SITE_BY_PLAN).decision.alternatives]
    released = kept(house)
    if looks == 1000:
        assert all(proposed)
        assert len(released) == 1
    else:
        assert not any(proposed)
        assert not released


def test_percentages_keep_the_dimensions_that_they_rest_on(tmp_path):
    house = house_with(tmp_path, consequence="refuse")
    answered = house.ask(rows=["site"], columns=["plan"], layers=["female"], figures=["ROW_PERCENT"])
    assert dimensions(answered) == [["plan:plan", "female:female"]]
    (request,) = requests_of(answered, figures=["ROW_PERCENT"])
    assert request["columns"] == ["plan:plan"]
    assert verdict(house.ask(**request)) == "RELEASED"


def test_the_answer_is_the_same_again_and_the_proposals_survive_a_restart(tmp_path):
    house = house_with(tmp_path, consequence="refuse")
    first = house.ask(**SITE_BY_PLAN)
    again = build(tmp_path, policies=policies(consequence="refuse"), engine=house.engine)
    request = table_request(**SITE_BY_PLAN)
    repeated = again.facility.query_table(again.researcher, request, Pace(60.0))
    assert repeated.repeated
    assert repeated.decision == first.decision
    assert isinstance(first.decision, pb.Decision)
    for proposal in requests_of(first):
        found = again.facility.query_table(again.researcher, table_request(**proposal), Pace(60.0))
        assert verdict(found) == "RELEASED"
        assert None not in {figure for figures in cells(found).values() for figure in figures}

"""Who is let at which dataset, for which project and when; and what a key is limited to."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from sqlalchemy import select

from house import COPY, RANDHIE, person, table_request, with_randhie
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.errors import Conflict, Forbidden, InvalidRequest, NotFound
from sdcgate.facility.pace import Pace
from sdcgate.facility.recording import record_of
from sdcgate.facility.scope import acting_for
from sdcgate.ledger.credentials import Caller, Role, Scope
from sdcgate.ledger.events import read_body
from sdcgate.ledger.schema import events
from sdcgate_proto.sdcgate.facility.v1 import admission_pb2, budget_pb2, facility_pb2

ADA, BOB = person("researcher", "ada"), person("researcher", "bob")
STEFAN, OLGA, AUDREY = person("steward", "stefan"), person("operator", "olga"), person("auditor", "audrey")
PORTAL = Caller("key-portal", Role.PORTAL, "portal-1", scope=Scope(acts_for=("ada", "bob")))


@pytest.fixture
def house(tmp_path):
    """A house in which nobody asks without an admission, and a clock that the test turns."""
    house = with_randhie(tmp_path, require_admission=True)
    now = [datetime(2026, 3, 1, 12, tzinfo=UTC)]
    house.ledger._clock = house.ledger._appender._clock = lambda: now[0]
    house.now = now
    return house


def asked(**changes):
    usual = {
        "researchers": ["ada"],
        "datasets": ["randhie"],
        "label": "somebody",
        "valid_from": "2026-01-01",
        "valid_until": "2026-06-30",
    }
    return admission_pb2.RequestAdmissionRequest(**{**usual, **changes})


def admit(house, **changes):
    """An admission that olga requested and stefan approved."""
    found = house.facility.admissions.request(OLGA, asked(**changes))
    return approve(house, found.admission)


def approve(house, admission, **changes):
    request = admission_pb2.ReviewAdmissionRequest(
        admission=admission, **{"approve": True, "note": "seen", **changes}
    )
    return house.facility.admissions.review(STEFAN, request)


def ask(house, caller, project=""):
    request = table_request(rows=["site"])
    request.project = project
    return house.facility.query_table(caller, request, Pace(60.0))


def test_who_is_not_registered_asks_nothing_until_a_steward_has_approved(house):
    with pytest.raises(Forbidden, match="ada is not registered"):
        ask(house, ADA)
    requested = house.facility.admissions.request(ADA, asked())
    assert requested.state == admission_pb2.ADMISSION_STATE_REQUESTED
    with pytest.raises(Forbidden, match="ada is not registered"):
        ask(house, ADA)
    approved = approve(house, requested.admission)
    assert (approved.state, approved.reviewer) == (admission_pb2.ADMISSION_STATE_APPROVED, "stefan")
    assert ask(house, ADA).decision.table.statuses
    with pytest.raises(Forbidden, match="bob is not registered"):
        ask(house, BOB)


def test_every_way_of_asking_and_submitting_needs_the_admission(house):
    facility = house.facility
    ways = {
        "query_table": table_request(rows=["site"]),
        "query_model": facility_pb2.QueryModelRequest(dataset="randhie"),
        "query_statistic": facility_pb2.QueryStatisticRequest(dataset="randhie"),
        "submit_output": facility_pb2.SubmitOutputRequest(dataset="randhie"),
        "submit_files": facility_pb2.SubmittedFiles(dataset="randhie"),
    }
    for name, request in ways.items():
        with pytest.raises(Forbidden, match="not registered"):
            getattr(facility, name)(ADA, request, Pace(60.0))
    with pytest.raises(Forbidden, match="not registered"):
        facility.submit_results(ADA, facility_pb2.ResultsOptions(dataset="randhie"), b"", Pace(60.0))
    with pytest.raises(Forbidden, match="portal-1 is not registered"):
        facility.submit_output(PORTAL, ways["submit_output"], Pace(60.0))


def test_an_admission_lets_in_from_its_first_to_its_last_day(house):
    admit(house)
    first, last = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 6, 30, 23, 59, 59, tzinfo=UTC)
    for moment, lets_in in [
        (first - timedelta(seconds=1), False),
        (first, True),
        (last, True),
        (last + timedelta(seconds=1), False),
    ]:
        house.now[0] = moment
        if lets_in:
            assert ask(house, ADA).decision.query
        else:
            with pytest.raises(Forbidden, match="not for today"):
                ask(house, ADA)


def test_a_clock_that_is_set_back_makes_no_ended_admission_good_again(house):
    admit(house)
    house.now[0] = datetime(2026, 7, 1, tzinfo=UTC)
    with pytest.raises(Forbidden, match="not for today"):
        ask(house, ADA)
    house.now[0] = datetime(2026, 3, 1, tzinfo=UTC)
    with pytest.raises(Forbidden, match="not for today"):
        ask(house, ADA)
    admit(house, valid_from="2026-02-01")
    assert ask(house, ADA).decision.query


def test_what_was_answered_is_not_read_again_after_the_admission_has_ended(house):
    admit(house)
    request = facility_pb2.GetQueryRequest(query=ask(house, ADA).decision.query)
    assert house.facility.get_query(ADA, request.query).decision.query == request.query
    house.now[0] = datetime(2026, 7, 1, tzinfo=UTC)
    with pytest.raises(Forbidden, match="not registered"):
        house.facility.get_query(ADA, request.query)
    assert house.facility.get_query(house.checker, request.query).checker.researcher == "ada"


def test_a_steward_shortens_the_days_and_a_withdrawal_ends_them_at_once(house):
    found = house.facility.admissions.request(OLGA, asked())
    shortened = approve(house, found.admission, valid_until="2026-03-31")
    assert (shortened.valid_from, shortened.valid_until) == ("2026-01-01", "2026-03-31")
    assert ask(house, ADA).decision.query
    withdraw = admission_pb2.WithdrawAdmissionRequest(admission=found.admission, note="contract ended")
    ended = house.facility.admissions.withdraw(OLGA, withdraw)
    assert (ended.state, ended.note) == (admission_pb2.ADMISSION_STATE_WITHDRAWN, "contract ended")
    with pytest.raises(Forbidden, match="not registered"):
        ask(house, ADA)
    with pytest.raises(Conflict, match="decided or withdrawn"):
        approve(house, found.admission)


def test_a_registered_researcher_needs_the_dataset_or_a_project_that_has_it(house):
    admit(house, datasets=[])
    with pytest.raises(Forbidden, match="ada is not admitted to randhie"):
        ask(house, ADA)
    with pytest.raises(Forbidden, match="No project insurance of ada"):
        ask(house, ADA, "insurance")
    admit(house, project="insurance", researchers=["ada", "bob"])
    assert ask(house, ADA, "insurance").decision.query
    with pytest.raises(Forbidden, match="not admitted to randhie"):
        ask(house, ADA)
    with pytest.raises(Forbidden, match="bob is not registered"):
        ask(house, BOB, "insurance")
    admit(house, researchers=["bob"])
    with pytest.raises(Forbidden, match="No project another of bob"):
        ask(house, BOB, "another")


def test_a_project_lets_in_its_researchers_only_and_within_its_days(house):
    admit(house, datasets=[])
    admit(house, researchers=["bob"], datasets=[])
    admit(house, project="insurance", researchers=["bob"], valid_until="2026-03-31")
    assert ask(house, BOB, "insurance").decision.query
    with pytest.raises(Forbidden, match="No project insurance of ada"):
        ask(house, ADA, "insurance")
    house.now[0] = datetime(2026, 4, 1, tzinfo=UTC)
    with pytest.raises(Forbidden, match="No project insurance of bob"):
        ask(house, BOB, "insurance")


def test_nobody_approves_for_himself_or_what_he_requested(house):
    admissions = house.facility.admissions
    own = admissions.request(OLGA, asked(researchers=["stefan"]))
    filed = admissions.request(STEFAN, asked())
    project = admissions.request(OLGA, asked(project="p", researchers=["ada", "stefan"]))
    for found in (own, filed, project):
        with pytest.raises(Forbidden, match="Nobody decides"):
            approve(house, found.admission)
    for caller in (ADA, OLGA, AUDREY, PORTAL, house.checker):
        with pytest.raises(Forbidden, match="needs the role steward"):
            admissions.review(caller, admission_pb2.ReviewAdmissionRequest(admission=own.admission))
    with pytest.raises(NotFound, match="no admission a-0"):
        approve(house, "a-0")
    limited = replace(person("steward", "sara"), scope=Scope(datasets=("census",)))
    with pytest.raises(Forbidden, match="dataset census only"):
        admissions.review(limited, admission_pb2.ReviewAdmissionRequest(admission=filed.admission))


def test_researchers_request_for_themselves_and_see_their_own(house):
    admissions = house.facility.admissions
    with pytest.raises(InvalidRequest, match="researchers: You request for yourself"):
        admissions.request(BOB, asked())
    mine = admissions.request(ADA, asked())
    ours = admissions.request(PORTAL, asked(project="p", researchers=["ada", "bob"]))
    acted = admissions.request(acting_for(PORTAL, "ada"), asked())
    assert (ours.requested_by, acted.requested_by) == ("portal-1", "portal-1")
    everything = [mine.admission, ours.admission, acted.admission]

    def seen(caller, **how):
        found = admissions.listed(caller, admission_pb2.ListAdmissionsRequest(**how))
        return sorted(one.admission for one in found.admissions)

    assert seen(ADA) == sorted(everything)
    assert seen(BOB) == [ours.admission]
    assert seen(PORTAL) == sorted(everything[1:])
    assert seen(STEFAN) == seen(OLGA) == seen(AUDREY) == sorted(everything)
    assert seen(person("researcher", "eve")) == []
    approve(house, mine.admission)
    assert seen(STEFAN, states=[admission_pb2.ADMISSION_STATE_APPROVED]) == [mine.admission]
    first = admissions.listed(STEFAN, admission_pb2.ListAdmissionsRequest(page_size=2))
    rest = admission_pb2.ListAdmissionsRequest(page_size=2, page_token=first.next_page_token)
    last = admissions.listed(STEFAN, rest)
    listed = [one.admission for one in (*first.admissions, *last.admissions)]
    assert (sorted(listed), last.next_page_token) == (sorted(everything), "")


def test_a_request_that_is_sent_again_is_the_one_that_waits_and_after_its_decision_a_new_one(house):
    admissions = house.facility.admissions
    first = admissions.request(ADA, asked())
    assert admissions.request(ADA, asked()).admission == first.admission
    others = [asked(label="somebody else"), asked(valid_until="2026-07-01"), asked(datasets=[])]
    assert len({admissions.request(ADA, one).admission for one in others} | {first.admission}) == 4
    assert admissions.request(OLGA, asked()).admission != first.admission
    approve(house, first.admission)
    assert admissions.request(ADA, asked()).admission != first.admission


def test_a_researcher_gives_up_his_own_admission_only(house):
    admissions = house.facility.admissions
    mine, project = admit(house), admit(house, project="p")
    end = lambda found: admission_pb2.WithdrawAdmissionRequest(admission=found.admission, note="done")  # noqa: E731
    with pytest.raises(NotFound):
        admissions.withdraw(BOB, end(mine))
    with pytest.raises(Forbidden, match="steward or an operator"):
        admissions.withdraw(ADA, end(project))
    assert admissions.withdraw(ADA, end(mine)).state == admission_pb2.ADMISSION_STATE_WITHDRAWN


def test_all_that_is_wrong_with_a_request_is_told_at_once(house):
    wrong = asked(researchers=["ada", "bob"], datasets=["randhie", "census"], valid_until="2025-01-01")
    with pytest.raises(InvalidRequest) as caught:
        house.facility.admissions.request(OLGA, wrong)
    assert {problem.path for problem in caught.value.problems} == {
        "valid_until",
        "researchers",
        "datasets[1]",
    }
    with pytest.raises(InvalidRequest, match="datasets"):
        house.facility.admissions.request(OLGA, asked(project="p", datasets=[]))
    with pytest.raises(InvalidRequest, match="valid_from"):
        house.facility.admissions.request(OLGA, asked(valid_from="2026-02-30"))


def test_a_portal_acts_for_the_researchers_whom_its_key_names_and_their_admissions_count(house):
    as_ada = acting_for(PORTAL, "ada")
    with pytest.raises(Forbidden, match="ada is not registered"):
        ask(house, as_ada)
    admit(house)
    decision = ask(house, as_ada).decision
    assert house.facility.get_query(ADA, decision.query).decision.query == decision.query
    seen = house.facility.get_query(house.checker, decision.query).checker
    assert (seen.researcher, seen.portal) == ("ada", "portal-1")
    with house.ledger.reading() as connection:
        bodies = [read_body(body) for body in connection.scalars(select(events.c.body))]
    (recorded,) = [body for body in bodies if body["kind"] == "decision"]
    assert (recorded["researcher"], recorded["portal"], recorded["author"]) == (
        "ada",
        "portal-1",
        "key-portal",
    )
    record = record_of(house.ledger.query(decision.query))
    assert record.checker.portal == "portal-1"


def test_nobody_else_acts_for_others_and_a_portal_for_nobody_else(house):
    with pytest.raises(Forbidden, match="act for this researcher"):
        acting_for(PORTAL, "eve")
    with pytest.raises(Forbidden, match="act for this researcher"):
        acting_for(person("portal", "portal-2"), "ada")
    for role in set(Role) - {Role.PORTAL}:
        with pytest.raises(Forbidden, match="Only portals"):
            acting_for(Caller("key", role, "x", scope=Scope(acts_for=("*",))), "ada")
    anybody = Caller("key", Role.PORTAL, "portal-3", scope=Scope(acts_for=("*",), datasets=("randhie",)))
    found = acting_for(anybody, "eve")
    assert (found.role, found.researcher, found.portal) == (Role.RESEARCHER, "eve", "portal-3")
    assert found.scope.datasets == ("randhie",)


def test_a_key_for_some_datasets_and_projects_is_for_no_others(tmp_path):
    house = with_randhie(tmp_path)
    other = replace(ADA, scope=Scope(datasets=("census",)))
    mine = replace(ADA, scope=Scope(datasets=("randhie", "census"), projects=("p1", "p2")))
    with pytest.raises(Forbidden, match="for dataset census only"):
        ask(house, other)
    with pytest.raises(Forbidden, match="for projects p1, p2 only; name it"):
        ask(house, mine)
    query = ask(house, mine, "p1").decision.query
    facility = house.facility
    assert [one.query for one in facility.list_queries(mine, facility_pb2.ListQueriesRequest()).queries] == [
        query
    ]
    assert not facility.list_queries(other, facility_pb2.ListQueriesRequest()).queries
    assert not facility.list_datasets(other).datasets
    for refused in (
        lambda: facility.get_query(other, query),
        lambda: facility.get_query(replace(house.checker, scope=Scope(datasets=("census",))), query),
        lambda: facility.get_dataset(other, "randhie"),
        lambda: facility.review_query(
            replace(house.checker, scope=Scope(datasets=("census",))),
            facility_pb2.ReviewQueryRequest(query=query, note="x"),
            Pace(60.0),
        ),
        lambda: facility.comment_query(
            replace(house.checker, scope=Scope(datasets=("census",))),
            facility_pb2.CommentQueryRequest(query=query, text="x"),
        ),
        lambda: facility.get_policy(other, facility_pb2.GetPolicyRequest(dataset="randhie")),
        lambda: facility.get_policy(other, facility_pb2.GetPolicyRequest(query=query)),
        lambda: facility.get_budget(other, budget_pb2.GetBudgetRequest(dataset="randhie")),
        lambda: facility.assess_dataset(
            replace(STEFAN, scope=Scope(datasets=("census",))),
            facility_pb2.AssessDatasetRequest(dataset="randhie"),
        ),
    ):
        with pytest.raises(Forbidden, match="census only"):
            refused()


def test_pages_of_a_key_for_some_datasets_are_full_and_name_no_query_of_others(tmp_path):
    house = with_randhie(tmp_path)
    described = {**yaml.safe_load(RANDHIE.read_text()), "name": "copy", "source": "copy", **COPY}
    house.engine.register(parse_descriptor(described))
    own, others = [], []
    for row in ("site", "female", "child"):
        own.append(house.ask(rows=[row]).decision.query)
        others.append(house.ask(dataset="copy", rows=[row]).decision.query)
    limited = replace(house.checker, scope=Scope(datasets=("randhie",)))
    first = house.facility.list_queries(limited, facility_pb2.ListQueriesRequest(page_size=2))
    assert [one.query for one in first.queries] == own[:0:-1]
    assert first.next_page_token == own[1]
    rest = facility_pb2.ListQueriesRequest(page_size=2, page_token=first.next_page_token)
    last = house.facility.list_queries(limited, rest)
    assert ([one.query for one in last.queries], last.next_page_token) == (own[:1], "")


def test_a_token_that_no_page_gave_is_an_error_and_no_empty_page(tmp_path):
    facility = with_randhie(tmp_path).facility
    for list_them, request in (
        (facility.list_queries, facility_pb2.ListQueriesRequest(page_token="q-01")),
        (facility.admissions.listed, admission_pb2.ListAdmissionsRequest(page_token="zz")),
    ):
        with pytest.raises(InvalidRequest) as refused:
            list_them(STEFAN if list_them == facility.admissions.listed else AUDREY, request)
        assert [problem.path for problem in refused.value.problems] == ["page_token"]


def test_an_auditor_reads_all_queries_as_their_researchers_do_and_decides_nothing(tmp_path):
    house = with_randhie(tmp_path)
    decision = ask(house, ADA).decision
    facility = house.facility
    (summary,) = facility.list_queries(AUDREY, facility_pb2.ListQueriesRequest()).queries
    assert (summary.query, summary.researcher) == (decision.query, "ada")
    seen = facility.get_query(AUDREY, decision.query)
    assert seen.decision == decision
    assert not seen.HasField("checker")
    for refused in (
        lambda: ask(house, AUDREY),
        lambda: facility.review_query(AUDREY, facility_pb2.ReviewQueryRequest(), Pace(60.0)),
        lambda: facility.submit_output(AUDREY, facility_pb2.SubmitOutputRequest(), Pace(60.0)),
        lambda: facility.admissions.request(AUDREY, asked()),
        lambda: facility.admissions.withdraw(AUDREY, admission_pb2.WithdrawAdmissionRequest()),
    ):
        with pytest.raises(Forbidden, match="needs the role"):
            refused()

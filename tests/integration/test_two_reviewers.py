"""Two pairs of eyes: what is referred leaves when a second checker approves it, where the policy says so."""

import dataclasses

import pytest

from house import Pace, person, verdict, with_randhie
from printed_results import CHART
from sdcgate.facility.errors import Conflict
from sdcgate.facility.results.deciding import ResultQueries
from sdcgate.ledger.approvals import Approval, Approvals
from sdcgate.ledger.errors import NotReferred
from sdcgate.policy.loading import load_policies
from sdcgate.policy.model import ReviewSetting
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    policy = load_policies()["israel-cbs"]
    two = {"review": ReviewSetting(pairs_of_eyes=2)}
    levels = {name: level.model_copy(update=two) for name, level in policy.access_levels.items()}
    policies = {policy.name: dataclasses.replace(policy, access_levels=levels)}
    made = with_randhie(tmp_path_factory.mktemp("house"), policies=policies)
    yield made
    made.facility.close()


def submitted(house, content=CHART):
    options = pb.ResultsOptions(dataset="randhie", name="chart.png")
    answer = house.facility.submit_results(person("portal", "portal-1"), options, content, Pace(60))
    return answer.outputs[0].decision


def review(house, query, checker, approve=True, exception=True, note="seen"):
    request = pb.ReviewQueryRequest(query=query, approve=approve, note=note, exception=exception)
    return house.facility.review_query(person("checker", checker), request, Pace(60))


def test_the_first_approval_leaves_it_referred_and_the_second_releases_it(house):
    query = submitted(house).query
    assert verdict(review(house, query, "grace")) == "REFERRED"
    assert verdict(submitted(house)) == "REFERRED"
    seen = house.facility.get_query(person("checker", "henry"), query)
    assert seen.checker.approved_by == "grace"
    released = review(house, query, "henry")
    assert verdict(released) == "RELEASED"
    assert [file.name for file in released.files.files] == ["chart.png"]
    assert verdict(submitted(house)) == "RELEASED"
    assert house.ledger.verify().ok


def test_nobody_is_both_pairs_of_eyes_and_both_approve_the_same(house):
    query = submitted(house, CHART + b"2").query
    assert verdict(review(house, query, "grace")) == "REFERRED"
    with pytest.raises(Conflict, match="a second checker"):
        review(house, query, "grace", note="seen again")
    with pytest.raises(Conflict, match="with `exception`"):
        review(house, query, "henry", exception=False)
    assert verdict(house.facility.get_query(house.checker, query).decision) == "REFERRED"


def test_one_checker_is_enough_to_refuse(house):
    query = submitted(house, CHART + b"3").query
    assert verdict(review(house, query, "grace")) == "REFERRED"
    assert verdict(review(house, query, "henry", approve=False)) == "REFUSED"
    assert verdict(review(house, submitted(house, CHART + b"4").query, "grace", approve=False)) == "REFUSED"


def test_a_first_approval_that_comes_again_is_recorded_once_and_is_still_the_first(house):
    query = submitted(house, CHART + b"5").query
    assert verdict(review(house, query, "grace")) == "REFERRED"
    head = house.ledger.head()
    assert verdict(review(house, query, "grace")) == "REFERRED"
    assert house.ledger.head() == head
    assert verdict(review(house, query, "henry")) == "RELEASED"


def take_back(house, query, checker):
    request = pb.ReviewQueryRequest(query=query, take_back=True, note="not so")
    return house.facility.review_query(person("checker", checker), request, Pace(60))


def seen_approval(house, query):
    return house.facility.get_query(person("checker", "irene"), query).checker.approved_by


def test_what_may_leave_by_exception_only_is_not_approved_without_one_by_the_first_checker(house):
    query = submitted(house, CHART + b"6").query
    head = house.ledger.head()
    with pytest.raises(Conflict, match="with `exception`"):
        review(house, query, "grace", exception=False)
    assert house.ledger.head() == head
    assert verdict(review(house, query, "grace")) == "REFERRED"
    assert verdict(review(house, query, "henry")) == "RELEASED"


def test_an_output_that_is_not_bound_is_not_approved_without_exception_by_the_first_checker(house):
    request = pb.SubmitOutputRequest(dataset="randhie", label="job 1")
    request.rows.add(variable="nowhere", codes=["1"], cells=[0])
    request.facts.units.append(40)
    query = house.facility.submit_output(person("portal", "portal-1"), request, Pace(60)).decision.query
    with pytest.raises(Conflict, match="with `exception`"):
        review(house, query, "grace", exception=False)
    assert not seen_approval(house, query)
    assert verdict(review(house, query, "grace")) == "REFERRED"
    assert verdict(review(house, query, "henry")) == "RELEASED"


def test_who_approved_first_may_take_it_back_and_approve_anew(house):
    query = submitted(house, CHART + b"7").query
    assert verdict(review(house, query, "grace")) == "REFERRED"
    assert verdict(take_back(house, query, "grace")) == "REFERRED"
    assert not seen_approval(house, query)
    head = house.ledger.head()
    assert verdict(take_back(house, query, "grace")) == "REFERRED"
    assert house.ledger.head() == head
    # The second is now the first, and one is not enough.
    assert verdict(review(house, query, "henry")) == "REFERRED"
    assert seen_approval(house, query) == "henry"
    assert verdict(review(house, query, "grace", note="seen anew")) == "RELEASED"
    with pytest.raises(Conflict, match="RELEASED"):
        take_back(house, query, "henry")
    assert house.ledger.verify().ok


def test_nobody_takes_back_what_another_approved(house):
    query = submitted(house, CHART + b"8").query
    review(house, query, "grace")
    with pytest.raises(Conflict, match="You have not approved it"):
        take_back(house, query, "henry")
    assert seen_approval(house, query) == "grace"


def test_an_approval_of_before_that_lacks_the_exception_it_needs_counts_for_nothing(house):
    query = submitted(house, CHART + b"9").query
    Approvals(house.ledger).append(Approval(query, "grace", "key-grace", "fine"))
    assert verdict(review(house, query, "henry")) == "REFERRED"
    assert seen_approval(house, query) == "henry"
    assert verdict(review(house, query, "grace")) == "RELEASED"


def test_a_first_approval_that_is_taken_back_while_the_second_is_judged_releases_nothing(house, monkeypatch):
    query = submitted(house, CHART + b"10").query
    review(house, query, "grace")
    judge = ResultQueries.review

    def slowly(self, *words):
        take_back(house, query, "grace")
        return judge(self, *words)

    monkeypatch.setattr(ResultQueries, "review", slowly)
    with pytest.raises(NotReferred, match="taken back a moment ago"):
        review(house, query, "henry")
    assert verdict(house.facility.get_query(house.checker, query).decision) == "REFERRED"

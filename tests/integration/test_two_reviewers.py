"""Two pairs of eyes: what is referred leaves when a second checker approves it, where the policy says so."""

import dataclasses

import pytest

from house import Pace, person, verdict, with_randhie
from printed_results import CHART
from sdcgate.facility.errors import Conflict
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

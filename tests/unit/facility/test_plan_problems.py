"""What is wrong with a request for a table: all at once, with public names only, in little time."""

import time

import pytest

from house import table_request
from sdcgate.engine import Engine, parse_descriptor
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.model_plan import make_model_plan
from sdcgate.facility.plan import MOST_TOLD, make_plan, unknown
from sdcgate.policy.loading import load_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2

CODES = [{"code": code} for code in ("north", "south", "west")]
DESCRIPTOR = {
    "name": "people",
    "data": {"path": "people.csv"},
    "design": {"coverage": "CENSUS"},
    "variables": [
        {"name": "region", "identifying": "YES", "levels": [{"codes": CODES}]},
        {"name": "place", "identifying": "YES", "levels": [{"integers": {"first": 0, "last": 49_999}}]},
    ],
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    (folder / "people.csv").write_text("region,place\nnorth,1\nsouth,2\n")
    engine = Engine(folder, folder / "store", bytes(32))
    yield engine.register(parse_descriptor(DESCRIPTOR)).dataset
    engine.close()


def plan(dataset, **request):
    policy = load_policy("israel-cbs").effective("remote", "people")
    return make_plan(dataset, policy, table_request("people", **request))


def problems(dataset, **request):
    with pytest.raises(InvalidRequest) as caught:
        plan(dataset, **request)
    return {problem.path: problem.message for problem in caught.value.problems}


def test_a_variable_is_filtered_once_even_where_the_first_condition_leaves_all_in(dataset):
    everything = ["north", "south", "west", "_U"]
    for first, second in ((everything, ["north"]), (["north"], everything), (["north"], ["south"])):
        request = table_request("people")
        for codes in (first, second):
            request.filter.add(variable="region", codes=codes)
        with pytest.raises(InvalidRequest) as caught:
            make_plan(dataset, load_policy("israel-cbs").effective("remote", "people"), request)
        (problem,) = caught.value.problems
        assert problem.path == "filter[1].variable"
        assert "put all its codes into one condition" in problem.message


@pytest.mark.parametrize("kind", [0, 99, -(2**31)])
def test_a_model_of_no_kind_is_told_with_all_else_that_is_wrong(dataset, kind):
    policy = load_policy("israel-cbs").effective("remote", "people")
    request = facility_pb2.QueryModelRequest(kind=kind, formula="nobody ~ region", weighted=True)
    with pytest.raises(InvalidRequest) as caught:
        make_model_plan(dataset, policy, request)
    assert [problem.path for problem in caught.value.problems] == ["formula", "kind"]


def test_ten_thousand_unknown_codes_are_told_in_a_second(dataset):
    began = time.process_time()
    found = problems(dataset, place=[f"{number}x" for number in range(10_000)])
    assert time.process_time() - began < 5
    assert len(found) == MOST_TOLD + 1
    assert found["filter[0].codes"] == f"{10_000 - MOST_TOLD} more codes are unknown."


def test_ten_thousand_known_codes_are_found_in_a_second(dataset):
    began = time.process_time()
    made = plan(dataset, place=[str(number) for number in range(0, 50_000, 5)])
    assert time.process_time() - began < 5
    assert len(made.filters[0].codes) == 10_000


def test_the_nearest_names_of_long_lists_are_those_that_begin_alike():
    known = [str(number) for number in range(50_000)]
    assert "Did you mean 49" in unknown("code", "49x", known)
    listed = unknown("code", "x" * 1_000_000, known)
    assert listed.startswith("There is no code of this name. There are 0, ")
    assert listed.endswith(" and 49988 more.")
    assert unknown("code", "9", ["1", "2", "_U"]) == "There is no code of this name. There are 1, 2, _U."
    twenty = [f"{letter}{letter}{letter}{letter}" for letter in "abcdefghijklmnopqrst"]
    assert unknown("code", "tzzz", twenty).startswith("There is no code of this name. There are tttt, ")
    assert unknown("code", "tzzz", twenty).endswith(" and 8 more.")
    assert unknown("code", "sout", ["north", "south"]) == "There is no code of this name. Did you mean south?"

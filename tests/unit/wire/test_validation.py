import math
import time

from sdcgate.wire.problems import FieldProblem, together
from sdcgate.wire.validation import texts_with_nul, violations
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2
from sdcgate_proto.sdcgate.types.v1 import policy_pb2


def test_violated_constraints_come_with_paths():
    request = facility_pb2.QueryTableRequest(
        dataset="d",
        rows=[facility_pb2.DimensionRequest(variable="a"), facility_pb2.DimensionRequest()],
        figures=[facility_pb2.FigureRequest()],
        filter=[facility_pb2.FilterRequest(variable="x")],
    )
    found = {problem.path: problem.message for problem in violations(request)}
    assert set(found) == {"rows[1].variable", "figures[0].statistic", "filter[0].codes"}
    assert all(found.values())


def test_a_good_envelope_has_none():
    assert violations(facility_pb2.QueryTableRequest(dataset="d")) == []


def test_an_enum_that_is_none_is_told_with_the_names_that_are():
    request = facility_pb2.QueryTableRequest(dataset="d", figures=[facility_pb2.FigureRequest(statistic=77)])
    (problem,) = violations(request)
    assert problem.path == "figures[0].statistic"
    assert problem.message.startswith("must be one of UNITS, RECORDS, ")
    (problem,) = violations(facility_pb2.ListQueriesRequest(verdicts=[1, 0, 2]))
    assert (problem.path, problem.message) == (
        "verdicts[1]",
        "must be one of RELEASED, RELEASED_PROTECTED, REFERRED, REFUSED",
    )


def test_a_bound_that_is_infinite_is_none():
    rules = policy_pb2.Rules(
        minimum_households=policy_pb2.Rules.MinimumHouseholds(households=math.inf, consequence=1),
        equal_values=policy_pb2.Rules.EqualValues(tolerance=math.inf, consequence=1),
    )
    paths = [problem.path for problem in violations(rules)]
    assert paths == ["minimum_households.households", "equal_values.tolerance"]


def test_of_lists_that_are_too_long_the_length_is_the_only_problem_and_found_at_once():
    request = facility_pb2.QueryTableRequest(
        rows=[facility_pb2.DimensionRequest() for _ in range(200_000)],
        filter=[facility_pb2.FilterRequest(codes=["x"] * 10_001)],
    )
    began = time.process_time()
    found = {problem.path: problem.message for problem in violations(request)}
    assert time.process_time() - began < 1
    assert found == {
        "rows": "has 200000 items; at most 16 are taken",
        "filter[0].codes": "has 10001 items; at most 10000 are taken",
    }


def test_of_one_place_the_houses_words_are_told_and_nothing_twice():
    own = [FieldProblem("figures[0].measure", "Name a measure."), FieldProblem("rows[1].level", "?")]
    envelope = [FieldProblem("figures[0].measure", "too long"), FieldProblem("figures", "too many"),
                FieldProblem("rows[1]", "is needed"), FieldProblem("rows[10].level", "long")]  # fmt: skip
    assert together(own, envelope) == [*own, *envelope[1:]]
    assert together([], envelope) == envelope


def test_a_nul_character_is_told_wherever_it_stands():
    request = facility_pb2.QueryTableRequest(
        dataset="d",
        project="a\0b",
        rows=[facility_pb2.DimensionRequest(variable="a"), facility_pb2.DimensionRequest(variable="\0")],
        filter=[facility_pb2.FilterRequest(variable="x", codes=["1", "\0"])],
    )
    assert {problem.path for problem in texts_with_nul(request)} == {
        "project",
        "rows[1].variable",
        "filter[0].codes[1]",
    }
    review = facility_pb2.ReviewQueryRequest(query="\0", note="\0")
    assert [str(problem) for problem in texts_with_nul(review)] == [
        "query: must not have a NUL character",
        "note: must not have a NUL character",
    ]

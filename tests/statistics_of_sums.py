"""Statistics that sums suffice for, asked of two houses, one of which may be kept from reading records."""

from collections.abc import Sequence
from typing import Any

from house import House, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2


def questions_of_sums() -> list[tuple[pb.QueryStatisticRequest, int]]:
    """Questions for statistics of the RAND data that sums suffice for, each with how many figures it has."""

    def question(kind: str, groups: Sequence[str] = (), factors: Sequence[str] = (), **asked: Any) -> Any:
        named = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
        found = pb.QueryStatisticRequest(dataset="randhie", kind=named, **asked)
        for names, field in ((groups, found.groups), (factors, found.factors)):
            for name in names:
                field.add(variable=name)
        return found

    women = pb.FilterRequest(variable="female", codes=["1"])
    three = ["meddol", "outpdol", "mdvis"]
    both = ["female", "child"]
    return [
        (question("CORRELATIONS", measures=three, filter=[women]), 6),
        (question("CORRELATIONS", ["site"], measures=three), 6),
        (question("PRINCIPAL_COMPONENTS", ["female"], measures=three), 12),
        (question("T_TEST", ["site"], measure="meddol", having=women), 3),
        (question("ANALYSIS_OF_VARIANCE", factors=both, measure="mdvis"), 14),
        (question("CHI_SQUARED_TEST", factors=both), 3),
    ]


def no_records(*_: object) -> None:
    """In the place of what reads records."""
    raise AssertionError("records were read")


def agree(here: House, there: House, seconds: float) -> None:
    """Assert that both houses decide each question alike, with the same figures to the last bit."""
    for question, figures in questions_of_sums():
        one, other = (
            house.facility.query_statistic(house.researcher, question, Pace(seconds)).decision
            for house in (here, there)
        )
        assert (verdict(one), reasons(one)) == (verdict(other), reasons(other))
        assert one.statistic == other.statistic
        assert len(other.statistic.figures) == figures

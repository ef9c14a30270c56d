"""Printed figures of statistics that are checked elsewhere, from messages to what judges them, and back."""

from sdcgate.methods.cells import BoolArray
from sdcgate.methods.outputs.printed_statistics import (
    FigureProblem,
    PrintedFigure,
    figure_problems,
    is_percentile,
)
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.wire.statistic_facts import StatisticToAssess
from sdcgate.wire.tables import floats
from sdcgate_proto.sdcgate.risk.v1 import statistics_pb2 as pb


def printed_problems(
    request: pb.AssessStatisticRequest, asked: StatisticToAssess, found: StatisticAssessment
) -> tuple[FigureProblem, ...]:
    """What is wrong with the printed figures of a request; nothing where there are none."""
    figures = tuple(PrintedFigure(one.name, tuple(one.groups), floats(one.values)) for one in request.printed)
    groups = len(asked.facts.table)
    # A finding on a percentile is about that one, and one on anything else about all that is told of a group.
    percentiles = {one.name for one in asked.facts.percentiles}
    unsafe: dict[str, BoolArray] = {"": StatisticAssessment(()).unsafe(groups)}
    for finding in found.findings:
        if finding.measure not in percentiles:
            unsafe[""] |= StatisticAssessment((finding,)).unsafe(groups)
    for name in percentiles:
        unsafe[name] = unsafe[""] | found.unsafe(groups, name)
    unknown = tuple(
        FigureProblem(one.name, (), "is a percentile of which no units are given")
        for one in figures
        if is_percentile(one.name) and one.name not in percentiles
    )
    return unknown + figure_problems(asked.statistic, figures, unsafe, request.significant_digits)


def add_printed(
    response: pb.AssessStatisticResponse,
    request: pb.AssessStatisticRequest,
    problems: tuple[FigureProblem, ...],
) -> pb.AssessStatisticResponse:
    """The answer, with what was found of the printed figures; none of them is verified."""
    for problem in problems:
        response.printed.add(figure=problem.figure, groups=problem.groups, message=problem.message)
    response.unverified.extend(unverified(request))
    return response


def unverified(request: pb.AssessStatisticRequest) -> tuple[str, ...]:
    """Names of the printed figures that show anything."""
    return tuple(one.name for one in request.printed if one.values or one.codes)

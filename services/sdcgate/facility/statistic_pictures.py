"""Curves of a statistic that leaves, and drawings of them: made from what was released, after it was."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from sdcgate.facility.statistic_computing import Hexagons, limited, rounded
from sdcgate.facility.statistic_kinds import DRAWN_FROM
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.statistics import StatisticInHand
from sdcgate.methods.cells import TOTAL, BoolArray
from sdcgate.methods.outputs import pictures
from sdcgate.methods.outputs.distributions import box_plot, density, histogram
from sdcgate.methods.outputs.percentiles import Percentiles
from sdcgate.methods.outputs.shapes import Labels, names_of
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

START = {"survival": 1.0, "cumulative_hazard": 0.0}
"""Heights of curves that are drawn as steps, before the first step."""


def curves_and_pictures(
    hand: StatisticInHand,
    found: StatisticAssessment,
    withheld: BoolArray,
    digits: int,
    hexagons: Mapping[int, Hexagons],
    message: statistic_pb2.GroupedStatistic,
) -> None:
    """Add the curves of the groups that show anything, and drawings where they were asked for."""
    if hand.plan.picture:
        for groups, svg in _steps(hand, message):
            message.pictures.add(groups=groups, svg=svg)
    released = hand.computed.released(found) if hand.computed is not None else None
    if released is None:
        return
    shown = np.flatnonzero(~withheld).tolist()
    drawings = list(_of_groups(hand, released, shown, digits, hexagons, message))
    if hand.plan.statistic is Statistic.BOX_PLOT:
        boxes = box_plot(rounded(released, digits))
        boxes = replace(boxes, medians=np.where(withheld, np.nan, boxes.medians))
        boxed = np.flatnonzero(np.isfinite(boxes.medians)).tolist()
        if boxed:
            drawings.append((boxed, pictures.box_plot_picture(boxes, group_names(hand), _labels(hand, ""))))
    if hand.plan.picture:
        for groups, svg in drawings:
            message.pictures.add(groups=groups, svg=svg)


def tell_what_is_not_drawn(plan: StatisticPlan, message: statistic_pb2.GroupedStatistic) -> None:
    """Say of which groups there is no drawing, and why; it follows from what leaves."""
    if not plan.picture:
        return
    drawn = {group for picture in message.pictures for group in picture.groups}
    message.not_drawn.extend(group for group in range(len(message.statuses)) if group not in drawn)
    if message.not_drawn or not message.pictures:
        needed = DRAWN_FROM.get(plan.statistic, "figures")
        message.not_drawn_because = (
            f"A group is drawn from {needed}; of these groups too little leaves, or nobody is in them."
        )


def computed_curves(
    hand: StatisticInHand,
    found: StatisticAssessment,
    withheld: BoolArray,
    digits: int,
    message: statistic_pb2.GroupedStatistic,
) -> None:
    """Add curves that are computed from records, of the groups whose figures leave."""
    if hand.computed is None or not hand.computed.curves:
        return
    shown = np.isfinite(hand.computed.figures[0].shown(found)) & ~withheld
    for curve in hand.computed.curves:
        if shown[curve.group] and len(curve.x):
            x, y = limited(curve.x, digits), limited(curve.y, digits)
            message.curves.add(group=curve.group, name=curve.name, x=x, y=y)


def _steps(hand: StatisticInHand, message: statistic_pb2.GroupedStatistic) -> Iterator[tuple[list[int], str]]:
    """Drawings of the curves of survival in the message."""
    names = group_names(hand)
    for curve in message.curves:
        if curve.name in START:
            x, y, labels = np.array(curve.x), np.array(curve.y), _labels(hand, names[curve.group])
            yield [curve.group], pictures.step_picture(x, y, START[curve.name], labels)


def _of_groups(
    hand: StatisticInHand,
    released: Percentiles,
    shown: list[int],
    digits: int,
    hexagons: Mapping[int, Hexagons],
    message: statistic_pb2.GroupedStatistic,
) -> Iterator[tuple[list[int], str]]:
    """Drawings of single groups, their curves added to the message."""
    names = group_names(hand)
    leaving = rounded(released, digits)
    for group in shown:
        labels = _labels(hand, names[group])
        match hand.plan.statistic:
            case Statistic.HISTOGRAM if (bins := histogram(leaving, group)) is not None:
                message.curves.add(group=group, name="edges", x=bins.edges.tolist(), y=bins.shares.tolist())
                yield [group], pictures.histogram_picture(bins, labels)
            case Statistic.DENSITY if (curve := density(leaving, group)) is not None:
                x, y = limited(curve.values, digits), limited(curve.densities, digits)
                message.curves.add(group=group, name="density", x=x, y=y)
                yield [group], pictures.density_picture(curve, labels)
            case Statistic.LORENZ_CURVE if (there := np.isfinite(leaving.lorenz[group])).any():
                x, y = np.array(leaving.points)[there].tolist(), leaving.lorenz[group][there].tolist()
                message.curves.add(group=group, name="lorenz_curve", x=x, y=y)
                yield [group], pictures.lorenz_picture(leaving.points, leaving.lorenz[group], labels)
            case Statistic.HEXAGONAL_BINS if group in hexagons and len(hexagons[group].bins.x):
                yield from _hexagons(hand, group, hexagons[group], digits, message)


def _hexagons(
    hand: StatisticInHand,
    group: int,
    found: Hexagons,
    digits: int,
    message: statistic_pb2.GroupedStatistic,
) -> Iterator[tuple[list[int], str]]:
    bins = found.bins
    message.curves.add(
        group=group,
        name="hexagons",
        x=limited(bins.x, digits),
        y=limited(bins.y, digits),
        units=bins.units.tolist(),
    )
    yield [group], pictures.hexagon_picture(bins, found.grid, _labels(hand, group_names(hand)[group]))


def group_names(hand: StatisticInHand) -> list[str]:
    """Names of the groups: their codes' labels, joined."""
    axes = hand.cells.table.axes[: len(hand.plan.groups)]
    labels = [
        [
            name
            for code, name in zip(axis.codes, names_of(axis.codes, axis.labels), strict=True)
            if code != TOTAL
        ]
        for axis in axes
    ]
    names = [""]
    for listed in labels:
        names = [f"{name}, {label}" if name else label for name in names for label in listed]
    return names


def _labels(hand: StatisticInHand, title: str) -> Labels:
    measures = hand.plan.measures
    if hand.plan.statistic is Statistic.BOX_PLOT:
        return Labels(title, y=measures[0])
    return Labels(title, x=measures[0], y=measures[1] if len(measures) > 1 else "")

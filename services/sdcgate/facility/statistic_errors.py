"""Standard errors of the percentiles that leave, made from these after it was decided that they do."""

import numpy as np

from sdcgate.facility.statistic_computing import rounded
from sdcgate.facility.statistics import StatisticInHand
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.outputs.percentile_errors import percentile_errors
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.wire.models import significant
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2


def add_percentile_errors(
    hand: StatisticInHand,
    found: StatisticAssessment,
    withheld: BoolArray,
    digits: int,
    message: statistic_pb2.GroupedStatistic,
) -> None:
    """Add error and coefficient of variation of each percentile, and flag those that are too uncertain.

    Flagged is one with a coefficient of variation above the policy's limit, of a group with fewer units than
    the policy wants, or where the design allows no error at all.
    """
    computed = hand.computed
    released = computed.released(found) if computed is not None else None
    if computed is None or released is None or released.share_errors is None:
        return
    leaving = rounded(released, digits)
    errors, rule = percentile_errors(leaving), hand.plan.rules
    with np.errstate(divide="ignore", invalid="ignore"):
        variation = errors / np.abs(leaving.values)
    shown = np.isfinite(leaving.values) & ~withheld[:, None]
    uncertain = (variation > rule.reliability.coefficient_of_variation) & (errors > 0)
    uncertain |= ~np.isfinite(released.share_errors)
    uncertain |= (computed.facts.table.units < rule.reliability.units)[:, None]
    percentiles = {figure.name: figure for figure in message.figures}
    for place, fact in enumerate(leaving.facts()):
        percentiles[fact.name].unreliable.extend(
            np.flatnonzero(uncertain[:, place] & shown[:, place]).tolist()
        )
        for name, values in (("standard_error", errors), ("coefficient_of_variation", variation)):
            there = np.flatnonzero(np.isfinite(values[:, place]) & shown[:, place])
            if not len(there):
                continue
            message.figures.add(
                name=f"{name}({fact.name})",
                groups=there.tolist(),
                values=[significant(float(values[group, place]), digits) for group in there],
            )
    message.unreliable.extend(np.flatnonzero((uncertain & shown).any(axis=1)).tolist())

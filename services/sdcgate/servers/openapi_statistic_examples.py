"""Examples of statistics in the OpenAPI document."""

from typing import Any

from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.risk.v1 import statistics_pb2
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, statistic_pb2

ASKED: dict[str, Any] = {
    "kind": "PERCENTILES",
    "measure": "meddol",
    "groups": [{"variable": "site"}],
    "filter": [{"variable": "year", "codes": ["1"]}],
    "project": "demo",
}

ASSESSED: dict[str, Any] = {
    "kind": "PERCENTILES",
    "facts": {
        "groups": {"units": [120, 14], "records": [120, 14]},
        "percentiles": [{"point": 0.5, "window_units": [10, 10], "side_units": [55, 2]}],
    },
    "rules": {"cells": {"minimum_units": {"units": 10, "consequence": "PROTECT"}}},
}


def computed() -> statistic_pb2.GroupedStatistic:
    """A statistic as it leaves."""
    return from_value(
        {
            "kind": "PERCENTILES",
            "measure": "meddol",
            "dimensions": [
                {
                    "variable": "site",
                    "level": "site",
                    "codes": ["1", "2"],
                    "parents": [-1, -1],
                    "cells": [0, 1],
                }
            ],
            "statuses": ["PUBLISHED", "WITHHELD"],
            "figures": [{"name": "P50", "groups": [0], "values": [43.12]}],
        },
        statistic_pb2.GroupedStatistic,
    )


def assessed() -> statistics_pb2.AssessStatisticResponse:
    """What the rules find in the example."""
    return statistics_pb2.AssessStatisticResponse(
        findings=[
            policy_pb2.Finding(
                rule=policy_pb2.REASON_CODE_PERCENTILE_UNITS,
                consequence=policy_pb2.CONSEQUENCE_PROTECT,
                cells=[1],
                measure="P50",
                bound=10,
            )
        ]
    )


def with_statistic(decision: pb.Decision) -> pb.Decision:
    """A decision that releases a statistic in place of its table."""
    decision.ClearField("table")
    decision.ClearField("alternatives")
    decision.statistic.CopyFrom(computed())
    return decision

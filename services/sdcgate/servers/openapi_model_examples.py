"""Examples of models in the OpenAPI document."""

from typing import Any

from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.risk.v1 import models_pb2
from sdcgate_proto.sdcgate.types.v1 import model_pb2, policy_pb2

ASKED: dict[str, Any] = {
    "kind": "LINEAR",
    "formula": "meddol ~ female + numeric(age)",
    "filter": [{"variable": "year", "codes": ["1"]}],
    "project": "demo",
}

ASSESSED: dict[str, Any] = {
    "facts": {
        "units": 120,
        "records": 120,
        "parameters": 2,
        "residual_degrees": 118,
        "columns": [
            {"name": "Intercept", "term": 0, "units_apart": 0, "largest_shares": [0.01], "dfbetas": 0.2},
            {"name": "region[T.s]", "term": 1, "units_apart": 4, "largest_shares": [0.26], "dfbetas": 0.9},
        ],
        "terms": [{"text": "1"}, {"text": "region", "units": [116, 4], "saturated": True}],
        "maximum_leverage": 0.25,
        "r_squared": 0.31,
        "exact_share": 0.0,
    },
    "rules": {
        "residual_degrees": {"count": 10, "consequence": "REFUSE"},
        "categories": {"count": 10, "consequence": "PROTECT"},
        "influence": {"largest": 1, "share": 0.5, "consequence": "REFUSE"},
    },
}


def fitted() -> model_pb2.Model:
    """A model as it leaves."""
    return from_value(
        {
            "kind": "LINEAR",
            "formula": "meddol ~ 1 + female + numeric(age)",
            "coefficients": [
                {
                    "name": "Intercept",
                    "status": "PUBLISHED",
                    "estimate": 8.412,
                    "standard_error": 21.3,
                    "statistic": 0.395,
                    "p_value": 0.6929,
                    "lower": -33.34,
                    "upper": 50.16,
                },
                {"name": "female[T.1]", "status": "WITHHELD"},
            ],
            "units": 5620,
            "records": 5620,
            "residual_degrees": 5620,
            "fit": [{"statistic": "R_SQUARED", "value": 0.02213}],
        },
        model_pb2.Model,
    )


def assessed() -> models_pb2.AssessModelResponse:
    """What the rules find in the example."""
    return models_pb2.AssessModelResponse(
        findings=[
            models_pb2.ModelFinding(
                rule=policy_pb2.REASON_CODE_MINIMUM_UNITS,
                consequence=policy_pb2.CONSEQUENCE_PROTECT,
                columns=[1],
                terms=[1],
                figure=4,
                bound=10,
            )
        ]
    )


def instead() -> pb.Alternative:
    """A model that could be asked in place of another one."""
    asked = pb.QueryModelRequest(
        dataset="randhie",
        kind=model_pb2.MODEL_KIND_LINEAR,
        formula='meddol ~ 1 + C(household_size, level="groups")',
    )
    return pb.Alternative(model=asked, judged=True)


def with_model(decision: pb.Decision) -> pb.Decision:
    """A decision that releases a model in place of its table."""
    decision.ClearField("table")
    decision.ClearField("alternatives")
    decision.alternatives.append(instead())
    decision.model.CopyFrom(fitted())
    return decision

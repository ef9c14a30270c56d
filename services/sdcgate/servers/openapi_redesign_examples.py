"""Examples of the OpenAPI document: a table that is redesigned."""

from typing import Any

from sdcgate_proto.sdcgate.protection.v1 import redesign_pb2

REDESIGNED: dict[str, Any] = {
    "dimensions": [
        {"variable": "region", "codes": ["n", "s", "w", "_T"]},
        {"variable": "size", "codes": ["1-9", "10-49", "50+", "_T"]},
    ],
    "facts": {"units": [22, 14, 2, 38, 21, 12, 9, 42, 27, 16, 11, 54, 70, 42, 22, 134]},
    "rules": {"minimum_units": {"units": 5, "consequence": "PROTECT"}},
    "mergeable": ["size"],
    "time_limit_ms": 5000,
}
"""A table with one small cell; classes of size may be joined with their neighbours."""


def redesigned() -> redesign_pb2.RedesignTableResponse:
    """The two larger classes of size together, or sizes alone."""
    sizes = [
        redesign_pb2.DesignCategory(code="1-9", codes=["1-9"]),
        redesign_pb2.DesignCategory(code="10-49..50+", codes=["10-49", "50+"]),
    ]
    regions = [redesign_pb2.DesignCategory(code=code, codes=[code]) for code in "nsw"]
    design = redesign_pb2.TableDesign(
        dimensions=[
            redesign_pb2.DesignDimension(variable="region", categories=regions),
            redesign_pb2.DesignDimension(variable="size", categories=sizes),
        ],
        loss=0.1396,
        entropy=2.5635,
        cells=6,
    )
    alone = [redesign_pb2.DesignCategory(code=code, codes=[code]) for code in ("1-9", "10-49", "50+")]
    sizes_alone = redesign_pb2.TableDesign(
        dimensions=[redesign_pb2.DesignDimension(variable="size", categories=alone)],
        dropped=["region"],
        loss=0.516,
        entropy=1.442,
        cells=3,
    )
    return redesign_pb2.RedesignTableResponse(designs=[design, sizes_alone], finished=True, judged=2)

import json

import pytest

from sdcgate.methods.cells import Axis
from sdcgate.wire.dimensions import axes_to_messages
from sdcgate.wire.json import to_json
from sdcgate.wire.table_json import SHAPES, table_to_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2
from sdcgate_proto.sdcgate.types.v1 import table_pb2

SITE = Axis("site", "site", ("1", "2", "_T"), (2, 2, -1), labels=("One", "Two", "Total"))
AGE = Axis("age", "broad", ("0-39", "40+"), (-1, -1))
PUBLISHED, WITHHELD, ABSENT = 1, 2, 3


def table(axes=(SITE, AGE), statuses=(2, 1, 2, 1, 1, 3), figures=None):
    if figures is None:
        figures = [
            table_pb2.Figure(statistic=1, values=[7, 43, 5, 52, 12, 95]),
            table_pb2.Figure(
                statistic=6,
                measure="meddol",
                values=[1, 99.1, 2, 93.4, 0, 3],
                defined=[True] * 4 + [False, True],
            ),
        ]
    return table_pb2.Table(
        dimensions=axes_to_messages(axes, with_cells=True), figures=figures, statuses=statuses
    )


def test_a_table_goes_by_column_as_the_design_shows_it():
    value = table_to_value(table())
    assert value["dimensions"] == [
        {
            "variable": "site",
            "level": "site",
            "column": "site",
            "codes": ["1", "2", "_T"],
            "labels": ["One", "Two", "Total"],
        },
        {"variable": "age", "level": "broad", "column": "age", "codes": ["0-39", "40+"]},
    ]
    assert value["figures"] == [
        {"statistic": "UNITS", "measure": "", "column": "units"},
        {"statistic": "MEAN", "measure": "meddol", "column": "mean_meddol"},
    ]
    assert value["columns"] == {
        "site": [0, 0, 1, 1, 2, 2],
        "age": [0, 1, 0, 1, 0, 1],
        "units": [None, 43, None, 52, 12, None],
        "mean_meddol": [None, 99.1, None, 93.4, None, None],
        "status": ["WITHHELD", "PUBLISHED", "WITHHELD", "PUBLISHED", "PUBLISHED", "ABSENT"],
    }


def test_no_value_of_a_withheld_or_absent_cell_is_in_the_body():
    figures = [table_pb2.Figure(statistic=1, values=[777001, 43, 777002, 52, 12, 777003])]
    decision = facility_pb2.Decision(table=table(figures=figures))
    assert b"7770" not in to_json(decision, SHAPES)


def test_counts_have_no_decimal_point():
    decision = facility_pb2.Decision(table=table())
    assert b'"units":[null,43,null,52,12,null]' in to_json(decision, SHAPES)


def test_no_two_columns_share_a_name():
    axes = (
        Axis("units", "a", ("1",), (-1,)),
        Axis("age", "a", ("1",), (-1,)),
        Axis("age", "b", ("1",), (-1,)),
        Axis("status", "a", ("1",), (-1,)),
    )
    figures = [table_pb2.Figure(statistic=1, values=[4]), table_pb2.Figure(statistic=1, values=[4])]
    value = table_to_value(table(axes, statuses=[1], figures=figures))
    assert list(value["columns"]) == ["units", "age", "age_2", "status_2", "units_2", "units_3", "status"]
    assert [dimension["column"] for dimension in value["dimensions"]] == ["units", "age", "age_2", "status_2"]
    assert [figure["column"] for figure in value["figures"]] == ["units_2", "units_3"]


@pytest.mark.parametrize(
    "broken",
    [
        table(statuses=[1, 1]),
        table(statuses=[0, 1, 1, 1, 1, 1]),
        table(statuses=[9, 1, 1, 1, 1, 1]),
        table(figures=[table_pb2.Figure(statistic=1, values=[1])]),
        table(figures=[table_pb2.Figure(statistic=0, values=[1] * 6)]),
        table(figures=[table_pb2.Figure(statistic=6, values=[1] * 6, defined=[True])]),
    ],
)
def test_half_a_table_is_never_sent(broken):
    with pytest.raises(ValueError, match=r"differ|unspecified"):
        table_to_value(broken)


def test_a_decision_without_a_table_has_none():
    assert "table" not in json.loads(to_json(facility_pb2.Decision(), SHAPES))

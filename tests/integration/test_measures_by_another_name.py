"""Measures that are a variable or another measure by another name, and what measures that add up tell."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from house import House, build, cells, model_request, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

Row = dict[str, str | float]
CODES = {"town": ("t1", "t2"), "children": "0123", "kind": "abcd"}
NAMES = ("town", "children", "kind", "offspring", "monthly", "yearly", "visits", "drugs", "expenses")
ENDS = {"lower_bound": 0, "upper_bound": 2_000_000, "decimals": 2}
MEASURES = [{"name": name, **ENDS} for name in NAMES[3:]]
OTHERS = {"dataset": "people", "rows": ["town"], "kind": ["a", "b", "c"]}


def people() -> list[Row]:
    """Three hundred, of whom fourteen of t1 are of kind d, and one of these has nearly all that they have."""
    made = []
    for number in range(300):
        children, of_kind_d = number % 4, number < 28 and number % 2 == 0
        monthly = 90_000.0 if number == 0 else 100.0 + number if of_kind_d else 1_000.0 + 7 * number
        made.append(
            {
                "town": ("t1", "t2")[number % 2],
                "children": str(children),
                "kind": "d" if of_kind_d else "abc"[number % 3],
                "offspring": float(children),
                "monthly": monthly,
                "yearly": 12 * monthly,
                "visits": 400.0 + number**2 % 977,
                "drugs": monthly,
                "expenses": 400.0 + number**2 % 977 + monthly,
            }
        )
    return made


def housed(folder: Path, *measures: str, change: Callable[[int, Row], None] = lambda *_: None) -> House:
    """A house that knows these measures of the people only."""
    rows = people()
    for number, row in enumerate(rows):
        change(number, row)
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, NAMES)
        writer.writeheader()
        writer.writerows(rows)
    house = build(folder)
    house.engine.register(people_descriptor(CODES, [one for one in MEASURES if one["name"] in measures]))
    return house


def sums(house: House, measure: str, **request):
    return house.ask(
        **{"dataset": "people", "rows": ["town"], "figures": ["UNITS", f"SUM:{measure}"], **request}
    )


def test_a_measure_that_a_variable_decides_is_told_by_that_variable_alone(tmp_path):
    house = housed(tmp_path, "offspring", "monthly")
    table = sums(house, "offspring")
    (reason,) = table.decision.reasons
    assert (verdict(table), reasons(table)) == ("REFUSED", ["NOT_ALLOWED"])
    assert "offspring is the code of children" in reason.message
    assert reason.suggestion.startswith("Leave offspring out and ask counts by children")
    for kind in ("MEAN", "VARIANCE", "PERCENTILES", "MAXIMUM", "GINI"):
        asked = {"dataset": "people", "kind": kind, "measure": "offspring", "groups": [{"variable": "town"}]}
        request = from_value(asked, pb.QueryStatisticRequest)
        found = house.facility.query_statistic(house.researcher, request, Pace(60.0))
        assert (verdict(found), reasons(found)) == ("REFUSED", ["NOT_ALLOWED"]), kind
    for formula in ("offspring ~ town", "monthly ~ offspring"):
        request = model_request(formula, dataset="people")
        found = house.facility.query_model(house.researcher, request, Pace(60.0))
        assert (verdict(found), reasons(found)) == ("REFUSED", ["NOT_ALLOWED"]), formula
    assert verdict(house.ask(dataset="people", rows=["town"], columns=["children"])) == "RELEASED"
    house.facility.close()


def test_that_all_of_a_code_have_one_value_is_not_told(tmp_path):
    """Whoever knows his own value would know that of all of his code."""

    def by_children(number: int, row: Row) -> None:
        row["offspring"] = {"0": 7.0, "1": 3.0, "2": 9.0, "3": 4.0}[str(row["children"])]

    table = sums(housed(tmp_path, "offspring", change=by_children), "offspring")
    (reason,) = table.decision.reasons
    assert (verdict(table), reasons(table)) == ("REFUSED", ["MINIMUM_UNITS"])
    assert "children" not in reason.message + reason.suggestion
    assert "offspring" not in reason.message


@pytest.mark.parametrize(("exceptions", "refused"), [(9, True), (10, False)])
def test_fewer_exceptions_than_a_cell_must_have_units_change_nothing(tmp_path, exceptions, refused):
    def other(number: int, row: Row) -> None:
        if number < exceptions:
            row["offspring"] = 3.0 - float(row["offspring"])

    asked = sums(housed(tmp_path, "offspring", change=other), "offspring")
    assert (verdict(asked) == "REFUSED") == refused


def test_a_measure_of_many_values_or_hardly_any_other_than_one_is_a_measure(tmp_path):
    def rare(number: int, row: Row) -> None:
        row["offspring"] = float(number % 23 == 0)

    assert verdict(sums(housed(tmp_path, "offspring", "monthly", change=rare), "offspring")) == "RELEASED"


def test_a_measure_in_another_unit_is_told_by_the_first_one_alone(tmp_path):
    house = housed(tmp_path, "monthly", "yearly")
    assert cells(sums(house, "monthly"))[("t1",)][0] == 150
    twin = sums(house, "yearly", **OTHERS)
    (reason,) = twin.decision.reasons
    assert (verdict(twin), reasons(twin)) == ("REFUSED", ["NOT_ALLOWED"])
    assert reason.message == "In all records of people yearly is monthly in another unit."
    assert reason.suggestion == "Ask monthly in place of yearly."
    assert reasons(sums(house, "monthly", **OTHERS)) == ["DIFFERENCING"]


def test_a_dominated_difference_of_the_last_part_is_not_told_by_the_whole_and_the_other(tmp_path):
    house = housed(tmp_path, "visits", "drugs", "expenses")
    assert verdict(sums(house, "drugs")) == "RELEASED"
    assert verdict(sums(house, "expenses", **OTHERS)) == "RELEASED"
    last = sums(house, "visits", **OTHERS)
    assert (verdict(last), reasons(last)) == ("REFUSED", ["DIFFERENCING"])

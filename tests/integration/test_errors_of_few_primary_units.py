"""Standard errors of a design: of two primary units in a stratum they tell both totals."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from house import House, build, model_request, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

DRAWN = {"r1": {"a": 60, "b": 5}, "r2": {f"p{number}": 12 for number in range(11)}}
"""People of each primary unit: of one of r1 there are five, r2 has eleven units."""
DESIGN = {"coverage": "SAMPLE", "stratum": "region", "psu": "psu"}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder: Path = tmp_path_factory.mktemp("house")
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "region", "psu", "ill", "income", "weight"])
        number = 0
        for region, units in DRAWN.items():
            for unit, people in units.items():
                for _ in range(people):
                    number += 1
                    writer.writerow([number, region, unit, number % 3 // 2, 1000 + number**2 % 3001, 10])
    made = build(folder)
    codes = {"region": [*DRAWN], "psu": [unit for units in DRAWN.values() for unit in units], "ill": "01"}
    income = {"name": "income", "lower_bound": 0, "upper_bound": 5000}
    weight = {"column": "weight", "decimals": 0}
    made.engine.register(people_descriptor(codes, [income], weight=weight, design=DESIGN))
    yield made
    made.facility.close()


def asked(house: House, kind: str, **more) -> pb.Decision:
    body = {"dataset": "people", "kind": kind, "groups": [{"variable": "region"}], **more}
    request = from_value(body, pb.QueryStatisticRequest)
    return house.facility.query_statistic(house.researcher, request, Pace(60.0)).decision


INCOME = {"measure": "income"}
KINDS = [
    *((kind, INCOME) for kind in ("TOTAL", "MEAN", "VARIANCE", "GINI", "PERCENTILES", "LORENZ_CURVE")),
    ("PROPORTION", {"having": {"variable": "ill", "codes": ["1"]}}),
]


@pytest.mark.parametrize(("kind", "of"), KINDS, ids=[kind for kind, _ in KINDS])
def test_errors_of_fewer_primary_units_than_a_cell_must_have_units_are_not_shown(house, kind, of):
    """The five people of b have 11,000 by the total of r1 and its error, to three digits."""
    found = asked(house, kind, standard_errors=True, **of)
    of_figures = {figure.name: list(figure.groups) for figure in found.statistic.figures}
    assert not any(0 in groups for groups in of_figures.values()), of_figures
    assert any("standard_error" in name for name in of_figures)
    alone = asked(house, kind, standard_errors=True, filter=[{"variable": "region", "codes": ["r1"]}], **of)
    assert (verdict(alone), reasons(alone)[-1]) == ("REFUSED", "IMPLIED_TABLE")
    assert "without errors" in alone.reasons[-1].suggestion
    assert verdict(asked(house, kind, **of)) == "RELEASED"


def test_models_have_no_errors_of_so_few_primary_units(house):
    request = model_request("income ~ 1", dataset="people", region=["r1"])
    assert verdict(house.facility.query_model(house.researcher, request, Pace(60.0))) == "RELEASED"
    request.weighted = True
    found = house.facility.query_model(house.researcher, request, Pace(60.0))
    assert (verdict(found), reasons(found)) == ("REFUSED", ["RESIDUAL_DEGREES"])

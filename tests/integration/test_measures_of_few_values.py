"""Correlations of measures of two values, from records and by sums: tables of these by another name."""

import numpy as np
import pandas as pd
import pytest

import sdcgate.engine.engine as engines
from house import build, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2
from statistics_of_sums import no_records

PEOPLE, EACH = 1000, 60


@pytest.mark.parametrize("where", ["records", "sums"])
@pytest.mark.parametrize("kind", ["CORRELATIONS", "PRINCIPAL_COMPONENTS"])
@pytest.mark.parametrize(("both", "decided"), [(3, ("REFUSED", ["IMPLIED_TABLE"])), (20, ("RELEASED", []))])
def test_few_who_have_both_are_not_told(tmp_path, monkeypatch, where, kind, both, decided) -> None:
    """Of 60 with one benefit and 60 with another three, or twenty, have both."""
    if where == "sums":
        monkeypatch.setattr(engines, "SUMS_FROM", 0)
        monkeypatch.setattr(engines.Engine, "records", no_records)
    at = np.arange(PEOPLE)
    one, other = at < EACH, (at >= EACH - both) & (at < 2 * EACH - both)
    frame = pd.DataFrame({"id": at, "rent": one * 1, "heat": other * 1, "sex": at % 2})
    frame.to_csv(tmp_path / "people.csv", index=False)
    house = build(tmp_path, policy="five-safes")
    measures = [
        {"name": name, "decimals": 0, "lower_bound": 0, "upper_bound": 1} for name in ("rent", "heat")
    ]
    house.engine.register(
        people_descriptor({"sex": "01"}, measures, unit={"column": "id", "label": "person"})
    )
    asked = pb.QueryStatisticRequest(
        dataset="people",
        kind=statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}"),
        measures=["rent", "heat"],
    )

    answered = house.facility.query_statistic(house.researcher, asked, Pace(60.0))

    assert (verdict(answered), reasons(answered)) == decided
    house.facility.close()

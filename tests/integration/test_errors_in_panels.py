"""Standard errors in a panel are of people's totals: who has much in every year is told by them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import House, build, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

YEARS = range(1, 6)
COST = {"name": "cost", "decimals": 1, "lower_bound": 0, "upper_bound": 50_000}


def people(regions: dict[str, int], high: bool = True, most: float = 55, seed: int = 5) -> pd.DataFrame:
    """People of regions over five years; with `high` the first of region a has some ten times as much.

    In other regions they have up to `most`.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for region, number in regions.items():
        for person in range(number):
            base = rng.uniform(25, 55 if region == "a" else most)
            base = 400 if high and (region, person) == ("a", 0) else base
            noise = rng.uniform(-8, 8, len(YEARS))
            rows += [
                (f"{region}{person}", region, f"y{year}", round(base + own, 1))
                for year, own in zip(YEARS, noise, strict=True)
            ]
    return pd.DataFrame(rows, columns=["id", "region", "year", "cost"])


def made(folder: Path, frame: pd.DataFrame) -> House:
    frame.to_csv(folder / "people.csv", index=False)
    house = build(folder, policy="five-safes")
    year = {
        "name": "year",
        "identifying": "NO",
        "varies_within_unit": True,
        "levels": [{"codes": [{"code": f"y{year}"} for year in YEARS]}],
    }
    more = {"unit": {"column": "id"}, "panel": True, "wave": "year"}
    codes = {"region": sorted(frame["region"].unique())}
    house.engine.register(people_descriptor(codes, [COST], [year], **more))
    return house


def asked(house: House, kind: str, **more: Any) -> pb.Decision:
    body = {"dataset": "people", "kind": kind, "measure": "cost", **more}
    request = from_value(body, pb.QueryStatisticRequest)
    return house.facility.query_statistic(house.researcher, request, Pace(120.0)).decision


BY_REGION = {"groups": [{"variable": "region"}]}


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("TOTAL", {"standard_errors": True}),
        ("MEAN", {"standard_errors": True}),
        ("VARIANCE", {}),
    ],
    ids=["total", "mean", "variance"],
)
def test_a_person_who_is_high_in_every_year_is_not_told_within_ten_percent(
    tmp_path: Path, kind: str, more: dict[str, Any]
) -> None:
    """By Samuelson's bound nobody of a had more than 2,035 in all where she had 2,000."""
    house = made(tmp_path, people({"a": 60, "b": 60, "c": 60}))
    found = asked(house, kind, **more, **BY_REGION)
    shown = {group for figure in found.statistic.figures for group in figure.groups}
    house.facility.close()
    assert verdict(found) == "RELEASED_PROTECTED"
    assert 0 not in shown
    assert shown


def test_errors_of_ordinary_people_in_a_panel_are_shown(tmp_path: Path) -> None:
    house = made(tmp_path, people({"a": 60, "b": 60, "c": 60}, high=False))
    for kind in ("TOTAL", "MEAN"):
        found = asked(house, kind, standard_errors=True, **BY_REGION)
        assert verdict(found) == "RELEASED", (kind, reasons(found))
        figures = {one.name: list(one.groups) for one in found.statistic.figures}
        assert figures["standard_error"] == [0, 1, 2]
    house.facility.close()


@pytest.mark.parametrize(("kind", "more"), [("HERFINDAHL", {}), ("TOTAL", {"standard_errors": True})])
def test_two_populations_do_not_tell_one_total_of_those_who_are_in_one_only(
    tmp_path: Path, kind: str, more: dict[str, Any]
) -> None:
    """The squares of all less those of b are those of the thirteen of a."""
    house = made(tmp_path, people({"a": 13, "b": 200}, most=200))
    everybody = asked(house, kind, **more)
    others = asked(house, kind, **more, filter=[{"variable": "region", "codes": ["b"]}])
    house.facility.close()
    assert verdict(everybody) == "RELEASED"
    assert (verdict(others), reasons(others)) == ("REFUSED", ["DIFFERENCING"])

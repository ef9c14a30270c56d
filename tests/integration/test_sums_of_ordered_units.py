"""What statistics of the order of units tell together: Lorenz curves, concentration ratios, hexagons.

A Lorenz curve and a concentration ratio are sums over runs of ordered units once the total is known; so what
two of them tell of one population, or one of two, is a sum over the units in which they differ.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from house import House, build, cells, people_descriptor, verdict
from sdcgate.facility import statistics
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.pace import Pace
from sdcgate.methods.rules import Consequence, Finding, ReasonCode
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2


def registered(folder: Path, frame: pd.DataFrame, measures: dict[str, int], **more) -> House:
    """People by region with measures of so many at most."""
    if "id" not in frame:
        frame = frame.assign(id=[f"p{number}" for number in range(len(frame))])
    frame.to_csv(folder / "people.csv", index=False)
    house = build(folder, policy="five-safes")
    described = [
        {"name": name, "decimals": 0, "lower_bound": 0, "upper_bound": most}
        for name, most in measures.items()
    ]
    unit = {"column": "id", "label": "person"}
    house.engine.register(people_descriptor({"region": ("n", "s")}, described, unit=unit, **more))
    return house


def asked(house: House, kind: str, measure: str, groups=(), second: str = "", region: str = "", errors=False):
    """The answer to a question about a statistic."""
    number = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    request = pb.QueryStatisticRequest(dataset="people", kind=number, measure=measure, second=second)
    request.standard_errors = errors
    for name in groups:
        request.groups.add(variable=name)
    if region:
        request.filter.add(variable="region", codes=[region])
    return house.facility.query_statistic(house.researcher, request, Pace(60.0))


def figures(answer, group: int = 0) -> dict[str, float]:
    """What is told of a group, by name."""
    told = [
        (one.name, dict(zip(one.groups, one.values, strict=True)))
        for one in answer.decision.statistic.figures
    ]
    return {name: values[group] for name, values in told if group in values}


@pytest.fixture
def uneven(tmp_path) -> House:
    """160 incomes, of which eleven are above the window of the 90th percentile."""
    values = np.round(np.random.default_rng(4).lognormal(6, 0.6, 160))
    regions = np.random.default_rng(5).choice(["n", "s"], 160)
    return registered(tmp_path, pd.DataFrame({"region": regions, "income": values}), {"income": 50_000})


def test_the_share_above_the_uppermost_window_leaves_unless_the_ten_largest_have_left(uneven):
    alone = figures(asked(uneven, "LORENZ_CURVE", "income"))
    assert alone["P90"] > alone["P75"]
    # The ten largest would tell the eleventh.
    assert verdict(asked(uneven, "CONCENTRATION_RATIO", "income")) == "REFUSED"


def test_and_is_kept_back_once_they_have_with_everything_else_shown(uneven):
    assert figures(asked(uneven, "CONCENTRATION_RATIO", "income")) == {"concentration_ratio": 0.1738}
    answer = asked(uneven, "LORENZ_CURVE", "income")
    assert verdict(answer) == "RELEASED_PROTECTED"
    assert "P90" not in figures(answer)
    assert {"P25", "P50", "P75"} <= figures(answer).keys()
    # Their windows hold none of the ten.
    assert verdict(asked(uneven, "PERCENTILES", "income")).startswith("RELEASED")


def test_what_a_curve_tells_of_squares_is_known_though_a_point_of_it_is_kept_back(uneven, monkeypatch):
    point = Finding(ReasonCode.DIFFERENCING, Consequence.PROTECT, (0,), "P25")
    monkeypatch.setattr(statistics, "audited_windows", lambda *_: ((point,), ()))
    answer = asked(uneven, "LORENZ_CURVE", "income", errors=True)
    assert "standard_error(P50)" in figures(answer)
    assert "P25" not in figures(answer)
    (release,) = uneven.ledger.releases("people")
    assert "power2:income" in {table.quantity for table in left_of(release).tables}


def test_the_largest_of_two_regions_and_of_one_tell_nobody_of_the_other(tmp_path):
    rng = np.random.default_rng(3)
    north, south = np.round(rng.uniform(100, 160, 60)), np.round(rng.uniform(20, 100, 40))
    south[7] = 900
    frame = pd.DataFrame({"region": ["n"] * 60 + ["s"] * 40, "income": [*north, *south]})
    house = registered(tmp_path, frame, {"income": 50_000})
    assert (
        verdict(house.ask(dataset="people", rows=["region"], figures=["UNITS", "SUM:income"])) == "RELEASED"
    )
    assert figures(asked(house, "CONCENTRATION_RATIO", "income")) == {"concentration_ratio": 0.2048}
    # Ten of the north less the tenth of them, and the one of the south, would be left.
    assert figures(asked(house, "CONCENTRATION_RATIO", "income", region="n")) == {}
    again = asked(house, "CONCENTRATION_RATIO", "income")
    assert verdict(again) == "RELEASED"


def visits(panel: bool = False) -> pd.DataFrame:
    """People with whole numbers of visits and hours, sixty of them in the south."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "region": np.where(np.arange(3000) < 60, "s", "n"),
            "visits": np.minimum(rng.negative_binomial(2, 0.3, 3000), 20),
            "hours": np.clip(np.round(rng.normal(20, 4, 3000)), 4, 40),
        }
    )
    if not panel:
        return frame
    return pd.concat([frame.assign(id=[f"p{n}" for n in range(3000)])] * 2)


def test_hexagons_of_two_populations_that_meet_cannot_be_subtracted(tmp_path):
    house = registered(tmp_path, visits(), {"visits": 100, "hours": 100})
    of_north = asked(house, "HEXAGONAL_BINS", "visits", second="hours", region="n")
    assert verdict(of_north).startswith("RELEASED")
    assert len(of_north.decision.statistic.curves) > 0
    # The percentiles are the same whole numbers, and so are the hexagons.
    assert verdict(asked(house, "HEXAGONAL_BINS", "hours", second="visits")) == "REFUSED"
    # Nobody is in both regions.
    assert verdict(asked(house, "HEXAGONAL_BINS", "visits", second="hours", region="s")) != "REFERRED"
    assert verdict(asked(house, "HEXAGONAL_BINS", "visits", second="hours", region="n")) == verdict(of_north)


def test_of_units_with_several_records_ratios_of_populations_that_meet_are_kept_back(tmp_path):
    house = registered(tmp_path, visits(panel=True), {"visits": 100, "hours": 100}, panel=True)
    assert "concentration_ratio" in figures(asked(house, "CONCENTRATION_RATIO", "visits"))
    assert figures(asked(house, "CONCENTRATION_RATIO", "visits", region="n")) == {}
    assert cells(house.ask(dataset="people", rows=["region"], figures=["SUM:visits"]))

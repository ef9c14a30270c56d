"""What figures about the order of values tell of one: a window is the mean of the few who have anything."""

import numpy as np
import pytest

from house import House, build, people_descriptor
from sdcgate.facility.pace import Pace
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

P = 0.1
"""Nobody, with another one, may estimate a contribution to within so much of it."""


def asked_of(folder, values: np.ndarray) -> House:
    """A house of people of one measure."""
    lines = [f"a,{value:g}" for value in values]
    (folder / "people.csv").write_text("\n".join(["region,x", *lines]) + "\n")
    house = build(folder)
    house.engine.register(people_descriptor({"region": ("a", "b")}, [{"name": "x", "lower_bound": 0}]))
    return house


def told(house: House, kind: str) -> dict[str, float]:
    """Figures of everybody by name."""
    request = from_value({"dataset": "people", "kind": kind, "measure": "x"}, pb.QueryStatisticRequest)
    answered = house.facility.query_statistic(house.researcher, request, Pace(60.0))
    return {one.name: one.values[0] for one in answered.decision.statistic.figures if one.values}


@pytest.mark.parametrize(("paid", "leaves"), [(3, False), (8, True)])
def test_two_of_three_in_a_window_who_were_paid_do_not_know_what_the_third_was(tmp_path, paid, leaves):
    """The ten in the middle are 196th to 205th: with 202 who have nothing three of them have something."""
    values = np.concatenate([np.zeros(205 - paid), np.linspace(50, 70, 195 + paid)])
    assert ("P50" in told(asked_of(tmp_path, values), "PERCENTILES")) == leaves


def of_one_rich(richest: float) -> np.ndarray:
    """Four hundred people, one of whom has less than half of all."""
    return np.append(np.round(np.random.default_rng(1).uniform(90, 110, 399)), richest)


@pytest.mark.parametrize("richest", [30_000.0, 9_000.0, 110.0])
def test_the_richest_is_not_what_a_lorenz_curve_leaves_of_the_total(tmp_path, richest):
    """Of what a point leaves of the total all others who are above it have as much as those at it have."""
    values = of_one_rich(richest)
    house = asked_of(tmp_path, values)
    total, curve = told(house, "TOTAL")["total"], told(house, "LORENZ_CURVE")
    assert ("P50" in curve) == (richest == 110)
    window = told(house, "PERCENTILES")
    for name, share in curve.items():
        above = round(len(values) * (1 - float(name[1:]) / 100))
        at_most = (1 - share) * total - (above - 1) * window[name]
        assert not abs(at_most - richest) < P * richest


def test_a_curve_of_people_who_are_no_outliers_has_all_its_points(tmp_path):
    values = np.round(np.random.default_rng(2).lognormal(8, 1, 600), 1)
    house = asked_of(tmp_path, values)
    assert told(house, "LORENZ_CURVE").keys() == told(house, "PERCENTILES").keys()


@pytest.mark.parametrize(("richest", "leaves"), [(30_000.0, False), (300.0, True)])
def test_the_richest_is_not_what_the_ten_largest_hold_without_nine(tmp_path, richest, leaves):
    """The ten largest are a cell: one of them has all but some percent of it, and less than half of all."""
    house = asked_of(tmp_path, of_one_rich(richest))
    assert bool(told(house, "CONCENTRATION_RATIO")) == leaves

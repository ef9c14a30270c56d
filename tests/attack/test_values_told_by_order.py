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

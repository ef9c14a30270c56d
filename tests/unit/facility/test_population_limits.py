"""What a refusal for too few people would tell of withheld counts."""

import pytest

from people_by_region import BY_REGION, FULL, WOMEN, knowing, released
from sdcgate.facility.joint_look import Extent, JointlyUnproved, Width
from sdcgate.facility.population_limits import PopulationLimit, limit_tells
from sdcgate.methods.tables.solver import Deadline

WIDTH = Width(least=7, floor=0)


def tells(units: int, seconds: float = 10.0) -> bool:
    """Whether it may be told that so many people are in no region, at most."""
    # Thirteen women are in the west or in no region.
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN))
    limit = PopulationLimit((("region", 0b1000),), FULL, units)
    return limit_tells(limit, known.boxes, FULL, WIDTH, Extent(5_000, Deadline(seconds)), None)


def test_a_most_tells_of_a_withheld_part_if_it_is_small():
    # Of at most six people 0 to 6 are women, of seven 0 to 7.
    assert tells(6)
    assert not tells(7)


@pytest.mark.parametrize("units", [6, 7])
def test_what_the_clock_ended_is_not_said_to_tell(units):
    with pytest.raises(JointlyUnproved):
        tells(units, seconds=0.0)

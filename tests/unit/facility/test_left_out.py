"""Who is left out rests on the population alone, and every cell loses and keeps enough."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.facility.left_out import without_some
from sdcgate.facility.model_records import Population
from sdcgate.methods.outputs.design import Records

SITE = ("site", "site")


def population(units: int, seed: int = 1, records_per_unit: int = 2, sites: int = 3) -> Population:
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), records_per_unit)
    site = rng.integers(0, sites, units)[unit]
    records = Records({SITE: site}, {"y": rng.normal(size=len(unit))}, len(unit))
    keys = rng.integers(0, 2**63, units, dtype=np.uint64)
    return Population(records, {SITE: site}, unit, keys, None, unit, None, None, {SITE: ("1", "2", "3")})


def kept_values(people: Population) -> set[float]:
    return set(people.records.measures["y"].tolist())


def test_units_are_left_out_with_all_their_records() -> None:
    people = population(1000)

    found = without_some(people, [(SITE,)], 0.1, 10)

    assert found is not None
    gone = ~np.isin(people.records.measures["y"], found.records.measures["y"])
    assert 0.06 < gone.mean() < 0.14
    assert set(np.bincount(people.unit[gone])) <= {0, 2}
    assert found.records.size == len(found.unit) == int((~gone).sum())
    assert found.unit.max() + 1 == len(np.unique(people.unit[~gone]))


def test_every_cell_loses_and_keeps_enough_units() -> None:
    people = population(1000)
    found = without_some(people, [(SITE,)], 0.1, 10)
    assert found is not None
    for code in range(3):
        before = len(np.unique(people.unit[people.codes[SITE] == code]))
        after = len(np.unique(found.unit[found.codes[SITE] == code]))
        assert before - after >= 10
        assert after >= 10
    assert without_some(people, [(SITE,)], 0.01, 10) is None
    assert without_some(people, [(SITE,)], 0.99, 10) is None


@given(st.permutations(range(300)))
def test_the_same_people_in_another_order_lose_the_same_ones(order) -> None:
    people = population(300, records_per_unit=1, sites=1)
    turned = np.array(order)
    records = people.records
    other = Population(
        Records({SITE: records.codes[SITE][turned]}, {"y": records.measures["y"][turned]}, 300),
        {SITE: people.codes[SITE][turned]},
        np.arange(300),
        people.unit_keys[turned],
        None,
        np.arange(300),
        None,
        None,
        people.occurring,
    )

    first, second = (without_some(one, [()], 0.2, 5) for one in (people, other))

    assert first is not None
    assert second is not None
    assert kept_values(first) == kept_values(second)


def test_with_one_person_more_others_are_left_out() -> None:
    people = population(400, records_per_unit=1)
    fewer = Population(
        Records({SITE: people.codes[SITE][1:]}, {"y": people.records.measures["y"][1:]}, 399),
        {SITE: people.codes[SITE][1:]},
        np.arange(399),
        people.unit_keys[1:],
        None,
        np.arange(399),
        None,
        None,
        people.occurring,
    )

    first, second = (without_some(one, [()], 0.2, 5) for one in (people, fewer))

    assert first is not None
    assert second is not None
    assert len(kept_values(first) ^ kept_values(second)) > 60

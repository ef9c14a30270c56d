"""Keys of cells: of who is in them and of nothing else."""

import numpy as np
import pytest

from census_people import census, with_census
from house import with_randhie
from sdcgate.engine.queries import CellQuery, Condition
from sdcgate.engine.record_keys import with_cell_keys
from sdcgate.methods.cells import Facts


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    return with_randhie(tmp_path_factory.mktemp("keys"))


def keyed(house, dimensions, filters=(), measures=()):
    query = CellQuery(tuple((name, "") for name in dimensions), filters, measures, keyed=True)
    return house.engine.compute(house.engine.dataset("randhie"), query)


def test_the_same_people_have_the_same_key_by_table_margin_and_filter(house):
    by_site = keyed(house, ["site"]).facts.keys
    crossed = keyed(house, ["site", "year"]).facts.keys.reshape(len(by_site), -1)
    assert crossed[:, -1].tolist() == by_site.tolist()
    codes = keyed(house, ["site"]).axes[0].codes
    for place, code in enumerate(codes[:3]):
        alone = keyed(house, [], (Condition("site", "", (code,)),)).facts
        assert alone.keys.tolist() == [by_site[place]]


def test_a_person_with_several_records_counts_once(house):
    data = house.engine.dataset("randhie")
    read = house.engine._columns(data)
    units, keys = read("unit"), read("unit_key")
    once = keys[np.unique(units, return_index=True)[1]]
    facts = Facts(once, once, keys=np.array([once.sum(dtype=np.uint64)]))
    expected = with_cell_keys(facts, house.engine._secret).keys
    assert keyed(house, ["year"]).facts.keys[-1] == expected[0]


def test_keys_of_parts_do_not_add_up_to_that_of_the_whole(house):
    keys = keyed(house, ["site"]).facts.keys
    assert keys[:-1].sum(dtype=np.uint64) != keys[-1]


def test_who_lacks_a_measure_is_not_in_its_key(tmp_path):
    engine = with_census(tmp_path, policy="israel-cbs").engine
    query = CellQuery((("region", ""), ("age", "")), measures=("income",), keyed=True)
    facts = engine.compute(engine.dataset("census"), query).facts
    measure = facts.measures[0]
    lacking = measure.valid_units < facts.units
    assert lacking.any()
    assert np.array_equal(measure.keys != facts.keys, lacking)


def test_no_keys_are_summed_where_none_are_asked_for(house):
    query = CellQuery((("site", ""),))
    assert house.engine.compute(house.engine.dataset("randhie"), query).facts.keys is None


def test_the_combinations_that_occur_are_those_of_cells_with_records(house):
    data = house.engine.dataset("randhie")
    computed = house.engine.compute(data, CellQuery((("site", ""), ("year", ""))))
    records = computed.facts.records.reshape([len(axis.codes) for axis in computed.axes])[:-1, :-1]
    codes, found = house.engine.occurring_codes(data, ["site", "year"])
    assert sorted(codes.tolist()) == np.argwhere(records > 0).tolist()
    assert found.tolist() == [records[tuple(pair)] for pair in codes]


def test_whether_a_measure_is_missing_can_be_one_of_the_codes(tmp_path):
    engine = with_census(tmp_path, policy="israel-cbs").engine
    codes, records = engine.occurring_codes(engine.dataset("census"), ["measure:income"])
    missing = sum(person["income"] == "" for person in census())
    assert dict(zip(codes[:, 0].tolist(), records.tolist(), strict=True)) == {0: 600 - missing, 1: missing}

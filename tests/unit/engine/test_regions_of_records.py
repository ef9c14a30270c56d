"""The facts of a difference are counted where the records lie, never subtracted."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sdcgate.engine import CellQuery, Region, UnknownName

PANEL = "id,region,year,x\n1,north,1,10\n1,north,2,20\n2,north,1,5\n2,south,2,\n3,south,1,7\n4,,2,9\n"


@pytest.fixture
def panel(bench):
    bench.write(PANEL)
    return bench.register(
        {
            "name": "panel",
            "data": {"path": "people.csv"},
            "unit": {"column": "id"},
            "design": {"coverage": "CENSUS"},
            "variables": [
                {"name": "region", "identifying": "YES", "varies_within_unit": True,
                 "levels": [{"codes": [{"code": "north"}, {"code": "south"}]}]},
                {"name": "year", "identifying": "NO", "varies_within_unit": True,
                 "levels": [{"integers": {"first": 1, "last": 2}}]},
            ],
            "measures": [{"name": "x"}],
        }
    )  # fmt: skip


NORTH = (("region", 0b001),)
SOUTH = (("region", 0b010),)
UNKNOWN = (("region", 0b100),)
FIRST = (("year", 0b001),)


def test_regions_are_unions_without_what_lies_outside(bench, panel):
    regions = [
        Region((NORTH,)),
        Region((NORTH,), (FIRST,)),
        Region((NORTH, SOUTH)),
        Region(((),), (NORTH, SOUTH)),
        Region((NORTH, FIRST)),
        Region(()),
        Region((NORTH,), ((),)),
        Region(((("region", 0b001), ("year", 0b001)),)),
    ]
    facts = bench.engine.region_facts(panel, regions, ("x",), ranks=1)
    assert facts.units.tolist() == [2, 1, 3, 1, 3, 0, 0, 2]
    assert facts.records.tolist() == [3, 1, 5, 1, 4, 0, 0, 2]
    assert facts.measures[0].sums.tolist() == [35, 20, 42, 9, 42, 0, 0, 15]
    assert facts.measures[0].valid_units.tolist() == [2, 1, 3, 1, 3, 0, 0, 2]
    assert facts.measures[0].largest[:, 0].tolist() == [30, 20, 30, 9, 30, 0, 0, 10]
    assert facts.measures[0].maxima.tolist() == [20, 20, 20, 9, 20, 0, 0, 10]


def test_a_missing_value_is_a_region_of_its_own(bench, panel):
    facts = bench.engine.region_facts(
        panel, [Region(((("measure:x", 0b01),),)), Region(((("measure:x", 0b10), *SOUTH),))]
    )
    assert facts.records.tolist() == [5, 1]
    assert facts.units.tolist() == [4, 1]


def test_no_restriction_is_everybody_and_no_region_is_nothing(bench, panel):
    assert bench.engine.region_facts(panel, [Region(((),))]).units.tolist() == [4]
    assert len(bench.engine.region_facts(panel, [], ("x",))) == 0


def test_a_region_is_the_cell_with_its_box(bench, panel):
    computed = bench.engine.compute(panel, CellQuery((("region", ""), ("year", "")), measures=("x",)))
    masks = [(*panel.level(name).masks, panel.full_mask(name)) for name in ("region", "year")]
    regions = [
        Region((tuple((n, m) for n, m in (("region", r), ("year", y)) if m != panel.full_mask(n)),))
        for r in masks[0]
        for y in masks[1]
    ]
    facts = bench.engine.region_facts(panel, regions, ("x",))
    for name in ("units", "records", "marks", "weight_sums", "unit_weight_sums"):
        assert np.array_equal(getattr(facts, name), getattr(computed.facts, name))
    for name in ("sums", "largest", "absolute_sums", "minima", "maxima", "valid_units", "valid_records"):
        assert np.array_equal(getattr(facts.measures[0], name), getattr(computed.facts.measures[0], name))


def test_masks_beyond_the_codes_and_unknown_names_are_refused(bench, panel):
    with pytest.raises(ValueError, match="beyond its codes"):
        bench.engine.region_facts(panel, [Region(((("region", 0b1000),),))])
    with pytest.raises(ValueError, match="negative"):
        bench.engine.region_facts(panel, [Region(((("region", -1),),))])
    with pytest.raises(UnknownName):
        bench.engine.region_facts(panel, [Region(((("sex", 1),),))])
    with pytest.raises(UnknownName):
        bench.engine.region_facts(panel, [Region(((("measure:z", 1),),))])


def test_many_threads_get_the_same_answers(bench, panel):
    query = CellQuery((("region", ""), ("year", "")), measures=("x",))
    expected = bench.engine.compute(panel, query).facts.units.tolist()

    def ask(number):
        regions = [Region((NORTH,), (FIRST,))] * (number + 1)
        facts = bench.engine.region_facts(panel, regions)
        assert facts.units.tolist() == [1] * (number + 1)
        return bench.engine.compute(panel, query).facts.units.tolist()

    with ThreadPoolExecutor(8) as pool:
        assert all(answer == expected for answer in pool.map(ask, range(40)))

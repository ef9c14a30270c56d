"""What the ledger notes as told by an answer: the figures that it shows, and what follows from them."""

from dataclasses import replace

import pytest

from house import build, cells, model_request, people_descriptor
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.pace import Pace
from sdcgate.methods.cells import State
from sdcgate.methods.tables.joint_boxes import EVERYTHING, PERHAPS, RECORDS, SURELY, UNITS
from sdcgate.policy.loading import parse_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2, release_pb2
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

POLICY = parse_policy("""
name: plain
version: "1"
description: A minimum of units in a cell
defaults:
  rules:
    minimum_units: {units: 3, consequence: protect}
  dimensions: {maximum: 3, maximum_filters: 2, filters_count: false, consequence: refuse}
  protection: {method: suppression, sum_width: 0.1, time_limit_ms: 15000, unproved: refer}
  output: {digits: 1, maximum_cells: 100000}
  differencing: {consequence: refuse}
  statistics: {kinds: [MEAN, PROPORTION], significant_digits: 3}
  models: {kinds: [LINEAR]}
access_levels: {public: {}, licensed: {}, remote: {}, on-site: {}}
""")
ALL_TOLD, NOTHING = EVERYTHING, 0
SURE_RECORDS, SURE_UNITS = RECORDS | RECORDS << SURELY, UNITS | UNITS << SURELY


def house_of(tmp_path, regions, waves=(), **more):
    """People by region, with 10 of each income from 1; each of them in every wave."""
    lines = [
        f"{region}{person},{region},{wave},{person % 7}"
        for region, people in regions.items()
        for person in range(people)
        for wave in waves or ["w1"]
    ]
    (tmp_path / "people.csv").write_text("\n".join(["id,region,wave,income", *lines]) + "\n")
    house = build(tmp_path, policies={"plain": POLICY}, policy="plain")
    listed = [{"codes": [{"code": code} for code in ("w1", "w2")]}]
    wave = {"name": "wave", "identifying": "NO", "levels": listed, "varies_within_unit": bool(waves)}
    unit = {"unit": {"column": "id", "label": "person"}, **({"panel": True} if waves else {})}
    income = {"name": "income", "decimals": 0, "lower_bound": 0, "upper_bound": 10}
    house.engine.register(people_descriptor({"region": regions}, [income], [wave], **unit, **more))
    return house


@pytest.fixture
def census(tmp_path):
    return house_of(tmp_path, {"r1": 2, "r2": 20, "r3": 30, "r4": 4})


@pytest.fixture
def panel(tmp_path):
    return house_of(tmp_path, {"r1": 12, "r2": 20, "r3": 30}, ["w1", "w2"])


def noted(house, quantity="counts"):
    """States and flags of the cells of a quantity in the newest release: the codes, missing ones, all."""
    *_, stored = house.ledger.releases("people")
    table = next(one for one in left_of(stored).tables if one.quantity == quantity)
    assert table.figures is not None
    told = zip(table.table.states.tolist(), table.figures.tolist(), strict=True)
    return ["withheld" if state == State.WITHHELD else flags for state, flags in told]


def test_a_total_that_was_not_asked_for_is_told_where_it_follows_only(census):
    census.ask(dataset="people", rows=["region"], margins=False)
    assert noted(census) == ["withheld", ALL_TOLD, ALL_TOLD, "withheld", ALL_TOLD, NOTHING]
    census.ask(dataset="people", rows=["region"], margins=False, region=["r2", "r3"])
    assert noted(census)[-1] == ALL_TOLD
    census.ask(dataset="people", rows=["region"])
    assert noted(census)[-1] == ALL_TOLD


def test_records_tell_of_no_persons_where_a_person_has_several(panel):
    panel.ask(dataset="people", rows=["region"], figures=["RECORDS"])
    assert noted(panel) == [SURE_RECORDS, SURE_RECORDS, SURE_RECORDS, ALL_TOLD, SURE_RECORDS]
    panel.ask(dataset="people", rows=["region"], figures=["UNITS"])
    assert noted(panel) == [SURE_UNITS, SURE_UNITS, SURE_UNITS, ALL_TOLD, SURE_UNITS]


def test_in_one_wave_records_tell_persons_and_persons_records(tmp_path):
    house = house_of(tmp_path, {"r1": 12, "r2": 20}, ["w1", "w2"], wave="wave")
    house.ask(dataset="people", rows=["wave"], figures=["RECORDS"])
    assert noted(house) == [ALL_TOLD, ALL_TOLD, ALL_TOLD, SURE_RECORDS]
    house.ask(dataset="people", rows=["region"], figures=["UNITS"])
    assert noted(house) == [SURE_UNITS, SURE_UNITS, ALL_TOLD, SURE_UNITS]
    house.ask(dataset="people", rows=["region"], figures=["UNITS"], wave=["w2"])
    assert noted(house) == [ALL_TOLD] * 4
    house.ask(dataset="people", figures=["UNITS"], wave=["w1"])
    assert noted(house) == [ALL_TOLD]


def test_persons_of_a_total_follow_from_no_persons_who_are_in_several_of_its_cells(panel):
    panel.ask(dataset="people", rows=["wave"], figures=["UNITS", "RECORDS"], margins=False)
    assert noted(panel) == [ALL_TOLD, ALL_TOLD, ALL_TOLD, SURE_RECORDS]


def test_where_each_has_one_record_either_count_tells_the_other(census):
    census.ask(dataset="people", rows=["region"], figures=["RECORDS"])
    assert noted(census) == ["withheld", ALL_TOLD, ALL_TOLD, "withheld", ALL_TOLD, ALL_TOLD]


def test_shares_tell_perhaps_what_they_are_of_and_sums_how_many_there_are(panel):
    panel.ask(dataset="people", rows=["region"], figures=["TOTAL_PERCENT"], margins=False)
    assert noted(panel) == [RECORDS, RECORDS, RECORDS, PERHAPS, RECORDS]
    panel.ask(dataset="people", rows=["region"], figures=["SUM:income"])
    assert noted(panel) == [PERHAPS] * 5
    assert noted(panel, "income") == [ALL_TOLD] * 5


def test_a_mean_is_a_sum_for_sure_beside_the_records_that_it_is_of(panel):
    panel.ask(dataset="people", rows=["region"], figures=["MEAN:income"])
    assert noted(panel, "income") == [PERHAPS] * 5
    panel.ask(dataset="people", rows=["region"], figures=["MEAN:income", "RECORDS"])
    assert noted(panel, "income") == [ALL_TOLD] * 5


def test_statistics_and_models_show_no_figure_of_the_tables_beneath_them(panel):
    mean = statistic_pb2.StatisticKind.STATISTIC_KIND_MEAN
    asked = facility_pb2.QueryStatisticRequest(dataset="people", kind=mean, measure="income")
    asked.groups.add(variable="region")
    panel.facility.query_statistic(panel.researcher, asked, Pace(60.0))
    assert noted(panel) == noted(panel, "income") == [PERHAPS] * 5
    asked = model_request("income ~ C(region)", dataset="people")
    panel.facility.query_model(panel.researcher, asked, Pace(60.0))
    assert set(noted(panel)) == {PERHAPS}


def shares(house, quantity="counts"):
    """What the newest release tells of two of its boxes: part, whole, ends, and the records of the whole."""
    *_, stored = house.ledger.releases("people")
    table = next(one for one in left_of(stored).tables if one.quantity == quantity)
    return [(one.part, one.whole, one.low, one.high, one.whole_records) for one in table.shares()]


def region(*places):
    return (("region", sum(1 << place for place in places)),)


def test_percentages_tell_of_two_cells_together_what_their_rounding_leaves(panel):
    panel.ask(dataset="people", rows=["region"], figures=["UNITS", "TOTAL_PERCENT"], margins=False)
    assert shares(panel) == [
        (region(0), (), pytest.approx(0.1935), pytest.approx(0.1945), 124),
        (region(1), (), pytest.approx(0.3225), pytest.approx(0.3235), 124),
        (region(2), (), pytest.approx(0.4835), pytest.approx(0.4845), 124),
    ]


def test_a_percentage_that_is_halfway_tells_between_the_ends_of_what_is_shown(tmp_path):
    # 23 / 80 is 28.75 exactly; as numbers are computed 28.7 is shown.
    halfway = house_of(tmp_path, {"r1": 23, "r2": 20, "r3": 37})
    shown = cells(halfway.ask(dataset="people", rows=["region"], figures=["TOTAL_PERCENT"], margins=False))
    assert shown["r1",] == (28.7,)
    assert shares(halfway)[0] == (region(0), (), pytest.approx(0.2865), pytest.approx(0.2875), 80)


def test_percentages_beside_the_records_that_they_are_of_tell_nothing_more(panel):
    panel.ask(dataset="people", rows=["region"], figures=["RECORDS", "TOTAL_PERCENT"])
    assert shares(panel) == []


def test_of_a_withheld_cell_no_share_is_told(census):
    census.ask(dataset="people", rows=["region"], figures=["TOTAL_PERCENT"])
    assert noted(census)[0] == noted(census)[3] == "withheld"
    assert {part for part, *_ in shares(census)} == {region(1), region(2)}


def test_means_tell_of_a_sum_and_a_count_together_where_neither_is_told(panel):
    panel.ask(dataset="people", rows=["region"], figures=["UNITS", "MEAN:income"], margins=False)
    assert shares(panel, "income") == [
        (region(0), region(0), pytest.approx(2.55), pytest.approx(2.65), 24),
        (region(1), region(1), pytest.approx(2.75), pytest.approx(2.85), 40),
        (region(2), region(2), pytest.approx(2.75), pytest.approx(2.85), 60),
    ]
    assert shares(panel) == []
    panel.ask(dataset="people", rows=["region"], figures=["RECORDS", "MEAN:income"], margins=False)
    assert shares(panel, "income") == []


def test_a_mean_beside_a_sum_tells_of_how_many_and_not_beside_both(panel):
    panel.ask(dataset="people", rows=["region"], figures=["SUM:income", "MEAN:income"], margins=False)
    assert noted(panel, "income")[:3] == [ALL_TOLD] * 3
    assert [part for part, *_ in shares(panel, "income")] == [region(0), region(1), region(2)]
    both = ["SUM:income", "MEAN:income", "RECORDS"]
    panel.ask(dataset="people", rows=["region"], figures=both, margins=False)
    assert shares(panel, "income") == []


def test_a_mean_that_is_rounded_to_nearly_nothing_is_no_sum_beside_records(tmp_path):
    # Eight of 250 have an income of one, the others none: 0.0 to a decimal.
    people = [f"p{number},r1,{int(number < 8)}" for number in range(250)]
    (tmp_path / "people.csv").write_text("\n".join(["id,region,income", *people]) + "\n")
    poor = build(tmp_path, policies={"plain": POLICY}, policy="plain")
    income = {"name": "income", "decimals": 0, "lower_bound": 0, "upper_bound": 10}
    poor.engine.register(
        people_descriptor({"region": ["r1"]}, [income], [], unit={"column": "id", "label": "person"})
    )
    poor.ask(dataset="people", rows=["region"], figures=["MEAN:income", "RECORDS"], margins=False)
    assert noted(poor, "income")[0] == PERHAPS
    assert shares(poor, "income") == [((), (), pytest.approx(-0.05), pytest.approx(0.05), 250)]


def asked_of_groups(kind, **more):
    asked = facility_pb2.QueryStatisticRequest(dataset="people", kind=kind, **more)
    asked.groups.add(variable="region")
    return asked


def test_statistics_of_groups_tell_of_two_cells_of_their_table_together(panel):
    proportion = asked_of_groups(statistic_pb2.StatisticKind.STATISTIC_KIND_PROPORTION)
    proportion.having.CopyFrom(facility_pb2.FilterRequest(variable="wave", codes=["w1"]))
    panel.facility.query_statistic(panel.researcher, proportion, Pace(60.0))
    ends = pytest.approx(0.4995), pytest.approx(0.5005)
    assert shares(panel) == [
        ((*region(place), ("wave", 1)), region(place), *ends, records)
        for place, records in enumerate((24, 40, 60))
    ]
    mean = asked_of_groups(statistic_pb2.StatisticKind.STATISTIC_KIND_MEAN, measure="income")
    panel.facility.query_statistic(panel.researcher, mean, Pace(60.0))
    assert [one[2:] for one in shares(panel, "income")] == [
        (pytest.approx(2.575), pytest.approx(2.585), 24),
        (pytest.approx(2.845), pytest.approx(2.855), 40),
        (pytest.approx(2.825), pytest.approx(2.835), 60),
    ]


def test_a_share_of_what_the_filter_leaves_out_tells_of_no_cell(panel):
    proportion = asked_of_groups(statistic_pb2.StatisticKind.STATISTIC_KIND_PROPORTION)
    proportion.having.CopyFrom(facility_pb2.FilterRequest(variable="wave", codes=["w1"]))
    proportion.filter.add(variable="wave", codes=["w2"])
    panel.facility.query_statistic(panel.researcher, proportion, Pace(60.0))
    assert shares(panel) == []


def test_a_group_that_a_statistic_withholds_has_no_share(census):
    mean = asked_of_groups(statistic_pb2.StatisticKind.STATISTIC_KIND_MEAN, measure="income")
    census.facility.query_statistic(census.researcher, mean, Pace(60.0))
    assert {part for part, *_ in shares(census, "income")} == {region(1), region(2)}


def test_of_an_answer_that_was_kept_without_it_what_it_told_is_doubted(census):
    census.ask(dataset="people", rows=["region"])
    (stored,) = census.ledger.releases("people")
    release = release_pb2.Release.FromString(stored.payload)
    for boxes in release.tables:
        boxes.ClearField("figures")
    (table,) = left_of(replace(stored, payload=release.SerializeToString())).tables
    assert set(table.figures.tolist()) == {PERHAPS}

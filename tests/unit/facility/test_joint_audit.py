"""Which cells of a table are kept back so that no withheld count is bounded too closely by all releases."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from people_by_region import BY_REGION, MEN, NORTH, SOUTH, WEST, WOMEN, knowing, released
from sdcgate.facility import joint_audit, joint_look
from sdcgate.facility.joint_look import Extent, JointlyUnproved, Width
from sdcgate.facility.knowledge import ReleasedTable, Told
from sdcgate.facility.leaving import Leaving
from sdcgate.facility.released_ratios import Ratios
from sdcgate.methods.cells import Facts, State
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.joint_boxes import EVERYTHING, RECORDS, SURELY, UNITS
from sdcgate.methods.tables.panel_links import Panel
from sdcgate.methods.tables.solver import Deadline

WIDTH = Width(least=3, floor=0)
ADDING_UP = Panel(frozenset(), 100)
"""Units have several records, and nothing varies within them."""
BY_BOTH = {**BY_REGION, "sex": (WOMEN, MEN, 0b100, 0b111)}


def telling(known, tables, *how, **more):
    """What records and units tell."""
    return joint_audit.telling(Leaving(known, tables), *how, **more)


def told(known, *tables, width=WIDTH, panel=None, atoms=5_000):
    return np.flatnonzero(telling(known, tables, width, Extent(atoms, Deadline(10.0)), panel)).tolist()


def test_a_table_that_bounds_nothing_leaves_as_it_is():
    known = knowing(released(BY_REGION, withheld=(0, 2), sex=WOMEN))
    assert told(known, released(BY_REGION)) == []


def test_of_what_bounds_an_earlier_cell_the_smallest_is_kept_back():
    # Thirteen women are in the west or in no region.
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN))
    # With six people in no region, 0 to 6 of them are women, and 7 to 13 in the west.
    few = released({"region": (0b1000,)})
    assert told(known, few, width=Width(least=7, floor=0)) == [0]
    assert told(known, few, width=Width(least=6, floor=0)) == []


def test_so_many_are_kept_back_of_each_blame_and_few_altogether():
    records = np.array([0, 5, 3, 9, 2])
    blamed = [{0, 1, 2}, {1, 3}, {4}]
    assert joint_look.covering(blamed, records) == [0, 4, 1]
    assert sorted(joint_look.covering(blamed, records, each=2)) == [0, 1, 3, 4]


def test_where_empty_cells_must_be_shown_others_are_kept_back_in_their_place():
    records = np.array([0, 5, 0])
    assert joint_look.covering([{0, 1}], records, floor=1) == [1]
    assert joint_look.covering([{0, 2}], records, floor=1) == [0]


def test_of_more_joint_codes_than_the_policy_allows_no_further_variable_is_looked_at():
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN))
    few = released({"region": (0b1000,)})
    assert told(known, few, width=Width(least=7, floor=0), atoms=8) == [0]
    assert told(known, few, width=Width(least=7, floor=0), atoms=4) == []


def test_what_a_table_tells_of_its_own_withheld_cells_with_earlier_ones_is_seen():
    earlier = released({"sex": (WOMEN, MEN | 0b100, 0b111)}, region=NORTH | SOUTH)
    new = released(BY_BOTH, withheld=(0, 1, 4, 5))
    assert told(knowing(), new) == []
    assert told(knowing(earlier), new, width=Width(least=40, floor=0)) != []


def test_an_empty_cell_that_tells_is_kept_back():
    known = knowing(released({"region": (NORTH, SOUTH | WEST | 0b1000)}, withheld=(0, 1)))
    known = known.grown(released({"region": (NORTH | SOUTH,)}))
    nobody = released({"region": (SOUTH,)})
    nobody.table.records[:] = 0
    assert told(known, nobody) == [0]


CLOSE = Width(least=7, floor=0)
FEW = {"region": (0b1000,)}
"""Six people: of the women in the west and in no region too much is told."""


def test_a_cell_that_was_bounded_before_is_no_reason_to_keep_anything_back():
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN)).grown(released(FEW))
    assert told(known, released({"region": (WEST,)}), width=CLOSE) == []


def test_where_old_prices_tell_that_it_was_too_close_before_no_second_program_is_asked(monkeypatch):
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN)).grown(released(FEW))
    asked, joint_bounds = [], joint_look.joint_bounds

    def counted(*of):
        asked.append(joint_bounds(*of))
        return asked[-1]

    monkeypatch.setattr(joint_look, "joint_bounds", counted)
    assert told(known, released({"region": (WEST,)}), width=CLOSE) == []
    (found,) = asked
    assert found.told_before.tolist() == [True, True]


def test_what_was_too_close_before_is_noted_and_looked_at_no_more(monkeypatch):
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN)).grown(released(FEW))
    assert told(known, released({"region": (WEST,)}), width=CLOSE) == []
    assert len(set().union(*known.told.values())) == 2
    assert known.grown(released({"region": (SOUTH,)})).told == known.told
    monkeypatch.setattr(joint_look, "joint_bounds", None)
    assert told(known, released({"region": (SOUTH | WEST,)}), width=CLOSE) == []


def test_where_nothing_is_noted_for_good_a_table_is_still_asked_once_of_what_was_too_close_before(
    monkeypatch,
):
    monkeypatch.setattr(Leaving, "notes", property(lambda _: {}))
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN)).grown(released(FEW))
    wide, doubted, extent = {}, [set(), set()], Extent(5_000, Deadline(10.0))
    west = released({"region": (WEST,)}).perhaps()
    assert not telling(known, [west], CLOSE, extent, wide=wide, doubted=doubted[0]).any()
    monkeypatch.setattr(joint_look, "joint_bounds", None)
    assert not telling(known, [west], CLOSE, extent, wide=wide, doubted=doubted[1]).any()
    assert doubted[0] == doubted[1]
    assert len(doubted[0]) == 2
    assert known.told == {}


WOMEN_WEST_OR_NOWHERE = released({"region": (WEST | 0b1000,)}, sex=WOMEN)
"""Thirteen of them: with six people in no region 7 to 13 are in the west."""


def test_what_was_perhaps_told_before_is_news_once_it_is_shown():
    withheld = released(BY_REGION, withheld=(2, 3), sex=WOMEN)
    before = WOMEN_WEST_OR_NOWHERE, released(FEW)
    assert told(knowing(*before, withheld), released(FEW), width=CLOSE) == []
    perhaps = WOMEN_WEST_OR_NOWHERE, released(FEW).perhaps()
    # The women themselves tell nothing that was not perhaps told: there is nothing to keep back.
    doubted = set()
    extent = Extent(5_000, Deadline(10.0))
    assert not telling(knowing(*perhaps), [withheld], CLOSE, extent, doubted=doubted).any()
    assert doubted == set(withheld.withheld())
    left = replace(withheld, told=Told(doubted=(2, 3)))
    assert told(knowing(*perhaps, left), released(FEW), width=CLOSE) == [0]
    assert told(knowing(*perhaps, left), released(FEW).perhaps(), width=CLOSE) == [0]


def test_a_newly_withheld_count_that_was_seen_to_be_uncertain_is_in_no_doubt():
    withheld = released(BY_REGION, withheld=(2, 3), sex=WOMEN)
    known, extent, wide = knowing(released(FEW).perhaps()), Extent(5_000, Deadline(10.0)), {}
    # In the second turn it is not looked at any more.
    for _ in range(2):
        doubted = set()
        assert not telling(known, [withheld], WIDTH, extent, wide=wide, doubted=doubted).any()
        assert doubted == set()
    # Of persons nothing is looked at where they have records of both sexes.
    panel, doubted = Panel(frozenset({"sex"}), 100), set()
    assert not telling(known, [withheld], WIDTH, extent, panel, doubted=doubted).any()
    assert doubted == set()
    # No fresh count tells anything of the women where all of them are known.
    known = knowing(WOMEN_WEST_OR_NOWHERE, released(FEW).perhaps())
    fewer = released({"region": (WEST, 0b1000)}, withheld=(0, 1), sex=WOMEN)
    assert not telling(known, [fewer], WIDTH, extent, doubted=doubted).any()
    assert doubted == set(fewer.withheld())


def test_units_that_were_told_tell_nothing_of_records():
    units = replace(released(FEW), figures=np.array([UNITS | UNITS << SURELY]))
    withheld = released(BY_REGION, withheld=(2, 3), sex=WOMEN)
    known = knowing(WOMEN_WEST_OR_NOWHERE, units, withheld)
    assert told(known, units, width=CLOSE, panel=ADDING_UP) == []
    assert told(known, released(FEW), width=CLOSE, panel=ADDING_UP) == [0]


def test_a_cell_that_was_withheld_and_taken_for_known_is_a_secret_until_it_is_told_for_sure():
    """Eleven women in the west are perhaps known, so that the answer that withholds them proves nothing."""
    west = {"region": (WEST,)}
    taken = replace(released(west, sex=WOMEN), told=Told((0,)), figures=np.array([0]))
    before = released(west, sex=WOMEN).perhaps(), WOMEN_WEST_OR_NOWHERE, taken
    assert told(knowing(*before), released(FEW), width=CLOSE) == [0]
    assert told(knowing(*before, released(west, sex=WOMEN)), released(FEW), width=CLOSE) == []


def test_what_is_taken_for_known_is_in_no_doubt_where_all_was_told_for_sure():
    west = released({"region": (WEST,)}, sex=WOMEN)
    taken = replace(west, told=Told((0,)), figures=np.array([0]))
    assert knowing(west, taken).sure is None
    assert knowing(west.perhaps(), taken).sure is not None


def asked_of(monkeypatch):
    """How many boxes each program of `joint_bounds` is asked of, as they come."""
    asked, joint_bounds = [], joint_look.joint_bounds

    def looked(system, width, floor, deadline, question, parted):
        asked.append(int(question.asked.sum()))
        return joint_bounds(system, width, floor, deadline, question, parted)

    monkeypatch.setattr(joint_look, "joint_bounds", looked)
    return asked


def test_what_is_wide_beside_all_that_is_taken_for_known_is_not_asked_for_in_doubt(monkeypatch):
    asked = asked_of(monkeypatch)
    withheld = replace(released(BY_REGION, withheld=(2, 3), sex=WOMEN), told=Told(doubted=(2, 3)))
    known = knowing(released({"region": (WEST,)}).perhaps(), withheld)
    assert told(known, released(FEW), width=Width(least=6, floor=0)) == []
    assert asked == [2]
    # They can be six apart, and no more.
    assert told(known, released(FEW), width=CLOSE) == [0]
    assert sum(asked[1:]) > 2


@settings(deadline=None, max_examples=150)
@given(
    st.sets(st.integers(0, 4), min_size=2, max_size=4),
    st.sets(st.integers(0, 19), max_size=6),
    st.sets(st.integers(0, 4), max_size=3),
    st.sampled_from([WOMEN, MEN, WOMEN | MEN]),
    st.integers(2, 20),
    st.integers(0, 1),
)
def test_what_is_not_asked_for_in_doubt_would_have_changed_nothing(before, now, hidden, sex, least, floor):
    doubt, hidden = Told(doubted=tuple(sorted(before))), tuple(sorted(hidden))
    left = replace(released(BY_REGION, withheld=doubt.doubted, sex=sex), told=doubt)
    perhaps = released(BY_BOTH, withheld=tuple(sorted(now))).perhaps()
    new, width = released(BY_REGION, withheld=hidden), Width(least, floor)

    def verdict():
        try:
            return told(knowing(perhaps, left), new, width=width)
        except JointlyUnproved:
            return None

    found = verdict()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(joint_audit, "replace", lambda look, **_: look)
        assert verdict() == found


def test_a_table_that_withholds_more_than_in_its_turn_before_is_asked_only_of_what_was_open(monkeypatch):
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN))
    asked = asked_of(monkeypatch)
    extent, width = Extent(5_000, Deadline(10.0)), Width(least=2, floor=0)
    wide = {}
    first, second = released(BY_REGION, withheld=(0, 1)), released(BY_REGION, withheld=(0, 1, 2))
    assert not telling(known, [first], width, extent, wide=wide).any()
    assert not telling(known, [second], width, extent, wide=wide).any()
    of_turns = asked.copy()
    assert not telling(known, [second], width, extent).any()
    assert (of_turns, asked[len(of_turns) :]) == ([4, 1], [5])


def kept_back(known, axes, withheld, width, wide):
    """Cells that a turn keeps back, None where it is unproved; `wide` is what earlier turns have seen."""
    new, extent = released(axes, withheld=tuple(sorted(withheld))), Extent(5_000, Deadline(10.0))
    try:
        return np.flatnonzero(telling(known, [new], width, extent, wide=wide)).tolist()
    except JointlyUnproved:
        return None


def turns(known, axes, withheld, width):
    """What each turn withholds, and keeps back: the next withholds that, too, and knows of those before."""
    wide, found = {}, [-1]
    while found:
        found = kept_back(known, axes, withheld, width, wide)
        yield withheld, found
        withheld = {*withheld, *(found or ())}


@settings(deadline=None, max_examples=120)
@given(
    st.sets(st.integers(0, 4), min_size=2, max_size=4),
    st.sets(st.integers(0, 19), max_size=4),
    st.sampled_from([WOMEN, MEN, WOMEN | MEN]),
    st.integers(2, 30),
    st.integers(0, 1),
)
def test_a_turn_that_knows_of_earlier_ones_lets_pass_what_one_does_that_looks_at_everything(
    before, now, sex, least, floor
):
    def known():
        return knowing(released(BY_REGION, withheld=tuple(sorted(before)), sex=sex))

    width = Width(least, floor)
    for withheld, found in turns(known(), BY_BOTH, now, width):
        alone = kept_back(known(), BY_BOTH, withheld, width, {})
        # Which cells are kept back may differ, as prices do.
        assert (found is None, bool(found)) == (alone is None, bool(alone))


def test_what_an_earlier_turn_found_too_close_is_asked_at_once_by_which_cells(monkeypatch):
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN))
    axes, asked = {"region": (0b1000, NORTH | SOUTH | WEST, 0b1111)}, []
    joint_bounds = joint_look.joint_bounds

    def looked(system, width, floor, deadline, question, parted):
        asked.append(int(question.asked.sum()))
        return joint_bounds(system, width, floor, deadline, question, parted)

    monkeypatch.setattr(joint_look, "joint_bounds", looked)
    assert [found for _, found in turns(known, axes, set(), CLOSE)] == [[0], [1], []]
    # Of both women's counts it is asked how close they are and were, and then only of what is kept back.
    assert asked[:2] == [2, 2]
    assert set(asked[2:]) == {1}


def test_what_other_variables_tell_spares_no_table():
    """A process that looked at other tables before must decide as one that was started just now."""
    width = Width(least=8, floor=0)
    west = {"region": (WEST,), "sex": (WOMEN, MEN)}
    known = knowing(released(BY_REGION, withheld=(2, 3)), released(west), released({"sex": (0b100,)}))
    # By sexes from 24 to 31 people are in the west, by regions alone from 0 to 33.
    told(known, released({"region": (NORTH,), "sex": (WOMEN, MEN)}), width=width, atoms=1)
    assert any(known.told.values())
    assert told(known, released({"region": (SOUTH | WEST,)}), width=width, atoms=1) == [0]


def test_what_was_noted_as_perhaps_told_decides_nothing():
    """The six in no region were perhaps told: once they are shown they tell of the women in the west."""
    sure = replace(released(FEW), figures=np.array([EVERYTHING]))
    other = replace(released({"region": (WEST,)}), figures=np.array([EVERYTHING]))
    fresh, noting = (
        knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN), released(FEW).perhaps()) for _ in range(2)
    )
    told(noting, other, width=CLOSE)
    assert (len(fresh.told), len(noting.told)) == (0, 1)
    for known in (fresh, noting):
        assert told(known, sure, width=CLOSE) == [0]


def test_what_is_found_on_trial_is_not_noted_for_what_left():
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN))
    trial = known.grown(released(FEW))
    assert told(trial, released({"region": (WEST,)}), width=CLOSE) == []
    assert any(trial.told.values())
    assert not known.told


def test_a_first_table_is_left_to_its_own_proof(monkeypatch):
    monkeypatch.setattr(joint_look, "joint_bounds", None)
    assert told(knowing(), released(BY_BOTH, withheld=(0, 1, 4, 5)), width=Width(least=400, floor=0)) == []


def test_cells_that_can_be_computed_already_bound_nothing_anew(monkeypatch):
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN)).grown(released(BY_REGION))
    monkeypatch.setattr(joint_look, "joint_bounds", None)
    assert told(known, released({"region": (NORTH | SOUTH,)}), width=Width(least=12, floor=0)) == []


def test_cells_that_left_before_bound_nothing_anew():
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN)).grown(released(BY_REGION))
    assert told(known, released(BY_REGION), width=Width(least=12, floor=0)) == []


def test_withholding_that_tells_as_nothing_withheld_is_empty_is_unproved():
    # Thirteen women are in the west or in no region: from 1 to 12 in each, once both are known not to be 0.
    known = knowing(released({"region": (WEST | 0b1000,)}, sex=WOMEN))
    new = released({"region": (NORTH, SOUTH, WEST, 0b1000)}, withheld=(2, 3), sex=WOMEN)
    assert told(known, new, width=Width(least=12, floor=0)) == []
    assert told(known, new, width=Width(least=11, floor=1)) == []
    with pytest.raises(JointlyUnproved):
        told(known, new, width=Width(least=12, floor=1))


def test_what_cannot_be_told_in_time_is_unproved():
    known = knowing(released(BY_REGION, withheld=(2, 3), sex=WOMEN))
    with pytest.raises(JointlyUnproved):
        telling(known, [released(BY_REGION)], WIDTH, Extent(5_000, Deadline(0.0)))


def in_units(table, per_unit=2):
    """The same table of a panel: so many records a unit."""
    return replace(table, facts=replace(table.facts, units=table.facts.records // per_unit))


def test_units_are_looked_at_where_records_leave_room():
    known = knowing(in_units(released(BY_REGION, withheld=(2, 3), sex=WOMEN)))
    few = in_units(released({"region": (0b1000,)}))
    # Six records leave room for four, three units do not.
    assert told(known, few, width=Width(least=4, floor=0)) == []
    assert told(known, few, width=Width(least=4, floor=0), panel=ADDING_UP) == [0]


@pytest.mark.parametrize("varying", ["sex", "region"])
def test_units_of_boxes_that_vary_within_a_unit_are_bounded_by_what_lies_around_them(varying):
    """Three people in no region, of whatever sex: no more women can be there."""
    known = knowing(in_units(released(BY_REGION, withheld=(2, 3), sex=WOMEN)))
    few = in_units(released({"region": (0b1000,)}))
    panel = Panel(frozenset({varying}), 100)
    assert told(known, few, width=Width(least=4, floor=0), panel=panel) == [0]


TWO_WAVES = Panel(frozenset({"wave"}), 2, "wave")


def of_regions(people, withheld=(), **wave):
    """Records and units of groups of regions, of all waves or of one."""
    counts = np.array([*people.values()], dtype=np.int64)
    states = np.full(len(counts), State.PUBLISHED, dtype=np.int64)
    states[list(withheld)] = State.WITHHELD
    table = BoxTable(
        axes=(("region", tuple(people)),),
        fixed=tuple(wave.items()),
        full={"region": 0b1111, **dict.fromkeys(wave, 0b11)},
        states=states,
        records=counts[:, 0],
        marks=np.zeros(len(counts), dtype=np.int64),
    )
    facts = Facts(units=counts[:, 1], records=counts[:, 0])
    return ReleasedTable("counts", table, facts, tuple(table.boxes()))


@pytest.mark.parametrize(("width", "kept_back"), [(5, [0]), (4, [])])
def test_units_of_a_wave_tell_that_there_are_as_many_in_all(monkeypatch, width, kept_back):
    """Of thirteen in the west or nowhere nine have a record of the first wave in the west."""
    monkeypatch.setattr(joint_audit, "together", lambda *_: [])
    known = knowing(of_regions({WEST | 0b1000: (26, 13), WEST: (18, 10), 0b1000: (8, 3)}, withheld=(1, 2)))
    new = of_regions({WEST: (9, 9)}, wave=0b01)
    assert told(known, new, width=Width(least=width, floor=0), panel=TWO_WAVES) == kept_back


def test_what_is_noted_of_some_layers_is_not_taken_for_others(monkeypatch):
    """Units of a wave that count as told where it is the second kind may be those of another wave later."""
    noted = []
    monkeypatch.setattr(
        joint_look.Look, "noted", lambda _, scope, notes, key: noted.append((key, scope)) or []
    )
    for wave in (0b01, 0b10):
        known = knowing(of_regions({WEST: (3, 3), 0b1000: (5, 5)}, withheld=(0, 1), wave=wave))
        assert told(known, of_regions({WEST | 0b1000: (16, 8)}), panel=TWO_WAVES) == []
    both = [(key, scope) for key, scope in noted if {"*kind", "wave"} <= scope.domain]
    assert len({scope.extent for _, scope in both}) == 1
    assert len({key for key, _ in both}) == 2


@pytest.mark.parametrize(("width", "kept_back"), [(7, [0]), (6, [])])
def test_a_wave_has_no_more_records_than_all_waves_have_people(monkeypatch, width, kept_back):
    """Of nine records of six people no more than six are of the first wave."""
    monkeypatch.setattr(joint_audit, "together", lambda *_: [])
    first = {WEST | 0b1000: (40, 40), WEST: (35, 35), 0b1000: (5, 5)}
    known = knowing(of_regions(first, withheld=(1, 2), wave=0b01))
    new = of_regions({0b1000: (9, 6)})
    assert told(known, new, width=Width(least=width, floor=0), panel=TWO_WAVES) == kept_back


def test_where_shares_are_looked_at_nothing_is_noted_for_good_and_what_they_are_of_is_not_asked():
    # Only some shares are looked at, others as more come: what these told a later audit may not see.
    ratio = Ratios(np.array([0]), np.array([0]), np.array([4]), np.array([0.5]), np.array([0.6]))
    shares = replace(released(BY_REGION, sex=WOMEN), figures=np.full(5, RECORDS), ratios=ratio)
    leaving = Leaving(knowing(shares, released(BY_REGION, withheld=(0, 2))), [released(FEW)])
    leaving.known.told["noted"] = frozenset()
    assert leaving.notes is leaving.known.told
    assert leaving.in_doubt.notes == {}
    women = shares.boxes
    assert leaving.unshared({women[0], women[1]}) == {women[1]}


def test_a_box_in_doubt_of_which_a_share_is_told_before_or_later_is_taken_for_known():
    ratio = Ratios(np.array([0]), np.array([0]), np.array([4]), np.array([0.5]), np.array([0.6]))
    shares = replace(released(BY_REGION, sex=WOMEN), figures=np.full(5, RECORDS), ratios=ratio)
    marked = replace(released(BY_REGION, withheld=(0, 2), sex=WOMEN), told=Told((0, 2)))
    in_doubt = replace(marked, figures=np.full(5, RECORDS))
    women = shares.boxes
    doubted = {women[0], women[2]}
    for tables in ((shares, in_doubt), (in_doubt, shares)):
        assert Leaving(knowing(*tables)).doubted == doubted
        assert Leaving(knowing(*tables)).unshared(doubted) == {women[2]}
    assert Leaving(knowing(in_doubt)).unshared(doubted) == doubted


def test_a_share_of_records_spares_no_units():
    """With six people in no region, of thirteen women 7 to 13 are in the west."""
    women = released(BY_REGION, sex=WOMEN)
    percents = np.round(women.table.records[[2, 3]] / women.table.records[4], 2)
    ratio = Ratios(np.array([2, 3]), np.array([0, 1]), np.array([4, 4]), percents - 0.005, percents + 0.005)
    units = np.full(5, UNITS | UNITS << SURELY)
    new = replace(released(BY_REGION, withheld=(2, 3), sex=WOMEN), figures=units)
    for before in (women.perhaps(), replace(women.perhaps(), ratios=ratio)):
        known = knowing(before, released(FEW))
        assert told(known, new, width=CLOSE, panel=Panel(frozenset({"wave"}), 100)) == [1]

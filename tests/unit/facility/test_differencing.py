"""Differences that are not counted are safe, and those that are asked for are told apart."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_people import SINGLE_RULES, breaks_a_rule, people
from sdcgate.engine.queries import Region
from sdcgate.facility.difference_bounds import candidates
from sdcgate.facility.differencing import differences_within, differing_variables
from sdcgate.facility.inspector import Inspector
from sdcgate.facility.knowledge import NOTHING_TOLD, ReleasedTable, Told
from sdcgate.methods.cells import Axis, Facts, State
from sdcgate.methods.rules import Consequence, Finding, MinimumUnits, Rules
from sdcgate.methods.tables.boxes import EVERYBODY, BoxTable, make_box
from sdcgate.methods.tables.nesting import Nested

CHECKED = {name: rules for name, rules in SINGLE_RULES.items() if name != "equal values"}
"""Equal values of a large difference are not searched for: see docs/limits.md."""


def pairs(inner_is_new: bool, records: int) -> Nested:
    return Nested(
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.array([inner_is_new]),
        np.array([records]),
        np.array([1]),
    )


@pytest.mark.parametrize("rules", CHECKED.values(), ids=CHECKED)
@settings(max_examples=150, deadline=None)
@given(population=people(), inner_is_new=st.booleans(), ranks=st.integers(1, 3))
def test_a_difference_that_is_no_candidate_breaks_no_rule(rules, population, inner_is_new, ranks):
    inner = population.cell <= 1
    small, large = population.facts([inner]), population.facts([np.ones_like(inner)])
    # Of an earlier table fewer of the largest contributors may be known than the rules look at.
    (income,) = large.measures
    large = replace(large, measures=(replace(income, largest=income.largest[:, :ranks]),))
    new, old = (small, large) if inner_is_new else (large, small)
    inspector = Inspector(rules, 3, lambda regions, measures: None, lambda facts: ())
    found = candidates(new, old, pairs(inner_is_new, int((~inner).sum())), inspector)
    if not found[0] and (~inner).any():
        assert not breaks_a_rule(population.facts([~inner]), rules)[0]


def test_boxes_differ_in_the_variables_that_only_one_of_them_restricts():
    assert differing_variables((("site", 1),), (("site", 1), ("year", 3))) == {"year"}
    assert differing_variables((("site", 1),), (("site", 2),)) == {"site"}
    assert differing_variables((), ()) == set()


AXES = tuple(Axis(name, "all", ("1", "2", "_T"), (2, 2, -1)) for name in ("region", "branch"))
FULL = {"region": 0b11, "branch": 0b11}
"""Two regions and two branches, and all of them: nine cells, the last of everybody."""


def table(withheld: tuple[int, ...], told: Told = NOTHING_TOLD) -> ReleasedTable:
    """People by region and branch; in the first cell of both all but eight are."""
    counts = np.array([400, 3, 403, 2, 3, 5, 402, 6, 408])
    states = np.full(9, State.PUBLISHED, dtype=np.int64)
    states[list(withheld)] = State.WITHHELD
    masks = (0b01, 0b10, 0b11)
    boxes = BoxTable(
        axes=(("region", masks), ("branch", masks)),
        fixed=(),
        full=FULL,
        states=states,
        records=counts,
        marks=counts * 7,
    )
    facts = Facts(units=counts, records=counts)
    return ReleasedTable("counts", boxes, facts, tuple(boxes.boxes()), told)


def within(*tables: ReleasedTable, **more) -> tuple[list[int], list[Region]]:
    """Cells that are flagged where every difference is unsafe, and the differences that were counted."""
    counted = list[Region]()

    def count(regions, measures):
        counted.extend(regions)
        return Facts(
            units=np.ones(len(regions), dtype=np.int64), records=np.ones(len(regions), dtype=np.int64)
        )

    def judge(facts):
        return [Finding("MINIMUM_UNITS", Consequence.PROTECT, tuple(range(len(facts))))]

    inspector = Inspector(Rules(minimum_units=MinimumUnits(10, Consequence.PROTECT)), 1, count, judge, **more)
    return np.flatnonzero(differences_within(AXES, tables, inspector)).tolist(), counted


def test_the_total_and_an_inner_cell_make_a_difference_where_nothing_between_them_is_shown():
    flagged, counted = within(table(withheld=(1, 2, 3, 4, 5, 6, 7)))
    assert flagged == [0]
    first = make_box([("region", 1), ("branch", 1)], FULL)
    assert counted == [Region((EVERYBODY,), (first,))]


def test_what_is_shown_between_them_line_by_line_makes_it_one_of_safe_parts():
    for withheld in ((), (1, 3, 4), (1, 3, 4, 5, 6, 7), (1, 2, 3, 4, 5, 7)):
        assert within(table(withheld)) == ([], [])


def test_a_difference_that_is_a_known_cell_tells_nothing():
    # Eight people are all but the first cell: here they are another cell, which was known.
    known = table(withheld=(1, 2, 3, 4, 5, 6))
    eight = replace(known.table, records=known.table.records.copy(), marks=known.table.marks.copy())
    eight.records[7], eight.marks[7] = 8, (408 - 400) * 7
    assert within(replace(known, table=eight, told=Told(cells=(7,))))[0] == []
    assert 0 in within(replace(known, table=eight))[0]


def test_of_changes_between_versions_every_such_difference_is_counted():
    counts = np.array([400, 300, 700, 200, 300, 500, 600, 600, 1200])
    large = table(withheld=(1, 2, 3, 4, 5, 6, 7))
    large = replace(large, table=replace(large.table, records=counts, marks=counts * 7))
    assert within(large) == ([], [])
    flagged, counted = within(large, also=lambda regions, measures: np.zeros(len(regions), dtype=np.bool_))
    assert flagged == [0]
    assert len(counted) == 1

"""Inequalities of patterns: whatever the audit proves obeys each of them, and an open door breaks one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from made_tables import at, axis, counts, flags, problem, table
from sdcgate.methods.tables.audit import audit
from sdcgate.methods.tables.covering_program import CoveringProgram
from sdcgate.methods.tables.pattern import could_be_withheld
from sdcgate.methods.tables.problem import MOST_COST, Proof
from sdcgate.methods.tables.protection_cuts import Cut, attackers
from sdcgate.methods.tables.solver import Deadline

BOUNDS = [(0.0, None), (None, 40.0), (0.0, 40.0), (-10.0, 60.0), (2.0, None), (-50.0, -1.0)]


def made(rng):
    """A table of persons of any kind: panels, sums with bounds, known cells and sums, absent ones, levels."""
    shape = rng.integers(2, 4, rng.integers(2, 4))
    axes = [axis("abc"[place], [str(code) for code in range(size)]) for place, size in enumerate(shape)]
    people = int(rng.integers(15, 60))
    each = int(rng.integers(1, 3))
    units = np.repeat(np.arange(people), each)
    additive = bool(rng.integers(0, 2)) or each == 1
    positions = np.stack([rng.integers(0, size, people) for size in shape], axis=1)[units]
    if not additive:
        positions[:, 0] = rng.integers(0, shape[0], len(units))
    values, bounds = {}, {}
    if rng.integers(0, 2):
        low, high = BOUNDS[rng.integers(0, len(BOUNDS))]
        x = rng.uniform(-40.0 if low is None else low, 40.0 if high is None else high, len(units)).round(1)
        x[rng.random(len(units)) < 0.1] = np.nan
        values, bounds = {"x": x}, {"x": (low, high)}
    facts = table(axes, positions, units, values, bounds)
    cells = len(facts)
    told = {
        "units_additive": additive,
        "records_per_unit": each,
        "count_width": int(rng.integers(1, 4)),
        "sum_width": float(rng.choice([0.0, 0.3])),
        "zeros_withheld": bool(rng.integers(0, 2)),
        "known": rng.random(cells) < 0.1,
        "costs": rng.integers(1, 50, cells).astype(float),
    }
    if rng.random() < 0.3:
        told["known_sums"] = (np.flatnonzero(rng.random(cells) < 0.3),)
    if values and rng.random() < 0.5:
        told["upper_levels"] = 0.2 * np.abs([facts.measures[0].sums])
        told["lower_levels"] = rng.choice([0.0, 0.1]) * np.abs([facts.measures[0].sums])
    return problem(axes, facts, **told)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1_000_000))
def test_no_cut_excludes_a_pattern_that_the_audit_proves(seed):
    rng = np.random.default_rng(seed)
    of = made(rng)
    could_be = could_be_withheld(of)
    proved = [
        withheld
        for share in (0.4, 0.6, 0.8, 1.0)
        if audit(of, withheld := could_be & ~of.known & (rng.random(len(of.facts)) < share), 2).proof
        is Proof.PROVED
        and withheld.any()
    ]
    assume(proved)
    for withheld in proved:
        unsafe = withheld & (rng.random(len(of.facts)) < 0.3)
        candidates = could_be & ~unsafe & ~of.wholly_known
        for attacker in attackers(of, unsafe, candidates):
            found = []
            for share in (0.0, 0.2, 0.5):
                other = unsafe | (candidates & (rng.random(len(of.facts)) < share))
                found += attacker.cuts(other, Deadline(5))
                shares = np.where(candidates, rng.random(len(of.facts)) * share, unsafe)
                found += attacker.fractional_cuts(shares, Deadline(5))
                found += attacker.cuts_of_ends(shares, Deadline(5))
            for cut in found:
                assert cut.values @ withheld[cut.cells] >= withheld[cut.cell] - 1e-9


def test_a_cell_alone_in_its_row_breaks_a_cut_that_its_neighbours_mend():
    of = counts([[2, 60, 9], [70, 80, 5], [8, 90, 7]])
    unsafe = flags(of, 0)
    (attacker,) = attackers(of, unsafe, ~unsafe)
    found = attacker.cuts(unsafe, Deadline(5))
    assert {cut.cell for cut in found} == {0}
    square = unsafe | flags(of, at(of, 0, 2), at(of, 2, 0), at(of, 2, 2))
    assert all(cut.values @ square[cut.cells] >= 1 for cut in found)
    assert attacker.cuts(square, Deadline(5)) == []


def test_a_cell_of_one_cannot_give_where_everybody_knows_that_it_is_not_empty():
    # All move by one along a square; those of one person could only go up, two of them beside each other.
    inner = [[1, 1, 30], [40, 50, 20], [60, 70, 80]]
    square = (0, 1, 4, 5)
    for zeros, broken in ((True, False), (False, True)):
        of = counts(inner, zeros_withheld=zeros)
        unsafe = flags(of, 0)
        (attacker,) = attackers(of, unsafe, ~unsafe)
        assert bool(attacker.cuts(flags(of, *square), Deadline(5))) is broken


def test_what_a_cell_of_few_can_lose_counts_in_its_own_cut():
    # Of its three persons two can be thought away, and its neighbours can lose one each: ten are asked.
    of = counts([[3, 2, 90], [2, 60, 80], [90, 70, 80]], count_width=10)
    unsafe = flags(of, 0)
    (attacker,) = attackers(of, unsafe, ~unsafe)
    square = unsafe | flags(of, at(of, 0, 1), at(of, 1, 0), at(of, 1, 1))
    assert attacker.cuts(square, Deadline(5))
    assert attacker.cuts_of_ends(square.astype(float), Deadline(5))
    wide = unsafe | flags(of, at(of, 0, 2), at(of, 2, 0), at(of, 2, 2))
    assert attacker.cuts(wide, Deadline(5)) == []
    assert attacker.cuts_of_ends(wide.astype(float), Deadline(5)) == []
    assert attacker.cuts_of_ends(np.where(unsafe, 1.0, 0.5 * wide), Deadline(5))


def test_the_program_bounds_prices_and_says_where_nothing_obeys():
    of = counts([[2, 60, 9], [70, 80, 5], [8, 90, 7]])
    unsafe = flags(of, 0)
    (attacker,) = attackers(of, unsafe, ~unsafe)
    program = CoveringProgram(of.prices, np.flatnonzero(~unsafe), unsafe.astype(float))
    assert program.relaxed(Deadline(5)).least == 0
    program.add(attacker.cuts(unsafe, Deadline(5)))
    first = program.pattern(None, Deadline(5))
    assert 0 < first.least <= 10 + 9 + 8
    assert first.least == pytest.approx(of.prices[(first.shares > 0.5) & ~unsafe].sum(), rel=1e-5)
    none = replace(
        attacker.cuts(unsafe, Deadline(5))[0], cells=np.zeros(0, dtype=np.int64), values=np.zeros(0)
    )
    program.add([none])
    assert program.pattern(None, Deadline(5)).impossible


@pytest.mark.parametrize("smallest", [1e-300, 1e-12, 0.25])
def test_prices_that_are_nothing_beside_others_leave_a_bound_that_holds(smallest):
    # Of three cells two have to be withheld beside the first.
    prices = np.array([1.0, smallest, MOST_COST, 3.0])
    program = CoveringProgram(prices, np.array([1, 2, 3]), np.array([1.0, 0.0, 0.0, 0.0]))
    program.add([Cut(0, np.array([1, 2, 3]), np.full(3, 0.5))])
    cheapest = program.pattern(None, Deadline(5))
    assert cheapest.shares.round().tolist() == [1, 1, 0, 1]
    assert 3.0 * (1 - 1e-5) <= cheapest.least <= 3.0 + smallest

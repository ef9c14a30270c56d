"""Whatever is said to be proved stands against an intruder written apart from it; few cells are withheld."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intruder_by_scipy import Intruder
from looked_at_clock import seconds_a_look
from made_tables import (
    at,
    axis,
    counts,
    facts,
    flags,
    margins_absent,
    problem,
    rand_problem,
    table,
    with_margins,
)
from sdcgate.methods.positions import FactsError
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.solver import Program
from sdcgate.methods.tables.suppression import protect
from sdcgate.methods.tables.witnesses import verify


def proved(of, unsafe, seconds=20.0):
    found = protect(of, unsafe, seconds)
    assert found.proof is Proof.PROVED
    assert not found.unprotected.any()
    assert not verify(of, found.withheld, found.witnesses).any()
    assert not np.any(unsafe & ~found.withheld)
    assert not np.any(found.withheld & of.absent & ~unsafe)
    return found


def test_nothing_unsafe_withholds_nothing():
    found = proved(counts([[5, 6], [7, 8]]), flags(counts([[5, 6], [7, 8]])))
    assert not found.withheld.any()
    assert found.cost == 0


def test_one_unsafe_cell_takes_the_cheapest_square():
    of = counts([[2, 60, 9], [70, 80, 5], [8, 90, 7]])
    found = proved(of, flags(of, at(of, 0, 0)))
    expected = [at(of, 0, 0), at(of, 0, 2), at(of, 2, 0), at(of, 2, 2)]
    assert np.flatnonzero(found.withheld).tolist() == expected
    assert found.cost == 9 + 8 + 7


def test_costs_that_are_given_decide_which_square_is_taken():
    of = counts([[2, 60, 9], [70, 80, 5], [8, 90, 7]])
    prices = of.prices.copy()
    prices[[at(of, 1, 2), at(of, 2, 2)]] = 1000.0
    found = proved(replace(of, costs=prices), flags(of, at(of, 0, 0)))
    # With the totals of the first and the third column, whose inner cells are too dear.
    expected = [at(of, 0, 0), at(of, 0, 2), at(of, 3, 0), at(of, 3, 2)]
    assert np.flatnonzero(found.withheld).tolist() == expected
    assert found.price == 10 + 81 + 22


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf"), 2.0**51])
def test_a_cost_that_is_none_is_told_with_its_cell(wrong):
    of = counts([[2, 60, 9], [70, 80, 5], [8, 90, 7]])
    prices = of.prices.copy()
    prices[3] = wrong
    with pytest.raises(FactsError) as caught:
        replace(of, costs=prices)
    assert [(problem.path, list(problem.cells)) for problem in caught.value.problems] == [("costs", [3])]


def test_empty_cells_are_not_withheld_unless_zeros_are():
    inner = [[2, 0, 9], [0, 3, 5], [8, 90, 7]]
    of = counts(inner)
    found = proved(of, flags(of, 0))
    assert not np.any(found.withheld & (of.facts.records == 0))
    of = counts(inner, zeros_withheld=True)
    found = proved(of, flags(of, 0))
    assert np.flatnonzero(found.withheld).tolist() == [0, 1, 4, 5]
    assert found.cost == 3


def test_known_cells_are_not_withheld():
    of = counts([[2, 60, 9], [70, 80, 5], [8, 90, 7]])
    known = flags(of, at(of, 0, 2))
    found = proved(counts([[2, 60, 9], [70, 80, 5], [8, 90, 7]], known=known), flags(of, 0))
    assert not np.any(found.withheld & known)


def test_an_unsafe_cell_that_is_known_cannot_be_protected():
    known = flags(counts([[2, 60], [70, 80]]), 0)
    of = counts([[2, 60], [70, 80]], known=known)
    found = protect(of, known, 5)
    assert found.proof is Proof.REFUTED
    assert found.unprotected[0]


def test_absent_margins_protect_for_nothing():
    axes = [axis("a", "01"), axis("b", "01")]
    records = with_margins(np.array([[2, 6], [7, 8]]))
    of = problem(axes, facts(records, records), absent=margins_absent(axes))
    found = proved(of, flags(of, 0))
    assert np.flatnonzero(found.withheld).tolist() == [0]


def test_a_known_sum_is_got_around():
    inner = [[2, 6, 9], [7, 8, 5], [8, 9, 7]]
    of = counts(inner)
    plain = proved(of, flags(of, 0))
    known = (np.flatnonzero(plain.withheld)[[0, 3]],)
    around = proved(counts(inner, known_sums=known), flags(of, 0))
    assert not np.array_equal(plain.withheld, around.withheld)


def test_an_empty_cell_said_to_be_unsafe_is_unproved_where_zeros_are_shown():
    of = counts([[0, 6, 9], [7, 8, 9]])
    found = protect(of, flags(of, 0), 5)
    assert found.proof is not Proof.PROVED
    assert found.unprotected[0]


def test_what_cannot_be_protected_is_said_to_be_so():
    of = counts([[2]])
    found = protect(of, flags(of, 0), 5)
    assert found.proof is Proof.PROVED or found.unprotected[0]
    known = ~flags(of, 0)
    found = protect(counts([[2]], known=known), flags(of, 0), 5)
    assert found.proof is Proof.REFUTED
    assert np.flatnonzero(found.unprotected).tolist() == [0]


def test_without_time_nothing_is_proved():
    of = counts([[2, 60, 9], [70, 80, 5], [8, 90, 7]])
    found = protect(of, flags(of, 0), 0)
    assert found.proof is Proof.UNPROVED
    assert np.array_equal(found.unprotected, found.withheld)


def test_flags_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match="unsafe"):
        protect(counts([[2, 60], [70, 80]]), np.zeros(2, dtype=np.bool_), 5)


def test_the_same_problem_has_the_same_pattern():
    of = rand_problem(("site", "plan"))
    unsafe = (of.facts.units > 0) & (of.facts.units < 30)
    assert np.array_equal(protect(of, unsafe, 20).withheld, protect(of, unsafe, 20).withheld)


@pytest.mark.parametrize("measures", [(), ("meddol",), ("meddol", "mdvis")])
def test_site_by_plan_by_sex_on_real_data_withholds_few_more(measures):
    # RAND Health Insurance Experiment: 12 of 140 inner cells with anybody have fewer than 10 persons.
    of = rand_problem(("site", "plan", "female"), measures)
    unsafe = (of.facts.units > 0) & (of.facts.units < 10)
    assert int(unsafe.sum()) == 13
    found = proved(of, unsafe)
    assert int(found.withheld.sum()) <= 28


def test_site_by_plan_by_year_on_real_data_where_units_do_not_add_up():
    of = rand_problem(("site", "plan", "year"), ("meddol",), units_additive=False)
    unsafe = (of.facts.units > 0) & (of.facts.units < 10)
    found = proved(of, unsafe)
    assert int(unsafe.sum()) == 51
    assert int(found.withheld.sum()) <= 90


def attacked(of, found):
    """Every withheld cell as wide as required in the eyes of the independent intruder."""
    intruder = Intruder(of, found.withheld)
    widths = of.sum_widths(of.unknown(found.withheld))
    for cell in np.flatnonzero(found.withheld):
        assert intruder.width(0, cell) >= of.count_width - 1e-6
        assert intruder.width(1, cell) >= of.count_width - 1e-6
        for measure in range(len(of.facts.measures)):
            assert intruder.width(2 + measure, cell) >= widths[measure, cell] * (1 - 1e-6) - 1e-9


@st.composite
def tables(draw, varying, with_values):
    """A table of up to 24 units with one to three records each, its axes fixed or not within a unit."""
    sizes = draw(st.sampled_from([(2, 3), (3, 3), (2, 2, 2), (3, 2, 2)]))
    people = draw(st.integers(4, 24))
    most = draw(st.integers(1, 3))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    units = np.repeat(np.arange(people), random.integers(1, most + 1, people))
    places = np.stack([random.integers(0, size, people)[units] for size in sizes], axis=1)
    if varying:
        places[:, -1] = random.integers(0, sizes[-1], len(units))
    values = {"cost": random.integers(0, 20, len(units)) * 1.0} if with_values else {}
    upper = draw(st.sampled_from([None, 20.0]))
    axes = [axis("abc"[i], [str(code) for code in range(size)]) for i, size in enumerate(sizes)]
    of = problem(
        axes,
        table(axes, places, units, values, {"cost": (0.0, upper)}),
        units_additive=not varying,
        varying_axes=draw(st.sampled_from([None, frozenset({len(sizes) - 1})])) if varying else None,
        records_per_unit=most,
        count_width=draw(st.integers(1, 2)),
        zeros_withheld=draw(st.booleans()),
        absent=margins_absent(axes) & draw(st.booleans()),
    )
    threshold = draw(st.integers(1, 4))
    unsafe = (of.facts.units > 0) & (of.facts.units < threshold) & ~of.absent
    return of, unsafe


@settings(max_examples=30, deadline=None)
@given(tables(varying=False, with_values=False))
def test_no_intruder_narrows_what_is_proved(made):
    of, unsafe = made
    found = protect(of, unsafe, 10)
    assert np.array_equal(verify(of, found.withheld, found.witnesses), found.unprotected)
    if found.proof is Proof.PROVED:
        attacked(of, found)


@settings(max_examples=15, deadline=None)
@given(tables(varying=False, with_values=True))
def test_no_intruder_narrows_proved_sums(made):
    of, unsafe = made
    found = protect(of, unsafe, 10)
    if found.proof is Proof.PROVED:
        attacked(of, found)


@settings(max_examples=15, deadline=None)
@given(tables(varying=True, with_values=True))
def test_no_intruder_narrows_units_that_do_not_add_up(made):
    of, unsafe = made
    found = protect(of, unsafe, 10)
    if found.proof is Proof.PROVED:
        attacked(of, found)


def test_what_the_witnesses_of_a_smaller_pattern_prove_is_not_searched_again(monkeypatch):
    of = rand_problem(["site", "plan"])
    first = proved(of, (of.facts.units < 10) & (of.facts.units > 0))
    shown = np.flatnonzero(~first.withheld & (of.facts.records > 0))
    one_more = first.withheld | (np.arange(len(of.facts)) == shown[5])
    searched = []
    solve = Program.maximise
    monkeypatch.setattr(Program, "maximise", lambda *asked: searched.append(1) or solve(*asked))
    proved_from(of, one_more, None)
    afresh, searched[:] = len(searched), []
    again = proved_from(of, one_more, first.witnesses)
    assert len(searched) < afresh / 2
    assert not np.any(one_more & ~again.withheld)


def proved_from(of, unsafe, witnesses):
    found = protect(of, unsafe, 20.0, witnesses)
    assert found.proof is Proof.PROVED
    assert not verify(of, found.withheld, found.witnesses).any()
    return found


def test_whoever_has_time_has_less_withheld(monkeypatch):
    monkeypatch.setattr("sdcgate.methods.tables.proved_pattern.LEAST_EFFORT", 0.0)
    monkeypatch.setattr("sdcgate.methods.tables.proved_pattern.EFFORT_SHARE", 0.0)
    monkeypatch.setattr("sdcgate.methods.tables.suppression.SECOND_EFFORT", 0.0)
    of = rand_problem(("site", "plan", "female"))
    unsafe = (of.facts.units < 10) & (of.facts.units > 0)
    quick, thorough = protect(of, unsafe, 20.0), protect(of, unsafe, 20.0, thorough=True)
    assert quick.proof is thorough.proof is Proof.PROVED
    assert thorough.price < quick.price
    assert not verify(of, thorough.withheld, thorough.witnesses).any()


SECONDS = 20.0
LOOKS = (5, 20, 60, 100, 140, 180, 220, 260, 300, 400, 600, 5000)
"""How often a deadline of so many seconds is looked at before it is over."""


@pytest.mark.parametrize("dimensions", [("site", "plan", "female"), ("site", "plan")], ids="-".join)
def test_a_search_that_the_clock_ends_proves_nothing_and_takes_no_other_pattern(dimensions, monkeypatch):
    of = rand_problem(dimensions)
    unsafe = (of.facts.units < 30) & (of.facts.units > 0)
    patterns, in_time = set(), []
    for looks in LOOKS:
        seconds_a_look(monkeypatch, SECONDS / looks)
        found = protect(of, unsafe, SECONDS)
        in_time.append(found.in_time)
        if found.in_time:
            assert found.proof is Proof.PROVED
            patterns.add(found.withheld.tobytes())
        else:
            assert found.proof is Proof.UNPROVED
            assert verify(of, found.withheld, found.witnesses).any()
            assert np.array_equal(found.unprotected, found.withheld)
    assert len(patterns) == 1
    assert in_time == sorted(in_time)
    assert not in_time[0]


def test_how_long_the_caller_waits_decides_whether_there_is_a_pattern_and_not_which(monkeypatch):
    of = rand_problem(("site", "plan", "female"))
    unsafe = (of.facts.units < 10) & (of.facts.units > 0)
    whole = proved(of, unsafe)
    seconds_a_look(monkeypatch, 0.01)
    early, late = (protect(of, unsafe, 20.0, left=left) for left in (0.5, 15.0))
    assert (early.proof, early.in_time) == (Proof.UNPROVED, False)
    assert (late.proof, late.in_time) == (Proof.PROVED, True)
    assert np.array_equal(late.withheld, whole.withheld)


def test_a_thorough_search_takes_what_it_has_when_the_time_is_over(monkeypatch):
    of = rand_problem(("site", "plan", "female"))
    unsafe = (of.facts.units < 10) & (of.facts.units > 0)
    prices = []
    for looks in LOOKS:
        seconds_a_look(monkeypatch, SECONDS / looks)
        found = protect(of, unsafe, SECONDS, thorough=True)
        if found.proof is Proof.PROVED:
            assert not verify(of, found.withheld, found.witnesses).any()
            prices.append(found.price)
    assert prices[0] > prices[-1]


def test_little_time_is_not_spent_on_cheaper_patterns(monkeypatch):
    of = rand_problem(("site", "plan", "female"))
    unsafe = (of.facts.units < 10) & (of.facts.units > 0)
    much = protect(of, unsafe, 20.0)
    # So fast a machine ends everything in time; what is allowed decides how much is tried.
    seconds_a_look(monkeypatch, 1e-9)
    little = protect(of, unsafe, 0.05)
    assert much.proof is little.proof is Proof.PROVED
    assert little.price >= much.price
    assert np.array_equal(little.withheld, protect(of, unsafe, 0.05).withheld)


def test_witnesses_that_contradict_the_table_or_are_malformed_prove_nothing():
    of = counts([[2, 60, 9], [70, 80, 5], [8, 90, 7]])
    first = proved(of, flags(of, at(of, 0, 0)))
    lying = replace(first.witnesses, records=first.witnesses.records + 1)
    malformed = replace(first.witnesses, cells=first.witnesses.cells[:-1])
    for witnesses in (lying, malformed):
        found = proved_from(of, first.withheld, witnesses)
        assert found.withheld.tolist() == first.withheld.tolist()

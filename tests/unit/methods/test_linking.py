"""Tables with common cells: one problem, one pattern, against an intruder who has the table beneath them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intruder_by_scipy import Intruder
from made_tables import axis, facts, problem, table
from sdcgate.methods.cells import TOTAL, cell_codes
from sdcgate.methods.tables.audit import audit
from sdcgate.methods.tables.exact_suppression import protect_exactly
from sdcgate.methods.tables.linking import LinkError, joint_flags, link
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.suppression import protect

A, B, C = axis("a", "123"), axis("b", "12"), axis("c", "123")


def people(seed, count=60):
    rng = np.random.default_rng(seed)
    sizes = [3, 2, 3]
    return np.stack([rng.choice(size, count, p=rng.dirichlet(np.full(size, 2.0))) for size in sizes], axis=1)


def counted(records, *axes, **changed):
    """A table of people by some of the variables a, b, c."""
    columns = ["abc".index(one.variable) for one in axes]
    return problem(axes, table(axes, records[:, columns], np.arange(len(records))), **changed)


def small(of, least=3):
    return (of.facts.records > 0) & (of.facts.records < least)


def places_in(full, axes):
    """Cells of a table among those of the table by all variables."""
    codes = cell_codes(axes)
    shape = [len(one.codes) for one in full]
    names = {one.variable: codes[place] for place, one in enumerate(axes)}
    where = [names.get(one.variable, np.full(codes.shape[1], len(one.codes) - 1)) for one in full]
    return np.ravel_multi_index(where, shape)


def test_cells_with_the_same_codes_are_one_whatever_the_order_of_variables():
    records = people(1)
    linked = link([counted(records, A, B), counted(records, C, A)])
    assert len(linked.problem.facts) == 12 + 16 - 4
    first, second = linked.places
    assert first.tolist() == list(range(12))
    common = sorted(set(first.tolist()) & set(second.tolist()))
    # The four totals of a: a = 1, 2, 3 and all.
    assert common == [2, 5, 8, 11]
    assert linked.problem.facts.records[second].tolist() == counted(records, C, A).facts.records.tolist()


def test_a_cell_that_one_table_publishes_is_not_hidden_in_another():
    # Alone the first table hides a total that the second one shows.
    inner = np.array([[2, 9, 8], [9, 2, 7]])
    rows = np.array([(a, b, 0) for b in (0, 1) for a in range(3) for _ in range(inner[b, a])])
    one, two = counted(rows, A, B, count_width=3), counted(rows, A, C, count_width=3)
    linked = link([one, two])
    alone = np.zeros(12, dtype=np.bool_)
    alone[[0, 2, 9, 11]] = True
    assert audit(one, alone, 5).proof is Proof.PROVED
    nothing = np.zeros(16, dtype=np.bool_)
    as_published = joint_flags([alone, nothing], linked.places)
    shown = linked.places[1]
    as_published[shown] = False
    assert audit(linked.problem, as_published, 5).proof is Proof.REFUTED
    found = protect(linked.problem, joint_flags([small(one), small(two)], linked.places), 10)
    assert found.proof is Proof.PROVED


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(1, 3), exact=st.booleans())
def test_what_is_proved_for_linked_tables_holds_for_who_has_all_of_them(seed, width, exact):
    records = people(seed)
    tables = [counted(records, A, B, count_width=width), counted(records, A, C, count_width=width)]
    linked = link(tables)
    unsafe = joint_flags([small(one) for one in tables], linked.places)
    found = (protect_exactly if exact else protect)(linked.problem, unsafe, 20)
    if found.proof is not Proof.PROVED:
        return
    # Two tables with one common margin: any two of them have a table by all three variables beneath.
    full = counted(records, A, B, C, count_width=width)
    withheld, shown = np.zeros((2, len(full.facts)), dtype=np.bool_)
    for one, places in zip(tables, linked.places, strict=True):
        of_all = places_in((A, B, C), one.axes)
        withheld[of_all] = found.withheld[places]
        shown[of_all] = True
    intruder = Intruder(replace(full, absent=~shown), withheld)
    assert all(intruder.width(0, int(cell)) >= width for cell in np.flatnonzero(withheld))


def test_together_they_cost_no_less_than_the_dearest_alone():
    records = people(3, 200)
    tables = [counted(records, A, B, count_width=3), counted(records, A, C, count_width=3)]
    linked = link(tables)
    unsafe = joint_flags([small(one, 8) for one in tables], linked.places)
    together = protect_exactly(linked.problem, unsafe, 10)
    alone = [protect_exactly(one, small(one, 8), 10) for one in tables]
    assert together.gap == 0
    assert together.proof is Proof.PROVED
    assert together.price >= max(one.price for one in alone)


def test_sums_and_hierarchies_are_linked_too():
    records = people(4)
    values = {"x": np.random.default_rng(0).integers(1, 50, len(records)).astype(float)}
    nested = replace(A, codes=("1", "2", "3", "12", TOTAL), parents=(3, 3, 4, 4, -1))
    positions = np.arange(len(records))
    one = problem((A, B), table((A, B), records[:, :2], positions, values), sum_width=0.2)
    flat = table((A,), records[:, :1], positions, values)
    pick = [0, 1, 2, 2, 3]
    counts, sums = flat.records[pick], flat.measures[0].sums[pick]
    counts[3], sums[3] = counts[:2].sum(), sums[:2].sum()
    two = problem((nested,), facts(counts, counts, {"x": sums}), sum_width=0.2)
    linked = link([one, two])
    assert len(linked.problem.facts) == 13
    assert linked.problem.facts.measures[0].sums[12] == sums[3]
    unsafe = joint_flags([small(one, 6), small(two, 6)], linked.places)
    assert protect(linked.problem, unsafe, 10).proof is Proof.PROVED


def test_tables_that_contradict_each_other_are_told_with_their_cells():
    records = people(5)
    one, two = counted(records, A, B), counted(records[:-1], A, C)
    with pytest.raises(LinkError) as caught:
        link([one, two])
    found = {(number, problem.path) for number, problem in caught.value.problems}
    assert found == {(1, "facts.units"), (1, "facts.records")}
    wrong = next(problem for _, problem in caught.value.problems)
    # The totals of a, and among these that of everybody; no figure is told.
    assert 15 in wrong.cells
    assert set(wrong.cells) <= {3, 7, 11, 15}
    assert not any(character.isdigit() for character in wrong.message)


def test_what_is_demanded_must_be_the_same_and_all_differences_are_told():
    records = people(6)
    one, two = counted(records, A, B), counted(records, A, C, count_width=3, zeros_withheld=True)
    with pytest.raises(LinkError) as caught:
        link([one, two])
    assert [(number, problem.path) for number, problem in caught.value.problems] == [
        (1, "count_width"),
        (1, "zeros_withheld"),
    ]


def test_one_code_at_two_levels_of_a_variable_is_told():
    axes = (replace(A, level="fine"), replace(A, level="coarse"))
    records = people(7)[:, [0, 0]]
    twice = problem(axes, table(axes, records, np.arange(len(records))))
    with pytest.raises(LinkError, match="two levels of one variable"):
        link([twice, twice])


def test_costs_levels_and_what_is_known_come_together():
    records = people(8)
    one, two = counted(records, A, B), counted(records, A, C)
    one = replace(one, known=np.arange(12) == 2, costs=np.full(12, 5.0))
    two = replace(two, costs=np.full(16, 7.0), known_sums=(np.array([0, 1]),))
    linked = link([one, two])
    assert linked.problem.known[linked.places[1][3]]
    assert linked.problem.costs[[0, 2]].tolist() == [5.0, 7.0]
    assert linked.problem.known_sums[0].tolist() == linked.places[1][:2].tolist()

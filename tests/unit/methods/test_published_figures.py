"""Published percentages, rounded means, rounded values and bounds of cells, against other intruders."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from intruder_by_scipy import Intruder
from made_tables import at, axis, counts, facts, flags, problem, with_margins
from sdcgate.methods.positions import FactsError
from sdcgate.methods.tables.audit import audit
from sdcgate.methods.tables.intervals import withheld_intervals
from sdcgate.methods.tables.leak_arithmetic import Kind, arithmetic_of
from sdcgate.methods.tables.leak_sentences import cell_name, sentence
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.published_figures import (
    CellBounds,
    FactOfCells,
    PublishedRatios,
    RoundedValues,
)
from sdcgate.methods.tables.quantities import RECORDS, SUMS
from sdcgate.methods.tables.singletons import singletons
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.witnesses import verify


def fact(cells, quantity=RECORDS, having=None):
    return FactOfCells(quantity, np.atleast_1d(np.array(cells, dtype=np.int64)), having)


def column(values):
    return np.atleast_1d(np.array(values, dtype=np.float64))


def ratios(over, per, values, half, times=1.0):
    values = column(values)
    return PublishedRatios(over, per, values, np.full(len(values), float(half)), times)


def intervals(of, withheld, integral=True):
    found = withheld_intervals(of, withheld, Deadline(60.0), integral)
    return {(one.quantity, one.cell): one for one in found}


def ends(of, withheld, integral=True):
    return {place: (one.lower, one.upper) for place, one in intervals(of, withheld, integral).items()}


# 40 = 7 + 13 + 20 in the first line, in which 7 and 13 are withheld, and so are the cells below them.
LINE = np.array([[7, 13, 20], [11, 14, 30]])


def line(**changed):
    return counts(LINE, **changed)


def test_a_published_percentage_tells_a_withheld_count_and_is_named():
    of = line()
    withheld = flags(of, at(of, 0, 0), at(of, 0, 1), at(of, 1, 0), at(of, 1, 1))
    assert audit(of, withheld, 5).proof is Proof.PROVED
    # 7 of 40 are 17.5%, and no other whole number of 40 is 17.5 to a decimal.
    share = ratios(fact(at(of, 0, 0)), fact(at(of, 0, -1)), 17.5, 0.05, 100.0)
    of = line(published=(share,))
    found = audit(of, withheld, 5)
    assert found.proof is Proof.REFUTED
    assert ends(of, withheld)[RECORDS, at(of, 0, 0)] == (7, 7)
    leak = next(one for one in found.leaks if one.cell == at(of, 0, 0))
    lower, upper = arithmetic_of(of, withheld, leak, Deadline(5))
    assert (lower.bound, upper.bound) == pytest.approx((6.98, 7.02))
    assert [step.kind for step in upper.steps] == [Kind.PUBLISHED_RATIO]
    said = sentence(upper, 1, lambda cell: cell_name(of.axes, cell), ("records", "units"), of.published)
    assert said == (
        "0.1755 x 40 [0, _T] = at most 7.02, as [0, 0 / 0, _T is published as 17.5% to within 0.05]"
    )


def test_a_rounded_mean_tells_a_withheld_sum():
    axes = [axis("a", "01"), axis("b", "01")]
    records = with_margins(np.array([[2, 6], [7, 8]]))
    sums = with_margins(np.array([[20.0, 50.0], [90.0, 40.0]]))
    measured = facts(records, records, {"x": sums})
    inner = flags(problem(axes, measured), 0, 1, 3, 4)
    # Counts were published all along: known. The mean of the first cell is 10.0 to a decimal.
    mean = ratios(fact(0, SUMS), fact(0), 10.0, 0.05)
    known = np.ones(9, dtype=np.bool_)
    of = problem(
        axes, measured, known=known, known_measures=np.zeros((1, 9), dtype=np.bool_), published=(mean,)
    )
    found = audit(of, inner, 5)
    assert found.proof is Proof.REFUTED
    assert ends(of, inner, False)[SUMS, 0] == pytest.approx((19.9, 20.1))
    leak = next(one for one in found.leaks if one.cell == 4)
    lower, upper = arithmetic_of(of, inner, leak, Deadline(5))
    assert (lower.bound, upper.bound) == pytest.approx((39.9, 40.1))
    assert Kind.PUBLISHED_RATIO in {step.kind for step in lower.steps}


def test_a_mean_of_two_withheld_facts_ties_the_one_to_the_other():
    """Sum and count of a cell are both hidden: the exact mean still says that one is ten times the other."""
    axes = [axis("a", "01"), axis("b", "01")]
    records = with_margins(np.array([[2, 6], [7, 8]]))
    sums = with_margins(np.array([[20.0, 50.0], [90.0, 40.0]]))
    mean = ratios(fact(0, SUMS), fact(0), 10.0, 0.0)
    of = problem(axes, facts(records, records, {"x": sums}, bounds={"x": (0.0, 100.0)}), published=(mean,))
    withheld = flags(of, 0, 1, 3, 4)
    found = ends(of, withheld)
    # Records of the cell are 1 to 7; its sum is no more than 70, the total of its row.
    assert found[RECORDS, 0] == (1, 7)
    assert found[SUMS, 0] == pytest.approx((10.0, 70.0))
    proved = audit(of, withheld, 5)
    assert proved.proof is Proof.PROVED
    for table in range(len(proved.witnesses)):
        assert proved.witnesses.sums[0, table, 0] == pytest.approx(10 * proved.witnesses.records[table, 0])


def test_a_denominator_of_a_published_ratio_is_not_nothing():
    inner = [[1, 4, 5], [3, 5, 9]]
    of = counts(inner, zeros_withheld=True)
    withheld = flags(of, 0, 1, 2, 4, 5, 6)
    assert ends(of, withheld)[RECORDS, 0] == (0, 4)
    # With none below there would be none above either, and all ten of the line in the third cell.
    share = ratios(fact(1), fact(0), 4.0, 3.9)
    of = counts(inner, zeros_withheld=True, published=(share,))
    assert ends(of, withheld)[RECORDS, 0] == (1, 4)


def test_a_witness_that_contradicts_a_published_figure_proves_nothing():
    of = line()
    withheld = flags(of, at(of, 0, 0), at(of, 0, 1), at(of, 1, 0), at(of, 1, 1))
    witnesses = audit(of, withheld, 5).witnesses
    assert not verify(of, withheld, witnesses).any()
    cell = at(of, 0, 0)
    for told in (
        ratios(fact(cell), fact(at(of, 0, -1)), 17.5, 0.05, 100.0),
        CellBounds(fact(cell), column(7), column(7)),
        RoundedValues(fact(cell), column(7), column(0.4)),
    ):
        assert np.array_equal(verify(line(published=(told,)), withheld, witnesses), withheld)


def test_records_that_lack_a_measure_are_not_in_its_mean():
    records, valid, sums = [6, 9, 5, 20], [4, 9, 5, 18], [40.0, 30.0, 20.0, 90.0]
    of = problem(
        [axis("a", "012")],
        facts(records, records, {"x": sums}, {"x": valid}),
        published=(ratios(fact(0, SUMS), fact(0, having=0), 10.0, 0.5),),
        known=np.ones(4, dtype=np.bool_),
        known_measures=np.zeros((1, 4), dtype=np.bool_),
    )
    assert ends(of, flags(of, 0, 1))[SUMS, 0] == pytest.approx((38.0, 42.0))


def test_a_rounded_total_hides_more_and_an_exact_one_tells():
    withheld = np.array([True, False, False, False])
    assert audit(counts([2, 6, 8]), withheld, 5).proof is Proof.REFUTED
    rounded = RoundedValues(fact([1, 2, 3]), column([5, 10, 15]), np.full(3, 2.5))
    of = counts([2, 6, 8], published=(rounded,))
    # 13 to 17 in all, of which 3 to 7 and 8 to 12 are in the other cells; and it is not empty.
    assert ends(of, withheld)[RECORDS, 0] == (1, 6)
    assert audit(of, withheld, 5).proof is Proof.PROVED
    of = counts([2, 6, 8], published=(rounded,), count_width=6)
    found = audit(of, withheld, 5)
    (leak,) = found.leaks
    assert (leak.lower, leak.upper) == (1, 6)
    _, upper = arithmetic_of(of, withheld, leak, Deadline(5))
    said = sentence(upper, 1, lambda cell: cell_name(of.axes, cell), ("records", "units"), of.published)
    assert upper.bound == 7.5
    assert said == (
        "17.5 [_T is published as 15 to within 2.5] - 2.5 [1 is published as 5 to within 2.5] "
        "- 7.5 [2 is published as 10 to within 2.5] = at most 7.5"
    )


def test_who_is_alone_in_a_rounded_cell_knows_it_as_it_is():
    """Of 1, 6 and 8 the second is withheld: 1 to 7 for all, and 2 to 6 for who is the first."""
    values = column([0, 10, 15])
    rounded = RoundedValues(fact([0, 2, 3]), values, np.array([2.5, 2.5, 0.5]))
    of = counts([1, 6, 8], published=(rounded,), count_width=6)
    withheld = np.array([False, True, False, False])
    found = audit(of, withheld, 5)
    assert found.proof is Proof.PROVED
    (one,) = singletons(of, withheld, found, Deadline(5))
    assert (one.own.tolist(), one.unprotected.tolist(), one.refuted) == ([0], [1], True)


def test_bounds_of_single_cells_are_honoured_and_take_the_place_of_those_of_a_measure():
    of = line()
    withheld = flags(of, at(of, 0, 0), at(of, 0, 1), at(of, 1, 0), at(of, 1, 1))
    told = CellBounds(fact([at(of, 0, 0)]), column(5), column(9))
    of = line(published=(told,))
    assert ends(of, withheld)[RECORDS, at(of, 0, 1)] == (11, 15)
    axes, records, sums = [axis("a", "012")], [6, 9, 5, 20], [40.0, 30.0, 20.0, 90.0]
    unbounded = facts(records, records, {"x": sums}, bounds={"x": (None, None)})
    withheld = np.array([True, True, False, False])
    assert audit(problem(axes, unbounded), withheld, 5).proof is Proof.UNPROVED
    own = CellBounds(fact([0, 1], SUMS), column([20.0, -np.inf]), column([80.0, 60.0]))
    of = problem(axes, unbounded, published=(own,))
    assert audit(of, withheld, 5).proof is Proof.PROVED
    assert ends(of, withheld, False)[SUMS, 0] == pytest.approx((20.0, 80.0), abs=1e-5)


def test_that_a_total_is_all_of_itself_is_published_with_other_percentages():
    """The last row of a column of percentages; nothing follows from it."""
    own = PublishedRatios(fact([2, 0]), fact([2, 2]), column([100.0, 20.0]), column([0.05, 0.05]), 100.0)
    of = counts([[4, 16], [9, 8]], published=(own,))
    assert ends(of, np.ones(9, dtype=np.bool_), integral=False)[RECORDS, 2] == (5, None)
    other = replace(own, values=column([99.0, 20.0]))
    with pytest.raises(FactsError, match="same fact below itself"):
        counts([[4, 16]], published=(other,))


def test_all_that_is_wrong_with_published_figures_is_named_at_once():
    senseless = (
        PublishedRatios(fact([0, 99]), fact([3, 3]), column([np.nan, 0.2]), column([-1.0, 0.1]), 0.0),
        RoundedValues(fact([1, 1]), column([10.0]), column([2.0, 2.0])),
        CellBounds(fact([2], SUMS), column(np.nan), column(3.0)),
        ratios(fact([0, 0, 1]), fact([3, 3, 1]), [0.2, 0.2, 0.9], 0.0),
    )
    with pytest.raises(FactsError) as error:
        line(published=senseless)
    said = str(error.value)
    for part in (
        "numerators.cells has positions outside of the table's 12 cells (positions 1)",
        "published_ratios[0].values must be numbers, none beyond 1e100 (positions 0)",
        "published_ratios[0].half_widths must not be negative (positions 0)",
        "published_ratios[0].times must lie between 1e-9 and 1e9",
        "rounded_values[0].values must have one value for each of 2 cells, not 1",
        "cell_bounds[0].facts is of no measure of the facts",
        "cell_bounds[0].lower must be numbers, none beyond 1e100 (positions 0)",
        "rounded_values[0].facts.cells is about what another entry is about (positions 1)",
        "is about what another entry is about; has the same fact below itself (positions 0, 1, 2)",
    ):
        assert part in said
    false = (
        ratios(fact([1, 1]), fact([2, 0]), [0.5, 1.0], 0.1),
        RoundedValues(fact([1]), column([10.0]), column([2.0])),
        CellBounds(fact([1, 2]), column([5.0, 0.0]), column([9.0, 2.0])),
    )
    with pytest.raises(FactsError) as error:
        counts([[0, 3], [4, 5]], zeros_withheld=True, published=false)
    assert {problem.path for problem in error.value.problems} == {
        "published_ratios[0].values",
        "published_ratios[0].denominators.cells",
        "rounded_values[0].values",
        "cell_bounds[0].lower",
        "cell_bounds[0].upper",
    }


MOST = 7
"""No inner cell of the tables that are tried has more, as everybody knows."""
INNER = [0, 1, 2, 4, 5, 6]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_counts_with_percentages_are_told_as_by_trying_every_table_there_is(seed):
    """Two by three tables of whole numbers, all of them tried, ratios in whole numbers."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(0, 6, (2, 3))
    grid = with_margins(inner)
    withheld = rng.random(12) < 0.6
    published = [CellBounds(fact(INNER), np.zeros(6), np.full(6, float(MOST)))]
    shares, rounded = {}, {}
    for _ in range(int(rng.integers(0, 4))):
        over, per = (int(cell) for cell in rng.choice(12, 2, replace=False))
        if grid[per] > 0:
            shares[over, per] = _percentage(int(grid[over]), int(grid[per]), int(rng.integers(0, 2)))
    if (~withheld).any() and rng.random() < 0.5:
        chosen = rng.choice(np.flatnonzero(~withheld), min(3, int((~withheld).sum())), replace=False)
        rounded = {int(cell): 3 * int(np.rint(grid[cell] / 3)) for cell in chosen}
        values = column(list(rounded.values()))
        published.append(RoundedValues(fact(list(rounded)), values, np.full(len(values), 1.5)))
    for (over, per), (value, half) in shares.items():
        published.append(ratios(fact(over), fact(per), float(value), float(half), 100.0))
    of = counts(inner, zeros_withheld=True, published=tuple(published))
    possible = _every_table()
    for cell in np.flatnonzero(~withheld).tolist():
        room = 1.5 if cell in rounded else 0
        possible = possible[np.abs(possible[:, cell] - rounded.get(cell, int(grid[cell]))) <= room]
    for (over, per), (value, half) in shares.items():
        off = 100 * possible[:, over] * value.denominator - value.numerator * possible[:, per]
        within = np.abs(off) * half.denominator
        within = within <= half.numerator * value.denominator * possible[:, per]
        possible = possible[within & (possible[:, per] > 0)]
    linear = ends(of, withheld, integral=False)
    for (_, cell), one in intervals(of, withheld).items():
        assert one.exact
        assert (one.lower, one.upper) == (possible[:, cell].min(), possible[:, cell].max())
        assert linear[RECORDS, cell][0] <= one.lower <= one.upper <= linear[RECORDS, cell][1]
    found = audit(of, withheld, 20)
    narrow = withheld & (np.ptp(possible, axis=0) < 1)
    assert found.proof is (Proof.REFUTED if narrow.any() else Proof.PROVED)
    assert np.array_equal(found.unprotected, narrow)
    for leak in found.leaks:
        assert (leak.lower, leak.upper) == (grid[leak.cell], grid[leak.cell])
        for told, direction in zip(arithmetic_of(of, withheld, leak, Deadline(20)), (-1, 1), strict=True):
            assert told is not None
            assert direction * (told.bound - grid[leak.cell]) >= -1e-9


def _percentage(over, per, digits):
    """A percentage rounded to digits as a fraction, and half of what it was rounded to."""
    unit = Fraction(1, 10**digits)
    return round(Fraction(100 * over, per) / unit) * unit, unit / 2


def _every_table():
    tables = np.zeros(((MOST + 1) ** 6, 12), dtype=np.int64)
    tables[:, INNER] = np.indices((MOST + 1,) * 6).reshape(6, -1).T
    for row in (0, 4):
        tables[:, row + 3] = tables[:, row : row + 3].sum(axis=1)
    tables[:, 8:] = tables[:, :4] + tables[:, 4:8]
    return tables


class IntruderWithFigures(Intruder):
    """The intruder of the tests, who has been told published figures as well."""

    def __init__(self, of, withheld):
        super().__init__(of, withheld)
        cells = self.cells
        for one in of.published:
            if isinstance(one, PublishedRatios):
                self._ratios(one)
                continue
            quantity = one.facts.quantity
            lower = one.lower if isinstance(one, CellBounds) else one.values - one.half_widths
            upper = one.upper if isinstance(one, CellBounds) else one.values + one.half_widths
            for cell, low, high in zip(one.facts.cells, lower, upper, strict=True):
                for block in (0, 1) if quantity < 2 else (quantity,):
                    place = block * cells + cell
                    if isinstance(one, RoundedValues) and not withheld[cell]:
                        self.lower[place], self.upper[place] = (0 if quantity < 2 else -np.inf), np.inf
                    self.lower[place] = max(self.lower[place], low)
                    self.upper[place] = min(self.upper[place], high)

    def _ratios(self, one):
        over, per = one.numerators, one.denominators
        for a, b, value, half in zip(over.cells, per.cells, one.values, one.half_widths, strict=True):
            first, second = (np.zeros((1, self.cells)) for _ in range(2))
            first[0, a], second[0, b] = 1.0, 1.0
            rows = {}
            for end, low, high in ((value + half, -np.inf, 0.0), (value - half, 0.0, np.inf)):
                blocks = [(over.quantity, first), (per.quantity, -end / one.times * second)]
                rows = {q: sum(m for of, m in blocks if of == q) for q in {over.quantity, per.quantity}}
                self._put(rows, [low], [high])
            self._put({per.quantity: second}, [1.0 if per.quantity < 2 else 0.0], [np.inf])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
# Counts with holes between them, and tables that just keep to a row, which HiGHS's presolve cuts off.
@example(seed=49)
@example(seed=121)
@example(seed=148)
@example(seed=193)
# A program without an end that HiGHS calls infeasible.
@example(seed=9741)
def test_counts_sums_and_their_ratios_are_told_as_by_another_intruder(seed):
    """Two measures with bounds; means, shares of sums, and ratios of one measure to the other."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(1, 8, (2, 3))
    records = with_margins(inner)
    sums = {name: with_margins(np.round(inner * rng.uniform(2, 9, (2, 3)), 0)) for name in ("x", "y")}
    withheld = rng.random(12) < 0.6
    kinds = [(SUMS, RECORDS), (SUMS, SUMS), (SUMS, SUMS + 1), (RECORDS, RECORDS), (SUMS + 1, RECORDS)]
    values = [records, records, sums["x"], sums["y"]]
    published = []
    for place in rng.choice(len(kinds), int(rng.integers(1, 4)), replace=False).tolist():
        over, per = kinds[place]
        a, b = (int(cell) for cell in rng.choice(12, 2, replace=False))
        b = a if over != per else b
        unit = float(rng.choice([1.0, 0.1]))
        value = np.round(values[over][a] / values[per][b] / unit) * unit
        published.append(ratios(fact(a, over), fact(b, per), value, unit / 2))
    if (~withheld).any() and rng.random() < 0.4:
        chosen = rng.choice(np.flatnonzero(~withheld), 1)
        published.append(RoundedValues(fact(chosen, SUMS), 5 * np.rint(sums["x"][chosen] / 5), column(2.5)))
    if rng.random() < 0.4:
        cell = int(rng.integers(12))
        true = sums["y"][cell]
        published.append(CellBounds(fact(cell, SUMS + 1), column(0.9 * true), column(1.1 * true)))
    measured = facts(records, records, sums, bounds={"x": (0.0, 10.0), "y": (0.0, 12.0)})
    axes = [axis("a", "01"), axis("b", "012")]
    of = problem(axes, measured, sum_width=0.3, published=tuple(published))
    intruder = IntruderWithFigures(of, withheld)
    found = audit(of, withheld, 30)
    for (quantity, cell), one in intervals(of, withheld).items():
        least, most = intruder.interval(quantity, cell)
        if np.isinf(most):
            # It has no end; the other intruder does not tell the other one then.
            assert one.upper is None
            continue
        assert one.exact
        assert (one.lower, one.upper) == pytest.approx((least, most), abs=1e-4)
        if found.proof is Proof.PROVED:
            need = 1.0 if quantity < SUMS else 0.3 * values[quantity][cell]
            assert most - least >= need - 1e-4
    assert found.proof is not Proof.UNPROVED
    for leak in found.leaks:
        least, most = intruder.interval(leak.quantity, leak.cell)
        need = 1.0 if leak.quantity < SUMS else 0.3 * values[leak.quantity][leak.cell]
        assert most - least < need * 1.05
        for told, direction in zip(arithmetic_of(of, withheld, leak, Deadline(20)), (-1, 1), strict=True):
            assert told is not None
            assert direction * (told.bound - (most if direction > 0 else least)) >= -1e-4

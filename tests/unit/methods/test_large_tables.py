"""Large tables of small cells: few programs and few witnesses prove them, and no work goes on for ever."""

import numpy as np
import pytest

from made_tables import counts, facts, problem, with_margins
from sdcgate.methods.tables import search as searches
from sdcgate.methods.tables import sweeping, witnesses
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.search import Search
from sdcgate.methods.tables.solver import Deadline, Program
from sdcgate.methods.tables.suppression import protect
from sdcgate.methods.tables.witnesses import Tables, needed, no_tables, reach, required, verify


def small_cells(*shape: int, codes: float = 1.6) -> np.ndarray:
    """Counts of `codes` people a cell on average."""
    return np.random.default_rng(4).poisson(codes, shape)


def unsafe_cells(of) -> np.ndarray:
    return (of.facts.units > 0) & (of.facts.units < 10)


@pytest.fixture
def solved(monkeypatch) -> list[int]:
    """How many columns each program has that is solved."""
    sizes: list[int] = []
    solve = Program.maximise

    def counted(program, cost, *asked, **more):
        sizes.append(len(cost))
        return solve(program, cost, *asked, **more)

    monkeypatch.setattr(Program, "maximise", counted)
    return sizes


def test_thousands_of_small_cells_are_proved_by_few_programs_and_few_tables(solved) -> None:
    of = counts(small_cells(50, 50))
    unsafe = unsafe_cells(of)
    assert unsafe.sum() > 1_900

    found = protect(of, unsafe, 60.0)

    assert (found.proof, found.in_time) == (Proof.PROVED, True)
    assert np.array_equal(found.withheld, unsafe)
    assert len(solved) < 100  # one for each cell without sweeps
    assert len(found.witnesses) < 30


def test_a_large_pattern_is_swept_part_by_part(solved, monkeypatch) -> None:
    monkeypatch.setattr(sweeping, "LARGEST_PART", 500)
    of = counts(small_cells(50, 50))
    unsafe = unsafe_cells(of)

    found = protect(of, unsafe, 60.0)

    assert (found.proof, found.in_time) == (Proof.PROVED, True)
    assert not verify(of, found.withheld, found.witnesses).any()
    assert np.median(solved) < 1_200  # twice what may move in a part
    assert len(found.witnesses) < 40


def test_a_line_of_one_record_a_code_hides_its_total_and_is_proved(solved) -> None:
    """As nobody is asked to be shown, each cell can have one more only where the total can."""
    of = counts(np.ones(3_000, dtype=np.int64))

    found = protect(of, unsafe_cells(of), 60.0)

    assert found.proof is Proof.PROVED
    assert found.withheld.all()
    assert len(solved) < 40


def test_sums_of_parts_are_swept_as_well(monkeypatch) -> None:
    monkeypatch.setattr(sweeping, "LARGEST_PART", 300)
    inner = small_cells(30, 30)
    records = with_margins(inner)
    sums = {"cost": with_margins(inner * np.random.default_rng(5).integers(1, 9, inner.shape).astype(float))}
    of = problem(
        counts(inner).axes, facts(records, records, sums, {"cost": records.reshape(-1)}, {"cost": (0.0, 9.0)})
    )
    search = Search(of, unsafe_cells(of), no_tables(of))

    sweeping.sweep(search, Deadline(60.0))

    assert search.narrow().sum() < 0.05 * 3 * search.withheld.sum()
    assert witnesses.agreeing(of, search.withheld, search.tables).all()


def test_where_no_pattern_can_be_proved_none_is_looked_for(solved) -> None:
    """Nothing is known of a measure's records beforehand."""
    inner = small_cells(40, 40)
    records = with_margins(inner)
    measures = {"cost": with_margins(inner * 2.0)}
    of = problem(
        counts(inner).axes,
        facts(records, records, measures, {"cost": records.reshape(-1)}, {"cost": (None, None)}),
    )

    found = protect(of, unsafe_cells(of), 60.0)

    assert (found.proof, found.in_time) == (Proof.UNPROVED, True)
    assert solved == []


def one_after_the_other(of, withheld, tables: Tables) -> list[int]:
    """Which tables are needed by the plain rule: each is left out, and stays so if nothing changes."""
    kept = [*range(len(tables))]

    def lacking(which) -> np.ndarray:
        return (
            required(of, withheld).unmet(*reach(of, tables.chosen(np.array(which, dtype=np.int64))))
            & withheld
        )

    for table in range(len(tables)):
        others = [one for one in kept if one != table]
        if np.array_equal(lacking(others), lacking(range(len(tables)))):
            kept = others
    return kept


@pytest.mark.parametrize("seed", range(6))
def test_the_tables_that_are_needed_are_found_by_halves(seed, monkeypatch) -> None:
    of = counts([[5, 6, 9, 4], [7, 8, 9, 3]], count_width=3)
    withheld = of.facts.records < 10
    moves = np.random.default_rng(seed).integers(-3, 4, (64, len(of.facts))) * withheld
    records = of.facts.records + moves * (np.random.default_rng(seed + 9).random(moves.shape) < 0.2)
    tables = Tables(records, records, np.zeros((0, *records.shape)))
    expected = tables.chosen(np.array(one_after_the_other(of, withheld, tables)))
    looked_at = []
    monkeypatch.setattr(
        witnesses, "reach", lambda problem, some: looked_at.append(len(some)) or reach(problem, some)
    )

    found = needed(of, withheld, tables)

    assert np.array_equal(found.records, expected.records)
    # Each half once for the other: at most all of them for each time that 64 can be halved, and once before.
    assert 64 <= sum(looked_at) <= 64 * 7


def test_moves_are_entered_no_longer_than_there_is_time(monkeypatch) -> None:
    monkeypatch.setattr(searches, "MOST_AT_ONCE", 1)
    of = counts([[5, 6, 9], [7, 8, 9]], count_width=9)
    withheld = of.facts.records < 10
    moves = [np.array([[k, -k, 0, 0, -k, k, 0, 0, 0, 0, 0, 0.0]]) for k in (1, 2, 3)]
    search, late = (Search(of, withheld, no_tables(of)) for _ in range(2))

    search.offer(moves, Deadline(60.0))
    late.offer(moves, Deadline(0.0))

    assert (len(search.tables), len(late.tables)) == (3, 1)

"""For some effort a cheaper pattern is found than the first one: the same on every machine, and proved."""

from dataclasses import replace

import numpy as np
import pytest

from looked_at_clock import seconds_a_look
from made_tables import counts, flags, rand_problem
from peers_tables import INNER
from sdcgate.methods.tables import proved_pattern
from sdcgate.methods.tables.cheaper import cheaper, ordinary_effort
from sdcgate.methods.tables.exact_suppression import protect_exactly
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.suppression import protect
from sdcgate.methods.tables.witnesses import verify


def made(seed, shape, width):
    """Lognormal counts, a tenth of them small, with what is unsafe and frequencies as costs."""
    rng = np.random.default_rng(seed)
    inner = np.floor(np.exp(rng.normal(3.5, 1.0, size=shape))).astype(np.int64) + 4
    small = rng.random(shape) < 0.1
    inner[small] = rng.integers(1, 4, small.sum())
    of = counts(inner, count_width=width)
    return replace(of, costs=np.maximum(of.facts.records, 1).astype(float)), flags_of_small(of)


def flags_of_small(of):
    return (of.facts.records > 0) & (of.facts.records < 4)


def asked(of, unsafe, effort):
    found = protect(of, unsafe, 30.0, effort=effort)
    assert found.proof is Proof.PROVED
    assert not verify(of, found.withheld, found.witnesses).any()
    assert not (unsafe & ~found.withheld).any()
    return found


def test_the_best_pattern_of_a_peers_table_is_found_at_a_width_of_ten():
    of = counts(INNER["10x10"], count_width=10)
    of = replace(of, costs=np.maximum(of.facts.records, 1).astype(float))
    unsafe = flags_of_small(of)
    first, found = asked(of, unsafe, 0), asked(of, unsafe, ordinary_effort(len(unsafe)))
    assert (first.cost, found.cost) == (198, 180)
    assert protect_exactly(of, unsafe, 20.0).price == found.price


@pytest.mark.parametrize(
    ("seed", "shape", "first", "later"),
    [(1, (12, 9), 138, 135), (2, (16, 16), 244, 195), (3, (5, 5, 5), 601, 571)],
)
def test_effort_makes_patterns_cheaper(seed, shape, first, later):
    of, unsafe = made(seed, shape, 10)
    assert asked(of, unsafe, 0).cost == first
    assert asked(of, unsafe, ordinary_effort(len(unsafe))).cost == later


@pytest.mark.parametrize(
    ("seed", "shape", "width", "first", "later"), [(5, (4, 4, 8), 1, 785, 618), (7, (3, 4, 5), 10, 814, 605)]
)
def test_in_three_dimensions_not_all_effort_is_spent_on_whole_patterns(seed, shape, width, first, later):
    """These were looked for alone, and nothing cheaper was found; the more effort, the sooner."""
    of, unsafe = made(seed, shape, width)
    assert asked(of, unsafe, 0).cost == first
    assert [asked(of, unsafe, effort).cost for effort in (600.0, 2000.0)] == [later, later]


def test_a_slow_machine_finds_the_same_pattern_or_none(monkeypatch):
    of, unsafe = made(2, (16, 16), 10)
    whole = asked(of, unsafe, 900.0)
    ended = []
    for looks in (200, 1000, 4000, 100_000):
        seconds_a_look(monkeypatch, 30.0 / looks)
        found = protect(of, unsafe, 30.0, effort=900.0)
        ended.append(found.in_time)
        assert found.proof is (Proof.PROVED if found.in_time else Proof.UNPROVED)
        if found.in_time:
            assert np.array_equal(found.withheld, whole.withheld)
    assert ended[0] is False
    assert ended[-1] is True


def test_no_more_effort_is_spent_than_was_said_or_is_to_spare():
    of, unsafe = made(2, (16, 16), 10)
    found = protect(of, unsafe, 30.0)
    for effort, spare in ((100.0, np.inf), (5000.0, 150.0), (0.0, np.inf)):
        deadline = Deadline(30.0, spare)
        better = cheaper(of, unsafe, found, deadline, effort)
        # A program that is begun is ended.
        assert deadline.effort < min(effort, spare) + 60.0
        assert better.price <= found.price
    assert better is found


def test_of_a_panel_whose_units_do_not_add_up_less_is_withheld():
    of = rand_problem(("site", "plan", "female"))
    unsafe = (of.facts.units < 10) & (of.facts.units > 0)
    assert asked(of, unsafe, 2000.0).price <= asked(of, unsafe, 0).price


def test_what_is_not_proved_is_left_as_it_is():
    of = counts([[2, 60], [70, 80]])
    unsafe = flags(of, 0)
    of = replace(of, known=unsafe)
    first = protect(of, unsafe, 5.0)
    assert first.proof is not Proof.PROVED
    assert cheaper(of, unsafe, first, Deadline(5.0), 1000.0) is first


def test_a_part_of_a_deadline_ends_by_effort_and_misses_nothing():
    whole = Deadline(30.0)
    part = whole.within(10.0)
    inner = part.share(0.5)
    inner.spend(4.0)
    assert not inner.over
    inner.spend(1.0)
    assert inner.over
    assert not part.over
    part.spend(5.0)
    assert part.over
    assert not whole.over
    assert (whole.effort, part.missed, whole.missed) == (10.0, False, False)
    inner.miss()
    assert whole.missed


@pytest.mark.parametrize(("seed", "shape"), [(4, (8, 8, 8)), (5, (20, 20))], ids=["8x8x8", "20x20"])
def test_a_try_to_give_back_cells_ends_once_it_takes_far_more_than_is_allowed(seed, shape, monkeypatch):
    given_back, spent = proved_pattern.given_back, []

    def counted(pattern, search, enough, deadline):
        before = deadline.effort
        found = given_back(pattern, search, before + 5.0, deadline)
        spent.append(deadline.effort - before)
        return found

    monkeypatch.setattr(proved_pattern, "given_back", counted)
    of, unsafe = made(seed, shape, 10)
    asked(of, unsafe, 0)
    # The last program begins before the end. Without one tries took 105 and 49.
    assert 5.0 < max(spent) < 5.0 * proved_pattern.LONGEST + 5.0


def test_a_part_of_an_effort_is_no_more_than_what_is_left_of_the_whole():
    whole = Deadline(60.0).within(100.0)
    whole.spend(70.0)
    part = whole.within(50.0)
    part.spend(31.0)
    assert part.over
    assert whole.over

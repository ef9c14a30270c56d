"""Patterns of other programs, audited at our requirement: ours cost no more than the best that holds.

SSBtools' d2 (regions in counties by source of income) by sdcTable 0.34 and GaussSuppression 1.2.3, and
magnitude1 (turnover of companies in two linked tables) by GaussSuppression 1.2.3 with p% = 10.
"""

import numpy as np
import pytest

from made_tables import facts, problem
from sdcgate.methods.cells import TOTAL, Axis
from sdcgate.methods.tables.audit import audit
from sdcgate.methods.tables.cheaper import ordinary_effort
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.suppression import protect

REGIONS = Axis(
    "region",
    "region",
    (TOTAL, "1", "A", "I", "10", "J", "K", "4", "5", "C", "D", "6", "E", "F", "8", "G", "H"),
    (-1, 0, 1, 1, 0, 4, 4, 0, 0, 8, 8, 0, 11, 11, 0, 14, 14),
)
INCOMES = Axis("income", "income", (TOTAL, "assistance", "other", "pensions", "wages"), (-1, 0, 0, 0, 0))
LEAVES = {
    "A": (55, 11, 36, 11),
    "I": (9, 3, 2, 0),
    "J": (32, 9, 20, 0),
    "K": (18, 4, 11, 2),
    "4": (29, 7, 18, 1),
    "C": (35, 5, 25, 8),
    "D": (17, 13, 13, 2),
    "E": (63, 9, 52, 14),
    "F": (24, 12, 22, 9),
    "G": (22, 6, 8, 4),
    "H": (38, 9, 15, 3),
}
UNSAFE = "I|other I|pensions 10|wages K|wages 4|wages D|wages H|wages"
OF_PEERS = {
    "OPT and others": (
        "A|other A|pensions 10|other K|other 4|other C|other C|wages D|other G|other G|wages H|other",
        131,
    ),
    "SIMPLEHEURISTIC_OLD": (
        "A|other A|pensions 10|other K|other 4|other C|pensions C|wages D|pensions G|other G|wages H|other",
        151,
    ),
    "GAUSS": (
        "A|other A|pensions 10|pensions K|pensions 4|pensions C|pensions C|wages D|pensions G|pensions "
        "G|wages H|pensions",
        195,
    ),
    "HYPERCUBE": (
        "A|other A|pensions 10|other K|other 4|other 4|pensions C|other C|wages D|other 8|other 8|pensions "
        "8|wages H|other H|pensions",
        199,
    ),
}


def with_parents(axes, of_leaf, kind):
    """Values of all cells of hierarchical axes: sums over the leaves beneath, which are keyed by codes."""

    def beneath(axis, place):
        parts = [other for other, parent in enumerate(axis.parents) if parent == place]
        return [axis.codes[place]] if not parts else [leaf for part in parts for leaf in beneath(axis, part)]

    first, second = axes
    return np.array(
        [
            sum((of_leaf.get((a, b), 0) for a in beneath(first, i) for b in beneath(second, j)), kind(0))
            for i in range(len(first.codes))
            for j in range(len(second.codes))
        ]
    )


def incomes(width):
    counted = {
        (region, income): count
        for region, counts in LEAVES.items()
        for income, count in zip(INCOMES.codes[1:], counts, strict=True)
    }
    records = with_parents((REGIONS, INCOMES), counted, int)
    costs = np.maximum(records, 1).astype(float)
    return problem((REGIONS, INCOMES), facts(records, records), count_width=width, costs=costs)


def named(text, axes=(REGIONS, INCOMES)):
    cells = np.zeros([len(axis.codes) for axis in axes], dtype=np.bool_)
    for name in text.split():
        a, b = (axis.codes.index(code) for axis, code in zip(axes, name.split("|"), strict=True))
        cells[a, b] = True
    return cells.reshape(-1)


@pytest.mark.parametrize("peer", OF_PEERS)
def test_patterns_of_a_hierarchical_table_hold_at_width_one_and_none_at_ten(peer):
    cells, cost = OF_PEERS[peer]
    withheld = named(UNSAFE) | named(cells)
    assert int(incomes(1).facts.records[withheld].sum()) == cost
    assert audit(incomes(1), withheld, 10).proof is Proof.PROVED
    assert audit(incomes(10), withheld, 10).proof is Proof.REFUTED


@pytest.mark.parametrize(("width", "cost"), [(1, 131), (10, 285)])
def test_ours_costs_what_the_best_peers_does_and_at_width_ten_the_least(width, cost):
    of = incomes(width)
    found = protect(of, named(UNSAFE), 20, effort=ordinary_effort(len(of.facts)))
    assert found.proof is Proof.PROVED
    assert int(of.facts.records[found.withheld].sum()) == cost


GEO = Axis("geo", "geo", (TOTAL, "EU", "nonEU", "Portugal", "Spain", "Iceland"), (-1, 0, 0, 1, 1, 2))
SECTORS = Axis(
    "sector",
    "sector",
    (TOTAL, "private", "public", "Agriculture", "Entertainment", "Industry", "Governmental"),
    (-1, 0, 0, 1, 1, 1, 2),
)
TURNOVER = {
    ("Portugal", "Agriculture"): {"A": 75.9, "B": 24.5},
    ("Spain", "Agriculture"): {"A": 96.6, "B": 43.2},
    ("Iceland", "Entertainment"): {"B": 16.8},
    ("Portugal", "Entertainment"): {"B": 7.1, "D": 2.3},
    ("Spain", "Entertainment"): {"A": 77.4, "B": 11.5, "C": 16.4},
    ("Portugal", "Governmental"): {"B": 21.6, "D": 2.0},
    ("Spain", "Governmental"): {"C": 6.5, "D": 2.7},
    ("Iceland", "Industry"): {"B": 9.6, "C": 8.8, "D": 1.9},
    ("Portugal", "Industry"): {"B": 25.7, "D": 3.4},
    ("Spain", "Industry"): {"C": 8.4},
}
PUBLISHED = (
    "_T|_T _T|private _T|public Iceland|_T Portugal|_T Spain|_T _T|Agriculture _T|Entertainment "
    "_T|Governmental _T|Industry EU|_T nonEU|_T Iceland|private Portugal|private Spain|private "
    "Portugal|public Spain|public EU|Agriculture EU|Entertainment nonEU|Entertainment EU|Governmental "
    "EU|Industry nonEU|Industry"
)
P_PERCENT = (
    "Iceland|_T Portugal|_T _T|Agriculture nonEU|_T Iceland|private Portugal|private Portugal|public "
    "Spain|public EU|Agriculture nonEU|Entertainment"
)
BESIDE = "_T|Industry EU|_T Spain|private EU|Entertainment nonEU|Industry"


def turnover(levels):
    """The two tables as one, with what neither publishes absent."""
    axes = (GEO, SECTORS)
    records = with_parents(axes, {cell: len(held) for cell, held in TURNOVER.items()}, int)
    sums = with_parents(axes, {cell: sum(held.values()) for cell, held in TURNOVER.items()}, float)
    asked = {}
    if levels:
        asked = {"upper_levels": levels_of_p_percent(axes, sums)[None]}
        asked["lower_levels"] = np.minimum(asked["upper_levels"], sums)
    shown = named(PUBLISHED, axes)
    return problem(
        axes,
        facts(records, records, {"value": sums}),
        known=records == 0,
        absent=~shown & (records > 0),
        costs=np.maximum(sums, 0.1),
        **asked,
    )


def levels_of_p_percent(axes, sums):
    """A tenth of the largest company's less what it and the second do not hold, of unsafe cells."""
    held = [
        with_parents(axes, {cell: of.get(company, 0.0) for cell, of in TURNOVER.items()}, float)
        for company in "ABCD"
    ]
    largest, second = np.sort(held, axis=0)[::-1][:2]
    excess = 0.1 * largest - (sums - largest - second)
    return np.where(named(P_PERCENT, axes), np.maximum(excess, 0.0), 0.0)


@pytest.mark.parametrize(("levels", "cost"), [(False, 1752.9), (True, 1814.2)])
def test_ours_of_linked_magnitudes_costs_no_more_than_the_peers_that_holds(levels, cost):
    of = turnover(levels)
    unsafe = named(P_PERCENT, of.axes)
    theirs = unsafe | named(BESIDE, of.axes)
    sums = of.facts.measures[0].sums
    assert sums[theirs].sum() == pytest.approx(1814.2)
    assert audit(of, theirs, 10).proof is Proof.PROVED
    found = protect(of, unsafe, 20, effort=ordinary_effort(len(of.facts)))
    assert found.proof is Proof.PROVED
    assert sums[found.withheld].sum() == pytest.approx(cost)

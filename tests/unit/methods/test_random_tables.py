"""Tables of every kind, protected, and attacked by an intruder who has nothing but what is published.

One to four dimensions, classifications with groups, empty and impossible cells, sums with and without
negative values, public counts, widths of 1 to 10. `make test-long` draws RANDOM_TABLES of them, 3,000 where
nothing is said, and writes what came of them to build/random_tables.json.
"""

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from made_tables import facts, problem
from published_intruder import Published, PublishedIntruder
from sdcgate.methods.cells import TOTAL, Axis, cell_codes
from sdcgate.methods.tables.cheaper import ordinary_effort
from sdcgate.methods.tables.exact_suppression import protect_exactly
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.suppression import protect

SHORT, LONG = 60, 3000
ROOT = Path(__file__).parents[3]
SHAPES = [(6,), (9,), (3, 4), (4, 5), (5, 5), (3, 3, 2), (3, 3, 3), (2, 3, 4), (2, 2, 2, 2), (3, 2, 2, 2)]
"""Codes without parts of each dimension."""
BOUNDS = [(0.0, None), (0.0, 60.0), (-50.0, 60.0), (None, 60.0), (-50.0, None)]


@dataclass(frozen=True)
class Drawn:
    """A table to protect and how it is asked for."""

    of: Problem
    unsafe: np.ndarray
    kind: str
    way: str


def drawn_axis(name, leaves, rng):
    """A classification with a total; groups beneath it half the time."""
    names = [f"{name}{number}" for number in range(leaves)]
    if leaves < 4 or rng.random() < 0.5:
        return Axis(name, name, (TOTAL, *names), (-1,) + (0,) * leaves)
    cut = int(rng.integers(2, leaves - 1))
    groups = [1] * cut + [2] * (leaves - cut)
    return Axis(name, name, (TOTAL, f"{name}x", f"{name}y", *names), (-1, 0, 0, *groups))


def with_totals(axes, leaves):
    """Values of all cells from those of the codes without parts."""
    whole = leaves
    for place, axis in enumerate(axes):
        bottom = [code for code in range(len(axis.codes)) if code not in axis.parents]
        beneath = np.zeros((len(axis.codes), len(bottom)))
        for column, code in enumerate(bottom):
            while code >= 0:
                beneath[code, column] = 1
                code = axis.parents[code]
        whole = np.moveaxis(np.tensordot(beneath, whole, axes=(1, place)), 0, place)
    return whole.reshape(-1)


def drawn(seed):
    """A random table: its seed says everything of it."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[rng.integers(len(SHAPES))]
    axes = tuple(drawn_axis("abcd"[place], size, rng) for place, size in enumerate(shape))
    inner = rng.choice([0, 1, 2, 3, 5, 8, 15, 40], shape, p=[0.12, 0.1, 0.1, 0.08, 0.15, 0.2, 0.15, 0.1])
    inner = np.where(inner > 3, inner + rng.integers(0, 5, shape), inner)
    records = np.rint(with_totals(axes, inner.astype(float))).astype(np.int64)
    kind = ("counts", "counts and sums", "sums")[rng.integers(3)]
    impossible = (records == 0) & (rng.random(len(records)) < 0.4)
    told = {
        "count_width": int(rng.integers(1, 11)),
        "sum_width": float(rng.choice([0.05, 0.1, 0.3, 0.5])),
        "zeros_withheld": bool(rng.random() < 0.4),
        "known": impossible,
    }
    sums, bounds = {}, {}
    if kind != "counts":
        low, high = BOUNDS[rng.integers(len(BOUNDS))]
        least, most = (-50.0 if low is None else low), (60.0 if high is None else high)
        means = rng.uniform(least, most, shape)
        x = with_totals(axes, (means * inner).round(1)).round(1)
        sums, bounds = {"x": x}, {"x": (low, high)}
        if rng.random() < 0.4:
            told["upper_levels"] = rng.choice([0.05, 0.2]) * np.abs(x)[None]
            told["lower_levels"] = rng.choice([0.0, 0.1]) * np.abs(x)[None]
            told |= within_bounds(told, x, records, low, high)
    if kind == "sums":
        told["known_measures"] = impossible[None]
        told["known"] = np.ones(len(records), dtype=np.bool_)
    of = problem(axes, facts(records, records, sums, None, bounds), **told)
    unsafe = (records > 0) & (records < rng.integers(2, 6)) & of_leaves(axes)
    return Drawn(of, unsafe, kind, ("quick", "effort", "exact")[rng.choice(3, p=[0.4, 0.45, 0.15])])


def within_bounds(told, x, records, low, high):
    """Levels no farther than public bounds leave room for; who knows the counts knows these."""
    above = np.inf if high is None else high * records - x
    below = np.inf if low is None else x - low * records
    return {
        "upper_levels": np.minimum(told["upper_levels"], np.maximum(above, 0.0)),
        "lower_levels": np.minimum(told["lower_levels"], np.maximum(below, 0.0)),
    }


def of_leaves(axes):
    """Cells of codes without parts: rules ask for these most."""
    codes = cell_codes(axes)
    leaf = np.ones(codes.shape[1], dtype=np.bool_)
    for place, axis in enumerate(axes):
        leaf &= ~np.isin(codes[place], list(axis.parents))
    return leaf


def protected(one):
    if one.way == "exact":
        return protect_exactly(one.of, one.unsafe, 1.0)
    effort = ordinary_effort(len(one.unsafe)) if one.way == "effort" else 0.0
    return protect(one.of, one.unsafe, 10.0, effort=effort)


def published(one, withheld):
    """What leaves of a table, and what everybody knows."""
    of = one.of
    records = of.facts.records.astype(float)
    counts = records if one.kind == "sums" else np.where(withheld, np.nan, records)
    sums, low, high = None, None, None
    if of.facts.measures:
        measure = of.facts.measures[0]
        sums, low, high = np.where(withheld, np.nan, measure.sums), measure.lower_bound, measure.upper_bound
    return Published(
        [list(axis.parents) for axis in of.axes],
        counts,
        sums,
        marked_are_not_empty=not of.zeros_withheld,
        lowest=-np.inf if low is None else low,
        highest=np.inf if high is None else high,
    )


def too_narrow(one, withheld):
    """Withheld cells that the intruder knows better than the requirement allows."""
    of, intruder = one.of, PublishedIntruder(published(one, withheld))
    found = []
    for cell in np.flatnonzero(withheld).tolist():
        if one.kind != "sums" and count_too_narrow(of, intruder, cell):
            found.append(cell)
        if of.facts.measures and sum_too_narrow(of, intruder, cell):
            found.append(cell)
    return found


def count_too_narrow(of, intruder, cell):
    low, high = intruder.seen(cell)
    if high - low >= of.count_width - 1e-6:
        return False
    low, high = intruder.interval(cell)
    assert low - 1e-6 <= of.facts.records[cell] <= high + 1e-6
    return high - low < of.count_width - 1e-6


def sum_too_narrow(of, intruder, cell):
    if sum_is_wide(of, cell, *intruder.seen(cell, of_sum=True)):
        return False
    intruder.look(cell, of.facts.records.astype(float))
    if sum_is_wide(of, cell, *intruder.seen(cell, of_sum=True)):
        return False
    return not sum_is_wide(of, cell, *intruder.interval(cell, of_sum=True))


def sum_is_wide(of, cell, low, high):
    sums = of.facts.measures[0].sums
    room = 3e-6 * float(np.abs(sums).max())
    if high - low < of.sum_width * abs(sums[cell]) * (1 - 1e-6) - room:
        return False
    if of.upper_levels is None:
        return True
    above, below = of.upper_levels[0, cell] - room, of.lower_levels[0, cell] - room
    return bool(high - sums[cell] >= above and sums[cell] - low >= below)


def attack(seeds):
    """What came of the tables, and that nothing proved was too narrow."""
    came = Counter()
    for seed in seeds:
        one = drawn(seed)
        found = protected(one)
        came[f"{len(one.of.axes)} dimensions"] += 1
        came[f"{one.kind}: {found.proof.name}"] += 1
        if found.proof is not Proof.PROVED:
            continue
        assert not (one.unsafe & ~found.withheld).any(), seed
        assert too_narrow(one, found.withheld) == [], seed
        came["attacked cells"] += int(found.withheld.sum())
    return came


def test_no_intruder_with_what_is_published_narrows_what_is_proved():
    came = attack(range(SHORT))
    assert sum(count for what, count in came.items() if what.endswith(": PROVED")) > SHORT / 2
    assert came["attacked cells"] > 5 * SHORT


@pytest.mark.long
def test_no_intruder_narrows_any_of_thousands_of_tables():
    count = int(os.environ.get("RANDOM_TABLES", LONG))
    came = attack(range(10_000, 10_000 + count))
    came["tables"] = count
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "random_tables.json").write_text(json.dumps(came, indent=1, sort_keys=True))


def test_the_intruder_narrows_patterns_with_a_hole():
    caught = 0
    for seed in range(40):
        one = drawn(seed)
        beside = protect(one.of, one.unsafe, 10.0)
        more = np.flatnonzero(beside.withheld & ~one.unsafe)
        if beside.proof is Proof.PROVED and len(more):
            withheld = beside.withheld.copy()
            withheld[more[0]] = False
            caught += bool(too_narrow(one, withheld))
    assert caught >= 15

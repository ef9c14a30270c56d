"""Two releases of one source against brute force: every pair of records, and individual risks to 60 digits.

Nobody's program is at hand that links releases by levels that lie crosswise: the reference is the definition,
written out; levels that group each other are a database join. Two records agree where, of every shared
variable, the sets of finest codes that their codes stand for meet.
"""

from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pandas as pd
import pytest

from sdcgate.methods.risk.keys import Missing
from sdcgate.methods.risk.level_agreement import Release, Shared
from sdcgate.methods.risk.several_files import several_files

FINEST = (24, 12)
LEVELS = {
    "same": (np.arange(24), np.arange(24)),
    "nested": (np.arange(24) // 2, np.arange(24) // 6),
    "grouping": (np.arange(24) // 6, np.arange(24) // 2),
    "crosswise": (np.arange(24) // 4, (np.arange(24) + 2) // 4),
    "chain": (np.arange(24) // 2, (np.arange(24) + 1) // 2),
    "scattered": (np.arange(24) % 5, np.arange(24) % 3),
}
OTHER = (np.arange(12) // 3, np.arange(12) // 4)


def releases(levels, seed, lacking=0.0, people=120):
    """A source and two releases of parts of it, each with a variable that the other does not have."""
    rng = np.random.default_rng(seed)
    source = np.column_stack([rng.integers(0, size, people) for size in FINEST])
    own = rng.integers(0, 4, (people, 2))
    weights = rng.uniform(1, 50, people)
    kept = [np.sort(rng.choice(people, size, replace=False)) for size in (people - 30, people - 15)]
    made = []
    for release, rows in enumerate(kept):
        codes = np.column_stack(
            [levels[release][source[rows, 0]], OTHER[release][source[rows, 1]], own[rows, release]]
        )
        codes[rng.random(codes.shape) < lacking] = -1
        made.append(Release(codes, weights[rows], rows))
    shared = (Shared(0, 0, *levels), Shared(1, 1, *OTHER))
    return made[0], made[1], shared


def agree(first, second, shared, missing):
    """Whether two records may be of one unit, by sets of finest codes."""
    for one in shared:
        a, b = int(first[one.first]), int(second[one.second])
        if a < 0 or b < 0:
            if missing is Missing.CATEGORY and (a < 0) != (b < 0):
                return False
            continue
        if not set(np.flatnonzero(one.first_level == a)) & set(np.flatnonzero(one.second_level == b)):
            return False
    return True


def risk(f, weight_sum):
    """E(1/F | f) in decimals: p ln(1/p)/(1 - p) for f = 1, and r(f + 1) = p/(1 - p) (1/f - r(f))."""
    p = min(Decimal(f) / Decimal(weight_sum), Decimal(1))
    if p == 1:
        return 1 / Decimal(f)
    found = -p * p.ln() / (1 - p)
    for size in range(1, f):
        found = p / (1 - p) * (1 / Decimal(size) - found)
    return found


def risks_of(codes, weights):
    rows = [tuple(row) for row in codes.tolist()]
    return [
        risk(
            rows.count(row),
            sum(Decimal(float(w)) for other, w in zip(rows, weights, strict=True) if other == row),
        )
        for row in rows
    ]


@pytest.mark.parametrize(
    ("name", "missing", "lacking"),
    [
        *product(LEVELS, (Missing.CATEGORY,), (0.0,)),
        *product(LEVELS, Missing, (0.15,)),
    ],
)
def test_links_are_those_of_all_pairs(name, missing, lacking):
    first, second, shared = releases(LEVELS[name], seed=len(name), lacking=lacking)
    pairs = np.array([[agree(a, b, shared, missing) for b in second.codes] for a in first.codes])
    found = several_files(first, second, shared, missing)
    assert found.links.candidates.tolist() == pairs.sum(axis=1).tolist()
    single = pairs.sum(axis=1) == 1
    assert found.links.single == single.sum()
    alone = [pairs[:, pairs[row].argmax()].sum() == 1 for row in np.flatnonzero(single)]
    assert found.links.one_to_one == sum(alone)
    right = sum(
        1 / pairs[row].sum()
        for row, who in enumerate(first.ids)
        for other in np.flatnonzero(second.ids == who)
        if pairs[row, other]
    )
    assert found.links.expected == pytest.approx(right, rel=1e-12)
    assert found.risk.common == len(set(first.ids.tolist()) & set(second.ids.tolist()))


@pytest.mark.parametrize("name", LEVELS)
def test_codes_of_both_releases_tell_their_intersections(name):
    first, second, shared = releases(LEVELS[name], seed=1)
    found = several_files(first, second, shared).coherence[0]
    sets = [[set(np.flatnonzero(level == code)) for code in np.unique(level)] for level in LEVELS[name]]
    met = [a & b for a, b in product(*sets) if a & b]
    assert (found.first_codes, found.second_codes, found.joint_codes) == (*map(len, sets), len(met))
    finer = sets[0] if len(sets[0]) >= len(sets[1]) else sets[1]
    assert found.coherent == all(one in finer for one in met)


@pytest.mark.parametrize("name", ["nested", "crosswise"])
def test_risks_are_those_of_the_linked_file_to_many_digits(name):
    with localcontext(prec=60):
        first, second, shared = releases(LEVELS[name], seed=3, people=70)
        found = several_files(first, second, shared).risk
        both = [
            (row, int(np.flatnonzero(second.ids == who)[0]))
            for row, who in enumerate(first.ids)
            if who in second.ids
        ]
        rows, others = (np.array(column) for column in zip(*both, strict=True))
        weights = first.weights[rows] * first.weights.sum() / first.weights[rows].sum()
        union = risks_of(np.column_stack([first.codes[rows], second.codes[others]]), weights)
        joint = risks_of(np.column_stack([first.codes[rows][:, :2], second.codes[others][:, :2]]), weights)
        own = risks_of(first.codes, first.weights), risks_of(second.codes, second.weights)
        links = [
            sum(agree(first.codes[row], other, shared, Missing.CATEGORY) for other in second.codes)
            for row in rows
        ]
        through = sum(r / m for r, m in zip(union, links, strict=True))
        told = [found.first, found.second, found.shared, found.union]
        for one, expected in zip(told, (*own, joint, union), strict=True):
            assert one.expected_matches == pytest.approx(float(sum(expected)), rel=1e-12)
        assert found.through_links == pytest.approx(float(through), rel=1e-12)


@pytest.mark.parametrize(("levels", "joined_codes", "people"), [("nested", 3, 400), ("same", 1, 60)])
def test_links_of_coherent_levels_are_those_of_a_database_join(levels, joined_codes, people):
    """pandas' merge on the coarser of both levels, then counted by either side."""
    first, second, _ = releases(LEVELS[levels], 11, people=people)
    shared = (Shared(0, 0, *LEVELS[levels]),)
    found = several_files(first, second, shared)
    own = pd.DataFrame({"unit": first.ids, "band": first.codes[:, 0] // joined_codes})
    other = pd.DataFrame({"unit": second.ids, "band": second.codes[:, 0]})
    joined = own.merge(other, on="band", suffixes=("", "_other"))
    candidates = joined.groupby("unit").size().reindex(first.ids, fill_value=0)
    assert found.links.candidates.tolist() == candidates.tolist()
    right = joined[joined.unit == joined.unit_other]
    assert found.links.expected == pytest.approx((1 / candidates[right.unit]).sum(), rel=1e-12)
    alone = joined[joined.groupby("unit").unit.transform("size") == 1]
    assert found.links.single == len(alone)
    assert bool(found.links.single) == (levels == "same")
    assert found.risk.common == len(set(first.ids) & set(second.ids)) == len(right)

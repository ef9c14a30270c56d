"""Files with the margins of tables that Shlomo printed (Accessing Microdata via the Internet, 2003)."""

from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

RECORDS = 32_869
"""Of the Israeli Income Survey: 1,219.3 matches are 3.7% of it, 98.2 are 0.3%."""
TABLE_1 = {
    "Full Key": (28_658, 26_121, 1_219.3, 3.7),
    "Key1": (23_264, 19_049, 884.4, 2.7),
    "Key2": (17_469, 12_523, 590.2, 1.8),
    "Key4": (12_627, 8_128, 388.5, 1.2),
    "Key6": (4_726, 2_083, 98.2, 0.3),
}
"""Keys, sample uniques, expected matches, percentage of the sample. Key3 and Key5 are left out: of Key3 the
uniques are misprinted, and the largest risk of Key5 shows that it is no level between its neighbours."""
MAXIMUM = 0.223


def table_1():
    """A key of one variable with four coarser levels, and weights, that give the margins of Table 1.

    Returns codes (records,), weights (records,), and of each level the parent of every code before it. The
    uniques that a level loses share a weight, so that those that are left have the printed expected matches;
    one of the last has the printed largest risk.
    """
    rows = list(TABLE_1.values())
    lost = [before[1] - after[1] for before, after in pairwise(rows)]
    taus = [before[2] - after[2] for before, after in pairwise(rows)]
    sizes = [*lost, rows[-1][1] - 1, 1]
    means = [tau / number for tau, number in zip(taus, lost, strict=True)]
    means += [(rows[-1][2] - MAXIMUM) / sizes[-2], MAXIMUM]
    weights = np.repeat([1.0 / probability(mean) for mean in means], sizes)
    uniques, cells = rows[0][1], rows[0][0] - rows[0][1]
    rest = RECORDS - uniques
    shared = uniques + np.minimum(np.arange(rest) // 2, cells - 1)
    codes = np.concatenate([np.arange(uniques), shared])
    parents, groups, gone = [], np.arange(rows[0][0]), 0
    for number, (keys, alone, _, _) in enumerate(rows[1:]):
        groups = _joined(groups, uniques, gone, gone + lost[number], keys - alone)
        gone += lost[number]
        parents.append(groups)
    return codes, np.concatenate([weights, np.full(rest, 1e6)]), parents


def _joined(groups, uniques, first, last, target):
    """The groups after the uniques from `first` to `last` became part of `target` groups of several."""
    groups = groups.copy()
    several = np.unique(np.concatenate([groups[:first], groups[uniques:]]))
    fresh = max(target - len(several), 0)
    pairs = np.arange(first, first + 2 * fresh)
    groups[pairs] = groups.max() + 1 + np.arange(2 * fresh) // 2
    groups[first + 2 * fresh : last] = several[0]
    groups[np.isin(groups, several[: max(len(several) - target, 0) + 1])] = several[0]
    return groups


def probability(risk):
    """p of a sample unique with this individual risk: p log(1/p) / (1 - p)."""
    return brentq(lambda p: p * np.log(1 / p) / (1 - p) - risk, 1e-12, 1 - 1e-9)


def table_2():
    """A sample and a population, as keys with counts, that give the margins of Table 2, Key4.

    Of 5,669 matched uniques 101 match one person. The F of the others are chosen so that 1/F adds up to the
    printed 411.5: 357 match 17, 5,211 match 18. Returns the sample's keys (records,), the population's keys
    and their people (keys,).
    """
    of_uniques = np.repeat([1, 17, 18], [101, 357, 5_211])
    matched = len(of_uniques)
    others = np.repeat([1, 5], [32_004 - 101, 107_663 - 32_004 - 357 - 5_211])
    unmatched = 200_000 + np.arange(362)
    twice = np.repeat(matched + np.arange(9_838 - 6_031), 2)
    sample = np.concatenate([np.arange(matched), unmatched, twice])
    return sample, np.arange(matched + len(others)), np.concatenate([of_uniques, others])

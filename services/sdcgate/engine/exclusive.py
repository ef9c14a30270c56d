"""Yes-or-no variables that exclude each other: whoever is in good health is not in poor health.

Who has all but one of them has the last one. Such variables are told as one that nobody declared, whose
codes are the combinations that occur, so that the audit knows what everybody knows. Codes that share no
record by mere chance are taken for excluding, too: that makes the audit more cautious, not less.
"""

from collections.abc import Mapping

import numpy as np

from sdcgate.engine.dataset import EXCLUSIVE_PREFIX
from sdcgate.engine.dependencies import Codes

Node = tuple[str, int]
"""A variable and one of its codes."""
Apart = Mapping[Node, Mapping[Node, float]]
"""Codes that share no record, and how many they would share by chance."""


def exclusive_groups(columns: Mapping[str, Codes], missing: Mapping[str, int]) -> dict[str, Codes]:
    """One column for each group of variables of which two codes each never occur together.

    `columns` are positions of finest codes, a value a record, `missing` the position of each variable's
    `_U`. Only variables of which two codes occur beside `_U` are looked at; each is in one group at most,
    in that where it is the least by chance.
    """
    flags = {}
    for name, codes in columns.items():
        counts = np.bincount(codes, minlength=missing[name] + 1)[: missing[name]]
        if np.count_nonzero(counts) == 2:
            flags[name] = {int(code): int(counts[code]) for code in np.flatnonzero(counts)}
    apart = _apart(columns, flags)
    groups, taken = {}, set[str]()
    for node in sorted(apart, key=lambda one: (-max(apart[one].values()), one)):
        names = sorted(name for name, _ in _clique(node, apart, taken))
        if len(names) > 1:
            taken.update(names)
            groups[f"{EXCLUSIVE_PREFIX}{'+'.join(names)}"] = _together([columns[name] for name in names])
    return groups


def _apart(columns: Mapping[str, Codes], flags: Mapping[str, Mapping[int, int]]) -> Apart:
    apart: dict[Node, dict[Node, float]] = {}
    names = sorted(flags)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            mine, theirs = columns[one], columns[other]
            rows, across = int(mine.max()) + 1, int(theirs.max()) + 1
            pairs = np.bincount(mine.astype(np.int64) * across + theirs, minlength=rows * across)
            for code, records in flags[one].items():
                for beside, others in flags[other].items():
                    if not pairs[code * across + beside]:
                        by_chance = records * others / len(mine)
                        apart.setdefault((one, code), {})[other, beside] = by_chance
                        apart.setdefault((other, beside), {})[one, code] = by_chance
    return apart


def _clique(first: Node, apart: Apart, taken: set[str]) -> list[Node]:
    """Codes of different variables that all exclude each other, beginning with one."""
    if first[0] in taken:
        return []
    clique = [first]
    open_ = {node for node in apart[first] if node[0] not in taken}
    while open_:
        # The one that is the least by chance; names break ties, so that the same file gives the same groups.
        best = max(sorted(open_), key=lambda node: min(apart[node][one] for one in clique))
        clique.append(best)
        open_ &= apart[best].keys()
    return clique


def _together(columns: list[Codes]) -> Codes:
    """The combinations that occur as one column: positions of the sorted combinations."""
    _, positions = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    flat = positions.reshape(-1)
    return flat.astype(np.min_scalar_type(int(flat.max(initial=0))))

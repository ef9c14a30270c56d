"""Yes-or-no variables that exclude each other: whoever is in good health is not in poor health.

Who has all but one of them has the last one. Such variables are told as one that nobody declared, whose
codes are the combinations that occur, so that the audit knows what everybody knows. Codes that share no
record by mere chance are taken for excluding, too: that makes the audit more cautious, not less.
"""

from collections.abc import Mapping

import numpy as np

from sdcgate.engine.dataset import EXCLUSIVE_PREFIX
from sdcgate.engine.dependencies import Codes

AT_ONCE = 1 << 16
"""Records of which it is counted at once who shares what: whole numbers below 2^24 are exact in float32."""

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
    nodes = [node for name, codes in columns.items() for node in _yes_and_no(name, codes, missing[name])]
    apart = _apart(columns, nodes)
    groups, taken = {}, set[str]()
    for node in sorted(apart, key=lambda one: (-max(apart[one].values()), one)):
        names = sorted(name for name, _ in _clique(node, apart, taken))
        if len(names) > 1:
            taken.update(names)
            groups[f"{EXCLUSIVE_PREFIX}{'+'.join(names)}"] = _together([columns[name] for name in names])
    return groups


def _yes_and_no(name: str, codes: Codes, missing: int) -> list[Node]:
    """The two codes of a variable that occur beside its missing one; none where there are others."""
    occurring = np.flatnonzero(np.bincount(codes, minlength=missing)[:missing])
    return [(name, int(code)) for code in occurring] if len(occurring) == 2 else []


def _apart(columns: Mapping[str, Codes], nodes: list[Node]) -> Apart:
    """Codes of different variables that share no record."""
    records = len(next(iter(columns.values()), ()))
    shared = np.zeros((len(nodes), len(nodes)))
    for start in range(0, records, AT_ONCE):
        rows = slice(start, start + AT_ONCE)
        has = np.array([columns[name][rows] == code for name, code in nodes], dtype=np.float32)
        shared += has @ has.T
    sizes = shared.diagonal()
    apart: dict[Node, dict[Node, float]] = {}
    for one, other in zip(*np.nonzero(shared == 0), strict=True):
        if nodes[one][0] != nodes[other][0]:
            by_chance = float(sizes[one] * sizes[other] / records)
            apart.setdefault(nodes[one], {})[nodes[other]] = by_chance
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

"""Yes-or-no variables that exclude each other: whoever is in good health is not in poor health.

Who has all but one of them has the last one. Such variables are told as one that nobody declared, whose
codes are the combinations that occur, so that the audit knows what everybody knows. Codes that share no
record by mere chance are taken for excluding, too: that makes the audit more cautious, not less. That
everybody knows it of some the steward may declare (`exclusive`); only then it tells nothing of anybody.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from itertools import combinations
from types import MappingProxyType

import numpy as np

from sdcgate.engine.code_lists import LevelCodes, quoted
from sdcgate.engine.dataset import EXCLUSIVE_PREFIX
from sdcgate.engine.dependencies import Codes
from sdcgate.engine.descriptor import Descriptor, DescriptorProblem

FEWEST = 2
"""Codes that exclude each other, and codes of a yes-or-no variable."""
AT_ONCE = 1 << 16
"""Records of which it is counted at once who shares what: whole numbers below 2^24 are exact in float32."""

Node = tuple[str, int]
"""A variable and one of its codes."""
Apart = Mapping[Node, Mapping[Node, float]]
"""Codes that share no record, and how many they would share by chance."""


def check_exclusive(
    descriptor: Descriptor, code_lists: Mapping[str, tuple[LevelCodes, ...]]
) -> list[DescriptorProblem]:
    """What is wrong with codes that are declared to exclude each other, before the data are looked at."""
    found: list[DescriptorProblem] = []
    taken: set[str] = set()
    names = {variable.name for variable in descriptor.variables}
    for position, group in enumerate(descriptor.exclusive):
        path = f"exclusive[{position}].codes"
        if len(group.codes) < FEWEST:
            found.append(DescriptorProblem(path, "name two codes at least, each of another variable"))
        for place, one in enumerate(group.codes):
            codes = [*code_lists[one.variable][0].valid] if one.variable in code_lists else []
            wrong, where = "", "variable"
            if one.variable not in names:
                wrong = f"{one.variable!r} is no variable; they are {quoted(sorted(names))}"
            elif one.variable in taken:
                wrong = f"{one.variable!r} is named already: it excludes others by one of its codes"
            elif codes and len(codes) != FEWEST:
                wrong = f"{one.variable!r} has {len(codes)} codes: name variables that have two"
            elif codes and one.code not in codes:
                wrong, where = f"{one.code!r} is no code of {one.variable}; they are {quoted(codes)}", "code"
            if wrong:
                found.append(DescriptorProblem(f"{path}[{place}].{where}", wrong))
            taken.add(one.variable)
    return found


def declared_exclusive(
    descriptor: Descriptor,
    code_lists: Mapping[str, tuple[LevelCodes, ...]],
    columns: Mapping[str, Codes],
    complain: Callable[[str, str], None],
) -> list[list[Node]]:
    """The codes of each declared group that do exclude each other; of others it is said how many have two."""
    found = []
    for position, group in enumerate(descriptor.exclusive):
        finest = {one.variable: code_lists[one.variable][0] for one in group.codes if one.variable in columns}
        known = all(one.variable in finest and one.code in finest[one.variable].valid for one in group.codes)
        if not known or len(finest) < len(group.codes):
            continue  # a problem of `check_exclusive`
        nodes = [(one.variable, finest[one.variable].positions[one.code]) for one in group.codes]
        for one, other in combinations(nodes, 2):
            both = int(np.count_nonzero((columns[one[0]] == one[1]) & (columns[other[0]] == other[1])))
            if both:
                message = f"{one[0]} and {other[0]} do not exclude each other: {both} records have both codes"
                complain(f"exclusive[{position}].codes", message)
                break
        else:
            found.append(nodes)
    return found


def exclusive_groups(
    columns: Mapping[str, Codes],
    missing: Mapping[str, int],
    declared: Sequence[Sequence[Node]] = (),
    decided_by: Mapping[str, str] = MappingProxyType({}),
    varying: Set[str] = frozenset(),
) -> dict[str, Codes]:
    """One column for each group of variables of which two codes each never occur together.

    Args:
        columns: positions of finest codes, a value a record.
        missing: the position of each variable's `_U`. Beside declared ones only variables of which two
            codes occur beside it are looked at; each is in one group at most, in that where it is the least
            by chance.
        declared: codes that exclude each other as everybody knows: they stay together.
        decided_by: by which other variable variables are decided. The column of a declared group tells that
            one as well, or it would not be what decides them.
        varying: variables that vary within a unit. Unless it is declared none of them stands with one that
            does not: units by what does not vary could not be added up any more.
    """
    nodes = [node for name, codes in columns.items() for node in _yes_and_no(name, codes, missing[name])]
    known = {node for group in declared for node in group}
    nodes += sorted(known.difference(nodes))
    apart = {
        one: alike
        for one, others in _apart(columns, nodes).items()
        if (alike := {other: count for other, count in others.items() if _alike(one, other, varying, known)})
    }
    groups, taken = {}, set[str]()
    each = sorted(apart, key=lambda one: (-max(apart[one].values()), one))
    for first in (*declared, *([node] for node in each)):
        clique = _clique(first, apart, taken)
        names = sorted(name for name, _ in clique)
        if len(names) > 1:
            taken.update(names)
            told = {decided_by.get(name, name) for name, _ in clique} if known.intersection(clique) else names
            of_all = [columns[name] for name in sorted({*names, *told})]
            groups[f"{EXCLUSIVE_PREFIX}{'+'.join(names)}"] = _together(of_all)
    return groups


def _alike(one: Node, other: Node, varying: Set[str], known: Set[Node]) -> bool:
    """Whether both vary within a unit, or neither does, or both are declared."""
    return (one[0] in varying) == (other[0] in varying) or {one, other} <= known


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


def _clique(first: Sequence[Node], apart: Apart, taken: set[str]) -> list[Node]:
    """Codes of different variables that all exclude each other, beginning with some that do."""
    clique = [node for node in first if node in apart and node[0] not in taken]
    if not clique:
        return []
    open_ = {node for node in apart[clique[0]] if node[0] not in taken}
    open_.intersection_update(*(apart[node].keys() for node in clique))
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

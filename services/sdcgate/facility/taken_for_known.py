"""Secrets that are reckoned with as though everybody knew them.

What one variable's codes decide of another's, and which codes never occur together, boxes take for common
knowledge. Of a sensitive variable it may be the secret itself: that nobody young is healthy in the file at
hand. Differences and proofs do not see then that a table tells it, so such a table is not theirs to release.
"""

from collections.abc import Iterable, Set
from itertools import permutations, product

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.exclusive import FEWEST, Node
from sdcgate.facility.boxes import compressed, occurring_places
from sdcgate.facility.disclosed_groups import SensitiveCodes, sensitive_codes
from sdcgate.facility.joint_look import Truth
from sdcgate.methods.cells import MISSING
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Held
from sdcgate.methods.tables.combined_sums import Decided


def takes_secrets_for_known(dataset: Dataset, restricted: Set[str], weighing: Set[str] = frozenset()) -> bool:
    """Whether boxes that restrict these variables take it for known what all of a group have in common.

    Groups are told by the other variables that the same one decides (or that decide the sensitive one). It
    is no matter which codes are asked for: what is left out is told by the difference to those who are not.
    That the steward declared codes to exclude each other makes it known (`exclusive`).

    Args:
        dataset: whose variables they are.
        restricted: what a table shows or filters by.
        weighing: those of which its weights tell beside these (`deciding_weights`).
    """
    sensitive = {name for name in restricted | weighing if dataset.sensitive(name)}
    if not sensitive:
        return False
    codes, declared = sensitive_codes(dataset), _declared(dataset)
    for name in sensitive:
        decider = _told_by(dataset, name)
        others = (restricted | weighing if name in restricted else restricted) - {name}
        beside = sorted(other for other in others if _told_by(dataset, other) == decider)
        if beside and any(
            codes[name].shared(compressed(dataset, name, shared))
            and not _known(dataset, declared, group, (name, shared))
            for group, shared in _shared(dataset, decider, name, beside).items()
        ):
            return True
    return False


def few_have_both(dataset: Dataset, restricted: Set[str], fewest: int, truth: Truth) -> bool:
    """Whether but for a few people these boxes would take a secret for known.

    A table that is referred would else say that there is nobody, where with a few it leaves with gaps. Codes
    are taken for excluding each other of variables with two of them, so that no others need be looked at.

    Args:
        dataset: whose variables they are.
        restricted: what a table shows or filters by.
        fewest: how many are not few any more.
        truth: how many have each two codes; where it cannot be told they are taken to be few.
    """
    codes, declared = sensitive_codes(dataset), _declared(dataset)
    varying = dataset.varying or frozenset()
    two = {name for name in restricted if len(_answers(dataset, name)) == FEWEST}
    for name, other in permutations(sorted(two), 2):
        if name in codes and (name in varying) == (other in varying):
            held = truth.held(units=False, variables=frozenset((name, other)), needed=True)
            if held is None or _few_otherwise(dataset, (name, other), codes[name], declared, fewest, held):
                return True
    return False


def _answers(dataset: Dataset, name: str) -> list[int]:
    """The codes of a variable that occur, but for its missing one."""
    missing = dataset.mask(name, "", [MISSING])
    return [code for code in occurring_places(dataset, name).tolist() if not missing >> code & 1]


def _few_otherwise(
    dataset: Dataset,
    names: tuple[str, str],
    codes: SensitiveCodes,
    declared: list[set[Node]],
    fewest: int,
    held: Held,
) -> bool:
    """Whether all of a group but a few share what does harm, and it is not declared that nobody has both."""
    name, other = names
    mine, theirs = (_answers(dataset, one) for one in names)
    for group, (share, lack) in product(theirs, permutations(mine)):
        mask = compressed(dataset, name, 1 << share)
        sides = (_box(dataset, (other, group), (name, code)) for code in (share, lack))
        many, few = (held.amounts[held.combinations.inside(box)].sum() for box in sides)
        known = any({(name, lack), (other, group)} <= together for together in declared)
        if not known and few < min(fewest, many) and codes.shared(mask):
            return True
    return False


def _box(dataset: Dataset, *nodes: Node) -> Box:
    return tuple(sorted((name, compressed(dataset, name, 1 << code)) for name, code in nodes))


def deciding_weights(dataset: Dataset, decided: Iterable[Decided]) -> set[str]:
    """Variables whose codes tell what everybody weighs: of all healthy, 300 are the weights of a hundred old.

    `decided`: by what the weights are, as boxes have it: that may be what decides such a variable as well.
    """
    found = set[str]()
    for one in decided:
        for decider in one.variables:
            weights = _weights(dataset, one, decider)
            for variable in dataset.descriptor.variables:
                name = variable.name
                if _told_by(dataset, name) == decider:
                    pairs = {(_code_of(dataset, decider, name, code), own) for code, own in weights.items()}
                    if len(pairs) == len({code for code, _ in pairs}):
                        found.add(name)
    return found


def _weights(dataset: Dataset, decided: Decided, decider: str) -> dict[int, frozenset[tuple[Box, float]]]:
    """What people with each code of one variable weigh, by what else it takes to tell."""
    parts = [(dict(box), weight) for box, weight in decided.parts]
    return {
        code: frozenset(
            (tuple(pair for pair in box.items() if pair[0] != decider), weight)
            for box, weight in parts
            if box.get(decider, decided.full[decider]) >> place & 1
        )
        for place, code in enumerate(occurring_places(dataset, decider).tolist())
    }


def _told_by(dataset: Dataset, name: str) -> str:
    return dataset.variation[name].determined_by or name


def _shared(dataset: Dataset, decider: str, name: str, beside: list[str]) -> dict[tuple[Node, ...], int]:
    """The codes of a variable, as a mask, that people with each combination of codes of others have."""
    found: dict[tuple[Node, ...], int] = {}
    for code in occurring_places(dataset, decider).tolist():
        group = tuple((other, _code_of(dataset, decider, other, code)) for other in beside)
        found[group] = found.get(group, 0) | 1 << _code_of(dataset, decider, name, code)
    return found


def _code_of(dataset: Dataset, decider: str, name: str, code: int) -> int:
    return code if name == decider else dataset.variation[name].decided[code]


def _declared(dataset: Dataset) -> list[set[Node]]:
    """Codes of which the steward says that they exclude each other."""
    positions = {
        one.variable: dataset.level(one.variable).positions
        for group in dataset.descriptor.exclusive
        for one in group.codes
    }
    return [
        {(one.variable, positions[one.variable][one.code]) for one in group.codes}
        for group in dataset.descriptor.exclusive
    ]


def _known(dataset: Dataset, declared: list[set[Node]], group: tuple[Node, ...], shared: Node) -> bool:
    """Whether each code that nobody of a group has excludes, as is declared, one that they have."""
    name, mask = shared
    lacking = dataset.occurring(name) & ~mask & ~dataset.mask(name, "", [MISSING])
    return all(
        any((name, code) in codes and codes.intersection(group) for codes in declared)
        for code in range(lacking.bit_length())
        if lacking >> code & 1
    )

"""Records and units of a panel looked at together, where units have several records.

Units do not add up over what varies within them. But those that have a record in some part of it, a layer
such as one year or all years, add up over everything else. So each layer's units are amounts of their own,
beside the records, with what links them (`panel_links`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from math import ceil, log2, prod

import numpy as np

from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Combinations, Held
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.joint_boxes import JointBoxes, Variables, restricts_only
from sdcgate.methods.tables.joint_domain import classes, joint_atoms, joint_domain
from sdcgate.methods.tables.joint_scopes import Scope
from sdcgate.methods.tables.panel_links import KIND, RECORDS_KIND, Layers, Panel, kinds, links, of_kind

MOST_TOGETHER = 600
"""So many joint codes, each layer's units by themselves, are looked at together."""


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Boxes of records and of units within some variables, each with its kind."""

    scope: Scope
    _panel: Panel = field(repr=False)
    _layers: Mapping[Box, int] = field(repr=False)
    """Each layer with its mask of `KIND`."""

    @property
    def layers(self) -> tuple[Box, ...]:
        """The layers, in the order of their kinds."""
        return tuple(self._layers)

    def held(self, layered: Callable[[Variables, Sequence[Box]], Sequence[Held] | None]) -> Held | None:
        """What people have in truth by all variables, where it is known.

        `layered` has it by those that are none of kinds: records, and units of each of some layers.
        """
        by_kind = layered(self.scope.domain - {KIND}, self.layers)
        if by_kind is None:
            return None
        # The codes that a unit has of what varies do not matter: boxes of units say nothing of it.
        codes = [
            np.column_stack([one.combinations.codes, np.full(len(one.amounts), kind)])
            for kind, one in enumerate(by_kind)
        ]
        variables = (*by_kind[0].combinations.variables, KIND)
        amounts = np.concatenate([one.amounts for one in by_kind])
        return Held(Combinations(variables, np.concatenate(codes)), amounts)

    def of_records(self, boxes: Iterable[Box]) -> set[Box]:
        """Boxes as those of records; those that restrict other variables are left out."""
        return {of_kind(box, RECORDS_KIND) for box in boxes if self._within(box)}

    def of_units(self, boxes: Iterable[Box]) -> set[Box]:
        """Boxes as those of units."""
        parts = [self._panel.parts(box) for box in boxes if self._within(box)]
        return {of_kind(fixed, self._layers[layer]) for fixed, layer in parts if layer in self._layers}

    def plain(self, box: Box) -> Box:
        """A box without its kind."""
        kind = dict(box).get(KIND, RECORDS_KIND)
        layer = () if kind == RECORDS_KIND else self.layers[kind.bit_length() - 2]
        return tuple(sorted((*(pair for pair in box if pair[0] != KIND), *layer)))

    def told(self, box: Box) -> Box:
        """The same with the first code of its kind for records, and the second for units."""
        kind = 1 if dict(box).get(KIND, RECORDS_KIND) == RECORDS_KIND else 2
        return of_kind(self.plain(box), kind)

    def _within(self, box: Box) -> bool:
        return restricts_only(box, self.scope.domain)


def together(
    boxes: JointBoxes, panel: Panel, first: Set[str], full: Mapping[str, int], fresh: Set[Box], most: int
) -> list[Together]:
    """What is known of records and units together, of some variables and others as long as there is room.

    Of the first variables alone, with as many layers as can be, and of others with them.

    Args:
        boxes: everything that left or was withheld.
        panel: how units have records.
        first: variables that are looked at in any case.
        full: full mask of every variable.
        fresh: boxes of records that are new.
        most: so many joint codes are looked at, each layer's units by themselves.

    Returns:
        None where the first variables alone are too many. Where layers are, those of fresh boxes are taken
        first, then those of which most is known.
    """
    own, chosen = {panel.parts(box)[1] for box in fresh}, list[Together]()
    alone = frozenset(first)
    # Others have to do with each other by fewer boxes, and take as long.
    wider = joint_domain(first, boxes, full, most // 4)
    for domain, room in {wider: most // 2, alone: most}.items():
        if joint_atoms(domain, boxes, full) > room:
            continue
        found = _Kinds(boxes.with_shares(domain, fresh), panel, domain, full, own, room)
        if found.size <= room:
            chosen.append(Together(found.scope(), panel, found.layers))
    return chosen


class _Kinds:
    def __init__(
        self,
        boxes: JointBoxes,
        panel: Panel,
        domain: Variables,
        full: Mapping[str, int],
        own: Set[Box],
        most: int,
    ) -> None:
        self._boxes, self._panel, self._domain = boxes, panel, domain
        masks = boxes.masks_within(domain)
        self._classes = {name: classes(full[name], those) for name, those in masks.items()}
        fixed = [name for name in sorted(domain) if name not in panel.varying]
        self._fixed = {name: self._classes[name] for name in fixed}
        self._varying = prod(len(self._classes[name]) for name in domain & panel.varying)
        self._atoms = prod(map(len, self._fixed.values()))
        units, hidden = boxes.within(domain, units=True), boxes.secrets_within(domain, units=True)
        limits = boxes.limits_within(domain)
        self._parts = {box: panel.parts(box) for box in (*units, *hidden, *limits)}
        known = Counter(map(self._layer, (*units, *hidden, *limits)))
        # Of each wave everybody knows that a unit has one record there.
        known.update(
            ((panel.wave, mask),) for mask in self._classes.get(panel.wave, ()) if mask != full[panel.wave]
        )
        known.update(dict.fromkeys(own & known.keys(), known.total()))
        known[()] += 3 * known.total()
        chosen = known.most_common(max(1, most // self._atoms - self._varying))
        self.layers = kinds(layer for layer, _ in chosen)
        self._full = {**full, KIND: (2 << len(self.layers)) - 1}
        self._units = {box: count for box, count in units.items() if self._looked_at(box)}
        self._hidden = [box for box in hidden if self._looked_at(box)]
        self._limits = {box: count for box, count in limits.items() if self._looked_at(box)}

    @property
    def size(self) -> int:
        """How many joint codes there are: those of records, and those of each layer's units."""
        return (self._varying + len(self.layers)) * self._atoms

    def _looked_at(self, box: Box) -> bool:
        return self._layer(box) in self.layers

    def _layer(self, box: Box) -> Box:
        return self._parts[box][1]

    def scope(self) -> Scope:
        """All that is known, with what links records and units."""
        records, hidden = self._boxes.within(self._domain), self._boxes.secrets_within(self._domain)
        published: dict[Box, float] = {of_kind(box, RECORDS_KIND): count for box, count in records.items()}
        published |= {self._of_units(box): count for box, count in self._units.items()}
        secrets = [of_kind(box, RECORDS_KIND) for box in hidden]
        secrets += dict.fromkeys(self._of_units(box) for box in self._hidden)
        limits = {self._of_units(box): most for box, most in self._limits.items()}
        # Powers of two, so that links of larger counts are mostly those that are remembered.
        far = 4.0 * 2.0 ** ceil(log2(max([*published.values(), *limits.values(), 25.0])))
        combined = [*links(self._layered(), far), *self._shares()]
        return Scope(self._domain | {KIND}, self._full, published, secrets, limits, combined)

    def _layered(self) -> Layers:
        """What the links are of."""
        panel = self._panel
        varying = self._domain & panel.varying
        named = sorted({*varying, *self._fixed, *({panel.wave} & self._full.keys())})
        return Layers(
            panel,
            tuple(self.layers),
            tuple(self._fixed.items()),
            varying,
            self._classes.get(panel.wave, ()),
            tuple((name, self._full[name]) for name in named),
        )

    def _shares(self) -> Iterator[CombinedSum]:
        """What figures that are rounded tell of several boxes of records."""
        for one in self._boxes.combined_within(self._domain):
            if one.rounded:
                parts = tuple((of_kind(box, RECORDS_KIND), factor) for box, factor in one.parts)
                yield replace(one, parts=parts)

    def _of_units(self, box: Box) -> Box:
        fixed, layer = self._parts[box]
        return of_kind(fixed, self.layers[layer])


def without_kind(box: Box) -> tuple[Box, bool]:
    """A box that was told, without its kind; and whether it is of records."""
    return tuple(pair for pair in box if pair[0] != KIND), dict(box)[KIND] == RECORDS_KIND

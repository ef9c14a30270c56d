"""What a refusal for too few units tells: the group that a filter leaves has so many units at most."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from sdcgate.facility.joint_look import Extent, JointlyUnproved, Look, SeenWide, Width
from sdcgate.methods.tables.boxes import Box, as_texts, from_texts
from sdcgate.methods.tables.combinations import Held
from sdcgate.methods.tables.joint_boxes import JointBoxes, Variables, variables_of
from sdcgate.methods.tables.joint_domain import joint_domain
from sdcgate.methods.tables.joint_panel import MOST_TOGETHER, Together, together
from sdcgate.methods.tables.joint_scopes import scopes
from sdcgate.methods.tables.panel_links import Panel
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


@dataclass(frozen=True, slots=True)
class PopulationLimit:
    """A group of which everybody who was refused knows that it has so many units at most."""

    box: Box
    full: Mapping[str, int] = field(repr=False)
    """Full mask of every variable that the box restricts."""
    units: int

    def message(self) -> release_pb2.PopulationLimit:
        """As the ledger keeps it."""
        variables, masks = as_texts(self.box)
        _, full = as_texts(tuple((name, self.full[name]) for name in variables))
        return release_pb2.PopulationLimit(variables=variables, masks=masks, full=full, units=self.units)

    @classmethod
    def of(cls, kept: release_pb2.PopulationLimit) -> "PopulationLimit":
        """What the ledger kept."""
        full = from_texts(kept.variables, kept.full)
        return cls(from_texts(kept.variables, kept.masks), dict(full), kept.units)


def limit_tells(
    limit: PopulationLimit,
    boxes: JointBoxes,
    full: Mapping[str, int],
    width: Width,
    extent: Extent,
    panel: Panel | None,
) -> bool:
    """Whether some withheld count is told too closely by the limit; so it is where that cannot be settled.

    Args:
        limit: what a refusal would tell.
        boxes: all counts that left or were withheld, with earlier limits.
        full: full mask of their variables.
        width: what is required of withheld counts.
        extent: how many joint codes are looked at together, and when to give up.
        panel: how units have several records; None where units are records.

    Raises:
        JointlyUnproved: the time was too short: what is said must not depend on how busy the machine is.
    """
    if not boxes.secret:
        return False
    masks = {**limit.full, **full}
    try:
        if _told_by_units(limit, boxes, masks, width, extent, panel):
            return True
        return panel is not None and _told_together(limit, boxes, masks, width, extent, panel)
    except JointlyUnproved:
        if extent.deadline.missed:
            raise
        return True


def _told_by_units(
    limit: PopulationLimit,
    boxes: JointBoxes,
    full: Mapping[str, int],
    width: Width,
    extent: Extent,
    panel: Panel | None,
) -> bool:
    """Whether it tells withheld units of what does not vary within them, all of these together."""
    varying = None if panel is None else panel.varying
    names, boxes = variables_of(limit.box), boxes.adding_up(varying, True)
    if not boxes.secret or names & (varying or frozenset()):
        return False
    limited = boxes.limited(limit.box, limit.units)
    units = varying is not None
    look = _look(limit.box, width, extent, partial(extent.truth.held, units))
    domain = joint_domain(names, limited, full, extent.atoms)
    limited = limited.with_shares(domain, look.fresh)
    found = scopes(limited, domain, full, {}, look.fresh, units)
    return any(look.blamed(scope, SeenWide()) for scope in found)


def _told_together(
    limit: PopulationLimit,
    boxes: JointBoxes,
    full: Mapping[str, int],
    width: Width,
    extent: Extent,
    panel: Panel,
) -> bool:
    """Whether it tells withheld records or units, as both together do."""
    limited, names = boxes.limited(limit.box, limit.units), variables_of(limit.box)
    found = together(limited, panel, names, full, frozenset({limit.box}), MOST_TOGETHER)

    def tells(both: Together) -> bool:
        looks = (
            _look(box, width, extent, lambda _: both.held(extent.truth.layered))
            for box in both.of_units([limit.box])
        )
        return any(look.blamed(both.scope, SeenWide()) for look in looks)

    return any(map(tells, found))


def _look(
    box: Box, width: Width, extent: Extent, held: Callable[[Variables], Held | None] = lambda _: None
) -> Look:
    return Look({box}, frozenset(), lambda _: width.least, width.floor, extent.deadline, held=held)

"""What a refusal for too few units tells: the group that a filter leaves has so many units at most."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import partial

from sdcgate.facility.joint_look import Extent, JointlyUnproved, Look, SeenWide, Width
from sdcgate.methods.tables.boxes import Box, as_texts, from_texts
from sdcgate.methods.tables.joint_boxes import JointBoxes, variables_of
from sdcgate.methods.tables.joint_domain import joint_domain
from sdcgate.methods.tables.joint_scopes import scopes
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
    varying: Set[str] | None,
) -> bool:
    """Whether some withheld count is told too closely by the limit; so it is where that cannot be settled.

    Args:
        limit: what a refusal would tell.
        boxes: all counts that left or were withheld, with earlier limits.
        full: full mask of their variables.
        width: what is required of withheld counts.
        extent: how many joint codes are looked at together, and when to give up.
        varying: variables that vary within a unit; None where units are records.

    Raises:
        JointlyUnproved: the time was too short: what is said must not depend on how busy the machine is.
    """
    boxes = boxes.adding_up(varying, True)
    names = variables_of(limit.box)
    if not boxes.secret or names & (varying or frozenset()):
        return False
    limited = boxes.limited(limit.box, limit.units)
    masks = {**limit.full, **full}
    units = varying is not None
    held = partial(extent.truth.held, units)
    look = Look({limit.box}, frozenset(), lambda _: width.least, width.floor, extent.deadline, held=held)
    domain = joint_domain(names, limited, masks, extent.atoms)
    limited = limited.with_shares(domain, look.fresh)
    try:
        found = scopes(limited, domain, masks, {}, look.fresh, units)
        return any(look.blamed(scope, SeenWide()) for scope in found)
    except JointlyUnproved:
        if extent.deadline.missed:
            raise
        return True

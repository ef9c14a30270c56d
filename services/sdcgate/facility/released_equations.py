"""The equations that models told about one outcome of one population, counted together.

An estimate with p parameters is p equations about the outcome's values: of least squares, and of likelihoods
with their natural link, that the sum of the outcome times each column is known. Who knows the columns of all
people solves them as soon as there are as many as people, whether one model told them or many did. So all
that left are counted against the share of the units that one model may have as parameters. A column counts
once, in however many models it stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sdcgate.methods.outputs.model_checks import TOLERANCE
from sdcgate.methods.outputs.model_rules import MaximumParameters
from sdcgate.methods.tables.boxes import Box, as_texts, from_texts
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


@dataclass(frozen=True, slots=True)
class ReleasedEquations:
    """What one model told about the values of an outcome."""

    outcome: str
    """A measure or variable."""
    box: Box
    """The population."""
    units: int = field(repr=False)
    columns: frozenset[str]
    """Names of the equations: equal ones tell the same."""

    def message(self) -> release_pb2.ModelEquations:
        """As the ledger keeps it."""
        variables, masks = as_texts(self.box)
        return release_pb2.ModelEquations(
            outcome=self.outcome,
            variables=variables,
            masks=masks,
            units=self.units,
            columns=sorted(self.columns),
        )

    @classmethod
    def of(cls, kept: release_pb2.ModelEquations) -> "ReleasedEquations":
        """What the ledger kept."""
        box = from_texts(kept.variables, kept.masks)
        return cls(kept.outcome, box, kept.units, frozenset(kept.columns))


def too_many(
    rule: MaximumParameters | None, new: ReleasedEquations, left: Sequence[ReleasedEquations]
) -> bool:
    """Whether with a new model's there are more equations about a population than one model may tell.

    About the values of a population are also the equations of populations within it.
    """
    same = [one for one in left if one.outcome == new.outcome]
    told = frozenset[str]().union(*(one.columns for one in same if one.box == new.box))
    if rule is None or new.columns <= told:
        return False
    around = {one.box: one.units for one in same if _within(new.box, one.box)} | {new.box: new.units}
    return any(
        not _equations(box, [*same, new]) < rule.per_unit * units * (1.0 - TOLERANCE)
        for box, units in around.items()
    )


def _equations(box: Box, left: Sequence[ReleasedEquations]) -> int:
    """How many different ones there are about the values of a population."""
    return len({(one.box, column) for one in left if _within(one.box, box) for column in one.columns})


def _within(inner: Box, outer: Box) -> bool:
    masks = dict(inner)
    return all(name in masks and not masks[name] & ~mask for name, mask in outer)

"""The windows whose means or sums left: of which box, and where in the order of a measure.

Of percentiles, of what is below these in a Lorenz curve, and of the largest in a concentration ratio.
"""

from dataclasses import dataclass, field
from math import inf

from sdcgate.facility.weights import WEIGHTED_PREFIX
from sdcgate.methods.tables.boxes import Box, as_texts, from_texts
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


@dataclass(frozen=True, slots=True)
class ReleasedWindow:
    """A window of the records of a box, ordered by a measure and, where it is the same, as they were read."""

    measure: str
    """With `WEIGHTED_PREFIX` where it is a sum of weighted values."""
    box: Box
    lowest: float = field(repr=False)
    highest: float = field(repr=False)
    skipped: int = field(repr=False)
    """Records of the least value that stand before it."""
    records: int = field(repr=False)
    """Records in it; 0 where they are no window, and only the population is known."""

    @property
    def ordered_by(self) -> str:
        """The measure itself."""
        return self.measure.removeprefix(WEIGHTED_PREFIX)

    @property
    def weighted(self) -> bool:
        """Whether weights that a variable decides are in its sum."""
        return self.measure.startswith(WEIGHTED_PREFIX)

    @property
    def is_sum(self) -> bool:
        """Whether its records are added up, in place of the means of its units.

        Such a window is known by its place in the order alone.
        """
        return self.lowest == -inf

    @property
    def of_population(self) -> bool:
        """Whether it says that something left of a population, and not of which records."""
        return self.records == 0

    def message(self) -> release_pb2.PercentileWindow:
        """As the ledger keeps it."""
        variables, masks = as_texts(self.box)
        return release_pb2.PercentileWindow(
            measure=self.measure,
            variables=variables,
            masks=masks,
            lowest=self.lowest,
            highest=self.highest,
            skipped=self.skipped,
            records=self.records,
        )

    @classmethod
    def of(cls, kept: release_pb2.PercentileWindow) -> "ReleasedWindow":
        """What the ledger kept."""
        box = from_texts(kept.variables, kept.masks)
        return cls(kept.measure, box, kept.lowest, kept.highest, kept.skipped, kept.records)

"""The windows whose means left as percentiles: of which box, and where in the order of a measure."""

from dataclasses import dataclass, field

from sdcgate.methods.tables.boxes import Box
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


@dataclass(frozen=True, slots=True)
class ReleasedWindow:
    """A window of the records of a box, ordered by a measure and, where it is the same, as they were read."""

    measure: str
    box: Box
    lowest: float = field(repr=False)
    highest: float = field(repr=False)
    skipped: int = field(repr=False)
    """Records of the least value that stand before it."""
    records: int = field(repr=False)

    def message(self) -> release_pb2.PercentileWindow:
        """As the ledger keeps it."""
        return release_pb2.PercentileWindow(
            measure=self.measure,
            variables=[name for name, _ in self.box],
            masks=[f"{mask:x}" for _, mask in self.box],
            lowest=self.lowest,
            highest=self.highest,
            skipped=self.skipped,
            records=self.records,
        )

    @classmethod
    def of(cls, kept: release_pb2.PercentileWindow) -> "ReleasedWindow":
        """What the ledger kept."""
        box = zip(kept.variables, (int(mask, 16) for mask in kept.masks), strict=True)
        return cls(kept.measure, tuple(box), kept.lowest, kept.highest, kept.skipped, kept.records)

"""Where microdata lie: descriptors, snapshots, and the only queries that read records."""

from sdcgate.engine.code_lists import LevelCodes
from sdcgate.engine.dataset import Dataset, UnknownDataset, UnknownName
from sdcgate.engine.descriptor import Descriptor, DescriptorInvalid, DescriptorProblem, parse_descriptor
from sdcgate.engine.engine import Engine, Registration
from sdcgate.engine.queries import Box, CellQuery, Computed, Condition, Region
from sdcgate.engine.snapshot import SnapshotDamaged

__all__ = [
    "Box",
    "CellQuery",
    "Computed",
    "Condition",
    "Dataset",
    "Descriptor",
    "DescriptorInvalid",
    "DescriptorProblem",
    "Engine",
    "LevelCodes",
    "Region",
    "Registration",
    "SnapshotDamaged",
    "UnknownDataset",
    "UnknownName",
    "parse_descriptor",
]
